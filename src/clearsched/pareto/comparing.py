"""Students of several sizes on the test episodes, each paired with the teacher, and what they agree with it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from clearsched.decisions.parts import WHOLE
from clearsched.errors import ClearschedError
from clearsched.evaluation.comparison import Bootstrap, difference_interval
from clearsched.evaluation.fidelity import fidelity_table
from clearsched.evaluation.policies import load_policy
from clearsched.evaluation.rollouts import Rollout, roll_out
from clearsched.files import provenance, read_json, write_text
from clearsched.pareto import figure, text
from clearsched.problems import find_problem
from clearsched.problems.problem import Instance, Measure, Problem
from clearsched.schemas import STUDENTS_PARETO, write_table
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.policy import load_policy as load_student
from clearsched.students.bench import smallest_good

if TYPE_CHECKING:
    from clearsched.params import Params

NAME = "students_pareto"


def compare_sizes(
    params: Params,
    trace: Path,
    workloads: Path,
    tuned: Path,
    teacher: Path,
    decisions: Path,
    students: Sequence[Path],
    out_dir: Path,
) -> str:
    """See `clearsched.pareto.compare`."""
    from clearsched.figures import style, subject

    problem = find_problem(params.problem)
    instance = problem.open(trace, workloads)
    sized = [_sized(path, problem) for path in students]
    bootstrap = Bootstrap(params.seed, params.evaluation.confidence, params.evaluation.bootstrap)
    expert = load_policy(problem, teacher, read_json(tuned), params.evaluation.mode)
    base, *rollouts = roll_out(problem, [expert, *sized], instance, instance.split("test"))
    fidelity = _fidelity(problem, sized, decisions, instance)
    rows = [
        _row(instance, student, rollout, base, fidelity, bootstrap)
        for student, rollout in zip(sized, rollouts, strict=True)
    ]
    _pick(rows, instance.objective, params.students.pareto.within)
    files = {path.parent.name + "/" + path.name: path for path in students}
    files |= {"trace": trace, "workloads": workloads, "tuned": tuned, "decisions": decisions}
    files |= {"teacher": teacher} if teacher.is_file() else {}
    metadata = provenance(params.students.pareto.model_dump(mode="json"), files)
    metadata |= {"problem": problem.name, "objective": instance.objective.name, "confidence": bootstrap.confidence}
    write_table(
        out_dir / f"{NAME}.parquet", pa.Table.from_pylist(rows, schema=STUDENTS_PARETO), STUDENTS_PARETO, metadata
    )
    told = text.render(problem, instance, rows, base, params)
    write_text(out_dir / f"{NAME}.txt", told)
    draw = partial(figure.draw, rows, instance.objective, subject(problem), bootstrap.confidence)
    style.draw_or_say("students of several sizes", draw, out_dir / NAME, params.figures.dpi)
    return told


def _sized(path: Path, problem: Problem) -> ScoredPolicy:
    """A student under the name of its kind and size."""
    student = load_student(path, problem)
    size = student.evidence.get("size")
    if not isinstance(size, int):
        raise ClearschedError(f"{path}: tells no size: fit it again with --size")
    return replace(student, name=f"{student.name} {size}")


def _fidelity(
    problem: Problem, students: Sequence[ScoredPolicy], decisions: Path, instance: Instance
) -> Mapping[str, float]:
    """By student, the share of the real choices in which its first choice is the teacher's; of all where none is."""
    table = fidelity_table(problem, students, decisions, "validation", instance.most).to_pylist()
    found: dict[str, float] = {}
    for subset in ("all", "real"):
        for row in table:
            if row["choice"] == problem.choices[0].name and row["part"] == WHOLE and row["decisions_of"] == subset:
                found |= {} if row["top1"] is None else {row["policy"]: row["top1"]}
    return found


def _row(
    instance: Instance,
    student: ScoredPolicy,
    rollout: Rollout,
    base: Rollout,
    fidelity: Mapping[str, float],
    bootstrap: Bootstrap,
) -> dict[str, Any]:
    objective = instance.objective
    mean = float(base.objective.mean())
    difference = difference_interval(rollout, base, objective, bootstrap)
    percent = difference.scaled(100.0 / abs(mean) if mean else 1.0)
    size = int(student.evidence["size"])
    return {
        "kind": student.name.removesuffix(f" {size}"),
        "size": size,
        "complexity": sum(scorer.complexity() for scorer in student.scorers.values()),
        "unseen": student.evidence.get(f"unseen_{objective.name}"),
        "picked": False,
        "mean": float(rollout.objective.mean()),
        "difference_percent": percent.mean,
        "difference_low": percent.low,
        "difference_high": percent.high,
        "worst": float(max(rollout.objective) if objective.lower_is_better else min(rollout.objective)),
        "top1": fidelity.get(student.name),
    }


def _pick(rows: Sequence[dict[str, Any]], objective: Measure, within: float) -> None:
    """Mark of each kind the smallest size that is nearly as good as the best on the episodes that students chose on."""
    sign = 1.0 if objective.lower_is_better else -1.0
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = sorted((row for row in rows if row["kind"] == kind), key=lambda row: int(row["size"]))
        told = [(row, sign * row["unseen"]) for row in own if row["unseen"] is not None]
        if told:
            smallest_good(told, within)[0]["picked"] = True
