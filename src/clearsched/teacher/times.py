"""When a training reached each row of its learning curve, in CPU time. Light to import: no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from clearsched.schemas import TRAINING_TIMES, write_table


def write_times(path: Path, rows: Sequence[Mapping[str, Any]] = (), cpu_s: Sequence[float] = ()) -> None:
    """Write the times of the rows of a learning curve (schema TRAINING_TIMES); none where nothing was trained.

    They differ from run to run, so the file names no inputs and lies beside what is equal to the byte.
    """
    told = [
        {"phase": row["phase"], "iteration": row["iteration"], "cpu_s": spent}
        for row, spent in zip(rows, cpu_s, strict=True)
    ]
    write_table(Path(path), pa.Table.from_pylist(told, schema=TRAINING_TIMES), TRAINING_TIMES, {})
