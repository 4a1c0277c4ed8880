"""Tuned capped SRPT in the words of a student, so that it can be printed, exported and run by an engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clearsched.errors import ClearschedError
from clearsched.files import write_json
from clearsched.heuristics.tuning import read_tuned
from clearsched.problems import find_problem

NAME = "capped_srpt"
BELOW, LAST = 2000.0, 500.0
"""Values of the two steps: so far apart that the order within a step cannot lift a job out of it."""

WITHIN = {"job_work_rank": -1.0, "stage_rank": -0.001}
"""Smallest job first, in it the stage that comes first."""


def capped_srpt(p: float, m: float) -> dict[str, Any]:
    """Capped SRPT (`problems.dag_jobs.heuristics.capped_srpt`) as steps, whose caps are shares of the cluster.

    The cap of a job is m times its share by the power p of its work left + 5 s. Features have that share for the powers
    0, 1/2 and 1; for a power between them it is the product of the two next to it, which is nearly the same.
    """
    share = _share(p)
    cap = {"times": m, **share}
    step = {"if": "otherwise", "of": "job_executor_share", "below": [cap]}
    below, last = {**step, "then": BELOW, "plus": WITHIN}, {"if": "otherwise", "then": LAST, "plus": WITHIN}
    return {
        "name": NAME,
        "kind": "student",
        "problem": "dag_jobs",
        "none": False,
        "stage": {"steps": [below, last]},
        "limit": {"steps": [step, {"if": "otherwise", "then": 1.0}]},
    }


def _share(p: float) -> Mapping[str, float]:
    """The share by the power p, as powers of features; `jobs_in_system` to the power -1 is the equal share."""
    if not 0 <= p <= 1:
        raise ClearschedError(f"capped SRPT: p is {p}: the rules know powers from 0 to 1")
    if p <= 0.5:
        powers = {"jobs_in_system": -(1 - 2 * p), "job_sqrt_share": 2 * p}
    else:
        powers = {"job_sqrt_share": 2 - 2 * p, "job_work_share": 2 * p - 1}
    return {name: round(power, 4) for name, power in powers.items() if round(power, 4)}


def write(tuned: Path, most: int, out: Path) -> None:
    """Write the rules of tuned capped SRPT for a cluster of `most` executors.

    Raises:
        ClearschedError: the file holds no tuned capped SRPT.
    """
    found = read_tuned(tuned, find_problem("dag_jobs")).get(NAME)
    if not isinstance(found, Mapping) or not {"p", "m"} <= set(found):
        raise ClearschedError(f"{tuned}: holds no {NAME}; tune the heuristics again")
    write_json(out, capped_srpt(float(found["p"]), float(found["m"])) | {"most": most})
