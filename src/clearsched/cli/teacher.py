"""`clearsched teacher`: train it."""

from __future__ import annotations

import typer

from clearsched.cli.options import OutFolder, ParamsFile, TraceFile, TunedFile, WorkloadsFile

app = typer.Typer(name="teacher", help="The graph network that students learn from.", no_args_is_help=True)


@app.command()
def train(params: ParamsFile, trace: TraceFile, workloads: WorkloadsFile, tuned: TunedFile, out: OutFolder) -> None:
    """Clone the best heuristic, then improve by policy gradient."""
    from clearsched import teacher
    from clearsched.params import load_stage

    teacher.train(load_stage(params, "teacher"), trace, workloads, tuned, out)
