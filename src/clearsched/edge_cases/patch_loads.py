"""What a patched policy is compared on: the loads that are given, and the edge cases of a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from clearsched.edge_cases.cases import NORMAL, cases_of, cases_run, params_apart
from clearsched.errors import ClearschedError
from clearsched.params import load_stage
from clearsched.problems.episodes import Episode
from clearsched.problems.problem import Instance, Problem

DRAWN = "validation"
"""Whose jobs the episodes of edge cases are, whatever is compared on the loads that are given."""


class Load(NamedTuple):
    """Episodes that a policy is compared on."""

    name: str  # the file, or the edge case
    told: str  # the name, and what the episodes are
    instance: Instance
    episodes: Sequence[Episode]


def given_loads(problem: Problem, traces: Sequence[Path], workloads: Sequence[Path], split: str) -> list[Load]:
    """Those of files: the episodes of a split.

    Raises:
        ClearschedError: there are neither one trace nor one for each workload, or a file is missing or broken.
    """
    if len(traces) not in (1, len(workloads)):
        raise ClearschedError(
            f"--trace: {len(traces)} given: one for all workloads, or one for each of {len(workloads)}"
        )
    pairs = zip([*traces] * (len(workloads) if len(traces) == 1 else 1), workloads, strict=True)
    return [_load(str(pair[1]), str(pair[1]), problem, *pair, split) for pair in pairs]


def drawn_loads(problem: Problem, file: Path, trace: Path, episodes: int, folder: Path) -> Iterator[Load]:
    """Every edge case of params that the scenario can have, with episodes of their own (`params_apart`).

    Args:
        problem: the policy's.
        file: the params of the stage `edge_cases`.
        trace: of the scenario.
        episodes: how many there are of each.
        folder: where they are drawn; it must be there as long as they are used.

    Raises:
        ClearschedError: the params are missing, broken or of another problem, or an edge case does not fit them.
    """
    params = load_stage(file, "edge_cases")
    if params.problem != problem.name:
        raise ClearschedError(f"{file}: of the problem {params.problem}, and the policy is of {problem.name}")
    for name in cases_run(params):
        own = params_apart(params, name, episodes)
        if name == NORMAL.name or own is None:
            continue
        jobs, workloads = trace, folder / f"{name}.parquet"
        if own.traces != params.traces:
            jobs = folder / f"{name}_trace.parquet"
            problem.build(own, jobs)
        problem.draw(own, jobs, workloads)
        yield _load(name, f"edge case {name} ({cases_of(problem)[name].label})", problem, jobs, workloads, DRAWN)


def _load(name: str, told: str, problem: Problem, trace: Path, workloads: Path, split: str) -> Load:
    instance = problem.open(trace, workloads)
    episodes = instance.split(split)
    return Load(name, f"{told}: {instance.describe(split, episodes)}", instance, episodes)
