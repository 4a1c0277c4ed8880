"""The model card of a student: what it is, how it does, what is wrong with it, what it was made from, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.decisions.choices import Choices
from clearsched.errors import ClearschedError
from clearsched.files import digest_file, digest_json, read_json, write_text
from clearsched.problems.problem import find_objective
from clearsched.reading.files import SPLIT, read_log
from clearsched.reading.verification.verify import beneath, lines_of, verdicts
from clearsched.reading.worth import Bench, Worth, worth_of
from clearsched.reading.worth import table as worth_table
from clearsched.schemas import COMPARISON, FIDELITY, read_table
from clearsched.scorers.pieces import speakers
from clearsched.scorers.policy import ScoredPolicy, load_policy, names_of
from clearsched.scorers.text import render
from clearsched.search.safety import LIMIT
from clearsched.shipped.cards import number, table
from clearsched.shipped.making import run_command
from clearsched.students.kinds import STUDENTS

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
        comparison: rows of the objective, best first.
        fidelity: the student's rows.
        bench: validation episodes.
        logged: validation decisions.
        worth: of the student's pieces.
    """

    policy: ScoredPolicy
    path: Path
    results: Path
    params: Row
    comparison: list[Row]
    fidelity: list[Row]
    bench: Bench
    logged: dict[str, Choices]
    worth: list[Worth]

    @property
    def own(self) -> Row:
        """The student's row of the comparison."""
        return next(row for row in self.comparison if row["policy"] == self.policy.name)


def write_card(path: Path, results: Path, out: Path | None = None) -> Path:
    """See `clearsched.reading.card`."""
    material = gather(path, results)
    out = out or path.with_suffix(".md")
    write_text(out, "\n".join(lines(material)) + "\n")
    return out


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
    objective = find_objective(policy.problem, about["objective"], evaluation)
    faithful = read_table(evaluation / "fidelity.parquet", FIDELITY)[0].to_pylist()
    instance = policy.problem.open(results / INPUTS["trace"], results / INPUTS["workloads"])
    bench = Bench(instance, instance.split(SPLIT))
    logged, most = read_log(policy, results / INPUTS["decisions"], SPLIT)
    return Material(
        policy,
        path,
        results,
        read_json(_there(results / "params" / "students.json")),
        [row for row in compared.to_pylist() if row["measure"] == objective.name],
        [row for row in faithful if row["policy"] == policy.name],
        bench,
        logged,
        worth_of(policy, logged, most, bench),
    )


def _there(path: Path) -> Path:
    if not path.is_file():
        raise ClearschedError(f"{path}: no such file: run snakemake")
    return path


def lines(material: Material) -> list[str]:
    """The card as Markdown."""
    policy, params = material.policy, material.params
    name, scenario = policy.name, params["scenario"]
    summary = f": {STUDENTS[name].summary}" if name in STUDENTS else ""
    origin, folder = policy.evidence["provenance"], f"results/{scenario}"
    return [
        f"# Student {name} of {scenario}",
        "",
        f"A policy of the problem `{policy.problem.name}` that a person can read{summary}. Distilled from "
        f"{origin.get('expert', 'a teacher')}'s decisions by clearsched {origin['version']}, refined in closed "
        f"loop, seed {params['seed']}.",
        "",
        "## The policy",
        "",
        *_block(render(policy).splitlines()),
        "",
        "## Test episodes",
        "",
        *_cost(material),
        "",
        "## What each piece is worth",
        "",
        *_block(worth_table(policy, material.worth, material.bench) or ["No piece of it can be told apart."]),
        "",
        "## Fidelity",
        "",
        *_fidelity(material.fidelity),
        "",
        "## Known weaknesses",
        "",
        *(f"* {told}" for told in weaknesses(material)),
        "",
        "## Verification",
        "",
        *_block(lines_of(policy, material.logged, material.bench)[3:]),
        "",
        "## Made from",
        "",
        *table(["what", "digest"], [*sorted(origin["inputs"].items()), ["params", digest_json(origin["params"])]]),
        "",
        "## Made anew by",
        "",
        *_block(
            [
                run_command(scenario, policy.problem.name),
                f"clearsched students card {folder}/students/{material.path.name} --results {folder}",
            ]
        ),
    ]


