"""What a trace of event logs says of its origin, and of what its numbers mean."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from clearsched import __version__
from clearsched.files import digest_json
from clearsched.problems.dag_jobs.settings.sources import SparkEventlogParams
from clearsched.problems.dag_jobs.traces.spark_eventlog.parts import Log
from clearsched.problems.dag_jobs.traces.spark_eventlog.reading import size_of
from clearsched.problems.dag_jobs.traces.summary import Summary

SOURCE = "spark-eventlog"

NAMED_INPUTS = 100
"""Files that are named; of the others the number and the digest tell."""

WAVES_MEANING = {
    "fresh": "first task of an executor core in the job",
    "first_wave": "first task of an executor core in a stage of the job, if it had run another stage of it",
    "rest_wave": "later tasks of that core in the same stage",
}
LEVEL_MEANING = (
    "executor cores that the job used, rounded down to a power of two; a job ran once, so its stages have one level"
)
DURATION_MEANING = {
    "processor": "processor time of a successful task (its deserialisation and its run), in ms, at least 1",
    "wall": "finish minus launch time of a successful task, in ms, at least 1",
}


def metadata_of(
    path: Path, logs: list[Log], options: SparkEventlogParams, summary: Summary, table: pa.Table
) -> dict[str, Any]:
    """What the file says of its origin: the logs by name and size (a hash of large ones would take long)."""
    base = path if path.is_dir() else path.parent
    inputs = {
        str(file.relative_to(base) if file.is_relative_to(base) else file): size_of(file)
        for log in logs
        for file in log.files
    }
    levels = pc.unique(pc.struct_field(pc.list_flatten(table["durations"]), "level")).to_pylist()
    return {
        "source": SOURCE,
        "version": __version__,
        "options": options.model_dump(mode="json"),
        "inputs_bytes": dict(list(inputs.items())[:NAMED_INPUTS]),
        "inputs": {"logs": len(logs), "files": len(inputs), "digest": digest_json(inputs)},
        "levels": sorted(levels),
        "level_meaning": LEVEL_MEANING,
        "waves": WAVES_MEANING,
        "duration": DURATION_MEANING[options.clock],
        "summary": asdict(summary),
    }
