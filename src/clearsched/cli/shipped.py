"""`clearsched shipped`: the policies that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import App
from clearsched.cli.options import (
    GuardClear,
    GuardGauges,
    GuardHeuristic,
    GuardMargin,
    GuardSettings,
    guard_params,
    print_table,
)

app = App(name="shipped", help="Policies that come with the package.", no_args_is_help=True)

Scenario = Annotated[str, typer.Argument(help="Name of the scenario that they were made for.")]

Policies = Annotated[list[str] | None, typer.Option("--policy", help="A policy, once for each; without, all.")]


@app.command("list")
def list_() -> None:
    """List them: scenario, problem, policies."""
    from clearsched import shipped

    found = [shipped.find(name) for name in shipped.names()]
    lines = [(entry.name, f"{entry.card['problem']}: {', '.join(entry.policies)}") for entry in found]
    print_table("Shipped policies", lines or [("none", "")])


@app.command()
def show(scenario: Scenario) -> None:
    """Check the files of a scenario and print its model card."""
    from clearsched import shipped
    from clearsched.shipped.cards import markdown

    found = shipped.find(scenario)
    for file in found.card["files"]:
        found.read(file)
    typer.echo(markdown(dict(found.card)).rstrip("\n"))


@app.command()
def make(
    scenario: Scenario,
    results: Annotated[Path, typer.Option(help="Folder of the scenario's results, evaluation included.")],
) -> None:
    """Copy searched policies and teacher from results into the package, and write their model card."""
    from clearsched import shipped

    typer.echo(str(shipped.make(scenario, results)))


@app.command()
def judge(
    scenario: Scenario,
    results: Annotated[Path, typer.Option(help="Folder of the scenario's results: its trace and workloads are used.")],
    policy: Policies = None,
    help_first: Annotated[
        bool, typer.Option("--help-first", help="From now on whom they leave idle helps its own job first.")
    ] = False,
) -> None:
    """Judge what is shipped by the safety check as it is now; write what came of it to its files and model card."""
    from clearsched.evaluation.shipped_safety import judge_shipped

    typer.echo(str(judge_shipped(scenario, results, None, policy or (), help_first=help_first)))


@app.command()
def guard(
    scenario: Scenario,
    results: Annotated[Path, typer.Option(help="Folder of the scenario's results, with its tuned heuristics.")],
    heuristic: GuardHeuristic,
    margin: GuardMargin = 1.5,
    clear: GuardClear = 0.5,
    gauge: GuardGauges = None,
    setting: GuardSettings = None,
    policy: Policies = None,
) -> None:
    """Give what is shipped for a scenario a guard, and judge it with that."""
    from clearsched.evaluation.shipped_safety import judge_shipped

    settings = guard_params(heuristic, margin, clear, gauge, setting)
    typer.echo(str(judge_shipped(scenario, results, settings, policy or ())))
