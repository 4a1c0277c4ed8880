"""Heuristics tuned per workload on the validation episodes, so that every comparison is against strong baselines."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numba import get_num_threads

from clearsched.files import provenance, write_json
from clearsched.problems.dag_jobs.policies import HEURISTICS
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.workloads import load_inputs
from clearsched.schemas import TUNING, write_table

if TYPE_CHECKING:
    from clearsched.params import Params


def grid(params: Params) -> Iterator[tuple[str, dict[str, float]]]:
    """(heuristic, parameters) to try, in order: every heuristic, those without parameters once."""
    fair, srpt = params.heuristics.weighted_fair, params.heuristics.capped_srpt
    steps = round((fair.alpha_max - fair.alpha_min) / fair.alpha_step)
    alphas = [round(fair.alpha_min + i * fair.alpha_step, 6) for i in range(steps + 1)]
    for name in HEURISTICS:
        if name in ("weighted_fair", "wsjf"):
            yield from ((name, {"alpha": alpha}) for alpha in alphas)
        elif name in ("capped_srpt", "local_srpt"):
            yield from ((name, {"p": p, "m": m}) for p in srpt.p for m in srpt.m)
        else:
            yield name, {}


def tune(params: Params, trace: Path, workloads: Path, out_tuning: Path, out_tuned: Path) -> dict[str, Any]:
    """Run every setting of the grid on the validation episodes and keep the best of each heuristic.

    Writes a table of schema `TUNING` and a JSON file: the parameters of each heuristic, and under `best` the name of
    the heuristic with the lowest mean job completion time.
    """
    from rich.console import Console
    from rich.progress import track

    profiles, drawn = load_inputs(trace, workloads)
    episodes = drawn.split("validation")
    settings = list(grid(params))

    def mean_jct_s(setting: tuple[str, dict[str, float]]) -> float:
        results = heuristic(setting[0], **setting[1]).run(profiles, episodes)
        return float(np.mean([result.avg_jct_s for result in results]))

    mean_jct_s(settings[0])  # compiles the loop, which threads could not do at once
    # The loop releases the interpreter's lock; a setting's result does not depend on which thread runs it.
    with ThreadPoolExecutor(get_num_threads()) as pool:
        found = pool.map(mean_jct_s, settings)
        bar = track(found, "tuning heuristics", len(settings), transient=True, console=Console(stderr=True))
        means = np.array(list(bar))
    names = [name for name, _ in settings]
    best = {name: min((i for i, n in enumerate(names) if n == name), key=means.__getitem__) for name in HEURISTICS}
    tuned: dict[str, Any] = {name: settings[index][1] for name, index in best.items()}
    tuned["best"] = min(best, key=lambda name: means[best[name]])
    tuned["validation_jct_s"] = {name: float(means[index]) for name, index in best.items()}
    table = pa.table(
        {
            "policy": names,
            "setting": [", ".join(f"{k}={v:g}" for k, v in values.items()) for _, values in settings],
            "mean_jct_s": means,
            "chosen": [best[name] == index for index, name in enumerate(names)],
        },
        schema=TUNING,
    )
    origin = provenance(params.heuristics.model_dump(mode="json"), {"trace": trace, "workloads": workloads})
    write_table(out_tuning, table, TUNING, origin)
    write_json(out_tuned, tuned | {"provenance": origin})
    return tuned
