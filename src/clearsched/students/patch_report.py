"""The comparison of a policy without and with patches, as text."""

from __future__ import annotations

import textwrap

from clearsched.problems.declarations import Choice, Measure
from clearsched.problems.episodes import NONE
from clearsched.scorers import words
from clearsched.scorers.patch_words import choice_of
from clearsched.scorers.patches import Patch
from clearsched.scorers.policy import ScoredPolicy
from clearsched.search.safety import Verdict
from clearsched.students.patch_changes import Answer, Change, Changes
from clearsched.students.patch_trial import Compared, Figures


def report(compared: Compared, policy: ScoredPolicy) -> str:
    """One load: figures before and after, which decisions change, examples in words."""
    instance = compared.instance
    lines = [compared.load, ""]
    lines += _table(compared.before, compared.after, instance.objective, compared.job_measure, compared.baseline.name)
    lines += ["", *_decisions(compared.changes, policy)]
    if not instance.none and policy.may_idle:
        lines += ["", "These episodes refuse to idle: what a patch would rather leave idle for comes last instead."]
    return "\n".join(lines) + "\n"


def _table(before: Figures, after: Figures, objective: Measure, job: Measure, baseline: str) -> list[str]:
    """What was and what is."""
    rows = [
        (f"mean {objective.short}", objective.unit, before.objective, after.objective),
        (f"{job.short}, 95 % of the jobs", job.unit, before.tail, after.tail),
        (f"{job.short}, worst job", job.unit, before.worst_job, after.worst_job),
        *_worst(before.verdict, after.verdict, baseline),
    ]
    width = max(len(row[0]) for row in rows) + 2
    lines = [f"  {'':<{width}}{'before':>12}{'after':>12}{'change':>10}"]
    for what, unit, was, now in rows:
        change = f"{100 * (now / was - 1):+.1f} %" if was else "-"
        told = [f"{value:.4g} {unit}".rstrip() for value in (was, now)]
        lines.append(f"  {what:<{width}}{told[0]:>12}{told[1]:>12}{change:>10}")
    return lines


WORST = {
    "worst": "worst episode, times {}'s",
    "hard": "worst of the hardest kind, times {}'s",
    "of_limit": "most of a measure, times its limit",
}
"""What a row tells of each number of a verdict, where anything came of it; the gap is the baseline."""


def _worst(before: Verdict, after: Verdict, baseline: str) -> list[tuple[str, str, float, float]]:
    """A row for each of these numbers; where episodes of the hardest kind are compared the first is 0 as a rule."""
    found = ((told, getattr(before, name), getattr(after, name)) for name, told in WORST.items())
    return [(told.format(baseline), "", was, now) for told, was, now in found if was or now]


def _decisions(changes: Changes, policy: ScoredPolicy) -> list[str]:
    """How many decisions change, by which patch, and some of them."""
    total = max(changes.decisions, 1)
    changed = changes.candidate + changes.level
    lines = [f"Decisions changed: {changed:,} of {changes.decisions:,} ({100 * changed / total:.2f} %)"]
    if policy.level is not None and changed:
        lines[0] += (
            f"; {changes.candidate:,} by their {policy.rank.name}, {changes.level:,} by their {policy.level.name}"
        )
    lines += [
        f"  patch {place}: {changes.by_patch[place]:,}  ({patch.because or patch.when})"
        for place, patch in enumerate(policy.patches, 1)
    ]
    if changes.by_patch[0]:
        lines.append(f"  what was patched before: {changes.by_patch[0]:,}")
    for change in changes.examples:
        lines += textwrap.wrap(
            example(change, policy), words.WIDTH, initial_indent="  e.g. ", subsequent_indent=" " * 7
        )
    return lines


def example(change: Change, policy: ScoredPolicy) -> str:
    """A decision in words: when, what was chosen in place of what, and the features that the patch asks for."""
    candidates = f"{change.candidates} candidate{'s' * (change.candidates != 1)}"
    where = f"episode {change.episode}, {change.time_s:,.1f} s, {candidates}"
    rank, level = policy.rank, policy.level
    after, before = _told(change.after, rank), _told(change.before, rank)
    if level is not None and change.after.candidate == change.before.candidate:
        told = f"{after} with {change.after.level} {level.unit} in place of {change.before.level}"
    else:
        told = f"{after} in place of {before}"
    if not change.patch:
        return f"{where}: {told}"
    patch = policy.patches[change.patch - 1]
    asked = _asked(patch, choice_of(patch, policy.problem.choices), change)
    return f"{where}: {told}, by patch {change.patch}" + (f": {asked}" if asked else "")


def _told(answer: Answer, rank: Choice) -> str:
    return rank.none if answer.candidate == NONE else f"{rank.name} {answer.candidate}"


def _asked(patch: Patch, choice: Choice, change: Change) -> str:
    """The features that a patch asks for, of the candidate taken, and of the other where they differ."""
    names, unit = [feature.name for feature in choice.features], words.units(choice)
    rows = [answer.row for answer in (change.after, change.before) if answer.row is not None]
    told = []
    for name in dict.fromkeys(written.feature for written in patch.comparisons):
        values = [f"{float(row[names.index(name)]):.4g}" for row in rows]
        text = f"{name} {values[0]} {unit[name]}".rstrip()
        told.append(text + (f", not {values[1]}" if values[1:] and values[1] != values[0] else ""))
    return "; ".join(told)
