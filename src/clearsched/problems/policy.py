"""What schedules, for any problem: one protocol for heuristics, teachers and students."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Protocol

from clearsched.errors import ClearschedError
from clearsched.problems.episodes import Compiled, Episode
from clearsched.problems.problem import Instance, Problem

KINDS = ("heuristic", "searched", "teacher", "student")
"""The kinds of policy, in the order in which they are told."""


class Policy(Protocol):
    """A scheduler that can be evaluated in closed loop."""

    @property
    def name(self) -> str:
        """Its name in files and params."""

    @property
    def kind(self) -> str:
        """One of `KINDS`."""

    @property
    def mode(self) -> str:
        """argmax, or sampled if it draws its choices."""

    @property
    def settings(self) -> Mapping[str, float]:
        """Tuned parameters, by name."""

    def run(self, instance: Instance, episodes: Sequence[Episode], *, record: bool = False) -> list[Any]:
        """Schedule each episode: its `Outcome`, the same whatever other episodes are given.

        `record`: outcomes also hold what `Instance.details` needs.
        """


def as_meant(policy: Any, instance: Instance, episodes: Sequence[Episode]) -> Sequence[Episode]:
    """Episodes as a policy means "none of these", for whoever lets it schedule: "help first", if its file says so."""
    return instance.helping(episodes) if getattr(policy, "help_first", False) else episodes


@dataclass(frozen=True)
class CompiledPolicy:
    """A policy that runs inside the simulator's compiled loop."""

    name: str
    kind: str
    compiled: Compiled
    settings: Mapping[str, float] = field(default_factory=dict)
    mode: str = "argmax"
    help_first: bool = False

    def run(self, instance: Instance, episodes: Sequence[Episode], *, record: bool = False) -> list[Any]:
        """Schedule each episode."""
        return instance.simulate(self.compiled, as_meant(self, instance, episodes), record=record)


def heuristic(problem: Problem, name: str, settings: Mapping[str, float] | None = None) -> CompiledPolicy:
    """A heuristic with given parameters, the others at their defaults.

    Raises:
        ClearschedError: unknown heuristic or parameter.
    """
    entry, given = problem.heuristics[name], settings or {}
    unknown = sorted(set(given) - set(entry.parameters))
    if unknown:
        raise ClearschedError(f"{name} has no parameter {unknown[0]}: its own are {entry.parameters or 'none'}")
    values = [_number(name, p, given.get(p, d)) for p, d in zip(entry.parameters, entry.defaults, strict=True)]
    shown = dict(zip(entry.parameters, values, strict=True)) if entry.shown else {}
    return CompiledPolicy(name, "heuristic", problem.compile_heuristic(name, values), shown)


def _number(policy: str, parameter: str, value: object) -> float:
    """A parameter of a heuristic, which a file may give.

    Raises:
        ClearschedError: it is no finite number.
    """
    if isinstance(value, Real) and not isinstance(value, bool) and abs(float(value)) <= sys.float_info.max:
        return float(value)
    raise ClearschedError(f"{policy}: {parameter} is {value!r}: a finite number expected")
