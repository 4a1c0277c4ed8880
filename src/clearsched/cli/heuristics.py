"""`clearsched heuristics`: tune them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import App, output_file
from clearsched.cli.options import OutFile, ParamsFile, TraceFile, WorkloadsFile

app = App(name="heuristics", help="Schedulers that are a formula.", no_args_is_help=True)


@app.command()
def tune(
    params: ParamsFile,
    trace: TraceFile,
    workloads: WorkloadsFile,
    out: OutFile,
    out_tuned: Annotated[
        Path, typer.Option(parser=output_file, metavar="FILE", help="File to write the best settings to, JSON.")
    ],
) -> None:
    """Try the settings of each heuristic on the validation episodes."""
    from clearsched import heuristics
    from clearsched.params import load_stage

    heuristics.tune(load_stage(params, "heuristics"), trace, workloads, out, out_tuned)
