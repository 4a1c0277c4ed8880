"""What a request and its answer look like. A request is checked as it is read, by a type made for the student.

Its type is made of the features of the student's problem, so that a missing or unknown one is told by its name, and
the same type gives the schema in the OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from clearsched.compiled.feature import Feature
from clearsched.problems.declarations import Choice, Gauge

LONGEST_NAME = 200
"""Characters of the name of a candidate or group."""

LARGEST_LEVEL = 2**31

LARGEST = float(np.finfo(np.float32).max)
"""Of a feature: rules are compared in float32."""


class Level(Struct):
    """How much the chosen candidate gets."""

    name: str  # of the choice: "limit"
    level: int
    unit: str
    share: float  # of the most, before it was rounded and bounded
    rule: str | None


class RunnerUp(Struct):
    """Who would have been chosen if the chosen one were not there."""

    candidate: int | None
    id: str | None
    score: float
    rule: str | None


class Change(Struct):
    """The smallest change of one feature after which the answer is another one."""

    feature: str
    unit: str
    candidates: list[int]
    before: float
    after: float
    answer: int | None
    exact: bool
    words: str


class Explanation(Struct):
    """Why, in words."""

    why: str
    level: str | None
    runner_up: str | None
    change: Change | None


class Guarding(Struct):
    """Who is to decide, by the guard of the rules."""

    taken_over: bool  # the heuristic, and not the rules: the next request repeats it
    heuristic: str
    settings: dict[str, float]  # of the heuristic, the others at their defaults
    why: str | None


class Decision(Struct):
    """The answer to a request."""

    candidate: int | None  # its place in the request, from 0; null: none of these
    id: str | None
    none: str | None  # what "none of these" means, where it is the answer
    score: float
    rule: str | None  # that the candidate falls under; null where all parts count at once
    level: Level | None
    runner_up: RunnerUp | None
    student: str
    digest: str
    guard: Guarding | None  # null: the rules have none, or the request tells no gauges
    explanation: Explanation | UnsetType = UNSET


class Fault(Struct):
    """What is wrong with a request, in a line."""

    error: str
    field: str | None = None


class RuleFeature(Struct):
    """A feature, or a gauge, as a request gives it."""

    name: str
    unit: str
    meaning: str
    needed: bool


class Rules(Struct):
    """The rules that answer now."""

    student: str
    problem: str
    digest: str
    text: str
    features: list[RuleFeature]
    most: int | None  # the whole that levels are shares of, where a request does not say
    none: str | None  # what "none of these" means, where it is an answer
    most_candidates: int
    most_bytes: int
    guard: str | None  # when who takes over, in words
    gauges: list[RuleFeature]  # of the problem: what a guard watches


class Health(Struct):
    """That the service answers, and with which rules."""

    status: str
    student: str
    digest: str
    refused: str | None  # why the file, as it is now, is not what answers


def request_type(
    rank: Choice,
    needed: tuple[str, ...],
    level: Choice | None,
    most: int,
    most_candidates: int,
    gauges: Sequence[Gauge] = (),
    watched: Collection[str] = (),
) -> type[Any]:
    """The type of a request.

    Args:
        rank: whose features a candidate has.
        needed: those that must be given; the others of the problem may be.
        level: the choice of a level, if there is one.
        most: the whole that its shares are of; 0: each request must say.
        most_candidates: of a request.
        gauges: of the problem.
        watched: those that must be told where any is.
    """
    features = _numbers("Features", rank.features, needed)
    name = Annotated[str, Meta(max_length=LONGEST_NAME, description="any name; the answer repeats it")]
    candidate: list[Any] = [("features", features), ("id", name | None, None)]
    request: list[Any] = []
    if rank.group:
        told = f"its {rank.group}: candidates of one share what belongs to the {rank.group}"
        candidate.append(("group", Annotated[str, Meta(max_length=LONGEST_NAME, description=told)] | None, None))
    if rank.none:
        told = f"whether the answer may be to {rank.none}"
        request.append(("none_allowed", Annotated[bool, Meta(description=told)], True))
    if level is not None:
        told = f"the fewest {level.unit or 'steps'} that may be answered: one more than it holds"
        candidate.append(("least", _count(told), 1.0))
        whole = _count(f"all {level.unit or 'steps'}: the whole that shares are of")
        request.append(("most", whole, float(most)) if most else ("most", whole))
    request += _guarding(gauges, watched)
    made = msgspec.defstruct("Candidate", candidate, forbid_unknown_fields=True, gc=False)
    rows = Annotated[list[made], Meta(min_length=1, max_length=most_candidates)]  # type: ignore[valid-type]
    first = [field for field in request if len(field) == 2]
    others = [field for field in request if len(field) == 3]
    return msgspec.defstruct("Request", [("candidates", rows), *first, *others], forbid_unknown_fields=True)


def _guarding(gauges: Sequence[Gauge], watched: Collection[str]) -> list[Any]:
    """The fields of a request for a guard; those for rules without one are taken, and do not count."""
    if not gauges:
        return []
    made = _numbers("Gauges", gauges, watched)
    told = Meta(description="what a guard watches; null or left out: the guard is not asked")
    was = Meta(description="what the answer before said of the guard: whether its heuristic decided")
    return [("gauges", Annotated[made | None, told], None), ("taken_over", Annotated[bool, was], False)]


def _numbers(name: str, told: Sequence[Feature | Gauge], needed: Collection[str]) -> type[Any]:
    """An object of numbers by name, of which some must be there."""
    fields: list[Any] = [(each.name, _number(each)) for each in told if each.name in needed]
    fields += [(each.name, _number(each), 0.0) for each in told if each.name not in needed]
    return msgspec.defstruct(name, fields, forbid_unknown_fields=True, gc=False)


def _number(feature: Feature | Gauge) -> Any:
    unit = f" [{feature.unit}]" if feature.unit else ""
    return Annotated[float, Meta(ge=-LARGEST, le=LARGEST, description=f"{feature.meaning}{unit}")]


def _count(told: str) -> Any:
    """A whole number as JSON has it: 10.0 is one."""
    return Annotated[float, Meta(ge=1, le=LARGEST_LEVEL, multiple_of=1, description=told)]
