"""The search: toys whose optimum is known, races, grids, threads, files; what any problem gets from its features."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from clearsched import heuristics, search
from clearsched.errors import ClearschedError, FeatureError
from clearsched.evaluation.policies import load_policies, load_policy, policies_of
from clearsched.files import read_json
from clearsched.heuristics.tuning import tuned_heuristic
from clearsched.problems import PROBLEMS, find_problem
from clearsched.problems.dag_jobs.families import NUMBERS, MinimumShare, Reserve, SmallestFirst, StayAndMove
from clearsched.problems.dag_jobs.features import NUM_FEATURES
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import simulate
from clearsched.problems.dag_jobs.workloads.files import Workloads
from clearsched.problems.declarations import Measure
from clearsched.problems.policy import heuristic as heuristic_of
from clearsched.problems.programs import Ground, Number, Program, rounded
from clearsched.schemas import SEARCH_CURVE, read_table
from clearsched.search import searching
from clearsched.search import weights as weights_module
from clearsched.search.evolution import Evolution
from clearsched.search.families import FAMILIES, families_of
from clearsched.search.guard_bounds import measured
from clearsched.search.inputs import Caps, inputs_of, told
from clearsched.search.restarts import Restart, Search
from clearsched.search.safety import (
    Check,
    Chosen,
    Verdict,
    evidence,
    first_safe,
    judge,
    told_safe,
    verdict_in,
    warnings_of,
)
from clearsched.search.sampling import ground_of
from clearsched.search.searching import search as search_for
from clearsched.search.settings import SearchParams
from clearsched.search.trials import Trials
from conformance.cases import CASES
from other_problem import PROBLEM as OTHER
from stages import stage_params
from toys import judged_on, stage, toy_trace, toy_workload

DAG_JOBS, DEFERRABLE = find_problem("dag_jobs"), find_problem("deferrable_jobs")
SMALL = {"evaluations": 8, "restarts": 2, "episodes": 2, "population": 4}
SIZES = {
    "dag_jobs": {"executors": 4, "jobs": 5, "episodes": {"train": 4, "validation": 2, "test": 2}, "stress": 0.02},
    "deferrable_jobs": {"jobs": 20, "slots": 60, "episodes": {"train": 4, "validation": 2, "test": 2}},
}


def settings(**chosen: Any) -> SearchParams:
    return SearchParams(**{"families": ("weights",), **SMALL, **chosen})


def one_machine() -> tuple[DagJobsInstance, list[Any], float]:
    """Jobs of 1 to 81 tasks in one stage, all there from the start, one executor; the least mean JCT in s, by hand.

    A job takes 100 ms to move to, 50 ms for its first task, 10 ms for each after it; the shortest first is optimal (W.
    E. Smith 1956).
    """
    sizes = np.arange(1, 10) ** 2
    drawn = Workloads(pa.table({}), {"num_executors": 1, "semantics": {"idling": False}, "objective": "jct_s"})
    instance = DagJobsInstance(compile_profiles(toy_trace([[stage(int(size))] for size in sizes])), drawn)
    generator = np.random.default_rng(3)
    episodes, optimum = [], []
    for _ in range(8):
        profile = generator.permutation(9)[:6]
        episodes.append(toy_workload([0] * 6, 1, profile=profile))
        optimum.append(np.cumsum(np.sort(140 + 10 * sizes[profile])).mean() / 1000)
    return instance, episodes, float(np.mean(optimum))


def test_weights_find_the_shortest_first() -> None:
    """From what answers as FIFO does."""
    instance, episodes, optimum = one_machine()
    fifo = heuristic("fifo")
    begin = np.mean([result.avg_jct_s for result in fifo.run(instance, episodes)])
    assert begin > 1.1 * optimum
    budget = settings(evaluations=200, restarts=2, episodes=4, population=8)
    found = search_for(instance, "weights", episodes[:4], episodes[4:], fifo, budget, 1)
    reached = np.mean([result.avg_jct_s for result in found.policy.run(instance, episodes)])
    assert reached == pytest.approx(optimum, abs=1e-9)
    told = found.policy.evidence["validation"]
    assert told["value"] < told["heuristic"] and told["measure"] == "jct_s"


def test_weights_find_when_to_wait() -> None:
    """The second problem, which has no level: to start a job at once has it evicted, to wait is optimal."""
    case = CASES["deferrable_jobs"]
    instance, episode = case.toy()
    instance = SimpleNamespace(  # without files, and so without facts of them
        problem=DEFERRABLE,
        objective=DEFERRABLE.measures[0],
        most=0,
        none=True,
        simulate=instance.simulate,
        lockstep=instance.lockstep,
        stress_share=1.0,
        safety_bound=None,
        hard_bound=None,
        rules=(),
        safety_cases=(),
        stressed=lambda episodes: [],
        is_hard=lambda episode: False,
        is_batch=lambda episode: False,
        due_s=lambda episode: 0.0,
        parted=list,
    )
    fifo = heuristic_of(DEFERRABLE, "fifo")
    assert fifo.run(instance, [episode])[0].measures["cost"] > case.optimum + 0.01
    budget = settings(evaluations=150, restarts=1, episodes=1, population=10)
    found = search_for(instance, "weights", [episode], [episode], fifo, budget, 1)
    assert found.policy.run(instance, [episode])[0].measures["cost"] == pytest.approx(case.optimum)
    assert found.policy.none


def test_threads_change_nothing() -> None:
    instance, episodes, _ = one_machine()
    budget = settings(evaluations=24, episodes=4)

    def of(threads: int) -> tuple[Any, Any, Any]:
        found = search_for(
            instance, "weights", episodes[:4], episodes[4:], heuristic("fifo"), budget, 1, threads=threads
        )
        scorers = {name: scorer.to_json() for name, scorer in found.policy.scorers.items()}
        return scorers, found.policy.evidence, found.curve.to_pylist()

    assert of(1) == of(2) == of(3)


class ToldProbes:
    """Of three policies, numbers here, the second is the first that is safe."""

    def __init__(self) -> None:
        self.known, self.asked = 0, list[int]()

    def keeps(self, policy: int, known: int) -> bool:
        return policy >= known

    def is_safe(self, policy: int) -> bool:
        return policy != 0 or not self.known

    def verdict(self, policy: int) -> Verdict:
        self.asked.append(policy)
        self.known += policy == 0
        return Verdict(2.0 if policy == 0 else 1.0, 8)

    def learn_from(self, policy: int) -> bool:
        return False


def test_a_restart_is_made_again_with_what_told_against_its_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until that passes the whole check; one that finds nothing safe has its best all the same."""
    begun: list[tuple[Search, int]] = []

    class Told(Restart):
        def run(self, program: Any) -> None:
            begun.append((self.search, self.number))
            self.choose()

        def choose(self) -> None:
            found: Any = {0: 0, 1: 0, 2: 2, 3: 3}[self.number]
            self.policy = found if self.search.is_safe(found) else None

        @property
        def finalists(self) -> list[Any]:
            return [self.number]

    monkeypatch.setattr(searching, "Restart", Told)
    probes: Any = ToldProbes()
    nothing: Any = None
    common = Search("x", nothing, settings(restarts=4), nothing, [], [], np.zeros(0), 1)
    restarts = [searching._safe_restart(common, nothing, probes, number) for number in range(4)]
    assert [restart.policy for restart in restarts] == [0, 0, 2, 3]
    assert [number for _, number in begun] == [0, 0, 1, 2, 3], "made again as long as there is something to learn"
    assert probes.asked == [0, 2, 3], "what is known is not asked"
    keeps: list[Any] = [search.keeps for search, _ in begun]
    assert [keep(0) for keep in keeps] == [True] + [False] * (len(keeps) - 1), "by what is known by then"


