"""Where episodes run: threads, another executor that shares nothing, and what the environment asks for."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest

from clearsched.errors import ClearschedError
from clearsched.parallel import SWITCH, Spread, chosen, executor, variable
from clearsched.parallel.settings import ParallelParams


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
