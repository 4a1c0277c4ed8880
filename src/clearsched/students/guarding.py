"""Give a policy a guard: measure what its own training episodes came to, set the bounds above that, check it.

What a fit has seen it can answer for. Beyond that, when more work or longer stalls have piled up than on any episode
that the policy ran in training, a named heuristic schedules until it has cleared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.compiled.guard import Guarded, never
from clearsched.errors import ClearschedError
from clearsched.files import read_json
from clearsched.problems.policy import heuristic
from clearsched.problems.problem import Instance
from clearsched.scorers.guard import Bound, Guard, check_gauges
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.scorers.text import write_policy
from clearsched.search.safety import ALLOWED, evidence, judge_whole
from clearsched.students.bench import JOINED

DIGITS = 3
"""Significant digits of a bound, rounded up: the bound is never below what was measured."""


def guarded(
    settings: Any,
    policy: ScoredPolicy,
    instance: Instance,
    tuned: Path | None = None,
    tell: Callable[[str], None] = print,
) -> ScoredPolicy:
    """The policy with the guard of the section `students.guard` of params, checked; as it is where none is asked for.

    Args:
        settings: heuristic, gauges, margin, clear.
        policy: whose own episodes are run; a guard that it has is replaced.
        instance: with the training and validation episodes.
        tuned: parameters by heuristic; defaults without.
        tell: called with the guard in words.

    Raises:
        ClearschedError: an unknown heuristic, a problem without gauges, or the policy strays from the baseline with
            the guard and not without it (`search.safety`).
    """
    if settings.heuristic is None:
        return policy
    check_gauges(instance.problem, "students.guard.gauges", settings.gauges)
    guard = measured(settings, replace(policy, guard=None), instance, tuned)
    tell(f"guard: {guard.sentence(instance.problem)}")
    return _checked(replace(policy, guard=guard), instance, tell)


def measured(settings: Any, policy: ScoredPolicy, instance: Instance, tuned: Path | None = None) -> Guard:
    """A guard whose bounds lie a margin above the most that a policy's own episodes of training and validation came to.

    Single episodes, and joined ones: a stream that goes on piles up more. A wait that is shorter than a job stays, on
    average over these episodes, is no sign of trouble, so its bound is not below that.
    """
    problem = instance.problem
    watching = Guarded(policy.compiled, heuristic(problem, problem.baseline).compiled, never(len(problem.gauges)))
    single = [*instance.split("validation"), *instance.split("train")]
    outcomes = instance.simulate(watching, [*single, *_longer(instance)])
    most = np.max([outcome.guard.most for outcome in outcomes], axis=0)
    stay_s = float(np.mean([outcome.scale_s for outcome in outcomes]))
    when = {}
    for gauge, seen in zip(problem.gauges, most.tolist(), strict=True):
        if settings.gauges and gauge.name not in settings.gauges:
            continue
        above = rounded_up(settings.margin * max(seen, stay_s if gauge.is_wait else 0.0))
        when[gauge.name] = Bound(above, min(above, rounded_up(settings.clear * above)))
    return Guard(settings.heuristic, when, _tuned(settings.heuristic, tuned))


def rounded_up(value: float, digits: int = DIGITS) -> float:
    """The least number of so many significant digits that is not below the value."""
    if value <= 0:
        return 0.0
    places = digits - 1 - int(np.floor(np.log10(value)))
    return round(float(np.ceil(value * 10.0**places - 1e-9)) / 10.0**places, max(places, 0))


def guard_file(
    path: Path,
    settings: Any,
    trace: Path,
    workloads: Path,
    tuned: Path | None,
    out_dir: Path,
    tell: Callable[[str], None],
) -> list[Path]:
    """See `clearsched.students.guard`."""
    if path.suffix != ".json":
        raise ClearschedError(f"{path}: a guard stands beside the JSON of a student, a searched policy or a formula")
    policy = load_policy(path)
    policy = guarded(settings, policy, policy.problem.open(trace, workloads), tuned, tell)
    return write_policy(policy, out_dir, path.stem)


def _longer(instance: Instance) -> list[Any]:
    """The training episodes joined; none where joining them leaves them as they are."""
    train = instance.split("train")
    joined = instance.joined(train, JOINED)
    return joined if len(joined) < len(train) else []


def _tuned(name: str, tuned: Path | None) -> Mapping[str, float]:
    """The tuned parameters of a heuristic, if there are any."""
    found = read_json(tuned).get(name) if tuned is not None else None
    return found if isinstance(found, Mapping) else {}


def _checked(policy: ScoredPolicy, instance: Instance, tell: Callable[[str], None]) -> ScoredPolicy:
    """The policy with what the safety check says of it: under stress the heuristic may take over.

    Where the policy strays from the baseline with the guard and without it, a line says so.

    Raises:
        ClearschedError: it strays with the guard alone.
    """
    baseline = heuristic(instance.problem, instance.problem.baseline)
    verdict, *without = judge_whole(instance, [policy, replace(policy, guard=None)])
    if verdict.strays and without[0].strays:
        tell(f"guard: with it, {verdict}: do not deploy it")
    elif verdict.strays:
        raise ClearschedError(
            f"{policy.where}: the guard is refused, nothing was written: with it, {verdict} (the baseline is "
            f"{baseline.name}); {ALLOWED}"
        )
    return replace(policy, evidence={**policy.evidence, **evidence(verdict, baseline, instance.stress_share)})
