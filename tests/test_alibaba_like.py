"""The generator alibaba-like: its marginals against the published quantiles, its DAGs, its options."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
from scipy.stats import ks_1samp

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.settings.sources import AlibabaLikeParams
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.traces import measure, read_trace
from clearsched.problems.dag_jobs.traces.alibaba_2018.rows import POINTS, spread_factors
from clearsched.problems.dag_jobs.traces.alibaba_like import compare_with_published, write
from clearsched.problems.dag_jobs.traces.alibaba_like.compare import values_of
from clearsched.problems.dag_jobs.traces.alibaba_like.marginals import marginal, marginals

JOBS = 20_000


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of JOBS jobs with the default options."""
    out = tmp_path_factory.mktemp("like") / "like.parquet"
    write(None, out, AlibabaLikeParams(jobs=JOBS), seed=7)
    return out


def distance(values: np.ndarray, quantity: str, given: int | None) -> float:
    """Kolmogorov–Smirnov distance of values to the published table, by the table itself: the distribution function at
    a whole number of units is the probability below it, read off the straight lines between the quantiles.
    """
    table = marginal(quantity, given)
    step = {"cpu": 50.0, "memory": 0.01}.get(quantity, 1.0)

    def cumulative(value: np.ndarray) -> np.ndarray:
        return np.interp(np.floor(np.asarray(value) / step + 1e-4) * step, table.values, table.probabilities)

    # Both are step functions that jump on the same grid, so their largest difference is found at the values.
    points = np.unique(values)
    empirical = np.searchsorted(np.sort(values), points, side="right") / len(values)
    return float(np.abs(empirical - cumulative(points)).max())


def test_every_marginal_is_the_published_one(generated: Path) -> None:
    """Without any difference the distance exceeds 1.95 / √n once in a thousand (Kolmogorov's limit, an upper bound for
    values on a grid). Critical paths and levels within a job are drawn together, so their √n counts jobs.
    """
    found = values_of(measure(generated))
    path_jobs = np.concatenate([values for (quantity, _), values in found.items() if quantity == "critical_path"])
    checked = 0
    for quantity, given in marginals():
        if quantity == "task_s" or (quantity, given) not in found or given == 1:
            continue
        values = found[quantity, given]
        jobs = int((path_jobs == given).sum()) if quantity == "level" else len(values)
        if jobs < 200 or given in (20, 35):  # the last tables stand for all larger numbers
            continue
        values = np.ceil(values - 0.01) if quantity == "stage_s" else values  # the spread rounds to milliseconds
        assert distance(values, quantity, given) < 1.95 / np.sqrt(jobs), (quantity, given)
        checked += 1
    assert checked > 20


def test_the_distance_by_scipy_for_a_continuous_quantity(generated: Path) -> None:
    """Durations of half a minute and more are nearly continuous: scipy's one-sample test hardly sees the rounding."""
    values = values_of(measure(generated))["stage_s", None]
    table = marginal("stage_s")
    long = np.interp(30.0, table.values, table.probabilities)
    tail = values[values > 30.5]

    def cumulative(value: np.ndarray) -> np.ndarray:
        return (np.interp(np.asarray(value), table.values, table.probabilities) - long) / (1 - long)

    assert ks_1samp(tail, cumulative).statistic < 1.95 / np.sqrt(len(tail)) + 1 / 60  # + the rounding, 0.5 s of 30


def test_cpu_nearly_determines_memory_as_both_rise_together(generated: Path) -> None:
    found = values_of(measure(generated))
    cpu, memory = found["cpu", None], found["memory", None]
    assert memory[cpu == 50].max() <= memory[cpu == 100].min()
    assert set(np.unique(cpu)) <= set(range(50, 801, 50))


def test_dags_hold_and_every_level_follows_from_the_one_above(generated: Path) -> None:
    trace = read_trace(generated)  # checks numbering, parents, cycles, durations
    assert trace.num_profiles == JOBS
    assert trace.levels == (1,)
    edges = trace.edges.to_pandas()
    assert (edges.parent < edges.child).all()
    assert not edges.duplicated().any()
    published_edges = 9_419_028 / (0.483 * 4_201_014)
    per_job = edges.groupby("profile").size()
    assert per_job.mean() == pytest.approx(published_edges, rel=0.05)


def test_arrivals_start_at_zero_and_never_fall(generated: Path) -> None:
    trace = read_trace(generated)
    arrival = trace.stages["arrival_ms"].to_numpy()
    assert arrival[0] == 0
    assert (np.diff(arrival) >= 0).all()
    assert pc.count_distinct(trace.stages["query"]).as_py() > 100


