"""All edge cases in one table: the objective of every policy on each, and what else the problem measures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from clearsched import schemas
from clearsched.edge_cases import TABLE
from clearsched.edge_cases.case import Case
from clearsched.errors import ClearschedError
from clearsched.evaluation.statistics import Bootstrap
from clearsched.files import provenance, write_text
from clearsched.problems import find_problem
from clearsched.problems.declarations import Measure
from clearsched.problems.objectives import find_objective
from clearsched.problems.problem import Problem
from clearsched.schemas import COMPARISON, EDGE_CASES, read_table, write_table

if TYPE_CHECKING:
    from clearsched.params import Params


def compare_cases(params: Params, folders: Sequence[Path], out_dir: Path) -> None:
    """Write `edge_cases.parquet`, `.txt`, and the figure `.svg`, `.png`, `.csv` to `out_dir`.

    Raises:
        ClearschedError: a table is missing or broken, or they are of different objectives or references.
    """
    from clearsched.edge_cases import figure, text
    from clearsched.figures import style, subject

    problem = find_problem(params.problem)
    cases, objective = read_cases(problem, folders)
    metadata = provenance(
        params.edge_cases.model_dump(mode="json"),
        {f"{folder.name}/comparison": folder / "comparison.parquet" for folder in folders},
    )
    metadata |= {"problem": problem.name, "objective": objective.name, "confidence": params.evaluation.confidence}
    write_table(out_dir / "edge_cases.parquet", table_of(cases), EDGE_CASES, metadata)
    bootstrap = Bootstrap(params.seed, params.evaluation.confidence, params.evaluation.bootstrap)
    told = text.render(problem, objective, cases, bootstrap)
    write_text(out_dir / TABLE, told)
    draw = partial(figure.draw, cases, objective, subject(problem), params.evaluation.confidence)
    style.draw_or_say("edge cases", draw, out_dir / "edge_cases", params.edge_cases.dpi)


def read_cases(problem: Problem, folders: Sequence[Path]) -> tuple[list[Case], Measure]:
    """What the folders of `run_case` hold, in their order, and the objective that they share.

    Raises:
        ClearschedError: see `compare_cases`.
    """
    cases, shared = [], set()
    for folder in folders:
        table, metadata = read_table(folder / "comparison.parquet", COMPARISON)
        if metadata.get("problem") != problem.name or "edge_case" not in metadata or not len(table):
            raise ClearschedError(f"{folder}: holds no edge case of {problem.name}: run it again")
        values = _values(folder, problem, metadata["objective"])
        named = metadata["edge_case"], metadata["label"], metadata["setting"]
        cases.append(Case(*named, table.to_pylist(), values, metadata.get("unsafe", [])))
        shared.add((metadata["objective"], cases[-1].rows[0]["reference"]))
    if len(shared) != 1:
        raise ClearschedError("edge cases: they differ in the objective or the reference: run all of them again")
    return cases, find_objective(problem, next(iter(shared))[0], "edge cases: objective")


def _values(folder: Path, problem: Problem, objective: str) -> dict[str, np.ndarray]:
    """By policy, the objective of each episode."""
    table, _ = read_table(folder / "episodes.parquet", schemas.episodes(problem.measures))
    policy = np.array(table["policy"].to_pylist())
    return {name: table[objective].to_numpy()[policy == name] for name in dict.fromkeys(policy.tolist())}


def table_of(cases: Sequence[Case]) -> pa.Table:
    """One row an edge case, measure and policy, of schema EDGE_CASES."""
    rows = [{"edge_case": case.name, "label": case.label} | row for case in cases for row in case.rows]
    return pa.Table.from_pylist(rows, schema=EDGE_CASES)
