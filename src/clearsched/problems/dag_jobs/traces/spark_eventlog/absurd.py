"""What no Spark writes: numbers beyond any cluster, stages that wait for each other.

One such value makes an application unusable, since nothing tells which of its other values are right. The application
is left out and reported; the other logs are read on.
"""

from __future__ import annotations

from clearsched.errors import ClearschedError

MAX_INT = (1 << 31) - 1
"""Ids and counts are of 32 bits in Spark."""

MAX_LONG = (1 << 63) - 1

MAX_TIME_MS = 253_402_300_799_999
"""The end of the year 9999."""

MAX_CORES = 100_000
"""Of one executor, and of one task."""

MAX_STAGES = 100_000
"""That one Spark job lists: it bounds what a single line of a log can take of memory."""

MAX_EDGES = 4_000_000
"""Between the stages of one job: thousands of Spark jobs at once, of which each waits for thousands before."""

SHOWN = 24
"""Digits of an absurd number that a line repeats."""


class AbsurdError(ClearschedError):
    """A value in an event log that cannot be. The text says which, without the name of the log."""


def check(what: str, value: int, low: int, high: int) -> None:
    """Refuse a number outside [low, high].

    Raises:
        AbsurdError: it is outside.
    """
    if not low <= value <= high:
        raise AbsurdError(f"{what} {shown(value)}")


def shown(value: float) -> str:
    """A number, however long, as a short piece of a line."""
    if isinstance(value, int) and value.bit_length() > 256:  # Python does not print integers of thousands of digits
        return f"of about {int(value.bit_length() * 0.30103)} digits"
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} digits)"
