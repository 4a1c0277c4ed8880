"""What the workflow's rules are made from: the registries, and the code that each rule runs.

The Snakefile, `dvc.yaml` and the list of problems read it; none of them names a student, a figure or a source itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from clearsched.edge_cases.cases import params_of
from clearsched.errors import ClearschedError
from clearsched.figures.kinds import COMPARED, compared_figures, figures_of
from clearsched.figures.kinds import caption as caption  # the rules of the workflow ask here
from clearsched.imports import PACKAGE, code_of
from clearsched.paper.kinds import PAPER_FIGURES
from clearsched.problems import find_problem
from clearsched.problems.declarations import Figure
from clearsched.problems.objectives import objectives
from clearsched.problems.problem import Problem
from clearsched.search.families import families_of
from clearsched.students.kinds import STUDENTS

if TYPE_CHECKING:
    from clearsched.params import Params

RUNS = ("open", "choices", "measures", "heuristics", "compile", "compile_heuristic", "network")
"""What a stage that schedules episodes asks of its problem."""


def tables_of(problem: Problem) -> tuple[str, ...]:
    """The tables that an evaluation writes."""
    return ("episodes", "comparison", "fidelity", "bounds", "seeds", "seed_pairs", "students", *problem.details)


def objective_of(params: Params) -> str:
    """The name of what a scenario's policies are made for; a problem of one objective need not ask for it."""
    default = objectives(find_problem(params.problem))[0].name
    return str(getattr(params.workload, "objective", default))


def figures_drawn(params: Params) -> dict[str, Figure]:
    """The figures that a scenario has, by name: some are of one source of jobs or of one objective alone."""
    problem = find_problem(params.problem)
    figures, source, objective = figures_of(problem), params.traces.source, objective_of(params)
    return {
        name: figure
        for name, figure in figures.items()
        if (not figure.sources or source in figure.sources) and figure.objective in ("", objective)
    }


def figures_compared(scenarios: Iterable[Params]) -> list[Figure]:
    """The figures that several scenarios have together."""
    return compared_figures([objective_of(params) for params in scenarios])


def inputs_of(figure: Figure, students: Iterable[str]) -> list[str]:
    """The files below results/<scenario>/ that a figure reads; `{student}` in a name stands for each student."""
    names = list(students)
    return [file.format(student=name) for file in figure.inputs for name in (names if "{student}" in file else [""])]


def made_of(params: Params, student: str) -> tuple[str, ...]:
    """The students that must be fitted before one that is made of them; none for most kinds.

    Raises:
        ClearschedError: one of them is not fitted, or is made of others itself.
    """
    names: tuple[str, ...] = getattr(getattr(params.students, student), "of", ())
    plain = [name for name in params.students.names if not hasattr(getattr(params.students, name), "of")]
    for name in names:
        if name not in plain:
            raise ClearschedError(
                f"students.{student}.of: {name} is none of the students that are fitted: {', '.join(plain)}; "
                "add it to students.names"
            )
    return names


