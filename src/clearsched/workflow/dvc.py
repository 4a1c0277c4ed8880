"""dvc.yaml: the milestones of the workflow as stages of DVC, written from the registries and the rules' code.

The file holds for any source of jobs and any students of the problem: these are a stage each (`foreach`) of
`students.names` in params.yaml, searched policies of `search.families`, and what differs by scenario is in folders that
are kept whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml

from clearsched.figures.kinds import comparison_figure, figures_of
from clearsched.imports import PACKAGE
from clearsched.params import STAGES, Params, defaults
from clearsched.problems import find_problem
from clearsched.problems.declarations import Figure, Measure, Plot
from clearsched.workflow import code_of_rule

RESULTS = "results/${scenario}"
"""DVC puts the scenario of params.yaml in."""

HEADER = """\
# Milestones of the workflow: each stage asks Snakemake for the files it owns, and DVC versions them. Snakemake alone
# knows how they are made; tests/test_workflow.py holds the two against each other. Written by `make params` from the
# registries (`clearsched params dvc`): edits here are lost.
# * Targets come first: --cores and other options swallow a target that follows.
# * Outputs are not `persist`: DVC removes them before it runs a stage, so that a result always belongs to its inputs.
# * A student is a stage each of `students.names`, a searched policy of `search.families`: to drop one or add one,
#   change that list in params.yaml.
# * The folder is that of `scenario`; with another data set or problem than the default one, give it a name
#   (docs/workflow.md).
# * After `dvc checkout` or `dvc pull`, run `make sync`.
"""

TRACES = ("traces/trace.parquet", "traces/workloads.parquet")
TUNED = "heuristics/tuned.json"
TEACHER = ("teacher/teacher.json", "teacher/teacher.safetensors")
PUBLISHED = "data/published"
"""Where a published network that is no download lies: a stage of DVC names a folder, since the file may be none."""

LOG = "decisions/decisions.parquet"
PAGE = "../report/index.html"
"""Beside the folders of the scenarios."""


def dvc_yaml(problem: str) -> str:
    """The dvc.yaml of a problem."""
    params = defaults(problem)
    metrics = f"{RESULTS}/evaluation/metrics.json"
    stages = "\n".join(indent(_dump({name: stage}), "  ") for name, stage in _stages(params).items())
    rest = "\n".join(_dump(part) for part in ({"metrics": [metrics]}, {"plots": _plots(problem)}))
    return f"{HEADER}\nstages:\n{stages}\n{rest}"


def _stages(params: Params) -> dict[str, Any]:
    log = (*TRACES, TUNED, *TEACHER)
    figures = figures_of(find_problem(params.problem)).values()
    students = [f"students_fit_{name}" for name in params.students.names]
    fit = _stage(
        "a policy that a person can read",
        "students/${item}.json",
        students,
        (*log, LOG),
        ["students/${item}.json", "students/${item}.txt", "students/${item}_visits"],
        params,
    )
    card = _stage(
        "the model card of a student, after its evaluation",
        "students_cards/${item}.md",
        [f"students_card_{name}" for name in params.students.names],
        (*TRACES, TEACHER[1], LOG, "students/${item}.json", "evaluation"),
        ["students_cards/${item}.md"],
        params,
    )
    search = _stage(
        "a policy of a few numbers, found in the simulator",
        "search/${item}.json",
        [f"search_run_{name}" for name in params.search.families],
        (*TRACES, TUNED),
        ["search/${item}.json", "search/${item}.txt", "search/${item}_curve.parquet"],
        params,
    )
    return {
        "traces": _stage(
            "job profiles and the episodes made of them",
            TRACES,
            ["traces_build", "traces_workloads"],
            (),
            TRACES,
            params,
            ["data"],
        ),
        "heuristics": _stage(
            "tuned heuristics", TUNED, ["heuristics_tune"], TRACES, (TUNED, "heuristics/tuning.parquet"), params
        ),
        "search": {"foreach": "${search.families}", "do": search},
        "teacher": _stage(
            "the network cloned from the best policy known, for each training seed",
            "teacher/teacher.safetensors",
            ["teacher_train", "teacher_choose"],
            (*TRACES, TUNED, "search"),
            ("teacher/learning_curve.parquet", "teacher/seeds", *TEACHER),
            params,
            [PUBLISHED],
        ),
        "decisions": _stage(
            "every decision of the teacher on training episodes", LOG, ["decisions_log"], log, [LOG], params
        ),
        "students": {"foreach": "${students.names}", "do": fit},
        "evaluation": _stage(
            "all policies on the same held-out episodes",
            "evaluation/metrics.json",
            ["evaluation_run"],
            (*log, "teacher/seeds", LOG, "search", "students"),
            ["evaluation"],
            params,
        ),
        "students_cards": {"foreach": "${students.names}", "do": card},
        "figures": _stage(
            "the pictures, and the data behind each",
            (),
            [f"figures_draw_{figure.name}" for figure in figures],
            sorted({_kept(file) for figure in figures for file in figure.inputs}),
            ["figures"],
            params,
        ),
        "report": _stage(
            "one interactive page of all results",
            PAGE,
            ["report_collect", "report_build"],
            (*log, LOG, "search", "students", "evaluation", "figures"),
            ["report/collected.json", PAGE],
            params,
        ),
    }


def _stage(
    about: str,
    targets: str | tuple[str, ...],
    rules: list[str],
    inputs: Iterable[str],
    outputs: Iterable[str],
    params: Params,
    data: Iterable[str] = (),
) -> dict[str, Any]:
    """A stage that runs some rules; files below the folder of the scenario, `data` from the repository."""
    files = [targets] if isinstance(targets, str) else targets
    family = rules[0].partition("_")[0]
    asked = " ".join(map(_result, files)) or family
    stages = ["workloads" if rule == "traces_workloads" else rule.partition("_")[0] for rule in rules]
    sections = {section for stage in stages for section in STAGES[stage]}
    families = sorted({f"workflow/rules/{rule.partition('_')[0]}.smk" for rule in rules})
    return {
        "desc": about,
        "cmd": f"snakemake {asked} --cores all",
        "deps": [*data, *map(_result, inputs), *_code(rules, params), *families],
        "params": [name for name in Params.model_fields if name in sections],
        "outs": [*map(_result, outputs)],
    }


def _result(file: str) -> str:
    """Where a result lies: below the folder of the scenario, or beside it."""
    return f"results/{file.removeprefix('../')}" if file.startswith("../") else f"{RESULTS}/{file}"


def _code(rules: list[str], params: Params) -> list[str]:
    """What lies directly in the package and is, or holds, code of the rules."""
    parts = {path.relative_to(PACKAGE).parts[0] for rule in rules for path in code_of_rule(rule, params)}
    return [f"src/clearsched/{part}" for part in sorted(parts)]


def _kept(file: str) -> str:
    """The file, or the folder that is kept whole, that holds a result."""
    folder = Path(file).parts[0]
    return folder if folder in ("evaluation", "search", "students") else file


def _plots(problem: str) -> list[dict[str, Any]]:
    """The figures whose data DVC draws, so that commits can be compared."""
    own = find_problem(problem)
    measure = own.measures[0]
    known = {comparison_figure(measure).name: _by_policy(measure), "learning_curve": _learning(measure)}
    plots = []
    for figure in figures_of(own).values():
        plot = figure.plot or known.get(figure.name)
        if plot is not None:
            plots.append({f"{RESULTS}/figures/{figure.name}.csv": _plot(figure, plot)})
    return plots


def _by_policy(measure: Measure) -> Plot:
    return Plot("mean", "policy", _with_unit(measure), "policy", "bar_horizontal")


def _learning(measure: Measure) -> Plot:
    return Plot("episodes", "validation_objective", "training episodes", f"{_with_unit(measure)}, validation episodes")


def _with_unit(measure: Measure) -> str:
    return f"{measure.label} ({measure.unit})" if measure.unit else measure.label


def _plot(figure: Figure, plot: Plot) -> dict[str, str]:
    told = {"title": figure.label, "template": plot.template, "x": plot.x, "y": plot.y}
    told |= {"x_label": plot.x_label, "y_label": plot.y_label}
    return {key: value for key, value in told.items() if value}


class _Dumper(yaml.SafeDumper):
    """Lists are indented below their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Called by the base class, which would not indent a list."""
        super().increase_indent(flow, False)


def _dump(values: dict[str, Any]) -> str:
    text: str = yaml.dump(values, Dumper=_Dumper, sort_keys=False, width=1000, allow_unicode=True)
    return text
