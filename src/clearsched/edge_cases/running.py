"""One edge case: its episodes, and every policy of the run on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clearsched import schemas
from clearsched.edge_cases.cases import cases_of, params_of
from clearsched.errors import ClearschedError
from clearsched.evaluation import comparison, rollouts
from clearsched.evaluation.guards import write_take_overs
from clearsched.evaluation.policies import files_of, load_policies, reference_policy
from clearsched.evaluation.worst import unsafe_lines
from clearsched.files import provenance, read_json
from clearsched.problems import find_problem
from clearsched.problems.objectives import objectives, told_measures
from clearsched.schemas import COMPARISON, write_table

if TYPE_CHECKING:
    from clearsched.params import Params


def run_case(
    params: Params,
    case: str,
    trace: Path,
    tuned: Path,
    teacher: Path,
    students: Sequence[Path],
    out_dir: Path,
    searched: Sequence[Path] = (),
) -> None:
    """Write `workloads.parquet`, `episodes.parquet` and `comparison.parquet` to `out_dir`.

    Where a policy has a guard also `take_overs.parquet`.

    Heuristics are as tuned on the scenario's own load; where the edge case has other jobs, `trace.parquet` has them.
    """
    from rich.console import Console

    problem = find_problem(params.problem)
    own = params_of(params, case)
    if own is None:
        raise ClearschedError(f"edge case {case}: the scenario {params.scenario} cannot have it (docs/edge-cases.md)")
    if own.traces != params.traces:
        trace = out_dir / "trace.parquet"
        problem.build(own, trace)
    workloads = out_dir / "workloads.parquet"
    problem.draw(own, trace, workloads)
    instance, settings = problem.open(trace, workloads), read_json(tuned)
    policies = load_policies(problem, params.evaluation, settings, teacher, students, searched)
    episodes = instance.split("test")
    with Console(stderr=True).status("") as status:
        runs = rollouts.roll_out(
            problem, policies, instance, episodes, lambda name: status.update(f"edge case {case}: {name}")
        )
    reference = reference_policy(problem, settings)
    bootstrap = comparison.Bootstrap(params.seed, params.evaluation.confidence, params.evaluation.bootstrap)
    files = {"trace": trace, "workloads": workloads, "tuned": tuned, "teacher": teacher}
    files |= files_of(students, searched)
    metadata = provenance(params.edge_cases.model_dump(mode="json"), files) | {
        "problem": problem.name,
        "objective": instance.objective.name,
        "confidence": bootstrap.confidence,
        "edge_case": case,
        "label": cases_of(problem)[case].label,
        "setting": instance.describe("test", episodes),
        "unsafe": unsafe_lines(problem, runs),
    }
    told = (*objectives(problem), *told_measures(problem, instance.objective))
    compared = comparison.compare(problem, runs, reference, bootstrap, further=told)
    write_table(
        out_dir / "episodes.parquet", rollouts.episode_table(runs), schemas.episodes(problem.measures), metadata
    )
    write_take_overs(problem, runs, out_dir, metadata)
    write_table(out_dir / "comparison.parquet", compared, COMPARISON, metadata)
