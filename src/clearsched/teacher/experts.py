"""The policy that the network starts from: the best of the searched policies and the tuned heuristics."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from clearsched.documents import is_number
from clearsched.errors import ClearschedError
from clearsched.heuristics.tuning import read_tuned, tuned_heuristic
from clearsched.problems.declarations import Measure
from clearsched.problems.policy import CompiledPolicy
from clearsched.problems.problem import Instance, Problem
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.search.safety import Verdict, verdict_in

BEST = "best"

UNASKED = verdict_in({})
"""Nothing is against it."""


class Experts(NamedTuple):
    """What there is to start from and to be held against."""

    cloned: CompiledPolicy  # searched or heuristic
    heuristic: CompiledPolicy  # the best tuned one


class Cloneable(NamedTuple):
    """A policy that might be cloned."""

    value: float  # mean objective on the validation episodes
    policy: CompiledPolicy
    verdict: Callable[[], Verdict]  # of the safety check


def find_experts(
    instance: Instance,
    name: str,
    tuned: Path,
    searched: Sequence[Path],
    verdict: Callable[[CompiledPolicy], Verdict] = lambda _: UNASKED,
) -> Experts:
    """The policy to clone, and the best tuned heuristic.

    Args:
        instance: what is scheduled, and its objective.
        name: `BEST`: the one with the best mean objective on the validation episodes, of those that are safe, or of all
            where none is; else a name.
        tuned: JSON file of the tuned heuristics.
        searched: JSON files of searched policies.
        verdict: of a safety check, on a tuned heuristic: those files do not tell it, as those of searched policies do.

    Raises:
        ClearschedError: a file is broken or of another problem or objective, or none holds the policy.
    """
    problem, measure = instance.problem, instance.objective
    policies = {}
    for path in searched:
        policy = load_policy(path, problem)
        if policy.name in policies:
            raise ClearschedError(f"{path}: a second searched policy with the name {policy.name}: give each one once")
        policies[policy.name] = (path, policy)
    if name in policies:
        chosen = _compiled(policies[name][1])
    elif name in problem.heuristics:
        return Experts(tuned_heuristic(problem, name, tuned), _best_heuristic(problem, tuned, name))
    elif name != BEST:
        known = ", ".join([BEST, *policies, *problem.heuristics])
        raise ClearschedError(f"teacher.clone.policy: no searched policy {name!r} was given: there are {known}")
    best = tuned_heuristic(problem, BEST, tuned)
    if name == BEST and not policies:
        chosen = best
    elif name == BEST:
        found = [Cloneable(_tuned_value(problem, measure, tuned, best.name), best, partial(verdict, best))]
        for path, policy in policies.values():
            told = partial(_told_of, policy, instance)
            found.append(Cloneable(_searched_value(measure, path, policy), _compiled(policy), told))
        order = 1 if measure.lower_is_better else -1
        chosen = _first_safe(sorted(found, key=lambda each: order * each.value))
    return Experts(chosen, best)


def _told_of(policy: ScoredPolicy, instance: Instance) -> Verdict:
    """What its file tells, by what is allowed here: it may have been made where that is more."""
    return verdict_in(policy.evidence)._replace(safety_bound=instance.safety_bound, hard_bound=instance.hard_bound)


def _first_safe(ranked: Sequence[Cloneable]) -> CompiledPolicy:
    """The first that is safe, or the first of all; a line on stderr tells who is passed over, or that nobody is safe.

    A network learns to stray from what strays: clones of a heuristic that is not safe were refused with every seed,
    and one of a safe policy that is as good was not (docs/objectives.md).
    """
    refused: list[str] = []
    for each in ranked:
        found = each.verdict()
        if not found.strays:
            for told in refused:
                print(f"clearsched: teacher: {told}; {each.policy.name} is imitated", file=sys.stderr)
            return each.policy
        refused.append(f"{each.policy.name} is better on validation, and not safe: {found}")
    told = f"nobody who might be imitated is safe: {ranked[0].policy.name} is, the best on validation"
    print(f"clearsched: teacher: {told}", file=sys.stderr)
    return ranked[0].policy


def _best_heuristic(problem: Problem, tuned: Path, name: str) -> CompiledPolicy:
    """The best tuned heuristic; where the file does not say which that is, the one of that name."""
    return tuned_heuristic(problem, BEST if "best" in read_tuned(tuned, problem) else name, tuned)


def _compiled(policy: ScoredPolicy) -> CompiledPolicy:
    return CompiledPolicy(policy.name, "searched", policy.compiled, help_first=policy.help_first)


def _tuned_value(problem: Problem, measure: Measure, tuned: Path, name: str) -> float:
    found = read_tuned(tuned, problem)
    values = found.get("validation")
    value = values.get(name) if isinstance(values, dict) else None
    if found.get("measure") != measure.name or not is_number(value):
        raise ClearschedError(f"{tuned}: does not tell the {measure.name} of {name}; tune them again")
    return float(value)


def _searched_value(measure: Measure, path: Path, policy: ScoredPolicy) -> float:
    found = policy.evidence.get("validation")
    if not isinstance(found, dict) or found.get("measure") != measure.name or not is_number(found.get("value")):
        raise ClearschedError(f"{path}: validation: does not tell its {measure.name}; search again")
    return float(found["value"])
