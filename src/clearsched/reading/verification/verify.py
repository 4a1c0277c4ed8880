"""All that is verified of a student, as text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clearsched.decisions.choices import Choices
from clearsched.errors import ClearschedError
from clearsched.problems.declarations import Choice
from clearsched.problems.policy import as_meant, heuristic
from clearsched.reading.files import SPLIT, read_log
from clearsched.reading.reasons import valued
from clearsched.reading.verification.box import Box, box_of, reordered, unbounded
from clearsched.reading.verification.monotone import PAIRS, Verdict, monotone
from clearsched.reading.verification.structure import structure_of, told
from clearsched.reading.verification.switches import boxes_of
from clearsched.reading.verification.waiting import AgeRule, Wait, age_rule, longest_wait, patched_age_rule
from clearsched.reading.worth import Bench
from clearsched.scorers.conditions import OTHERWISE
from clearsched.scorers.pieces import speakers
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.switch import Switch

WIDTH = 110


def verify(policy: ScoredPolicy, decisions: Path | None, trace: Path | None, workloads: Path | None) -> str:
    """See `clearsched.reading.verify`."""
    if (trace is None) != (workloads is None):
        raise ClearschedError("students: give --trace and --workloads together, or neither")
    logged = read_log(policy, decisions, SPLIT)[0] if decisions else {}
    bench = None
    if trace and workloads:
        instance = policy.problem.open(trace, workloads)
        bench = Bench(instance, instance.split(SPLIT))
    return "\n".join(lines_of(policy, logged, bench)) + "\n"


def lines_of(policy: ScoredPolicy, logged: dict[str, Choices], bench: Bench | None) -> list[str]:
    """The whole account."""
    title = f"Verification of {policy.name}"
    lines = [title, "=" * len(title), ""]
    if logged:
        rank = logged[policy.rank.name]
        lines += textwrap.wrap(
            f"Over the box of the features: from the least to the most of {int((~rank.is_none).sum()):,} logged "
            "candidates, whole numbers where the log has no others. One feature is changed while the others stay, also "
            "where the problem would change them together.",
            WIDTH,
        )
    else:
        lines.append("Over all numbers: without a decision log nothing is known of what features can be.")
    told = beneath(policy)
    lines += [""] * bool(told) + textwrap.wrap(told, WIDTH)
    for choice in policy.problem.choices:
        lines += ["", f"{choice.question}", "", *(f"  {line}" for line in _structure(policy, choice, logged))]
    return [*lines, "", *_monotone(policy, logged), "", *_waiting(policy, logged, bench)]


def beneath(policy: ScoredPolicy) -> str:
    """What proofs of the scores leave out: patches that come before them, a guard that takes over; else empty."""
    told, count = [], len(policy.patches)
    if count:
        told.append(
            f"{count} patch{'es lie' if count > 1 else ' lies'} on top. What follows is of the scores beneath: they "
            "decide among candidates of whom all patches say the same. A bound of a wait is one of the patches alone."
        )
    if policy.guard:
        told.append(f"It has a guard, and nothing here is of that: {policy.guard.sentence(policy.problem)}")
    return " ".join(told)


def _box(policy: ScoredPolicy, choice: Choice, logged: dict[str, Choices]) -> tuple[Box, tuple[str, ...]]:
    """The box and the names by which the scorer of a choice counts."""
    names = names_of(choice)
    own = tuple(getattr(policy.scorers[choice.name], "names", names))
    rank = logged.get(policy.rank.name)  # a level reads the rows of candidates, too
    box = unbounded(len(names)) if rank is None else box_of(rank)
    return reordered(box, names, own), own


def _structure(policy: ScoredPolicy, choice: Choice, logged: dict[str, Choices]) -> list[str]:
    choices = logged.get(choice.name)
    rows = None
    if choices is not None and len(choices.chosen):
        rows = choices.features[~choices.is_none] if choice.form == "rank" else choices.features[choices.starts[:-1]]
    return _found_in(policy.scorers[choice.name], _box(policy, choice, logged)[0], choice, rows)


def _found_in(scorer: Scorer, box: Box, choice: Choice, rows: np.ndarray | None) -> list[str]:
    """What in a scorer can never count; `rows`: of the log, float32[n, F], those that it is asked about."""
    names = names_of(choice)
    spoke = None if rows is None else scorer.firing(rows, names)
    if isinstance(scorer, Switch):
        return _found_in_cases(scorer, box, choice, rows, spoke)
    found = structure_of(scorer, box)
    fired = np.isin(np.arange(speakers(scorer)), spoke).tolist() if found.kind and spoke is not None else None
    return told(found, fired) or ["neither rules nor trees: not looked into"]


def _found_in_cases(
    scorer: Switch, box: Box, choice: Choice, rows: np.ndarray | None, spoke: np.ndarray | None
) -> list[str]:
    """The same of each case of a switch, where it answers; `spoke`: the case that each row falls under."""
    lines = []
    for place, (case, part) in enumerate(zip(scorer.cases, boxes_of(scorer, box), strict=True)):
        when = case.condition.text(scorer.names) if case.condition else OTHERWISE
        lines.append(f"case {place + 1}, {when}:" if part else f"case {place + 1}, {when}: dead: no row comes to it")
        if part is not None:
            own = None if rows is None else rows[spoke == place]
            lines += [f"  {line}" for line in _found_in(case.scorer, part, choice, own)]
    return lines


def verdicts(policy: ScoredPolicy, logged: dict[str, Choices]) -> list[tuple[str, Verdict]]:
    """Of each feature with a direction that the student asks for: its name and whether scores go that way."""
    rank = policy.rank
    scorer = policy.scorers[rank.name]
    box, names = _box(policy, rank, logged)
    features = {feature.name: feature for feature in rank.features if feature.monotone}
    return [
        (name, monotone(scorer, names.index(name), features[name].monotone, box, names))
        for name in scorer.used
        if name in features
    ]


def _monotone(policy: ScoredPolicy, logged: dict[str, Choices]) -> list[str]:
    found = verdicts(policy, logged)
    if not found:
        return ["It asks for no feature that has a direction."]
    names = _box(policy, policy.rank, logged)[1]
    units = {feature.name: feature.unit for feature in policy.rank.features}
    lines = ["Which way scores go:", ""]
    for name, verdict in found:
        claim = f"more {name} never {'lowers' if verdict.direction > 0 else 'raises'} the score"
        if verdict.holds:
            lines.append(f"  {claim}: proved")
        elif verdict.holds is None:
            lines.append(f"  {claim}: not proved; none of {PAIRS:,} pairs of rows says no")
        else:
            lines += [f"  {claim}: no", *_counterexample(name, verdict, names, units)]
    return lines


def _counterexample(name: str, verdict: Verdict, names: Sequence[str], units: dict[str, str]) -> list[str]:
    assert verdict.pair is not None
    low, high = (float(row[verdict.feature]) for row in verdict.pair)
    less, more = verdict.scores
    others = [f"{names[f]} {valued(float(verdict.pair[0][f]), units[names[f]])}" for f in verdict.held]
    text = f"{name} {valued(low, units[name], high)} has the score {less:.6g}, "
    text += f"{valued(high, units[name], low)} {more:.6g}"
    if others:
        text += f"; at {', '.join(others)}"
    return textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="      ")


def _waiting(policy: ScoredPolicy, logged: dict[str, Choices], bench: Bench | None) -> list[str]:
    rank = policy.rank
    box, names = _box(policy, rank, logged)
    scorer = policy.scorers[rank.name]
    if policy.patches:
        rule = patched_age_rule(policy.patches, policy.none, scorer, rank, box, names)
    else:
        rule = age_rule(scorer, rank, box, names)
    lines = []
    if bench is not None:
        plain = heuristic(policy.problem, policy.problem.baseline)
        own, other = (
            longest_wait(each.compiled, bench.instance, as_meant(each, bench.instance, bench.episodes), rank)
            for each in (policy, plain)
        )
        lines.append(_measured(policy, own, other, bench))
    lines.append(_proved(policy, rule))
    return [line for text in lines for line in textwrap.wrap(text, WIDTH)]


def _measured(policy: ScoredPolicy, own: Wait, other: Wait, bench: Bench) -> str:
    rank = policy.rank
    who = rank.group or "candidate"
    ready = " with a ready candidate of which none is served" if rank.ready and rank.served else ""
    told = f"Longest wait of a {who}{ready}, on {bench.instance.describe(SPLIT, bench.episodes)}: {own.seconds:,.1f} s"
    if own.episode >= 0:
        told += f" ({who} {own.group} of episode {own.episode}, from {own.since_s:,.1f} s on)"
    return f"{told}; under {policy.problem.baseline} {other.seconds:,.1f} s. This is what was seen, and no bound."


def _proved(policy: ScoredPolicy, rule: AgeRule | None) -> str:
    rank = policy.rank
    who = rank.group or "candidate"
    if rule is None and policy.patches:
        return (
            "No bound of the wait is proved: patches come before the scores, and the first of them does not prefer "
            f"{who}s for their age alone."
        )
    if rule is None:
        return f"No bound of the wait is proved: no rule gives every old {who} a higher score than every younger one."
    unit = next(feature.unit for feature in rank.features if feature.name == rank.age)
    age = valued(rule.age, unit)
    ready = "ready " if rank.ready else ""
    before = "is preferred by a patch to" if policy.patches else "has a higher score than"
    order = (
        f", the oldest first: it waits for older {who}s alone"
        if rule.oldest_first
        else f", in an order of their own: it waits for {who}s of that age alone"
    )
    safe = rule.above_none or not policy.may_idle
    none = "" if safe else " None of these may still be answered: that is not excluded."
    return (
        f"Proved: from {rank.age} {age} on a {ready}candidate {before} those of younger {who}s{order}. "
        f"So it is chosen at the latest when those have no {ready}candidate left, provided that decisions go on being "
        f"asked, offer it, and give each choice something.{none}"
    )
