"""Statistics against known answers, the comparison's wording, fidelity on hand-made decisions, executor lanes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from clearsched import schemas
from clearsched.compiled.feature import Feature
from clearsched.decisions.choices import Choices
from clearsched.errors import ClearschedError
from clearsched.evaluation import comparison, fidelity, policies, rollouts, seeds, show, text, verdicts
from clearsched.evaluation.bounds import bound_table, bounds_of
from clearsched.evaluation.crossed import crossed_difference, crossed_interval, crossed_ratio
from clearsched.evaluation.evaluate import metrics, with_costs
from clearsched.evaluation.fidelity_text import fidelity_lines
from clearsched.evaluation.seed_pairs import pair_lines, pair_table
from clearsched.evaluation.settings import EvaluationParams
from clearsched.evaluation.statistics import (
    Interval,
    bootstrap_mean,
    bootstrap_ratio,
    generator,
    paired_difference,
    standard_error,
)
from clearsched.evaluation.students import control_lines, student_lines, student_table
from clearsched.evaluation.worst import unsafe_lines
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.recording.lanes import assign_executors
from clearsched.problems.dag_jobs.simulator.profiles import FIRST_WAVE, FRESH, REST_WAVE
from clearsched.problems.declarations import Choice, Heuristic, Measure
from clearsched.problems.episodes import NONE
from clearsched.problems.problem import Problem
from clearsched.registry import Look, Registry
from clearsched.schemas import BOUNDS, COMPARISON, FIDELITY, SEED_PAIRS, SEEDS, conform
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.students.kinds import STUDENTS

BOOTSTRAP = comparison.Bootstrap(seed=1, confidence=0.95, resamples=999)
DAG_JOBS = find_problem("dag_jobs")


def _heuristic(name: str, label: str) -> Heuristic:
    return Heuristic(name, label, Look("#000000", "o"), "nowhere:at_all", (), (), "a rule", "a paper")


GAIN = Measure("gain", "", "money made", "gain", lower_is_better=False)
LATE = Measure("late_share", "", "share of jobs that are late", "late")
POWER = Measure("power_kw", "kW", "power drawn", "power", lower_is_better=False)
SHOP: Any = SimpleNamespace(
    name="shop",
    measures=(GAIN, LATE, POWER, Measure("hidden", "", "told by nobody", "hidden", compared=False)),
    choices=(Choice("order", "rank", "Which order?", (Feature("size", "", "size"),), none="rest"),),
    heuristics=Registry("heuristic", (_heuristic("first", "first come"), _heuristic("large", "large first"))),
    families=Registry("family", ()),
    yardsticks=("first",),
    baseline="first",
)
"""A problem of other measures: more gain is better, and nothing of DAG jobs is there."""


class Result(NamedTuple):
    """What came of an episode."""

    measures: Mapping[str, float]
    num_decisions: int = 1


class Runner(NamedTuple):
    """A policy as far as a comparison asks."""

    name: str
    kind: str
    settings: Mapping[str, float]
    mode: str = "argmax"

    def run(self, instance: object, episodes: list[object], *, record: bool = False) -> list[Result]:
        """One episode's time in each."""
        return [Result(dict.fromkeys((measure.name for measure in DAG_JOBS.measures), 1.0)) for _ in episodes]


def rollout(name: str, kind: str, times: list[float], settings: Mapping[str, float] | None = None) -> rollouts.Rollout:
    """One of DAG jobs with the mean JCT of each episode."""
    others = {"jct_p95_s": 1.0, "slowdown": 1.0, "num_tasks": 1.0, "parked_percent": 2.5, "stall_s": 0.25}
    others["jct_p99_s"] = 1.5
    results = [Result({"jct_s": time, "makespan_s": 2 * time, **others}) for time in times]
    return rollouts.Rollout(Runner(name, kind, settings or {}), results, DAG_JOBS.measures)


def shop_rollout(name: str, kind: str, gain: list[float], late: list[float]) -> rollouts.Rollout:
    results = [
        Result({"gain": g, "late_share": share, "power_kw": 100 * g, "hidden": 0.0})
        for g, share in zip(gain, late, strict=True)
    ]
    return rollouts.Rollout(Runner(name, kind, {}), results, SHOP.measures)


def test_standard_error_by_hand() -> None:
    # 1, 2, 3, 4: squared deviations 2.25 + 0.25 + 0.25 + 2.25 = 5; sqrt(5 / 3 / 4)
    assert standard_error(np.array([1.0, 2.0, 3.0, 4.0])) == pytest.approx((5 / 12) ** 0.5)


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_bootstrap_agrees_with_normal_theory(method: str) -> None:
    values = np.random.default_rng(3).normal(100.0, 15.0, 400)
    interval = bootstrap_mean(values, generator(1, "test"), 0.95, 4000, method)  # type: ignore[arg-type]
    half = 1.96 * values.std(ddof=1) / 20
    assert interval.mean == pytest.approx(values.mean())
    assert interval.low == pytest.approx(values.mean() - half, abs=0.15 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.15 * half)


def test_a_ratio_of_means_is_paired() -> None:
    """Episodes are hard or easy for both, by a factor of ten: only what is left of the pairs widens the interval."""
    rng = np.random.default_rng(3)
    hardness = rng.uniform(1.0, 10.0, 60)
    told = bootstrap_ratio(1.2 * hardness * rng.normal(1.0, 0.01, 60), hardness, generator(1, "ratio"), resamples=999)
    assert told.mean == pytest.approx(1.2, rel=0.01)
    assert 1.19 < told.low < told.mean < told.high < 1.21
    same = bootstrap_ratio(np.full(9, 27.0), np.full(9, 1.0), generator(1, "ratio"))
    assert (same.mean, same.low, same.high) == (27.0, 27.0, 27.0)
    assert np.isnan(bootstrap_ratio(np.ones(1), np.ones(1), generator(1, "ratio")).low)
    with pytest.raises(ClearschedError, match="3,"):
        bootstrap_ratio(np.ones(3), np.ones(4), generator(1, "ratio"))


def test_bootstrap_covers_the_mean_as_often_as_it_says() -> None:
    draws = np.random.default_rng(5).exponential(1.0, (200, 40))
    hits = 0
    for row in draws:
        interval = bootstrap_mean(row, generator(1, "coverage"), 0.9, 400)
        hits += interval.low <= 1.0 <= interval.high
    assert 0.82 <= hits / len(draws) <= 0.95


def test_pairing_removes_the_spread_between_episodes() -> None:
    hardness = np.random.default_rng(2).uniform(10.0, 500.0, 50)
    gain = np.random.default_rng(4).normal(-1.0, 0.2, 50)
    interval = paired_difference(hardness + gain, hardness, generator(1, "pairs"))
    assert interval.mean == pytest.approx(gain.mean())
    assert interval.low < gain.mean() < interval.high < 0.0
    assert interval.standard_error < 0.01 * standard_error(hardness)


