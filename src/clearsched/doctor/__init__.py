"""What is wrong with this machine, and what a run will cost on it: a line each. Light: no numba, torch or pandas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clearsched.doctor.findings import Finding, as_json, as_text, has_problem

if TYPE_CHECKING:
    from clearsched.params import Params

__all__ = ["Finding", "as_json", "as_text", "examine", "has_problem"]


def examine(params: Path, results: Path, paper: bool = False) -> list[Finding]:
    """Look at everything, in the order in which it is told.

    Args:
        params: the params.yaml whose run is asked about.
        results: the folder below which results go; Snakemake's own folder lies beside it.
        paper: whether to tell what all figures of the papers would cost too (`make paper`).
    """
    from clearsched.doctor import caches, costs, machine, packages, place

    checked, said = place.params(params)
    code = caches.compiled_code()
    cost = costs.of_run(checked, compiled=code[0].state == "ok") if checked else None
    return [
        *packages.versions(),
        *packages.optional(),
        *machine.cores(),
        *machine.memory(),
        *machine.gpu(),
        *code,
        said,
        *place.results(results),
        *machine.disk(results, cost.disk_mb if cost else 0.0),
        *(costs.told(cost, machine.usable_cores()) if cost else ()),
        *(_of_paper(checked) if checked and paper else ()),
    ]


def _of_paper(params: Params) -> list[Finding]:
    from clearsched.doctor import costs, machine, paper_costs

    return [costs.time_told("make paper", paper_costs.of_paper(params), machine.usable_cores())]
