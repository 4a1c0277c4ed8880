"""Lay the patches of a person on a policy; what strays from the baseline with them is refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from clearsched.documents import read_yaml_value
from clearsched.errors import ClearschedError
from clearsched.problems.episodes import Episode
from clearsched.problems.policy import Policy, heuristic
from clearsched.problems.problem import Instance, Problem
from clearsched.scorers.patches import Patch, read_patches
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.scorers.text import write_policy
from clearsched.search.guard_bounds import measured
from clearsched.search.safety import Verdict, evidence, judge_whole
from clearsched.students.patch_trial import Compared

WORSE = {
    "worst": "an episode takes {:.2f} times the baseline's",
    "end": "the last job ends after {:.2f} times the baseline's time",
    "cleared": "a backlog is cleared after {:.2f} times its time",
    "of_limit": "a measure is {:.2f} times its limit",
    "hard": "an episode of the hardest kind takes {:.2f} times the baseline's",
    "batch_end": "the last job of a batch ends after {:.2f} times the baseline's time",
}
"""What patches made worse on another load, by the number of a verdict."""


class RefusedError(ClearschedError):
    """A policy whose patches let it stray from the baseline."""

    def __init__(self, policy: ScoredPolicy, why: str) -> None:
        super().__init__(_refusal(policy.where, "nothing was written", why))
        self.policy, self.why = policy, why


def read_file(path: Path, problem: Problem) -> tuple[Patch, ...]:
    """The patches of a YAML or JSON file: a list, or one under the key `patches`.

    Raises:
        ClearschedError: the file is missing or broken, or a patch is (`scorers.patches.read_patches`).
    """
    content = read_yaml_value(path)
    if isinstance(content, dict) and list(content) == ["patches"]:
        content = content["patches"]
    return read_patches([] if content is None else content, problem, str(path))


def load_patchable(path: Path) -> ScoredPolicy:
    """The policy of a file.

    Raises:
        ClearschedError: it is none that scores: the teacher's network and heuristics take no patches.
    """
    if path.suffix != ".json":
        raise ClearschedError(
            f"{path}: patches go on the JSON of a student, a searched policy or a formula: a teacher or a heuristic "
            "takes none"
        )
    return load_policy(path)


def checked(
    policy: ScoredPolicy, instance: Instance, threads: int | None = None, rare: Sequence[Episode] = ()
) -> ScoredPolicy:
    """A patched policy that keeps near to the baseline on every validation and training episode, and under stress.

    `rare`: episodes that it is asked besides.

    Raises:
        RefusedError: it does not.
    """
    baseline = heuristic(instance.problem, instance.problem.baseline)
    verdict, *without = judge_whole(instance, [policy, replace(policy, patches=())], threads, rare)
    if verdict.strays:
        raise RefusedError(policy, _why(f"{verdict}; {_without(*without)}", baseline, verdict))
    return replace(policy, evidence={**policy.evidence, **evidence(verdict, baseline, instance)})


def refuse_worse(compared: Compared, where: str) -> None:
    """Of a load beside the normal one, an edge case on which the policy may have strayed before.

    Raises:
        ClearschedError: it strays with the patches, and further than without them.
    """
    before, after = compared.before.verdict, compared.after.verdict
    for name, bound in after.bounds.items():
        was, now = getattr(before, name), getattr(after, name)
        if not now <= max(bound, was):
            told = f"on {compared.load} {WORSE[name].format(now)} ({was:.2f} without them)"
            raise ClearschedError(_refusal(where, "nothing was written", _why(told, compared.baseline, after)))


def _without(verdict: Verdict) -> str:
    """What a policy that is refused was without its patches: whose fault it is."""
    return f"without them it is not safe either: {verdict}" if verdict.strays else "without them it is safe"


def _refusal(where: str, written: str, why: str) -> str:
    return f"{where}: the patches are refused, {written}: with them, {why}"


def _why(told: str, baseline: Policy, verdict: Verdict) -> str:
    return f"{told} (the baseline is {baseline.name}); {verdict.allowed}"


@contextmanager
def kept_if_refused(folder: Path, kind: str) -> Iterator[None]:
    """Within it patches are laid on a fitted student: if they are refused, it is kept without them in a folder.

    The patches are wrong then, and not the fit, which takes long. What an earlier fit kept is removed once one is done.

    Raises:
        ClearschedError: the patches are refused; the line tells the folder.
    """
    try:
        yield
    except RefusedError as refused:
        write_policy(replace(refused.policy, patches=()), folder, kind)
        written = f"what was fitted is kept without them in {folder}"
        raise ClearschedError(_refusal(refused.policy.name, written, refused.why)) from None
    shutil.rmtree(folder, ignore_errors=True)


def laid_on(
    settings: Any, policy: ScoredPolicy, instance: Instance, tuned: Path | None = None, rare: Sequence[Episode] = ()
) -> ScoredPolicy:
    """The policy with the patches of the section `students` of params, checked; without any as it is.

    Where the section asks for a guard it is checked with that, as it will schedule.

    Raises:
        ClearschedError: one is malformed.
        RefusedError: the policy strays with them.
    """
    patches = of_params(settings, policy.problem)
    if not patches:
        return policy
    patched = replace(policy, patches=patches)
    guard = measured(settings.guard, patched, instance, tuned, "students.guard")
    return checked(replace(patched, guard=guard), instance, rare=rare)


def of_params(settings: Any, problem: Problem) -> tuple[Patch, ...]:
    """The patches of the section `students` of params.

    Raises:
        ClearschedError: one is malformed.
    """
    entries = [patch.model_dump(exclude_none=True) for patch in settings.patches]
    return read_patches(entries, problem, "params: students.patches")
