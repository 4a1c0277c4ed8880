"""How far the policies of a base are from the optimum of small instances, of which it can be proved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from clearsched.evaluation.policies import files_of, load_policies
from clearsched.files import provenance, read_json
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.optimality import EXECUTORS, optimality_table, small_instances
from clearsched.problems.dag_jobs.optimum import EFFORT, MISSING, available
from clearsched.problems.dag_jobs.schemas import OPTIMALITY
from clearsched.schemas import write_table

if TYPE_CHECKING:
    from clearsched.params import Params

INSTANCES = {"smoke": 4, "paper": 200}


def hold_against_optimum(
    params: Params, tuned: Path, teacher: Path, students: Sequence[Path], out: Path, searched: Sequence[Path] = ()
) -> None:
    """See `clearsched.paper.optimum`. The optional solver is no reason for the other figures not to be made."""
    problem, count = find_problem(params.problem), INSTANCES[params.paper.scale]
    settings = {"instances": count, "seed": params.seed, "effort": EFFORT, "executors": EXECUTORS}
    told = provenance(settings, {"tuned": tuned, "teacher": teacher} | files_of(students, searched)) | settings
    if not available():
        write_table(out, OPTIMALITY.empty_table(), OPTIMALITY, told | {"missing": MISSING})
        return
    policies = load_policies(problem, params.evaluation, read_json(tuned), teacher, students, searched)
    profiles, workloads = small_instances(count, params.seed)
    with Console(stderr=True).status("") as status:
        table = optimality_table(
            policies, profiles, workloads, EFFORT, lambda solved: status.update(f"optimum: {solved} of {count}")
        )
    write_table(out, table, OPTIMALITY, told)
