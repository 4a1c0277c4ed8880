"""Where episodes run: threads, another executor that shares nothing, and what the environment asks for."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from clearsched import heuristics, search
from clearsched.errors import ClearschedError
from clearsched.parallel import SWITCH, Spread, chosen, executor, variable
from clearsched.parallel.settings import ParallelParams
from clearsched.problems import find_problem
from one_machine_slurm import slurm
from stages import stage_params


def times(shared: int, task: int) -> int:
    """What the workers do."""
    return shared * task


@pytest.mark.parametrize("kind", ["threads", "processes", "dask"])
def test_answers_come_in_the_order_of_the_tasks(kind: str) -> None:
    if kind == "threads":
        with ThreadPoolExecutor(2) as pool:
            assert list(Spread(pool, times, 3).map(range(5))) == [0, 3, 6, 9, 12]
    elif kind == "processes":
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            assert list(Spread(pool, times, 3).map(range(5))) == [0, 3, 6, 9, 12]
    else:
        distributed = pytest.importorskip("distributed", reason="extra dask: distributed")
        with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
            assert list(Spread(client.get_executor(pure=False), times, 3).map(range(5))) == [0, 3, 6, 9, 12]


@pytest.mark.parametrize(
    ("kind", "engine"),
    [
        ("processes", nullcontext),
        ("dask-slurm", nullcontext),
        pytest.param("dask-slurm", slurm, marks=(pytest.mark.workflow, pytest.mark.engine), id="a real Slurm"),
    ],
)
def test_a_tuning_and_a_search_have_the_same_bytes_wherever_episodes_run(
    kind: str, engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against one thread of this process; without a Slurm the two workers are processes that Dask starts here."""
    if kind == "dask-slurm":
        pytest.importorskip("dask_jobqueue", reason="extra dask: dask-jobqueue")
    if kind == "dask-slurm" and engine is not slurm:
        distributed = pytest.importorskip("distributed", reason="extra dask: distributed")

        def here(settings: ParallelParams) -> Any:
            client = distributed.Client(processes=True, n_workers=2, threads_per_worker=1, dashboard_address=None)
            return closing_executor(client)

        monkeypatch.setattr("clearsched.parallel._dask_slurm", here)
    problem = find_problem("dag_jobs")
    params = stage_params(
        workload={"executors": 4, "jobs": 5, "episodes": {"train": 4, "validation": 2, "test": 2}},
        search={"families": ["stay_and_move"], "evaluations": 8, "restarts": 2, "episodes": 2, "population": 4},
    )
    trace, workloads = tmp_path / "trace.parquet", tmp_path / "workloads.parquet"
    problem.build(params, trace)
    problem.draw(params, trace, workloads)
    monkeypatch.chdir(tmp_path)  # Slurm's jobs read here what they share
    with engine():
        for folder, settings in (("one", ParallelParams(workers=1)), ("other", ParallelParams(kind=kind, workers=2))):
            monkeypatch.setenv(SWITCH, variable(settings))
            out = tmp_path / folder
            out.mkdir()
            heuristics.tune(params, trace, workloads, out / "tuning.parquet", out / "tuned.json")
            search.run(params, "stay_and_move", trace, workloads, out / "tuned.json", out)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(files) > 3
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes(), name


@contextmanager
def closing_executor(client: Any) -> Iterator[Any]:
    """The executor of a Dask client, which ends with it."""
    with client:
        yield client.get_executor(pure=False)


def test_the_environment_tells_what_params_do(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ParallelParams(kind="processes", workers=3)
    assert chosen({SWITCH: variable(settings)}) == settings
    assert chosen({}) == ParallelParams() and variable(ParallelParams()) == "{}"
    monkeypatch.setenv(SWITCH, variable(ParallelParams(workers=3)))
    with executor() as pool:
        assert isinstance(pool, ThreadPoolExecutor) and pool._max_workers == 3


@pytest.mark.parametrize(
    ("text", "part"),
    [("{", "JSON"), ('{"kind": "ray"}', "kind"), ('{"worker": 1}', "worker"), ('{"workers": 0}', "workers")],
)
def test_a_malformed_environment_is_a_line(text: str, part: Any) -> None:
    with pytest.raises(ClearschedError, match=f"{SWITCH}: .*{part}"):
        chosen({SWITCH: text})
