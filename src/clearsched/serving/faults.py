"""What is wrong with the body of a request, in a line, with the name of the field."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from clearsched.compiled.feature import Feature
from clearsched.problems.declarations import Gauge
from clearsched.serving.deciding import Decider

PLACE = re.compile(r"(?s)(.*?)(?: - at `\$\.?(.*)`)?\Z")
"""What msgspec says, and where: "Expected `float`, got `str` - at `$.candidates[0].features.job_age_s`"."""

MISSING = re.compile(r"(?s)Object missing required field `(.*)`\Z")
UNKNOWN = re.compile(r"(?s)Object contains unknown field `(.*)`\Z")
BOUND = re.compile(r"Expected `(?:float|int)` (<=|>=) (\S+)\Z")
LENGTH = re.compile(r"Expected `(array|str)` of length (<=|>=) (\d+)\Z")
OTHER = re.compile(r"Expected `(.*?)`, got `(.*?)`\Z")

LONGEST = 80
"""Characters of a name that somebody else made up."""

KINDS = {
    "float": "a number",
    "int": "a whole number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


class Refused(Exception):
    """A request that is refused; its text is what is wrong, in a line."""

    def __init__(
        self, status: int, reason: str, field: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(reason)
        self.status, self.field, self.headers = status, field, headers


def fault_of(error: Exception, body: bytes, rules: Decider) -> Refused:
    """Why a body could not be read as a request to some rules."""
    if isinstance(error, msgspec.ValidationError):
        return _wrong(str(error), rules)
    if not body.strip():
        return Refused(400, "empty: a JSON object expected", "body")
    where = _not_finite(body)
    if where:
        return Refused(422, "a finite number expected", where)
    return Refused(400, f"not valid JSON: {_first_line(error)}", "body")


def _wrong(text: str, rules: Decider) -> Refused:
    """What the type of a request does not allow."""
    match = PLACE.match(text)
    reason, place = (match.group(1), match.group(2) or "") if match else (text, "")
    if missing := MISSING.match(reason):
        name = missing.group(1)
        return Refused(422, f"missing{_told(name, rules)}", _joined(place, name))
    if unknown := UNKNOWN.match(reason):
        name = unknown.group(1)
        near = get_close_matches(name[:LONGEST], _known(place, rules), 1)
        hint = f"; did you mean {near[0]}?" if near else f": known are {', '.join(_known(place, rules))}"
        return Refused(422, f"unknown{hint}", _joined(place, name))
    field = place or "body"
    if bound := BOUND.match(reason):
        side = "at most" if bound.group(1) == "<=" else "at least"
        return Refused(422, f"{side} {float(bound.group(2)):.10g} expected", field)
    if length := LENGTH.match(reason):
        side = "at most" if length.group(2) == "<=" else "at least"
        what = "a list of {} {}" if length.group(1) == "array" else "a text of {} {} characters"
        return Refused(422, f"{what.format(side, length.group(3))} expected", field)
    if " multiple of " in reason:
        return Refused(422, "a whole number expected", field)
    if reason == "Number out of range":
        return Refused(422, "a finite number expected", field)
    if other := OTHER.match(reason):
        wanted = " or ".join(KINDS.get(kind, kind) for kind in other.group(1).split(" | "))
        return Refused(422, f"{wanted} expected, not {KINDS.get(other.group(2), other.group(2))}", field)
    return Refused(422, _first_line(reason), field)


def _known(place: str, rules: Decider) -> list[str]:
    """The fields that an object at a place may have."""
    if place.endswith(".features"):
        return list(rules.names)
    if place == "gauges":
        return [gauge.name for gauge in rules.gauges]
    fields = {field.name: field for field in msgspec.structs.fields(rules.request_type)}
    if not place:
        return list(fields)
    return ["features", "id", *(["group"] if rules.rank.group else []), *(["least"] if rules.level else [])]


def _told(name: str, rules: Decider) -> str:
    """What a feature or gauge is, after its name."""
    known: list[Feature | Gauge] = [*rules.rank.features, *rules.gauges]
    for each in known:
        if each.name == name:
            return f": {each.meaning}" + (f" [{each.unit}]" if each.unit else "")
    return ""


def _joined(place: str, name: str) -> str:
    shown = name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."
    return f"{place}.{shown}" if place else shown


def _first_line(error: object) -> str:
    return (str(error).splitlines() or [""])[0][:200]


def _not_finite(body: bytes) -> str:
    """Where NaN or an infinity stands, which JSON has not, but many programs write; empty if that is not the fault."""
    try:
        level = [("", json.loads(body))]
    except (ValueError, RecursionError):
        return ""
    while level:
        inner: list[tuple[str, Any]] = []
        for place, value in level:
            if isinstance(value, float) and not math.isfinite(value):
                return place or "body"
            if isinstance(value, dict):
                inner += [(_joined(place, key), each) for key, each in value.items()]
            elif isinstance(value, list):
                inner += [(f"{place}[{row}]", each) for row, each in enumerate(value)]
        level = inner
    return ""
