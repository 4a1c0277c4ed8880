"""The golden episodes of this repository (tests/golden, by the plain simulator) against the compiled simulator."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from clearsched.files import read_json
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import simulate
from make_golden import EPISODES, FOLDER, golden_trace, golden_workload, make, summary, to_text
from toys import decision_rows, task_rows


@cache
def profiles(wide_levels: bool, warmup_delay_ms: int) -> Profiles:
    return compile_profiles(golden_trace(wide_levels), warmup_delay_ms)


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = read_json(path)
    return content


CASES = [
    pytest.param(path, policy, id=f"{path.stem}-{policy}")
    for path in sorted(FOLDER.glob("*.json"))
    for policy in read(path)["results"]
]


def test_no_golden_file_is_missing() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted(EPISODES)


@pytest.mark.parametrize(("path", "policy"), CASES)
def test_the_compiled_simulator_reproduces_it(path: Path, policy: str) -> None:
    """Every completion, every decision and every start of a task; the first rows are there to locate a difference."""
    content = read(path)
    compiled = profiles(content["wide_levels"], content["warmup_delay_ms"])
    workload = golden_workload(content, compiled.trace)
    chosen = heuristic(policy, **content["policies"][policy]).compiled
    result = simulate(compiled, workload, chosen, record_tasks=True, record_decisions=True)
    found = summary(decision_rows(result), task_rows(result), result.completion_ms.tolist(), workload.semantics)
    wanted = content["results"][policy]
    for name in ("completion_ms", "first_decisions", "first_tasks"):
        assert found[name] == wanted[name]
    assert found == wanted
    assert (result.num_decisions, result.num_tasks) == (wanted["num_decisions"], wanted["num_tasks"])


@pytest.mark.parametrize("name", ["batch-5", "failures-10"])
def test_the_plain_simulator_writes_the_same_file(name: str) -> None:
    assert to_text(make(name)) + "\n" == (FOLDER / f"{name}.json").read_text()
