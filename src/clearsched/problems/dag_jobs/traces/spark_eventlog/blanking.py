"""Text without what differs from run to run: numbers, hexadecimal ids, UUIDs."""

from __future__ import annotations

import json
import re

from clearsched.problems.dag_jobs.traces.spark_eventlog.events import StageInfo

WORD = r"(?<![0-9a-z]){}(?![0-9a-z])"
"""A pattern that neither letter nor digit touches; an underscore may."""

IDS = re.compile(
    "|".join(
        WORD.format(pattern)
        for pattern in (
            r"[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}",  # UUID
            r"0x[0-9a-f]+",
            r"[0-9a-f]{8,}",
            r"(?=[a-f]*[0-9])[0-9a-f]{6,7}",  # abbreviated commits; without a digit it may be a word
            r"(?<=@)(?=[a-f]*[0-9])[0-9a-f]{1,5}",  # Java's hash of an object
        )
    ),
    re.IGNORECASE,
)
RANDOM = re.compile(r"(?:[a-z]+[0-9]+){2}[a-z]+[0-9a-z]*|(?:[0-9]+[a-z]+){2}[0-9]+[0-9a-z]*", re.IGNORECASE)
"""Letters and digits that alternate at least four times: with eight or more of them it is an id, not a word."""

RANDOM_LENGTH = 8
NUMBER = re.compile(r"[0-9]+")

BROADCAST = re.compile(r"\s*broadcast exchange \(run ?id\b", re.IGNORECASE)
"""How Spark before 3.5 describes the Spark jobs that collect a table to broadcast it. It puts them into a group of
their own as well, which is the run id."""

LISTING = re.compile(r"\s*listing leaf files and directories for\b", re.IGNORECASE)
"""How Spark describes the Spark jobs that look for files."""


def blank(text: str) -> str:
    """`text` with `#` for every number and id."""
    text = IDS.sub("#", text)
    text = RANDOM.sub(lambda match: "#" if len(match[0]) >= RANDOM_LENGTH else match[0], text)
    return NUMBER.sub("#", text)


def shape_of(info: StageInfo) -> str:
    """Name of a stage and the operations that made its datasets: the same in every run of the same code."""
    operations = set()
    for rdd in info.rdds:
        try:
            operations.add(blank(str(json.loads(rdd.scope)["name"]) if rdd.scope else rdd.name))
        except (ValueError, KeyError, TypeError, RecursionError):
            operations.add(blank(rdd.name))
    return "; ".join([blank(info.name), *sorted(operations)])


def is_broadcast(description: str | None) -> bool:
    """Whether a Spark job was described by Spark, as one that collects a table to broadcast it."""
    return description is not None and BROADCAST.match(description) is not None


def is_sparks_own(description: str) -> bool:
    """Whether Spark itself described a Spark job, in place of the query that it is a part of."""
    return is_broadcast(description) or LISTING.match(description) is not None