def _block(text: Sequence[str]) -> list[str]:
    return ["```", *text, "```"]


def _cost(material: Material) -> list[str]:
    own, policy = material.own, material.policy
    unit = f" {own['unit']}" if own["unit"] else ""
    told = [
        ["episodes", own["episodes"]],
        [f"mean {own['measure']}", f"{number(own['mean'])}{unit} [{number(own['ci_low'])}, {number(own['ci_high'])}]"],
        [
            f"less that of {own['reference']}, paired",
            f"{number(own['difference'])}{unit} [{number(own['difference_low'])}, {number(own['difference_high'])}]",
        ],
        ["worst episode", f"{number(own['worst'])}{unit}"],
    ]
    plain = policy.problem.baseline
    if own["worst_to_baseline"] is not None:
        told.append([f"most next to {plain} on any episode", f"{number(own['worst_to_baseline'])} times"])
    stress = policy.evidence.get("stress")
    if isinstance(stress, dict):
        told.append(
            [
                f"most next to {stress['heuristic']} on {stress['episodes']} training and stressed episodes",
                f"{number(stress['worst'])} times",
            ]
        )
    return table(["measured", ""], told)


def _fidelity(rows: Sequence[Row]) -> list[str]:
    keys = ("choice", "decisions_of", "part", "decisions", "top1", "mean_rank", "regret", "level_error", "complexity")
    if not rows:
        return ["Not measured."]
    return table(keys, [[number(row[key]) for key in keys] for row in rows])


def weaknesses(material: Material) -> Iterator[str]:
    """What a user should know before it schedules anything, each in a sentence."""
    own, policy = material.own, material.policy
    plain, stress = policy.problem.baseline, policy.evidence.get("stress", {})
    yield "It knows only jobs and loads like those that it was made from: hold it against the heuristics on others."
    for where, ratio in (
        ("a test episode", own["worst_to_baseline"]),
        ("an episode under stress", stress.get("worst")),
    ):
        if ratio is not None and ratio > LIMIT:
            yield f"On {where} it takes {ratio:.2f} times {plain}'s: find out why before it schedules anything."
    if own["difference_high"] > 0 and own["policy"] != own["reference"]:
        yield f"No gain over {own['reference']} is shown: the interval of the difference reaches above 0."
    real = [row for row in material.fidelity if row["decisions_of"] == "real" and row["top1"] is not None]
    for row in real:
        yield f"Of the real choices of {row['choice']} it answers {100 * row['top1']:.0f} % as its teacher."
    yield from _unsure(material)
    if len(material.policy.evidence.get("restarts") or ()) < 2:
        yield "One seed of training: how much another seed would differ is not measured here."


def _unsure(material: Material) -> Iterator[str]:
    policy = material.policy
    if beneath(policy):
        yield beneath(policy)
    wrong = [name for name, verdict in verdicts(policy, material.logged) if verdict.holds is False]
    if wrong:
        yield f"Scores do not always go the way of {len(wrong)} features with a direction: {', '.join(wrong)}."
    for choice in policy.problem.choices:
        choices = material.logged[choice.name]
        if not len(choices.chosen):
            continue
        rows = choices.features[~choices.is_none] if choice.form == "rank" else choices.features[choices.starts[:-1]]
        spoke = policy.scorers[choice.name].firing(rows, names_of(choice))
        pieces = [worth.piece for worth in material.worth if worth.choice == choice.name]
        if spoke is not None:
            silent = np.setdiff1d(np.arange(speakers(policy.scorers[choice.name])), spoke)
            for place in silent.tolist():
                yield f"{choice.name}: {pieces[place]} never fired on the held-out decisions."
    for worth in material.worth:
        if worth.cost is not None and worth.cost.high < 0:
            yield f"{worth.choice}: without {worth.piece} it is {-worth.cost.mean:.2f} % better on validation episodes."
