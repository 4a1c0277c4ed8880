"""Source `spark-eventlog`: the jobs of a Spark cluster, from the event logs that its applications left.

How a log becomes a trace is told in docs/spark-eventlog.md.
"""

from __future__ import annotations

from clearsched.problems.dag_jobs.traces.spark_eventlog.build import write

__all__ = ["write"]