def test_one_episode_has_no_interval_and_equal_ones_have_none_to_speak_of() -> None:
    assert np.isnan(bootstrap_mean(np.array([3.0]), generator(1)).low)
    same = bootstrap_mean(np.array([3.0, 3.0, 3.0]), generator(1))
    assert (same.mean, same.low, same.high) == (3.0, 3.0, 3.0)


def test_unequal_numbers_of_episodes_are_refused() -> None:
    with pytest.raises(ClearschedError, match="paired"):
        paired_difference(np.ones(3), np.ones(4), generator(1))


LABELS = ("teacher", "tuned capped SRPT")


@pytest.mark.parametrize(
    ("low", "mean", "high", "outcome"),
    [(0.2, 1.3, 2.3, "loses"), (-3.0, -2.0, -1.0, "wins"), (-0.5, 0.2, 0.9, "no difference shown")],
)
def test_verdicts_say_who_wins(low: float, mean: float, high: float, outcome: str) -> None:
    interval = Interval(mean, low, high, 0.1, 30)
    verdict = verdicts.Verdict("teacher", "capped_srpt", LABELS, interval, 0.01, over_seeds=interval)
    assert verdict.outcome == outcome
    assert str(verdict).startswith("teacher: ") and str(verdict).endswith(outcome)
    other = verdicts.Verdict(
        "teacher", "capped_srpt", LABELS, interval, 0.01, lower_is_better=False, over_seeds=interval
    )
    assert other.outcome == {"wins": "loses", "loses": "wins"}.get(outcome, outcome)
    assert (verdict.is_worse, other.is_worse) == (low > 0, high < 0)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("ends", [(0.2, 2.3), (-3.0, -1.0), (-0.5, 0.9), (np.nan, np.nan)])
def test_who_was_trained_once_neither_wins_nor_loses(ends: tuple[float, float], lower: bool) -> None:
    """The interval covers episodes only, so the sentence says so, whatever it comes to."""
    verdict = verdicts.Verdict("teacher", "fair", LABELS, Interval(sum(ends) / 2, *ends, 0.1, 30), 0.01, "%", lower)
    told = str(verdict)
    assert "wins" not in told and "loses" not in told and told.endswith(" with one training seed")
    assert ("CI over episodes" in told) == bool(np.isfinite(ends[0]))
    assert verdict.is_worse == ((ends[0] > 0) if lower else (ends[1] < 0))


@pytest.mark.parametrize(
    ("interval", "unit", "words"),
    [
        ((1.3, 0.2, 2.3), "%", "1.3 % above tuned capped SRPT (95 % CI over episodes 0.2 to 2.3; p 0.012): worse"),
        ((-2.0, -3.0, -1.0), "%", "2.0 % below tuned capped SRPT (95 % CI over episodes 1.0 to 3.0; p 0.012): better"),
        (
            (0.2, -0.5, 0.9),
            "s",
            "0.20 s above tuned capped SRPT (95 % CI over episodes -0.50 to +0.90; p 0.012): no difference shown",
        ),
        (
            (0.2, np.nan, np.nan),
            "",
            "0.20 above tuned capped SRPT (no 95 % CI: one episode; p 0.012): no difference shown",
        ),
    ],
)
def test_verdict_in_words(interval: tuple[float, float, float], unit: str, words: str) -> None:
    verdict = verdicts.Verdict("teacher", "capped_srpt", LABELS, Interval(*interval, 0.1, 30), 0.0123, unit)
    assert str(verdict) == f"teacher: {words} with one training seed"


def test_seeds_that_agree_leave_the_interval_over_episodes() -> None:
    """Of skewed episodes, where BCa's ends are a quarter of the half width from those of percentiles."""
    row = np.random.default_rng(3).exponential(1.0, 20) ** 2
    crossed = crossed_interval(np.stack([row] * 4), generator(1, "seeds"), 0.95, 20_000)
    plain = bootstrap_mean(row, generator(1, "episodes"), 0.95, 20_000)
    percentiles = bootstrap_mean(row, generator(1, "episodes"), 0.95, 20_000, "percentile")
    half = (plain.high - plain.low) / 2
    assert crossed.mean == pytest.approx(plain.mean)
    assert (crossed.low, crossed.high) == pytest.approx((plain.low, plain.high), abs=0.07 * half)
    assert plain.high - percentiles.high > 0.2 * half


def test_a_ratio_of_seeds_that_agree_is_the_ratio_over_episodes() -> None:
    rng = np.random.default_rng(4)
    row, other = rng.exponential(1.0, 30) + 1.0, rng.exponential(1.0, 30) + 2.0
    crossed = crossed_ratio(np.stack([row] * 3), other[None, :], generator(1, "seeds"), 0.95, 20_000)
    plain = bootstrap_ratio(row, other, generator(1, "episodes"), 0.95, 20_000)
    half = (plain.high - plain.low) / 2
    assert (crossed.low, crossed.high) == pytest.approx((plain.low, plain.high), abs=0.07 * half)


def test_episodes_that_agree_leave_the_spread_of_the_seeds() -> None:
    """Four seeds and nothing else: the standard error of their mean, unbiased, is deviation / 2."""
    means = np.array([1.0, 2.0, 4.0, 5.0])
    found = crossed_interval(np.tile(means[:, None], (1, 30)), generator(1, "seeds"), 0.95, 20_000)
    assert found.mean == 3.0 and found.count == 4
    assert found.standard_error == pytest.approx(standard_error(means), rel=0.03)


@pytest.mark.parametrize(("count", "least"), [(3, 0.75), (5, 0.82)])
def test_the_interval_over_both_covers_what_training_and_episodes_draw(count: int, least: float) -> None:
    """Seeds and episodes drawn anew, effects of both and of the pair; an interval over episodes alone misses most."""
    rng, hits, misled, trials = np.random.default_rng(8), 0, 0, 150
    for _ in range(trials):
        of_seed, of_episode = rng.normal(0.0, 1.0, (count, 1)), rng.normal(0.0, 2.0, (1, 40))
        values = 10.0 + of_seed + of_episode + rng.normal(0.0, 1.0, (count, 40))
        both = crossed_interval(values, generator(1, "coverage"), 0.95, 400)
        alone = bootstrap_mean(values[0], generator(1, "coverage"), 0.95, 400, "percentile")
        hits += both.low <= 10.0 <= both.high
        misled += not alone.low <= 10.0 <= alone.high
    assert least <= hits / trials <= 0.99
    assert misled / trials > 0.3


