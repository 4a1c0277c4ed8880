"""Students in closed loop: ties, caps, better numbers, better rules; never worse on the validation episodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearsched.compiled.scoring import scores_of
from clearsched.decisions.choices import Choices
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.features import FEATURE_NAMES, FEATURES
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import PROBLEM
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.declarations import Measure
from clearsched.problems.episodes import NONE
from clearsched.problems.policy import heuristic
from clearsched.reading.verification.box import Box
from clearsched.reading.verification.monotone import monotone
from clearsched.scorers.cap_terms import LeastTerm
from clearsched.scorers.conditions import Condition, Rule
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import read_scorer
from clearsched.scorers.settings import GuardParams
from clearsched.scorers.steps import Step, StepList
from clearsched.scorers.switch import Case, Switch
from clearsched.scorers.text import render
from clearsched.scorers.ties import weighted
from clearsched.scorers.trees import TreeSum
from clearsched.search import probing, safety
from clearsched.search.probing import Probes
from clearsched.search.restarts import Restart, Search
from clearsched.search.safety import Verdict
from clearsched.search.trials import ROWS, Trials, trials
from clearsched.students import limit_caps, refinement_steps, refining, repairing, switch
from clearsched.students.bench import Bench
from clearsched.students.dataset import Dataset
from clearsched.students.equal_shares import equal_shares
from clearsched.students.level_structures import LevelSpace, level_structures
from clearsched.students.numbers import Refinement, part_of
from clearsched.students.refinement_steps import Steps
from clearsched.students.refining import refine
from clearsched.students.repairing import cures, descended, headed, repaired, shifted
from clearsched.students.restructuring import (
    SCREENED,
    Around,
    Budget,
    Safe,
    conditions_on,
    options_of,
    other_ties,
    restructured,
    screened,
    shape_of,
    structures,
)
from clearsched.students.rounding import Columns
from clearsched.students.rule_list import distil
from clearsched.students.settings import (
    BoostedTreesParams,
    FairLimitParams,
    PrunedTreeParams,
    RefineParams,
    RuleListParams,
    StudentsParams,
    SwitchParams,
)
from clearsched.students.task import Task
from clearsched.students.tidying import tidied
from clearsched.students.ties import find_ties, order_of, ordering
from random_trees import COLUMNS, random_tree
from toys import judged_on, stage, toy_trace, toy_workload

STAGE, LIMIT = PROBLEM.choices
NAMES = tuple(FEATURE_NAMES)
AGE, WORK, RANK = (NAMES.index(name) for name in ("job_age_s", "job_work_left_s", "stage_rank"))
LEAST_WORK = RuleList((Rule((), 1.0),), NAMES, ties=("job_work_left_s",))
MOST_WORK = RuleList((Rule((), 1.0),), NAMES, ties=("-job_work_left_s",))


# Ties ----------------------------------------------------------------------------------------------------------------


def rows_of(generator: np.random.Generator, count: int) -> np.ndarray:
    """float32[count, F]; few values, so that ties are common."""
    return generator.integers(0, 4, size=(count, len(NAMES))).astype(np.float32)


def test_ties_order_the_rows_of_a_rule_and_nothing_else() -> None:
    """10,000 decisions: the loop's scores, the file's and a sort by hand agree."""
    generator = np.random.default_rng(0)
    rules = RuleList(
        (Rule((Condition(AGE, True, 2.0),), 2.0), Rule((Condition(RANK, False, 1.0),), 1.0), Rule((), -1.0)),
        NAMES,
        ties=("job_work_left_s", "-job_age_s"),
    )
    again = read_scorer(rules.to_json(), NAMES, "here")
    assert again == rules
    for _ in range(1_000):
        rows = rows_of(generator, 10)
        values = np.select([rows[:, AGE] < 2, rows[:, RANK] >= 1], [2, 1], -1)
        by_hand = np.lexsort((np.arange(10), -rows[:, AGE], rows[:, WORK], -values))[0]
        for scorer in (rules, again):
            scores = scorer.scores(rows, NAMES)
            assert int(scores.argmax()) == by_hand
            assert ((scores > 0) == (values > 0)).all(), "a tie lifts no candidate above none, nor below it"


def test_ties_are_told_and_checked() -> None:
    text = "\n".join(replace(LEAST_WORK, ties=("job_work_left_s", "-job_age_s")).render(STAGE, {"most": 4}))
    assert "among equals the one with the least job_work_left_s, then the most job_age_s" in " ".join(text.split())
    assert LEAST_WORK.used == ("job_work_left_s",)
    assert LEAST_WORK.complexity() == 2
    assert "then the most job_age_s (the least job_work_left_s - job_age_s / 1000)" in " ".join(text.split())
    assert (
        weighted(("-job_age_s", "stage_rank", "-job_parked"))
        == "most job_age_s - stage_rank / 1000 + job_parked / 1000000"
    )
    four = ["job_age_s", "job_parked", "stage_rank", "job_work_left_s"]
    for ties, message in (
        (["job_wrok_left_s"], "did you mean job_work_left_s"),
        ("job_age_s", "a list of features"),
        (four, "ties: 3 features at most, here are 4: leave the last out"),
    ):
        with pytest.raises(ClearschedError, match=message):
            read_scorer({"rules": [{"if": "otherwise", "then": 1}], "ties": ties}, NAMES, "here")


def choices_of(features: np.ndarray, size: int, best: Any) -> Choices:
    """Decisions of `size` candidates each; the best of a decision by `best`, float[n], the least of which wins."""
    count = len(features) // size
    starts = np.arange(0, len(features) + 1, size)
    score = -np.asarray(best, np.float64)
    chosen = np.array([start + score[start : start + size].argmax() for start in starts[:-1]])
    ids = np.tile(np.arange(size), count)
    return Choices(features, starts, chosen, ids, ids, score, score, *np.zeros((2, count), int), np.zeros(count))


def test_shortest_remaining_work_is_recovered_in_words() -> None:
    """Of random candidates; of a simulated executor, from the log on, in tests/test_recovering.py."""
    generator = np.random.default_rng(1)
    features = generator.uniform(1, 100, size=(4_000, len(NAMES))).astype(np.float32)
    features[:, NAMES.index("job_is_source")] = 0
    choices = choices_of(features, 5, features[:, WORK])
    found = distil(choices, STAGE, RuleListParams())
    assert found.ties == ("job_work_left_s",)
    assert [rule.conditions for rule in found.rules] == [()]
    told = ScoredPolicy("rule_list", PROBLEM, {"stage": found, "limit": RuleList((Rule((), 1.0),), NAMES)})
    assert "among equals the one with the least job_work_left_s" in " ".join(render(told).split())


def test_ties_come_in_the_order_of_what_they_explain() -> None:
    generator = np.random.default_rng(2)
    features = rows_of(generator, 4_000)
    features[:, NAMES.index("job_is_source")] = 0
    choices = choices_of(features, 5, features[:, WORK] - 0.1 * features[:, AGE])
    assert find_ties(choices, STAGE, 2) == ("job_work_left_s", "-job_age_s")
    assert find_ties(choices, STAGE, 0) == ()
    order = order_of(choices, ("job_work_left_s",), NAMES)
    assert sorted(order.tolist()) == list(range(4_000))
    assert (np.diff(features[np.argsort(order), WORK]) >= 0).all()


# Caps ----------------------------------------------------------------------------------------------------------------


def levels_of(features: np.ndarray, share: np.ndarray, most: int) -> Dataset:
    """Decisions on a level of 1 to `most`, whose best is `share` of it."""
    count = len(features)
    rows = np.repeat(features, most, axis=0)
    candidate = np.tile(np.arange(1, most + 1), count)
    score = -np.abs(candidate - np.repeat(share, most) * most)
    starts = np.arange(0, count * most + 1, most)
    chosen = starts[:-1] + score.reshape(count, most).argmax(axis=1)
    level = Choices(
        rows, starts, chosen, candidate, candidate, score, score, *np.zeros((2, count), int), np.zeros(count)
    )
    return Dataset(level, level, most, PROBLEM.choices)


def test_caps_of_two_cases_are_found() -> None:
    """Who stays may hold 2.5 times its share; who moves 1.5 times it, and an executor for each 5 s of work."""
    generator = np.random.default_rng(3)
    features = generator.uniform(0.05, 0.4, size=(1_500, len(NAMES))).astype(np.float32)
    source, share_20 = NAMES.index("job_is_source"), NAMES.index("job_share_20")
    features[:, source] = generator.integers(0, 2, 1_500)
    features[:, WORK] = generator.uniform(10, 400, 1_500)
    moves = np.minimum(1.5 * features[:, share_20], features[:, WORK] / 5 / 100)
    share = np.minimum(np.where(features[:, source] == 1, 2.5 * features[:, share_20], moves), 1)
    found = list(limit_caps.variants(levels_of(features, share, 100), LIMIT, 3))
    assert [len(scorer.steps) for scorer in found] == [1, 2]
    own, other = found[1].steps
    assert [c.text(NAMES) for c in own.conditions] == ["job_is_source >= 1"]
    assert [set(term) - {"times"} for term in own.below] == [{"job_share_20"}]
    assert own.below[0]["times"] == pytest.approx(2.5, rel=0.1)
    told = {next(iter(set(term) - {"times"})): term["times"] for term in other.below}
    assert told["job_share_20"] == pytest.approx(1.5, rel=0.1)
    assert told["job_work_left_s"] == pytest.approx(1 / 500, rel=0.1)
    assert list(limit_caps.variants(levels_of(features, share, 100), LIMIT, 0)) == []


# Closed loop ---------------------------------------------------------------------------------------------------------


class Queue(DagJobsInstance):
    """Jobs of one stage and one task on one executor: 1 s, 3 s or 9 s each."""

    most, none = 1, False

    def __init__(self) -> None:
        lasts = (1_000, 3_000, 9_000)
        jobs = [[stage(1, first_wave=last, rest_wave=last, fresh=last)] for last in lasts]
        super().__init__(compile_profiles(toy_trace(jobs), warmup_delay_ms=0))

    @property
    def objective(self) -> Measure:
        return PROBLEM.measures[0]

    def split(self, name: str, limit: int | None = None) -> list[Workload]:
        rng = np.random.default_rng(["train", "validation", "test"].index(name))
        found = []
        for seed in range(24):
            profile = rng.integers(3, size=8)
            found.append(toy_workload([0] * 8, 1, profile=profile, moving_delay_ms=0, seed=seed))
        return found[:limit]


def task_of(rank: Choices) -> Task:
    instance = Queue()
    bench = Bench(instance, instance.objective, instance.split("train"), instance.split("validation"))
    level = levels_of(rank.features[:20], np.ones(20), 1).level
    dataset = Dataset(rank, level, 1, PROBLEM.choices)
    return Task("rule_list", PROBLEM, dataset, bench, RuleListParams(), StudentsParams(), 1)


@pytest.fixture(scope="module")
def seen() -> Choices:
    """Candidates as the queue has them."""
    generator = np.random.default_rng(0)
    features = np.zeros((300, len(NAMES)), np.float32)
    features[:, WORK] = generator.choice([1.0, 3.0, 9.0], 300)
    return choices_of(features, 3, features[:, WORK])


def student_of(scorer: RuleList) -> ScoredPolicy:
    return ScoredPolicy("rule_list", PROBLEM, {"stage": scorer, "limit": RuleList((Rule((), 1.0),), NAMES)})


def cost(task: Task, student: ScoredPolicy) -> float:
    return task.bench.validation_cost(student)


def test_a_threshold_is_moved_to_where_it_schedules_best(seen: Choices) -> None:
    """ "Less than 0.5 s of work first" helps nobody; less than 3 s parts the small jobs from the large."""
    task = task_of(seen)
    student = student_of(RuleList((Rule((Condition(WORK, True, 0.5),), 1.0), Rule((), 0.0)), NAMES))
    found = refine(task, student, RefineParams(rounds=1, evaluations=60))
    assert found.costs[found.chosen] == min(found.costs) < 0.9 * found.costs[0]
    assert cost(task, found.policy) < 0.9 * cost(task, student)
    assert found.evaluations >= 60


def test_what_is_best_already_stays(seen: Choices) -> None:
    task = task_of(seen)
    found = refine(task, student_of(LEAST_WORK), RefineParams(rounds=2, evaluations=20))
    assert found.policy.scorers["stage"] == LEAST_WORK
    assert found.costs[0] == min(found.costs)


def test_a_missing_rule_is_found(seen: Choices) -> None:
    """First come, first served: a condition on the work left is what it lacks."""
    task = task_of(seen)
    student = student_of(RuleList((Rule((), 0.0),), NAMES))
    found = refine(task, student, RefineParams(rounds=2, evaluations=20)).policy.scorers["stage"]
    assert isinstance(found, RuleList)
    assert "job_work_left_s" in found.used
    assert cost(task, student_of(found)) < 0.9 * cost(task, student)


def beyond(task: Task) -> Task:
    """With a baseline that nobody comes near: 1 ms a job."""
    outcome = SimpleNamespace(measures={"jct_s": 0.001, "stall_s": 0.0}, end_s=0.001, scale_s=0.001)
    bound: Any = SimpleNamespace(name="bound", run=lambda instance, episodes, **record: [outcome] * len(episodes))
    return replace(task, bench=replace(task.bench, baseline=bound))


def test_a_student_is_held_to_the_check_on_further_episodes_too(seen: Choices) -> None:
    """It is near to the baseline on all others, and strays there alone."""
    task = task_of(seen)
    rare = replace(task.bench.validation[0], seed=1000)

    def run(instance: Any, episodes: Sequence[Workload], **record: bool) -> list[Any]:
        taken = [0.001 if episode is rare else 1e6 for episode in episodes]
        return [SimpleNamespace(measures={"jct_s": s, "stall_s": 0.0}, end_s=s, scale_s=1e6) for s in taken]

    baseline: Any = SimpleNamespace(name="bound", run=run)
    verdicts = []
    for asked in ((), (rare,)):
        task = replace(task, bench=replace(task.bench, baseline=baseline, rare=asked))
        found = refine(task, student_of(LEAST_WORK), RefineParams(rounds=0))
        assert found.safety is not None
        verdicts.append(found.safety.verdict)
        assert found.policy.evidence["stress"]["episodes"] == verdicts[-1].episodes
    assert [verdict.strays for verdict in verdicts] == [False, True]
    assert verdicts[0].worst < 1.2 < verdicts[1].worst


def test_a_student_that_will_have_a_guard_is_refined_with_one(seen: Choices, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above what the student as distilled came to; its heuristic as tuned."""
    asked: list[Any] = []
    given: list[Any] = []
    task = replace(beyond(task_of(seen)), tuned=Path("tuned.json"))
    guard = GuardParams(heuristic="fair", gauges=("largest_s",))
    task = replace(task, common=StudentsParams(guard=guard))
    monkeypatch.setattr(refining, "measured", lambda *told: given.append(told) or "the guard")
    begin = Probes.__init__
    monkeypatch.setattr(Probes, "__init__", lambda self, *told: asked.append(told[4]) or begin(self, *told[:4]))
    student = student_of(LEAST_WORK)
    refine(task, student, RefineParams(rounds=0))
    assert asked == ["the guard"]
    assert given == [(guard, student, task.bench.instance, Path("tuned.json"), "students.guard")]
    spared = guard.model_copy(update={"only_if_unsafe": True})
    refine(replace(task, common=StudentsParams(guard=spared)), student, RefineParams(rounds=0))
    assert asked[1:] == [None], "who is to be given one only if unsafe is refined to be safe alone"


