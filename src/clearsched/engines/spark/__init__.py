"""A real standalone Spark on this machine, its jobs under a policy, and the same jobs in the simulator.

How it works and what came of it is told in docs/engines-spark-runs.md.
"""

from __future__ import annotations

from pathlib import Path

JAR = Path("engines/spark/build/clearsched-spark.jar")
"""What `make spark-jar` builds."""
