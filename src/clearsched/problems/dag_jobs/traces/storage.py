"""Traces on disk, read and written piece by piece: what a large one needs that does not fit into memory.

A trace is a Parquet file, or an uncompressed Arrow file (`.arrow`). Of both only the row groups (batches) are read that
hold the profiles asked for. Arrow needs no unpacking and six times the disk: benchmarks/README.md has both measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clearsched.errors import ClearschedError
from clearsched.files import PROVENANCE_KEY, atomic_path
from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.traces.trace import Trace, check_trace, levels_of, parts_of
from clearsched.schemas import conform, provenance, write_table

ROWS = 65_536
"""Stages in a piece: what is held in memory at once."""

ARROW_MAGIC = b"ARROW1"


@dataclass(frozen=True)
class Piece:
    """Some profiles of a trace, whole ones.

    Attributes:
        stages: their rows; columns that were not asked for are missing.
        first_row, first_profile: where the piece begins in the trace.
    """

    stages: pa.Table
    first_row: int
    first_profile: int


class TraceFile:
    """A trace on disk of which only the footer was read.

    Raises:
        ClearschedError: the file is missing, truncated or of another format.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise ClearschedError(f"{path}: no such file")
        with self.path.open("rb") as stream:
            self.is_arrow = stream.read(len(ARROW_MAGIC)) == ARROW_MAGIC
        with self._readable():
            if self.is_arrow:
                with pa.OSFile(str(path)) as source:
                    schema = pa.ipc.open_file(source).schema
                self.metadata = provenance(schema.metadata)
            else:
                with pq.ParquetFile(path) as parquet:
                    schema = parquet.schema_arrow
                    self.metadata = provenance(parquet.metadata.metadata)
        self._names = schema.names

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            kind = "an Arrow" if self.is_arrow else "a Parquet"
            raise ClearschedError(f"{self.path}: truncated or not {kind} file ({reason}); build it again") from None

    def levels(self) -> tuple[int, ...]:
        """Parallelism levels: declared, else all that occur, which reads the durations of all stages."""
        if "levels" in self.metadata:
            return levels_of(TRACE.empty_table(), self.metadata, str(self.path))
        found: set[int] = set()
        for piece in self.pieces(["profile", "durations"]):
            found.update(levels_of(piece.stages, {}, str(self.path)))
        return tuple(sorted(found))

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        """The trace from its first row to its last, `ROWS` or a few more at a time; `columns` must have `profile`.

        Raises:
            ClearschedError: the file is damaged or has another schema.
        """
        wanted = TRACE if columns is None else pa.schema([TRACE.field(name) for name in columns])
        if not set(self._names) <= set(TRACE.names) or len(set(self._names)) < len(self._names):
            conform(pa.schema([pa.field(name, pa.null()) for name in self._names]).empty_table(), TRACE, str(self.path))
        rest: pa.Table | None = None
        row = profile = read = 0
        for batch in self._batches([name for name in wanted.names if name in self._names]):
            table = conform(batch, wanted, str(self.path), read)
            read += len(table)
            table = table if rest is None else pa.concat_tables([rest, table])
            number = table["profile"].to_numpy()
            changes = np.flatnonzero(number[1:] != number[:-1]) + 1
            cut = int(changes[-1]) if len(changes) else 0
            if cut:
                yield Piece(table.slice(0, cut), row, profile)
                row, profile = row + cut, profile + len(changes)
            rest = table.slice(cut)
        if rest is not None and len(rest):
            yield Piece(rest, row, profile)

    def traces(self, levels: tuple[int, ...] | None = None) -> Iterator[Trace]:
        """The whole in pieces, each a checked trace of its own, but that its profiles keep their numbers.

        Args:
            levels: of the whole (`levels`); None: where the file declares none, each piece has those that occur in it.

        Raises:
            ClearschedError: the file is damaged, empty, or not sound; with the row of the first fault (`check_trace`).
        """
        where, profiles = str(self.path), 0
        for piece in self.pieces():
            of = levels_of(piece.stages, self.metadata, where) if levels is None else levels
            trace = Trace(piece.stages, of, self.metadata)
            trace = replace(trace, metadata=self._metadata_of(piece.first_profile, trace.num_profiles))
            yield check_trace(trace, where, piece.first_row, piece.first_profile)
            profiles += trace.num_profiles
        if not profiles:
            raise ClearschedError(f"{where}: the trace is empty")
        if "mix" in self.metadata and profiles != sum(part.profiles for part in parts_of(self.metadata, where)):
            raise ClearschedError(f"{where}: its metadata and its rows differ in the number of profiles")

    def _metadata_of(self, first: int, count: int) -> dict[str, Any]:
        """The metadata of a piece: of a mix, with the numbers of profiles of the piece."""
        if "mix" not in self.metadata:
            return self.metadata
        ends = np.cumsum([0] + [part.profiles for part in parts_of(self.metadata, str(self.path))])
        inside = np.diff(np.clip(ends, first, first + count))
        mix = [part | {"profiles": int(n)} for part, n in zip(self.metadata["mix"], inside, strict=True)]
        return self.metadata | {"mix": mix}

    def _batches(self, columns: list[str]) -> Iterator[pa.Table]:
        """All rows; an Arrow file is read, not mapped: what was mapped and used counts as memory of the process."""
        with self._readable(), ExitStack() as stack:
            if self.is_arrow:
                source = stack.enter_context(pa.OSFile(str(self.path)))
                reader = pa.ipc.open_file(source)
                for index in range(reader.num_record_batches):
                    batch = reader.get_batch(index)
                    batch.validate(full=True)
                    for start in range(0, len(batch), ROWS):
                        yield pa.table(batch.slice(start, ROWS)).select(columns)
                return
            options: dict[str, Any] = {"page_checksum_verification": True, "buffer_size": 1 << 18, "pre_buffer": False}
            parquet = stack.enter_context(pq.ParquetFile(self.path, **options))
            for batch in parquet.iter_batches(ROWS, columns=columns, use_threads=False):
                batch.validate(full=True)  # finds text that is not UTF-8
                yield pa.table(batch)

    def rows_of(self, profiles: np.ndarray) -> pa.Table:
        """The stages of `profiles` (numbers, increasing).

        Raises:
            ClearschedError: the file is damaged.
        """
        found = [TRACE.empty_table()]
        for batch in self._mapped(profiles) if self.is_arrow else self._row_groups(profiles):
            found.append(conform(batch, TRACE, str(self.path)))
        return pa.concat_tables(found).combine_chunks()

    def _mapped(self, profiles: np.ndarray) -> Iterator[pa.Table]:
        """Mapped to see which batches hold the profiles; those are read, since mapped pages stay in memory."""
        with self._readable(), pa.memory_map(str(self.path)) as source, pa.OSFile(str(self.path)) as content:
            reader, whole = pa.ipc.open_file(source), pa.ipc.open_file(content)
            for index in range(reader.num_record_batches):
                number = reader.get_batch(index)["profile"]
                if not len(number) or not _any_between(profiles, number[0].as_py(), number[-1].as_py()):
                    continue
                batch = whole.get_batch(index)
                batch.validate(full=True)
                yield pa.table(batch.take(pa.array(_positions(batch["profile"].to_numpy(), profiles))))

    def _row_groups(self, profiles: np.ndarray) -> Iterator[pa.Table]:
        options: dict[str, Any] = {"page_checksum_verification": True, "buffer_size": 1 << 18, "pre_buffer": False}
        with self._readable(), pq.ParquetFile(self.path, **options) as parquet:
            column = parquet.schema_arrow.get_field_index("profile")
            used = []
            for group in range(parquet.num_row_groups):
                statistics = parquet.metadata.row_group(group).column(column).statistics
                known = statistics is not None and statistics.has_min_max
                if not known or _any_between(profiles, statistics.min, statistics.max):
                    used.append(group)
            for batch in parquet.iter_batches(ROWS, row_groups=used, use_threads=False):
                positions = _positions(batch["profile"].to_numpy(), profiles)
                if len(positions):
                    batch.validate(full=True)
                    yield pa.table(batch.take(pa.array(positions)))


