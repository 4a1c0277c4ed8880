"""An episode as a Chrome trace: a file that Perfetto (ui.perfetto.dev) and chrome://tracing open.

The format is the JSON object form of the Trace Event Format (Google): complete events (ph X) for tasks, a thread an
executor; nestable asynchronous events (b, e) for jobs; instant events (i) for decisions; counters (C); names (M).
Times are in microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from clearsched.files import atomic_path
from clearsched.problems.dag_jobs.recording.record import Recording

EXECUTORS, JOBS, POLICY = 1, 2, 3
"""The processes of the trace."""


def write_chrome_trace(recording: Recording, path: str | Path) -> None:
    """Write a recording as a Chrome trace, atomically, one event a line.

    Raises:
        ClearschedError: `path` is a folder, or cannot be written to.
    """
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        stream.write(f'{{"displayTimeUnit":"ms","otherData":{json.dumps(recording.settings)},"traceEvents":[\n')
        separator = ""
        for event in _events(recording):
            stream.write(separator + event)
            separator = ",\n"
        stream.write("\n]}\n")


def _events(recording: Recording) -> Iterator[str]:
    yield from _names(recording)
    yield from _jobs(recording)
    yield from _tasks(recording)
    yield from _decisions(recording)
    tasks, jobs = recording.tasks, recording.jobs
    yield from _counter(JOBS, "jobs in the system", "jobs", jobs["arrival_ms"], jobs["completion_ms"])
    yield from _counter(EXECUTORS, "busy executors", "executors", tasks["start_ms"], tasks["end_ms"])


def _names(recording: Recording) -> Iterator[str]:
    """Names and order of the processes and of the executors' threads."""
    for pid, name in ((EXECUTORS, "executors"), (JOBS, "jobs"), (POLICY, "policy")):
        yield _metadata(pid, 0, "process_name", f'"name":"{name}"')
        yield _metadata(pid, 0, "process_sort_index", f'"sort_index":{pid}')
    # Thread 0 is what viewers take for a process's own, so executor e is thread e + 1.
    for executor in range(recording.num_executors):
        yield _metadata(EXECUTORS, executor + 1, "thread_name", f'"name":"executor {executor}"')
        yield _metadata(EXECUTORS, executor + 1, "thread_sort_index", f'"sort_index":{executor + 1}')
    policy = json.dumps(f"decisions of {recording.settings.get('policy') or 'the policy'}")
    yield _metadata(POLICY, 1, "thread_name", f'"name":{policy}')


def _metadata(pid: int, tid: int, name: str, argument: str) -> str:
    return f'{{"ph":"M","pid":{pid},"tid":{tid},"name":"{name}","args":{{{argument}}}}}'


def _jobs(recording: Recording) -> Iterator[str]:
    """A bar a job, from its arrival to its completion."""
    labels = job_labels(recording)
    for row in recording.jobs.to_pylist():
        job, name = row["job"], json.dumps(f"{labels[row['job']]} {row['query']} {row['size']}")
        common = f'"cat":"job","id":{job},"pid":{JOBS},"tid":0,"name":{name}'
        more = f'"job":{job},"query":{json.dumps(row["query"])},"size":{json.dumps(row["size"])}'
        jct_ms = row["completion_ms"] - row["arrival_ms"]
        yield f'{{"ph":"b","ts":{row["arrival_ms"] * 1000},{common},"args":{{{more},"jct_ms":{jct_ms}}}}}'
        yield f'{{"ph":"e","ts":{row["completion_ms"] * 1000},{common}}}'


def _tasks(recording: Recording) -> Iterator[str]:
    """A bar an attempt of a task on its executor, and one while a failed executor is away."""
    labels, recovery_ms = job_labels(recording), recording.recovery_ms
    jobs = recording.jobs
    texts = [
        f'"query":{json.dumps(query)},"size":{json.dumps(size)}'
        for query, size in zip(jobs["query"].to_pylist(), jobs["size"].to_pylist(), strict=True)
    ]
    columns = ("start_ms", "end_ms", "executor", "job", "stage", "attempt", "wave", "failed")
    for batch in recording.tasks.select(columns).to_batches(max_chunksize=65_536):
        for start, end, executor, job, stage, attempt, wave, failed in zip(
            *(column.to_pylist() for column in batch.columns), strict=True
        ):
            lane = f'"ph":"X","pid":{EXECUTORS},"tid":{executor + 1}'
            yield (
                f'{{{lane},"ts":{start * 1000},"dur":{(end - start) * 1000},"cat":"task",'
                f'"name":"{labels[job]} stage {stage}","args":{{"job":{job},{texts[job]},"stage":{stage},'
                f'"attempt":{attempt},"wave":"{wave}","failed":{"true" if failed else "false"}}}}}'
            )
            if failed and recovery_ms > 0:
                yield f'{{{lane},"ts":{end * 1000},"dur":{recovery_ms * 1000},"cat":"fault","name":"failed"}}'


def _decisions(recording: Recording) -> Iterator[str]:
    """A mark a decision."""
    if recording.decisions is None:
        return
    labels = job_labels(recording)
    for batch in recording.decisions.to_batches(max_chunksize=65_536):
        for row in batch.to_pylist():
            job, stage = row["target_job"], row["target_stage"]
            name = "none" if job is None else f"{labels[job]} stage {stage}: {row['committed']} executors"
            event = {"ph": "i", "s": "t", "pid": POLICY, "tid": 1, "ts": row.pop("time_ms") * 1000}
            yield json.dumps(event | {"cat": "decision", "name": name, "args": row}, separators=(",", ":"))


def _counter(pid: int, name: str, unit: str, begins_ms: pa.ChunkedArray, ends_ms: pa.ChunkedArray) -> Iterator[str]:
    """A counter of intervals under way, one event whenever it changes, 0 at time 0 if nothing begins then."""
    times = np.concatenate([[0], begins_ms.to_numpy(), ends_ms.to_numpy()])
    steps = np.concatenate([[0], np.ones(len(begins_ms), np.int64), np.full(len(ends_ms), -1)])
    moments, index = np.unique(times, return_inverse=True)
    values = np.cumsum(np.bincount(index, weights=steps)).astype(np.int64)
    changes = np.flatnonzero(np.diff(values, prepend=-1))
    for time_ms, value in zip(moments[changes].tolist(), values[changes].tolist(), strict=True):
        yield f'{{"ph":"C","pid":{pid},"ts":{time_ms * 1000},"name":"{name}","args":{{"{unit}":{value}}}}}'


def job_labels(recording: Recording) -> list[str]:
    """`job 0 (a)`, `job 1 (b)`, ...: Perfetto colours a bar by its name without digits, so letters tell jobs apart."""
    return [f"job {job} ({_letters(job)})" for job in range(len(recording.jobs))]


def _letters(number: int) -> str:
    """a, b, ..., z, aa, ab, ...: as spreadsheets name columns."""
    text = ""
    number += 1
    while number > 0:
        number, digit = divmod(number - 1, 26)
        text = chr(ord("a") + digit) + text
    return text
