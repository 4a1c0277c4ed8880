"""Jobs like those of Alibaba's cluster-trace-v2018, generated from its published marginals, for those without the file.

Source of the marginals: the trace generator of "Characterizing and Synthesizing Task Dependencies of Data-Parallel Jobs
in Alibaba Cloud", SoCC 2019; see docs/alibaba.md for what is matched and what is assumed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.files import digest_file
from clearsched.problems.dag_jobs.settings.sources import AlibabaLikeParams
from clearsched.problems.dag_jobs.traces.alibaba_2018.rows import trace_rows
from clearsched.problems.dag_jobs.traces.alibaba_like.compare import compare_with_published
from clearsched.problems.dag_jobs.traces.alibaba_like.jobs import draw_jobs
from clearsched.problems.dag_jobs.traces.summary import Summary

__all__ = ["SOURCE", "compare_with_published", "write"]

SOURCE = "alibaba-like"

CHUNK = 30_000
"""Jobs drawn at a time: a row group of about 110,000 stages."""


def write(path: Path | None, out: Path, options: AlibabaLikeParams, seed: int) -> Summary:
    """Generate jobs and write them as the trace `out`; the same seed and options give the same bytes.

    `path` is not used: this source reads no file.

    Raises:
        ClearschedError: a path is given, or the options contradict each other.
    """
    if path is not None:
        raise ClearschedError(f"traces.path {path}: the source {SOURCE} reads no file; leave traces.path empty")
    if options.min_stages > options.max_stages:
        raise ClearschedError(
            f"traces.alibaba_like: min_stages {options.min_stages} is larger than max_stages {options.max_stages}"
        )
    if options.dag_only and options.max_stages < 2:
        raise ClearschedError("traces.alibaba_like: dag_only asks for an edge, max_stages 1 allows none")
    summary = Summary(SOURCE)
    origin = {"seed": seed, "marginals": digest_file(Path(__file__).with_name("marginals.csv"))}
    with trace_rows(out, summary, options.spread, options.model_dump(), origin) as rows:
        last_s = 0
        for chunk, first in enumerate(range(0, options.jobs, CHUNK)):
            batch = draw_jobs(np.random.default_rng([seed, chunk]), min(CHUNK, options.jobs - first), options)
            if chunk == 0:
                last_s = -int(batch.arrival_s[0])  # the first job arrives at 0
            batch = replace(batch, arrival_s=last_s + batch.arrival_s)
            last_s = int(batch.arrival_s[-1])
            rows.write(batch)
    return summary
