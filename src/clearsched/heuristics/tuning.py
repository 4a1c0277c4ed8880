"""Heuristics tuned per workload on the validation episodes, so that every comparison is against strong baselines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.files import provenance, read_json, write_json
from clearsched.parallel import Spread, executor
from clearsched.problems import find_problem
from clearsched.problems.episodes import Episode
from clearsched.problems.policy import CompiledPolicy, heuristic
from clearsched.problems.problem import Instance, Problem
from clearsched.schemas import TUNING, write_table

if TYPE_CHECKING:
    from clearsched.params import Params


def grid(problem: Problem, settings: Any) -> Iterator[tuple[str, dict[str, float]]]:
    """(heuristic, parameters) to try, in order: every heuristic, those without a grid once.

    `settings`: the section `heuristics` of params.
    """
    for name, entry in problem.heuristics.items():
        if not entry.settings:
            yield name, {}
        else:
            yield from ((name, dict(values)) for values in getattr(settings, entry.section).grid())


def tune_all(params: Params, trace: Path, workloads: Path, out_tuning: Path, out_tuned: Path) -> dict[str, Any]:
    """See `clearsched.heuristics.tune`.

    Writes a table of schema `TUNING` and a JSON file: the parameters of each heuristic, and under `best` the name of
    the heuristic with the best mean objective.
    """
    from rich.console import Console
    from rich.progress import track

    problem = find_problem(params.problem)
    instance = problem.open(trace, workloads)
    measure = instance.objective
    episodes = instance.split("validation")
    settings = list(grid(problem, params.heuristics))

    shared = instance, episodes, measure.name
    mean_objective(shared, settings[0])  # compiles the loop, which threads could not do at once
    # The loop releases the interpreter's lock; a setting's result does not depend on who runs it.
    with executor() as pool:
        found = Spread(pool, mean_objective, shared).map(settings)
        bar = track(found, "tuning heuristics", len(settings), transient=True, console=Console(stderr=True))
        means = np.array(list(bar))
    names = [name for name, _ in settings]
    costs = means if measure.lower_is_better else -means
    best = {
        name: min((i for i, n in enumerate(names) if n == name), key=costs.__getitem__) for name in problem.heuristics
    }
    tuned: dict[str, Any] = {"problem": problem.name, "measure": measure.name}
    tuned |= {name: settings[index][1] for name, index in best.items()}
    tuned["best"] = min(best, key=lambda name: costs[best[name]])
    tuned["validation"] = {name: float(means[index]) for name, index in best.items()}
    table = pa.table(
        {
            "policy": names,
            "setting": [", ".join(f"{k}={v:g}" for k, v in values.items()) for _, values in settings],
            "mean": means,
            "chosen": [best[name] == index for index, name in enumerate(names)],
        },
        schema=TUNING,
    )
    origin = provenance(params.heuristics.model_dump(mode="json"), {"trace": trace, "workloads": workloads})
    write_table(out_tuning, table, TUNING, origin | {"measure": measure.name, "unit": measure.unit})
    write_json(out_tuned, tuned | {"provenance": origin})
    return tuned


def mean_objective(shared: tuple[Instance, Sequence[Episode], str], setting: tuple[str, Mapping[str, float]]) -> float:
    """The mean of a measure of a heuristic with its parameters, over episodes of an instance."""
    instance, episodes, measure = shared
    results = heuristic(instance.problem, *setting).run(instance, episodes)
    return float(np.mean([result.measures[measure] for result in results]))


def read_tuned(path: Path, problem: Problem) -> dict[str, Any]:
    """What `tune_all` wrote.

    Raises:
        ClearschedError: the file is missing or broken, or tells of another problem.
    """
    found = read_json(path)
    if not isinstance(found, dict):
        raise ClearschedError(f"{path}: does not hold tuned heuristics; tune them again")
    if found.get("problem") != problem.name:
        raise ClearschedError(
            f"{path}: heuristics of the problem {found.get('problem')}, not of {problem.name}; tune them again"
        )
    return found


def tuned_heuristic(problem: Problem, name: str, path: Path) -> CompiledPolicy:
    """The heuristic of that name with its tuned parameters; `best`: the one that the tuning found best.

    Raises:
        ClearschedError: the file is broken, or lacks the heuristic or one of its parameters.
    """
    found = read_tuned(path, problem)
    name = str(found.get("best", "")) if name == "best" else name
    if name not in problem.heuristics or not isinstance(found.get(name), dict):
        raise ClearschedError(f"{path}: holds no heuristic {name!r}; tune them again")
    try:
        return heuristic(problem, name, found[name])
    except (ClearschedError, TypeError, ValueError) as error:
        raise ClearschedError(f"{path}: {name}: {error}; tune them again") from None
