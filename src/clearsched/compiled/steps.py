"""Steps: an ordered list of cases, each with conditions, a cap, and how it orders what falls under it.

"Who is there stays while he holds less than 1.8 times his share; else the smallest comes next that holds less than 0.8
times its share; else nobody." The first step that fits a row gives it its value. A cap is the least of a few products
(`cap_terms`); the step fits rows whose feature `of` is below it.

Row by row, every question waits for the answer to the one before. Steps without a cap and with few conditions, which
rules are, are therefore also kept with as many conditions each: from the last step to the first, all rows are asked at
once, in vector registers, and an earlier step has the last word. Both ways add the same numbers in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from clearsched.compiled.cap_terms import NO_CAP_TERMS, CapTerms, least_term
from clearsched.compiled.jit import inlined
from clearsched.compiled.trees import reach_of

NO_COLUMN = -1
"""In place of the feature that a cap bounds, where a step has none."""

ASKED, ADDED = 4, 3
"""Conditions and weights of a plain step, at most."""

MANY = 4
"""From so many rows on plain steps are asked of all at once."""


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
    # The same of plain steps, `ASKED` conditions each. Those that a step lacks hold for every row, of any column.
    plain: np.ndarray  # bool[S]
    ask: np.ndarray  # int64[ASKED S]: column
    ask_below: np.ndarray  # bool[ASKED S]
    ask_threshold: np.ndarray  # float32[ASKED S]


def pack_steps(steps: Sequence[Mapping[str, Any]], caps: CapTerms) -> Steps:
    """Pack steps whose features are columns already.

    Args:
        steps: each with `conditions` [(column, below, threshold)], `of` (column or NO_COLUMN), `terms` (how many of
            the caps' terms are its own), `value` (None: the cap) and `plus` [(column, weight)].
        caps: the terms of all steps, one step's after another's.
    """
    conditions = [condition for step in steps for condition in step["conditions"]]
    plus = [term for step in steps for term in step["plus"]]
    packed = Steps(
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
        *(np.zeros(0, kind) for kind in (np.bool_, np.int64, np.bool_, np.float32)),
    )
    return with_plain(packed)


def with_plain(steps: Steps) -> Steps:
    """The steps, with what is kept of the plain ones as their conditions are now."""
    conditions, weights, terms = map(np.diff, (steps.first_condition, steps.first_weight, steps.first_term))
    plain = (conditions <= ASKED) & (weights <= ADDED) & (terms == 0) & (steps.of == NO_COLUMN) & ~steps.by_cap
    ask, below = np.zeros((len(plain), ASKED), np.int64), np.zeros((len(plain), ASKED), np.bool_)
    threshold = np.full((len(plain), ASKED), -np.inf, np.float32)  # nothing is below it, not even what is no number
    for s in np.flatnonzero(plain).tolist():
        own = slice(steps.first_condition[s], steps.first_condition[s + 1])
        for of_all, of_plain in ((steps.feature, ask), (steps.below, below), (steps.threshold, threshold)):
            of_plain[s, : conditions[s]] = of_all[own]
    return steps._replace(plain=plain, ask=ask.ravel(), ask_below=below.ravel(), ask_threshold=threshold.ravel())


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


@inlined
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


@inlined
def are_plain(steps: Steps, last: int) -> bool:
    """Whether all steps before `last` are."""
    plain = True
    for s in range(last):
        plain &= steps.plain[s]
    return plain


@inlined
def write_plain_steps(steps: Steps, rows: np.ndarray, count: int, values: np.ndarray, last: int) -> None:
    """`add_steps` for plain steps and values of 0: what fits no step stays as it is.

    It may read and write up to the next multiple of BLOCK, as far as there are rows, as `trees.add_scores` does.
    Conditions and weights are written out, so that LLVM vectorises over rows.
    """
    ask, below, threshold = steps.ask, steps.ask_below, steps.ask_threshold
    reach = reach_of(count, rows, values)
    for s in range(last - 1, -1, -1):
        at, value, first = ASKED * s, steps.value[s], steps.first_weight[s]
        f0, f1, f2, f3 = ask[at], ask[at + 1], ask[at + 2], ask[at + 3]
        b0, b1, b2, b3 = below[at], below[at + 1], below[at + 2], below[at + 3]
        t0, t1, t2, t3 = threshold[at], threshold[at + 1], threshold[at + 2], threshold[at + 3]
        added = steps.first_weight[s + 1] - first
        if added == 0:
            for i in range(reach):
                low = ((rows[i, f0] < t0) == b0) & ((rows[i, f1] < t1) == b1)
                fits = low & ((rows[i, f2] < t2) == b2) & ((rows[i, f3] < t3) == b3)
                values[i] = value if fits else values[i]
            continue
        # Weights that a step lacks are 0, of a column that it reads: another may hold what is no number.
        c0, w0 = steps.column[first], steps.weight[first]
        c1, w1 = (steps.column[first + 1], steps.weight[first + 1]) if added > 1 else (c0, 0.0)
        c2, w2 = (steps.column[first + 2], steps.weight[first + 2]) if added > 2 else (c0, 0.0)
        for i in range(reach):
            low = ((rows[i, f0] < t0) == b0) & ((rows[i, f1] < t1) == b1)
            fits = low & ((rows[i, f2] < t2) == b2) & ((rows[i, f3] < t3) == b3)
            total = value + w0 * rows[i, c0] + w1 * rows[i, c1] + w2 * rows[i, c2]
            values[i] = total if fits else values[i]


@inlined
def conditions_hold(steps: Steps, s: int, rows: np.ndarray, i: int) -> bool:
    """Whether row i meets all conditions of step s."""
    for c in range(steps.first_condition[s], steps.first_condition[s + 1]):
        if (rows[i, steps.feature[c]] < steps.threshold[c]) != steps.below[c]:
            return False
    return True