def test_a_restart_without_a_safe_finalist_is_made_again_with_what_tells_against_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing it ends at passes the short check: each finalist tells an episode more, until one passes or none does."""
    begun: list[int] = []
    probes: Any = SimpleNamespace(known=1, keeps=bool, is_safe=bool, verdict=lambda policy: Verdict(1.0, 8))

    class Told(Restart):
        finalists = ("mean", "best")  # type: ignore[assignment]

        def run(self, program: Any) -> None:
            begun.append(probes.known)
            self.choose()

        def choose(self) -> None:
            is_common: bool = self.search is common
            self.policy = "found" if probes.known >= 5 or is_common else None  # type: ignore[assignment]

    def learn_from(most: int) -> Any:
        def learn(policy: str) -> bool:
            probes.known += probes.known < most
            return bool(probes.known < most)

        return learn

    monkeypatch.setattr(searching, "Restart", Told)
    nothing: Any = None
    common = Search("x", nothing, settings(restarts=1), nothing, [], [], np.zeros(0), 1)
    probes.learn_from = learn_from(9)
    assert searching._safe_restart(common, nothing, probes, 0).policy == "found" and begun == [1, 3, 5]
    begun.clear()
    probes.known, probes.learn_from = 1, learn_from(4)
    assert searching._safe_restart(common, nothing, probes, 0).policy == "found"
    assert begun == [1, 3], "what is best then"


class Fixed:
    """A policy whose cost on an episode is a number of its own plus the episode; None: it cannot be run."""

    def __init__(self, cost: float | None) -> None:
        self.cost = cost
        self.ran = 0

    def run(self, instance: Any, episodes: Sequence[float], *, record: bool = False) -> list[Any]:
        if self.cost is None:
            raise FeatureError("decision 3: the score is nan")
        self.ran += len(episodes)
        return [
            SimpleNamespace(measures={"jct_s": self.cost + episode}, end_s=1.0, scale_s=1.0) for episode in episodes
        ]


def trials_of(measure: Measure) -> Trials:
    return Trials(judged_on(measure), measure, ThreadPoolExecutor(2))


def test_who_falls_behind_is_given_up_and_ranks_behind_who_ran_on() -> None:
    measure = Measure("jct_s", "s", "mean", "JCT")
    # The quarter is easy, so that the cost of who is given up is lower than that of who ran on.
    episodes = [0.0, 0.0, *[100.0] * 6]
    policies = [Fixed(5.0), Fixed(1.0), Fixed(None), Fixed(9.0), Fixed(1.001), Fixed(np.nan)]
    raced = trials_of(measure).race(policies, episodes)  # type: ignore[arg-type]
    assert raced.given_up.tolist() == [False, False, True, True, False, True]
    assert [policy.ran for policy in policies] == [8, 8, 0, 2, 8, 2]
    assert raced.rank.tolist()[1] == 0 and raced.rank.tolist()[4] == 1 and raced.rank.tolist()[0] == 2
    assert raced.rank.tolist()[3] == 3, "cheaper on its quarter, but behind"
    assert sorted([raced.rank.tolist()[2], raced.rank.tolist()[5]]) == [4, 5]
    assert raced.spent == pytest.approx((6 * 2 + 3 * 6) / 8)


def test_what_is_better_higher_costs_less() -> None:
    runs = trials_of(Measure("jct_s", "", "used", "used", lower_is_better=False))
    cost = runs.cost([Fixed(1.0), Fixed(2.0)], [0.0])  # type: ignore[list-item]
    assert cost.tolist() == [[-1.0], [-2.0]] and runs.value(-2.0) == 2.0


class Stalling:
    """A policy with its cost, which holds up a job for so long on the last of some episodes."""

    name = "stalling"

    def __init__(self, cost: float, stall_s: float, scale_s: float = 10.0, end_s: float = 1.0) -> None:
        self.cost, self.stall_s, self.scale_s, self.end_s = cost, stall_s, scale_s, end_s

    def run(self, instance: object, episodes: list[float], *, record: bool = False) -> list[SimpleNamespace]:
        told = [{"jct_s": self.cost, "stall_s": self.stall_s * (episode == 1.0)} for episode in episodes]
        return [SimpleNamespace(measures=measures, end_s=self.end_s, scale_s=self.scale_s) for measures in told]


def test_who_exceeds_the_limit_of_a_measure_is_refused() -> None:
    """The limit is twice as long as jobs stay under the baseline, 10 s: whatever the cost, and in whatever episode."""
    jct, stall = Measure("jct_s", "s", "mean", "JCT"), Measure("stall_s", "s", "stall", "stall", limit=2.0)
    instance = judged_on(jct, stall, is_hard=lambda episode: episode == 2.0, is_batch=lambda episode: episode == 1.0)
    runs = Trials(instance, jct, ThreadPoolExecutor(2))
    policies: Any = [Stalling(0.5, 21.0, 99.0), Stalling(1.6, 0.0), Stalling(0.5, 20.0), Stalling(0.5, 0.0)]
    baseline: Any = Stalling(1.0, 0.0)
    verdicts = judge(runs, policies, baseline, [0.0] * 20 + [1.0])
    assert [verdict.strays for verdict in verdicts] == [True, True, False], "none is asked after one that is safe"
    assert str(verdicts[0]) == "on an episode a measure is 1.05 times its limit"
    assert str(verdicts[1]) == "on its worst episode it takes 1.60 times the baseline's"
    assert (verdicts[2].of_limit, verdicts[2].worst, verdicts[2].end) == (1.0, 0.5, 1.0)
    assert [verdict.episodes for verdict in verdicts] == [21, 16, 21]
    whole, part = (SimpleNamespace(stress_share=share, rules=(), safety_cases=()) for share in (1.0, 0.02))
    assert evidence(verdicts[2], baseline, whole)["stress"] == {
        "heuristic": "stalling", "episodes": 21, "worst": 0.5, "of_limit": 1.0, "end": 1.0, "cleared": 0.0, "hard": 0.0,
        "batch_end": 1.0,
    }  # fmt: skip
    assert evidence(verdicts[2], baseline, part)["stress"]["share"] == 0.02, "less than the whole check is told"
    for cost, hardest in ((1.3, False), (1.5, False), (1.6, True)):
        (verdict,) = judge(runs, [Stalling(cost, 0.0)], baseline, [2.0])  # type: ignore[list-item]
        assert (verdict.worst, verdict.hard, verdict.strays) == (0.0, cost, hardest), (
            "more is allowed where luck decides"
        )


def test_the_last_job_of_a_batch_may_end_later_than_that_of_a_stream() -> None:
    """Who serves short jobs first pays for the mean by it. A batch on which luck decides is of the hardest kind."""
    jct = Measure("jct_s", "s", "mean", "JCT")
    instance = judged_on(jct, is_hard=lambda episode: episode >= 2.0, is_batch=lambda episode: episode % 2.0 == 1.0)
    runs = Trials(instance, jct, ThreadPoolExecutor(2))
    for episode, end_s, name, strays in (
        (0.0, 1.2, "end", False),
        (0.0, 1.3, "end", True),
        (1.0, 1.5, "batch_end", False),
        (1.0, 1.6, "batch_end", True),
        (3.0, 1.5, "hard", False),
        (3.0, 1.6, "hard", True),
    ):
        policies: Any = [Stalling(1.0, 0.0), Stalling(1.0, 0.0, end_s=end_s)]
        (verdict,) = judge(runs, policies[1:], policies[0], [episode])
        assert getattr(verdict, name) == end_s and verdict.strays is strays
        others = {"end", "batch_end", "hard"} - {name}
        assert all(getattr(verdict, other) == 0 for other in others), "each end counts once"


def test_who_ends_by_the_last_deadline_is_not_late() -> None:
    """However long before that the baseline ended: jobs may wait until then, and who goes on is late from there on."""
    jct = Measure("jct_s", "s", "mean", "JCT")
    baseline: Any = Stalling(1.0, 0.0)
    for due_s, end_s, most, is_hard, is_batch in (
        (1.6, 1.6, 1.0, False, False),
        (1.6, 1.7, 1.7 / 1.6, False, False),
        (1.6, 2.0, 1.25, False, False),
        (0.0, 1.7, 1.7, False, False),
        (0.9, 1.15, 1.15, False, False),
        (1.1, 1.15, 1.15 / 1.1, False, False),
        (8.0, 8.0, 1.0, False, True),
        (5.0, 8.0, 1.6, True, False),
        (9.0, float("inf"), float("inf"), False, False),
    ):
        kinds = {"is_hard": is_hard, "is_batch": is_batch, "due_s": due_s}
        instance = judged_on(jct, **{name: lambda _, told=told: told for name, told in kinds.items()})
        policy: Any = Stalling(1.0, 0.0, end_s=end_s)
        check = Check(Trials(instance, jct, ThreadPoolExecutor(2)), baseline, [0.0])
        verdict = check.verdict(policy)
        assert max(verdict.end, verdict.batch_end, verdict.hard) == pytest.approx(most)
        assert verdict.strays is (most > 1.2) and check.strayed(policy) == [0] * verdict.strays


def test_a_scenario_may_allow_less_where_no_episode_is_hard() -> None:
    """A margin for what nothing was made from; no setting allows more."""
    jct = Measure("jct_s", "s", "mean", "JCT")
    for bound, cost, is_hard, is_batch, end_s, strays in (
        (None, 1.15, False, False, 1.15, False),
        (1.1, 1.1, False, False, 1.1, False),
        (1.1, 1.15, False, False, 1.0, True),
        (1.1, 1.0, False, False, 1.15, True),
        (1.1, 1.4, True, False, 1.4, False),
        (1.1, 1.0, False, True, 1.4, False),
        (1.3, 1.25, False, False, 1.0, True),
    ):
        instance = judged_on(jct, is_hard=lambda _: is_hard, is_batch=lambda _: is_batch, safety_bound=bound)  # noqa: B023
        runs = Trials(instance, jct, ThreadPoolExecutor(2))
        policies: Any = [Stalling(1.0, 0.0), Stalling(cost, 0.0, end_s=end_s)]
        check = Check(runs, policies[0], [0.0, 2.0])
        verdict = check.verdict(policies[1])
        assert verdict.strays is strays and (check.strayed(policies[1]) == [0, 1]) is strays
        told = evidence(verdict, heuristic("fair"), SimpleNamespace(stress_share=1.0, rules=(), safety_cases=()))
        assert told["stress"].get("safety_bound") == bound and told_safe(told) is not strays
        assert verdict_in(told).allowed.startswith(f"at most {min(bound or 1.2, 1.2):g} times")
    assert not told_safe({"stress": {"worst": 1.3, "hard": 0.0, "safety_bound": 2.0}}), "nor does a file"


def test_a_scenario_may_allow_less_where_episodes_are_hard() -> None:
    """Where somebody good is near on them as well; no setting allows more, and none of it counts elsewhere."""
    jct = Measure("jct_s", "s", "mean", "JCT")
    for bound, cost, is_hard, end_s, strays in (
        (None, 1.45, True, 1.45, False),
        (1.2, 1.2, True, 1.2, False),
        (1.2, 1.25, True, 1.0, True),
        (1.2, 1.0, True, 1.25, True),
        (1.1, 1.15, False, 1.15, False),
        (1.6, 1.55, True, 1.0, True),
    ):
        instance = judged_on(jct, is_hard=lambda _: is_hard, hard_bound=bound)  # noqa: B023
        runs = Trials(instance, jct, ThreadPoolExecutor(2))
        policies: Any = [Stalling(1.0, 0.0), Stalling(cost, 0.0, end_s=end_s)]
        check = Check(runs, policies[0], [0.0, 2.0])
        verdict = check.verdict(policies[1])
        assert verdict.strays is strays and (check.strayed(policies[1]) == [0, 1]) is strays
        told = evidence(verdict, heuristic("fair"), SimpleNamespace(stress_share=1.0, rules=(), safety_cases=()))
        assert told["stress"].get("hard_bound") == bound and told_safe(told) is not strays
        assert f"({min(bound or 1.5, 1.5):g} on an episode of the hardest kind" in verdict_in(told).allowed
    assert not told_safe({"stress": {"worst": 1.0, "hard": 1.6, "hard_bound": 2.0}}), "nor does a file"


def test_cost_end_and_measures_are_told_apart() -> None:
    """And each by itself is enough to refuse a policy."""
    for verdict, line in (
        (Verdict(1.2, 8, 1.0, 1.2, 1.2, 1.5, 1.5), "on its worst episode it takes 1.20 times the baseline's"),
        (Verdict(1.21, 8), "on its worst episode it takes 1.21 times the baseline's"),
        (Verdict(1.0, 8, end=1.21), "on an episode its last job ends after 1.21 times the baseline's time"),
        (Verdict(1.0, 8, batch_end=1.51), "the last job of a batch ends after 1.51 times the baseline's time"),
        (Verdict(1.0, 8, hard=1.51), "on an episode of the hardest kind it takes 1.51 times the baseline's"),
        (Verdict(1.0, 8, cleared=1.6), "on an episode a backlog is cleared after 1.60 times the baseline's time"),
        (Verdict(1.0, 8, 1.01), "on an episode a measure is 1.01 times its limit"),
    ):
        assert str(verdict) == line
        assert verdict.strays == (verdict != Verdict(1.2, 8, 1.0, 1.2, 1.2, 1.5, 1.5))
        told = evidence(verdict, heuristic("fair"), SimpleNamespace(stress_share=1.0, rules=(), safety_cases=()))
        assert told_safe(told) is not verdict.strays and verdict_in(told) == verdict
    more = Verdict(1.0, 8, 0.5, 1.1).with_more(Verdict(0.9, 4, 0.6, 1.0, hard=1.3, batch_end=1.4))
    assert more == Verdict(1.0, 12, 0.6, 1.1, hard=1.3, batch_end=1.4)


def test_a_file_from_before_hard_episodes_were_told_apart_is_held_to_what_they_are_allowed() -> None:
    """Its worst may have been one of them."""
    told = {"stress": {"heuristic": "fair", "episodes": 9, "worst": 1.4, "end": 1.1, "of_limit": 0.5}}
    assert verdict_in(told) == Verdict(0, 9, 0.5, hard=1.4) and told_safe(told)
    assert not told_safe({"stress": {"worst": 1.6}}) and told_safe({})


def test_who_is_about_to_use_a_policy_hears_what_speaks_against_it() -> None:
    """Not safe, judged by less, or by rules of the game that do not hold there."""
    verdict = Verdict(1.0, 8, 0.5, 1.1)
    told = evidence(
        verdict, heuristic("fair"), SimpleNamespace(stress_share=0.5, rules=["b", "a"], safety_cases=["stragglers"])
    )
    assert told["stress"]["share"] == 0.5 and told["stress"]["rules"] == ["b", "a"]
    assert told["stress"]["cases"] == ["stragglers"]
    assert warnings_of("it", told, ["a", "b", "c"]) == [] == warnings_of("it", {})
    assert warnings_of("it", told)[0].startswith("it was judged with a and b, and is safe there; without, nobody knows")
    assert warnings_of("it", told, ["b"])[0].startswith("it was judged with a, and is safe there")
    (line,) = warnings_of("it", {"stress": told["stress"] | {"worst": 1.5}})
    assert line.startswith("it is not safe: on its worst episode it takes 1.50 times")
    del told["stress"]["hard"]
    older, _ = warnings_of("it", told)
    assert older.startswith("it passed an older safety check")


def test_a_search_in_which_nothing_runs_ends_with_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    instance, episodes, _ = one_machine()
    infinite = {"cap_terms": [{"times": 1e30, "job_executors": -30}]}
    monkeypatch.setattr(
        weights_module.Weights,
        "scorers",
        lambda self, values: {"stage": infinite, "limit": {"weights": {"constant": 1}}},
    )
    monkeypatch.setattr(weights_module, "program", weights_module.Weights)
    with pytest.raises(ClearschedError, match=r"^search: weights: no candidate could be run to its end: .*$"):
        search_for(instance, "weights", episodes[:2], episodes[2:4], heuristic("fifo"), settings(), 1)


@pytest.mark.parametrize("count", [4, 70])
def test_evolution_finds_the_lowest_point(count: int) -> None:
    """Of a bowl; with few numbers, one on a grid and one at its bound; with many, only their variances are learned."""
    numbers = [Number(f"x{i}", 0.0, 1.0) for i in range(count)]
    goal = np.linspace(-2.0, 2.0, count)
    if count == 4:
        numbers[1], numbers[3] = Number("grid", 0.0, 1.0, -3.0, 3.0, 0.5), Number("bound", 0.0, 1.0, -1.0, 1.0)
    evolution = Evolution(numbers, np.zeros(count), 16, 5)
    for _ in range(60 if count == 4 else 400):
        candidates = evolution.ask()
        cost = ((candidates - goal) ** 2).sum(axis=1)
        evolution.tell(cost.argsort().argsort())
    if count == 4:
        assert (candidates[:, 1] * 2 == np.round(candidates[:, 1] * 2)).all()
        assert (np.abs(candidates[:, 3]) <= 1.0).all()
        assert evolution.mean[[0, 2]] == pytest.approx(goal[[0, 2]], abs=0.05)
        assert evolution.mean[1] in (-0.5, -1.0) and evolution.mean[3] == pytest.approx(1.0, abs=0.05)
    else:
        assert evolution.mean == pytest.approx(goal, abs=0.3)


def test_numbers_are_rounded_to_what_is_worth_reading() -> None:
    assert [rounded(value) for value in (0.012345, -1234.5, 0.0, 9.96)] == [0.012, -1200.0, 0.0, 10.0]
    assert rounded(0.012345, 3) == 0.0123


def ground_by_hand(none: bool = False) -> Ground:
    """Two decisions of two candidates; features in which nothing differs, in which decisions differ, and candidates."""
    rows = np.ones((4, len(DEFERRABLE.choices[0].features)), np.float32)
    rows[:, 0] = (1, 2, 4, 8)  # candidates
    rows[:, 1] = (5, 5, 7, 7)  # decisions
    rows[:, 2] = (0, 1, 0, 1)  # a flag
    return Ground(DEFERRABLE, 0, none, rows, np.array([0, 2, 4]), np.array([0, 1]), np.zeros(2, int))


def test_inputs_are_what_tells_candidates_apart() -> None:
    names = [feature.name for feature in DEFERRABLE.choices[0].features]
    apart = inputs_of(ground_by_hand())
    assert [each.name for each in apart] == [names[0], names[2]]
    assert [each.scale for each in apart] == [3.0, 0.0], "the median; a flag is read as it is"
    assert [each.name for each in inputs_of(ground_by_hand(none=True))] == names[:3]
    read = told(apart, ground_by_hand().rows, names)
    assert read[:, 0] == pytest.approx(np.log1p(np.array([1, 2, 4, 8]) / 3)) and read[:, 1].tolist() == [0, 1, 0, 1]


def test_caps_begin_at_all_and_leave_out_what_is_like_another() -> None:
    instance, episodes, _ = one_machine()
    ground = ground_of(instance, episodes, heuristic("fifo").compiled)
    caps = Caps(ground)
    names = [name for name, _ in caps.factors]
    assert names and len(names) <= 6
    start = np.array([number.start for number in caps.numbers])
    assert caps.scorers(start) == {"limit": {"cap_terms": [{"times": 1.0}, {"times": 1.0}]}}
    moved = start.copy()
    moved[1] = 0.5  # a square root of the first feature, 1 at its median
    term = caps.scorers(moved)["limit"]["cap_terms"][0]
    assert term[names[0]] == 0.5
    assert term["times"] * dict(caps.factors)[names[0]] ** 0.5 == pytest.approx(1.0, rel=0.05)
    assert Caps(ground_by_hand()).numbers == () and Caps(ground_by_hand()).scorers(np.zeros(0)) == {}


def test_a_network_begins_as_the_weighted_sum() -> None:
    from clearsched.scorers.policy import names_of
    from clearsched.scorers.scorer import read_scorer
    from clearsched.search.small_network import SmallNetwork

    instance, episodes, _ = one_machine()
    ground = ground_of(instance, episodes, heuristic("fifo").compiled)
    program = SmallNetwork(ground)
    assert program.first is not None
    generator = np.random.default_rng(0)
    found = np.round(generator.normal(size=len(program.first.numbers)), 1)
    names = names_of(ground.rank)

    def scored(of: Program, values: np.ndarray) -> np.ndarray:
        return read_scorer(of.scorers(values)["stage"], names, "test").scores(ground.rows, names)

    start = program.start(generator, found)
    assert len(start) == len(program.numbers)
    assert scored(program, start) == pytest.approx(scored(program.first, found), abs=1e-9)
    assert program.scorers(start)["limit"] == program.first.scorers(found)["limit"]


def steps(**numbers: float) -> Mapping[str, Any]:
    """The steps of stay and move on 10 executors: the numbers where they begin, but for those given."""
    values = {number.name: number.start for number in NUMBERS} | numbers
    return StayAndMove(one_row(True)).scorers(np.array(list(values.values())))


def one_row(none: bool, executors: int = 10) -> Ground:
    """A decision with one candidate, all of whose features are 2."""
    rows = np.full((1, NUM_FEATURES), 2, np.float32)
    return Ground(DAG_JOBS, executors, none, rows, np.array([0, 1]), np.zeros(1, int), np.zeros(1, int))


def test_stay_and_move_is_what_its_numbers_say() -> None:
    """The rule measured best on small jobs: p 0.6, m 0.8, q 0.2, k 1.8, c 1.7 s, idling."""
    logs = {"log_m": np.log(0.8), "log_k": np.log(1.8), "log_c": np.log(1.7)}
    found = steps(p=0.6, q=0.2, **logs, remains=0, idles=1, ready=0, log_age=-8)
    stay = {"times": 1.8, "job_share_20": 1}
    move = [{"times": 0.8, "job_share_60": 1}, {"times": 0.059, "job_work_left_s": 1}]
    jobs = {"job_work_rank": -1.0, "stage_rank": -0.001}
    assert found["stage"]["steps"] == [
        {
            "if": "job_is_source >= 1",
            "of": "job_executor_share",
            "below": [stay],
            "then": 3000.0,
            "plus": {"stage_rank": -0.001},
        },
        {"if": "otherwise", "of": "job_executor_share", "below": move, "then": 2000.0, "plus": jobs},
        {"if": "otherwise", "then": -1.0},
    ]
    assert found["limit"]["steps"] == [
        {"if": "job_is_source >= 1", "of": "job_executor_share", "below": [stay]},
        {"if": "otherwise", "of": "job_executor_share", "below": move},
        {"if": "otherwise", "then": 1.0},
    ]
    other = steps(p=0, q=1, log_c=-3, remains=1, idles=0, ready=3, log_age=np.log(0.1))["stage"]["steps"]
    assert [set(step["below"][0]) for step in other[:2]] == [{"times", "job_work_share"}, {"times", "jobs_in_system"}]
    assert len(other[1]["below"]) == 1, "any job is worth the move"
    assert other[2]["if"] == "job_is_source >= 1" and other[2]["then"] > other[3]["then"] > 0
    assert other[3]["plus"] == {"job_work_rank": -1.0, "stage_is_ready": 3.0, "job_age_s": 0.1, "stage_rank": -0.001}


def test_the_first_cap_falls_where_the_smallest_job_is_small_and_tasks_are_many() -> None:
    """The powers of near and many, told relative to typical values (2 each here): 1.8 x 2^0.1 x 2^0.3 is 2.4."""
    found = steps(p=0.6, q=0.2, log_k=np.log(1.8), near=0.1, many=0.3)
    stay = {"times": 2.4, "job_share_20": 1, "job_work_to_smallest": -0.1, "job_tasks_left": -0.3}
    assert [found[choice]["steps"][0]["below"] for choice in ("stage", "limit")] == [[stay], [stay]]
    assert "job_tasks_left" not in steps(near=0.1, many=0.0)["stage"]["steps"][0]["below"][0]


def test_smallest_first_is_stay_and_move_without_its_first_step() -> None:
    """Of the same numbers, but for those of that step."""
    program = SmallestFirst(one_row(True))
    names = [number.name for number in program.numbers]
    assert not {"log_k", "q", "near", "many"} & set(names) and len(names) == 7
    assert len(SmallestFirst(one_row(False)).numbers) == 6, "without leave to idle"
    values = {number.name: number.start for number in program.numbers}
    whole = {number.name: number.start for number in StayAndMove(one_row(True)).numbers} | values
    plain = StayAndMove(one_row(True)).scorers(np.array(list(whole.values())))
    found = program.scorers(np.array(list(values.values())))
    assert found == {choice: {"steps": scorer["steps"][1:]} for choice, scorer in plain.items()}


@pytest.mark.parametrize("m", [0.5, 1.0, 2.0])
def test_smallest_first_has_capped_srpt_among_its_policies(m: float) -> None:
    """With equal caps, which no work enters; staying has not: a large job keeps one executor for its next stage."""
    drawn = Workloads(pa.table({}), {"num_executors": 2, "semantics": {"idling": False}, "objective": "jct_s"})
    instance = DagJobsInstance(compile_profiles(toy_trace([[stage(2), stage(40, [0])], [stage(12)]])), drawn)
    episode = toy_workload([0, 1, 2, 3, 4, 5], 2, profile=[0] + [1] * 5, moving_delay_ms=1)
    capped = {"p": 0.0, "log_m": np.log(m), "log_c": -2.8, "remains": 0.0, "ready": 0.0, "log_age": -8.0}

    def jct_s(program: Program, **given: float) -> list[float]:
        values = {number.name: number.start for number in program.numbers} | capped | given
        policy = searching.policy_of("found", DAG_JOBS, False, False, program, np.array(list(values.values())))
        found: list[float] = policy.run(instance, [episode])[0].jct_s.tolist()
        return found

    expected = heuristic("capped_srpt", p=0.0, m=m).run(instance, [episode])[0].jct_s.tolist()
    assert jct_s(SmallestFirst(one_row(False))) == expected
    assert sum(jct_s(StayAndMove(one_row(False)), log_k=-2.0)) > sum(expected)


def test_a_minimum_share_comes_before_all_else() -> None:
    """Who holds less than 0.9 of an equal share and can start goes first; then it is stay and move."""
    program = MinimumShare(one_row(True))
    values = np.array([number.start for number in program.numbers])
    due = {
        "if": "stage_is_ready >= 1",
        "of": "job_executor_share",
        "below": [{"times": 0.9, "jobs_in_system": -1}],
    }
    plain = StayAndMove(one_row(True)).scorers(values[:-1])
    found = program.scorers(values)
    assert found["limit"]["steps"] == [due, *plain["limit"]["steps"]]
    first, *others = found["stage"]["steps"]
    assert others == plain["stage"]["steps"]
    assert {name: first[name] for name in due} == due
    assert first["then"] > others[0]["then"] and first["plus"] == others[1]["plus"], "the smallest gets it first"


def test_with_a_minimum_share_the_large_job_does_not_wait_for_all_small_ones() -> None:
    """Small ones come all the time: smallest first leaves it for last, with a whole share it ends when fair ends it."""
    drawn = Workloads(pa.table({}), {"num_executors": 4, "semantics": {"idling": False}, "objective": "jct_s"})
    instance = DagJobsInstance(compile_profiles(toy_trace([[stage(40)], [stage(12)]])), drawn)
    arrivals = [0, *range(0, 800, 40)]
    episode = toy_workload(arrivals, 4, profile=[0] + [1] * 20, moving_delay_ms=1)
    smallest_first = {"log_k": -2.0, "log_m": 4.0, "log_c": -2.8, "ready": 0.0, "log_age": -8.0}

    def result(program: Program, **given: float) -> Any:
        values = {number.name: number.start for number in program.numbers} | smallest_first | given
        policy = searching.policy_of("found", DAG_JOBS, False, False, program, np.array(list(values.values())))
        return policy.run(instance, [episode])[0]

    none, whole = result(StayAndMove(one_row(False))), result(MinimumShare(one_row(False)), share=1.0)
    assert none.jct_s[0] == none.makespan_s
    assert whole.jct_s[0] == heuristic("fair").run(instance, [episode])[0].jct_s[0] < none.jct_s[0] / 6


def test_a_large_job_leaves_a_part_of_the_executors_to_decide_on() -> None:
    """Each step but the last is there for large jobs, with one cap more, by what they hold, and as it is for others."""
    program = Reserve(one_row(True))
    values = [number.start for number in program.numbers]
    values[-3:] = np.log(3.0), 0.9, 2.0
    plain = StayAndMove(one_row(True)).scorers(np.array(values[:-3]))
    found = program.scorers(np.array(values))
    reserve = {"times": 0.009, "executors_to_decide": 2.0}  # 0.9 of 10 executors if all are idle, a quarter for half
    stays, large = plain["stage"]["steps"][0], "job_work_left_s >= 6"  # three times the typical job's 2 s
    # Of those it holds and those to decide on, h + k as 2 sqrt(h k): 0.9 ((h + k) / 10)^2, h being a share of 10.
    both = {"times": 0.36, "job_executor_share": 1.0, "executors_to_decide": 1.0}
    assert len(found["stage"]["steps"]) == 3 * len(plain["stage"]["steps"]) - 2
    assert found["stage"]["steps"][0] == stays | {
        "if": f"job_is_source >= 1 and {large} and job_executor_share >= 0.2",
        "below": [*stays["below"], both],
    }
    assert found["stage"]["steps"][1] == stays | {
        "if": f"job_is_source >= 1 and {large}",
        "below": [*stays["below"], reserve],
    }
    assert found["stage"]["steps"][2] == stays | {"if": "job_is_source >= 1 and job_work_left_s < 6"}
    assert found["stage"]["steps"][-1] == plain["stage"]["steps"][-1], "who idles leaves nothing to others"
    assert found["limit"]["steps"][-3:] == [
        {"if": f"{large} and job_executor_share >= 0.2", "of": "job_executor_share", "below": [both]},
        {"if": large, "of": "job_executor_share", "below": [reserve]},
        plain["limit"]["steps"][-1],
    ]
    values[-1] = 0.0
    assert program.scorers(np.array(values))["limit"]["steps"][-2]["below"] == [{"times": 0.9}]


def test_with_a_reserve_small_jobs_do_not_wait_for_the_stage_of_a_large_one() -> None:
    """Its stage keeps what it has until its last task has begun: 3 of 4 executors with a reserve, else all of them."""
    drawn = Workloads(pa.table({}), {"num_executors": 4, "semantics": {}, "objective": "jct_s"})
    instance = DagJobsInstance(compile_profiles(toy_trace([[stage(400)], [stage(1)]])), drawn)
    arrivals, profile = [0, *range(60, 860, 100)], [0] + [1] * 8
    episode = toy_workload(arrivals, 4, profile=profile, moving_delay_ms=1, offer_at_completion=True)
    all_of_it = {"log_k": 3.0, "log_m": 3.0, "log_c": -2.8, "ready": 0.0}

    def result(program: Program, **given: float) -> Any:
        values = {number.name: number.start for number in program.numbers} | all_of_it | given
        policy = searching.policy_of("found", DAG_JOBS, True, False, program, np.array(list(values.values())))
        return policy.run(instance, [episode])[0]

    none = result(StayAndMove(one_row(True, 4)))
    some = result(Reserve(one_row(True, 4)), log_large=-1.0, part=0.7, power=1.0)
    assert none.jct_s[1:].min() > 0.3, "they wait for its last task to begin"
    assert (some.jct_s[1:] == 0.051).all(), "a move and a task"
    assert none.jct_s[0] < some.jct_s[0] < none.jct_s[0] * 4 / 3, "at the end, no longer large, it takes all"


def test_what_a_large_job_may_hold_does_not_depend_on_how_busy_the_cluster_was_when_it_came() -> None:
    """Beside five busy executors of ten it takes 3 of the other five; once they are done it has 9."""
    drawn = Workloads(pa.table({}), {"num_executors": 10, "semantics": {}, "objective": "jct_s"})
    instance = DagJobsInstance(compile_profiles(toy_trace([[stage(4000)], [stage(5, fresh=2000)]])), drawn)
    episode = toy_workload([0, 10], 10, profile=[1, 0], moving_delay_ms=1, offer_at_completion=True)
    program = Reserve(one_row(True, 10))
    given = {"log_k": 3.0, "log_m": 3.0, "log_c": -2.8, "ready": 0.0, "log_large": -1.0, "part": 0.9, "power": 2.0}
    values = {number.name: number.start for number in program.numbers} | given
    policy = searching.policy_of("found", DAG_JOBS, True, False, program, np.array(list(values.values())))
    tasks = simulate(instance.profiles, episode, policy.compiled, record_tasks=True).tasks
    assert tasks is not None

    def held(time_ms: int) -> int:
        began, lasted = tasks[:, 0], tasks[:, 1]
        return int(((tasks[:, 2] == 1) & (began <= time_ms) & (time_ms < began + lasted)).sum())

    assert (held(1000), held(3000)) == (3, 9)


def test_without_leave_to_idle_the_smallest_job_takes_what_is_left() -> None:
    program = StayAndMove(one_row(False))
    assert "idles" not in [number.name for number in program.numbers]
    last = program.scorers(program.start(np.random.default_rng(0), None))["stage"]["steps"][-1]
    assert last["then"] > 0


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_problem_has_the_common_families(problem: str) -> None:
    known = families_of(find_problem(problem))
    assert {*FAMILIES} <= {*known}
    policies = policies_of(find_problem(problem))
    kinds = [policies[name].kind for name in policies]
    assert kinds == sorted(kinds, key=("heuristic", "searched", "teacher", "student").index)
    assert [name for name in policies if policies[name].kind == "searched"] == list(known)


@pytest.fixture(scope="module")
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Path]]:
    """Trace, episodes and tuned heuristics of a problem."""
    name: str = request.param
    folder = tmp_path_factory.mktemp(name)
    paths = {
        part: folder / f"{part}.{'json' if part == 'tuned' else 'parquet'}" for part in ("trace", "workloads", "tuned")
    }
    params = stage_params(name, workload=SIZES[name])
    problem = find_problem(name)
    problem.build(params, paths["trace"])
    problem.draw(params, paths["trace"], paths["workloads"])
    heuristics.tune(params, paths["trace"], paths["workloads"], folder / "tuning.parquet", paths["tuned"])
    return name, paths


@pytest.mark.parametrize("files", PROBLEMS, indirect=True)
def test_a_family_is_searched_told_and_evaluated(
    files: tuple[str, dict[str, Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, paths = files
    problem, params = find_problem(name), stage_params(name, workload=SIZES[name], search=SMALL)
    for family in families_of(problem):
        for folder in (tmp_path / "once", tmp_path / "again"):
            capsys.readouterr()
            written = search.run(params, family, *paths.values(), folder)
        said = capsys.readouterr().err
        refused = 0 if "none is safe" in said else said.count("refused:")
        assert written == tmp_path / "again" / f"{family}.json"
        for end in (".json", ".txt", "_curve.parquet"):
            once, again = ((tmp_path / each / f"{family}{end}").read_bytes() for each in ("once", "again"))
            assert once == again, f"{family}{end}"
        told = read_json(written)
        assert (told["kind"], told["name"], told["problem"]) == ("searched", family, name)
        assert len(told["restarts"]) == 2 and len({each["seed"] for each in told["restarts"]}) == 2
        best = sorted(told["restarts"], key=lambda each: each["validation"])[refused]
        assert told["validation"]["value"] == best["validation"]
        assert told["stress"].get("share", 1.0) == SIZES[name].get("stress", 1.0)
        assert {choice.name: told[choice.name] for choice in problem.choices} == best["scorers"]
        assert {"trace", "workloads", "tuned"} == set(told["provenance"]["inputs"])
        policy = load_policy(problem, written)
        assert (policy.name, policy.kind) == (family, "searched")
        instance = problem.open(paths["trace"], paths["workloads"])
        outcomes = policy.run(instance, instance.split("validation"))
        value = np.mean([outcome.measures[problem.measures[0].name] for outcome in outcomes])
        assert told["validation"]["value"] == pytest.approx(value, rel=1e-5), "what is written is what was chosen"
        assert search.show(written) == (tmp_path / "once" / f"{family}.txt").read_text()
        curve, metadata = read_table(tmp_path / "once" / f"{family}_curve.parquet", SEARCH_CURVE)
        rows = curve.to_pylist()
        assert {row["restart"] for row in rows} == {0, 1} and metadata["family"] == family
        last = [row for row in rows if row["validation_objective"] is not None]
        assert [row["restart"] for row in last] == [0, 1]
        assert all(row["evaluations"] >= SMALL["evaluations"] / 2 for row in last)
    settings = stage_params(name).evaluation
    searched = [tmp_path / "once" / f"{family}.json" for family in families_of(problem)]
    loaded = load_policies(
        problem,
        settings.model_copy(update={"policies": ("fifo", "weights")}),
        {"best": "fifo"},
        Path("t"),
        [],
        searched,
    )
    against = [(problem.baseline, "heuristic")] if problem.baseline != "fifo" else []
    listed = [("fifo", "heuristic"), ("weights", "searched"), *against]
    assert [(policy.name, policy.kind) for policy in loaded] == listed
    assert json.dumps(told)


@pytest.mark.parametrize("files", ["dag_jobs"], indirect=True)
def test_a_searched_policy_is_given_a_guard_and_judged_with_it(
    files: tuple[str, dict[str, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So are all on the way, with one guard; each of the best has bounds of its own. One that never acts is as none."""
    name, paths = files
    guard = {"heuristic": "capped_srpt", "margin": 1.0, "gauges": ["largest_s"]}
    params = stage_params(name, workload=SIZES[name], search=SMALL)
    alone = read_json(search.run(params, "weights", *paths.values(), tmp_path / "alone"))
    params = stage_params(name, workload=SIZES[name], search={**SMALL, "guard": guard})
    asked: list[Any] = []
    whole, begin = searching.Probes.verdict, searching.Probes.__init__
    monkeypatch.setattr(searching.Probes, "verdict", lambda self, policy: asked.append(policy) or whole(self, policy))
    monkeypatch.setattr(
        searching.Probes, "__init__", lambda self, *given: asked.append(given[4]) or begin(self, *given)
    )
    written = search.run(params, "weights", *paths.values(), tmp_path / "guarded")
    told, guarded = read_json(written), [*asked]
    far = stage_params(name, workload=SIZES[name], search={**SMALL, "guard": guard | {"margin": 1000.0}})
    idle = read_json(search.run(far, "weights", *paths.values(), tmp_path / "idle"))
    assert idle["restarts"] == alone["restarts"] and "guard" not in alone
    policy = load_policy(find_problem(name), written)
    settings = params.search.guard
    instance = find_problem(name).open(paths["trace"], paths["workloads"])
    assert policy.guard == measured(settings, policy, instance, paths["tuned"]) and policy.guard is not None
    assert told["guard"]["settings"] == read_json(paths["tuned"])["capped_srpt"]
    assert guarded[-1].guard == policy.guard, "it is judged with its guard"
    reference: Any = tuned_heuristic(find_problem(name), "best", paths["tuned"])
    assert guarded[0] == measured(settings, reference, instance, paths["tuned"]), (
        "and all before it with that of a heuristic"
    )
    assert "The guard:" in search.show(written)
    asked.clear()
    spared = stage_params(name, workload=SIZES[name], search={**SMALL, "guard": guard | {"only_if_unsafe": True}})
    written = search.run(spared, "weights", *paths.values(), tmp_path / "spared")
    assert asked[0] is None, "they are to be safe without"
    told_alone, told_spared = (told_safe(found) for found in (alone, read_json(written)))
    assert (load_policy(find_problem(name), written).guard is None) == told_alone == told_spared
    if told_alone:
        assert read_json(written)["restarts"] == alone["restarts"]

    def needed(_: Any, policies: Any, otherwise: int) -> Chosen:
        return first_safe(lambda policy: Verdict(1.0 if policy.guard else 9.0, 8), policies, otherwise)

    monkeypatch.setattr(searching, "first_safe", needed)
    written = search.run(spared, "weights", *paths.values(), tmp_path / "needed")
    assert load_policy(find_problem(name), written).guard == policy.guard and told_safe(read_json(written))
    assert read_json(written)["restarts"] == read_json(tmp_path / "spared" / "weights.json")["restarts"]
    with pytest.raises(ClearschedError, match=r"search\.guard\.gauges.*the nearest is largest_s"):
        stage_params(search={"guard": {"gauges": ["largest"]}})


def test_a_guard_without_gauges_is_told_before_the_search() -> None:
    nothing: Any = SimpleNamespace(problem=OTHER)
    budget = settings(guard={"heuristic": "fifo"})
    with pytest.raises(ClearschedError, match=r"search\.guard: queue has no gauges"):
        search_for(nothing, "weights", [], [], heuristic("fifo"), budget, 1)


def test_an_unknown_family_is_told() -> None:
    with pytest.raises(ClearschedError, match=r"unknown family 'weight'.*did you mean weights"):
        families_of(DAG_JOBS)["weight"]
    with pytest.raises(ClearschedError, match=r"search\.families.*one of"):
        stage_params(search={"families": ["wieghts"]})
    with pytest.raises(ClearschedError, match=r"search\.families.*each name once"):
        from clearsched.params import parse

        parse({"search": {"families": ["weights", "weights"]}}, "test")
