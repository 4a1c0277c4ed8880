"""How faithful the students of a base are to its teacher."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clearsched.evaluation.fidelity import fidelity_table
from clearsched.evaluation.policies import files_of
from clearsched.files import provenance
from clearsched.problems import find_problem
from clearsched.schemas import FIDELITY, write_table
from clearsched.scorers.policy import load_policy

if TYPE_CHECKING:
    from clearsched.params import Params


def ask_students(
    params: Params, trace: Path, workloads: Path, decisions: Path, students: Sequence[Path], out: Path
) -> None:
    """See `clearsched.paper.fidelity`."""
    problem = find_problem(params.problem)
    most = problem.open(trace, workloads).most
    asked = [load_policy(path, problem) for path in students]
    table = fidelity_table(problem, asked, decisions, "validation", most)
    files = files_of(students) | {"decisions": decisions}
    write_table(out, table, FIDELITY, provenance({}, files) | {"problem": problem.name})
