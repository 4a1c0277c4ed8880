"""A log line by line: which event a line is, if it is one that matters.

A log has one JSON object a line. Most of its bytes are events that are not needed and, in those that are, fields that
are not: lines are skipped by how they begin, without parsing, and of the others only the fields of `events` are taken
out (msgspec passes over the rest, several times faster than making objects of it).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType, field

from clearsched.problems.dag_jobs.traces.spark_eventlog.absurd import AbsurdError
from clearsched.problems.dag_jobs.traces.spark_eventlog.events import KINDS, Event

HEAD = b'{"Event":"'


class AnyEvent(msgspec.Struct, gc=False):
    """An event of which only the name is read."""

    kind: str | UnsetType = field(name="Event", default=UNSET)


DECODERS = {name.encode(): msgspec.json.Decoder(kind) for name, kind in KINDS.items()}
ANY = msgspec.json.Decoder(AnyEvent)

BROKEN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class NotAnEventError(ValueError):
    """A line that is no JSON event, or lacks what its kind of event must have."""


def parse_line(line: bytes) -> Event | None:
    """The event of a line, None if it is of a kind that is not needed.

    Raises:
        NotAnEventError: the line is no event.
        AbsurdError: it has a number of more digits than JSON readers take.
    """
    if line.startswith(HEAD):
        decoder = DECODERS.get(line[len(HEAD) : line.find(b'"', len(HEAD))])
        if decoder is None:
            return None
    elif not line.strip():
        return None
    else:  # other spacing, or the kind stands further back
        decoder = DECODERS.get(kind_of(line).encode())
        if decoder is None:
            return None
    try:
        return decoder.decode(line)
    except BROKEN as error:
        if "out of range" in str(error):  # msgspec's words for a number of hundreds of digits
            raise AbsurdError(
                f"a number of hundreds of digits{str(error).partition(' - ')[2].replace('at', ' at', 1)}"
            ) from None
        raise NotAnEventError from None


def kind_of(line: bytes) -> str:
    """The kind of event of a line, wherever in it that stands.

    Raises:
        NotAnEventError: the line is no event.
    """
    try:
        kind = ANY.decode(line).kind
    except BROKEN:
        raise NotAnEventError from None
    if isinstance(kind, str):
        return kind
    raise NotAnEventError


def from_dict(event: Mapping[str, Any]) -> Event | None:
    """The same from a line that has been parsed."""
    kind = KINDS.get(event["Event"])
    return None if kind is None else msgspec.convert(event, kind)
