"""Statistics against known answers, the comparison's wording, fidelity on hand-made decisions, executor lanes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from clearsched.errors import ClearschedError
from clearsched.evaluation import comparison, fidelity, rollouts, show, text
from clearsched.evaluation.statistics import Interval, bootstrap_mean, generator, paired_difference, standard_error
from clearsched.problems.dag_jobs.recording.lanes import assign_executors
from clearsched.problems.dag_jobs.simulator.profiles import FIRST_WAVE, FRESH, REST_WAVE
from clearsched.schemas import COMPARISON, FIDELITY, conform

BOOTSTRAP = comparison.Bootstrap(seed=1, confidence=0.95, resamples=999)


class Result:
    """An episode of one job with a given completion time."""

    def __init__(self, jct_s: float) -> None:
        self.jct_s = np.array([jct_s])
        self.arrival_ms = np.zeros(1, np.int64)
        self.avg_jct_s = jct_s
        self.makespan_s = jct_s
        self.num_decisions, self.num_tasks, self.tasks = 1, 1, None


def rollout(name: str, kind: str, times: list[float]) -> rollouts.Rollout:
    return rollouts.Rollout(name, kind, "argmax", [Result(time) for time in times])


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


@pytest.mark.parametrize(
    ("low", "mean", "high", "outcome"),
    [(0.2, 1.3, 2.3, "loses"), (-3.0, -2.0, -1.0, "wins"), (-0.5, 0.2, 0.9, "no difference shown")],
)
def test_verdicts_say_who_wins(low: float, mean: float, high: float, outcome: str) -> None:
    verdict = comparison.Verdict("teacher", "capped_srpt", Interval(mean, low, high, 0.1, 30))
    assert verdict.outcome == outcome
    assert str(verdict).startswith("teacher: ") and str(verdict).endswith(outcome)


def test_verdict_in_words() -> None:
    verdict = comparison.Verdict("teacher", "capped_srpt", Interval(1.3, 0.2, 2.3, 0.1, 30))
    assert str(verdict) == "teacher: 1.3 % above tuned capped SRPT (95 % CI 0.2 to 2.3): loses"


def test_the_reference_is_chosen_by_validation() -> None:
    assert comparison.reference_policy({"best": "wsjf"}) == "wsjf"
    assert comparison.reference_policy({}) == "capped_srpt"


def test_comparison_has_paired_differences_and_is_sorted() -> None:
    base = np.linspace(50.0, 150.0, 30)
    runs = [
        rollout("fair", "heuristic", list(base + 10.0)),
        rollout("capped_srpt", "heuristic", list(base)),
        rollout("teacher", "teacher", list(base - 1.0)),
    ]
    table = comparison.compare(runs, "capped_srpt", {"capped_srpt": {"p": 0.4, "m": 3.0}}, BOOTSTRAP)
    conform(table, COMPARISON, "test")
    assert table["policy"].to_pylist() == ["teacher", "capped_srpt", "fair"]
    assert table["difference_s"].to_pylist() == pytest.approx([-1.0, 0.0, 10.0])
    assert table["difference_percent"].to_pylist() == pytest.approx([-1.0, 0.0, 10.0])
    assert table["settings"].to_pylist()[1] == "p=0.4, m=3"


def test_bar_for_the_teacher_is_told_plainly() -> None:
    base = np.linspace(50.0, 150.0, 30)
    noise = np.random.default_rng(1).normal(0.0, 0.3, 30)

    def bar(teacher: np.ndarray) -> str:
        runs = [
            rollout("weighted_fair", "heuristic", list(base * 1.15)),
            rollout("capped_srpt", "heuristic", list(base)),
            rollout("teacher", "teacher", list(teacher + noise)),
        ]
        found = comparison.verdicts(runs, "capped_srpt", BOOTSTRAP)
        sentence = comparison.teacher_bar(found, "teacher")
        assert sentence is not None
        return sentence

    assert "met: it beats" in bar(base) and "NOT" not in bar(base)
    assert "NOT met" in bar(base * 1.05)
    assert "does not beat" in bar(base * 1.2)


def test_table_text_holds_the_numbers_and_units() -> None:
    runs = [rollout("capped_srpt", "heuristic", [10.0, 12.0]), rollout("teacher", "teacher", [9.0, 11.5])]
    table = comparison.compare(runs, "capped_srpt", {}, BOOTSTRAP)
    words = text.render(table, [], FIDELITY.empty_table(), text.Setting(2, (3, 3), 5), BOOTSTRAP)
    assert "2 test episodes of 3 jobs on 5 executors" in words
    assert "JCT (s)" in words and "11.0" in words and "-0.75" in words


def test_policies_of_the_same_name_and_missing_episodes_are_refused() -> None:
    class Fake:
        name, kind, mode = "fair", "heuristic", "argmax"

        def run(self, profiles: object, workloads: list[object], *, record_tasks: bool = False) -> list[Result]:
            return [Result(1.0) for _ in workloads]

    with pytest.raises(ClearschedError, match="twice"):
        rollouts.roll_out([Fake(), Fake()], None, [object()])
    with pytest.raises(ClearschedError, match="no test episodes"):
        rollouts.roll_out([Fake()], None, [])


def test_first_best_takes_the_first_of_equals() -> None:
    scores = np.array([1.0, 2.0, 2.0, 5.0, 0.0, 0.0])
    assert fidelity.first_best(scores, np.array([0, 3, 4, 6])).tolist() == [1, 3, 4]


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


def test_limit_fidelity_reads_what_the_job_holds() -> None:
    from clearsched.decisions.reader import Choices

    class Half:
        name = "half"

        def scores(self, features: np.ndarray) -> np.ndarray:
            return np.zeros(len(features))

        def limit_share(self, features: np.ndarray) -> np.ndarray:
            return np.full(len(features), 0.5)

    # One decision: the job holds 3 of 10 executors, the teacher's limit is 6 (row 2), the student's 5.
    count = 7
    choices = Choices(
        np.zeros((count, 25), np.float32),
        np.array([0, count]),
        np.array([2]),
        np.arange(4, 11),
        np.zeros(count, np.int64),
        np.zeros(count),
        np.zeros(count),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1),
    )
    row = fidelity._limit_rows(Half(), choices, 10)[0]
    assert (row["limit_error"], row["top1"], row["decisions"]) == (1.0, 0.0, 1)
    assert isinstance(pa.Table.from_pylist([row], schema=FIDELITY), pa.Table)
