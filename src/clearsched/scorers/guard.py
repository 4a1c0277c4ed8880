"""A guard: when a gauge of the problem exceeds its bound a safe heuristic decides, until all of them are low again.

The bounds are numbers of the policy's file, measured when it was fitted (`search.guard_bounds`); `compiled.guard` is
what runs.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from clearsched.compiled.guard import Bounds, Guarded
from clearsched.documents import is_number
from clearsched.errors import ClearschedError
from clearsched.problems.declarations import Gauge
from clearsched.problems.episodes import Compiled
from clearsched.problems.policy import CompiledPolicy, heuristic
from clearsched.problems.problem import Problem
from clearsched.scorers import words


class Bound(NamedTuple):
    """Between which values of a gauge the heuristic takes over and hands back."""

    above: float  # it takes over where the gauge is higher
    until: float  # and hands back where neither this gauge nor another is higher than that


@dataclass(frozen=True)
class Guard:
    """Who takes over, and when.

    Attributes:
        heuristic: its name.
        when: bounds by the name of the gauge; a gauge that is not told is not watched.
        settings: parameters of the heuristic, the others at their defaults.
    """

    heuristic: str
    when: Mapping[str, Bound]
    settings: Mapping[str, float] = field(default_factory=dict)

    def policy(self, problem: Problem) -> CompiledPolicy:
        """The heuristic.

        Raises:
            ClearschedError: unknown heuristic or parameter.
        """
        return heuristic(problem, self.heuristic, self.settings)

    def compiled(self, problem: Problem, policy: Compiled) -> Guarded:
        """A compiled policy with this guard."""
        bounds = [self.when.get(gauge.name, Bound(np.inf, np.inf)) for gauge in problem.gauges]
        above, until = (np.array([bound[place] for bound in bounds]) for place in range(2))
        return Guarded(policy, self.policy(problem).compiled, Bounds(above, until))

    def to_json(self) -> dict[str, Any]:
        """What the policy's file has of it."""
        settings = {"settings": dict(self.settings)} if self.settings else {}
        when = {name: {"above": bound.above, "until": bound.until} for name, bound in self.when.items()}
        return {"heuristic": self.heuristic, **settings, "when": when}

    def render(self, problem: Problem) -> list[str]:
        """Its text in lines: the sentence, then what each gauge is."""
        told = [gauge for gauge in problem.gauges if gauge.name in self.when]
        lines = textwrap.wrap(f"The guard: {self.sentence(problem)}", words.WIDTH)
        width = max(len(gauge.label) for gauge in told)
        return [*lines, "", *(f"  {gauge.label:<{width}}  {gauge.meaning}" for gauge in told)]

    def sentence(self, problem: Problem) -> str:
        """For example "when the backlog is above 310 s, fair schedules until the backlog is at most 155 s."."""
        told = [(gauge, self.when[gauge.name]) for gauge in problem.gauges if gauge.name in self.when]
        when = " or ".join(f"the {gauge.label} is above {amount(bound.above, gauge)}" for gauge, bound in told)
        until = " and ".join(f"the {gauge.label} is at most {amount(bound.until, gauge)}" for gauge, bound in told)
        return f"when {when}, {self.named(problem)} schedules until {until}."

    def named(self, problem: Problem) -> str:
        """The heuristic as tables call it, with its parameters: these may be tuned, or named by who asked for it."""
        shown = ", ".join(f"{name}={value:g}" for name, value in self.settings.items())
        label = problem.heuristics[self.heuristic].label.removeprefix("tuned ")
        return label + (f" ({shown})" if shown else "")


def read_guard(value: Any, problem: Problem, where: str) -> Guard:
    """The guard of a policy's file.

    Raises:
        ClearschedError: it is malformed, names an unknown heuristic or gauge, or the problem has no gauges.
    """
    check_gauges(problem, where)
    if not isinstance(value, dict) or not {"heuristic", "when"} <= set(value) <= {"heuristic", "when", "settings"}:
        raise ClearschedError(f"{where}: an object with `heuristic`, `when` and perhaps `settings` expected")
    when, settings = value["when"], value.get("settings", {})
    if not isinstance(when, dict) or not when:
        raise ClearschedError(f"{where}.when: an object with a bound by the name of a gauge expected")
    if not isinstance(settings, dict) or not all(is_number(number) for number in settings.values()):
        raise ClearschedError(f"{where}.settings: numbers by the name of a parameter expected")
    check_gauges(problem, f"{where}.when", when)
    bounds = {name: _bound(when[name], name, f"{where}.when") for name in when}
    guard = Guard(str(value["heuristic"]), bounds, settings)
    try:
        guard.policy(problem)
    except ClearschedError as error:
        raise ClearschedError(f"{where}: {error}") from None
    return guard


def check_gauges(problem: Problem, where: str, names: Iterable[str] = ()) -> None:
    """A guard needs something to watch.

    Raises:
        ClearschedError: the problem has nothing, or one of the names is no gauge.
    """
    if not getattr(problem, "gauges", ()):
        raise ClearschedError(
            f"{where}: {problem.name} has no gauges: a guard has nothing to watch there; leave it out"
        )
    known = [gauge.name for gauge in problem.gauges]
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ClearschedError(f"{where}: unknown gauge {name!r}: known are {', '.join(known)}{hint}")


def _bound(value: Any, name: str, where: str) -> Bound:
    if not isinstance(value, dict) or set(value) != {"above", "until"} or not all(map(is_number, value.values())):
        raise ClearschedError(f"{where}.{name}: an object with the numbers `above` and `until` expected")
    bound = Bound(float(value["above"]), float(value["until"]))
    if not 0 <= bound.until <= bound.above:
        raise ClearschedError(
            f"{where}.{name}: until must be from 0 to above ({bound.above:g}), it is {bound.until:g}: the heuristic "
            "would hand back and take over at once"
        )
    return bound


def amount(value: float, gauge: Gauge) -> str:
    """A value of a gauge with its unit: "310 s"."""
    return f"{np.format_float_positional(value, trim='-')} {gauge.unit}".rstrip()
