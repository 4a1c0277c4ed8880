"""A real standalone Spark on this machine, its jobs under a policy, and the same jobs in the simulator.

How it works and what came of it is told in docs/engines-spark-runs.md.
"""
