"""Whether a guard's heuristic is to decide, of the gauges that a request tells; nothing is kept between two requests.

What the answer before said comes with the request (`taken_over`), so that several services behind a proxy, and one
that begins anew, say the same. The heuristic itself is the caller's: it needs more of a cluster than features.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clearsched.compiled.guard import TAKEN_OVER, new_watch, takes_over
from clearsched.problems.declarations import Gauge
from clearsched.problems.problem import Problem
from clearsched.problems.programs import rounded
from clearsched.scorers.guard import Guard, amount
from clearsched.serving.schema import Guarding

DIGITS = 4
"""Of a gauge in words: bounds have three."""


class Watching:
    """A guard, ready to be asked.

    Attributes:
        guard: of the rules.
        watched: the gauges that it needs, in the order of the problem.
    """

    def __init__(self, guard: Guard, problem: Problem) -> None:
        self.guard = guard
        self.watched: list[Gauge] = [gauge for gauge in problem.gauges if gauge.name in guard.when]
        self._names = [gauge.name for gauge in problem.gauges]
        self._bounds = guard.bounds(problem)
        self._label = guard.named(problem)
        takes_over(self._bounds, new_watch(self._bounds), 0.0)  # compiled, or read

    def asked(self, gauges: Any, was: bool) -> Guarding:
        """What the guard says of the gauges of a request; `was`: what it said before."""
        watch = new_watch(self._bounds)
        watch.values[:] = [getattr(gauges, name) for name in self._names]
        watch.status[TAKEN_OVER] = was
        taken_over = bool(takes_over(self._bounds, watch, np.nan))
        why = self._why(gauges, was) if taken_over else None
        return Guarding(taken_over, self.guard.heuristic, dict(self.guard.settings), why)

    def told(self, said: Guarding) -> str:
        """A line for who runs the service, where the answer is another one than before."""
        return f"{self._label} is to schedule: {said.why}" if said.taken_over else "the rules schedule again"

    def _why(self, gauges: Any, was: bool) -> str:
        """Of the first gauge that speaks for it: "the backlog, 310 s, is above 280 s"."""
        for gauge in self.watched:
            bound, value = self.guard.when[gauge.name], getattr(gauges, gauge.name)
            shown = amount(rounded(value, DIGITS), gauge)
            if not was and value > bound.above:
                return f"the {gauge.label}, {shown}, is above {amount(bound.above, gauge)}"
            if was and value > bound.until:
                return f"the {gauge.label}, {shown}, is not yet down to {amount(bound.until, gauge)}"
        raise AssertionError("the heuristic decides because of a gauge")
