"""Where jobs come from: one module a source, all give the same `Trace` (`dag_jobs.sources` lists them)."""

from __future__ import annotations

from clearsched.problems.dag_jobs.traces.describe import describe
from clearsched.problems.dag_jobs.traces.measures import Measures, measure
from clearsched.problems.dag_jobs.traces.sources import load, load_profiles, write, write_from_params
from clearsched.problems.dag_jobs.traces.storage import check_file, read_trace, write_trace
from clearsched.problems.dag_jobs.traces.summary import Summary
from clearsched.problems.dag_jobs.traces.trace import Trace, check_trace, make_trace

__all__ = [
    "Measures",
    "Summary",
    "Trace",
    "check_file",
    "check_trace",
    "describe",
    "load",
    "load_profiles",
    "make_trace",
    "measure",
    "read_trace",
    "write",
    "write_from_params",
    "write_trace",
]
