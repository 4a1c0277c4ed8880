"""How faithful the students of a base are to its teacher."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clearsched.decisions.reader import read_metadata
from clearsched.evaluation.fidelity import fidelity_table
from clearsched.evaluation.policies import files_of
from clearsched.evaluation.statistics import Bootstrap
from clearsched.files import provenance
from clearsched.problems import find_problem
from clearsched.schemas import FIDELITY, write_table
from clearsched.scorers.policy import load_policy

if TYPE_CHECKING:
    from clearsched.params import Params

SPLIT = "validation"
"""Whose logged decisions are asked again: students did not learn from them."""


def ask_students(
    params: Params, trace: Path, workloads: Path, decisions: Path, students: Sequence[Path], out: Path
) -> None:
    """See `clearsched.paper.fidelity`."""
    problem = find_problem(params.problem)
    instance = problem.open(trace, workloads)
    asked = [load_policy(path, problem) for path in students]
    bootstrap = Bootstrap(params.seed, params.evaluation.confidence, params.evaluation.bootstrap)
    table = fidelity_table(problem, asked, decisions, SPLIT, instance.most, bootstrap)
    held_out = instance.split(SPLIT, read_metadata(decisions)["episodes"][SPLIT])
    metadata = provenance({}, files_of(students) | {"decisions": decisions}) | {
        "problem": problem.name,
        "setting": f"logged decisions of {instance.describe(SPLIT, held_out)}",
        "source": params.traces.source,
    }
    write_table(out, table, FIDELITY, metadata)
