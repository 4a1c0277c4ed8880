"""What a file of episodes says of itself, and whether it can be: a damaged one is refused before anything runs."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.simulator.estimates import Estimates
from clearsched.problems.dag_jobs.simulator.semantics import Semantics

Milliseconds = Annotated[int, Field(ge=0, le=2**40)]

LATEST_MS = 2**53
"""Arrivals: whole numbers that a float holds."""


Interarrival = Annotated[float, Field(ge=0, le=2**40)]


class Giant(BaseModel):
    """A job of each episode that has so many times its tasks."""

    model_config = ConfigDict(strict=True)
    job: int = Field(ge=0, le=2**31)
    tasks: float = Field(ge=1, le=1e9)


class SafetyCase(BaseModel):
    """An edge case that the safety check has besides: what it changes of an episode's semantics, and its estimates."""

    model_config = ConfigDict(strict=True)
    semantics: dict[str, Any]
    estimates: dict[str, Any]


class Facts(BaseModel):
    """The settings that a run needs; a file may tell more."""

    model_config = ConfigDict(strict=True, extra="allow")
    num_executors: int = Field(ge=1, le=1_000_000)
    moving_delay_ms: Milliseconds
    warmup_delay_ms: Milliseconds
    durations: Literal["sampled", "mean"]
    semantics: dict[str, Any]
    objective: str = Field(max_length=100)
    trace: str = Field(max_length=100)
    estimates: dict[str, Any] = {}
    giant: Giant | None = None
    mean_interarrival_ms: Interarrival = 0.0
    interarrivals_ms: dict[str, list[Interarrival]] = {}
    outages: dict[str, dict[str, Any]] = {}
    safety_cases: dict[str, SafetyCase] = {}
    stress: float = Field(1.0, gt=0, le=1)
    safety_bound: float | None = Field(None, gt=1, le=1.2)
    giant_bound: float | None = Field(None, gt=1, le=1.5)


def check_facts(settings: dict[str, Any], where: Path) -> None:
    """The settings of a file.

    Raises:
        ClearschedError: one is missing, of another type, or cannot be.
    """
    try:
        facts = Facts.model_validate(settings)
    except ValidationError as error:
        raise _told(error, "", where) from None
    parts: list[tuple[str, dict[str, Any], type]] = [
        ("semantics", facts.semantics, Semantics),
        ("estimates", facts.estimates, Estimates),
        *((f"outages: {split[:40]}", facts.semantics | own, Semantics) for split, own in facts.outages.items()),
    ]
    for name, case in facts.safety_cases.items():
        where_told = f"safety_cases: {name[:40]}"
        parts += [(where_told, facts.semantics | case.semantics, Semantics), (where_told, case.estimates, Estimates)]
    for name, told, kind in parts:
        strange = sorted(set(told) - {each.name for each in fields(kind)})
        if strange:
            raise ClearschedError(f"{where}: its metadata: {name}: unknown key {strange[0][:40]}; build it again")
        try:
            TypeAdapter(kind).validate_python(told)
        except ValidationError as error:
            raise _told(error, f"{name}: ", where) from None


def _told(error: ValidationError, name: str, where: Path) -> ClearschedError:
    """The first thing that is wrong, in a line."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = "".join(f"{str(part)[:40]}: " for part in first["loc"])
    return ClearschedError(f"{where}: its metadata: {name}{place}{first['msg'][:200]}; build it again")


def check_rows(table: pa.Table, where: Path) -> None:
    """The rows of a file, by `schemas.WORKLOADS`: episode after episode, each from 0 on, job after job.

    Raises:
        ClearschedError: a value is missing or cannot be, or the rows are in another order.
    """
    for name in table.column_names:
        if table[name].null_count:
            raise ClearschedError(f"{where}: {name}: a value is missing; build it again")
    for name, most in (("profile", 2**31), ("arrival_ms", LATEST_MS), ("duration_seed", 2**63)):
        values = table[name].to_numpy()
        if len(values) and not (values.min() >= 0 and values.max() < most):
            raise ClearschedError(f"{where}: {name}: {values.min()} to {values.max()}; build it again")
    for split in pc.unique(table["split"]).to_pylist():
        rows = table.filter(pc.equal(table["split"], split))
        episode, job = rows["episode"].to_numpy(), rows["job"].to_numpy()
        begins = np.flatnonzero(np.diff(episode, prepend=-1))
        numbers = np.arange(len(episode)) - np.repeat(begins, np.diff(np.append(begins, len(episode))))
        if not (np.array_equal(episode[begins], np.arange(len(begins))) and np.array_equal(job, numbers)):
            raise ClearschedError(f"{where}: {split[:40]}: its episodes or their jobs are not in order; build it again")
