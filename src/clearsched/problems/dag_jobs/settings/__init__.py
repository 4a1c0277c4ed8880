"""What a user may choose of DAG jobs: the sections `traces`, `workload` and `heuristics` of params.yaml."""
