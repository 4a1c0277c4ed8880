"""How often the guards of policies took over, when, why and until when; nothing where no policy has one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.evaluation.policies import label
from clearsched.evaluation.rollouts import GUARDED_PERCENT, TAKE_OVERS, Rollout
from clearsched.problems.declarations import Measure
from clearsched.problems.problem import Problem
from clearsched.schemas import TAKE_OVERS as SCHEMA
from clearsched.schemas import write_table

MEASURES = (
    Measure(TAKE_OVERS, "", "times that its guard's heuristic took over", "take-overs", compared=False, beside="mean"),
    Measure(
        GUARDED_PERCENT, "%", "time in which its guard's heuristic scheduled", "guarded", compared=False, beside="mean"
    ),
)
"""What is told beside the mean where a policy has a guard."""


def guard_measures(rollouts: Sequence[Rollout]) -> tuple[Measure, ...]:
    """`MEASURES`, if a policy has a guard."""
    return MEASURES if any(guard_of(rollout) for rollout in rollouts) else ()


def guard_of(rollout: Rollout) -> Any:
    """The policy's guard, or None."""
    return getattr(rollout.policy, "guard", None)


def take_over_table(problem: Problem, rollouts: Sequence[Rollout]) -> pa.Table:
    """A row a take-over, of schema TAKE_OVERS."""
    rows = []
    for rollout in rollouts:
        guard = guard_of(rollout)
        if guard is None:
            continue
        for episode, result in enumerate(rollout.results):
            for taken in result.guard.take_overs:
                gauge = problem.gauges[taken.gauge]
                rows.append(
                    {
                        "policy": rollout.name,
                        "episode": episode,
                        "from_s": taken.from_s,
                        "until_s": taken.until_s,
                        "heuristic": guard.heuristic,
                        "gauge": gauge.name,
                        "unit": gauge.unit,
                        "value": taken.value,
                        "bound": guard.when[gauge.name].above,
                    }
                )
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def write_take_overs(problem: Problem, rollouts: Sequence[Rollout], out_dir: Path, metadata: dict[str, Any]) -> None:
    """Write `take_overs.parquet` where a policy has a guard; where none has, one of an earlier run is removed."""
    path = out_dir / "take_overs.parquet"
    if guard_measures(rollouts):
        write_table(path, take_over_table(problem, rollouts), SCHEMA, metadata)
    else:
        path.unlink(missing_ok=True)


def guard_lines(problem: Problem, rollouts: Sequence[Rollout]) -> list[str]:
    """A line a policy with a guard: how often it took over and why, or that it did not."""
    return [f"* {label(problem, rollout.name)}: {_told(problem, rollout)}" for rollout in rollouts if guard_of(rollout)]


def _told(problem: Problem, rollout: Rollout) -> str:
    guard = guard_of(rollout)
    own = [result.guard.take_overs for result in rollout.results]
    total, met = sum(map(len, own)), sum(map(bool, own))
    if not total:
        return f"its guard never took over: {guard.sentence(problem)}"
    reasons = Counter(problem.gauges[taken.gauge].label for taken_overs in own for taken in taken_overs)
    share = float(np.mean(rollout.values(MEASURES[1])))
    why = ", ".join(f"{count} by the {name}" for name, count in reasons.items())
    return (
        f"its guard took over {_times(total)} ({why}) in {met} of {len(own)} episodes, {share:.2g} % of their time: "
        f"{guard.named(problem)} scheduled (take_overs.parquet)"
    )


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
