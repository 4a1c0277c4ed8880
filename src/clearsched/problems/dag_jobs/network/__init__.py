"""The graph network that learns to schedule DAG jobs (docs/teacher.md)."""
