"""`clearsched figures`: draw them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.options import ParamsFile

app = typer.Typer(name="figures", help="Pictures, each with the data behind it.", no_args_is_help=True)


@app.command()
def draw(
    name: Annotated[str, typer.Argument(help="jct_by_policy, jct_cdf, gantt, learning_curve or rules.")],
    params: ParamsFile,
    results: Annotated[Path, typer.Option(help="Folder of the scenario, results/<scenario>.")],
) -> None:
    """Draw one figure from the result files into the folder's figures/."""
    from clearsched import figures
    from clearsched.params import load_stage

    figures.draw(name, results, load_stage(params, "figures").model_dump(mode="json"))