def test_one_seed_or_one_episode_says_nothing_of_spread_and_batches_change_nothing() -> None:
    for shape in ((1, 5), (5, 1)):
        assert np.isnan(crossed_interval(np.ones(shape), generator(1)).low)
    values = np.random.default_rng(2).normal(0.0, 1.0, (3, 20))
    whole, parts = (crossed_interval(values, generator(1), resamples=500, batch=size) for size in (500, 7))
    assert (whole.low, whole.high) == pytest.approx((parts.low, parts.high))
    with pytest.raises(ClearschedError, match="seeds by episodes"):
        crossed_interval(np.ones(3), generator(1))
    with pytest.raises(ClearschedError, match="not finite"):
        crossed_interval(np.array([[1.0, np.nan], [1.0, 2.0]]), generator(1))


def test_a_difference_of_seeded_policies_spreads_with_the_seeds_of_both() -> None:
    """Episodes agree: the variance is the sum of both means' own. One seed of the other is held fixed."""
    own, other = np.array([1.0, 2.0, 4.0, 5.0]), np.array([0.0, 3.0, 3.0])
    tables = [np.tile(means[:, None], (1, 30)) for means in (own, other)]
    found = crossed_difference(*tables, generator(1, "seeds"), 0.95, 20_000)
    assert found.mean == pytest.approx(1.0) and found.count == 7
    assert found.standard_error == pytest.approx(np.hypot(standard_error(own), standard_error(other)), rel=0.03)
    fixed = crossed_difference(tables[0], tables[1][:1], generator(1, "seeds"), 0.95, 20_000)
    assert fixed.standard_error == pytest.approx(standard_error(own), rel=0.03) and fixed.mean == 3.0


def test_a_ratio_of_policies_with_seeds_is_that_of_their_means() -> None:
    rng = generator(5, "ratio")
    values, others = rng.normal(20.0, 1.0, (3, 40)), rng.normal(10.0, 0.5, (2, 40))
    found = crossed_ratio(values, others, generator(1, "seeds"), 0.95, 4000)
    assert found.mean == pytest.approx(values.mean() / others.mean()) and found.count == 5
    assert found.low < found.mean < found.high
    # Twice as long, and only the one policy again: the interval is that of its mean, as far as chance goes.
    alone = crossed_ratio(values, np.full((1, 40), 10.0), generator(1, "seeds"), 0.95, 4000)
    mean = crossed_interval(values / 10.0, generator(1, "seeds"), 0.95, 4000)
    assert (alone.low, alone.high) == pytest.approx((mean.low, mean.high), abs=0.02)
    assert np.isnan(crossed_ratio(values[:1], others[:1], generator(1)).low), "one seed each"
    with pytest.raises(ClearschedError, match="not the same ones"):
        crossed_ratio(values, others[:, 1:], generator(1))


def test_the_episodes_of_a_difference_are_paired() -> None:
    """What both have on an episode cancels."""
    rng = np.random.default_rng(5)
    episodes = rng.normal(0.0, 100.0, (1, 40))
    found = crossed_difference(episodes + np.ones((3, 1)), episodes + np.zeros((2, 1)), generator(1), 0.95, 2000)
    assert (found.mean, found.low, found.high) == pytest.approx((1.0, 1.0, 1.0))
    assert np.isnan(crossed_difference(np.ones((1, 5)), np.zeros((1, 5)), generator(1)).low)
    with pytest.raises(ClearschedError, match="5 and 4 episodes are not the same"):
        crossed_difference(np.ones((2, 5)), np.zeros((2, 4)), generator(1))


def of_seeds(name: str, *objective: list[float], chosen: int = 0) -> seeds.SeedRuns:
    count = len(objective)
    return seeds.SeedRuns(name, "teacher", np.arange(count), np.arange(count) == chosen, np.array(objective))


def test_students_of_several_seeds_are_held_against_what_they_learned_from() -> None:
    student = replace(of_seeds("rule_list", [9.0, 11.0, 13.0], [9.5, 11.0, 13.5]), kind="student")
    single = replace(of_seeds("boosted_trees", [9.0, 11.0, 13.0]), kind="student")
    teacher = of_seeds("teacher", [10.0, 12.0, 14.0], [10.0, 12.0, 15.0])
    table = pair_table([student, single, teacher], BOOTSTRAP)
    conform(table, SEED_PAIRS, "test")
    (row,) = table.to_pylist()
    assert (row["policy"], row["reference"], row["policy_seeds"], row["reference_seeds"]) == (
        "rule_list",
        "teacher",
        2,
        2,
    )
    mean = teacher.objective.mean()
    assert row["difference_percent"] == pytest.approx(100 * (student.objective.mean() - mean) / mean)
    assert row["difference_low"] < row["difference_percent"] < row["difference_high"] < 0
    lines = list(pair_lines(DAG_JOBS, table, DAG_JOBS.measures[0]))
    assert lines[-1].startswith("rule list") and f"{row['difference_percent']:+.2f}" in lines[-1]
    assert list(pair_lines(DAG_JOBS, pair_table([single, teacher], BOOTSTRAP), DAG_JOBS.measures[0])) == []


def test_no_win_is_stated_that_other_training_seeds_do_not_have() -> None:
    """The policy wins by 1 % on every episode; the other seeds lose by as much."""
    base = rollout("capped_srpt", "heuristic", list(np.linspace(90.0, 110.0, 20)))
    own = rollout("teacher", "teacher", list(base.objective - 1.0))
    worse = of_seeds("teacher", list(base.objective - 1.0), list(base.objective + 1.0), list(base.objective + 0.5))
    alike = of_seeds("teacher", list(base.objective - 1.0), list(base.objective - 1.1))
    alone = of_seeds("teacher", list(base.objective - 1.0))
    told = [
        verdicts.verdicts(DAG_JOBS, [own, base], "capped_srpt", BOOTSTRAP, {"teacher": of} if of else None)[0]
        for of in (None, alone, alike, worse)
    ]
    once = "better with one training seed"
    assert [item.outcome for item in told] == [once, once, "wins", "no difference shown"]
    assert "over 3 training seeds and episodes +0.2, -" in str(told[3]) and "seeds" not in str(told[1])
    assert "; over 2 training seeds and episodes -1." in str(told[2]) and str(told[2]).endswith(
        "1.0 to 1.1; p < 0.001): wins"
    )


