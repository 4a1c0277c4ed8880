"""What the command does: read a student, write it in a format, write test vectors beside it; or a network without."""

from __future__ import annotations

import sys
from pathlib import Path

from clearsched.errors import ClearschedError
from clearsched.export import vectors
from clearsched.export.kinds import FORMATS, Format
from clearsched.export.source import Source, read_source
from clearsched.files import check_file, check_inputs, write_bytes, write_text
from clearsched.registry import load
from clearsched.search.safety import warnings_of

VECTORS = ".vectors.csv"
"""In place of the suffix of the file that is tested."""

NETWORK = ".safetensors"
"""The suffix of a network's weights; all else is a student."""


def write(student: Path, format: str, out: Path | None, decisions: Path | None, count: int | None) -> list[Path]:
    """See `clearsched.export.export`."""
    entry = FORMATS[format]
    if student.suffix == NETWORK:
        return [_network(student, entry, out, decisions)]
    if student.suffix == ".json" and student.with_suffix(NETWORK).is_file():
        raise ClearschedError(f"{student}: describes a network: name {student.with_suffix(NETWORK).name} beside it")
    out = out or student.with_suffix(entry.suffix)
    beside = out.with_name(out.name.partition(".")[0] + VECTORS)
    files = [out, beside] if entry.vectors else [out]
    for file in files:
        check_file(file)
        check_inputs(file, [student, *([decisions] if decisions else [])])
    if beside == out:
        raise ClearschedError(f"{out}: is where the test vectors go: name another file")
    source = read_source(student, entry.label, out)
    content = load(entry.writer)(source)
    told = _vectors(source, entry, decisions, count or vectors.COUNT)
    write_bytes(out, content)
    if entry.vectors:
        write_text(beside, told)
    for line in warnings_of(source.policy.name, source.policy.evidence):
        print(line, file=sys.stderr)
    return files


def _network(path: Path, entry: Format, out: Path | None, decisions: Path | None) -> Path:
    """Write a network; the file."""
    if not entry.network:
        holding = " or ".join(f"--format {one.name}" for one in FORMATS.values() if one.network)
        raise ClearschedError(f"{path}: a network cannot be exported to {entry.label}: take {holding}")
    if decisions:
        raise ClearschedError(f"{path}: a network is exported without test vectors: leave out --decisions {decisions}")
    out = out or path.with_suffix(entry.suffix)
    check_file(out)
    check_inputs(out, [path, path.with_suffix(".json")])
    write_bytes(out, load(entry.network)(path, entry.label))
    return out


def _vectors(source: Source, entry: Format, decisions: Path | None, count: int) -> str:
    """The test vectors, made before anything is written."""
    if not entry.vectors:
        return ""
    policy = source.policy
    asked = vectors.logged(policy, decisions) if decisions else vectors.drawn(policy, count)
    return vectors.table(policy, [feature.name for feature in source.program.features], asked, count)
