"""`clearsched figures`: draw them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import App
from clearsched.cli.options import OutFolder, ParamsFile

app = App(name="figures", help="Pictures, each with the data behind it.", no_args_is_help=True)


@app.command()
def draw(
    name: Annotated[str, typer.Argument(help="The figure: `clearsched problems` lists them.")],
    params: ParamsFile,
    results: Annotated[Path, typer.Option(help="Folder of the scenario, results/<scenario>.")],
) -> None:
    """Draw one figure from the result files into the folder's figures/."""
    from clearsched import figures
    from clearsched.params import load_stage

    figures.draw(name, results, load_stage(params, "figures").model_dump(mode="json"))


@app.command()
def compare(
    results: Annotated[list[Path], typer.Argument(help="Folders of scenarios, results/<scenario> each.")],
    out: OutFolder,
    dpi: Annotated[
        int | None,
        typer.Option(min=50, max=1200, help="Resolution of the PNG in dots per inch; default: that of figures.dpi."),
    ] = None,
) -> None:
    """Draw several scenarios side by side, and one objective against another where they were made for several."""
    from clearsched import figures
    from clearsched.figures.settings import DEFAULT_DPI

    figures.compare(results, out, dpi or DEFAULT_DPI)
