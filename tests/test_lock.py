"""A rule list that locks the cluster in one of 300 streams, in the folder `shared` beside the repository.

Executors wait in jobs for stages that are not ready, nobody asks about them again, and they make the jobs look so
loaded that their ready stages are never chosen. The 300 streams are those of `benchmarks/lock.py`, which runs them all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.semantics import Semantics
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Workload
from clearsched.problems.dag_jobs.workloads import stress
from clearsched.problems.policy import Policy
from clearsched.scorers.settings import GuardParams
from clearsched.search.guard_bounds import measured
from clearsched.search.safety import LIMIT, judge
from clearsched.search.trials import Trials, trials

OTHERS = (0, 100, 228)
"""Streams on which nothing locks; the cured list is at its worst, next to capped SRPT, on the last."""

LISTED, CURED = 0, 1


@pytest.fixture(scope="module")
def lock() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(Path(__file__).parents[1] / "benchmarks"), *sys.path])
        yield import_module("lock")


@pytest.fixture(scope="module")
def instance(decima_profiles: Profiles) -> DagJobsInstance:
    return DagJobsInstance(decima_profiles)


@pytest.fixture(scope="module")
def lists(lock: ModuleType, shared: Path) -> tuple[Policy, Policy]:
    found: tuple[Policy, Policy] = lock.lists(shared / "golden" / "lock" / "rule_list.json")
    return found


@pytest.fixture(scope="module")
def episodes(lock: ModuleType) -> list[Workload]:
    """The stream that locks, then `OTHERS`."""
    drawn = lock.streams(max(OTHERS) + 1)
    return [drawn[number] for number in (lock.LOCKED, *OTHERS)]


@pytest.fixture(scope="module")
def runs(instance: DagJobsInstance) -> Iterator[Trials]:
    with trials(instance, PROBLEM.measures[0], threads=1) as found:
        yield found


def jct_s(outcomes: list[EpisodeResult]) -> np.ndarray:
    return np.array([outcome.avg_jct_s for outcome in outcomes])


def test_the_list_takes_22_times_as_long_on_one_stream(
    lock: ModuleType, instance: DagJobsInstance, lists: tuple[Policy, Policy], episodes: list[Workload]
) -> None:
    found = lists[LISTED].run(instance, episodes)
    ratio = jct_s(found) / jct_s(lock.tuned().run(instance, episodes))
    assert ratio[0] == pytest.approx(22.37, abs=0.01)
    assert (ratio[1:] < 1.04).all()
    stalls = [outcome.measures["stall_s"] for outcome in found]
    assert stalls[0] > 9000 and max(stalls[1:]) < 10
    parked = [outcome.measures["parked_percent"] for outcome in found]
    assert parked[0] > 70 and max(parked[1:]) < 6


def test_one_rule_cures_it(
    lock: ModuleType, instance: DagJobsInstance, lists: tuple[Policy, Policy], episodes: list[Workload]
) -> None:
    ratio = jct_s(lists[CURED].run(instance, episodes)) / jct_s(lock.tuned().run(instance, episodes))
    assert ratio[0] < 1
    assert ratio.max() == ratio[-1] == pytest.approx(1.04, abs=0.001)


@pytest.mark.parametrize(
    ("correction", "times", "stall_s"), [("offer_parked", 1.02, 1.0), ("back_up_parked", 1.01, 0.001)]
)
def test_the_lock_disappears_under_a_correction(
    correction: str,
    times: float,
    stall_s: float,
    instance: DagJobsInstance,
    lists: tuple[Policy, Policy],
    episodes: list[Workload],
) -> None:
    """Of `back_up_parked` not for a millisecond."""
    corrected = [replace(episode, semantics=Semantics(**{correction: True})) for episode in episodes]
    found = lists[LISTED].run(instance, corrected)
    assert (jct_s(found) < times * jct_s(lists[CURED].run(instance, episodes))).all()
    assert max(outcome.measures["stall_s"] for outcome in found) < stall_s
    assert max(outcome.measures["parked_percent"] for outcome in found) < 6


def test_a_guard_takes_over_and_hands_back(
    lock: ModuleType, instance: DagJobsInstance, lists: tuple[Policy, Policy], episodes: list[Workload]
) -> None:
    """Bounds from other streams: nothing changes where nothing locks."""
    seen = DrawnInstance(instance.profiles, {"train": lock.streams(24, seed=7), "validation": lock.streams(8, seed=5)})
    listed = replace(lists[LISTED], guard=None)
    guarded = replace(listed, guard=measured(GuardParams(heuristic="weighted_fair"), listed, seen))
    plain, found, cured = (policy.run(instance, episodes) for policy in (listed, guarded, lists[CURED]))
    assert jct_s(found)[0] < 1.07 * jct_s(cured)[0] < jct_s(plain)[0] / 15
    assert jct_s(found)[1:].tolist() == jct_s(plain)[1:].tolist()
    taken = [outcome.guard.take_overs for outcome in found]
    assert [len(one) for one in taken] == [1, 0, 0, 0]
    assert taken[0][0].gauge == 1 and taken[0][0].until_s is not None, "by a stall that has cleared"


class DrawnInstance(DagJobsInstance):
    """With episodes of its own."""

    def __init__(self, profiles: Profiles, splits: dict[str, list[Workload]]) -> None:
        super().__init__(profiles)
        self._splits = splits

    def split(self, name: str, limit: int | None = None) -> list[Workload]:
        """The episodes of a split."""
        return self._splits[name][:limit]


def test_the_safety_check_refuses_it_on_that_stream(
    runs: Trials, lists: tuple[Policy, Policy], episodes: list[Workload]
) -> None:
    verdicts = judge(runs, lists, heuristic("fair"), episodes)
    assert [verdict.strays for verdict in verdicts] == [True, False]
    assert verdicts[LISTED].worst > 10 * LIMIT and verdicts[LISTED].of_limit > 50
    assert verdicts[CURED].worst < 1 and verdicts[CURED].of_limit < 0.1


def test_the_safety_check_refuses_it_without_that_stream(
    lock: ModuleType, instance: DagJobsInstance, runs: Trials, lists: tuple[Policy, Policy]
) -> None:
    """Streams of training do not show it; moves that take five times as long do."""
    training, fair = lock.streams(40, seed=7), heuristic("fair")
    assert not judge(runs, [lists[LISTED]], fair, training)[0].strays
    (kind,) = (each for each in stress.STREAMS if each.moves > 1)
    slow = list(stress.stressed(training, kind, instance.profiles.work_ms))
    verdicts = judge(runs, lists, fair, slow)
    assert [verdict.strays for verdict in verdicts] == [True, False]
