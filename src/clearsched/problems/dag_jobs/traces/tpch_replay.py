"""Recorded jobs as jobs of sleeping tasks, for a real engine that replays them: the same DAGs, fewer tasks, less work.

A real engine on one machine can't run fifty executor-seconds of processor time a job, but its tasks can sleep them:
then the engine and the policy are real, and the load is none. Here are the jobs of such a replay as a trace like any
other: episodes are drawn over it, policies are tuned and fitted on it, and the simulator runs it
(docs/engines-spark-runs.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clearsched.problems.dag_jobs.traces import tpch_spark
from clearsched.problems.dag_jobs.traces.summary import Summary, summary_of, write_with
from clearsched.problems.dag_jobs.traces.trace import Trace, make_trace

if TYPE_CHECKING:
    from clearsched.problems.dag_jobs.settings.sources import TpchReplayParams

SIZES = ("5g", "10g", "20g")
TASKS, SECONDS = 0.1, 0.2

LEVEL = 1
"""The one level of a replay: a sleep takes as long however many executors its job has."""

WAVE = "first_wave"
"""The one wave of a replay: a sleep takes as long on whatever executor. It stands in for the others."""

JOIN_MS = 1
"""How long the one task takes that ends a job of several last stages: a Spark job has one last stage."""


def load(
    path: str | Path | None = None, sizes: Sequence[str] = SIZES, tasks: float = TASKS, seconds: float = SECONDS
) -> Trace:
    """The jobs of a recording, to be replayed.

    Args:
        path: a recording of your own; None for the embedded one.
        sizes: its sizes to keep; none: as `tpch_spark.load`.
        tasks, seconds: see `replay_trace`.

    Raises:
        ClearschedError: as `tpch_spark.load`.
    """
    return replay_trace(tpch_spark.load(path, sizes), tasks, seconds)


def write(path: Path | None, out: Path, options: TpchReplayParams | None, seed: int) -> Summary:
    """Write the jobs to `out` (see `traces.sources`).

    Raises:
        ClearschedError: as `load`.
    """
    trace = load(path, options.sizes, options.tasks, options.seconds) if options else load(path)
    summary = summary_of(trace, "tpch-replay")
    write_with(out, trace, summary)
    return summary


def replay_trace(trace: Trace, tasks: float, seconds: float) -> Trace:
    """The trace with so many times its tasks and so many times its executor time, to the rounding of the tasks.

    A stage of n tasks gets max(1, round(n x tasks)), each of which takes as much longer as there are fewer. All
    measured durations but those of fresh executors are in one list; a job of several last stages gets one more, of one
    task of `JOIN_MS`, after them.
    """
    rows: list[dict[str, Any]] = []
    for begin, end in pairwise(trace.profile_starts.tolist()):
        of_job = trace.stages.slice(begin, end - begin).to_pylist()
        rows += [_stage_row(row, tasks, seconds) for row in of_job]
        if len(last := _last_stages(of_job)) > 1:
            rows.append(
                rows[-1] | {"stage": end - begin, "num_tasks": 1, "parents": last, "durations": _list([JOIN_MS])}
            )
    metadata = {
        "source": "tpch-replay",
        "levels": [LEVEL],
        "replay": {"of": trace.metadata.get("source", ""), "tasks": tasks, "seconds": seconds},
        "note": trace.metadata.get("note", ""),
    }
    return make_trace(rows, metadata, "tpch-replay")


def _stage_row(row: dict[str, Any], tasks: float, seconds: float) -> dict[str, Any]:
    measured = [entry for entry in row["durations"] if entry["wave"] != "fresh" and entry["duration_ms"]]
    measured = measured or [entry for entry in row["durations"] if entry["duration_ms"]]
    every = np.sort(np.concatenate([entry["duration_ms"] for entry in measured]).astype(np.float64))
    fewer = max(1, round(row["num_tasks"] * tasks))
    longer = row["num_tasks"] / fewer * seconds
    return row | {"num_tasks": fewer, "durations": _list(np.maximum(np.rint(every * longer), 1).astype(int).tolist())}


def _list(durations: list[int]) -> list[dict[str, Any]]:
    return [{"wave": WAVE, "level": LEVEL, "duration_ms": durations}]


def _last_stages(rows: Sequence[dict[str, Any]]) -> list[int]:
    read = {parent for row in rows for parent in row["parents"]}
    return [row["stage"] for row in rows if row["stage"] not in read]
