"""Whether a step of a search is safe: asked of a few episodes, among them all on which somebody strayed before.

The whole check takes seconds, and what a lock needs comes once in a hundred episodes: a few of them let it pass. So the
part of the whole check on which a policy strayed is asked of all that come after it (counterexample-guided, as in
A. Solar-Lezama, Program synthesis by sketching, 2008), and first of all the one episode that told: what is unsafe in
the same way is refused after that episode alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from clearsched.problems.policy import Policy
from clearsched.problems.problem import Episode
from clearsched.search.safety import PART, Check, Verdict
from clearsched.search.trials import Trials

LATEST = 12
"""So many of the episodes that told are asked of every candidate of a search."""


FIRST, EVERY = 200, 4
"""So many episodes of the stress, the first, and of the rest every so many-th, for those who can't be asked all."""


def sample(stressed: Sequence[Episode]) -> list[Episode]:
    """A part of the stress: its first episodes, which are short and hold the giants, and some of the others."""
    return [*stressed[:FIRST], *stressed[FIRST::EVERY]]


class Probes:
    """A whole check of policies next to a baseline, and a short one."""

    def __init__(self, runs: Trials, baseline: Policy, episodes: Sequence[Episode], few: Sequence[Episode]) -> None:
        """Prepare both.

        Args:
            runs: what runs them.
            baseline: what policies must keep near to.
            episodes: of the whole check, short ones first.
            few: of the short one, to begin with.
        """
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

    def excess(self, policies: Sequence[Policy]) -> np.ndarray:
        """float64[policies]: how far each is beyond the bounds on the episodes that told, summed; 0: on none."""
        told = self._every.values()
        return np.array([sum(check.verdict(policy).excess for check in told) for policy in policies], float)

    def keeps(self, policy: Policy, known: int) -> bool:
        """By the latest of the first `known` episodes that told: a hundredth of the whole check."""
        return all(check.is_safe(policy) for check in reversed(list(self._told.values())[:known][-LATEST:]))

    def is_safe(self, policy: Policy) -> bool:
        """By the short check: the latest episode that told first."""
        checks = [*reversed(self._told.values()), *reversed(self._parts.values()), self._few]
        return all(check.is_safe(policy) for check in checks)
