"""Steps: an ordered list of cases, each with conditions, a cap, and how it orders what falls under it.

"Who is there stays while he holds less than 1.8 times his share; else the smallest comes next that holds less than 0.8
times its share; else nobody." The first step that fits a row gives it its value. A cap is the least of a few products
(`cap_terms`); the step fits rows whose feature `of` is below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from clearsched.compiled.cap_terms import NO_CAP_TERMS, CapTerms, least_term
from clearsched.compiled.jit import compiled

NO_COLUMN = -1
"""In place of the feature that a cap bounds, where a step has none."""


class Steps(NamedTuple):
    """S steps with C conditions, T terms of caps, and P weights in all."""

    first_condition: np.ndarray  # int64[S + 1]: step s has the conditions from here to that of s + 1
    feature: np.ndarray  # int64[C]: column
    below: np.ndarray  # bool[C]: the value must be below the threshold, else at it or above
    threshold: np.ndarray  # float32[C]
    of: np.ndarray  # int64[S]: the column that must be below the cap, or NO_COLUMN
    first_term: np.ndarray  # int64[S + 1]
    caps: CapTerms  # T terms
    by_cap: np.ndarray  # bool[S]: the value is the cap
    value: np.ndarray  # float64[S]: else this
    first_weight: np.ndarray  # int64[S + 1]
    column: np.ndarray  # int64[P]
    weight: np.ndarray  # float64[P]: weight x feature is added to the value


def pack_steps(steps: Sequence[Mapping[str, Any]], caps: CapTerms) -> Steps:
    """Pack steps whose features are columns already.

    Args:
        steps: each with `conditions` [(column, below, threshold)], `of` (column or NO_COLUMN), `terms` (how many of
            the caps' terms are its own), `value` (None: the cap) and `plus` [(column, weight)].
        caps: the terms of all steps, one step's after another's.
    """
    conditions = [condition for step in steps for condition in step["conditions"]]
    plus = [term for step in steps for term in step["plus"]]
    return Steps(
        _starts([len(step["conditions"]) for step in steps]),
        np.array([condition[0] for condition in conditions], np.int64),
        np.array([condition[1] for condition in conditions], np.bool_),
        np.array([condition[2] for condition in conditions], np.float32),
        np.array([step["of"] for step in steps], np.int64),
        _starts([step["terms"] for step in steps]),
        caps,
        np.array([step["value"] is None for step in steps], np.bool_),
        np.array([step["value"] or 0.0 for step in steps], np.float64),
        _starts([len(step["plus"]) for step in steps]),
        np.array([column for column, _ in plus], np.int64),
        np.array([weight for _, weight in plus], np.float64),
    )


def _starts(counts: Sequence[int]) -> np.ndarray:
    return np.cumsum([0, *counts]).astype(np.int64)


NO_STEPS = pack_steps([], NO_CAP_TERMS)


def joined(steps: Steps, others: Steps) -> Steps:
    """The steps of both, the others last."""
    whole: dict[str, np.ndarray] = {}
    for name in Steps._fields:
        if name != "caps":
            own, other = getattr(steps, name), getattr(others, name)
            whole[name] = _shifted(own, other) if name.startswith("first_") else np.append(own, other)
    caps, more = steps.caps, others.caps
    columns = (np.append(getattr(caps, name), getattr(more, name)) for name in CapTerms._fields[1:])
    return Steps(**whole, caps=CapTerms(_shifted(caps.start, more.start), *columns))


def _shifted(starts: np.ndarray, others: np.ndarray) -> np.ndarray:
    """int64: where the entries of both begin, and the end."""
    return np.append(starts, starts[-1] + others[1:])


@compiled
def add_steps(steps: Steps, rows: np.ndarray, count: int, values: np.ndarray, last: int) -> None:
    """Add the value of the first step that fits each of the first `count` rows of float32[n, F] to `values`.

    Of the steps those before `last` count; what comes after them are patches (`compiled.patches`).
    """
    for i in range(count):
        for s in range(last):
            if not conditions_hold(steps, s, rows, i):
                continue
            least = least_term(steps.caps, steps.first_term[s], steps.first_term[s + 1], rows, i)
            if steps.of[s] != NO_COLUMN and not np.float64(rows[i, steps.of[s]]) < least:
                continue
            total = least if steps.by_cap[s] else steps.value[s]
            for term in range(steps.first_weight[s], steps.first_weight[s + 1]):
                total += steps.weight[term] * rows[i, steps.column[term]]
            values[i] += total
            break


@compiled
def conditions_hold(steps: Steps, s: int, rows: np.ndarray, i: int) -> bool:
    """Whether row i meets all conditions of step s."""
    for c in range(steps.first_condition[s], steps.first_condition[s + 1]):
        if (rows[i, steps.feature[c]] < steps.threshold[c]) != steps.below[c]:
            return False
    return True