def _any_between(numbers: np.ndarray, low: int, high: int) -> bool:
    """Whether one of the increasing `numbers` lies in [low, high]."""
    return bool(np.searchsorted(numbers, low) < np.searchsorted(numbers, high, side="right"))


def _positions(number: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where an element of `wanted` (increasing) stands in `number`."""
    place = np.minimum(np.searchsorted(wanted, number), len(wanted) - 1)
    return np.flatnonzero(wanted[place] == number)


def read_profiles(path: str | Path, profiles: np.ndarray) -> Trace:
    """A trace of some profiles of a file, renumbered 0, 1, 2, ... in their order there; the others are left on disk.

    Args:
        path: a trace, Parquet or Arrow.
        profiles: int64[n], increasing numbers of profiles.

    Raises:
        ClearschedError: the file is missing or damaged, lacks a profile, or one of them is not sound.
    """
    file = TraceFile(path)
    stages = file.rows_of(np.asarray(profiles))
    number = stages["profile"].to_numpy()
    found = np.unique(number)
    absent = np.setdiff1d(profiles, found)
    if len(absent):
        raise ClearschedError(f"{path}: has no profile {absent[0]}")
    renumbered = pa.array(np.searchsorted(found, number), pa.int32())
    stages = stages.set_column(TRACE.get_field_index("profile"), TRACE.field("profile"), renumbered)
    metadata = dict(file.metadata)
    if "mix" in metadata:
        ends = np.cumsum([part["profiles"] for part in metadata["mix"]])
        kept = np.diff(np.searchsorted(found, ends), prepend=0)
        metadata["mix"] = [part | {"profiles": int(n)} for part, n in zip(metadata["mix"], kept, strict=True)]
    return check_trace(Trace(stages, file.levels(), metadata), str(path))


def check_file(path: str | Path) -> int:
    """Check a trace of any size, piece by piece; return its number of profiles.

    Raises:
        ClearschedError: with the row of the first fault (`check_trace`).
    """
    return sum(trace.num_profiles for trace in TraceFile(path).traces())


class TraceWriter:
    """Writes a trace piece by piece, atomically: as Arrow if the name ends in `.arrow`, else as Parquet.

    `with TraceWriter(path, metadata) as writer: writer.write(table)` for tables of schema `TRACE`, profiles in order.
    What is put into `writer.metadata` before the end is written too, but for Arrow, whose metadata come first.
    """

    def __init__(self, path: str | Path, metadata: dict[str, Any]) -> None:
        self.path = Path(path)
        self.metadata = metadata
        self._stack = ExitStack()
        self._waiting: list[pa.Table] = []

    def __enter__(self) -> TraceWriter:
        with self._unwound():
            self._open()
        return self

    def _open(self) -> None:
        temporary = self._stack.enter_context(atomic_path(self.path))
        if self.path.suffix == ".arrow":
            sink = self._stack.enter_context(pa.OSFile(str(temporary), "wb"))
            self._writer = self._stack.enter_context(pa.ipc.new_file(sink, TRACE.with_metadata(self._encoded())))
        else:
            options: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}
            self._writer = self._stack.enter_context(pq.ParquetWriter(temporary, TRACE, **options))

    @contextmanager
    def _unwound(self) -> Iterator[None]:
        """What fails in the block closes and deletes what was begun."""
        try:
            yield
        except BaseException as failed:
            self._stack.__exit__(type(failed), failed, failed.__traceback__)
            raise

    def write(self, table: pa.Table) -> None:
        """Append stages.

        Raises:
            ClearschedError: the table does not have the schema.
        """
        self._waiting.append(conform(table, TRACE, str(self.path)))
        if sum(map(len, self._waiting)) >= ROWS:
            self._flush()

    def _encoded(self) -> dict[bytes, bytes]:
        return {PROVENANCE_KEY: json.dumps(self.metadata, sort_keys=True).encode()}

    def _flush(self) -> None:
        """Write what is waiting as row groups (batches) of `ROWS`: a file of many small ones reads slowly."""
        if not self._waiting:
            return
        table = pa.concat_tables(self._waiting).combine_chunks()
        self._waiting = []
        self._writer.write_table(table, ROWS)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> bool | None:
        if kind is None:
            with self._unwound():
                self._flush()
                if self.path.suffix != ".arrow":
                    self._writer.add_key_value_metadata(self._encoded())
        return self._stack.__exit__(kind, error, trace)


def convert(path: str | Path, out: str | Path) -> None:
    """Copy a trace of any size into the other format, for example a large Parquet trace into an Arrow file.

    Raises:
        ClearschedError: the file is missing or damaged.
    """
    file = TraceFile(path)
    with TraceWriter(out, {"levels": list(file.levels()), **file.metadata}) as writer:
        for piece in file.pieces():
            writer.write(piece.stages)


def read_trace(path: str | Path) -> Trace:
    """Read and check a trace, the whole of it (`read_profiles` reads some profiles of a large one).

    Raises:
        ClearschedError: missing, truncated, of another schema, or a row breaks a rule of `check_trace`.
    """
    file = TraceFile(path)
    table = pa.concat_tables([TRACE.empty_table(), *(piece.stages for piece in file.pieces())])
    return check_trace(Trace(table, levels_of(table, file.metadata, str(path)), file.metadata), str(path))


def write_trace(path: str | Path, trace: Trace) -> None:
    """Write a trace atomically: as Arrow if the name ends in `.arrow`, else as Parquet."""
    if Path(path).suffix != ".arrow":
        write_table(path, trace.stages, TRACE, trace.metadata)
        return
    with TraceWriter(path, trace.metadata) as writer:
        writer.write(trace.stages)
