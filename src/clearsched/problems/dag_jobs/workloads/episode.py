"""One episode written by hand: a JSON file of the form of the golden files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.files import read_json
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.traces.trace import Trace


def read_episode(path: Path, trace: Trace, *, durations: str, seed: int) -> tuple[Workload, np.ndarray, int]:
    """One episode from a JSON file of the form of the golden files.

    Returns the workload (jobs in order of arrival), the position in the file of each of its jobs, and the warm-up
    delay (ms).

    Raises:
        ClearschedError: the file is no such JSON, or names a profile that the trace does not have.
    """
    content = read_json(path)
    whole = {}
    for name in ("num_executors", "moving_delay_ms", "warmup_delay_ms"):
        whole[name] = _whole_number(content, name, f"{path}")
    jobs = content.get("jobs")
    if not isinstance(jobs, list) or not jobs:
        raise ClearschedError(f"{path}: jobs: a list of at least one job expected")
    profile, arrival = [], []
    for index, job in enumerate(jobs):
        where = f"{path}: jobs[{index}]"
        arrival.append(_whole_number(job, "arrival_ms", where))
        for name in ("query", "size"):
            if name not in job:
                raise ClearschedError(f"{where}: {name} is missing")
        try:
            profile.append(trace.find(str(job["query"]), str(job["size"])))
        except ClearschedError as error:
            raise ClearschedError(f"{where}: {error}") from None
    order = np.argsort(np.asarray(arrival, np.int64), kind="stable")
    workload = Workload(
        np.asarray(profile, np.int64)[order],
        np.asarray(arrival, np.int64)[order],
        whole["num_executors"],
        whole["moving_delay_ms"],
        seed,
        durations == "mean",
    )
    return workload, order, whole["warmup_delay_ms"]


def _whole_number(content: Any, name: str, where: str) -> int:
    value = content.get(name) if isinstance(content, dict) else None
    # The bound also refuses NaN and infinity, and keeps every sum of times within 64 bits.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2**53 or value != int(value):
        raise ClearschedError(f"{where}: {name} is {json.dumps(value)}: a whole number of at least 0 expected")
    return int(value)