def test_seeds_have_rows_and_a_table_of_their_own() -> None:
    base = rollout("capped_srpt", "heuristic", [10.0, 12.0, 14.0])
    runs = [of_seeds("teacher", [9.0, 11.0, 13.0], [10.0, 12.0, 17.0], chosen=1), of_seeds("rule_list", [11.0] * 3)]
    plain = np.array([9.0, 12.0, 10.0])
    table = seeds.seed_table(runs, base.objective, plain)
    conform(table, SEEDS, "test")
    assert table["worst_to_baseline"].to_pylist() == pytest.approx([1.3, 1.7, 11 / 9])
    assert table["worst"].to_pylist() == [13.0, 17.0, 11.0]
    other = seeds.seed_table(runs, base.objective, None, lower_is_better=False)
    assert other["worst"].to_pylist() == [9.0, 10.0, 11.0]
    assert seeds.seed_table(runs, base.objective, None)["worst_to_baseline"].to_pylist() == [None] * 3
    assert table["chosen"].to_pylist() == [False, True, True]
    assert table["difference_percent"].to_pylist() == pytest.approx([-100 / 12, 100 / 12, -100 / 12])
    found = list(seeds.summaries(runs, base.objective, plain, 1, 0.95, 999))
    assert (found[0].mean, found[0].lowest, found[0].highest) == (12.0, 11.0, 13.0)
    assert found[0].deviation == pytest.approx(2**0.5) and found[0].difference.low < 0 < found[0].difference.high
    compared = comparison.compare(DAG_JOBS, [base, rollout("teacher", "teacher", [9.0] * 3)], base.name, BOOTSTRAP)
    empty = FIDELITY.empty_table()
    lines = text.render(DAG_JOBS, compared, [], empty, "3 episodes", BOOTSTRAP, found).splitlines()
    row = next(line for line in lines if line.startswith("teacher  ") and "11.00 to 13.00" in line)
    assert row.split()[:3] == ["teacher", "2", "12.00"] and row.split()[-2:] == ["17.00", "1.70"]
    assert "x fair: the most next to fair, with any seed on any episode." in "\n".join(lines)
    assert "* teacher with a training seed that is not kept: 1.70 times fair on its worst episode" in lines
    assert lines[-1] == "One training seed, spread not measured: rule list."


def searched_policy(tmp_path: Path, restarts: list[dict[str, Any]]) -> ScoredPolicy:
    content = {"kind": "searched", "name": "weights", "stage": {"job_tasks_left": -1.0}, "limit": 0.5}
    path = tmp_path / "weights.json"
    path.write_text(json.dumps(content | {"restarts": restarts}))
    return load_policy(path)


def test_restarts_of_a_searched_policy_are_its_training_seeds(tmp_path: Path) -> None:
    own = {"stage": {"job_tasks_left": -1.0}, "limit": 0.5}
    restarts = [
        {"seed": 3, "validation": 2.0, "scorers": {"stage": {"job_tasks_left": 1.0}, "limit": 1.0}},
        {"seed": 4, "validation": 1.0, "scorers": own},
        {"seed": 5, "validation": 1.0, "scorers": own},
    ]
    policy = searched_policy(tmp_path, restarts)
    found = seeds.trained_scored(policy)
    assert [(one.seed, one.chosen) for one in found] == [(3, False), (4, True), (5, False)]
    assert found[0].policy.scorers["limit"].to_json() != policy.scorers["limit"].to_json()  # type: ignore[attr-defined]
    assert seeds.trained_scored(searched_policy(tmp_path, [])) == []
    broken = searched_policy(tmp_path, [{"seed": 3, "scorers": {"stage": {"job_tusks": 1.0}, "limit": 1.0}}])
    with pytest.raises(ClearschedError, match=r"restarts\[0\]: stage: unknown feature 'job_tusks'"):
        seeds.trained_scored(broken)
    with pytest.raises(ClearschedError, match=r"restarts\[0\]: an object with a seed"):
        seeds.trained_scored(searched_policy(tmp_path, [{"validation": 1.0}]))


def test_a_policy_of_one_seed_stands_for_itself_and_heuristics_have_none() -> None:
    runs = [rollout("fair", "heuristic", [1.0, 2.0]), rollout("teacher", "teacher", [3.0, 4.0])]
    (found,) = seeds.run_seeds(runs, {"teacher": []}, SimpleNamespace(), [])  # type: ignore[arg-type]
    assert found.name == "teacher" and found.chosen.tolist() == [True] and found.objective.tolist() == [[3.0, 4.0]]


def test_a_bound_is_told_beside_every_policy() -> None:
    instance: Any = SimpleNamespace(bounds=lambda episode: {"jct_s": 8.0 + episode, "other": 1.0})
    limits = bounds_of(DAG_JOBS, instance, [0, 2])
    assert {name: values.tolist() for name, values in limits.items()} == {"jct_s": [8.0, 10.0]}
    table = bound_table(limits)
    conform(table, BOUNDS, "test")
    assert table["bound"].to_pylist() == [8.0, 10.0]
    runs = [rollout("fair", "heuristic", [10.0, 12.0]), rollout("teacher", "teacher", [9.0, 9.9])]
    compared = comparison.compare(DAG_JOBS, runs, "fair", BOOTSTRAP, limits)
    assert compared["from_bound_percent"].to_pylist()[:2] == pytest.approx([5.0, 200 / 9])
    words = text.render(DAG_JOBS, compared, [], FIDELITY.empty_table(), "2 episodes", BOOTSTRAP)
    assert "Bound: no policy's mean can be below 9.00 s on these episodes" in words
    assert "bound (%): how far above it the mean is" in words
    lines = words.splitlines()
    assert [line.split()[-1] for line in lines[10:12]] == ["5.0", "22.2"]
    assert ["teacher", "9.90", "0.90", "1.50", "2.50", "0.250"] in [line.split() for line in lines]
    assert all(len(line) < 120 for line in lines)
    assert metrics(compared, FIDELITY.empty_table())["fair"]["from_bound_percent"] == 22.2222
    some: Any = SimpleNamespace(bounds=lambda episode: {"jct_s": 1.0} if episode else {})
    assert bounds_of(DAG_JOBS, some, [0, 2]) == {}, "a bound on some episodes is none of the mean"


def test_the_reference_is_chosen_by_validation() -> None:
    assert policies.reference_policy(DAG_JOBS, {"best": "wsjf"}) == "wsjf"
    assert policies.reference_policy(DAG_JOBS, {}) == "capped_srpt"


def test_comparison_has_paired_differences_and_is_sorted() -> None:
    base = np.linspace(50.0, 150.0, 30)
    runs = [
        rollout("fair", "heuristic", list(base + 10.0)),
        rollout("capped_srpt", "heuristic", list(base), {"p": 0.4, "m": 3.0}),
        rollout("teacher", "teacher", list(base - 1.0)),
    ]
    whole = comparison.compare(DAG_JOBS, runs, "capped_srpt", BOOTSTRAP)
    conform(whole, COMPARISON, "test")
    table = whole.slice(0, 3)
    assert table["policy"].to_pylist() == ["teacher", "capped_srpt", "fair"]
    assert table["difference"].to_pylist() == pytest.approx([-1.0, 0.0, 10.0])
    assert table["difference_percent"].to_pylist() == pytest.approx([-1.0, 0.0, 10.0])
    assert table["worst"].to_pylist() == pytest.approx([149.0, 150.0, 160.0])
    assert table["settings"].to_pylist()[1] == "p=0.4, m=3"
    told = ["jct_s", "jct_p99_s", "parked_percent", "stall_s"]
    assert list(dict.fromkeys(whole["measure"].to_pylist())) == told, "what stands beside it; none is compared"


