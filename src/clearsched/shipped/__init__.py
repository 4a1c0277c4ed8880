"""Policies that come with the package: found and trained once, a folder here for each scenario, with a model card.

`make` fills a folder from a scenario's results; `take` copies policies out of it into the results of a run that does
not want to search or train itself (`teacher.source`, `search.source`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from clearsched.problems import find_problem
from clearsched.shipped.making import make
from clearsched.shipped.store import CARD, Shipped, find, names, take

if TYPE_CHECKING:
    from clearsched.params import Params

__all__ = ["CARD", "Shipped", "find", "make", "names", "supply", "take"]


def supply(params: Params, name: str | None, policy: str, trace: Path, workloads: Path, out: Path) -> None:
    """What a stage does in place of a training: copy a shipped policy to its results; warnings go to stderr.

    Args:
        params: problem and scenario are used.
        name: scenario whose policies are taken; None: the run's own.
        policy: "teacher", or a family of searched policies.
        trace, workloads: the run's data.
        out: folder of the stage's results.

    Raises:
        ClearschedError: see `store.take`.
    """
    for warning in take(name or params.scenario, policy, find_problem(params.problem), trace, workloads, out):
        print(f"clearsched: warning: {warning}", file=sys.stderr)
