"""Write the decision log as it comes, in row groups, with memory for one group.

What followed a decision is known when its episode has ended, so a log is written twice: as it comes, then with rewards
and returns.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clearsched.decisions.choices import Decision, Rows
from clearsched.decisions.returns import Returns
from clearsched.decisions.schema import log_schema
from clearsched.files import PROVENANCE_KEY, atomic_path
from clearsched.problems.problem import SPLITS, Problem

ROWS_PER_GROUP = 1 << 16


class _Block(NamedTuple):
    """The rows of one choice of one decision."""

    split: int
    episode: int
    decision: int
    time_s: float
    choice: int
    rows: Rows


class LogWriter:
    """Collects decisions and writes a row group whenever there are enough rows."""

    def __init__(self, file: pq.ParquetWriter, schema: pa.Schema, choices: list[str], rows_per_group: int) -> None:
        self._file = file
        self._schema = schema
        self._choices = choices
        self._rows_per_group = rows_per_group
        self._blocks: list[_Block] = []
        self._rows = 0
        self.returns = Returns()

    def add(self, decision: Decision) -> None:
        """Add a decision: a row for each candidate, then one for each level of the chosen one, if that was asked."""
        self.returns.add(decision.split, decision.episode, decision.time_s)
        head = (SPLITS.index(decision.split), decision.episode, decision.decision, decision.time_s)
        for choice, rows in enumerate((decision.rank, decision.level)):
            if rows is not None:
                self._blocks.append(_Block(*head, choice, rows))
                self._rows += len(rows.candidate)
        if self._rows >= self._rows_per_group:
            self.flush()

    def end(self, split: str, episode: int, outcome: Any) -> None:
        """An episode is over, and all its decisions were added."""
        self.returns.end(split, episode, outcome)

    def flush(self) -> None:
        """Write what was collected as a row group."""
        if not self._blocks:
            return
        blocks, lengths = self._blocks, [len(block.rows.candidate) for block in self._blocks]

        def repeated(name: str, kind: type) -> np.ndarray:
            return np.repeat(np.array([getattr(block, name) for block in blocks], kind), lengths)

        def joined(name: str, kind: type) -> np.ndarray:
            return np.concatenate([getattr(block.rows, name) for block in blocks]).astype(kind)

        features = joined("features", np.float32)
        chosen = np.zeros(self._rows, np.bool_)
        chosen[np.cumsum([0, *lengths[:-1]]) + [block.rows.chosen for block in blocks]] = True
        columns = [
            pa.DictionaryArray.from_arrays(repeated("split", np.int8), list(SPLITS)),
            repeated("episode", np.int32),
            repeated("decision", np.int32),
            repeated("time_s", np.float64),
            *np.full((2, self._rows), np.nan),
            pa.DictionaryArray.from_arrays(repeated("choice", np.int8), self._choices),
            joined("candidate", np.int32),
            joined("group", np.int32),
            *(np.ascontiguousarray(features[:, i]) for i in range(features.shape[1])),
            joined("score", np.float32),
            joined("probability", np.float32),
            chosen,
        ]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._file.write_table(pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=self._rows)
        self._blocks, self._rows = [], 0


@contextmanager
def open_log(
    path: str | Path, problem: Problem, metadata: dict[str, Any], rows_per_group: int = ROWS_PER_GROUP
) -> Iterator[LogWriter]:
    """A log to add decisions to; the file appears when the block succeeds.

    Args:
        path: Parquet file to write.
        problem: whose decisions they are.
        metadata: provenance, as JSON values.
        rows_per_group: rows after which a group is written, the only thing that takes memory.
    """
    encoded = {PROVENANCE_KEY: json.dumps(metadata, sort_keys=True).encode()}
    schema = log_schema(problem).with_metadata(encoded)
    names = [choice.name for choice in problem.choices]
    with atomic_path(path) as temporary, tempfile.TemporaryFile(dir=temporary.parent) as unfinished:
        with pq.ParquetWriter(unfinished, schema, compression="lz4") as file:
            writer = LogWriter(file, schema, names, rows_per_group)
            yield writer
            writer.flush()
        with pq.ParquetWriter(temporary, schema, compression="zstd", compression_level=9) as file:
            for group in _groups(unfinished):
                file.write_table(_with_returns(group, writer.returns), row_group_size=len(group))


def _groups(file: Any) -> Iterator[pa.Table]:
    """The row groups of a Parquet file."""
    read = pq.ParquetFile(file)
    for group in range(read.num_row_groups):
        yield read.read_row_group(group)


def _with_returns(group: pa.Table, returns: Returns) -> pa.Table:
    """The rows with what followed their decisions."""
    split = pc.cast(group["split"].combine_chunks(), pa.string()).to_numpy(zero_copy_only=False)
    found = returns.of(split, group["episode"].to_numpy(), group["decision"].to_numpy())
    for name, column in zip(("reward", "return"), found, strict=True):
        place = group.schema.get_field_index(name)
        group = group.set_column(place, group.schema.field(place), pa.array(column))
    return group
