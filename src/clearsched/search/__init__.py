"""Search: policies of a few numbers, found by trying them in the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearsched.params import Params

__all__ = ["run", "show"]


def run(params: Params, family: str, trace: Path, workloads: Path, tuned: Path, out_dir: Path) -> Path:
    """Search for the numbers of a family; write <family>.json, <family>.txt and <family>_curve.parquet to `out_dir`.

    With `search.source: shipped` these files are copied from the package. `search.guard`: the policy has a guard.

    Returns:
        The JSON file.

    Raises:
        ClearschedError: no such family, an input is missing or broken, no candidate could be run, or what is shipped
            cannot be used.
    """
    if params.search.source == "shipped":
        from clearsched.files import read_json
        from clearsched.search.safety import warn
        from clearsched.shipped import supply

        supply(params, params.search.shipped, family, trace, workloads, out_dir)
        if params.search.guard.heuristic is not None:
            from clearsched.search.guarding import guard_shipped

            guard_shipped(params.search.guard, out_dir / f"{family}.json", trace, workloads, tuned)
        warn(family, read_json(out_dir / f"{family}.json"), params.problem, trace, workloads)
        return out_dir / f"{family}.json"
    from clearsched.search.searching import search_one

    return search_one(params, family, trace, workloads, tuned, out_dir)


def show(path: str | Path) -> str:
    """A searched policy's file as readable text with units.

    Raises:
        ClearschedError: see `scorers.policy.load_policy`.
    """
    from clearsched.scorers.policy import load_policy
    from clearsched.scorers.text import render

    return render(load_policy(path))
