"""`clearsched engine`: real engines under a student."""

from __future__ import annotations

from clearsched.cli import engine_slurm
from clearsched.cli.commands import App

app = App(name="engine", help="Real engines that obey a student.", no_args_is_help=True)
app.add_typer(engine_slurm.app)
