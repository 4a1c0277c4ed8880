"""What a user asks Snakemake for: whether it is of the papers' figures, and whether there is such a figure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from clearsched.paper.bases import BASES, SCALES, scenario_name
from clearsched.paper.kinds import PAPER_FIGURES

FOLDER = "results/paper"
CLAIMS = "claims"

_SCENARIO = re.compile("|".join(rf"\b{scenario_name(scale, base)}\b" for scale in SCALES for base in BASES))


def asked(arguments: Iterable[str]) -> bool:
    """Whether one of the command line's words names a target of the papers, or a job of theirs on a cluster."""
    return any(
        word == "paper" or word.startswith(("paper_", f"{FOLDER}/")) or _SCENARIO.search(word) for word in arguments
    )


def check(arguments: Iterable[str]) -> None:
    """Refuse a file of a figure that is not there.

    Raises:
        ClearschedError: there is no such figure; the line names the nearest.
    """
    for word in arguments:
        path = PurePosixPath(word)
        if str(path.parent) == FOLDER and path.stem != CLAIMS:
            PAPER_FIGURES[path.stem]
