"""Generated DAGs: shapes by hand, distributions against theory, the same bytes for the same seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.settings.sources import SyntheticParams
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.traces import Trace, read_trace, synthetic
from toys import work_by_hand_s


def made(folder: Path, seed: int = 1, name: str = "trace.parquet", **options: Any) -> Trace:
    synthetic.write(None, folder / name, SyntheticParams(**options), seed)
    return read_trace(folder / name)


def dags(trace: Trace) -> list[list[list[int]]]:
    parents = trace.stages["parents"].to_pylist()
    return [parents[a:b] for a, b in zip(trace.profile_starts[:-1], trace.profile_starts[1:], strict=True)]


def test_the_default_is_sound_and_counted(tmp_path: Path) -> None:
    summary = synthetic.write(None, tmp_path / "trace.parquet", SyntheticParams(), 1)
    trace = read_trace(tmp_path / "trace.parquet")
    profiles = compile_profiles(trace)
    assert (summary.source, summary.jobs, summary.stages) == ("synthetic", 100, len(trace.stages))
    assert summary.tasks == profiles.num_tasks.sum()
    assert summary.work_executor_s == pytest.approx(work_by_hand_s(trace)) == profiles.work_ms.sum() / 1000
    assert {query.split("-")[0] for query in trace.jobs["query"].to_pylist()} == set(synthetic.SHAPES)
    assert trace.metadata["options"]["jobs"] == 100


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        made(tmp_path, seed, name)
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b
    assert a != c


@pytest.mark.parametrize("templates", [None, 5])
def test_a_job_does_not_depend_on_how_many_follow(
    tmp_path: Path, templates: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = made(tmp_path, jobs=10, templates=templates)
    monkeypatch.setattr(synthetic, "CHUNK", 7)
    many = made(tmp_path, jobs=30, templates=templates)
    assert many.stages.slice(0, len(few.stages)).equals(few.stages)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_chains_and_diamonds_by_hand(tmp_path: Path, count: int) -> None:
    sizes = {"stages_min": count, "stages_max": count, "jobs": 2}
    chain = [[]] + [[i] for i in range(count - 1)]
    assert dags(made(tmp_path, shape="chain", **sizes)) == [chain] * 2
    diamond = [[]] + [[0]] * (count - 2) + [list(range(1, count - 1))] if count > 2 else chain
    assert dags(made(tmp_path, shape="diamond", **sizes)) == [diamond] * 2


def test_map_reduce(tmp_path: Path) -> None:
    """With one map a round a chain; else every reduce joins the maps before it, and all maps hang on the last one."""
    for dag in dags(made(tmp_path, shape="map_reduce", fan_in=1, stages_max=7)):
        assert dag == [[]] + [[i] for i in range(len(dag) - 1)]
    for dag in dags(made(tmp_path, shape="map_reduce", fan_in=4, stages_min=1, stages_max=20)):
        reduce: list[int] = []
        maps: list[int] = []
        for number, parents in enumerate(dag):
            if maps and parents == maps:
                reduce, maps = [number], []
            else:
                assert parents == reduce
                maps.append(number)
                assert len(maps) <= 4


def test_layers(tmp_path: Path) -> None:
    found = dags(made(tmp_path, shape="layers", fan_in=3, width=4, stages_min=1, stages_max=40))
    for dag in found:
        depth: list[int] = []
        for parents in dag:
            assert len(parents) <= 3
            assert len({depth[p] for p in parents}) <= 1  # all in one layer
            depth.append(1 + max((depth[p] for p in parents), default=-1))
        assert depth == sorted(depth)
        assert np.bincount(depth).max() <= 7
    assert max(len(dag) for dag in found) > 30
    assert max(len(parents) for dag in found for parents in dag) == 3


def test_jobs_of_a_template_share_the_dag(tmp_path: Path) -> None:
    trace = made(tmp_path, jobs=60, templates=4)
    by_name: dict[str, list[Any]] = {}
    for name, dag in zip(trace.jobs["query"].to_pylist(), dags(trace), strict=True):
        by_name.setdefault(name, []).append(dag)
    assert len(by_name) == 4
    assert all(dag == of[0] for of in by_name.values() for dag in of)
    assert len(set(trace.jobs["tasks"].to_pylist())) > 10


ONE = {"shape": "chain", "stages_min": 1, "stages_max": 1, "jobs": 4000, "samples": 1}


def durations(trace: Trace, wave: str = "rest_wave", level: int = 1) -> np.ndarray:
    entries = trace.durations.to_pylist()
    return np.concatenate([e["duration_ms"] for e in entries if (e["wave"], e["level"]) == (wave, level)])


def test_lognormal_durations_and_tasks(tmp_path: Path) -> None:
    """Medians and standard deviations of the logarithms, within 4 standard errors."""
    trace = made(tmp_path, **ONE, task_spread=0.0, duration_sigma=1.5, tasks_median=1000, tasks_max=10**7)
    for values, median, sigma in (
        (durations(trace), 2000, 1.5),
        (trace.stages["num_tasks"].to_numpy(), 1000, 1.25**0.5),  # between stages 1, between jobs 0.5
    ):
        logarithms = np.log(values)
        assert logarithms.mean() == pytest.approx(np.log(median), abs=4 * sigma / 4000**0.5)
        assert logarithms.std() == pytest.approx(sigma, rel=4 / 8000**0.5)


def test_pareto_durations(tmp_path: Path) -> None:
    """The survival function is a power of the duration: P(X > k x median) = 0.5 k^-alpha."""
    values = durations(made(tmp_path, **ONE, task_spread=0.0, duration_tail="pareto", pareto_alpha=1.5))
    assert values.min() >= 2000 / 2 ** (1 / 1.5) - 1
    for times in (1, 2, 4, 8):
        share = 0.5 * times**-1.5
        assert (values > 2000 * times).mean() == pytest.approx(share, abs=4 * (share / 4000) ** 0.5)


def test_levels_and_waves(tmp_path: Path) -> None:
    """Tasks are 4^0.5 = 2 times longer with 4 executors than with 1; first tasks 3 times longer than later ones."""
    trace = made(tmp_path, levels=(1, 4), contention=0.5, first_wave=3.0, duration_median_s=100)
    assert trace.levels == (1, 4)
    assert durations(trace, level=4) == pytest.approx(2 * durations(trace, level=1), rel=1e-3, abs=2)
    assert durations(trace, "first_wave") == pytest.approx(3 * durations(trace), rel=1e-3, abs=2)


def test_arrivals(tmp_path: Path) -> None:
    arrival = made(tmp_path, **ONE, interarrival_s=5.0).arrival_ms
    assert arrival[0] == 0
    assert np.diff(arrival).min() >= 0
    assert np.diff(arrival).mean() == pytest.approx(5000, rel=4 / 4000**0.5)


def test_what_cannot_be(tmp_path: Path) -> None:
    for path, options, told in (
        (tmp_path, {}, "traces.path: .* reads no file"),
        (None, {"stages_min": 5, "stages_max": 4}, "stages_min must not be above stages_max"),
        (None, {"levels": (4, 1)}, r"levels: \[4, 1\]: increasing numbers"),
    ):
        with pytest.raises(ClearschedError, match=told):
            synthetic.write(path, tmp_path / "trace.parquet", SyntheticParams(**options), 1)
    assert list(tmp_path.iterdir()) == []
