"""Read the decision log as arrays, batch by batch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clearsched import schemas
from clearsched.errors import ClearschedError
from clearsched.files import PROVENANCE_KEY
from clearsched.problems.dag_jobs.features import FEATURE_NAMES, NUM_FEATURES

BATCH_ROWS = 1 << 16


class Choices(NamedTuple):
    """Decisions of one kind of choice: d decisions with n candidates in all."""

    features: np.ndarray  # float32[n, F], in the order of FEATURES
    starts: np.ndarray  # int64[d + 1]: decision i has the rows starts[i] to starts[i + 1]
    chosen: np.ndarray  # int64[d]: row of the candidate that was chosen
    candidate: np.ndarray  # int64[n]: stage (row of the episode's state), or limit in executors
    job: np.ndarray  # int64[n]: job of the candidate, in order of arrival
    score: np.ndarray  # float64[n]
    probability: np.ndarray  # float64[n]
    episode: np.ndarray  # int64[d]
    decision: np.ndarray  # int64[d]
    time_s: np.ndarray  # float64[d]

    @property
    def sizes(self) -> np.ndarray:
        """int64[d]: number of candidates of each decision."""
        return np.diff(self.starts)

    @property
    def trivial(self) -> np.ndarray:
        """bool[d]: the decision has one candidate only."""
        return self.sizes == 1

    @property
    def kept_local(self) -> np.ndarray:
        """bool[d]: the executors stay in the job that they sit in."""
        local: np.ndarray = self.features[self.chosen, FEATURE_NAMES.index("job_is_source")] > 0
        return local

    @property
    def owner(self) -> np.ndarray:
        """int64[n]: decision of each row."""
        return np.repeat(np.arange(len(self.chosen)), self.sizes)


def join(parts: Iterable[Choices]) -> Choices:
    """Several sets of decisions of the same kind as one."""
    kept = [part for part in parts if len(part.chosen)] or [_empty()]
    offsets = np.cumsum([0, *(len(part.features) for part in kept)])
    whole = {name: np.concatenate([getattr(part, name) for part in kept]) for name in Choices._fields}
    whole["starts"] = np.concatenate([[0], *(part.starts[1:] + at for part, at in zip(kept, offsets, strict=False))])
    whole["chosen"] = np.concatenate([part.chosen + at for part, at in zip(kept, offsets, strict=False)])
    return Choices(**whole)


def read_choices(path: str | Path, choice: str, split: str | None = None) -> Choices:
    """All decisions of a choice (`stage` or `limit`) and split (None: all of them) in memory.

    Raises:
        ClearschedError: the file is missing, truncated or no decision log.
    """
    return join(iterate_choices(path, choice, split))


def iterate_choices(
    path: str | Path, choice: str, split: str | None = None, batch_rows: int = BATCH_ROWS
) -> Iterator[Choices]:
    """The decisions of a choice and split, whole decisions at a time, with memory for about `batch_rows` rows.

    Raises:
        ClearschedError: the file is missing, truncated or no decision log.
    """
    rest: pa.Table | None = None
    for batch in iterate_rows(path, batch_rows):
        keep = pc.equal(batch["choice"], choice)
        if split is not None:
            keep = pc.and_(keep, pc.equal(batch["split"], split))
        batch = batch.filter(keep)
        table = batch if rest is None else pa.concat_tables([rest, batch])
        if len(table) == 0:
            continue
        starts = _starts(table)
        if len(starts) > 1:  # the last decision may go on in the next batch
            yield _choices(table.slice(0, starts[-1]), starts)
        rest = table.slice(starts[-1])
    if rest is not None and len(rest):
        yield _choices(rest, np.array([0, len(rest)]))


def iterate_rows(path: str | Path, batch_rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
    """The log's rows in batches.

    Raises:
        ClearschedError: the file is missing, truncated or no decision log.
    """
    file = _open(path)
    try:
        with file:
            for batch in file.iter_batches(batch_rows):
                yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError) as error:
        raise ClearschedError(f"{path}: damaged ({str(error).splitlines()[0]}); log the decisions again") from None


def read_metadata(path: str | Path) -> dict[str, Any]:
    """The provenance that a log carries: expert, num_executors, episodes by split, params and inputs.

    Raises:
        ClearschedError: the file is missing, truncated or no decision log.
    """
    with _open(path) as file:
        metadata: dict[str, Any] = json.loads(file.schema_arrow.metadata[PROVENANCE_KEY])
    return metadata


def _open(path: str | Path) -> pq.ParquetFile:
    path = Path(path)
    if not path.is_file():
        raise ClearschedError(f"{path}: no such file")
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise ClearschedError(
            f"{path}: truncated or not a Parquet file ({str(error).splitlines()[0]}); log the decisions again"
        ) from None
    found, expected = file.schema_arrow, schemas.decisions()
    if not found.equals(expected) or PROVENANCE_KEY not in (found.metadata or {}):
        odd = [f.name for f in expected if f.name not in found.names or found.field(f.name).type != f.type]
        file.close()
        raise ClearschedError(
            f"{path}: no decision log of this version (column {(odd or ['order or metadata'])[0]}); log again"
        )
    return file


def _starts(table: pa.Table) -> np.ndarray:
    """int64: first row of each decision, the last of which may be cut off by the end of the batch."""
    episode, decision = table["episode"].to_numpy(), table["decision"].to_numpy()
    split = table["split"].combine_chunks()
    split = pc.cast(split, pa.string()).to_numpy(zero_copy_only=False)
    new = (np.diff(episode) != 0) | (np.diff(decision) != 0) | (split[1:] != split[:-1])
    return np.concatenate([[0], np.flatnonzero(new) + 1])


def _choices(table: pa.Table, starts: np.ndarray) -> Choices:
    """Arrays of a table of whole decisions, `starts` int64[d + 1]."""
    features = np.empty((len(table), NUM_FEATURES), np.float32)
    for i, name in enumerate(FEATURE_NAMES):
        features[:, i] = table[name].to_numpy()
    chosen = np.flatnonzero(table["chosen"].to_numpy())
    if len(chosen) != len(starts) - 1 or np.any(np.searchsorted(starts, chosen, "right") != np.arange(1, len(starts))):
        raise ClearschedError("decision log: a decision has no chosen candidate, or two; log the decisions again")

    def whole(name: str, kind: type) -> np.ndarray:
        column: np.ndarray = table[name].to_numpy().astype(kind)
        return column

    first = starts[:-1]
    return Choices(
        features,
        starts,
        chosen,
        whole("candidate", np.int64),
        whole("job", np.int64),
        whole("teacher_score", np.float64),
        whole("teacher_probability", np.float64),
        whole("episode", np.int64)[first],
        whole("decision", np.int64)[first],
        whole("time_s", np.float64)[first],
    )


def _empty() -> Choices:
    none, real = np.zeros(0, np.int64), np.zeros(0)
    rows = np.zeros((0, NUM_FEATURES), np.float32)
    return Choices(rows, np.zeros(1, np.int64), none, none, none, real, real, none, none, real)
