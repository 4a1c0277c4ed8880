"""What a user may choose of where episodes run: the section `parallel` of params.yaml."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clearsched.section import Section


class ParallelParams(Section):
    """Where episodes run side by side. Results are the same to the byte, so a change of it makes nothing run again."""

    kind: Literal["threads", "processes", "dask-slurm"] = Field(
        "threads",
        description="threads or processes of the machine that a rule runs on, or Slurm jobs of their own (extra: dask)",
    )
    workers: int | None = Field(
        None, ge=1, le=10_000, description="how many; empty: the threads of the rule, of dask-slurm 4"
    )
    partition: str | None = Field(
        None, min_length=1, max_length=64, description="of Slurm, for dask-slurm; empty: Slurm's default"
    )
    memory_mb: int = Field(2000, ge=100, le=10_000_000, description="of a worker of dask-slurm, MB")
    minutes: int = Field(60, ge=1, le=100_000, description="that a worker of dask-slurm may live")
