"""Commands that a dry run of Snakemake tells, each after those whose files it reads: a group has no order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

WRITTEN = ("--out", "--times")
"""How the options begin that name what a command writes."""


def can_run(words: Sequence[str]) -> bool:
    """Whether the files of results that a command reads are there."""
    given = (
        words[:-1] if words[0] == "cp" else [word for before, word in pairwise(words) if not before.startswith(WRITTEN)]
    )
    return all(Path(word).exists() for word in given if word.startswith("results/"))


def in_turn(listed: Sequence[list[str]]) -> Iterator[list[str]]:
    """The commands, each when what it reads is there; who is given one runs it before the next is asked for."""
    left = list(listed)
    while left:
        now = next((words for words in left if can_run(words)), None)
        assert now, f"none of these has its files: {left}"
        left.remove(now)
        yield now
