"""Give a policy a guard: measure what its own training episodes came to, set the bounds above that, check it.

The bounds are measured in `search.guard_bounds`, the guard itself is `scorers.guard`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from clearsched.errors import ClearschedError
from clearsched.problems.episodes import Episode
from clearsched.problems.policy import heuristic
from clearsched.problems.problem import Instance
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.scorers.settings import GuardParams
from clearsched.scorers.text import write_policy
from clearsched.search.guard_bounds import in_turn, measured
from clearsched.search.safety import Verdict, evidence, judge_whole


def guarded(
    settings: GuardParams,
    policy: ScoredPolicy,
    instance: Instance,
    tuned: Path | None = None,
    tell: Callable[[str], None] = print,
    rare: Sequence[Episode] = (),
) -> ScoredPolicy:
    """The policy with the guard of the section `students.guard` of params, checked; as it is where none is asked for.

    Where only an unsafe policy is given one, who is safe without comes back without.

    Args:
        settings: heuristic, its parameters, gauges, margin, clear.
        policy: whose own episodes are run; a guard that it has is replaced.
        instance: with the training and validation episodes.
        tuned: parameters by heuristic; defaults without.
        tell: called with the guard in words.
        rare: episodes that the policy is asked beside those of the safety check.

    Raises:
        ClearschedError: an unknown heuristic, a problem without gauges, or the policy strays from the baseline with
            the guard and not without it (`search.safety`).
    """
    guard = measured(settings, policy, instance, tuned, "students.guard")
    if guard is None:
        return policy
    if settings.only_if_unsafe:
        alone = replace(policy, guard=None)
        (verdict,) = judge_whole(instance, [alone], rare=rare)
        if not verdict.strays:
            return _judged(alone, verdict, instance)
    tell(f"guard: {guard.sentence(instance.problem)}")
    return _checked(replace(policy, guard=guard), instance, tell, rare)


def guard_file(
    path: Path,
    settings: GuardParams,
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


def guard_shipped(settings: GuardParams, path: Path, trace: Path, workloads: Path, tuned: Path) -> None:
    """Give a policy made elsewhere the guard of `search.guard`, if it needs it, and its file what the check says.

    Raises:
        ClearschedError: an input is broken, or the problem has no gauges.
    """
    policy = load_policy(path)
    instance = policy.problem.open(trace, workloads)
    guards = in_turn(settings, measured(settings, policy, instance, tuned, "search.guard"))
    policies = [replace(policy, guard=guard) for guard in guards]
    *refused, verdict = judge_whole(instance, policies)
    write_policy(_judged(policies[len(refused)], verdict, instance), path.parent, path.stem)


def _judged(policy: ScoredPolicy, verdict: Verdict, instance: Instance) -> ScoredPolicy:
    """The policy with what the safety check says of it."""
    baseline = heuristic(instance.problem, instance.problem.baseline)
    return replace(policy, evidence={**policy.evidence, **evidence(verdict, baseline, instance)})


def _checked(
    policy: ScoredPolicy, instance: Instance, tell: Callable[[str], None], rare: Sequence[Episode]
) -> ScoredPolicy:
    """The policy with what the safety check says of it: under stress the heuristic may take over.

    Where the policy strays from the baseline with the guard and without it, a line says so.

    Raises:
        ClearschedError: it strays with the guard alone.
    """
    verdict, *without = judge_whole(instance, [policy, replace(policy, guard=None)], rare=rare)
    if verdict.strays and without[0].strays:
        tell(f"guard: with it, {verdict}: do not deploy it")
    elif verdict.strays:
        raise ClearschedError(
            f"{policy.where}: the guard is refused, nothing was written: with it, {verdict} (the baseline is "
            f"{instance.problem.baseline}); {verdict.allowed}"
        )
    return _judged(policy, verdict, instance)
