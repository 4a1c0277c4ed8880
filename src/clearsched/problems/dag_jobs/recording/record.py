"""An episode on disk: its tasks, decisions and jobs as Parquet files (docs/recording.md).

An episode that was simulated with `record_tasks` (and `record_decisions`) becomes a `Recording`; `chrome_trace.py`
writes the same as a trace that Perfetto opens.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.files import digest_bytes, make_folder, provenance, told
from clearsched.problems.dag_jobs.recording import lanes
from clearsched.problems.dag_jobs.recording.lanes import (
    ATTEMPT,
    DURATION_MS,
    FAILED,
    START_MS,
    TASK_JOB,
    TASK_STAGE,
    WAVE,
)
from clearsched.problems.dag_jobs.schemas import WAVES
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Workload
from clearsched.schemas import field, read_table, write_table

WORD = pa.dictionary(pa.int32(), pa.string())

RECORDED_TASKS = pa.schema(
    [
        field("start_ms", pa.int64(), "ms", "start of the attempt"),
        field("end_ms", pa.int64(), "ms", "its end: the task is done, or the executor failed"),
        field("executor", pa.int32(), "", "executor that ran it: one that could have, executors are interchangeable"),
        field("job", pa.int32(), "", "index of the job, in order of arrival"),
        field("query", WORD, "", "query of the job's profile"),
        field("size", WORD, "", "input size of the job's profile"),
        field("stage", pa.int32(), "", "index of the stage in its job"),
        field("attempt", pa.int32(), "", "starts of the stage before this one; without faults the index of the task"),
        field("wave", WORD, "", "what the executor did before: fresh to the job, first or later task in the stage"),
        field("failed", pa.bool_(), "", "whether the executor failed before the task was done"),
    ]
)
"""One row an attempt of a task, in order of starting."""

RECORDED_DECISIONS = pa.schema(
    [
        field("decision", pa.int64(), "", "index of the decision, those without a candidate included"),
        field("time_ms", pa.int64(), "ms", "simulated time"),
        field("source_job", pa.int32(), "", "job in which the executors sit; none: the global pool", True),
        field("source_stage", pa.int32(), "", "stage whose executors are decided on, if it is one stage's", True),
        field("k", pa.int32(), "executors", "executors to decide on"),
        field("target_job", pa.int32(), "", "job that was chosen; none: the executors stay idle", True),
        field("target_stage", pa.int32(), "", "stage that was chosen, in its job", True),
        field("requested", pa.int32(), "executors", "executors that the policy asked for"),
        field("committed", pa.int32(), "executors", "executors that the stage got: at most k and its demand"),
    ]
)
"""One row a decision (docs/simulator.md §9), in order."""

RECORDED_JOBS = pa.schema(
    [
        field("job", pa.int32(), "", "index of the job, in order of arrival"),
        field("profile", pa.int32(), "", "profile of the job in the trace"),
        field("query", WORD, "", "query of the profile"),
        field("size", WORD, "", "input size of the profile"),
        field("arrival_ms", pa.int64(), "ms", "time of arrival"),
        field("completion_ms", pa.int64(), "ms", "time of completion"),
    ]
)
"""One row a job."""

SCHEMAS = {"tasks": RECORDED_TASKS, "decisions": RECORDED_DECISIONS, "jobs": RECORDED_JOBS}
"""The files of a recording, `<name>.parquet`."""


@dataclass(frozen=True)
class Recording:
    """Everything that happened in an episode.

    Attributes:
        tasks: schema `RECORDED_TASKS`.
        decisions: schema `RECORDED_DECISIONS`; None if they were not recorded.
        jobs: schema `RECORDED_JOBS`.
        settings: the episode's settings: policy, num_executors, moving_delay_ms, warmup_delay_ms, seed, durations,
            semantics; and a digest of the episode.
    """

    tasks: pa.Table
    decisions: pa.Table | None
    jobs: pa.Table
    settings: dict[str, Any]

    @property
    def num_executors(self) -> int:
        """Executors of the cluster."""
        return int(self.settings["num_executors"])

    @property
    def recovery_ms(self) -> int:
        """Time that an executor is away after a failure, ms."""
        return int(self.settings["semantics"].get("recovery_ms", 0))


def record(result: EpisodeResult, profiles: Profiles, workload: Workload, policy: str = "") -> Recording:
    """The recording of an episode.

    Args:
        result: of `simulate(..., record_tasks=True, record_decisions=True)`, or of a `Simulation` made so.
        profiles, workload: what was simulated.
        policy: name of the policy, for the reader.

    Raises:
        ClearschedError: the episode's tasks were not recorded, or do not fit on the cluster's executors.
    """
    if result.tasks is None:
        raise ClearschedError("recording: the tasks of this episode were not kept: simulate it with record_tasks=True")
    semantics = asdict(workload.semantics)
    jobs = _job_table(result, profiles, workload)
    tasks = _task_table(result.tasks, jobs, workload.num_executors, int(semantics["recovery_ms"]))
    decisions = None if result.decisions is None else _decision_table(result.decisions)
    settings = {
        "policy": policy,
        "num_executors": int(workload.num_executors),
        "moving_delay_ms": int(workload.moving_delay_ms),
        "warmup_delay_ms": int(profiles.warmup_delay_ms),
        "seed": int(workload.seed),
        "durations": "mean" if workload.mean_durations else "sampled",
        "semantics": semantics,
        "episode": digest_bytes(result.tasks.tobytes() + result.completion_ms.tobytes()),
    }
    return Recording(tasks, decisions, jobs, settings)


def write_parquet(recording: Recording, folder: str | Path) -> None:
    """Write `tasks.parquet`, `decisions.parquet` (if recorded) and `jobs.parquet` to a folder, each atomically.

    Raises:
        ClearschedError: `folder` is a file, or cannot be written to.
    """
    folder = make_folder(folder)
    with told(folder):
        (folder / "decisions.parquet").unlink(missing_ok=True)  # of an earlier episode
    for name, schema in SCHEMAS.items():
        table = getattr(recording, name)
        if table is not None:
            write_table(folder / f"{name}.parquet", table, schema, provenance(recording.settings, {}))


def read_parquet(folder: str | Path) -> Recording:
    """Read what `write_parquet` wrote.

    Raises:
        ClearschedError: a file is missing or broken, or the files are of different episodes.
    """
    folder = Path(folder)
    tables: dict[str, pa.Table] = {}
    settings = []
    for name, schema in SCHEMAS.items():
        path = folder / f"{name}.parquet"
        if name != "decisions" or path.exists():
            tables[name], metadata = read_table(path, schema)
            settings.append(metadata.get("params"))
    if not isinstance(settings[0], dict) or any(other != settings[0] for other in settings):
        raise ClearschedError(f"{folder}: its files are not of one episode: record it again")
    return Recording(tables["tasks"], tables.get("decisions"), tables["jobs"], settings[0])


def _job_table(result: EpisodeResult, profiles: Profiles, workload: Workload) -> pa.Table:
    profile = np.asarray(workload.profile, np.int64)
    query, size = (pa.array([profiles.names[p][i] for p in profile]).dictionary_encode() for i in range(2))
    index, arrival_ms, completion_ms = np.arange(len(profile)), result.arrival_ms, result.completion_ms
    columns = [index.astype(np.int32), profile.astype(np.int32), query, size, arrival_ms, completion_ms]
    return pa.table(columns, schema=RECORDED_JOBS)


def _task_table(tasks: np.ndarray, jobs: pa.Table, num_executors: int, recovery_ms: int) -> pa.Table:
    start_ms, job = tasks[:, START_MS], tasks[:, TASK_JOB]
    faults = tasks.shape[1] > FAILED
    attempt = tasks[:, ATTEMPT] if faults else starts_before(job, tasks[:, TASK_STAGE])
    failed = tasks[:, FAILED] != 0 if faults else np.zeros(len(tasks), bool)
    wave = pa.DictionaryArray.from_arrays(pa.array(tasks[:, WAVE].astype(np.int32)), list(WAVES))
    query, size = (jobs[name].combine_chunks().take(pa.array(job)) for name in ("query", "size"))
    columns = [
        start_ms,
        start_ms + tasks[:, DURATION_MS],
        lanes.assign_executors(tasks, num_executors, recovery_ms),
        job.astype(np.int32),
        query,
        size,
        tasks[:, TASK_STAGE].astype(np.int32),
        attempt.astype(np.int32),
        wave,
        failed,
    ]
    return pa.table(columns, schema=RECORDED_TASKS)


def _decision_table(decisions: np.ndarray) -> pa.Table:
    index = np.arange(len(decisions))
    small = [pa.array(column.astype(np.int32), mask=column < 0) for column in decisions.T[1:]]
    return pa.table([index, decisions[:, 0], *small], schema=RECORDED_DECISIONS)


def starts_before(job: np.ndarray, stage: np.ndarray) -> np.ndarray:
    """int64[n]: how many rows before each have the same job and stage."""
    order = np.lexsort((stage, job))  # stable: rows of a stage stay in order
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(job[order]) != 0) | (np.diff(stage[order]) != 0)
    first = np.flatnonzero(new)
    before = np.empty(len(order), np.int64)
    before[order] = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    return before