def test_the_simulator_takes_the_one_list_for_all_waves(tmp_path: Path) -> None:
    write(None, tmp_path / "t.parquet", AlibabaLikeParams(jobs=50), seed=1)
    trace = read_trace(tmp_path / "t.parquet")
    arrays = compile_profiles(trace).arrays
    assert (arrays.table == arrays.table[:, :, :1]).all()  # no wave is told from another, no warm-up is added
    assert arrays.mean_ms == pytest.approx(values_of(measure(tmp_path / "t.parquet"))["stage_s", None] * 1000)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first, again, other = (tmp_path / name for name in ("a.parquet", "b.parquet", "c.parquet"))
    options = AlibabaLikeParams(jobs=300)
    write(None, first, options, seed=1)
    write(None, again, options, seed=1)
    write(None, other, options, seed=2)
    assert first.read_bytes() == again.read_bytes()
    assert first.read_bytes() != other.read_bytes()


def test_a_longer_trace_begins_like_a_shorter_one_over_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearsched.problems.dag_jobs.traces.alibaba_like.CHUNK", 100)
    summary = write(None, tmp_path / "long.parquet", AlibabaLikeParams(jobs=250), seed=3)
    write(None, tmp_path / "short.parquet", AlibabaLikeParams(jobs=200), seed=3)
    long, short = (read_trace(tmp_path / name).stages for name in ("long.parquet", "short.parquet"))
    assert long.slice(0, len(short)).equals(short)
    assert summary.jobs == 250
    assert (summary.stages, summary.tasks) == (len(long), pc.sum(long["num_tasks"]).as_py())


def test_options_bound_what_they_say(tmp_path: Path) -> None:
    options = AlibabaLikeParams(jobs=500, min_stages=3, max_stages=6, dag_only=True, max_tasks=20, spread=0.0)
    write(None, tmp_path / "t.parquet", options, seed=1)
    trace = read_trace(tmp_path / "t.parquet")
    stages = trace.jobs["stages"].to_numpy()
    assert (stages.min(), stages.max()) == (3, 6)
    assert len(np.unique(trace.edges["profile"].to_numpy())) == 500
    assert pc.max(trace.stages["num_tasks"]).as_py() == 20
    assert set(pc.list_value_length(trace.durations["duration_ms"]).to_pylist()) == {1}


def test_task_durations_may_stand_for_stage_durations(tmp_path: Path) -> None:
    write(None, tmp_path / "t.parquet", AlibabaLikeParams(jobs=5000, duration="task"), seed=1)
    values = np.ceil(values_of(measure(tmp_path / "t.parquet"))["stage_s", None] - 0.01)
    assert distance(values, "task_s", None) < 1.95 / np.sqrt(len(values))


@pytest.mark.parametrize(
    ("path", "options", "words"),
    [
        (Path("jobs.csv"), AlibabaLikeParams(), "reads no file"),
        (None, AlibabaLikeParams(min_stages=5, max_stages=4), "min_stages 5 is larger than max_stages 4"),
        (None, AlibabaLikeParams(max_stages=1, dag_only=True), "dag_only"),
    ],
)
def test_refusals_are_one_line(tmp_path: Path, path: Path | None, options: AlibabaLikeParams, words: str) -> None:
    with pytest.raises(ClearschedError, match=words) as caught:
        write(path, tmp_path / "t.parquet", options, seed=1)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("variation", [0.1, 0.5, 1.0, 1.5])
def test_the_spread_keeps_the_mean_and_has_the_variation_asked_for(variation: float) -> None:
    factors = spread_factors(variation)
    assert len(factors) == POINTS
    assert factors.mean() == pytest.approx(1)
    assert factors.std() / factors.mean() == pytest.approx(variation)
    assert (np.diff(factors) > 0).all()


def test_the_comparison_holds_published_against_generated(generated: Path) -> None:
    table = compare_with_published(generated)
    assert table.column_names == ["quantity", "quantile", "published", "generated"]
    rows = {(row["quantity"], row["quantile"]): row for row in table.to_pylist()}
    assert rows["stages a job", 0.9]["published"] == 7  # as in the file itself
    assert rows["cpu of a task (cores)", 1.0]["published"] == 8
    for quantity in ("stages a job", "mean task duration (s)"):
        row = rows[quantity, 0.75]
        assert row["generated"] == pytest.approx(row["published"], abs=1)
    assert any(quantity.startswith("level of a stage, critical path of 3") for quantity, _ in rows)


def test_the_comparison_takes_any_cut_of_row_groups(generated: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    whole = pq.read_table(generated)
    pq.write_table(whole, tmp_path / "cut.parquet", row_group_size=1001)
    assert compare_with_published(tmp_path / "cut.parquet").equals(compare_with_published(generated))


def test_a_trace_without_arrivals_is_not_compared() -> None:
    with pytest.raises(ClearschedError, match="does not know arrivals, cpu and memory"):
        compare_with_published(Path(__file__).parents[1] / "data" / "tpch-spark.parquet")


def test_a_file_that_is_no_trace_is_not_compared(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_text("no trace")
    for path in (tmp_path / "t.parquet", tmp_path / "none.parquet"):
        with pytest.raises(ClearschedError, match=r"not a Parquet file|no such file") as caught:
            compare_with_published(path)
        assert "\n" not in str(caught.value)
