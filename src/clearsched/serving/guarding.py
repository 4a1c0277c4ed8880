"""Whether a guard's heuristic is to decide, of the gauges that a request tells; nothing is kept between two requests.

What the answer before said comes with the request (`taken_over`), so that several services behind a proxy, and one
that begins anew, say the same. The heuristic itself is the caller's: it needs more of a cluster than features.
"""

from __future__ import annotations

from typing import Any

from clearsched.problems.problem import Problem
from clearsched.problems.programs import rounded
from clearsched.scorers.guard import Guard, amount
from clearsched.serving.schema import Guarding

DIGITS = 4
"""Of a gauge in words: bounds have three."""


def ask_guard(guard: Guard, problem: Problem, gauges: Any, was: bool) -> Guarding:
    """What a guard says of the gauges of a request; `was`: whether its heuristic decided before.

    As in the loop (`compiled.guard.takes_over`), told of the first gauge that speaks for the heuristic, so that there
    is a reason.
    """
    for gauge in problem.gauges:
        bound, value = guard.when.get(gauge.name), getattr(gauges, gauge.name)
        if bound is not None and value > (bound.until if was else bound.above):
            beyond = "is not yet down to" if was else "is above"
            most = amount(bound.until if was else bound.above, gauge)
            why = f"the {gauge.label}, {amount(rounded(value, DIGITS), gauge)}, {beyond} {most}"
            return Guarding(True, guard.heuristic, dict(guard.settings), why)
    return Guarding(False, guard.heuristic, dict(guard.settings), None)
