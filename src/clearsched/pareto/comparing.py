"""Students of several sizes on the test episodes, each paired with the teacher, and what they agree with it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.evaluation.fidelity import fidelity_table
from clearsched.evaluation.policies import load_policy
from clearsched.evaluation.rollouts import roll_out
from clearsched.evaluation.statistics import Bootstrap
from clearsched.evaluation.students import faithful_in, student_rows
from clearsched.files import provenance, read_json, write_text
from clearsched.pareto import figure, text
from clearsched.pareto.series import series_of
from clearsched.problems import find_problem
from clearsched.problems.declarations import Measure
from clearsched.problems.policy import heuristic
from clearsched.problems.problem import Problem
from clearsched.schemas import STUDENTS_PARETO, write_table
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.policy import load_policy as load_student
from clearsched.search.safety import told_safe
from clearsched.students.bench import smallest_good
from clearsched.students.sizes import name_of

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
    episodes = instance.split("test")
    base, *rollouts = roll_out(problem, [expert, *sized], instance, episodes)
    (plain,) = roll_out(problem, [heuristic(problem, problem.baseline)], instance, episodes)  # it may be the expert too
    fidelity = fidelity_table(problem, sized, decisions, "validation", instance.most).to_pylist()
    faithful = faithful_in(problem, fidelity)
    beside = student_rows(rollouts, base, plain, faithful, bootstrap)
    rows = [_row(student, told, instance.objective) for student, told in zip(sized, beside, strict=True)]
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
    """A student under the name of its kind, the setting that says its size, and its size."""
    student = load_student(path, problem)
    size = student.evidence.get("size")
    if not isinstance(size, int):
        raise ClearschedError(f"{path}: tells no size: fit it again with --size")
    name = name_of(student.name, student.evidence.get("size_by", ""))
    return replace(student, name=f"{name} {size}", evidence={**student.evidence, "kind": student.name})


def _row(student: ScoredPolicy, told: Mapping[str, Any], objective: Measure) -> dict[str, Any]:
    """A row of STUDENTS_PARETO of one of STUDENTS."""
    size = int(student.evidence["size"])
    own = {
        "kind": student.evidence["kind"],
        "by": student.evidence.get("size_by", ""),
        "size": size,
        "unseen": student.evidence.get(f"unseen_{objective.name}"),
        "safe": told_safe(student.evidence),
        "picked": False,
    }
    return own | {name: told[name] for name in STUDENTS_PARETO.names if name not in own}


def _pick(rows: Sequence[dict[str, Any]], objective: Measure, within: float) -> None:
    """Mark of each kind the smallest safe size that is nearly as good as the best where students are chosen.

    Where no size is safe they are all as good as that.
    """
    sign = 1.0 if objective.lower_is_better else -1.0
    for own in series_of(rows):
        usable = [row for row in own if row["safe"]] or own
        told = [(row, sign * row["unseen"]) for row in usable if row["unseen"] is not None]
        if told:
            smallest_good(told, within)[0]["picked"] = True
