"""From when on a guard takes over: bounds above all that a policy's own episodes came to.

What a policy was made on it can answer for. Beyond that, when more work, longer stalls or larger jobs have piled up
than on any of these episodes, a named heuristic schedules until it has cleared (`scorers.guard`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from clearsched.compiled.guard import Guarded, never
from clearsched.heuristics.tuning import read_tuned
from clearsched.problems.policy import as_meant, heuristic
from clearsched.problems.problem import Instance
from clearsched.scorers.guard import Bound, Guard, check_gauges
from clearsched.scorers.settings import GuardParams
from clearsched.search.trials import JOINED

DIGITS = 3
"""Significant digits of a bound, rounded up: the bound is never below what was measured."""


def measured(
    settings: GuardParams, policy: Any, instance: Instance, tuned: Path | None = None, where: str = "guard"
) -> Guard | None:
    """A guard whose bounds lie a margin above the most that a policy's own episodes of training and validation came to.

    Single episodes, and joined ones: a stream that goes on piles up more. A wait that is shorter than a job stays, on
    average over these episodes, is no sign of trouble, so its bound is not below that.

    Args:
        settings: heuristic, its parameters, gauges, margin, clear.
        policy: one that runs in the loop (`policy.compiled`), whose episodes are run, without a guard.
        instance: with the training and validation episodes.
        tuned: parameters by heuristic; defaults without.
        where: the section of params that asks for it, for errors.

    Returns:
        None where no heuristic is named.

    Raises:
        ClearschedError: an unknown heuristic, parameter or gauge, or a problem without gauges.
    """
    problem = instance.problem
    if settings.heuristic is None:
        return None
    check_gauges(problem, f"{where}.gauges", settings.gauges)
    found = read_tuned(tuned, problem) if tuned else {}
    parameters = found.get(settings.heuristic, {}) | settings.settings
    heuristic(problem, settings.heuristic, parameters)  # so that a wrong one is told before anything runs
    watching = Guarded(policy.compiled, heuristic(problem, problem.baseline).compiled, never(len(problem.gauges)))
    single = [*instance.split("validation"), *instance.split("train")]
    outcomes = instance.simulate(watching, as_meant(policy, instance, [*single, *_longer(instance)]))
    most = np.max([outcome.guard.most for outcome in outcomes], axis=0)
    stay_s = float(np.mean([outcome.scale_s for outcome in outcomes]))
    named = settings.gauges or [gauge.name for gauge in problem.gauges if not gauge.by_name]
    when = {}
    for gauge, seen in zip(problem.gauges, most.tolist(), strict=True):
        if gauge.name not in named:
            continue
        above = rounded_up(settings.margin * max(seen, stay_s if gauge.is_wait else 0.0))
        when[gauge.name] = Bound(above, min(above, rounded_up(settings.clear * above)))
    return Guard(settings.heuristic, when, parameters)


def in_turn(settings: GuardParams, guard: Guard | None) -> list[Guard | None]:
    """With which guard a policy is asked the safety check, up to the first with which it is safe.

    The first is also that of all candidates of a search, a fit or a training: where only an unsafe policy is given a
    guard, they are to be safe without one.
    """
    return [None, guard] if settings.only_if_unsafe and guard is not None else [guard]


def rounded_up(value: float, digits: int = DIGITS) -> float:
    """The least number of so many significant digits that is not below the value."""
    if value <= 0:
        return 0.0
    places = digits - 1 - int(np.floor(np.log10(value)))
    return round(float(np.ceil(value * 10.0**places - 1e-9)) / 10.0**places, max(places, 0))


def _longer(instance: Instance) -> list[Any]:
    """The training episodes joined; none where joining them leaves them as they are."""
    train = instance.split("train")
    joined = instance.joined(train, JOINED)
    return joined if len(joined) < len(train) else []
