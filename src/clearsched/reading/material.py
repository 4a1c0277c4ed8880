"""What a model card is made of: the results of a scenario, held against what the student says of its origin."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clearsched.decisions.choices import Choices
from clearsched.errors import ClearschedError
from clearsched.files import digest_file, read_json
from clearsched.problems.declarations import Measure
from clearsched.problems.objectives import find_objective, told_measures
from clearsched.reading.files import SPLIT, read_log
from clearsched.reading.worth import Bench, Worth, worth_of
from clearsched.schemas import COMPARISON, FIDELITY, read_table
from clearsched.scorers.policy import ScoredPolicy, load_policy

INPUTS = {
    "trace": "traces/trace.parquet",
    "workloads": "traces/workloads.parquet",
    "decisions": "decisions/decisions.parquet",
    "teacher": "teacher/teacher.safetensors",
}
"""Where the results of a scenario have what a student's file names by digest."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Material:
    """What a card is made of.

    Attributes:
        policy: the student.
        path: its file.
        results: folder of the scenario.
        params: of the stage students.
        objective: what policies are compared by.
        comparison: rows of it, best first.
        beside: the student's rows of what belongs beside a mean.
        confidence: level of their intervals.
        fidelity: the student's rows.
        bench: validation episodes.
        logged: validation decisions.
        worth: of the student's pieces.
    """

    policy: ScoredPolicy
    path: Path
    results: Path
    params: Row
    objective: Measure
    comparison: list[Row]
    beside: list[tuple[Measure, Row]]
    confidence: float
    fidelity: list[Row]
    bench: Bench
    logged: dict[str, Choices]
    worth: list[Worth]

    @property
    def own(self) -> Row | None:
        """The student's row of the comparison; None where it is none of `evaluation.policies`."""
        return next((row for row in self.comparison if row["policy"] == self.policy.name), None)


def gather(path: Path, results: Path) -> Material:
    """Read what a card is made of, and hold it against what the student says of its origin.

    Raises:
        ClearschedError: a file is missing, of another student, or was made from other data.
    """
    policy = load_policy(path)
    origin = policy.evidence.get("provenance")
    if not isinstance(origin, dict) or not isinstance(origin.get("inputs"), dict):
        raise ClearschedError(f"{path}: does not say what it was made from: only fitted students have a card")
    for name, place in INPUTS.items():
        digest = origin["inputs"].get(name)
        if digest is not None and digest != digest_file(_there(results / place)):
            raise ClearschedError(f"{path}: made from another {name} than lies in {results}: run snakemake")
    evaluation = results / "evaluation"
    compared, about = read_table(evaluation / "comparison.parquet", COMPARISON)
    if about.get("inputs", {}).get(f"students/{path.name}") != digest_file(path):
        raise ClearschedError(f"{evaluation}: evaluated another {path.name} than {path}: run snakemake")
    objective, rows = find_objective(policy.problem, about["objective"], evaluation), compared.to_pylist()
    faithful = read_table(evaluation / "fidelity.parquet", FIDELITY)[0].to_pylist()
    instance = policy.problem.open(results / INPUTS["trace"], results / INPUTS["workloads"])
    bench = Bench(instance, instance.split(SPLIT))
    logged, most = read_log(policy, results / INPUTS["decisions"], SPLIT)
    return Material(
        policy,
        path,
        results,
        read_json(_there(results / "params" / "students.json")),
        objective,
        [row for row in rows if row["measure"] == objective.name],
        [
            (measure, row)
            for measure in told_measures(policy.problem, objective)[1:]
            for row in rows
            if measure.beside and row["measure"] == measure.name and row["policy"] == policy.name
        ],
        float(about.get("confidence", 0.95)),
        [row for row in faithful if row["policy"] == policy.name],
        bench,
        logged,
        worth_of(policy, logged, most, bench),
    )


def _there(path: Path) -> Path:
    if not path.is_file():
        raise ClearschedError(f"{path}: no such file: run snakemake")
    return path
