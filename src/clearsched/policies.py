"""What schedules: one protocol for heuristics, teachers and students, and the registry that finds them by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from clearsched.compiled.scoring import NOTHING, Packed
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.heuristics import HEURISTICS, LEARNED
from clearsched.problems.dag_jobs.simulator.loop import Compiled
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Workload, simulate


class Policy(Protocol):
    """A scheduler that can be evaluated in closed loop."""

    @property
    def name(self) -> str:
        """Its name in tables and figures."""

    @property
    def kind(self) -> str:
        """heuristic, teacher or student."""

    @property
    def mode(self) -> str:
        """argmax, or sampled if it draws its choices."""

    @property
    def settings(self) -> Mapping[str, float]:
        """Tuned parameters, by name."""

    def run(
        self,
        profiles: Profiles,
        workloads: Sequence[Workload],
        *,
        record_tasks: bool = False,
        record_decisions: bool = False,
    ) -> list[EpisodeResult]:
        """Schedule each episode; the results do not depend on which other episodes are given."""


@dataclass(frozen=True)
class CompiledPolicy:
    """A policy that runs inside the simulator's compiled loop."""

    name: str
    kind: str
    compiled: Compiled
    settings: Mapping[str, float] = field(default_factory=dict)
    mode: str = "argmax"

    def run(
        self,
        profiles: Profiles,
        workloads: Sequence[Workload],
        *,
        record_tasks: bool = False,
        record_decisions: bool = False,
    ) -> list[EpisodeResult]:
        """Schedule each episode."""
        logs = {"record_tasks": record_tasks, "record_decisions": record_decisions}
        return [simulate(profiles, workload, self.compiled, **logs) for workload in workloads]


def heuristic(name: str, **settings: float) -> CompiledPolicy:
    """A heuristic with given parameters, the others at their defaults.

    Raises:
        ClearschedError: unknown heuristic or parameter.
    """
    if name not in HEURISTICS:
        near = get_close_matches(name, HEURISTICS, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ClearschedError(f"unknown policy {name!r}: known are {', '.join(HEURISTICS)}, or a file{hint}")
    entry = HEURISTICS[name]
    unknown = set(settings) - set(entry.parameters)
    if unknown:
        raise ClearschedError(f"{name} has no parameter {sorted(unknown)[0]}: its own are {entry.parameters or 'none'}")
    parameters = np.zeros(2)
    for index, (parameter, default) in enumerate(zip(entry.parameters, entry.defaults, strict=True)):
        parameters[index] = settings.get(parameter, default)
    shown = {} if name == "fair" else dict(zip(entry.parameters, parameters.tolist(), strict=False))
    return CompiledPolicy(name, "heuristic", Compiled(entry.code, parameters), shown)


def learned_policy(name: str, stage: Packed = NOTHING, limit: Packed = NOTHING) -> CompiledPolicy:
    """A policy by scores: they rank the stages, and say what share of the executors a job may hold."""
    return CompiledPolicy(name, "student", Compiled(LEARNED, np.zeros(2), stage, limit), {})


def load_policy(name: str | Path, tuned: Mapping[str, Any] | None = None, mode: str = "argmax") -> Policy:
    """The policy of a name or file: a heuristic, a teacher's `.safetensors`, a student's or a formula's `.json`.

    Args:
        name: name of a heuristic, or a path.
        tuned: parameters by heuristic, as `clearsched heuristics tune` writes them.
        mode: argmax or sampled, for a teacher.

    Raises:
        ClearschedError: no such policy or file.
    """
    path = Path(name)
    if path.suffix == ".safetensors":
        from clearsched.teacher import load_policy as load_teacher

        return load_teacher(path, mode=mode)
    if path.suffix == ".json":
        from clearsched.students import load_policy as load_student

        return load_student(path)
    return heuristic(str(name), **(tuned or {}).get(str(name), {}))
