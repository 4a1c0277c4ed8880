"""One trace of several: each source keeps its profiles, its levels and a weight (docs/workloads.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clearsched import __version__
from clearsched.errors import ClearschedError
from clearsched.files import digest_file
from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.traces.storage import TraceFile, TraceWriter
from clearsched.problems.dag_jobs.traces.summary import Summary
from clearsched.problems.dag_jobs.traces.trace import Part


def mix(sources: Sequence[tuple[Path, float]], out: Path, names: Sequence[str | None] | None = None) -> Summary:
    """Write the profiles of several traces, one after another, as one trace.

    Args:
        sources: each a trace (Parquet or Arrow) and its weight: its share of the jobs that workloads draw, relative
            to the others.
        out: the mixed trace, Parquet or Arrow. Its queries are called `<name of the source>/<query>`; it has no
            arrival times, since those of the sources have nothing to do with each other.
        names: names of the sources; None: as the source calls itself, with a number if another one does too.

    Raises:
        ClearschedError: a file is missing, damaged or not sound, is a mix itself, or a weight is not positive.
    """
    if not sources:
        raise ClearschedError("traces.mix: names no source")
    files = [TraceFile(path) for path, _ in sources]
    labels = _labels(files, names or [None] * len(files))
    parts = []
    for file, label, (path, weight) in zip(files, labels, sources, strict=True):
        if not (isfinite(weight) and weight > 0):
            raise ClearschedError(f"traces.mix: {path}: weight {weight}: a number above 0 expected")
        if "mix" in file.metadata:
            raise ClearschedError(f"traces.mix: {path}: is a mix itself: name its sources instead")
        parts.append(Part(label, float(weight), _num_profiles(file), file.levels()))
    metadata = {
        "source": "mix",
        "version": __version__,
        "levels": sorted({level for part in parts for level in part.levels}),
        "mix": [asdict(part) | {"trace": digest_file(path)} for part, (path, _) in zip(parts, sources, strict=True)],
    }
    summary = Summary("mix")
    offset = 0
    with TraceWriter(out, metadata) as writer:
        for part, file in zip(parts, files, strict=True):
            for trace in file.traces():
                summary.count(trace.stages)
                writer.write(_renamed(trace.stages, part.source, offset))
            offset += part.profiles
        writer.metadata["summary"] = summary.to_metadata()
    return summary


def _labels(files: Sequence[TraceFile], names: Sequence[str | None]) -> list[str]:
    """A name for each source, each once."""
    labels: list[str] = []
    for file, name in zip(files, names, strict=True):
        wanted = name or str(file.metadata.get("source") or file.path.stem)
        label, number = wanted, 1
        while label in labels:
            number += 1
            label = f"{wanted}-{number}"
        labels.append(label)
    return labels


def _num_profiles(file: TraceFile) -> int:
    count = 0
    for piece in file.pieces(["profile"]):
        count = piece.first_profile + len(pc.unique(piece.stages["profile"]))
    if not count:
        raise ClearschedError(f"{file.path}: the trace is empty")
    return count


def _renamed(stages: pa.Table, label: str, offset: int) -> pa.Table:
    changed = {
        "profile": pa.array(stages["profile"].to_numpy() + np.int32(offset)),
        "query": pc.binary_join_element_wise(label, stages["query"], "/"),
        "arrival_ms": pa.nulls(len(stages), pa.int64()),
    }
    for name, column in changed.items():
        stages = stages.set_column(TRACE.get_field_index(name), TRACE.field(name), column)
    return stages
