"""`clearsched teacher`: train it, choose the best of several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import App
from clearsched.cli.options import OutFolder, ParamsFile, TraceFile, TunedFile, WorkloadsFile

app = App(name="teacher", help="The graph network that students learn from.", no_args_is_help=True)


@app.command()
def train(
    params: ParamsFile,
    trace: TraceFile,
    workloads: WorkloadsFile,
    tuned: TunedFile,
    out: OutFolder,
    searched: Annotated[
        list[Path] | None, typer.Option("--searched", help="A searched policy, JSON; may be given several times.")
    ] = None,
    training_seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Another one gives other weights and draws, the same episodes.")
    ] = 0,
    times: Annotated[
        Path | None,
        typer.Option(help="Where the CPU seconds to each row of the learning curve go, Parquet; default: nowhere."),
    ] = None,
) -> None:
    """Clone the best policy known, then improve by policy gradient."""
    from clearsched import teacher
    from clearsched.params import load_stage

    teacher.train(load_stage(params, "teacher"), trace, workloads, tuned, searched or [], out, training_seed, times)


@app.command()
def choose(
    folders: Annotated[list[Path], typer.Argument(help="Folders that `clearsched teacher train` wrote.")],
    out: OutFolder,
) -> None:
    """Copy the best of several teachers on the validation episodes."""
    from clearsched import teacher

    teacher.choose(folders, out)
