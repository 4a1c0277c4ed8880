"""What a running engine may know of a job beforehand: the stages of its template, as a trace has measured them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from clearsched.files import check_file, check_inputs, write_text
from clearsched.problems.dag_jobs.traces.dags import topological_order
from clearsched.problems.dag_jobs.traces.durations import mean_task_ms
from clearsched.problems.dag_jobs.traces.sources import load_profiles
from clearsched.problems.dag_jobs.traces.trace import Trace

FORMAT, VERSION = "clearsched-profiles", 1


def write_templates(path: Path, out: Path, moving_delay_s: float | None = None) -> int:
    """Write the profiles of a trace for `spark.clearsched.profiles`; the number of templates.

    Args:
        path: a Parquet trace, or a folder of the `tpch-decima` layout.
        out: JSON file to write.
        moving_delay_s: what a move costs in the eyes of the rules; None: not told.

    Raises:
        ClearschedError: the trace is missing or broken, or would be overwritten.
    """
    check_file(out)
    check_inputs(out, [path])
    templates = templates_of(load_profiles(path))
    told = {} if moving_delay_s is None else {"moving_delay_ms": 1000 * moving_delay_s}
    document = {"format": FORMAT, "version": VERSION, **told, "templates": templates}
    write_text(out, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return len(templates)


def templates_of(trace: Trace) -> dict[str, list[dict[str, Any]]]:
    """`query size` -> its stages, parents first: tasks, mean milliseconds of a task, parents.

    Of several profiles of one name the last counts: the latest run. Where a query has one size only, its name alone
    stands for it too.
    """
    stages = trace.stages.select(["query", "size", "num_tasks", "parents"]).to_pylist()
    mean_ms = mean_task_ms(trace.stages["durations"]).tolist()
    found, sizes = {}, dict[str, set[str]]()
    starts = trace.profile_starts.tolist()
    for first, last in pairwise(starts):
        query, size = stages[first]["query"], stages[first]["size"]
        found[f"{query} {size}".strip()] = _parents_first(stages[first:last], mean_ms[first:last])
        sizes.setdefault(query, set()).add(size)
    for query, (size, *others) in sizes.items():
        if size and not others:
            found.setdefault(query, found[f"{query} {size}"])
    return found


def _parents_first(stages: Sequence[dict[str, Any]], mean_ms: Sequence[float]) -> list[dict[str, Any]]:
    order = topological_order([stage["parents"] for stage in stages], str(stages[0]["query"]))
    place = {stage: position for position, stage in enumerate(order)}
    return [
        {
            "tasks": stages[stage]["num_tasks"],
            "task_ms": round(mean_ms[stage], 3),
            "parents": sorted(place[parent] for parent in stages[stage]["parents"]),
        }
        for stage in order
    ]