def test_what_strays_from_the_baseline_is_refused(seen: Choices) -> None:
    """A baseline of 1 ms a job, which nobody comes near: the student stays as it was, and the count is told."""
    task = task_of(seen)
    student = student_of(RuleList((Rule((Condition(WORK, True, 0.5),), 1.0), Rule((), 0.0)), NAMES))
    found = refine(beyond(task), student, RefineParams(rounds=1, evaluations=20))
    assert found.policy.scorers == student.scorers and found.safety is not None
    assert len(found.safety.refused) == len(found.costs)
    lines = safety.in_words(found.safety, "what was distilled")
    assert len(lines) == len(found.costs) + 1 and lines[-1].startswith("none is safe: what was distilled is kept")
    assert found.policy.evidence["stress"]["worst"] > safety.NEAR


class Strict:
    """A baseline that nobody is held to but on one training episode, where it is the shortest job first."""

    name = "strict"

    def __init__(self, task: Task, seed: int) -> None:
        (self.episode,) = (each for each in task.bench.instance.split("train") if each.seed == seed)  # type: ignore[attr-defined]
        (self.best,) = student_of(LEAST_WORK).run(task.bench.instance, [self.episode])

    def run(self, instance: Any, episodes: Sequence[Any], record: bool = False) -> list[Any]:
        loose = SimpleNamespace(measures={"jct_s": 1e9, "stall_s": 0.0}, end_s=1e9, scale_s=1e9)
        return [self.best if self._is_it(episode) else loose for episode in episodes]

    def _is_it(self, episode: Any) -> bool:
        return episode.seed == self.episode.seed and np.array_equal(episode.profile, self.episode.profile)


def test_what_strays_on_an_episode_that_no_probe_has_is_refined_until_it_does_not(seen: Choices) -> None:
    """The longest job first takes too long on one training episode of many, which the stress has not."""
    task = task_of(seen)
    student = student_of(MOST_WORK)
    single = task.bench.instance.split("train")
    own, best = (
        np.array([run.measures["jct_s"] for run in each.run(task.bench.instance, single)])
        for each in (student, student_of(LEAST_WORK))
    )
    seed = int(np.argmax(own / best))
    assert own[seed] > 1.1 * safety.NEAR * best[seed]
    strict = replace(task, bench=replace(task.bench, baseline=Strict(task, seed)))
    lines: list[str] = []
    found = refine(strict, student, RefineParams(rounds=2, evaluations=20), tell=lines.append)
    assert found.safety is not None and not found.safety.verdict.strays and not found.is_in_vain
    first, second, *rounds = [line for line in lines if not line.startswith("repair by several changes")]
    assert first == "as distilled it is not safe: what is safe next to it is looked for"
    safe = [f"JCT {cost:.1f} s" for cost in found.costs[1:]]
    assert second.removeprefix("safe next to it: ") in safe, "who waits hears how far it is"
    assert rounds and {line.split(": ")[1] for line in rounds} <= {*safe}
    for number, line in enumerate(rounds, 1):
        assert line.startswith(f"refinement, round {number} of 2: ")
    assert found.policy.evidence["stress"]["worst"] <= safety.NEAR < own[seed] / best[seed]


@pytest.mark.parametrize(("are_held", "times"), [(True, 2), (False, 1)])
def test_a_refinement_begins_again_only_where_something_was_learned(
    seen: Choices, monkeypatch: pytest.MonkeyPatch, are_held: bool, times: int
) -> None:
    """Nobody comes near the baseline: twice, since it learns of episodes once; once where no step is held to them."""
    made: list[ScoredPolicy] = []

    def of(self: Steps, student: ScoredPolicy) -> list[ScoredPolicy]:
        made.append(student)
        self.are_held = are_held
        return [student, student_of(LEAST_WORK)]

    monkeypatch.setattr(Steps, "of", of)
    found = refine(beyond(task_of(seen)), student_of(MOST_WORK), RefineParams(rounds=1))
    assert found.is_in_vain and found.policy.scorers == student_of(MOST_WORK).scorers
    assert len(made) == times


