"""Whether a network strays from a plain heuristic where students and searched policies are asked the same.

No step of a training is refused: a network is judged once it is trained. Where it is not safe, one that was the best
before it is asked, back to the clone; its file tells what came of it, and the choice among training seeds takes one
that is safe (`choosing`). It runs outside the compiled loop, so that the whole safety check would take minutes: of the
stress it is asked the first episodes, which are short and hold the giants, and some of the others.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clearsched.files import read_json, write_json
from clearsched.problems import find_problem
from clearsched.problems.episodes import Episode
from clearsched.problems.policy import CompiledPolicy, Policy, heuristic
from clearsched.problems.problem import Instance, means_help
from clearsched.scorers.guard import Guard
from clearsched.scorers.settings import GuardParams
from clearsched.search.guard_bounds import in_turn, measured
from clearsched.search.probing import sample
from clearsched.search.safety import Check, Chosen, Verdict, evidence, first_safe
from clearsched.search.trials import table_of
from clearsched.teacher.checkpoints import load_policy
from clearsched.teacher.experts import Experts, find_experts
from clearsched.teacher.policy import LOCKSTEP, TeacherPolicy
from clearsched.teacher.run import Best, Training

if TYPE_CHECKING:
    from clearsched.params import Params
    from clearsched.teacher.settings import TeacherParams


class Lanes:
    """Runs policies outside the compiled loop, the episodes side by side.

    Attributes:
        instance: whose episodes they are.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance

    def outcomes(self, policies: Sequence[Policy], episodes: Sequence[Episode]) -> np.ndarray:
        """float64[ROWS, policies, episodes]: as `search.trials.Trials.outcomes`."""
        instance = self.instance
        tables = [table_of(instance, instance.objective, policy.run(instance, episodes)) for policy in policies]
        return np.stack(tables, axis=1)


def check_of(instance: Instance) -> Check:
    """Policies next to the problem's baseline, on the validation and training episodes and on a part of the stress.

    As many at a time as share the forward passes of a network: one that strays on a giant is not run on what comes
    after, streams of thousands of jobs among it, which take most of the time.
    """
    return _next_to_baseline(instance, [*instance.split("validation"), *_trained_on(instance)])


def verdict_as_clone(settings: GuardParams, instance: Instance, tuned: Path, policy: CompiledPolicy) -> Verdict:
    """What the check that networks are asked finds of a policy, with the guard that a clone of it would get.

    Args:
        settings: `teacher.guard`.
        instance: with the training and validation episodes.
        tuned: JSON file of the tuned heuristics.
        policy: who might be cloned.
    """
    guards = in_turn(settings, measured(settings, policy, instance, tuned, "teacher.guard"))
    running = [guard.compiled(instance.problem, policy.compiled) if guard else policy.compiled for guard in guards]
    return first_safe(check_of(instance).verdict, [replace(policy, compiled=each) for each in running], -1).verdict


def experts_of(params: TeacherParams, instance: Instance, tuned: Path, searched: Sequence[Path]) -> Experts:
    """Whom a training starts from and is held against (`experts.find_experts`); heuristics are asked the check here."""
    judge = partial(verdict_as_clone, params.guard, instance, tuned)
    return find_experts(instance, params.clone.policy, tuned, searched, judge)


def _trained_on(instance: Instance) -> list[Episode]:
    """The training episodes, and the part of the stress that networks are asked."""
    train = instance.split("train")
    return [*train, *sample(instance.stressed(train))]


def _next_to_baseline(instance: Instance, episodes: Sequence[Episode]) -> Check:
    return Check(Lanes(instance), heuristic(instance.problem, instance.problem.baseline), episodes, LOCKSTEP)


ANEW = 1
"""The seed of further episodes; that of the stress is 0."""


def rare(instance: Instance, expert: Policy, count: int) -> list[Episode]:
    """Of `count` further episodes of training jobs, drawn anew, those on which what is cloned does not stray."""
    if not count:
        return []
    return within_reach(instance, expert, instance.redrawn(instance.split("train"), count, ANEW))


def within_reach(instance: Instance, expert: Policy, drawn: Sequence[Episode]) -> list[Episode]:
    """Of some episodes those on which an expert does not stray: nobody learns from it what it cannot do itself."""
    strayed = set(_next_to_baseline(instance, drawn).strayed_of_all(expert))
    return [episode for place, episode in enumerate(drawn) if place not in strayed]


