"""Candidates in closed loop: all of a generation on the same episodes, on all threads, those that fall behind given up.

A cost is the measure, negative where higher values are better. Results do not depend on the number of threads: an
episode's result depends on its policy alone, and each has its own place in the table. For the same reason what is known
is not run again (`known`): a structure that was compared, raced and asked whether it is safe ran each episode once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.parallel import Spread, executor
from clearsched.problems.declarations import Measure
from clearsched.problems.episodes import Episode, Outcome
from clearsched.problems.policy import Policy
from clearsched.problems.problem import Instance
from clearsched.search.known import Known

BEHIND = 0.003
"""Share of the cost by which a candidate may lag behind the middle of its generation without being given up."""

COST, END, SCALE, WATCHED, CLEARED = range(5)
"""Rows of `Trials.outcomes`, `ROWS` in all."""

ROWS = 5

JOINED = 4
"""Training episodes that are scheduled as one: short ones reward a policy for how it ends, and hide how it goes on."""

CHUNK = 4
"""Episodes that a thread runs before it takes others."""


class Raced(NamedTuple):
    """What came of a generation."""

    cost: np.ndarray  # float64[candidates]: mean over the episodes run; inf where a candidate failed
    given_up: np.ndarray  # bool[candidates]: after a quarter of the episodes
    spent: float  # candidates run, one that was given up with its part

    @property
    def rank(self) -> np.ndarray:
        """int64[candidates]: 0 for the best; those given up come after all others, those that failed are last."""
        order = np.lexsort((self.cost, self.given_up, ~np.isfinite(self.cost)))
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        return ranks


class Trials:
    """Runs policies on episodes of an instance."""

    def __init__(self, instance: Instance, measure: Measure, pool: Executor) -> None:
        self.instance, self.measure = instance, measure
        self._spread = Spread(pool, _run, (instance, measure))
        self._compiled = False
        self._known = Known()

    def cost(self, policies: Sequence[Policy], episodes: Sequence[Episode]) -> np.ndarray:
        """float64[policies, episodes]; inf for what could not be run: a score that is not finite, and so on."""
        return self.outcomes(policies, episodes)[COST]

    def outcomes(self, policies: Sequence[Policy], episodes: Sequence[Episode]) -> np.ndarray:
        """float64[ROWS, policies, episodes]; inf for what could not be run.

        The cost; when the last job ended, s; how long a job stays, s; the most of the measures with a limit, each
        over its limit, 0 where the problem has none; and when a backlog was cleared, s, 0 where there was none.
        """
        places = self._known.places(episodes)
        found = [self._known.of(policy) for policy in policies]
        todo = [
            (number, [column for column, place in enumerate(places) if place not in known])
            for number, known in enumerate(found)
        ]
        tasks = [
            (number, columns[begin : begin + CHUNK])
            for number, columns in todo
            for begin in range(0, len(columns), CHUNK)
        ]
        for (number, columns), values in zip(tasks, self._run(policies, episodes, tasks), strict=True):
            found[number].update(zip((places[column] for column in columns), values.T, strict=True))
        answer = np.full((ROWS, len(policies), len(episodes)), np.inf)
        for number, known in enumerate(found):
            for column, place in enumerate(places):
                answer[:, number, column] = known[place]
        return answer

    def _run(
        self, policies: Sequence[Policy], episodes: Sequence[Episode], tasks: Sequence[tuple[int, list[int]]]
    ) -> Iterator[np.ndarray]:
        """float64[ROWS, n] for each task: a policy's number, and those of its n episodes."""
        given = [(policies[number], [episodes[column] for column in columns]) for number, columns in tasks]
        if given and not self._compiled:
            # The first compiles the loop, which threads could not do at once.
            yield _run((self.instance, self.measure), given.pop(0))
            self._compiled = True
        yield from self._spread.map(given)

    def race(self, policies: Sequence[Policy], episodes: Sequence[Episode]) -> Raced:
        """All on a quarter of the episodes; the rest of them for those that do not fall behind the better half."""
        quarter = max(1, len(episodes) // 4)
        heat = self.cost(policies, episodes[:quarter])
        first = heat.mean(axis=1)
        middle = np.sort(first)[max(0, len(policies) // 2 - 1)]
        stays = np.isfinite(first) & (first <= (middle + BEHIND * abs(middle)))
        rest = self.cost([policies[i] for i in np.flatnonzero(stays).tolist()], episodes[quarter:])
        cost = first.copy()
        cost[stays] = np.concatenate([heat[stays], rest], axis=1).mean(axis=1)
        run = len(policies) * quarter + int(stays.sum()) * (len(episodes) - quarter)
        return Raced(cost, ~stays, run / len(episodes))

    def value(self, cost: float) -> float:
        """The measure that a cost stands for."""
        return cost if self.measure.lower_is_better else -cost


def _run(shared: tuple[Instance, Measure], task: tuple[Policy, Sequence[Episode]]) -> np.ndarray:
    """`Trials.outcomes` of one policy on some episodes, float64[ROWS, episodes]."""
    (instance, measure), (policy, episodes) = shared, task
    try:
        outcomes = policy.run(instance, episodes)
    except ClearschedError:
        return np.full((ROWS, len(episodes)), np.inf)
    return table_of(instance, measure, outcomes)


def table_of(instance: Instance, measure: Measure, outcomes: Sequence[Outcome]) -> np.ndarray:
    """float64[ROWS, episodes]: what `Trials.outcomes` tells of the outcomes of a policy; inf for what is no number."""
    limits = {each.name: each.limit for each in instance.problem.measures if each.limit}
    values = np.zeros((ROWS, len(outcomes)))
    for place, outcome in enumerate(outcomes):
        cost = outcome.measures[measure.name]
        values[COST, place] = cost if measure.lower_is_better else -cost
        values[END, place], values[SCALE, place] = outcome.end_s, outcome.scale_s
        of_limits = [outcome.measures[name] / limit for name, limit in limits.items()]
        values[WATCHED, place] = max(of_limits, default=0.0)
        values[CLEARED, place] = getattr(outcome, "cleared_s", 0.0)
    return np.where(np.isfinite(values), values, np.inf)


@contextmanager
def trials(instance: Instance, measure: Measure, threads: int | None = None) -> Iterator[Trials]:
    """Trials on so many threads, as many as numba may use, unless told; or where else episodes run (`parallel`)."""
    with executor(threads) as pool:
        yield Trials(instance, measure, pool)
