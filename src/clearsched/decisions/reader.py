"""Read the decision log as arrays, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clearsched.decisions.choices import Choices, join
from clearsched.decisions.schema import feature_field, log_features, log_schema
from clearsched.errors import ClearschedError
from clearsched.problems.problem import Problem
from clearsched.schemas import provenance

BATCH_ROWS = 1 << 16

DECIDED = ("split", "choice", "episode", "decision", "chosen")
"""The columns that tell decisions apart, and which row was chosen."""

ROW = ("time_s", "candidate", "group", "teacher_score", "teacher_probability")
"""What else is read of a row beside its features."""

TOLD = {"problem": str, "expert": str, "facts": dict, "episodes": dict}
"""What the metadata of a log must hold."""

FEATURE_NOTES = ("unit", "meaning", "formula")
"""What the column of a feature says of itself: values of another feature under the same name are of no use."""

NOTE_CHARS = 100
"""Of a note that a log has, in an error."""


def read_choices(
    path: str | Path, problem: Problem, choice: str, split: str | None = None, share: float = 1
) -> Choices:
    """The decisions of a choice, by its name, and split (None: all of them) in memory; a share of them, evenly taken.

    Raises:
        ClearschedError: the file is missing, truncated or no decision log.
    """
    return read_all(path, problem, [choice], split, share)[choice]


def read_all(
    path: str | Path, problem: Problem, choices: Sequence[str], split: str | None = None, share: float = 1
) -> dict[str, Choices]:
    """`read_choices` of several choices, by name, in one pass over the file.

    Raises:
        ClearschedError: the file is missing, truncated or no decision log.
    """
    found: dict[str, list[Choices]] = {name: [] for name in choices}
    for name, part in _parts(path, problem, choices, split, share, BATCH_ROWS):
        found[name].append(part)
    return {name: join(parts, len(log_features(problem))) for name, parts in found.items()}


def evenly(places: np.ndarray, share: float) -> np.ndarray:
    """bool[n]: which of the places int64[n] belong to a share of all, spread evenly; the place 0 does."""
    kept: np.ndarray = np.floor(places * share) != np.floor((places - 1) * share)
    return kept


def count_decisions(path: str | Path, problem: Problem, choice: str, split: str) -> int:
    """How many decisions of a choice and split a log has.

    Raises:
        ClearschedError: the file is missing, truncated or no decision log.
    """
    found = 0
    for batch in _iterate(path, problem, BATCH_ROWS, ["split", "choice", "chosen"]):
        of_split = pc.and_(pc.equal(batch["choice"], choice), pc.equal(batch["split"], split))
        found += pc.sum(pc.and_(of_split, batch["chosen"])).as_py() or 0
    return found


def iterate_choices(
    path: str | Path, problem: Problem, choice: str, split: str | None = None, batch_rows: int = BATCH_ROWS
) -> Iterator[Choices]:
    """The decisions of a choice and split, whole decisions at a time, with memory for about `batch_rows` rows.

    Raises:
        ClearschedError: the file is missing, truncated or no decision log.
    """
    for _, part in _parts(path, problem, [choice], split, 1, batch_rows):
        yield part


def _parts(
    path: str | Path, problem: Problem, choices: Sequence[str], split: str | None, share: float, batch_rows: int
) -> Iterator[tuple[str, Choices]]:
    """Whole decisions of several choices, each with the name of its choice."""
    names = [feature.name for feature in log_features(problem)]
    pieces = {choice: _Pieces(choice, split, share, names) for choice in choices}
    for batch in _iterate(path, problem, batch_rows, [*DECIDED, *ROW, *names]):
        for choice, piece in pieces.items():
            if (part := piece.add(batch)) is not None:
                yield choice, part
    for choice, piece in pieces.items():
        if (part := piece.end()) is not None:
            yield choice, part


class _Pieces:
    """Decisions of a choice out of batches that may cut one in two; only rows of decisions that are kept are copied."""

    def __init__(self, choice: str, split: str | None, share: float, names: Sequence[str]) -> None:
        self._choice, self._split, self._share, self._names = choice, split, share, names
        self._seen = 0
        self._rest: pa.Table | None = None  # the last decision so far, which may go on in the next batch

    def add(self, batch: pa.Table) -> Choices | None:
        """The decisions that are whole by the next batch, as far as they are kept; None: there is none."""
        keep = pc.equal(batch["choice"], self._choice)
        if self._split is not None:
            keep = pc.and_(keep, pc.equal(batch["split"], self._split))
        rows = np.flatnonzero(keep.to_numpy())
        before = 0 if self._rest is None else len(self._rest)
        if before:
            batch, rows = pa.concat_tables([self._rest, batch]), np.append(np.arange(before), before + rows)
        if not len(rows):
            return None
        told = batch.select(DECIDED).take(rows)
        starts = _starts(told)
        found = self._kept(batch, rows, told, starts)
        self._rest = batch.take(rows[starts[-1] :])
        return found

    def end(self) -> Choices | None:
        """The last decision, if it is kept."""
        if self._rest is None:
            return None
        rows = np.arange(len(self._rest))
        return self._kept(self._rest, rows, self._rest.select(DECIDED), np.array([0, len(rows)]))

    def _kept(self, table: pa.Table, rows: np.ndarray, told: pa.Table, starts: np.ndarray) -> Choices | None:
        """Of the decisions `starts`, int64[d + 1], by the rows of `told`, those that are kept.

        `rows`: where in `table` the rows of `told` are, int64.

        Raises:
            ClearschedError: a decision has no chosen candidate, or two.
        """
        chosen = np.flatnonzero(told["chosen"].to_numpy()[: starts[-1]])
        count = len(starts) - 1
        if len(chosen) != count or np.any(np.searchsorted(starts, chosen, "right") != np.arange(1, count + 1)):
            raise ClearschedError("decision log: a decision has no chosen candidate, or two; log the decisions again")
        kept = (
            evenly(np.arange(self._seen, self._seen + count), self._share) if self._share < 1 else np.ones(count, bool)
        )
        self._seen += count
        if not kept.any():
            return None
        sizes = np.diff(starts)
        own = table.take(rows[: starts[-1]][np.repeat(kept, sizes)])
        return _choices(own, np.append(0, np.cumsum(sizes[kept])), self._names)


def iterate_rows(path: str | Path, problem: Problem, batch_rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
    """The log's rows in batches.

    Raises:
        ClearschedError: the file is missing, truncated or no decision log.
    """
    yield from _iterate(path, problem, batch_rows)


def _iterate(
    path: str | Path, problem: Problem, batch_rows: int, columns: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """Batches of some columns, or of all."""
    file = _open(path, problem)
    try:
        with file:
            for batch in file.iter_batches(batch_rows, columns=columns):
                yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError) as error:
        raise ClearschedError(f"{path}: damaged ({str(error).splitlines()[0]}); log the decisions again") from None


def read_metadata(path: str | Path) -> dict[str, Any]:
    """The provenance that a log carries: problem, expert, objective, facts, most, episodes by split, params and inputs.

    `help_first` stands in it where the expert means that by "none of these".

    Raises:
        ClearschedError: the file is missing, truncated or no decision log.
    """
    with _parquet(path) as file:
        try:
            found = provenance(file.schema_arrow.metadata)
        except ValueError:
            raise ClearschedError(f"{path}: its metadata is no JSON mapping; log the decisions again") from None
    for name, kind in TOLD.items():
        if not isinstance(found.get(name), kind):
            raise ClearschedError(f"{path}: no decision log of this version (its metadata lack {name}); log again")
    if not isinstance(found.get("help_first", False), bool):
        raise ClearschedError(f"{path}: its metadata: help_first: true or false expected; log the decisions again")
    if not all(isinstance(count, int) for count in found["episodes"].values()):
        raise ClearschedError(f"{path}: its metadata give no number of episodes; log the decisions again")
    return found


def _parquet(path: str | Path) -> pq.ParquetFile:
    path = Path(path)
    if not path.is_file():
        raise ClearschedError(f"{path}: no such file")
    try:
        # In small buffers and without reading ahead, so that memory does not grow with the log.
        return pq.ParquetFile(path, page_checksum_verification=True, buffer_size=1 << 18, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise ClearschedError(
            f"{path}: truncated or not a Parquet file ({str(error).splitlines()[0]}); log the decisions again"
        ) from None


def _open(path: str | Path, problem: Problem) -> pq.ParquetFile:
    """The log, if it is one of this problem and version."""
    logged = read_metadata(path)["problem"]
    if logged != problem.name:
        raise ClearschedError(f"{path}: decisions of the problem {logged}, not of {problem.name}; log them again")
    file = _parquet(path)
    found, expected = file.schema_arrow, log_schema(problem)
    if not found.equals(expected):
        places = {f: found.get_field_index(f.name) for f in expected}  # -1 of a column that is not there, or twice
        odd = [f.name for f, place in places.items() if place < 0 or found.field(place).type != f.type]
        file.close()
        raise ClearschedError(
            f"{path}: no decision log of this version (column {(odd or ['order or metadata'])[0]}); log again"
        )
    if other := _other_feature(found, problem):
        file.close()
        raise ClearschedError(f"{path}: the decisions of another version: {other}; log them again")
    return file


def _other_feature(found: pa.Schema, problem: Problem) -> str:
    """The first feature of a log that is not what it is now, in words; earlier logs tell no formulas."""
    for feature in log_features(problem):
        expected, logged = feature_field(feature).metadata, found.field(feature.name).metadata or {}
        for note in (name.encode() for name in FEATURE_NOTES):
            if note == b"formula" and note not in logged:
                continue
            if (told := logged.get(note, b"")) != expected[note]:
                known = told.decode(errors="replace")[:NOTE_CHARS]
                return f"column {feature.name} has the {note.decode()} {known!r}, expected {expected[note].decode()!r}"
    return ""


def _starts(table: pa.Table) -> np.ndarray:
    """int64: first row of each decision, the last of which may be cut off by the end of the batch."""
    episode, decision = table["episode"].to_numpy(), table["decision"].to_numpy()
    split = table["split"].combine_chunks()
    split = pc.cast(split, pa.string()).to_numpy(zero_copy_only=False)
    new = (np.diff(episode) != 0) | (np.diff(decision) != 0) | (split[1:] != split[:-1])
    return np.concatenate([[0], np.flatnonzero(new) + 1])


def _choices(table: pa.Table, starts: np.ndarray, names: Sequence[str]) -> Choices:
    """Arrays of a table of whole decisions, `starts` int64[d + 1]."""
    features = np.empty((len(table), len(names)), np.float32)
    for i, name in enumerate(names):
        features[:, i] = table[name].to_numpy()
    chosen = np.flatnonzero(table["chosen"].to_numpy())

    def whole(name: str, kind: type) -> np.ndarray:
        column: np.ndarray = table[name].to_numpy().astype(kind)
        return column

    first = starts[:-1]
    return Choices(
        features,
        starts,
        chosen,
        whole("candidate", np.int64),
        whole("group", np.int64),
        whole("teacher_score", np.float64),
        whole("teacher_probability", np.float64),
        whole("episode", np.int64)[first],
        whole("decision", np.int64)[first],
        whole("time_s", np.float64)[first],
    )
