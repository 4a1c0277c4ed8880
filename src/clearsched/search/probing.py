"""Whether a step of a search is safe: asked of a few episodes, among them all on which somebody strayed before.

The whole check takes seconds, and what a lock needs comes once in a hundred episodes: a few of them let it pass. So the
part of the whole check on which a policy strayed is asked of all that come after it (counterexample-guided, as in
A. Solar-Lezama, Program synthesis by sketching, 2008), and first of all the one episode that told: what is unsafe in
the same way is refused after that episode alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from clearsched.problems.episodes import Episode
from clearsched.problems.policy import Policy
from clearsched.problems.problem import Instance
from clearsched.scorers.guard import Guard
from clearsched.scorers.policy import ScoredPolicy
from clearsched.search.safety import PART, Check, Runs, Verdict

LATEST = 12
"""So many of the episodes that told are asked of every candidate of a search."""


FIRST, EVERY = 200, 4
"""So many episodes of the stress, the first, and of the rest every so many-th, for those who can't be asked all."""


def sample(stressed: Sequence[Episode]) -> list[Episode]:
    """A part of the stress: its first episodes, which are short and hold the giants, and some of the others."""
    return [*stressed[:FIRST], *stressed[FIRST::EVERY]]


class WithGuard:
    """Runs policies as they will schedule: each with the guard that the outcome of a search or fit is given in the end.

    Bounds are measured anew for that one: those of here are of somebody before it. A policy that has a guard keeps it,
    and a heuristic has none.

    Attributes:
        instance: whose episodes they are.
    """

    def __init__(self, runs: Runs, guard: Guard) -> None:
        """`runs`: what runs them."""
        self.instance: Instance = runs.instance
        self._runs, self._guard = runs, guard

    def outcomes(self, policies: Sequence[Policy], episodes: Sequence[Episode]) -> np.ndarray:
        """float64[ROWS, policies, episodes]: as `search.trials.Trials.outcomes`."""
        return self._runs.outcomes([self._guarded(policy) for policy in policies], episodes)

    def _guarded(self, policy: Policy) -> Policy:
        if isinstance(policy, ScoredPolicy) and policy.guard is None:
            return replace(policy, guard=self._guard)
        return policy


class Probes:
    """A whole check of policies next to a baseline, and a short one."""

    def __init__(
        self,
        runs: Runs,
        baseline: Policy,
        episodes: Sequence[Episode],
        few: Sequence[Episode],
        guard: Guard | None = None,
    ) -> None:
        """Prepare both.

        Args:
            runs: what runs them.
            baseline: what policies must keep near to.
            episodes: of the whole check, short ones first.
            few: of the short one, to begin with.
            guard: with which policies are asked; None: as they are.
        """
        runs = runs if guard is None else WithGuard(runs, guard)
        self._runs, self._baseline, self._episodes = runs, baseline, episodes
        self._whole, self._few = Check(runs, baseline, episodes), Check(runs, baseline, few)
        self._told: dict[int, Check] = {}  # of the episodes that candidates are asked of, by their places, in turn
        self._parts: dict[int, Check] = {}  # of the rest of these parts, by where the part begins
        self._singles: dict[int, Check] = {}  # of an episode by its place: the baseline runs once on each
        self._every: dict[int, Check] = {}  # of each episode that told, the later ones of a part as well

    def verdict(self, policy: Policy) -> Verdict:
        """By the whole check; where the policy strays, that part of it joins the short one."""
        verdict = self._whole.verdict(policy)
        if verdict.strays:
            self._learn(policy, (verdict.episodes - 1) // PART * PART)
        return verdict

    def _learn(self, policy: Policy, begin: int) -> None:
        """Remember the episode, of the part that begins there, on which a policy strays; and the part, if it is new."""
        place, told = next((place, check) for place, check in self._single(begin) if not check.is_safe(policy))
        self._every.setdefault(place, told)
        if begin not in self._parts:
            self._told[place] = told
            end = begin + PART
            rest = [*self._episodes[begin:place], *self._episodes[place + 1 : end]]
            self._parts[begin] = Check(self._runs, self._baseline, rest)

    def _single(self, begin: int) -> Iterator[tuple[int, Check]]:
        """The episodes of a part in turn, by their places."""
        for place, episode in enumerate(self._episodes[begin : begin + PART], begin):
            if place not in self._singles:
                self._singles[place] = Check(self._runs, self._baseline, [episode])
            yield place, self._singles[place]

    def learn_from(self, policy: Policy) -> bool:
        """Ask candidates of a further episode of the known parts, on which a policy strays; False: there is none."""
        latest = list(self._told)[-LATEST:]
        for begin in self._parts:
            for place, check in self._single(begin):
                if place not in latest and not check.is_safe(policy):
                    self._told[place] = self._told.pop(place, check)
                    return True
        return False

    @property
    def known(self) -> int:
        """How many episodes told, of which candidates are asked."""
        return len(self._told)

    def nearest(self, policies: Sequence[Policy], most: int) -> list[int]:
        """The places of those that are the least beyond the bounds on the episodes that told, summed.

        Of equals the first `most`; all are equal if no episode told. Whoever is not among these so far runs no
        further, since it can only get further beyond (best first, as in P. Hart, N. Nilsson, B. Raphael, 1968). Most go
        on as the first does, so what that strays on most comes first.
        """
        told = sorted(self._every.values(), key=lambda check: -check.verdict(policies[0]).excess)
        sums, asked = np.zeros(len(policies)), np.zeros(len(policies), np.int64)
        while True:
            first = np.flatnonzero(sums == sums.min())[:most]
            so_far = asked[first]
            if (so_far == len(told)).all():
                return first.tolist()
            for number, check in enumerate(told):
                places = first[so_far == number]
                verdicts = check.verdicts([policies[place] for place in places])
                sums[places] += [verdict.excess for verdict in verdicts]
                asked[places] += 1

    def keeps(self, policy: Policy, known: int) -> bool:
        """By the latest of the first `known` episodes that told: a hundredth of the whole check."""
        return all(check.is_safe(policy) for check in reversed(list(self._told.values())[:known][-LATEST:]))

    def is_safe(self, policy: Policy) -> bool:
        """By the short check: the latest episode that told first."""
        checks = [*reversed(self._told.values()), *reversed(self._parts.values()), self._few]
        return all(check.is_safe(policy) for check in checks)
