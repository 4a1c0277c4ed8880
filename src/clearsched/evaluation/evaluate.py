"""The evaluation stage: from the files of the other stages to tables, metrics and the printed comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from clearsched import schemas
from clearsched.decisions.parts import WHOLE
from clearsched.evaluation import TABLE, comparison, rollouts, seeds, text
from clearsched.evaluation.bounds import bound_table, bounds_of
from clearsched.evaluation.fidelity import fidelity_table
from clearsched.evaluation.guards import guard_lines, write_take_overs
from clearsched.evaluation.policies import files_of, load_policies, reference_policy
from clearsched.evaluation.seed_pairs import pair_table
from clearsched.evaluation.students import control_lines, student_table
from clearsched.evaluation.until import roll_out_until
from clearsched.evaluation.verdicts import verdicts
from clearsched.evaluation.worst import unsafe_lines
from clearsched.files import provenance, read_json, write_json, write_text
from clearsched.problems import find_problem
from clearsched.problems.problem import Problem
from clearsched.schemas import BOUNDS, COMPARISON, FIDELITY, SEED_PAIRS, SEEDS, STUDENTS, write_table

if TYPE_CHECKING:
    from clearsched.params import Params


def evaluate(
    params: Params,
    trace: Path,
    workloads: Path,
    tuned: Path,
    teacher: Path,
    students: Sequence[Path],
    decisions: Path,
    out_dir: Path,
    searched: Sequence[Path] = (),
    teacher_seeds: Sequence[Path] = (),
) -> None:
    """Roll out every policy on the test episodes and write what came of it to `out_dir`."""
    from rich.console import Console

    problem = find_problem(params.problem)
    instance = problem.open(trace, workloads)
    episodes = instance.split("test")
    settings = read_json(tuned)
    policies = load_policies(problem, params.evaluation, settings, teacher, students, searched)
    reference = reference_policy(problem, settings)
    bootstrap = comparison.Bootstrap(params.seed, params.evaluation.confidence, params.evaluation.bootstrap)
    with Console(stderr=True).status("") as status:

        def progress(name: str) -> None:
            status.update(f"test episodes: {name}")

        width = params.evaluation.width
        ran = roll_out_until(problem, policies, instance, episodes, reference, bootstrap, width, progress)
        runs, episodes = ran.rollouts, episodes[: ran.episodes]
        status.update("test episodes: training seeds")
        trained = seeds.trained_of(problem, policies, teacher, teacher_seeds, params.evaluation.mode)
        seeded = seeds.run_seeds(runs, trained, instance, episodes)
    bounds = bounds_of(problem, instance, episodes)
    compared = comparison.compare(problem, runs, reference, bootstrap, bounds, seeds=seeded)
    learned = [policy for policy in policies if policy.kind == "student"]
    faithful = fidelity_table(problem, learned, decisions, "validation", instance.most, bootstrap)
    if params.evaluation.part_costs:
        faithful = with_costs(faithful, problem, learned, teacher, instance, episodes, bootstrap)
    paired = pair_table(seeded, bootstrap)
    beside = student_table(problem, runs, faithful.to_pylist(), bootstrap)
    files = {"trace": trace, "workloads": workloads, "tuned": tuned, "teacher": teacher, "decisions": decisions}
    files |= files_of(students, searched)
    files |= {f"teacher seeds/{number}": path for number, path in enumerate(teacher_seeds)}
    metadata = provenance(params.evaluation.model_dump(mode="json"), files)
    metadata |= {"problem": problem.name, "objective": instance.objective.name, "confidence": bootstrap.confidence}
    metadata |= {"reference": reference, "episodes": ran.episodes, "of_episodes": ran.most}
    if ran.widest is not None:
        metadata |= {"widest_percent": ran.widest if np.isfinite(ran.widest) else None, "width_reached": ran.reached}
    base, plain = comparison.find(runs, reference).objective, comparison.plain_objective(problem, runs)
    lower = instance.objective.lower_is_better
    tables: dict[str, tuple[pa.Table, pa.Schema]] = {
        "episodes": (rollouts.episode_table(runs), schemas.episodes(problem.measures)),
        "comparison": (compared, COMPARISON),
        "fidelity": (faithful, FIDELITY),
        "bounds": (bound_table(bounds), BOUNDS),
        "seeds": (seeds.seed_table(seeded, base, plain, lower_is_better=lower), SEEDS),
        "seed_pairs": (paired, SEED_PAIRS),
        "students": (beside, STUDENTS),
        **instance.details(runs, episodes),
    }
    for name, (table, schema) in tables.items():
        write_table(out_dir / f"{name}.parquet", table, schema, metadata)
    write_take_overs(problem, runs, out_dir, metadata)
    write_json(out_dir / "metrics.json", metrics(compared, faithful))
    found = verdicts(problem, runs, reference, bootstrap, {run.name: run for run in seeded})
    setting = instance.describe("test", episodes)
    guards = guard_lines(problem, runs)
    drawn = bootstrap.seed, bootstrap.confidence, bootstrap.resamples
    together = list(seeds.summaries(seeded, base, plain, *drawn, lower_is_better=lower))
    added = control_lines(problem, runs, bootstrap)
    stated = (together, beside, added, guards, paired, str(ran), unsafe_lines(problem, runs))
    told = text.render(problem, compared, found, faithful, setting, bootstrap, *stated)
    write_text(out_dir / TABLE, told)


def with_costs(
    faithful: pa.Table,
    problem: Problem,
    students: Sequence[Any],
    teacher: Path,
    instance: Any,
    episodes: Sequence[Any],
    bootstrap: comparison.Bootstrap,
) -> pa.Table:
    """The table of fidelity with what a student's answers to each part cost in closed loop."""
    from clearsched.evaluation.part_costs import LEVEL, objective_of, part_costs  # it brings torch
    from clearsched.teacher import load_policy as load_teacher

    rows, by = faithful.to_pylist(), {student.name: student for student in students}
    forms = {choice.name: choice.form for choice in problem.choices}
    asked: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        if row["decisions_of"] == "all" and (forms[row["choice"]] == LEVEL or row["part"] != WHOLE):
            asked[row["policy"], LEVEL if row["part"] == WHOLE else row["part"]] = row
    expert = load_teacher(teacher)
    base = objective_of(expert, instance, episodes)
    for name, student in by.items():
        own = [part for policy, part in asked if policy == name]
        for part, cost in part_costs(expert, student, instance, episodes, own, base, bootstrap).items():
            asked[name, part] |= {"cost_percent": cost.mean, "cost_low": cost.low, "cost_high": cost.high}
    return pa.Table.from_pylist(rows, schema=FIDELITY)


def metrics(compared: pa.Table, faithful: pa.Table) -> dict[str, Any]:
    """What `dvc metrics show` prints, by policy: mean and worst of each measure that is told, fidelity as shares."""
    result: dict[str, Any] = {}
    objective = compared["measure"][0].as_py()  # its rows come first
    for row in compared.to_pylist():
        told = result.setdefault(row["policy"], {})
        told[row["measure"]] = _rounded(row["mean"])
        told[f"{row['measure']}_worst"] = _rounded(row["worst"])
        if row["measure"] == objective:
            told |= {name: _rounded(row[name]) for name in ("ci_low", "ci_high", "difference_percent")}
            for name in ("worst_to_baseline", "from_bound_percent"):
                if row[name] is not None:
                    told[name] = _rounded(row[name])
    for row in faithful.to_pylist():
        if row["decisions_of"] == "all" and row["part"] == WHOLE:
            for name in ("top1", "same_group", "regret", "level_error"):
                if row[name] is not None:
                    result[row["policy"]][f"{row['choice']}_{name}"] = round(row[name], 4)
    return result


def _rounded(value: float | None) -> float | None:
    """Four decimals; JSON has no word for what is no number."""
    return None if value is None or value != value else round(value, 4)