def test_the_part_on_which_a_policy_strayed_is_asked_of_all_after_it() -> None:
    """Of 40 episodes the last one tells, and the short check has the first two."""

    class Told:
        name = "told"

        def __init__(self, cost: float) -> None:
            self.cost, self.asked = cost, 0

        def run(self, instance: object, episodes: list[int], record: bool = False) -> list[SimpleNamespace]:
            self.asked += len(episodes)
            costs = [self.cost if episode == 39 else 1.0 for episode in episodes]
            return [SimpleNamespace(measures={"jct_s": each}, end_s=1.0, scale_s=1.0) for each in costs]

    jct = Measure("jct_s", "s", "mean", "JCT")
    instance = judged_on(jct)
    bad, good, baseline = Told(2.0), Told(1.2), Told(1.0)
    episodes: Any = list(range(40))
    probes = Probes(Trials(instance, jct, ThreadPoolExecutor(1)), baseline, episodes, episodes[:2])  # type: ignore[arg-type]
    assert probes.is_safe(bad) and probes.verdict(bad).strays and not probes.is_safe(bad)  # type: ignore[arg-type]
    assert probes.verdict(bad).strays and probes.is_safe(good)  # type: ignore[arg-type]
    assert good.asked == 2 + 40 - 32, "the short check, once more the part that tells"