def shop_runs() -> list[rollouts.Rollout]:
    noise = np.random.default_rng(1).normal(0.0, 0.001, 20)
    return [
        shop_rollout("first", "heuristic", [0.5] * 20, [0.0] * 20),
        shop_rollout("large", "heuristic", [0.3] * 20, [0.25] * 20),
        shop_rollout("teacher", "teacher", list(0.6 + noise), [0.0] * 19 + [0.2]),
        shop_rollout("rule_list", "student", list(0.4 + noise), [0.1] * 20),
    ]


ONCE = {"teacher": "better", "rule_list": "worse"}


def test_where_more_is_better_the_largest_comes_first_and_wins() -> None:
    runs = shop_runs()
    table = comparison.compare(SHOP, runs, "first", BOOTSTRAP)
    rows = table.to_pylist()
    best = ["teacher", "first", "rule_list", "large"]
    assert [row["policy"] for row in rows] == 3 * best, "each measure in the order of the objective"
    assert [row["measure"] for row in rows] == 4 * ["gain"] + 4 * ["late_share"] + 4 * ["power_kw"]
    by_place = {(row["measure"], row["policy"]): row for row in rows}
    assert by_place["gain", "teacher"]["worst"] == min(runs[2].objective), "the least gain is the worst"
    assert by_place["late_share", "teacher"]["worst"] == 0.2
    assert by_place["late_share", "large"]["difference_percent"] is None, "the reference is never late"
    outcomes = {item.policy: item.outcome for item in verdicts.verdicts(SHOP, runs, "first", BOOTSTRAP)}
    assert outcomes == {name: f"{word} with one training seed" for name, word in ONCE.items()}


def test_against_a_mean_of_zero_differences_have_the_unit_of_the_objective() -> None:
    zero = rollout("fair", "heuristic", [0.0, 0.0, 0.0])
    (found,) = verdicts.verdicts(DAG_JOBS, [rollout("teacher", "teacher", [1.0, 2.0, 3.0]), zero], "fair", BOOTSTRAP)
    assert (found.difference.mean, found.unit) == (2.0, "s")


def test_text_of_dag_jobs_to_the_byte() -> None:
    runs = [
        rollout("capped_srpt", "heuristic", [10.0, 12.0], {"p": 0.4, "m": 3.0}),
        rollout("teacher", "teacher", [9.0, 11.5]),
    ]
    table = comparison.compare(DAG_JOBS, runs, "capped_srpt", BOOTSTRAP)
    rows = [
        {"policy": "rule_list", "choice": choice, "decisions_of": of, "part": "whole"}
        | {"decisions": 1234, "trivial": 5, "top1": 0.5}
        | {"same_group": 0.75 if choice == "stage" else None, "level_error": None if choice == "stage" else 0.5}
        for choice, of in (("stage", "all"), ("stage", "kept_local"), ("limit", "real"))
    ]
    faithful = FIDELITY.empty_table().from_pylist(rows, schema=FIDELITY)
    found = verdicts.verdicts(DAG_JOBS, runs, "capped_srpt", BOOTSTRAP)
    words = text.render(
        DAG_JOBS, table, found, faithful, "2 test episodes of 3 jobs on 5 executors", comparison.Bootstrap()
    )
    assert (
        words
        == """\
Mean job completion time (JCT) over 2 test episodes of 3 jobs on 5 executors; lower is better.
CI: 95 % bootstrap interval over episodes. Difference: same episodes, paired, to tuned capped SRPT,
the strongest heuristic on the validation episodes.

Over episodes: each policy as it is

policy             kind       settings    JCT (s)          CI (s)  difference (s)          CI (s)   (%)
-----------------  ---------  ----------  -------  --------------  --------------  --------------  ----
teacher            teacher                  10.25   9.00 to 11.50           -0.75  -1.00 to -0.50  -6.8
tuned capped SRPT  heuristic  p=0.4, m=3    11.00  10.00 to 12.00       reference

Next to tuned capped SRPT, episode by episode. Better in: share of episodes, equal ones half.
Effect: mean difference over the standard deviation of the differences. p: paired sign-flip test of the mean;
Holm: adjusted over 1 policy. A difference is shown where that is at most 0.05 and no
interval that is told of it holds 0.

policy   better in (%)     CI (%)  effect    p  p (Holm)
-------  -------------  ---------  ------  ---  --------
teacher            100  34 to 100   -2.12  0.5       0.5

Beside the mean. worst: the worst episode.
p99 JCT: 99th percentile of the job completion times, mean over the episodes.
parked: executor time parked in jobs, mean over the episodes.
stall: longest time that executors were parked in a job while a ready stage of it waited, on the worst episode.

policy             worst (s)  p99 JCT (s)  parked (%)  stall (s)
-----------------  ---------  -----------  ----------  ---------
teacher                11.50         1.50        2.50      0.250
tuned capped SRPT      12.00         1.50        2.50      0.250

* teacher: 6.8 % below tuned capped SRPT (95 % CI over episodes 4.5 to 9.1; p 0.5): no difference shown with one training seed

Fidelity to the teacher on its logged held-out decisions with two answers or more (kept local: the freed executor
stays on its job). First: the student's first choice is the teacher's. Error: mean distance of the limits
(executors).

student    choice  decisions of  decisions   first  same job  error
---------  ------  ------------  ---------  ------  --------  -----
rule list  stage   all               1,234  50.0 %    75.0 %      -
rule list  stage   kept local        1,234  50.0 %    75.0 %      -
rule list  limit   real              1,234  50.0 %         -   0.50
"""  # noqa: E501
    )


def test_who_locks_on_one_episode_is_told_in_words() -> None:
    """As good as fair on average: 4 s on nine episodes of ten, 63 s on the last."""
    runs = [rollout("fair", "heuristic", [9.9] * 10), rollout("rule_list", "student", [4.0] * 9 + [63.0])]
    compared = comparison.compare(DAG_JOBS, runs, "fair", BOOTSTRAP)
    assert compared["worst_to_baseline"].to_pylist()[:2] == pytest.approx([63 / 9.9, 1.0])
    words = text.render(DAG_JOBS, compared, [], FIDELITY.empty_table(), "10 episodes", BOOTSTRAP)
    assert "* rule list: 6.36 times fair on its worst episode: find out why before it schedules anything" in words
    assert "* fair" not in words and "heuristics above" not in words and "x fair: the most, on any episode" in words


