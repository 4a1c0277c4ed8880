"""The feature compiler: a feature's formula *is* its code, its row in the docs and its unit.

A problem lists its features once (`Feature`), and looks up the quantities that their formulas name; `compile_columns`
makes of the formulas, as they stand there, the function that fills a row of the feature matrix inside the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numba import njit

from clearsched.compiled.feature import Feature
from clearsched.compiled.jit import allocating, compiled, inlined

LARGEST = np.float32(3.4028234663852886e38)
"""Of the finite numbers."""

FEW = 64
"""Up to so many keys each is compared with each, in vector registers; more are sorted."""


def compile_columns(first: int, features: Sequence[Feature], quantities: Sequence[str]) -> Any:
    """A compiled function `write(rows, c, read, quantity=..., ...)`: it puts formula i of `features` where it belongs.

    That is rows[c, first + i], if bool `read[first + i]` says so: a list of rules reads a few features of forty. It
    answers whether all that it put there are finite numbers. They are looked at before they are in memory: to read
    whole columns right after they were written number by number took three times as long as to write them, probably
    since a processor waits until they have left its store buffer.

    It has no cache of its own: it is compiled into the problem's function that calls it, which has one. Division is
    IEEE's, so that a formula gives inf or nan, which the loop reports, where Python would raise ZeroDivisionError.
    """
    lines = [f"def write(rows, c, read, {', '.join(quantities)}):"]
    lines.append("    wrong = 0")
    for column, feature in enumerate(features, first):
        lines.append(f"    if read[{column}]:")
        lines += [f"        value = float32({feature.formula})", f"        rows[c, {column}] = value"]
        lines.append("        wrong |= not abs(value) <= LARGEST")
    lines.append("    return wrong == 0")
    scope: dict[str, Any] = {"float32": np.float32, "LARGEST": LARGEST}
    exec("\n".join(lines), scope)
    options: dict[str, Any] = {"error_model": "numpy", "_nrt": False}  # the latter as in jit.py
    return njit(**options)(scope["write"])


def docs_tables(features: Sequence[Feature], quantities: Mapping[str, Mapping[str, str]]) -> str:
    """The features, and under each title the quantities in their formulas, as Markdown tables."""
    directions = {+1: "more", -1: "less", 0: ""}
    lines = ["| feature | unit | meaning | formula | better |", "|---|---|---|---|---|"]
    for f in features:
        lines.append(f"| `{f.name}` | {f.unit} | {f.meaning} | `{f.formula}` | {directions[f.monotone]} |")
    for title, named in quantities.items():
        lines += ["", f"| quantity in the formulas{title} | meaning |", "|---|---|"]
        lines += [f"| `{name}` | {meaning} |" for name, meaning in named.items()]
    return "\n".join(lines) + "\n"


@inlined
def count_smaller(keys: np.ndarray, ranks: np.ndarray, ordered: np.ndarray, first: int, count: int) -> None:
    """For each of the `count` keys from `first` on, write to the same place of `ranks` how many of them are smaller.

    All float64; `ordered` is as long as the others, to work in.
    """
    if count <= FEW:
        for i in range(first, first + count):
            smaller = 0
            for k in range(first, first + count):
                smaller += keys[k] < keys[i]
            ranks[i] = smaller
    else:
        count_smaller_of_many(keys, ranks, ordered, first, count)


@compiled
def count_smaller_of_many(keys: np.ndarray, ranks: np.ndarray, ordered: np.ndarray, first: int, count: int) -> None:
    """`count_smaller` by sorting (Shell's way, since numpy's would allocate) and searching."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    for i in range(count):
        ordered[i] = keys[first + i]
    while gap > 0:
        for i in range(gap, count):
            key, k = ordered[i], i
            while k >= gap and ordered[k - gap] > key:
                ordered[k] = ordered[k - gap]
                k -= gap
            ordered[k] = key
        gap //= 3
    for i in range(first, first + count):
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            if ordered[middle] < keys[i]:
                low = middle + 1
            else:
                high = middle
        ranks[i] = low


@allocating
def new_rows(capacity: int, num_features: int) -> np.ndarray:
    """float32[at least capacity, num_features], not filled, each feature's column contiguous.

    So a policy evaluates 16 candidates an instruction. The columns lie an odd number of cache lines apart: at a power
    of two they would compete for the same few places of the processor's cache.
    """
    lines = (capacity + 15) // 16
    return np.empty((num_features, 16 * (lines | 1)), np.float32).T
