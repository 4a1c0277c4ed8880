"""The functions of an exported file, the same in every language: name, what they are given, what they do."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from clearsched.export.dialect import WIDTH
from clearsched.export.program import Guarding, Part, Program, uses_least, uses_log, uses_power
from clearsched.export.statements import RULE, SCORE, SHARE, Statement, body_of, bounding, placing


class Function(NamedTuple):
    """A function that is given a candidate, and answers with a number and what gave it.

    Attributes:
        name: "score_of_stage".
        given: what it is given besides the candidate, by the names of the variables.
        told: lines for a reader.
        body: what it does.
        part: the scorer that it is of; None: it is of patches.
    """

    name: str
    given: tuple[str, ...]
    told: tuple[str, ...]
    body: tuple[Statement, ...]
    part: Part | None = None


def functions_of(program: Program) -> list[Function]:
    """The functions of a policy, in the order in which a decision calls them."""
    found = [_scoring(f"score_of_{program.names[0]}", program.rank)]
    if program.orders:
        found.append(Function("place_of", (SCORE,), program.ordered, tuple(placing(program.orders, program.none))))
    if program.level:
        found.append(_scoring(f"share_of_{program.names[1]}", program.level))
    if program.bounds:
        told = ("Patches: a share is at most what every one that holds allows.",)
        found.append(Function("bounded", (SHARE, RULE), told, tuple(bounding(program.bounds))))
    return found


def helpers_of(program: Program, least: str, power: str, log: str) -> list[str]:
    """Of a language's helpers, as code, those that the functions call."""
    return [helper for uses, helper in ((uses_least, least), (uses_power, power), (uses_log, log)) if uses(program)]


WAS = "was"
"""What a file that tells who decides is given beside the gauges."""


class TakingOver(NamedTuple):
    """The function that tells whether a guard's heuristic decides.

    Attributes:
        told: lines for a reader.
        given: what each parameter is, by its name.
        until: the condition, where the heuristic decided already.
        above: the same, where it did not.
    """

    told: list[str]
    given: dict[str, str]
    until: str
    above: str


def taking_over(guard: Guarding, either: str) -> TakingOver:
    """That of a guard; `either`: joins what may hold, in the words of a language."""
    told = [
        "Whether the guard's heuristic decides now, in place of these rules.",
        "",
        *textwrap.wrap(guard.told, WIDTH),
    ]
    given = {WAS: "whether it did at the decision before; at the first it did not"}
    given |= {gauge.name: gauge.meaning for gauge in guard.gauges}
    until = either.join(f"{gauge.name} > {gauge.until!r}" for gauge in guard.gauges)
    above = either.join(f"{gauge.name} > {gauge.above!r}" for gauge in guard.gauges)
    return TakingOver(told, given, until, above)


def _scoring(name: str, part: Part) -> Function:
    return Function(name, (), part.told, tuple(body_of(part)), part)
