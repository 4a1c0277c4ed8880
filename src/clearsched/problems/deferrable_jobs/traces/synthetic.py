"""Jobs whose demand and duration are log-normal, each cut to a range."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from clearsched.problems.deferrable_jobs.settings import SyntheticParams
from clearsched.problems.deferrable_jobs.traces.pool import Pool, refuse_path, write_pool

SMALLEST_CORES = 0.25
"""Demands come in quarters of a core."""


def write(path: Path | None, out: Path, options: SyntheticParams, seed: int) -> list[tuple[str, str]]:
    """Generate jobs and write them as the trace `out`; the same seed and options give the same bytes.

    Raises:
        ClearschedError: a path is given: nothing is read.
    """
    refuse_path(path, "synthetic")
    generator = np.random.default_rng([seed])
    cpu = options.cpu_median * np.exp(options.cpu_spread * generator.standard_normal(options.jobs))
    cpu = SMALLEST_CORES * np.ceil(np.minimum(cpu, options.cpu_max) / SMALLEST_CORES)
    length_s = options.duration_median_s * np.exp(options.duration_spread * generator.standard_normal(options.jobs))
    duration_s = np.maximum(np.round(np.clip(length_s, options.duration_min_s, options.duration_max_s)), 1.0)
    pool = Pool(cpu, np.minimum(cpu * options.memory_per_core, 100.0), duration_s)
    return write_pool(out, pool, "synthetic", options.model_dump(mode="json"), seed)
