"""The most that policies take next to fair on every edge case, on episodes of another seed than the test's.

    python benchmarks/edge_cases.py RESULTS POLICY... [--seed 77] [--episodes 32] [--json]

RESULTS is a scenario's folder (results/default): its trace and params are taken. POLICY is the file of a student, a
searched policy or a network, or the name of a heuristic with its default settings. `snakemake edge_cases` compares all
policies of a run on test episodes; this one finds faults before any test episode is seen. Told are, by case, mean JCT
in s, JCT and makespan relative to fair's, mean and worst episode, and the longest stall: executors that wait beside a
ready stage.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from next_to_fair import parser_of, policies_of, rows_of, tell

from clearsched.edge_cases.cases import cases_of, params_of
from clearsched.files import read_json
from clearsched.params import Params, parse
from clearsched.problems import find_problem


def params_of_results(folder: Path, seed: int, episodes: int) -> Params:
    """What the traces and workloads of a run were made by, with another seed."""
    values: dict[str, Any] = {}
    for stage in ("traces", "workloads"):
        values |= read_json(folder / "params" / f"{stage}.json")
    return parse(values | {"seed": seed, "edge_cases": {"episodes": episodes}}, str(folder / "params"), whole=False)


def measure(folder: Path, names: list[str], seed: int, episodes: int) -> list[dict[str, Any]]:
    """A row a case and policy."""
    params = params_of_results(folder, seed, episodes)
    problem, policies = find_problem(params.problem), policies_of(names)
    rows: list[dict[str, Any]] = []
    for case in cases_of(problem):
        changed = params_of(params, case)
        if changed is None:
            continue
        with tempfile.TemporaryDirectory() as name:
            trace, workloads = folder / "traces" / "trace.parquet", Path(name) / "workloads.parquet"
            if changed.traces != params.traces:
                trace = Path(name) / "trace.parquet"
                problem.build(changed, trace)
            problem.draw(changed, trace, workloads)
            instance = problem.open(trace, workloads)
        rows += [{"case": case} | row for row in rows_of(policies, instance, instance.split("test"))]
    return rows


def main() -> None:
    """Print the rows as a Markdown table, or as JSON."""
    parser = parser_of(__doc__, seed=77)
    parser.add_argument("--episodes", type=int, default=32)
    options = parser.parse_args()
    tell(measure(options.results, options.policies, options.seed, options.episodes), "case", options.json)


if __name__ == "__main__":
    main()
