"""The model card of a student: what it is, how it does, what is wrong with it, what it was made from, and how."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clearsched.files import digest_json, write_text
from clearsched.reading.material import Material, Row, gather
from clearsched.reading.verification.verify import lines_of
from clearsched.reading.weaknesses import weaknesses
from clearsched.reading.worth import table as worth_table
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.text import render
from clearsched.shipped.cards import number, safety_rows, table
from clearsched.shipped.commands import laid_over, run_command, scenario_of, stages_of
from clearsched.students.kinds import STUDENTS

STAGES = ("traces", "workloads", "heuristics", "search", "teacher", "decisions", "students", "evaluation")
"""What a student and its result depend on."""


def write_card(path: Path, results: Path, out: Path | None = None) -> Path:
    """See `clearsched.reading.card`."""
    material = gather(path, results)
    out = out or path.with_suffix(".md")
    write_text(out, "\n".join(lines(material)) + "\n")
    return out


def lines(material: Material) -> list[str]:
    """The card as Markdown."""
    policy, params = material.policy, material.params
    name, scenario = policy.name, params["scenario"]
    summary = f": {STUDENTS[name].summary}" if name in STUDENTS else ""
    origin, folder = policy.evidence["provenance"], f"results/{scenario}"
    laid = laid_over(stages_of(material.results, STAGES), scenario_of(scenario))
    return [
        f"# Student {name} of {scenario}",
        "",
        f"A policy of the problem `{policy.problem.name}` that a person can read{summary}. {_made(policy)} by "
        f"clearsched {origin['version']}, seed {params['seed']}.",
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
                run_command(scenario, policy.problem.name, laid=laid),
                f"clearsched students card {folder}/students/{material.path.name} --results {folder}",
            ]
        ),
    ]


def _made(policy: ScoredPolicy) -> str:
    """How it was fitted."""
    origin = policy.evidence["provenance"]
    steps = []
    if policy.name not in STUDENTS or STUDENTS[policy.name].imitates:
        steps.append(f"distilled from {origin.get('expert', 'a teacher')}'s decisions")
    if origin["params"].get("refine", {}).get("rounds"):
        steps.append("refined in closed loop")
    told = ", ".join(steps) or "made"
    return told[0].upper() + told[1:]


def _block(text: Sequence[str]) -> list[str]:
    return ["```", *text, "```"]


def _cost(material: Material) -> list[str]:
    own, policy = material.own, material.policy
    if own is None:
        return ["Not evaluated: it is none of `evaluation.policies`."]
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
    for measure, row in material.beside:
        over = "worst episode" if measure.beside == "worst" else "mean"
        told.append([f"{measure.label}, {over}", f"{number(row[measure.beside])} {measure.unit}".rstrip()])
    told += [[f"safety check: {what}", value] for what, value in safety_rows(policy.evidence.get("stress"))]
    return table(["measured", ""], told)


def _fidelity(rows: Sequence[Row]) -> list[str]:
    keys = ("choice", "decisions_of", "part", "decisions", "top1", "mean_rank", "regret", "level_error", "complexity")
    if not rows:
        return ["Not measured."]
    return table(keys, [[number(row[key]) for key in keys] for row in rows])