def test_who_did_not_pass_the_safety_check_is_told_in_words() -> None:
    """However good it looks on the test episodes; not of whom nothing is told, or who passed."""
    told = {"rule_list": {"worst": 1.0, "hard": 1.71}, "figs": {"worst": 1.19, "hard": 1.4}, "boosted_trees": {}}
    runs = [rollout("fair", "heuristic", [9.0] * 4)]
    for name, stress in told.items():
        one = rollout(name, "student", [4.0] * 4)
        policy: Any = SimpleNamespace(**one.policy._asdict(), evidence={"stress": stress})  # type: ignore[attr-defined]
        runs.append(replace(one, policy=policy))
    lines = unsafe_lines(DAG_JOBS, runs)
    why = "on an episode of the hardest kind it takes 1.71 times fair's"
    assert lines == [f"* rule list is not safe by its own check: {why}: do not deploy it"]
    compared = comparison.compare(DAG_JOBS, runs, "fair", BOOTSTRAP)
    words = text.render(DAG_JOBS, compared, [], FIDELITY.empty_table(), "4", BOOTSTRAP, unsafe=lines)
    assert f"\n{lines[0]}\n" in words


def test_students_stand_beside_the_teacher() -> None:
    """By hand: two episodes of 9 and 11 s, a student that takes 11 and 13, faithful in three real choices of four."""
    runs = [
        rollout("fair", "heuristic", [10.0, 10.0]),
        rollout("teacher", "teacher", [9.0, 11.0]),
        rollout("rule_list", "student", [11.0, 13.0]),
        rollout("figs", "student", [10.0, 10.0]),
    ]
    rows = [
        {"policy": "rule_list", "choice": "stage", "decisions_of": of, "part": "whole", "top1": top1}
        for of, top1 in (("all", 0.9), ("real", 0.75), ("kept_local", 1.0))
    ]
    rows.append({"policy": "figs", "choice": "stage", "decisions_of": "all", "part": "whole", "top1": 0.5})
    table = student_table(DAG_JOBS, runs, rows, BOOTSTRAP)
    figs, listed = table.to_pylist()
    assert (figs["policy"], listed["policy"]) == ("figs", "rule_list"), "the best first"
    assert (figs["top1"], listed["top1"]) == (0.5, 0.75)
    assert (listed["mean"], listed["worst"], listed["worst_to_baseline"]) == (12.0, 13.0, pytest.approx(1.3))
    assert listed["difference_percent"] == pytest.approx(20.0) == listed["difference_low"]
    assert (listed["p"], listed["p_holm"], figs["p"]) == (0.5, 1.0, 1.0), "of 4 tosses 2; of 2 rows"
    lines = student_lines(DAG_JOBS, table.to_pylist(), DAG_JOBS.measures[0])
    assert lines[-1].split()[:3] == ["rule", "list", "0"] and "75.0 %" in lines[-1] and "+20.0" in lines[-1]
    assert dict(listed["beside"]) == {"jct_p99_s": 1.5, "parked_percent": 2.5, "stall_s": 0.25}
    assert not len(student_table(DAG_JOBS, runs[:1] + runs[2:], rows, BOOTSTRAP)), "without a teacher"


def test_the_control_says_what_the_teacher_added() -> None:
    alone = [rollout("fair", "heuristic", [10.0] * 8), rollout("rule_list", "student", [9.0] * 8)]
    assert control_lines(DAG_JOBS, alone, BOOTSTRAP) == []
    runs = [*alone, rollout("rules_from_nothing", "student", [10.0] * 8)]
    (line,) = control_lines(DAG_JOBS, runs, BOOTSTRAP)
    assert line == (
        "* rule list: without a teacher the same search comes to 10.00 s (rules from nothing): the teacher added "
        "10.0 % (95 % CI +10.0 to +10.0, p 0.0078)"
    )
    compared = comparison.compare(DAG_JOBS, runs, "fair", BOOTSTRAP)
    told = text.render(DAG_JOBS, compared, [], FIDELITY.empty_table(), "2", BOOTSTRAP, (), None, [line])
    assert f"\n{line}\n" in told
    turned = [alone[0], rollout("rule_list", "student", [9.0, 12.0] * 4), runs[2]]
    (line,) = control_lines(DAG_JOBS, turned, BOOTSTRAP)
    assert "the teacher added -5.0 %" in line and line.endswith(", no difference shown)")


def test_text_of_a_problem_with_other_measures() -> None:
    runs = shop_runs()
    table = comparison.compare(SHOP, runs, "first", BOOTSTRAP)
    rows = [
        {"policy": "rule_list", "choice": "order", "decisions_of": of, "part": "whole"}
        | {"decisions": 9, "trivial": 0, "top1": 0.5}
        for of in ("all", "none")
    ]
    faithful = FIDELITY.empty_table().from_pylist(rows, schema=FIDELITY)
    lines = text.render(SHOP, table, [], faithful, "20 episodes", BOOTSTRAP).splitlines()
    assert lines[0] == "Money made (gain) over 20 episodes; higher is better."
    assert "gain" in lines[6] and "CI  difference" in lines[6] and "()" not in lines[6], "a ratio has no unit"
    assert lines[9].split()[:2] == ["first", "come"] and "0.500" in lines[9]
    block = lines[lines.index("Other measures") :]
    titles = [line for line in block if line.endswith("is better")]
    assert titles == [
        "Money made; higher is better",
        "Share of jobs that are late; lower is better",
        "Power drawn (kW); higher is better",
    ]
    late = block[block.index(titles[1]) + 2 :]
    assert late[0].split() == ["policy", "late", "CI", "worst", "episode"]
    assert late[2].split()[-1] == "0.200" and late[2].startswith("teacher")
    assert "(none: rest)." in "\n".join(lines)
    assert lines[-4].split() == ["student", "choice", "decisions", "of", "decisions", "first"]
    assert lines[-1].split() == ["rule", "list", "order", "none", "9", "50.0", "%"]


@pytest.mark.parametrize(
    ("largest", "places"), [(250.0, 1), (99.0, 2), (1.0, 2), (0.5, 3), (0.049, 4), (0.0, 2), (1e-30, 9)]
)
def test_three_or_four_digits_matter(largest: float, places: int) -> None:
    assert text.decimals(largest) == places


def test_metrics_are_told_by_measure() -> None:
    table = comparison.compare(SHOP, shop_runs(), "first", BOOTSTRAP)
    row = {"policy": "rule_list", "choice": "order", "decisions_of": "all", "part": "whole", "decisions": 9}
    row |= {"trivial": 0, "top1": 1 / 3}
    found = metrics(table, FIDELITY.empty_table().from_pylist([row], schema=FIDELITY))
    assert found["large"] == {
        "gain": 0.3, "ci_low": 0.3, "ci_high": 0.3, "difference_percent": -40.0, "late_share": 0.25, "power_kw": 30.0,
        "gain_worst": 0.3, "late_share_worst": 0.25, "power_kw_worst": 30.0,
    }  # fmt: skip
    assert found["rule_list"]["order_top1"] == 0.3333


