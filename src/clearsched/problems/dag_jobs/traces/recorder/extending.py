"""Sizes that are added to a recording: the profiles of both files as one trace, and what it says of its origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.traces.storage import read_trace

SOURCE = "tpch-spark"

ALIKE = {
    "spark_conf": "Spark settings",
    "duration": "clock",
    "waves": "cold runs",
    "tables": "tables",
    "level_meaning": "levels",
}
"""What must be the same in all that a recording holds: key of the metadata -> what an error calls it."""

RECORDED = ("levels", "timed_runs_by_size_and_level", "recorded", "software", "machine", "note")
"""What each recording says of itself."""


class Recorded(NamedTuple):
    """A recording: stages of schema `TRACE`, and the metadata that `record.trace_metadata` or `extended` gave it."""

    stages: pa.Table
    metadata: dict[str, Any]
    where: str

    @property
    def sizes(self) -> list[str]:
        """The sizes in it, in the order of the rows."""
        return list(dict.fromkeys(self.stages["size"].to_pylist()))


def read_recording(path: Path) -> Recorded:
    """Read a recording.

    Raises:
        ClearschedError: the file is missing or broken, or is the trace of another source.
    """
    trace = read_trace(path)
    missing = [key for key in (*ALIKE, "splits", "timed_runs_by_size_and_level") if key not in trace.metadata]
    if trace.metadata.get("source") != SOURCE or missing:
        raise ClearschedError(f"{path}: no recording by `clearsched traces record-tpch`: it cannot be extended")
    return Recorded(trace.stages, trace.metadata, str(path))


def check_extendable(
    base: Recorded, sizes: Sequence[str], metadata: Mapping[str, Any], splits: Mapping[str, Any]
) -> None:
    """Refuse to add to a recording what was made otherwise, or is there already.

    Args:
        base: what is extended.
        sizes: that are to be added.
        metadata: what a new recording would say.
        splits: how the new one would split each size of `base`.

    Raises:
        ClearschedError: names the first size, or the first setting, that stands against it.
    """
    for size in sizes:
        if size in base.sizes:
            raise ClearschedError(
                f"{base.where}: holds size {size} already (it has {', '.join(base.sizes)}): leave it out"
            )
    for key, called in ALIKE.items():
        if difference := _difference(base.metadata[key], metadata[key]):
            raise ClearschedError(f"{base.where}: recorded with other {called}: {difference}: record all sizes anew")
    for size in base.sizes:
        if difference := _difference(base.metadata["splits"].get(size, {}), splits[size]):
            raise ClearschedError(f"{base.where}: size {size} was split otherwise: {difference}: record all sizes anew")


def _difference(there: Any, new: Any) -> str:
    """The first thing in which two settings differ, in words; empty if they are the same."""
    if isinstance(there, Mapping) and isinstance(new, Mapping):
        for key in sorted({*there, *new}):
            if there.get(key) != new.get(key):
                return f"{key} is {there.get(key, 'not set')}, now {new.get(key, 'not set')}"
        return ""
    return "" if there == new else f"{there!r}, now {new!r}"


def extended(base: Recorded, more: Recorded) -> Recorded:
    """Both recordings as one: profiles in the order of size and query, numbered anew; each still says what it is.

    The profiles themselves, their stages and their durations are left as they are.
    """
    both = pa.concat_tables([base.stages, more.stages]).to_pylist()
    jobs = {(row["size"], row["query"]) for row in both}
    number = {job: profile for profile, job in enumerate(sorted(jobs, key=_place))}
    rows = [row | {"profile": number[row["size"], row["query"]]} for row in both]
    rows.sort(key=lambda row: (row["profile"], row["stage"]))
    recordings = [*recordings_of(base.metadata), *recordings_of(more.metadata)]
    common = {key: value for key, value in more.metadata.items() if key not in (*RECORDED, "recordings")}
    metadata = common | {
        "levels": sorted({level for recording in recordings for level in recording["levels"]}),
        "splits": base.metadata["splits"] | more.metadata["splits"],
        "timed_runs_by_size_and_level": base.metadata["timed_runs_by_size_and_level"]
        | more.metadata["timed_runs_by_size_and_level"],
        "recordings": recordings,
    }
    return Recorded(pa.Table.from_pylist(rows, TRACE), metadata, base.where)


def _place(job: tuple[str, str]) -> tuple[float, int]:
    """Where a (size, query) stands among others: 0.5g before 10g, query 2 before query 11."""
    size, query = job
    return float(size.removesuffix("g")), int(query)


def recordings_of(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What each of the recordings in a file says of itself, the first ones first: one of a file never extended."""
    if "recordings" in metadata:
        return list(metadata["recordings"])
    runs = metadata["timed_runs_by_size_and_level"]
    return [
        {"sizes": sorted(runs, key=lambda size: float(size.removesuffix("g")))}
        | {key: metadata[key] for key in RECORDED}
    ]
