"""From the registry of heuristics to compiled code: a branch an entry, so that a new one is an entry and a function."""

from __future__ import annotations

from typing import Any

from numba import njit

from clearsched.compiled.scoring import NONE
from clearsched.problems.dag_jobs.heuristics import READS_NO_WORK
from clearsched.problems.dag_jobs.policies import CODES, HEURISTICS
from clearsched.registry import load

MOST_PARAMETERS = max(len(entry.parameters) for entry in HEURISTICS.values())


def _compile(lines: list[str], scope: dict[str, Any]) -> Any:
    """A function of generated text, inline. It has no cache of its own: its callers, which it is part of, have one."""
    exec("\n".join(lines), scope)
    options: dict[str, Any] = {"_nrt": False, "forceinline": True}  # as `inlined` in compiled/jit.py
    return njit(**options)(scope["generated"])


def _compile_choice() -> Any:
    """`choose_heuristic(state, code, parameters)`: (stage, requested executors), or (NONE, 0)."""
    scope: dict[str, Any] = {"NONE": NONE}
    lines = ["def generated(state, code, parameters):"]
    for name, entry in HEURISTICS.items():
        scope[name] = load(entry.function)
        numbers = "".join(f", parameters[{i}]" for i in range(len(entry.parameters)))
        lines += [f"    if code == {CODES[name]}:", f"        return {name}(state{numbers})"]
    return _compile([*lines, "    return NONE, 0"], scope)


def _compile_reads_work() -> Any:
    """`reads_work(code)`: whether a policy asks for the work that is left, which `survey` sums up."""
    without = [
        str(CODES[name]) for name, entry in HEURISTICS.items() if entry.function.rpartition(":")[2] in READS_NO_WORK
    ]
    return _compile(["def generated(code):", f"    return not ({' or '.join(f'code == {c}' for c in without)})"], {})


choose_heuristic = _compile_choice()
reads_work = _compile_reads_work()
