"""How long a decision takes: network, students and a heuristic are asked the same questions, one at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from clearsched.evaluation.policies import load_policy
from clearsched.files import provenance, read_json
from clearsched.paper.tables import LATENCY
from clearsched.problems import find_problem
from clearsched.schemas import write_table

if TYPE_CHECKING:
    from clearsched.params import Params
    from clearsched.problems.policy import Policy

DECISIONS = {"smoke": 200, "paper": 4000}
"""That are timed, of the first test episode."""

WARM_UP = 20
"""Decisions before the first that is timed: code is compiled and caches are filled."""

YARDSTICK = "fair"


def time_decisions(
    params: Params,
    trace: Path,
    workloads: Path,
    tuned: Path,
    teacher: Path,
    students: Sequence[Path],
    out: Path,
) -> None:
    """See `clearsched.paper.latency`. The network schedules; all others are asked beside it."""
    problem = find_problem(params.problem)
    instance = problem.open(trace, workloads)
    files = {"teacher": teacher, **{path.stem: path for path in students}}
    network, *others = [load_policy(problem, path) for path in files.values()]
    others.append(load_policy(problem, YARDSTICK, read_json(tuned)))
    rows = _timed(network, others, instance, DECISIONS[params.paper.scale])
    metadata = provenance({}, {"trace": trace, "workloads": workloads, **files}) | {
        "setting": instance.describe("test", instance.split("test", 1)),
        "bytes": {name: path.stat().st_size for name, path in files.items()},
        "parameters": {network.name: sum(p.numel() for p in _network(network).parameters())},
    }
    write_table(out, pa.Table.from_pylist(rows, schema=LATENCY), LATENCY, metadata)


def _network(policy: Any) -> Any:
    return policy.network.module if hasattr(policy.network, "module") else policy.network


def _timed(network: Any, others: Sequence[Policy], instance: Any, most: int) -> list[dict[str, Any]]:
    """A row a policy and decision."""
    from clearsched.teacher.threads import one_thread

    lockstep, rows = instance.lockstep(instance.split("test", 1)), []
    with one_thread():
        for decision in range(WARM_UP + most):
            if not lockstep.advance():
                break
            weighed, spent = _clocked(lambda: network.weigh(lockstep.observe()))
            told = {"decision": decision - WARM_UP, "time_s": float(lockstep.time_s[0])}
            told["candidates"] = int(np.diff(lockstep.observe().candidate_start)[0])
            found = [{"policy": network.name, "kind": network.kind, "latency_ms": spent}]
            for policy in others:
                compiled: Any = policy.compiled  # type: ignore[attr-defined]
                _, spent = _clocked(partial(lockstep.ask, compiled))
                found.append({"policy": policy.name, "kind": policy.kind, "latency_ms": spent})
            if decision >= WARM_UP:
                rows += [told | each for each in found]
            lockstep.answer(weighed.answers)
    return rows


def _clocked(work: Callable[[], Any]) -> tuple[Any, float]:
    """What the work gives, and how much CPU time it took, ms: one thread works, and a busy machine does not matter."""
    begin = time.process_time()
    found = work()
    return found, 1000 * (time.process_time() - begin)