def test_episodes_have_a_column_for_each_measure() -> None:
    table = rollouts.episode_table([shop_rollout("first", "heuristic", [1.0, 2.0], [0.0, 0.5])])
    conform(table, schemas.episodes(SHOP.measures), "test")
    assert table["late_share"].to_pylist() == [0.0, 0.5] and table["power_kw"].to_pylist() == [100.0, 200.0]


def test_policies_of_the_same_name_and_missing_episodes_are_refused() -> None:
    fair, instance = Runner("fair", "heuristic", {}), SimpleNamespace(objective=DAG_JOBS.measures[0])
    with pytest.raises(ClearschedError, match="twice"):
        rollouts.roll_out(DAG_JOBS, [fair, fair], instance, [object()])  # type: ignore[arg-type]
    with pytest.raises(ClearschedError, match="no test episodes"):
        rollouts.roll_out(DAG_JOBS, [fair], instance, [])  # type: ignore[arg-type]
    (run,) = rollouts.roll_out(DAG_JOBS, [fair], instance, [object()])  # type: ignore[arg-type]
    assert (run.name, run.kind, run.objective.tolist()) == ("fair", "heuristic", [1.0])


def test_policies_are_called_what_their_registries_say() -> None:
    known = policies.policies_of(DAG_JOBS)
    assert [policies.label(DAG_JOBS, name) for name in ("wsjf", "teacher", "rule_list", "my_own")] == [
        "tuned weighted SJF",
        "teacher",
        "rule list",
        "my own",
    ]
    assert [known[name].kind for name in ("fifo", "teacher", "rule_list")] == ["heuristic", "teacher", "student"]
    with pytest.raises(ClearschedError, match="did you mean capped_srpt"):
        _ = known["caped_srpt"]
    taken: Any = SimpleNamespace(
        heuristics=Registry("heuristic", (_heuristic("teacher", "a usurper"),)), families=Registry("family", ())
    )
    with pytest.raises(ClearschedError, match="policy teacher: stands twice"):
        policies.policies_of(taken)


