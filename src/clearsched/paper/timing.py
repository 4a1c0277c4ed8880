"""How long a decision takes, and what memory: network, students and a heuristic are asked the same, one at a time."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
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
    """See `clearsched.paper.latency`. The network schedules; all others are asked beside it.

    They are loaded in this order, so that none is told to hold what another one's libraries hold: first the heuristic,
    with the code that all share, then the students, then the network.
    """
    problem = find_problem(params.problem)
    instance = problem.open(trace, workloads)
    files = {**{path.stem: path for path in students}, "teacher": teacher}
    yardstick = load_policy(problem, YARDSTICK, read_json(tuned))
    _answer_once(yardstick, instance)
    held = {name: _held(partial(load_policy, problem, path), instance) for name, path in files.items()}
    *others, network = [policy for policy, _ in held.values()]
    others.append(yardstick)
    most = DECISIONS[params.paper.scale]
    rows = _timed(network, others, instance, most)
    metadata = provenance({}, {"trace": trace, "workloads": workloads, **files}) | {
        "setting": f"at most {most:,} decisions of {instance.describe('test', instance.split('test', 1))}, one thread",
        "source": params.traces.source,
        "bytes": {name: path.stat().st_size for name, path in files.items()},
        "memory_mib": {name: memory for name, (_, memory) in held.items()},
        "parameters": {network.name: sum(p.numel() for p in _network(network).parameters())},
    }
    write_table(out, pa.Table.from_pylist(rows, schema=LATENCY), LATENCY, metadata)


def _held(load: Callable[[], Policy], instance: Any) -> tuple[Policy, float]:
    """A policy that has answered once, and how much more memory this process holds since then, MiB."""
    before = _resident_mib()
    policy = load()
    _answer_once(policy, instance)
    return policy, max(0.0, _resident_mib() - before)


def _resident_mib() -> float:
    gc.collect()
    return float(psutil.Process().memory_info().rss / 2**20)


def _answer_once(policy: Policy, instance: Any) -> None:
    """The first decision of the first test episode."""
    lockstep = instance.lockstep(instance.split("test", 1))
    if lockstep.advance():
        _ask(policy, lockstep)


def _ask(policy: Any, lockstep: Any) -> Any:
    """What a policy answers, by the way that is quickest for it."""
    return lockstep.ask(policy.compiled) if hasattr(policy, "compiled") else policy.weigh(lockstep.observe()).answers


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
            answers, spent = _clocked(partial(_ask, network, lockstep))
            told = {"decision": decision - WARM_UP, "time_s": float(lockstep.time_s[0])}
            told["candidates"] = int(np.diff(lockstep.observe().candidate_start)[0])
            found = [{"policy": network.name, "kind": network.kind, "latency_ms": spent}]
            for policy in others:
                _, spent = _clocked(partial(_ask, policy, lockstep))
                found.append({"policy": policy.name, "kind": policy.kind, "latency_ms": spent})
            if decision >= WARM_UP:
                rows += [told | each for each in found]
            lockstep.answer(answers)
    return rows


def _clocked(work: Callable[[], Any]) -> tuple[Any, float]:
    """What the work gives, and how much CPU time it took, ms: one thread works, and a busy machine does not matter."""
    begin = time.process_time()
    found = work()
    return found, 1000 * (time.process_time() - begin)
