"""What is wrong with this machine, and what a run will cost on it: a line each. Light: no numba, torch or pandas."""

from __future__ import annotations

from pathlib import Path

from clearsched.doctor.findings import Finding, as_json, as_text, has_problem

__all__ = ["Finding", "as_json", "as_text", "examine", "has_problem"]


def examine(params: Path, results: Path, paper: bool = False) -> list[Finding]:
    """Look at everything, in the order in which it is told.

    Args:
        params: the params.yaml whose run is asked about.
        results: the folder below which results go; Snakemake's own folder lies beside it.
        paper: whether to tell what all figures of the papers would cost too (`make paper`).
    """
    from clearsched.doctor import caches, costs, machine, packages, paper_costs, place

    checked, said = place.params(params)
    code = caches.compiled_code()
    cost = costs.of_run(checked, compiled=code[0].state == "ok") if checked else None
    of_paper = paper_costs.of_paper(checked) if checked and paper else None
    cores = machine.usable_cores()
    return [
        *packages.versions(),
        *packages.optional(),
        *machine.cores(),
        *machine.memory(),
        *machine.gpu(),
        *code,
        said,
        *place.results(results),
        *machine.disk(results, sum(each.disk_mb for each in (cost, of_paper) if each)),
        *(costs.told(cost, cores) if cost else ()),
        *(paper_costs.told(of_paper, cores) if of_paper else ()),
    ]
