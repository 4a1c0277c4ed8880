"""The embedded default: TPC-H queries recorded on Apache Spark by this project (`clearsched traces record-tpch`).

Derived from TPC-H and not comparable to published TPC-H results. How it was recorded stands in the file's metadata.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.sources import EMBEDDED, embedded
from clearsched.problems.dag_jobs.traces.storage import read_trace
from clearsched.problems.dag_jobs.traces.summary import Summary, summary_of, write_with
from clearsched.problems.dag_jobs.traces.trace import Trace, levels_of

if TYPE_CHECKING:
    from clearsched.problems.dag_jobs.settings.sources import TpchSparkParams

SIZES: tuple[str, ...] = ("10g", "20g")
"""Sizes of the embedded file that are scheduled where none are named: jobs of some 50 executor-seconds.

Those of the smaller ones, up to 10g, last seconds: `scenarios/micro.yaml`.
"""


def load(path: str | Path | None = None, sizes: Sequence[str] = ()) -> Trace:
    """Read the recorded profiles, by default those of `SIZES` in the repository's `data/` folder.

    Args:
        path: a recording of your own.
        sizes: its sizes to keep, as in the column `size`; none: all of a recording of yours, `SIZES` of the embedded.

    Raises:
        ClearschedError: the file is missing, truncated or not a trace, or does not hold one of the sizes.
    """
    if path is not None:
        return of_sizes(read_trace(path), sizes, str(path))
    found = embedded()
    if found is None:
        raise ClearschedError(f"{EMBEDDED}: no such file; run from the repository's folder or set traces.path")
    return of_sizes(read_trace(found), sizes or SIZES, str(found))


def of_sizes(trace: Trace, sizes: Sequence[str], where: str) -> Trace:
    """The profiles of some sizes, numbered anew, in their order; the whole trace if no size is named.

    Raises:
        ClearschedError: the trace lacks one of the sizes.
    """
    there = list(dict.fromkeys(trace.stages["size"].to_pylist()))
    for size in sizes:
        if size not in there:
            raise ClearschedError(f"{where}: traces.tpch_spark.sizes: no size {size}: it holds {', '.join(there)}")
    if not sizes or set(sizes) == set(there):
        return trace
    stages = trace.stages.filter(pc.is_in(trace.stages["size"], value_set=pa.array(sizes, pa.string())))
    number = np.unique(stages["profile"].to_numpy(), return_inverse=True)[1]
    place = TRACE.get_field_index("profile")
    stages = stages.set_column(place, TRACE.field("profile"), pa.array(number, pa.int32()))
    levels = levels_of(stages, {}, where)
    return replace(trace, stages=stages, levels=levels, metadata=trace.metadata | {"levels": list(levels)})


def write(path: Path | None, out: Path, options: TpchSparkParams | None, seed: int) -> Summary:
    """Write the recorded profiles to `out` (see `traces.sources`).

    Raises:
        ClearschedError: as `load`.
    """
    trace = load(path, options.sizes if options else ())
    summary = summary_of(trace, "tpch-spark")
    found = path if path is not None else embedded()
    assert found is not None  # `load` found it
    left_out = read_trace(found).num_profiles - trace.num_profiles
    if left_out:
        summary.skip("job of a size that was not asked for", left_out)
    write_with(out, trace, summary)
    return summary
