"""Write the decision log as it comes, in row groups, with memory for one group."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clearsched import schemas
from clearsched.files import PROVENANCE_KEY, atomic_path
from clearsched.problems.dag_jobs.features import FEATURE_NAMES, NUM_FEATURES

if TYPE_CHECKING:
    from clearsched.decisions.recording import Decision

ROWS_PER_GROUP = 1 << 16
SPLITS = ("train", "validation", "test")
CHOICES = ("stage", "limit")


class _Block(NamedTuple):
    """The rows of one choice of one decision."""

    split: int
    episode: int
    decision: int
    time_s: float
    choice: int
    candidate: np.ndarray
    job: np.ndarray
    features: np.ndarray
    score: np.ndarray
    probability: np.ndarray
    chosen: np.ndarray


class LogWriter:
    """Collects decisions and writes a row group whenever there are enough rows."""

    def __init__(self, file: pq.ParquetWriter, schema: pa.Schema, rows_per_group: int) -> None:
        self._file = file
        self._schema = schema
        self._rows_per_group = rows_per_group
        self._blocks: list[_Block] = []
        self._rows = 0

    def add(self, decision: Decision) -> None:
        """Add a decision: a row for each candidate stage, then one for each limit of the chosen stage's job."""
        answer = decision.answer
        head = (SPLITS.index(decision.split), decision.episode, decision.decision, decision.time_s)
        count, limits = len(decision.features), len(answer.limits)
        chosen = np.arange(count) == answer.candidate
        stage = (decision.stages, decision.jobs, decision.features, answer.stage_score, answer.stage_probability)
        self._blocks.append(_Block(*head, CHOICES.index("stage"), *stage, chosen))
        row = np.broadcast_to(decision.features[answer.candidate], (limits, NUM_FEATURES))
        job = np.broadcast_to(decision.jobs[answer.candidate], limits)
        limit = (answer.limits, job, row, answer.limit_score, answer.limit_probability)
        self._blocks.append(_Block(*head, CHOICES.index("limit"), *limit, answer.limits == answer.limit))
        self._rows += count + limits
        if self._rows >= self._rows_per_group:
            self.flush()

    def flush(self) -> None:
        """Write what was collected as a row group."""
        if not self._blocks:
            return
        blocks, lengths = self._blocks, [len(block.candidate) for block in self._blocks]

        def repeated(name: str, kind: type) -> np.ndarray:
            return np.repeat(np.array([getattr(block, name) for block in blocks], kind), lengths)

        def joined(name: str, kind: type) -> np.ndarray:
            return np.concatenate([getattr(block, name) for block in blocks]).astype(kind)

        features = joined("features", np.float32)
        columns = [
            pa.DictionaryArray.from_arrays(repeated("split", np.int8), list(SPLITS)),
            repeated("episode", np.int32),
            repeated("decision", np.int32),
            repeated("time_s", np.float64),
            pa.DictionaryArray.from_arrays(repeated("choice", np.int8), list(CHOICES)),
            joined("candidate", np.int32),
            joined("job", np.int32),
            *(np.ascontiguousarray(features[:, i]) for i in range(len(FEATURE_NAMES))),
            joined("score", np.float32),
            joined("probability", np.float32),
            joined("chosen", np.bool_),
        ]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._file.write_table(pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=self._rows)
        self._blocks, self._rows = [], 0


@contextmanager
def open_log(path: str | Path, metadata: dict[str, Any], rows_per_group: int = ROWS_PER_GROUP) -> Iterator[LogWriter]:
    """A log to add decisions to; the file appears when the block succeeds.

    Args:
        path: Parquet file to write.
        metadata: provenance, as JSON values.
        rows_per_group: rows after which a group is written, the only thing that takes memory.
    """
    encoded = {PROVENANCE_KEY: json.dumps(metadata, sort_keys=True).encode()}
    schema = schemas.decisions().with_metadata(encoded)
    with (
        atomic_path(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd", compression_level=9) as file,
    ):
        writer = LogWriter(file, schema, rows_per_group)
        yield writer
        writer.flush()
