"""Toy results as the page reads them: two heuristics, a student written by hand, one short episode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from clearsched import figures, report
from clearsched.decisions.recording import log
from clearsched.files import write_json, write_text
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.traces import write_trace
from clearsched.schemas import COMPARISON, STUDENTS, write_table
from stages import stage_params
from toys import stage, toy_trace

HOSTILE = '</script><img src=x onerror="alert(1)">&amp;'

PARAMS: dict[str, dict[str, Any]] = {
    "decisions": {"episodes": 2, "held_out": 2},
    "report": {"episode": 0, "decisions": 300, "explained": 6},
}
WORKLOADS = {
    "dag_jobs": {"executors": 4, "jobs": 6, "load": 0.9, "episodes": {"train": 2, "validation": 2, "test": 1}},
    "deferrable_jobs": {"jobs": 20, "slots": 60, "load": 0.8, "episodes": {"train": 2, "validation": 2, "test": 1}},
}
POLICIES = {"dag_jobs": ("fair", "capped_srpt"), "deferrable_jobs": ("fifo", "edf")}
STUDENTS_BY_HAND: dict[str, dict[str, Any]] = {
    "dag_jobs": {
        "stage": {
            "rules": [
                {"if": "job_is_source >= 1 and job_fair_load < 2", "then": 3},
                {"if": "job_age_s < 5", "then": 2},
                {"if": "otherwise", "then": 1},
            ]
        },
        "limit": {"rules": [{"if": "jobs_in_system < 2", "then": 1.0}, {"if": "otherwise", "then": 0.5}]},
        "most": 4,
    },
    "deferrable_jobs": {
        "none": True,
        "start": {
            "rules": [
                {"if": "job_slack_min < 60", "then": 2},
                {"if": "job_waited_min >= 10", "then": 1},
                {"if": "otherwise", "then": -1},
            ]
        },
    },
}


def results_of(root: Path, problem_name: str, student: str = "hand") -> Path:
    """A scenario `small` below `root`, and its page in `root`/report; the folder of the scenario."""
    problem, folder = find_problem(problem_name), root / "small"
    sections = PARAMS | {"workload": WORKLOADS[problem_name]}
    heuristics = POLICIES[problem_name]
    params = stage_params(problem_name, evaluation={"policies": [*heuristics, "rule_list"]}, **sections)
    trace, workloads = folder / "traces/trace.parquet", folder / "traces/workloads.parquet"
    if problem_name == "dag_jobs":
        write_trace(trace, toy_trace([[stage(4), stage(3, [0])], [stage(9), stage(4), stage(1, [1])]]))
    else:
        problem.build(params, trace)
    problem.draw(params, trace, workloads)
    write_json(folder / "heuristics/tuned.json", {"problem": problem_name, "best": heuristics[0]})
    write_json(
        folder / "students/rule_list.json",
        {"name": student, "kind": "student", "problem": problem_name} | STUDENTS_BY_HAND[problem_name],
    )
    decisions = folder / "decisions/decisions.parquet"
    log(params, trace, workloads, None, heuristics[0], decisions)
    _tables(folder, problem, (*heuristics, student))
    figures.draw(f"{'_'.join(problem.measures[0].short.lower().split())}_by_policy", folder, {"problem": problem_name})
    report.collect(
        params,
        trace,
        workloads,
        folder / "heuristics/tuned.json",
        Path(heuristics[0]),
        [folder / "students/rule_list.json"],
        decisions,
        folder / "report/collected.json",
    )
    report.build([folder], root / "report/index.html")
    return folder


def _tables(folder: Path, problem: Any, policies: tuple[str, ...]) -> None:
    measure = problem.measures[0]
    zero = {pa.string(): "", pa.bool_(): False}
    rows = []
    for rank, name in enumerate(policies[::-1]):
        row = {field.name: zero.get(field.type, 0) for field in COMPARISON}
        row |= {"policy": name, "kind": "heuristic" if rank else "student", "mode": "argmax", "measure": measure.name}
        row |= {"unit": measure.unit, "episodes": 4, "mean": 5.0 + rank, "ci_low": 4.5 + rank, "ci_high": 5.5 + rank}
        row |= {"worst": 9.0 - rank, "reference": policies[0], "difference": rank - 2.0, "difference_percent": 25.0}
        row |= {"difference_low": rank - 2.5, "difference_high": rank - 1.5, "bound": None, "from_bound_percent": None}
        rows.append(row)
    about = {"problem": problem.name, "objective": measure.name, "confidence": 0.95}
    evaluation = folder / "evaluation"
    write_table(evaluation / "comparison.parquet", pa.Table.from_pylist(rows, COMPARISON), COMPARISON, about)
    read = {field.name: zero.get(field.type, 0) for field in STUDENTS}
    read |= {"policy": policies[-1], "complexity": 9, "top1": 0.5, "beside": []}
    write_table(evaluation / "students.parquet", pa.Table.from_pylist([read], STUDENTS), STUDENTS, about)
    write_text(evaluation / "comparison.txt", "Text.\n* a sentence of the evaluation\n")