def test_what_is_known_of_a_policy_is_not_run_again(seen: Choices, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what decides, not by its name; of other episodes only those that are new are run, and told in their places."""
    instance = Queue()
    episodes = instance.split("train")
    ran: list[int] = []
    simulate = instance.simulate
    monkeypatch.setattr(
        instance, "simulate", lambda policy, few, **record: ran.extend([len(few)]) or simulate(policy, few, **record)
    )
    with trials(instance, instance.objective) as runs:
        first = runs.outcomes([student_of(LEAST_WORK), student_of(MOST_WORK)], episodes[:8])
        assert sum(ran) == 16
        renamed = replace(student_of(LEAST_WORK), name="other", evidence={"most": 1})
        again = runs.outcomes([renamed], [episodes[9], *episodes[7::-1]])
        assert sum(ran) == 17
        np.testing.assert_array_equal(again[:, 0, 1:], first[:, 0, ::-1])
        idle = runs.outcomes([replace(student_of(LEAST_WORK), none=True)], episodes[:1])
        assert sum(ran) == 18 and idle.shape == (ROWS, 1, 1)
        runs.cost([heuristic(PROBLEM, "fifo")], episodes[:1])
        runs.cost([heuristic(PROBLEM, "fifo")], episodes[:1])
        assert sum(ran) == 20, "what can't be told apart is run"


def test_the_episode_that_told_is_asked_first() -> None:
    """Of a part of 16 episodes one tells; what strays on it too is refused after it, whatever else it would run."""
    asked: list[int] = []

    def run(instance: object, episodes: list[int], record: bool = False) -> list[SimpleNamespace]:
        asked.extend(episodes)
        costs = [2.0 if episode == 20 else 1.0 for episode in episodes]
        return [SimpleNamespace(measures={"jct_s": each}, end_s=1.0, scale_s=1.0) for each in costs]

    fair = lambda instance, episodes, record=False: [  # noqa: E731
        SimpleNamespace(measures={"jct_s": 1.0}, end_s=1.0, scale_s=1.0) for _ in episodes
    ]
    jct = Measure("jct_s", "s", "mean", "JCT")
    instance = judged_on(jct)
    bad, baseline = SimpleNamespace(name="bad", run=run), SimpleNamespace(name="fair", run=fair)
    episodes: Any = list(range(40))
    probes = Probes(Trials(instance, jct, ThreadPoolExecutor(1)), baseline, episodes, episodes[:2])  # type: ignore[arg-type]
    assert probes.verdict(bad).strays  # type: ignore[arg-type]
    asked.clear()
    assert not probes.is_safe(bad) and asked == [20]  # type: ignore[arg-type]
    assert not probes.keeps(bad, 1) and probes.keeps(bad, 0) and asked == [20, 20]  # type: ignore[arg-type]


def straying(*on: int) -> Any:
    """A policy that costs twice the baseline's 1 on these episodes."""
    return costly(dict.fromkeys(on, 2.0))


def costly(cost: Mapping[int, float], asked: list[int] | None = None) -> Any:
    """A policy that costs so much on these episodes, and the baseline's 1 on others; `asked`: what it is run on."""

    def run(instance: object, episodes: list[int], record: bool = False) -> list[SimpleNamespace]:
        if asked is not None:
            asked.extend(episodes)
        costs = [cost.get(episode, 1.0) for episode in episodes]
        return [SimpleNamespace(measures={"jct_s": each}, end_s=1.0, scale_s=1.0) for each in costs]

    return SimpleNamespace(name="costly", run=run)


def probes_by(excess: Callable[[ScoredPolicy], float]) -> Any:
    """Probes of one episode that told, on which a policy is so far beyond its bounds."""

    def nearest(policies: list[ScoredPolicy], most: int) -> list[int]:
        far = list(map(excess, policies))
        return [place for place, each in enumerate(far) if each == min(far)][:most]

    return SimpleNamespace(nearest=nearest, verdict=lambda policy: SimpleNamespace(strays=excess(policy) > 0))


def probes_of_forty() -> Probes:
    """Of 40 episodes next to a baseline of cost 1; the short check has none."""
    jct = Measure("jct_s", "s", "mean", "JCT")
    episodes: Any = list(range(40))
    return Probes(Trials(judged_on(jct), jct, ThreadPoolExecutor(1)), straying(), episodes, [])


def test_who_strays_on_a_known_part_tells_a_further_episode_of_it() -> None:
    """Of a part one episode told; who strays on another one of it adds that, once, and is refused after it alone."""
    probes = probes_of_forty()
    first, other, elsewhere = straying(20), straying(22, 24), straying(39)
    assert probes.verdict(first).strays and probes.known == 1
    assert not probes.is_safe(other) and probes.keeps(other, probes.known), "by the part, not by the episode that told"
    assert probes.learn_from(other) and probes.known == 2 and not probes.keeps(other, probes.known)
    assert probes.learn_from(other) and not probes.learn_from(other), "22, then 24, then nothing more"
    assert probes.keeps(first, 0) and not probes.keeps(first, 1)
    assert not probes.learn_from(elsewhere), "that part is not known"


def test_what_told_long_ago_is_asked_again_when_somebody_strays_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates are asked of the latest ones only."""
    monkeypatch.setattr(probing, "LATEST", 1)
    probes = probes_of_forty()
    assert probes.verdict(straying(20)).strays and probes.verdict(straying(3)).strays
    assert probes.keeps(straying(20), probes.known), "two told, the latest one is asked"
    assert probes.learn_from(straying(20)) and probes.known == 2
    assert not probes.keeps(straying(20), probes.known) and probes.keeps(straying(3), probes.known)


def test_a_step_is_made_again_with_what_the_whole_check_told(seen: Choices) -> None:
    """The first that comes of it strays, the second does not; what never ends safely is not taken."""
    task = task_of(seen)
    bad, good = student_of(MOST_WORK), student_of(LEAST_WORK)
    probes: Any = SimpleNamespace(
        verdict=lambda policy: SimpleNamespace(strays=policy is bad), is_safe=lambda policy: True, known=0
    )
    with trials(task.bench.instance, task.bench.measure) as runs:
        steps = Steps(task, RefineParams(), runs, task.bench.train, task.bench.validation, probes)
        coming = iter([[good, bad], [good], [bad]])
        assert steps._until_safe(lambda: next(coming)) == [good]
        assert steps._until_safe(lambda: [bad]) == []
        assert steps._until_safe(lambda: None) is None
        steps.are_held = False
        assert steps._until_safe(lambda: [bad]) == [bad]


@pytest.mark.parametrize(
    ("rounds", "repairs", "last"),
    [
        ({"bad": "good"}, {"bad": "middling"}, "good"),  # what is refined is safe by itself, and cheaper
        ({"bad": "middling"}, {"bad": "good"}, "good"),  # the repair is
        ({"bad": "worse", "worse": "worst"}, {"bad": "middling", "worst": "good"}, "good"),  # refined, then repaired
        ({"bad": "good"}, {}, "good"),
        ({}, {"bad": "middling"}, "middling"),
        ({}, {}, ""),  # neither
    ],
)
def test_an_unsafe_student_is_repaired_at_once_and_refined_first(
    seen: Choices, monkeypatch: pytest.MonkeyPatch, rounds: dict[str, str], repairs: dict[str, str], last: str
) -> None:
    """The better one of two ways is the last; a round that ends safely ends the second one."""
    task, safe = task_of(seen), {"good": 1.0, "middling": 2.0}
    named = {name: replace(student_of(LEAST_WORK), name=name) for name in ("bad", "worse", "worst", *safe)}
    probes: Any = SimpleNamespace(verdict=lambda policy: SimpleNamespace(strays=policy.name not in safe), known=0)
    runs: Any = SimpleNamespace(
        cost=lambda policies, episodes: np.array([[safe[each.name]] * len(episodes) for each in policies]).reshape(
            len(policies), len(episodes)
        )
    )
    steps = Steps(task, RefineParams(rounds=6), runs, task.bench.train, task.bench.validation, probes)
    held: list[bool] = []

    def tidied_round(student: ScoredPolicy, number: int) -> list[ScoredPolicy]:
        held.append(steps.are_held)
        steps._tried.add(student.name)
        return [named[rounds[student.name]]] if student.name in rounds else []

    monkeypatch.setattr(refinement_steps, "descended", lambda *_: None)
    monkeypatch.setattr(steps, "_tidied_round", tidied_round)
    monkeypatch.setattr(steps, "_repaired", lambda each: [named[repairs[each.name]]] if each.name in repairs else [])
    found = steps._made_safe(named["bad"])
    assert [each.name for each in found][-1:] == ([last] if last else [])
    assert len(found) == len({*rounds.values(), *repairs.values()} & {*safe}), "the other one may be chosen at last"
    assert not steps._tried, "what free rounds found worthless is asked again of who is held to safety"
    assert not any(held) and steps.are_held and len(held) == (1 if {*rounds.values()} & {*safe} else 2)
    steps._others = [named["worst"], named["good"]]
    assert steps._made_safe(named["bad"])[-1].name == "good", "what another round of imitation came to, if it is safe"


@pytest.mark.parametrize(
    ("name", "strays", "near", "comes_to"),
    [
        ("rules_from_nothing", True, ["repaired"], ["repaired"]),
        ("rules_from_nothing", False, [], ["equal shares"]),
        ("rules_from_nothing", True, [], []),
        ("rule_list", True, ["repaired"], []),  # whoever was taught would lose what it was taught
    ],
)
def test_who_does_without_a_teacher_begins_again_from_equal_shares(
    seen: Choices, monkeypatch: pytest.MonkeyPatch, name: str, strays: bool, near: list[str], comes_to: list[str]
) -> None:
    """Where no way from its first rule leads to what is safe, and only there."""
    task = replace(task_of(seen), name=name)
    named = {each: replace(student_of(LEAST_WORK), name=each) for each in ("first", "equal shares", "repaired")}
    unsafe = {"first"} | ({"equal shares"} if strays else set())
    probes: Any = SimpleNamespace(verdict=lambda policy: SimpleNamespace(strays=policy.name in unsafe), known=0)
    runs: Any = SimpleNamespace(cost=lambda policies, episodes: np.ones((len(policies), len(episodes))))
    settings = RefineParams(rounds=1)
    ways = {"first": [], "equal shares": [named[each] for each in near]}
    for first in ([], [named["repaired"]]):
        lines: list[str] = []
        steps = Steps(task, settings, runs, task.bench.train, task.bench.validation, probes, lines.append)
        monkeypatch.setattr(refinement_steps, "equal_shares", lambda _: named["equal shares"])
        monkeypatch.setattr(steps, "_made_safe", lambda each, ways=ways | {"first": first}: ways[each.name])
        monkeypatch.setattr(steps, "_until_safe", lambda _: None)
        found = [each.name for each in steps.of(named["first"])]
        assert found == ["first", *(["repaired"] if first else comes_to)]
        assert any("equal shares" in line for line in lines) == (name == "rules_from_nothing" and not first)


def test_equal_shares_serve_whoever_holds_least_and_give_no_more_than_a_share(seen: Choices) -> None:
    task = task_of(seen)
    student = equal_shares(task)
    assert student is not None
    rows = np.abs(rows_of(np.random.default_rng(2), 12)) + 1
    load, jobs = (rows[:, NAMES.index(name)] for name in ("job_fair_load", "jobs_in_system"))
    order = order_of(choices_of(rows, 1, -load), student.scorers["stage"].ties, NAMES)
    assert (np.diff(load[np.argsort(order)]) >= 0).all()
    assert student.level_share(rows) == pytest.approx(1 / jobs)
    nameless = replace(task, problem=SimpleNamespace(choices=(STAGE._replace(load=""), LIMIT)))
    unshared = replace(task, problem=SimpleNamespace(choices=(STAGE, LIMIT._replace(fair=()))))
    assert equal_shares(nameless) is None and equal_shares(unshared) is None
    assert equal_shares(replace(task, problem=SimpleNamespace(choices=(STAGE,)))) is None


def test_a_search_keeps_to_what_it_is_held_to(seen: Choices) -> None:
    """What strays counts as given up: no such candidate comes to the end."""
    task = task_of(seen)
    student = student_of(RuleList((Rule((Condition(WORK, True, 0.5),), 1.0), Rule((), 0.0)), NAMES))
    program = Refinement(student, {name: Columns(seen.features) for name in ("stage", "limit")})
    narrow = lambda policy: policy.scorers["stage"].rules[0].conditions[0].threshold < 1.0  # noqa: E731
    fill = lambda program, values: program.filled(values)  # noqa: E731
    with trials(task.bench.instance, task.bench.measure) as runs:
        reference = runs.cost([student], task.bench.train)[0]
        episodes = task.bench.train, task.bench.validation
        restart = Restart(
            Search("x", fill, RefineParams(evaluations=60), runs, *episodes, reference, 1, keeps=narrow, grows=True), 0
        )
        restart.run(program)
    assert restart._own is not None and restart._own.best
    assert all(narrow(program.filled(values)) for _, values in restart._own.best)
    assert restart.spent >= 60 and sum(row["given_up"] for row in restart.curve) > 0


def around(task: Task) -> Around:
    instance = task.bench.instance
    features = task.dataset.rank.features

    def costs(policies: Sequence[ScoredPolicy], episodes: Sequence[Workload]) -> np.ndarray:
        runs = [policy.run(instance, episodes) for policy in policies]
        return np.array([[run.measures["jct_s"] for run in each] for each in runs])

    return Around("stage", costs, task.bench.train, task.bench.train, features, 4)


def test_a_step_to_what_is_not_safe_is_not_taken(seen: Choices) -> None:
    """The best structure is refused by its name of features, and the next best takes its place."""
    task = task_of(seen)
    student = student_of(RuleList((Rule((), 0.0),), NAMES))
    (best,) = restructured(student, around(task))
    asked = best.scorers["stage"].used
    (other,) = restructured(student, around(task), lambda policy: policy.scorers["stage"] != best.scorers["stage"])
    assert other.scorers["stage"] != best.scorers["stage"]
    assert cost(task, best) <= cost(task, other) < cost(task, student) and asked
    assert restructured(student, around(task), lambda policy: False) == []


def test_what_is_not_safe_is_repaired_at_the_least_cost(seen: Choices) -> None:
    """By never idling, or by another structure; where nothing is safe there is no repair."""
    task = task_of(seen)
    student = replace(student_of(RuleList((Rule((), -1.0),), NAMES)), none=True)
    tried: list[ScoredPolicy] = []

    def is_safe(policy: ScoredPolicy) -> bool:
        tried.append(policy)
        return not policy.none

    found = repaired(student, around(task), is_safe)
    assert found is not None and not found.none and found.scorers == student.scorers
    costs = around(task).costs(tried, task.bench.train[:1]).mean(axis=1)
    assert (np.diff(costs) >= 0).all(), "the cheapest is asked first"
    assert repaired(student, around(task), lambda policy: False) is None


def columns_of(seen: Choices) -> dict[str, Columns]:
    return {name: Columns(seen.features) for name in ("stage", "limit")}


def test_a_repair_may_take_two_changes(seen: Choices) -> None:
    """Never to idle and a second rule, which no single change comes to; where nothing helps there is none."""
    task, columns = task_of(seen), columns_of(seen)
    student = replace(student_of(RuleList((Rule((), -1.0),), NAMES)), none=True)

    def excess(policy: ScoredPolicy) -> float:
        return policy.none + 0.5 * (len(policy.scorers["stage"].rules) < 2)

    assert repaired(student, around(task), lambda policy: excess(policy) == 0) is None
    lines: list[str] = []
    found = descended(student, around(task), probes_by(excess), columns, 16, lines.append)
    assert found is not None and not found.none and len(found.scorers["stage"].rules) == 2
    told = [line.partition(", one of ")[0] for line in lines]
    assert told == [f"repair by several changes: number {number} of 16 at most" for number in (1, 2)]
    assert descended(student, around(task), probes_by(lambda policy: 1.0), columns, 16) is None
    assert descended(student, around(task), probes_by(excess), columns, 1) is None, "as many changes as are allowed"


def test_a_repair_goes_nowhere_twice(seen: Choices, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the best of three that all stray every change is for the worse: it goes on to what it has not been at."""
    line = [
        student_of(RuleList((Rule((Condition(WORK, True, bound),), 2.0), Rule((), 1.0)), NAMES))
        for bound in (1.0, 3.0, 5.0, 9.0)
    ]
    excess = {repr(each.scorers): far for each, far in zip(line, (0.5, 0.4, 0.6, 0.0), strict=True)}

    def beside(policy: ScoredPolicy, *_: Any) -> list[ScoredPolicy]:
        place = line.index(policy)
        return [line[other] for other in (place - 1, place + 1) if 0 <= other < len(line)]

    monkeypatch.setattr(repairing, "repairs", beside)
    monkeypatch.setattr(repairing, "shifted", lambda *_: [])
    near, probes = around(task_of(seen)), probes_by(lambda policy: excess[repr(policy.scorers)])
    assert descended(line[0], near, probes, {}, 3) is line[3]
    assert descended(line[0], near, probes, {}, 2) is None
    excess[repr(line[3].scorers)] = 1.0
    assert descended(line[0], near, probes, {}, 99) is None, "there is nowhere else"


def test_of_equal_changes_each_is_asked_until_one_is_safe(seen: Choices) -> None:
    """What told nobody apart may let the cheapest pass that strays elsewhere: the next one is asked, and taken."""
    task = task_of(seen)
    asked: list[ScoredPolicy] = []

    def verdict(policy: ScoredPolicy) -> SimpleNamespace:
        asked.append(policy)
        return SimpleNamespace(strays=len(asked) < 3)

    probes: Any = SimpleNamespace(nearest=lambda policies, most: list(range(len(policies)))[:most], verdict=verdict)
    found = descended(student_of(RuleList((Rule((), 1.0),), NAMES)), around(task), probes, columns_of(seen), 16)
    assert found is asked[2] and len(asked) == len(set(map(id, asked))) == 3


def test_several_changes_follow_where_no_single_one_passes_the_whole_check(
    seen: Choices, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short check lets a single change pass each time, the whole one none of them."""
    task = task_of(seen)
    student, once, safe = (student_of(RuleList((Rule((), value),), NAMES)) for value in (1.0, 2.0, 3.0))
    monkeypatch.setattr(refinement_steps, "repaired", lambda *_: once)
    monkeypatch.setattr(refinement_steps, "descended", lambda *_: safe)
    probes: Any = SimpleNamespace(verdict=lambda policy: SimpleNamespace(strays=policy is not safe), known=0)
    runs: Any = SimpleNamespace(cost=None)
    bench = task.bench

    def repairs(settings: RefineParams) -> list[ScoredPolicy]:
        return Steps(task, settings, runs, bench.train, bench.validation, probes)._repairs(student)

    assert repairs(RefineParams()) == [safe]
    asked = list[int]()
    monkeypatch.setattr(refinement_steps, "repaired", lambda *_: asked.append(0))
    monkeypatch.setattr(refinement_steps, "descended", lambda *told: asked.append(told[4]))
    assert repairs(RefineParams(repairs=3)) == [] and asked == [0, 3]
    assert repairs(RefineParams(repairs=0)) == [] and asked == [0, 3], "none is tried"


def test_a_repair_may_move_a_number(seen: Choices, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each threshold and level, up and down, one at a time; where a number alone cures, that is the repair."""
    rules = RuleList((Rule((Condition(WORK, True, 3.0),), 2.0), Rule((), 1.0)), NAMES)
    student, columns = student_of(rules), columns_of(seen)
    near = around(task_of(seen))
    found = shifted(student, columns, near)
    moved = {each.scorers["stage"].rules[0].conditions[0].threshold for each in found}
    assert moved == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert all(str(each.scorers) != str(student.scorers) for each in found)

    def is_cured(policy: ScoredPolicy) -> bool:
        first = policy.scorers["stage"].rules[0].conditions
        return len(first) == 1 and first[0][:2] == (WORK, True) and first[0].threshold == 5

    cured = descended(student, near, probes_by(lambda policy: float(not is_cured(policy))), columns, 16)
    assert cured is not None and is_cured(cured)
    monkeypatch.setattr(repairing, "SHIFTED", 2)
    few = [str(each.scorers) for each in shifted(student, columns, near)]
    of_all = [str(each.scorers) for each in screened(found, near.costs, near.short, 2)]
    assert len(few) == 2 and few == of_all, "of very many the cheapest"


@given(
    st.lists(st.lists(st.sampled_from([1.0, 1.5, 2.4, 3.0, np.inf]), min_size=4, max_size=4), min_size=1, max_size=9),
    st.integers(1, 9),
)
def test_the_nearest_are_the_least_beyond_the_bounds_on_what_told(tables: list[list[float]], most: int) -> None:
    """As summed over the four episodes that told, first of their parts or not; what told nobody counts for nothing."""
    told = (0, 5, 20, 39)
    probes = probes_of_forty()
    costs = [dict(zip(told, each, strict=True)) for each in tables]
    policies = [costly({**each, 38: 9.0}) for each in costs]
    assert probes.nearest(policies, most) == list(range(len(policies)))[:most], "nothing told yet"
    for place in told:
        assert probes.verdict(straying(place)).strays
    beyond = [sum(max(0.0, cost / safety.NEAR - 1) for cost in each.values()) for each in costs]
    assert probes.nearest(policies, most) == [place for place, far in enumerate(beyond) if far == min(beyond)][:most]


def test_who_is_beyond_more_already_than_another_in_all_runs_no_further() -> None:
    """Where the first strays most is asked first: of two that told, the third policy runs on that one alone."""
    probes = probes_of_forty()
    for place in (5, 20):
        assert probes.verdict(straying(place)).strays
    asked: list[int] = []
    policies = [costly({5: 1.6, 20: 3.0}), costly({5: 1.6, 20: 1.7}), costly({5: 1.0, 20: 3.0}, asked)]
    assert probes.nearest(policies, 2) == [1] and asked == [20]


def test_of_equals_no_more_run_than_are_asked_for() -> None:
    """Of nine policies that are safe on all that told, the first two run on both episodes, others on none."""
    probes = probes_of_forty()
    for place in (5, 20):
        assert probes.verdict(straying(place)).strays
    asked: list[list[int]] = [[] for _ in range(9)]
    assert probes.nearest([costly({}, each) for each in asked], 2) == [0, 1]
    assert [sorted(set(each)) for each in asked] == [[5, 20], [5, 20], *[[]] * 7]


def test_a_repair_may_put_what_is_rare_first(seen: Choices) -> None:
    """Few candidates have parked executors; a list that has all its rules gives one up, but never the last."""
    features = seen.features.copy()
    parked, ready = NAMES.index("job_parked"), NAMES.index("stage_is_ready")
    features[:20, parked], features[::2, ready] = 3.0, 1.0
    rules = RuleList((Rule((Condition(WORK, True, 2.0),), 1.0), Rule((), -1.0)), NAMES)
    heads = [
        [each.text(NAMES) for each in found.rules[0].conditions] for found in headed(rules, features, 3, none=True)
    ]
    assert heads == [["job_parked >= 3"], ["stage_is_ready >= 1", "job_parked >= 3"]]
    for found in headed(rules, features, 3, none=True):
        assert [rule.value for rule in found.rules] == [2.0, 1.0, -1.0]
    full = headed(rules, features, 2, none=True)
    assert [len(found.rules) for found in full] == [2, 2] and all(found.rules[-1].conditions == () for found in full)
    assert all(found.rules[0].value > 0 for found in full)
    assert headed(rules, seen.features, 3, none=True) == []


def test_a_restart_chooses_among_what_is_safe(seen: Choices) -> None:
    task = task_of(seen)
    student = student_of(RuleList((Rule((Condition(WORK, True, 0.5),), 1.0), Rule((), 0.0)), NAMES))
    program = Refinement(student, {name: Columns(seen.features) for name in ("stage", "limit")})
    with trials(task.bench.instance, task.bench.measure) as runs:
        reference = runs.cost([student], task.bench.train)[0]
        settings = RefineParams(evaluations=20)

        def run(is_safe: Any) -> Restart:
            episodes = task.bench.train, task.bench.validation
            fill = lambda program, values: program.filled(values)  # noqa: E731
            restart = Restart(Search("x", fill, settings, runs, *episodes, reference, 1, is_safe=is_safe), 0)
            restart.run(program)
            return restart

        free = run(lambda policy: True)
        assert run(lambda policy: False).policy is None
        other = run(lambda policy: policy.scorers != free.policy.scorers)
        assert other.policy is not None and other.validation >= free.validation


def test_straying_is_told_by_single_episodes() -> None:
    baseline = np.array([1.0, 2.0, 0.0, -2.0])
    costs = [[1.4, 1.4, 9.0, 9.0], [0.1, 3.2, 0.0, 0.0], [1.0, np.inf, 0.0, 0.0], [1.0, 1.0, np.inf, 0.0]]
    assert [safety.worst_ratio(np.array(own), baseline) for own in costs] == [1.4, 1.6, np.inf, np.inf]
    assert safety.worst_ratio(np.ones(2), np.zeros(2)) == 0.0


def test_refinement_is_the_same_on_any_number_of_threads(seen: Choices) -> None:
    task = task_of(seen)
    student = student_of(RuleList((Rule((Condition(WORK, True, 0.5),), 1.0), Rule((), 0.0)), NAMES))
    settings = RefineParams(rounds=2, evaluations=30)
    one, two = (refine(task, student, settings, threads) for threads in (1, 2))
    assert one.costs == two.costs
    assert one.policy.scorers == two.policy.scorers


def test_no_rounds_leave_the_student_alone(seen: Choices) -> None:
    student = student_of(MOST_WORK)
    found = refine(task_of(seen), student, RefineParams(rounds=0))
    assert found.policy is student and len(found.costs) == 1 and found.evaluations == 0


def test_a_level_that_is_given_is_kept(seen: Choices) -> None:
    """Equal shares are what that kind is called by; another kind may get caps or a tree in their place."""
    equal = LeastTerm(({"times": 0.5},), up=True)
    student = replace(student_of(LEAST_WORK), scorers={"stage": LEAST_WORK, "limit": equal})
    others = {}
    for kind, budget in (("pruned_tree", PrunedTreeParams()), ("fair_limit", FairLimitParams())):
        task = replace(task_of(seen), name=kind, settings=budget)
        with trials(task.bench.instance, task.bench.measure) as runs:
            steps = Steps(task, RefineParams(rounds=2), runs, task.bench.train, task.bench.validation, None)
            others[kind] = [*steps._with_other_levels(student), *options_of(student, steps._around).get("limit", [])]
    assert others["pruned_tree"] and not others["fair_limit"]


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_trees_that_are_held_go_one_way_whatever_their_leaves(seed: int) -> None:
    generator = np.random.default_rng(seed)
    trees = [random_tree(generator, 3) for _ in range(3)]
    directions = generator.choice([-1, 0, 1], COLUMNS).tolist()
    names = tuple(f"f{column}" for column in range(COLUMNS))
    rows = np.zeros((1, COLUMNS), np.float32)
    part = part_of(TreeSum(tuple(trees), names), Columns(rows, directions), level=False)
    filled = part.filled(generator.normal(size=len(part.numbers)).tolist())
    assert isinstance(filled, TreeSum)
    box = Box(np.zeros(COLUMNS), np.full(COLUMNS, 3.0), np.zeros(COLUMNS, bool), np.ones(COLUMNS))
    for tree in filled.trees:
        for column, direction in enumerate(directions):
            alone = TreeSum((tree,), names)
            assert direction == 0 or monotone(alone, column, direction, box, names).holds
    again = part_of(filled, Columns(rows, directions), level=False)
    assert again.filled([number.start for number in again.numbers]) == filled, "what goes the right way stays"


def test_refined_trees_keep_the_directions_that_they_were_held_to(seen: Choices) -> None:
    """More work left first would be better here, if it were allowed."""
    tree = {"feature": [WORK, -1, -1], "threshold": [3.0, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0]}
    wrong = student_of(TreeSum(({**tree, "value": [0.0, 0.5, 0.5]},), NAMES))
    assert FEATURES[WORK].monotone == -1
    found = {}
    for held in (False, True):
        task = replace(task_of(seen), name="boosted_trees", settings=BoostedTreesParams(monotone=held))
        with trials(task.bench.instance, task.bench.measure) as runs:
            steps = Steps(task, RefineParams(rounds=1), runs, task.bench.train, task.bench.validation, None)
            program = Refinement(wrong, steps._columns)
        values = np.array([0.1, 0.9] + [1.0] * (len(program.numbers) - 2))
        found[held] = program.filled(values).scorers["stage"].trees[0]["value"]
    assert found[False][1:] == [0.1, 0.9] and found[True][1:] == [0.5, 0.5]


def test_thresholds_caps_and_leaves_are_searched_for_and_put_back() -> None:
    """Of a sum of trees the leaves alone. With the numbers as they start the student is the same."""
    tree = {"feature": [WORK, -1, -1], "threshold": [3.0, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0]}
    tree["value"] = [0.0, 0.25, -0.5]
    rules = RuleList((Rule((Condition(AGE, True, 4.0), Condition(WORK, False, 2.5)), 1.0), Rule((), 0.5)), NAMES)
    own = Step((Condition(RANK, False, 1.0),), below=({"times": 2.5, "job_share_20": 1.0},))
    caps = StepList((own, Step((), below=({"times": 0.1},))), NAMES)
    columns = dict.fromkeys(("stage", "limit"), Columns(np.arange(2 * len(NAMES)).reshape(2, -1) + 0.5))
    for rank, level, names in (
        (
            rules,
            caps,
            ["rule 1: job_age_s", "rule 1: job_work_left_s", "step 1: stage_rank", "step 1: times", "step 2: times"],
        ),
        (TreeSum((tree,), NAMES), rules, ["tree 0: leaf 1", "tree 0: leaf 2", "rule 1: job_age_s"]),
    ):
        student = ScoredPolicy("student", PROBLEM, {"stage": rank, "limit": level})
        program = Refinement(student, columns)
        assert [number.name for number in program.numbers][: len(names)] == names
        assert program.filled(program.start(np.random.default_rng(0), None)) == student
        assert all(number.low <= number.start <= number.high for number in program.numbers)
        moved = program.filled(np.array([number.start + number.step / np.pi for number in program.numbers]))
        assert moved.scorers["stage"] != rank and moved.scorers["limit"] != level
        for scorer in moved.scorers.values():
            assert most_digits(scorer) == (3 if isinstance(scorer, TreeSum) else 2)


def most_digits(scorer: Any) -> int:
    """The digits that count of what was searched for: thresholds and coefficients of caps, or leaves."""
    if isinstance(scorer, TreeSum):
        found = [value for tree in scorer.trees for value in tree["value"]]
    elif isinstance(scorer, StepList):
        found = [term["times"] for step in scorer.steps for term in step.below]
        found += [condition.threshold for step in scorer.steps for condition in step.conditions]
    else:
        found = [condition.threshold for rule in scorer.rules for condition in rule.conditions]
    return max(len(f"{value:.15g}".replace(".", "").strip("-0")) for value in found)


def test_structures_are_lists_that_end_and_keep_to_their_length(seen: Choices) -> None:
    rules = RuleList((Rule((Condition(AGE, True, 1.0),), 1.0), Rule((), -1.0)), NAMES, ties=("stage_rank",))
    for none in (False, True):
        found = structures(rules, seen.features, 3, none)
        assert any(len(option.rules) == 3 for option in found)
        for option in found:
            assert option.ties == rules.ties and len(option.rules) <= 3
            assert not option.rules[-1].conditions and all(rule.conditions for rule in option.rules[:-1])
            values = [rule.value for rule in option.rules]
            assert values == sorted(values, reverse=True)
            rows = seen.features[:50]
            packed = scores_of(option.pack(NAMES), rows)
            assert np.isfinite(packed).all() and NONE not in packed


def test_none_may_come_between_the_parts_of_a_rule(seen: Choices) -> None:
    """What meets this, or nothing now: one change from a rule for all, and from the rules on either side of none."""
    everything, young = Rule((), 1.0), Rule((Condition(AGE, True, 3.0),), 1.0)

    def longer(*rules: Rule, none: bool = True) -> set[tuple[tuple[float, int], ...]]:
        """Value and number of conditions of each rule, of the lists that are a rule longer."""
        options = structures(RuleList(rules, NAMES), seen.features, len(rules) + 1, none)
        found = {tuple((rule.value, len(rule.conditions)) for rule in option.rules) for option in options}
        return {each for each in found if len(each) > len(rules)}

    assert longer(everything) == {((2.0, 1), (1.0, 0)), ((1.0, 1), (-1.0, 0))}
    assert longer(everything, none=False) == {((1.0, 1), (0.0, 0))}
    found = longer(young, everything._replace(value=-1.0))
    assert ((1.0, 2), (-1.0, 1), (-2.0, 0)) in found  # the last above none falls, but for what meets more
    assert ((2.0, 1), (1.0, 1), (-1.0, 0)) in found  # the first below none rises where it meets more
    assert not any(each[-1][0] > 0 or each[0][0] < 0 for each in found)


def test_structures_keep_to_their_budget(seen: Choices) -> None:
    """Of features and of conditions a rule: what is next to a list, and its repairs; what is within stays."""
    varied = seen.features.copy()
    varied[:, [AGE, RANK]] = np.arange(2 * len(varied)).reshape(-1, 2) % 7
    varied[:9, NAMES.index("job_parked")] = 1.0
    narrow = Rule((Condition(AGE, True, 3.0), Condition(WORK, True, 9.0)), 1.0)
    student = student_of(RuleList((narrow, Rule((), 0.0)), NAMES))
    free = around(task_of(seen))._replace(max_rules=3, features=varied)
    options = options_of(student, free)["stage"]
    for budget, worst in ((Budget(features=2), "features"), (Budget(conditions=2), "conditions")):
        kept = options_of(student, free._replace(budget=budget))["stage"]
        beyond = [each for each in options if each not in kept]
        assert beyond and all(asked_by(each)[worst] == 3 for each in beyond)
        assert kept and all(asked_by(each)[worst] <= 2 for each in kept)
    few = free._replace(budget=Budget(features=2))
    assert len(cures(student, few)) < len(cures(student, free))


def asked_by(student: ScoredPolicy) -> dict[str, int]:
    """How many features the rules of a student ask for, and conditions the longest of them has."""
    rules = student.scorers["stage"].rules
    features = {condition.feature for rule in rules for condition in rule.conditions}
    return {"features": len(features), "conditions": max(len(rule.conditions) for rule in rules)}


def test_ties_change_by_one(seen: Choices) -> None:
    """Another feature or direction for one of them, one less, one more where there may be, the other order."""
    rules = RuleList((Rule((), 0.0),), NAMES, ties=("job_work_left_s", "stage_rank"))
    found = [option.ties for option in other_ties(rules, 2)]
    assert len(found) == len(set(found)) and rules.ties not in found
    assert {("stage_rank", "job_work_left_s"), ("job_work_left_s",), ("-job_work_left_s", "stage_rank")} <= set(found)
    assert all(len({tie.removeprefix("-") for tie in ties}) == len(ties) <= 2 for ties in found)
    assert any(len(option.ties) == 3 for option in other_ties(rules, 3))
    assert other_ties(rules, 0) == []
    task = task_of(seen)
    (best,) = restructured(student_of(MOST_WORK), around(task)._replace(max_ties=1))
    assert best.scorers["stage"] == LEAST_WORK, "the most work first is turned round"


def test_the_best_change_of_each_choice_is_taken_with_the_other(seen: Choices) -> None:
    """A change of the rules saves 1 of 10, one of the limit too, both save 2: one round takes both."""
    limit = StepList((Step((), below=({"times": 2.0, "job_share_40": 1.0},)),), NAMES)
    student = student_of(MOST_WORK)
    student = replace(student, scorers={**student.scorers, "limit": limit})
    ran: list[int] = []

    def costs(policies: Sequence[ScoredPolicy], episodes: Sequence[int]) -> np.ndarray:
        ran.append(len(policies) * len(episodes))
        saved = [
            sum(policy.scorers[name] != student.scorers[name] for name in ("stage", "limit")) for policy in policies
        ]
        return np.array([[10.0 - each for _ in episodes] for each in saved]).reshape(len(policies), len(episodes))

    episodes: Any = list(range(96))
    space = Around("stage", costs, episodes, episodes, seen.features, 4, 1, "limit", level_space(3, 4))
    (best,) = restructured(student, space)
    assert all(best.scorers[name] != student.scorers[name] for name in ("stage", "limit"))
    several = restructured(student, space, count=4)
    assert len(several) == 4 and several[0].scorers == best.scorers


def test_few_go_on_to_the_joined_episodes() -> None:
    options: Any = np.random.default_rng(1).permutation(1000).tolist()
    asked: list[Any] = []

    def costs(policies: Any, episodes: Any) -> np.ndarray:
        asked.append((len(policies), len(episodes)))
        return np.array([[float(policy)] * len(episodes) for policy in policies])

    single: Any = [0] * 768
    left = screened(options, costs, single)
    assert left == [option for option in options if option < SCREENED] and asked == [(1000, 2)]
    assert screened(options[:SCREENED], costs, single) == options[:SCREENED] and len(asked) == 1


def level_space(terms: int, leaves: int) -> LevelSpace:
    generator = np.random.default_rng(6)
    rows = generator.uniform(0.1, 0.5, size=(200, len(NAMES))).astype(np.float32)
    rows[:, NAMES.index("job_is_source")] = generator.integers(0, 2, 200)
    columns = Columns(rows)
    return LevelSpace(rows, NAMES, tuple(conditions_on(rows, columns)), columns, terms, leaves)


def test_caps_change_by_a_term_or_a_case() -> None:
    """All of them run in the loop and keep to the number of terms; none is the old one."""
    space = level_space(3, 4)
    source = Condition(NAMES.index("job_is_source"), False, 1.0)
    two = ({"times": 2.0, "job_share_40": 1.0}, {"times": 0.5, "stage_task_s": -1.0})
    caps = StepList((Step((source,), below=({"times": 2.0, "job_share_20": 1.0},)), Step((), below=two[:1])), NAMES)
    for scorer in (caps, StepList((Step((), below=two),), NAMES)):
        found = level_structures(scorer, space)
        assert len({str(option.to_json()) for option in found}) > 0.9 * len(found) > 100 and scorer not in found
        shapes = {(len(option.steps), sum(len(step.below) for step in option.steps)) for option in found}
        assert max(terms for _, terms in shapes) == 3
        assert {(1, 1), (2, 2)} & shapes and len(shapes) > 2
        for option in found[:: len(found) // 20]:
            assert not option.steps[-1].conditions
            assert np.isfinite(option.scores(space.features, NAMES)).all()
    every = [term for option in level_structures(StepList((Step((), below=two[:1]),), NAMES), space)
             for term in option.steps[0].below[1:]]  # fmt: skip
    assert {"job_age_s", "job_fair_load"} <= {name for term in every for name in term}


def test_levels_change_by_a_rule_or_into_caps() -> None:
    space = level_space(1, 2)
    rules = RuleList((Rule((), 0.5),), NAMES)
    found = level_structures(rules, space)
    lists = [option for option in found if isinstance(option, RuleList)]
    assert {len(option.rules) for option in lists} == {2}
    assert {option.rules[0].value for option in lists} == {0.35, 0.7}
    assert any(isinstance(option, StepList) for option in found)
    assert all(isinstance(option, RuleList) for option in level_structures(rules, replace(space, terms=0)))
    full = level_structures(lists[0], replace(space, terms=0))  # no room for a rule more
    assert {len(option.rules) for option in full} == {1, 2} and lists[0] not in full
    asked = {tuple(rule.conditions) for option in full for rule in option.rules[:-1]}
    assert {len(conditions) for conditions in asked} == {1, 2}  # another condition in place of its own, or beside it
    narrow = next(option for option in full if len(option.rules[0].conditions) == 2)
    shorter = [option.rules[0].conditions for option in level_structures(narrow, replace(space, terms=0))]
    assert {conditions for conditions in shorter if len(conditions) == 1} >= {
        narrow.rules[0].conditions[:1],
        narrow.rules[0].conditions[1:],
    }


def test_structures_of_several_shapes_get_their_numbers_first(seen: Choices) -> None:
    """Of three structures each has another shape; the refined student is no worse than with one."""
    task = task_of(seen)
    student = student_of(RuleList((Rule((), 0.0),), NAMES))
    found = restructured(student, around(task)._replace(max_ties=1), count=3)
    assert len({shape_of(policy) for policy in found}) == len(found) == 3
    one, three = (refine(task, student, RefineParams(rounds=3, evaluations=20, structures=count)) for count in (1, 3))
    assert cost(task, three.policy) <= 1.005 * cost(task, one.policy) < 0.9 * cost(task, student)
    assert three.costs[-1] < three.costs[0]


def test_structures_compete_for_the_budget(seen: Choices, monkeypatch: pytest.MonkeyPatch) -> None:
    """The better half of four goes on after an eighth of its budget, one of these after a quarter."""
    task = task_of(seen)
    half = Rule((Condition(WORK, True, 2.5),), 1.0)
    own = [replace(LEAST_WORK, ties=(tie,), rules=(half, Rule((), 0.0)))
           for tie in ("-job_work_left_s", "job_age_s", "job_work_left_s", "stage_rank")]  # fmt: skip
    shares: list[float] = []
    advance = Restart.advance
    monkeypatch.setattr(Restart, "advance", lambda self, share=1.0: (shares.append(share), advance(self, share))[1])
    settings = RefineParams(rounds=1, evaluations=60)
    with trials(task.bench.instance, task.bench.measure) as runs:
        steps = Steps(task, settings, runs, task.bench.train, task.bench.validation, None)
        found = steps._competed([student_of(each) for each in own], 0)
    assert shares == [0.125] * 4 + [0.25] * 2 + [1.0]
    assert found[0].scorers["stage"] == own[2] and len(found) == 2
    assert 60 <= steps.spent < 3 * 60


def test_where_no_structure_is_better_as_it_stands_the_nearest_get_their_numbers(
    seen: Choices, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Less than 0.5 s of work first" saves nothing until its threshold has moved."""
    task = task_of(seen)
    student = student_of(RuleList((Rule((), 0.0),), NAMES))
    idle = student_of(RuleList((Rule((Condition(WORK, True, 0.5),), 1.0), Rule((), 0.0)), NAMES))
    asked: list[int] = []

    def nearest(
        student: ScoredPolicy, around: Around, is_safe: Safe, count: int, tried: Collection[str]
    ) -> list[ScoredPolicy]:
        asked.append(count)
        return [] if count == 1 or len(asked) > 2 else [idle]

    monkeypatch.setattr(refinement_steps, "restructured", nearest)
    found = refine(task, student, RefineParams(rounds=4, evaluations=60))
    assert asked == [1, 3, 1, 3], "after the round that found something it is asked again, and ends"
    assert cost(task, found.policy) < 0.9 * cost(task, student)


def test_the_best_of_what_else_was_fitted_for_the_level_gets_its_numbers_too(
    seen: Choices, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The student's own, and the two that schedule best as fitted, of which some are of one shape."""
    task = task_of(seen)
    student = student_of(LEAST_WORK)
    one, two, three = (
        RuleList((*(Rule((Condition(AGE, True, float(at)),), 1.0) for at in range(count)), Rule((), 0.5)), NAMES)
        for count in (1, 2, 3)
    )
    monkeypatch.setattr(
        refinement_steps, "level_scorers", lambda task: [student.scorers["limit"], one, two, two, three]
    )
    worst = shape_of(replace(student, scorers={**student.scorers, "limit": one}))
    asked: list[ScoredPolicy] = []
    with trials(task.bench.instance, task.bench.measure) as runs:
        steps = Steps(task, RefineParams(rounds=1), runs, task.bench.train, task.bench.validation, None)
        cost_of = runs.cost
        monkeypatch.setattr(
            runs,
            "cost",
            lambda policies, episodes: (
                cost_of(policies, episodes) + np.array([[shape_of(each) == worst] for each in policies])
            ),
        )
        monkeypatch.setattr(steps, "_competed", lambda policies, number: asked.extend(policies) or [])
        assert steps.of(student) == [student]
    assert [policy.scorers["limit"] for policy in asked] == [student.scorers["limit"], two, three]


def test_what_changes_nothing_is_taken_out(seen: Choices) -> None:
    """A rule that no candidate gets to, a condition that always holds, a tie on a constant, a cap above another."""
    task = task_of(seen)
    least = Rule((Condition(WORK, True, 2.0), Condition(AGE, True, 1e9)), 2.0)
    never = Rule((Condition(WORK, True, 1.5),), 1.0)
    rules = RuleList((least, never, Rule((), 0.0)), NAMES, ties=("job_work_left_s", "stage_rank"))
    caps = StepList((Step((), below=({"times": 1.0}, {"times": 3.0, "job_fair_load": 0.0})),), NAMES)
    student = ScoredPolicy("rule_list", PROBLEM, {"stage": rules, "limit": caps})
    found = tidied(student, around(task).costs, task.bench.train)
    assert found.scorers["stage"] == replace(LEAST_WORK, rules=(Rule((), 0.0),))
    assert [len(step.below) for step in found.scorers["limit"].steps] == [1]
    assert cost(task, found) == cost(task, student)
    mixed = student_of(RuleList((Rule((Condition(WORK, True, 2.0),), 1.0), Rule((), 0.0)), NAMES))
    assert tidied(mixed, around(task).costs, task.bench.train) is mixed


def test_a_shape_has_no_numbers_but_the_names_of_features() -> None:
    narrow, wide = (Rule((Condition(NAMES.index("job_share_20"), True, value),), 1.0) for value in (0.1, 2e-5))
    policies = [student_of(RuleList((rule, Rule((), 0.0)), NAMES)) for rule in (narrow, wide)]
    assert shape_of(policies[0]) == shape_of(policies[1])
    assert "job_share_20 < #" in shape_of(policies[0])


def test_whole_numbers_stay_whole_and_flags_stay() -> None:
    features = np.zeros((4, len(NAMES)), np.float32)
    features[:, RANK], features[:, 0] = np.arange(4), [0, 1, 0, 1]
    rules = RuleList((Rule((Condition(RANK, True, 2.0), Condition(0, False, 1.0)), 1.0), Rule((), 0.0)), NAMES)
    program = Refinement(student_of(rules), dict.fromkeys(("stage", "limit"), Columns(features)))
    assert [number.name for number in program.numbers] == ["rule 1: stage_rank", "rule 1: then"]
    assert program.numbers[0].grid == 1.0
    moved = program.filled(np.array([3.0, 0.5])).scorers["stage"]
    assert isinstance(moved, RuleList)
    assert [c.text(NAMES) for c in moved.rules[0].conditions] == ["stage_rank < 3", "job_is_source >= 1"]


def test_what_tells_the_candidate_that_changes_nothing_alone_is_no_tie() -> None:
    """Nine of ten decisions keep what was; among the others the least work goes first, and that is the tie."""
    generator = np.random.default_rng(4)
    features = rows_of(generator, 4_000)
    source, move = NAMES.index("job_is_source"), NAMES.index("job_move_s")
    features[:, source] = np.tile([0, 0, 0, 1], 1_000)
    features[:, move] = 2 * (1 - features[:, source])
    kept = np.repeat(generator.random(1_000) < 0.9, 4)
    best = np.where(kept & (features[:, source] == 1), -1.0, features[:, WORK] + 10 * features[:, source])
    assert find_ties(choices_of(features, 4, best), STAGE, 1) == ("job_work_left_s",)
    orders = dict(zip(NAMES, ordering(choices_of(features, 4, best), STAGE), strict=True))
    assert not orders["job_is_source"] and not orders["job_move_s"] and orders["job_work_left_s"]


# Longer streams ------------------------------------------------------------------------------------------------------


def test_streams_are_joined_and_batches_are_not() -> None:
    """Of three streams two become one: the second begins a mean gap after the first one's last arrival."""
    instance = Queue()
    streams = [toy_workload([0, 100, 400], 1, profile=[0, 1, 2], moving_delay_ms=0, seed=seed) for seed in (7, 8, 9)]
    both, alone = instance.joined(streams, 2)
    assert both.arrival_ms.tolist() == [0, 100, 400, 600, 700, 1000]
    assert both.profile.tolist() == [0, 1, 2, 0, 1, 2] and both.seed == 7
    assert alone.arrival_ms.tolist() == [0, 100, 400] and alone.seed == 9
    batches = instance.split("train", 3)
    assert instance.joined(batches, 2) == batches
    assert [len(outcome.jct_s) for outcome in student_of(LEAST_WORK).run(instance, [both, alone])] == [6, 3]


def test_a_long_stream_is_parted_and_others_are_not() -> None:
    """170 jobs are four parts, each from its own first arrival on, that hold every job once and in its order."""
    instance = Queue()
    long = toy_workload(list(range(0, 1700, 10)), 1, profile=[i % 3 for i in range(170)], moving_delay_ms=0, seed=7)
    short = toy_workload([0, 100, 400], 1, profile=[0, 1, 2], moving_delay_ms=0, seed=8)
    batch = toy_workload([0] * 170, 1, profile=[0] * 170, moving_delay_ms=0, seed=9)
    *parts, last, other = instance.parted([long, short, batch])
    assert (last, other) == (short, batch)
    assert [len(part.profile) for part in parts] == [43, 43, 42, 42]
    assert np.concatenate([part.profile for part in parts]).tolist() == long.profile.tolist()
    assert all(part.arrival_ms.tolist() == list(range(0, 10 * len(part.profile), 10)) for part in parts)


# Strategies that compete ---------------------------------------------------------------------------------------------

JOBS = NAMES.index("jobs_in_system")


def small_first(crowded: bool) -> ScoredPolicy:
    """Small jobs first where five jobs or more wait, or where fewer do; else the large ones."""
    wrong = Condition(JOBS, crowded, 5.0)
    rules = [
        Rule((wrong, Condition(WORK, False, 5.0)), 4.0),
        Rule((wrong, Condition(WORK, False, 2.0)), 3.0),
        Rule((wrong,), 0.0),
        Rule((Condition(WORK, True, 2.0),), 2.0),
        Rule((Condition(WORK, True, 5.0),), 1.0),
        Rule((), 0.0),
    ]
    return student_of(RuleList(tuple(rules), NAMES))


def switching(students: Sequence[ScoredPolicy], thresholds: int = 7) -> Task:
    generator = np.random.default_rng(0)
    features = np.zeros((300, len(NAMES)), np.float32)
    features[:, WORK] = generator.choice([1.0, 3.0, 9.0], 300)
    features[:, JOBS] = np.repeat(generator.integers(1, 9, 100), 3)
    task = task_of(choices_of(features, 3, features[:, WORK]))
    others = {str(place): student for place, student in enumerate(students)}
    return replace(task, name="switch", settings=SwitchParams(thresholds=thresholds), others=others)


def test_a_switch_takes_each_strategy_where_it_is_the_better_one() -> None:
    task = switching([small_first(crowded=True), small_first(crowded=False)])
    assert switch.compete(task).pays
    found = switch.learn(task)
    scorer = found.scorers["stage"]
    assert isinstance(scorer, Switch) and isinstance(found.scorers["limit"], Switch)
    assert scorer.cases[0].condition == Condition(JOBS, True, 5.0)
    assert cost(task, found) == cost(task, student_of(LEAST_WORK))
    text = render(found)
    assert "if jobs_in_system < 5 jobs:" in text and "otherwise:" in text


def test_who_never_idles_competes_with_who_may() -> None:
    """As after a repair, which may take "none of these" from a student and leave it to another."""
    never, other = small_first(crowded=True), small_first(crowded=False)
    rules = other.scorers["stage"].rules
    idle = RuleList(tuple(rule._replace(value=rule.value + 1) for rule in rules), NAMES)
    task = switching([never, replace(other, scorers={**other.scorers, "stage": idle}, none=True)])
    found = switch.compete(task)
    assert found.pays and found.switch.none and all(student.none for student in found.alone)
    assert cost(task, found.switch) == cost(task, student_of(LEAST_WORK))


@pytest.mark.parametrize("kind", ["rules", "ties", "trees"])
def test_what_never_idles_decides_the_same_above_none(kind: str) -> None:
    rows = np.random.default_rng(0).integers(0, 7, (10_000, len(NAMES))).astype(np.float32)
    rules = (Rule((Condition(WORK, True, 2.0),), 1.0), Rule((Condition(RANK, False, 4.0),), -2.0), Rule((), -3.0))
    tree = {"feature": [WORK, -1, -1], "threshold": [3.0, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0]}
    trees = [{**tree, "value": [9.0, 0.25, -0.5]}, {**tree, "feature": [RANK, -1, -1], "value": [-9.0, -2.0, 0.125]}]
    ties = (NAMES[AGE], f"-{NAMES[RANK]}") if kind == "ties" else ()
    scorer = TreeSum(tuple(trees), NAMES) if kind == "trees" else RuleList(rules, NAMES, ties=ties)
    student = student_of(scorer)
    raised = switch._with_none(student, switching([student, student]))
    assert raised.none and not student.none and raised.scorers["limit"] is student.scorers["limit"]
    before, after = (each.scorers["stage"].scores(rows, NAMES) for each in (student, raised))
    assert (after > 0).all() and (before <= 0).any()
    assert (np.argsort(after, kind="stable") == np.argsort(before, kind="stable")).all()


def small_first_between(low: float, high: float) -> ScoredPolicy:
    """Small jobs first where so many wait, else the large ones."""
    wrong = [
        Rule((outside, *larger), value)
        for outside in (Condition(JOBS, True, low), Condition(JOBS, False, high))
        for larger, value in (((Condition(WORK, False, 5.0),), 4.0), ((Condition(WORK, False, 2.0),), 3.0), ((), 0.0))
    ]
    right = [Rule((Condition(WORK, True, 2.0),), 2.0), Rule((Condition(WORK, True, 5.0),), 1.0), Rule((), 0.0)]
    return student_of(RuleList((*wrong, *right), NAMES))


def test_a_further_case_is_taken_where_it_pays() -> None:
    """Each of three serves small jobs first at a load of its own: together they do at any."""
    task = switching([small_first_between(1, 5), small_first_between(5, 7), small_first_between(7, 99)])
    found = {}
    for cases in (2, 3, 5):
        own = replace(task, settings=SwitchParams(thresholds=7, cases=cases))
        found[cases] = switch.learn(own)
        scorer = found[cases].scorers["stage"]
        assert isinstance(scorer, Switch) and len(scorer.cases) == min(cases, 3)
    assert cost(task, found[3]) == cost(task, student_of(LEAST_WORK)) < cost(task, found[2])
    assert found[5].scorers == found[3].scorers, "no fourth case pays"


def test_where_no_switch_pays_the_better_student_stands_alone() -> None:
    task = switching([student_of(RuleList((Rule((), 0.0),), NAMES)), student_of(LEAST_WORK)])
    assert not switch.compete(task).pays
    assert switch.learn(task).scorers["stage"] == LEAST_WORK


def test_where_the_best_switch_is_not_safe_another_is_taken_or_the_better_student(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two that are safe need not be so in turns."""
    task = switching([small_first(crowded=True), small_first(crowded=False)])
    found = switch.compete(task)
    assert len(found.ranked) > 3, "several switches pay"
    for safe in (0, 1, len(found.ranked) - 2, len(found.ranked) - 1, None):
        verdicts = iter(Verdict(1.1 if place == safe else 1.3, 8) for place in range(len(found.ranked)))
        check = SimpleNamespace(verdict=lambda policy, verdicts=verdicts: next(verdicts))
        monkeypatch.setattr(switch, "probes_of", lambda task, student, runs, check=check: check)
        assert switch.learn(task).scorers == found.ranked[safe or 0].scorers
    kinds = [type(policy.scorers["stage"]) for policy in found.ranked]
    assert kinds == [Switch] * (len(kinds) - 2) + [RuleList] * 2


def test_where_there_is_nothing_to_switch_by_the_better_student_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What all candidates share has one value in all decisions, as in a log of few."""
    monkeypatch.setattr(switch, "_conditions", lambda task: iter(()))
    task = switching([student_of(RuleList((Rule((), 0.0),), NAMES)), student_of(LEAST_WORK)])
    assert switch.learn(task).scorers["stage"] == LEAST_WORK


def test_levels_are_rounded_in_one_way() -> None:
    caps = StepList((Step((), value=1.0),), NAMES)
    first, second = small_first(crowded=True), small_first(crowded=False)
    task = switching([first, replace(second, scorers={**second.scorers, "limit": caps})])
    found = switch.learn(task)
    assert found.rounds_up
    rows = np.zeros((2, len(NAMES)), np.float32)
    rows[:, JOBS] = [1, 8]
    assert np.ceil(found.level_share(rows)).tolist() == [1, 1]


def test_what_cannot_compete_is_told() -> None:
    with pytest.raises(ClearschedError, match=r"^switch: two students or more expected, not 1: give --student twice$"):
        switch.learn(switching([student_of(LEAST_WORK)]))
    idle = replace(student_of(LEAST_WORK), none=True)
    helping = replace(idle, help_first=True)
    with pytest.raises(ClearschedError, match=r"^switch: the students do not all mean the same by leave the executors"):
        switch.learn(switching([idle, helping]))
    steps = replace(idle, scorers={**idle.scorers, "stage": StepList((Step((), value=1.0),), NAMES)}, none=False)
    with pytest.raises(ClearschedError, match=r"^switch: a student that never .* a StepList cannot be switched so"):
        switch.learn(switching([idle, steps]))


def test_what_cannot_be_switched_is_told_and_not_counted_as_dear() -> None:
    capped = {"stage": LEAST_WORK, "limit": LeastTerm(({"times": 1.0},), up=True)}
    with pytest.raises(ClearschedError, match="a formula or network can't"):
        switch.learn(switching([replace(student_of(LEAST_WORK), scorers=capped)] * 2))


def test_a_switch_within_a_case_is_checked_too(tmp_path: Path) -> None:
    shared, between = Condition(JOBS, True, 5.0), Condition(WORK, True, 5.0)
    inner = Switch((Case(between, LEAST_WORK), Case(None, LEAST_WORK)), NAMES)
    outer = Switch((Case(shared, inner), Case(None, LEAST_WORK)), NAMES)
    replace(student_of(LEAST_WORK), scorers={"stage": outer, "limit": LEAST_WORK}).write(tmp_path / "bad.json")
    with pytest.raises(ClearschedError, match=r"stage\.switch\[0\]\.use: switch: job_work_left_s differs between"):
        load_policy(tmp_path / "bad.json")


def test_a_switch_between_candidates_is_refused(tmp_path: Path) -> None:
    between = Switch((Case(Condition(WORK, True, 5.0), LEAST_WORK), Case(None, LEAST_WORK)), NAMES)
    replace(student_of(LEAST_WORK), scorers={"stage": between, "limit": LEAST_WORK}).write(tmp_path / "bad.json")
    with pytest.raises(ClearschedError, match="switch: job_work_left_s differs between the candidates of a decision"):
        load_policy(tmp_path / "bad.json")
