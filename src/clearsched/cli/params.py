"""`clearsched params`: check params.yaml, describe it, cut a stage's part out of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import App, output_file
from clearsched.cli.options import OutFile

app = App(name="params", help="Check and describe params.yaml.", no_args_is_help=True)

DEFAULT = Path("params.yaml")
OptionalOut = Annotated[
    Path | None,
    typer.Option("--out", parser=output_file, metavar="FILE", help="File to write instead of printing."),
]


ProblemName = Annotated[
    str | None,
    typer.Option("--problem", help="The problem: `clearsched problems` lists them; default: the file's own."),
]
OneProblem = Annotated[str, typer.Option("--problem", help="The problem: `clearsched problems` lists them.")]
DAG_JOBS = "dag_jobs"


@app.command()
def check(
    path: Annotated[Path, typer.Argument(help="The file to check.")] = DEFAULT, problem: ProblemName = None
) -> None:
    """Check a params.yaml: unknown keys, wrong types, values out of range."""
    from clearsched.params import load

    params = load(path, problem)
    typer.echo(f"{path}: all right (problem {params.problem}, scenario {params.scenario})")


@app.command()
def scenario(
    path: Annotated[Path, typer.Argument(help="The file to read.")] = DEFAULT, problem: ProblemName = None
) -> None:
    """Print the name of the scenario: its results are in the folder of that name below results."""
    from clearsched.params import load

    typer.echo(load(path, problem).scenario)


@app.command()
def schema(problem: OneProblem = DAG_JOBS, out: OptionalOut = None) -> None:
    """Print the JSON schema of params.yaml."""
    import json

    from clearsched.params.reference import json_schema

    _print_or_write(json.dumps(json_schema(problem), indent=2, ensure_ascii=False) + "\n", out)


@app.command()
def docs(
    problem: Annotated[str | None, typer.Option("--problem", help="One problem only; default: all.")] = None,
    out: OptionalOut = None,
) -> None:
    """Print the table of all parameters, Markdown."""
    from clearsched.params.tables import docs_table

    _print_or_write(docs_table(problem), out)


@app.command()
def default(problem: OneProblem = DAG_JOBS, out: OptionalOut = None) -> None:
    """Print a params.yaml of all defaults with comments."""
    from clearsched.params.reference import default_yaml

    _print_or_write(default_yaml(problem), out)


@app.command()
def dvc(problem: OneProblem = DAG_JOBS, out: OptionalOut = None) -> None:
    """Print the dvc.yaml of a problem: the milestones of its workflow as stages of DVC."""
    from clearsched.workflow.dvc import dvc_yaml

    _print_or_write(dvc_yaml(problem), out)


def _print_or_write(text: str, out: Path | None) -> None:
    from clearsched.files import write_text

    if out is None:
        typer.echo(text, nl=False)
    else:
        write_text(out, text)


@app.command()
def stage(
    name: Annotated[str, typer.Argument(help="The stage: traces, workloads, heuristics, teacher, ...")],
    out: OutFile,
    settings: Annotated[
        list[str] | None,
        typer.Argument(help="All the stage's settings, key=JSON each, instead of a file; the workflow gives them so."),
    ] = None,
    path: Annotated[Path, typer.Option("--params", help="The params.yaml to cut the stage's sections from.")] = DEFAULT,
) -> None:
    """Write the sections of params.yaml that one stage may read."""
    from clearsched.params import from_settings, load, stage_values, write_stage

    write_stage(from_settings(settings) if settings else stage_values(load(path), name), name, out)
