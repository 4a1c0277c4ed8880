"""`clearsched engine`: real engines on this machine, under the policies of this project."""

from __future__ import annotations

from clearsched.cli import engine_slurm, engine_spark
from clearsched.cli.commands import App

app = App(name="engine", help="Real engines under a policy, held against the simulator.", no_args_is_help=True)
app.add_typer(engine_slurm.app)
app.add_typer(engine_spark.app)