def code_of_rule(rule: str, params: Params) -> list[Path]:
    """The files of the package that a rule runs; a change in one of them is a reason to run it again.

    `rule`: its name, as `traces_build`, `students_fit_rule_list` or `figures_draw_gantt`.
    """
    problem = find_problem(params.problem)
    stage = stage_of(rule)
    if rule == "traces_build":
        return code_of([*_of(problem, "build"), *(problem.sources[name].module for name in _sources(params))])
    if rule == "traces_workloads":
        return code_of(_of(problem, "draw"))
    if stage == "figures":  # drawn from files: nothing runs, so that of what draws them a part is enough
        looks = _of(problem, "measures", "heuristics", "figures")
        return code_of([*_drawing(rule, figures_of(problem)), *looks], narrow=True)
    if rule == "report_build":  # of files, as figures are; what is not Python counts by what names it
        looks = _of(problem, "measures", "heuristics", "figures")
        return [*code_of(["clearsched.report:build", *looks], narrow=True), *page_assets()]
    if rule == "teacher_choose":
        return code_of(["clearsched.teacher:choose", *_of(problem, "measures")])
    if stage == "paper":
        return _code_of_paper(rule.removeprefix("paper_"), problem)
    if rule == "students_pareto_compare":
        return code_of(["clearsched.pareto:compare", *_of(problem, *RUNS)])
    if rule == "edge_cases_compare":
        return code_of(["clearsched.edge_cases:compare", *_of(problem, "measures", "heuristics")])
    if rule == "engine_spark_capped_srpt":
        return code_of(["clearsched.engines.spark.capped_srpt:write", *_of(problem, "heuristics")])
    heuristics = [entry.function.partition(":")[0] for entry in problem.heuristics.values()]
    networks = [entry.module for entry in problem.published.values()]
    if rule.startswith("students_card_"):
        return code_of(["clearsched.reading:card", *_of(problem, *RUNS), *heuristics])
    entries = [_COMMANDS[stage], *_of(problem, *RUNS), *heuristics, *networks]
    if stage == "search":
        family = families_of(problem)[rule.removeprefix("search_run_")]
        entries += [family.program, *_of(problem, "families")]
    if stage == "students":
        entries.append(STUDENTS[rule.removeprefix("students_fit_")].module)
    if stage == "edge_cases":
        own = params_of(params, rule.removeprefix("edge_cases_run_")) or params
        entries += [*_of(problem, "build", "draw", "edge_cases")]
        entries += [problem.sources[name].module for name in _sources(own)] if own.traces != params.traces else []
    return code_of(entries)


def page_assets() -> list[Path]:
    """The style and the scripts of the interactive page."""
    return sorted(path for path in (PACKAGE / "report" / "assets").iterdir() if path.suffix in (".css", ".js"))


def stage_of(rule: str) -> str:
    """The stage that a rule belongs to: its name begins with it."""
    return next((stage for stage in (*_COMMANDS, "figures", "traces", "paper") if rule.startswith(f"{stage}_")), rule)


_COMMANDS = {
    "heuristics": "clearsched.heuristics:tune",
    "search": "clearsched.search:run",
    "teacher": "clearsched.teacher:train",
    "decisions": "clearsched.decisions:log",
    "students": "clearsched.students:fit",
    "evaluation": "clearsched.evaluation:run",
    "edge_cases": "clearsched.edge_cases:run",
    "report": "clearsched.report:collect",
    "engine": "clearsched.engines.spark.command:run",
}


def _code_of_paper(verb: str, problem: Problem) -> list[Path]:
    """The files that a rule of the papers' figures runs; `verb`: its name without the stage."""
    if verb.startswith("figure_"):
        looks = _of(problem, "measures", "heuristics")
        draws = PAPER_FIGURES[verb.removeprefix("figure_")].draws
        return code_of(["clearsched.paper:figure", draws.partition(":")[0], *looks], narrow=True)
    heuristics = [entry.function.partition(":")[0] for entry in problem.heuristics.values()]
    ran = {
        "claims": [],
        "episodes": [*heuristics, *_of(problem, *RUNS, "build", "draw", "edge_cases")],
        "optimum": [*heuristics, *_of(problem, *RUNS)],
    }
    return code_of([f"clearsched.paper:{verb}", *ran.get(verb, _of(problem, *RUNS))])


def _drawing(rule: str, figures: Mapping[str, Figure]) -> list[str]:
    """What draws the figure of a rule."""
    if rule == "figures_compare":
        return ["clearsched.figures:compare", *(f"{figure.module}:draw_folders" for figure in COMPARED.values())]
    figure = figures[rule.removeprefix("figures_draw_")]
    return ["clearsched.figures:draw", f"{figure.module}:draw", *([figure.measure] if figure.measure else [])]


def _sources(params: Params) -> list[str]:
    """The sources of jobs that a scenario reads: several if it is a mix."""
    traces = params.traces
    return [part.source for part in traces.mix] if traces.source == "mix" else [traces.source]


def _of(problem: Problem, *names: str) -> list[str]:
    """Methods and attributes of a problem's class as entries of `code_of`."""
    found = []
    for name in names:
        owner = next(kind for kind in type(problem).__mro__ if name in vars(kind))
        found.append(f"{owner.__module__}:{owner.__qualname__}.{name}")
    return found