def test_a_student_that_is_listed_and_not_fitted_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the registry: a kind that was added to it is left out like the others."""
    third = STUDENTS["rule_list"]._replace(name="third", label="a third")
    monkeypatch.setattr(policies, "STUDENTS", Registry("student", (*STUDENTS.values(), third)))
    loaded: list[tuple[str, str]] = []

    def load(problem: Problem, name: str | Path, tuned: object = None, mode: str = "argmax") -> str:
        loaded.append((str(name), mode))
        return str(name)

    monkeypatch.setattr(policies, "load_policy", load)

    def names(*listed: str) -> list[str]:
        settings = EvaluationParams.model_construct(policies=listed, mode="sampled", bootstrap=100, confidence=0.9)
        found = policies.load_policies(
            DAG_JOBS, settings, {"best": "wsjf"}, Path("t.safetensors"), [Path("s/rule_list.json"), Path("s/mine.json")]
        )
        return list(map(str, found))

    listed = ["fair", "third", "boosted_trees", "rule_list", "mine", "teacher", "wsjf"]
    assert names(*listed) == ["fair", "s/rule_list.json", "s/mine.json", "t.safetensors", "wsjf"]
    assert ("t.safetensors", "sampled") in loaded
    assert names("fair") == ["fair", "wsjf"], "the reference is always run"
    with pytest.raises(ClearschedError, match=r"unknown policy 'fare'.*did you mean fair"):
        names("fare")


def test_policies_are_loaded_by_name_or_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tuned = {"capped_srpt": {"p": 0.7, "m": 2.0}, "best": "capped_srpt"}
    assert policies.load_policy(DAG_JOBS, "capped_srpt", tuned).settings == {"p": 0.7, "m": 2.0}
    assert policies.load_policy(DAG_JOBS, "capped_srpt").settings == {"p": 0.4, "m": 3.0}
    assert policies.load_policy(DAG_JOBS, "fair", tuned).settings == {}
    with pytest.raises(ClearschedError, match="unknown heuristic 'fare'"):
        policies.load_policy(DAG_JOBS, "fare")
    monkeypatch.setattr(
        "clearsched.scorers.policy.load_policy", lambda path: SimpleNamespace(problem=SHOP, name="rule_list")
    )
    with pytest.raises(ClearschedError, match=r"rule_list.json: schedules shop, not dag_jobs"):
        policies.load_policy(DAG_JOBS, tmp_path / "rule_list.json")
    assert policies.load_policy(SHOP, tmp_path / "rule_list.json").name == "rule_list"


def test_executor_lanes_are_possible() -> None:
    tasks = np.array(
        [
            (0, 10, 0, 0, FRESH),
            (0, 12, 1, 0, FRESH),
            (10, 5, 0, 0, REST_WAVE),
            (12, 4, 0, 1, FRESH),
            (15, 5, 0, 1, FIRST_WAVE),
        ]
    )
    lanes = assign_executors(tasks, 2)
    assert lanes[0] == lanes[2] == lanes[4]  # goes on in its stage, then in its job
    assert lanes[1] == lanes[3] != lanes[0]
    for e in range(2):
        rows = tasks[lanes == e]
        assert np.all(rows[1:, 0] >= rows[:-1, 0] + rows[:-1, 1])


def test_show_without_an_evaluation(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ClearschedError, match="run the evaluation first"):
        show(tmp_path)


def logged(features: np.ndarray, starts: list[int], chosen: list[int], candidate: Any, group: list[int]) -> Choices:
    """Logged decisions, as far as fidelity asks."""
    none, number, of = np.zeros(len(features)), np.arange(len(chosen)), np.array
    return Choices(features, of(starts), of(chosen), of(candidate), of(group), none, none, number, number, 1.0 * number)


def student(scores: list[float], *, none: bool = False, share: float = 0.5) -> Any:
    return SimpleNamespace(
        name="half",
        may_idle=none,
        scores=lambda features, starts: np.array(scores),
        rounds_up=False,
        level_share=lambda features: np.full(len(features), share),
    )


KEEPS = (Feature("size", "", "size"), Feature("stays", "", "whether it is the one that is there"))
RANK = Choice("order", "rank", "Which?", KEEPS, none="rest", keeps="stays", kept="as it was: so", group="shop")
LEVEL = Choice("hands", "level", "How many?", KEEPS, unit="hands")


def test_level_fidelity_reads_the_first_level_that_is_allowed() -> None:
    # Two decisions: 4 to 10 hands are allowed, the teacher's answer is 6, the student's 5; then 8 to 10, 8 and 8.
    decisions = logged(np.zeros((10, 2), np.float32), [0, 7, 10], [2, 7], np.r_[4:11, 8:11], [0] * 10)
    rows = {row["decisions_of"]: row for row in fidelity.level_rows(student([]), RANK, LEVEL, decisions, 10)}
    assert {name: row["decisions"] for name, row in rows.items()} == {"all": 2, "as_it_was": 0, "real": 2}
    assert (rows["all"]["level_error"], rows["all"]["top1"]) == (0.5, 0.5)
    assert rows["as_it_was"]["level_error"] is rows["as_it_was"]["top1"] is None
    conform(FIDELITY.empty_table().from_pylist(list(rows.values()), schema=FIDELITY), FIDELITY, "test")


def test_rank_fidelity_counts_none_as_an_answer() -> None:
    """Four decisions: keeps the one that is there; a real choice; none of these; one answer only, which is left out.

    The rows of none have no features, and come last in their decision.
    """
    nan = np.full(2, np.nan, np.float32)
    features = np.array([[1, 1], [2, 0], [1, 0], [2, 0], nan, [1, 1], nan, [1, 0]], np.float32)
    decisions = logged(
        features, [0, 2, 5, 7, 8], [0, 3, 6, 7], [5, 6, 5, 6, NONE, 5, NONE, 5], [0, 1, 0, 0, NONE, 0, NONE, 0]
    )

    def rows(scores: list[float], none: bool) -> dict[str, tuple[int, float, float]]:
        found = fidelity.rank_rows(student(scores, none=none), RANK, decisions)
        return {
            row["decisions_of"]: (row["decisions"], row["top1"], row["same_group"])
            for row in found
            if row["part"] == "whole"
        }

    # The second decision is answered by row 2, of the same group as row 3; the third by none, as no score is above 0.
    assert rows([2, 1, 3, 1, 0, 0, 0, 1], True) == {
        "all": (3, pytest.approx(2 / 3), 1.0),
        "as_it_was": (1, 1.0, 1.0),
        "real": (1, 0.0, 1.0),
        "none": (1, 1.0, 1.0),
    }
    # Whoever knows no "none" takes the best candidate, were it below 0.
    assert rows([2, 1, -2, -1, 0, -1, 0, 1], False) == {
        "all": (3, pytest.approx(2 / 3), pytest.approx(2 / 3)),
        "as_it_was": (1, 1.0, 1.0),
        "real": (1, 1.0, 1.0),
        "none": (1, 0.0, 0.0),
    }


def test_the_share_of_first_choices_is_drawn_by_episode() -> None:
    """Nine decisions in three episodes, in which 3 of 3, 2 of 4 and 0 of 2 agree."""
    agree = np.array([True] * 3 + [True, True, False, False] + [False] * 2)
    episode = np.repeat([5, 7, 11], [3, 4, 2])

    def told(kept: np.ndarray, drawn: comparison.Bootstrap | None = BOOTSTRAP) -> dict[str, float]:
        return fidelity.share_of(agree[kept], episode[kept], "whole", drawn, ("half", "order", "all"))

    everything = told(episode > 0)
    assert everything["top1"] == pytest.approx(5 / 9)
    assert 0.0 <= everything["top1_low"] < 5 / 9 < everything["top1_high"] <= 1.0
    assert everything == told(episode > 0), "the same random numbers"
    assert told(episode > 5) == {"top1": pytest.approx(2 / 6)}, "two episodes"
    assert told(episode > 0, None) == {"top1": pytest.approx(5 / 9)}
    same = fidelity.share_of(np.ones(9, bool), episode, "whole", BOOTSTRAP, ())
    assert same == {"top1": 1.0, "top1_low": 1.0, "top1_high": 1.0}


def test_rows_of_fidelity_have_the_interval_of_their_own_decisions() -> None:
    """Six decisions of two candidates in three episodes: the student takes the first, the teacher the second twice."""
    decisions = logged(np.zeros((12, 2), np.float32), [*range(0, 13, 2)], [0, 2, 5, 6, 8, 11], [3, 4] * 6, [0] * 12)
    decisions = decisions._replace(episode=np.repeat([0, 1, 2], 2))
    plain = RANK._replace(keeps="", kept="", group="")
    row, _ = fidelity.rank_rows(student([2.0, 1.0] * 6), plain, decisions, BOOTSTRAP)
    assert row["top1"] == pytest.approx(4 / 6) and 0.5 <= row["top1_low"] < 4 / 6 < row["top1_high"] <= 1.0
    level = fidelity.level_rows(student([], share=0.3), plain, LEVEL, decisions, 10, BOOTSTRAP)[0]
    assert level["top1"] == row["top1"] and level["top1_low"] < 4 / 6 < level["top1_high"]
    conform(FIDELITY.empty_table().from_pylist([row, level], schema=FIDELITY), FIDELITY, "test")


def test_without_a_candidate_that_keeps_and_without_none_there_is_one_part() -> None:
    plain = RANK._replace(keeps="", kept="", group="")
    decisions = logged(np.zeros((2, 2), np.float32), [0, 2], [1], [3, 4], [0, 0])
    row, one = fidelity.rank_rows(student([1.0, 2.0]), plain, decisions)
    assert (one["part"], one["decisions"], one["top1"]) == ("one", 1, 1.0)
    assert (row["decisions_of"], row["decisions"], row["top1"], row["same_group"]) == ("all", 1, 1.0, None)


def test_costs_of_parts_stand_beside_their_fidelity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part of the first choice, and the level, once a student; subsets have none."""
    asked: list[tuple[str, list[str]]] = []

    def part_costs(
        teacher: Any, student: Any, instance: Any, episodes: Any, parts: list[str], base: Any, drawn: Any
    ) -> Any:
        asked.append((student.name, parts))
        return {part: Interval(1.5, 0.5, 2.5, 0.1, 9) for part in parts}

    monkeypatch.setattr("clearsched.evaluation.part_costs.part_costs", part_costs)
    monkeypatch.setattr("clearsched.evaluation.part_costs.objective_of", lambda *given: np.ones(1))
    monkeypatch.setattr("clearsched.teacher.load_policy", lambda path: None)
    shapes = [("stage", "all", "whole"), ("stage", "real", "whole"), ("stage", "all", "group")]
    shapes += [("limit", "all", "whole"), ("limit", "real", "whole")]
    rows = [
        {"policy": "rule_list", "choice": choice, "decisions_of": of, "part": part, "decisions": 9, "trivial": 1}
        for choice, of, part in shapes
    ]
    faithful = FIDELITY.empty_table().from_pylist(rows, schema=FIDELITY)
    known = [SimpleNamespace(name="rule_list")]
    found = with_costs(faithful, DAG_JOBS, known, Path("teacher"), None, [], BOOTSTRAP)
    assert asked == [("rule_list", ["group", "level"])]
    assert found["cost_percent"].to_pylist() == [None, None, 1.5, 1.5, None]
    lines = fidelity_lines(DAG_JOBS, found.to_pylist())
    assert [line.split()[-3:] for line in lines[-2:]] == [["+0.50", "to", "+2.50"]] * 2
    assert max(map(len, lines)) < 120