class Asked:
    """What a clone is asked between rounds: the safety check, but for the validation episodes, which choose.

    Attributes:
        episodes: the training episodes, the stress that networks are asked, and further episodes.
    """

    def __init__(self, instance: Instance, guard: Guard | None, further: Sequence[Episode] = ()) -> None:
        """`guard`: that the network will have; `further`: what is asked besides (`rare`)."""
        first = _trained_on(instance)
        self.episodes, self._first = [*first, *further], len(first)
        self._check, self._further = _next_to_baseline(instance, first), _next_to_baseline(instance, further)
        self._instance = instance
        self._guard, self._helps, self._problem = guard, means_help(instance), instance.problem

    def with_validation(self) -> Check:
        """The same and the validation episodes."""
        return _next_to_baseline(self._instance, [*self._instance.split("validation"), *self.episodes])

    def strayed(self, network: Any) -> list[int]:
        """The places of episodes on which the network strays; none: it is safe on them.

        A few of those of the safety check; where it strays on none of these, all of the further ones: they are rare.
        """
        own = copy.deepcopy(network).cpu()
        policy = TeacherPolicy(own, self._problem, guard=self._guard, help_first=self._helps)
        return self._check.strayed(policy) or [self._first + place for place in self._further.strayed_of_all(policy)]


def settle(
    training: Training, guards: Sequence[Guard | None] = (None,), asked: Asked | None = None
) -> tuple[Chosen, Guard | None]:
    """A training comes to the latest of its best networks that is safe, or to the best where none is.

    A line on stderr tells of each that is not.

    Args:
        training: that has ended.
        guards: with which each network is asked, up to the first with which it is safe (`guard_bounds.in_turn`).
        asked: what the clone was asked, which is asked what improvement made of it as well.

    Returns:
        What the check says, and the guard of the network that is kept.
    """
    instance = training.instance
    candidates = [(candidate, guard) for candidate in training.bests[::-1] for guard in guards]
    policies = [_policy(training, candidate, guard) for candidate, guard in candidates]
    check = check_of(instance) if asked is None else asked.with_validation()
    chosen = first_safe(check.verdict, policies, len(guards) - 1)
    for (candidate, guard), verdict in zip(candidates, chosen.verdicts, strict=False):
        if verdict.strays:
            told = " without a guard" if guard is None and any(guards) else ""
            print(f"clearsched: teacher: {candidate.at}: not safe{told}: {verdict}", file=sys.stderr)
    kept, guard = candidates[chosen.place]
    training.settle(kept)
    return chosen, guard


def give_guard(
    params: Params, trace: Path, workloads: Path, tuned: Path, searched: Sequence[Path], out_dir: Path
) -> dict[str, Any]:
    """Give a network that was not trained here the guard of `teacher.guard`, if it needs it, and judge it with that.

    Its bounds are from the episodes of the policy that a training would clone.

    Args:
        params: problem and the section teacher are used.
        trace, workloads, tuned, searched: as of a training.
        out_dir: holds teacher.safetensors and teacher.json, which is written anew.

    Returns:
        What teacher.json says by then.

    Raises:
        ClearschedError: an input is broken, or the problem has no gauges.
    """
    instance = find_problem(params.problem).open(trace, workloads)
    cloned = experts_of(params.teacher, instance, tuned, searched).cloned
    settings = params.teacher.guard
    guards = in_turn(settings, measured(settings, cloned, instance, tuned, "teacher.guard"))
    network = load_policy(out_dir / "teacher.safetensors")
    policies = [_with(guard, network) for guard in guards]
    chosen = first_safe(check_of(instance).verdict, policies, len(guards) - 1)
    baseline = heuristic(instance.problem, instance.problem.baseline)
    facts: dict[str, Any] = read_json(out_dir / "teacher.json") | evidence(chosen.verdict, baseline, instance)
    facts.pop("guard", None)
    if guard := guards[chosen.place]:
        facts["guard"] = guard.to_json()
    write_json(out_dir / "teacher.json", facts)
    return facts


def _with(guard: Guard | None, policy: TeacherPolicy) -> TeacherPolicy:
    """The same network with another guard, or with none."""
    guarded = copy.copy(policy)
    guarded.guard = guard
    return guarded


def _policy(training: Training, candidate: Best, guard: Guard | None) -> TeacherPolicy:
    network = copy.deepcopy(training.network)
    network.load_state_dict(candidate.weights)
    return TeacherPolicy(network.cpu(), training.problem, guard=guard, help_first=means_help(training.instance))
