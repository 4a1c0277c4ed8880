"""Where episodes run side by side: threads here, processes here, or Slurm jobs through Dask; with the same bytes.

The seam is `concurrent.futures.Executor`. An episode's result depends on its policy alone and has its own place, so
no result depends on who ran it. Threads are the default: the compiled loop lets others run meanwhile. Whoever works
elsewhere gets what all tasks share from a file, once, so that a task is a few kilobytes.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from clearsched.errors import ClearschedError
from clearsched.parallel.settings import ParallelParams
from clearsched.temporary import PREFIX

SWITCH = "CLEARSCHED_PARALLEL"
"""The section `parallel` as JSON, which the workflow hands to its rules by the environment: no result depends on it."""

SLURM_WORKERS = 4

T = TypeVar("T")
R = TypeVar("R")


def chosen(given: Mapping[str, str]) -> ParallelParams:
    """What an environment asks for; threads where it asks for nothing.

    Raises:
        ClearschedError: it is malformed.
    """
    text = given.get(SWITCH) or "{}"
    try:
        return ParallelParams.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(key) for key in first["loc"])
        raise ClearschedError(f"{SWITCH}: {place or 'JSON'}: {first['msg']}") from None


def variable(settings: ParallelParams) -> str:
    """The value of `SWITCH`."""
    return json.dumps(settings.model_dump(mode="json", exclude_defaults=True))


@contextmanager
def executor(threads: int | None = None) -> Iterator[Executor]:
    """What the environment asks for; `threads`: so many workers, where it tells none: else as many as numba may use.

    Raises:
        ClearschedError: `SWITCH` is malformed, or Dask is not installed, or Slurm does not answer.
    """
    from numba import get_num_threads

    settings = chosen(os.environ)
    workers = settings.workers or threads or get_num_threads()
    if settings.kind == "threads":
        with ThreadPoolExecutor(workers) as pool:
            yield pool
    elif settings.kind == "processes":
        # Spawned, not forked: this process has threads.
        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
            yield pool
    else:
        with _dask_slurm(settings) as pool:
            yield pool


@contextmanager
def _dask_slurm(settings: ParallelParams) -> Iterator[Executor]:
    """Workers that are Slurm jobs, each with one thread."""
    try:
        from dask_jobqueue import SLURMCluster
        from distributed import Client
    except ImportError:
        raise ClearschedError("parallel: dask-slurm: Dask is not installed: pip install 'clearsched[dask]'") from None
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=PREFIX, ignore_cleanup_errors=True) as logs,
        SLURMCluster(
            queue=settings.partition,
            cores=1,
            processes=1,
            memory=f"{settings.memory_mb}MB",
            walltime=f"{settings.minutes // 60:02d}:{settings.minutes % 60:02d}:00",
            python=sys.executable,
            log_directory=logs,
            scheduler_options={"dashboard_address": None},
        ) as cluster,
    ):
        try:
            cluster.scale(jobs=settings.workers or SLURM_WORKERS)
            with Client(cluster) as client:
                yield client.get_executor(pure=False)
        except (OSError, RuntimeError) as error:
            raise ClearschedError(f"parallel: dask-slurm: {str(error).splitlines()[0]}") from None


class Spread(Generic[T, R]):
    """A function of something that all tasks share and of a task, run by the workers of an executor.

    Args:
        pool: threads get what is shared as it is; others read it from a file, which all of them must reach.
        function: of a module, so that others find it.
        shared: what all tasks need.
    """

    def __init__(self, pool: Executor, function: Callable[[Any, T], R], shared: Any) -> None:
        self._pool, self._call = pool, partial(function, shared)
        if isinstance(pool, ThreadPoolExecutor):
            return
        # Slurm's nodes share the folder that a command runs in, not each other's temporary files.
        place = None if isinstance(pool, ProcessPoolExecutor) else Path.cwd()
        self._folder = tempfile.TemporaryDirectory(dir=place, prefix=PREFIX, ignore_cleanup_errors=True)
        path = Path(self._folder.name) / "shared.pickle"
        path.write_bytes(pickle.dumps(shared, pickle.HIGHEST_PROTOCOL))
        self._call = partial(_elsewhere, str(path), function)

    def map(self, tasks: Iterable[T]) -> Iterator[R]:
        """The answers, in the order of the tasks."""
        return self._until_read(self._pool.map(self._call, list(tasks)))

    def _until_read(self, answers: Iterator[R]) -> Iterator[R]:
        """The answers; what is shared stays in its file until the last one is there, whoever else let go of this."""
        yield from answers


def _elsewhere(path: str, function: Callable[[Any, T], R], task: T) -> R:
    """What a worker in another process does."""
    return function(_shared(path), task)


@lru_cache(maxsize=4)
def _shared(path: str) -> Any:
    """What all tasks share: of this run's own making, so it may be unpickled."""
    return pickle.loads(Path(path).read_bytes())
