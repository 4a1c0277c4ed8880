"""Test vectors: decisions with the answers of the simulator's own code, for whoever runs the exported rules.

Rows are drawn about the numbers that the rules compare with, or taken from a decision log.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from functools import singledispatch
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clearsched.compiled.feature import Feature
from clearsched.compiled.scoring import Packed, choose, levels_of, with_patches
from clearsched.decisions.reader import iterate_choices
from clearsched.errors import ClearschedError
from clearsched.problems.declarations import Choice
from clearsched.problems.episodes import NONE, level_of
from clearsched.scorers.cap_terms import LeastTerm
from clearsched.scorers.conditions import holds
from clearsched.scorers.conditions import number as decimal
from clearsched.scorers.formula import WeightedSum
from clearsched.scorers.patches import meets, packed_patches
from clearsched.scorers.points import PointSum
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.steps import StepList
from clearsched.scorers.switch import Switch
from clearsched.scorers.trees import TreeSum

COUNT = 200
"""Decisions."""

MOST_CANDIDATES = 16

MOST = 10
"""The largest level where a file tells none."""

SEED = 1

PATIENCE = 20
"""Decisions that are tried for each that is wanted: of some the score is not a finite number."""


class Asked(NamedTuple):
    """A decision that is posed."""

    features: np.ndarray  # float32[n, F], by the columns of the rank choice
    none_allowed: bool
    most: int
    least: np.ndarray  # int64[n]: the least level of each candidate


class Answer(NamedTuple):
    """The simulator's answer to it."""

    candidate: int  # or NONE
    limit: int
    rule: str
    limit_rule: str


def drawn(policy: ScoredPolicy, count: int) -> Iterator[Asked]:
    """Decisions whose rows lie on both sides of what the rules compare with; the same for the same policy."""
    random = np.random.default_rng([SEED, count])
    marks = [_marks(policy, feature) for feature in policy.rank.features]
    most = int(policy.evidence.get("most", 0)) or MOST
    while True:
        rows = int(random.integers(1, MOST_CANDIDATES + 1))
        columns = []
        for feature, own in zip(policy.rank.features, marks, strict=True):
            values = _values(random, feature, own, 1 if feature.per_decision else rows)
            columns.append(np.broadcast_to(values, rows))
        features = np.stack(columns, axis=1).astype(np.float32)
        features = features[np.sort(random.integers(rows, size=rows))]  # some are equal
        yield Asked(features, bool(random.random() < 0.8), most, random.integers(1, most + 1, rows))


def _marks(policy: ScoredPolicy, feature: Feature) -> np.ndarray:
    """float32: what the policy compares a feature with."""
    own = [scorer.thresholds(feature.name) for scorer in policy.scorers.values()]
    written = [c.value for patch in policy.patches for c in patch.comparisons if c.feature == feature.name]
    return np.unique(np.concatenate([*own, np.array(written, np.float32)]).astype(np.float32))


def _values(random: np.random.Generator, feature: Feature, marks: np.ndarray, count: int) -> np.ndarray:
    """float32: values that a feature may have, half of them at a mark or just below it."""
    if feature.unit in ("", "s"):
        plain = np.exp(random.uniform(np.log(0.02), np.log(500.0 if feature.unit else 3.0), count))
    else:
        plain = random.integers(0, 20, count)
    if "_is_" in feature.name:
        return random.integers(0, 2, count).astype(np.float32)
    if not len(marks):
        return plain.astype(np.float32)
    near = marks[random.integers(len(marks), size=count)]
    near = np.where(random.random(count) < 0.5, near, np.nextafter(near, np.float32(-np.inf)))
    return np.where(random.random(count) < 0.5, plain, near).astype(np.float32)


def logged(policy: ScoredPolicy, decisions: Path) -> Iterator[Asked]:
    """The decisions of a log, from the first on; the answers that they had count for nothing.

    Raises:
        ClearschedError: the log is missing or broken, or of another problem.
    """
    most = int(policy.evidence.get("most", 0)) or MOST
    for part in iterate_choices(decisions, policy.problem, policy.rank.name):
        for first, last in zip(part.starts[:-1], part.starts[1:], strict=True):
            own = ~part.is_none[first:last]
            if own.any():
                rows = part.features[first:last][own][:, : len(policy.rank.features)]
                yield Asked(rows, not own.all(), most, np.ones(len(rows), np.int64))


def answer(policy: ScoredPolicy, asked: Asked) -> Answer | None:
    """What the simulator's code answers; None where a score is not a finite number."""
    rank, level = packed(policy, policy.rank), policy.level
    try:
        first = choose(rank, asked.features, False)
        best = choose(rank, asked.features, asked.none_allowed)
    except ClearschedError:
        return None
    row = asked.features[first : first + 1]
    rule = _patch_of(policy, row[0]) or rule_of(policy.scorers[policy.rank.name], row, names_of(policy.rank))
    if best == NONE or level is None:
        return Answer(best, 0, rule, "")
    scorer = packed(policy, level)
    share = float(levels_of(scorer, row)[0])
    if not np.isfinite(share):
        return None
    limit = min(level_of(share, int(asked.least[best]), asked.most, up=scorer.up), asked.most)
    return Answer(
        best, limit, rule, _bound_of(policy, row) or rule_of(policy.scorers[level.name], row, names_of(level))
    )


def packed(policy: ScoredPolicy, choice: Choice) -> Packed:
    """What the loop runs for a choice, patches included (`ScoredPolicy.compiled`)."""
    found = policy.scorers[choice.name].pack(names_of(choice), policy.where)._replace(none=policy.none)
    return with_patches(found, packed_patches(policy.patches, choice))._replace(none=policy.may_idle)


def _patch_of(policy: ScoredPolicy, row: np.ndarray) -> str:
    """The first patch on the candidates that a row, float32[F], meets."""
    found = (n for n, p in enumerate(policy.patches, 1) if p.cap is None and meets(p, policy.rank, row))
    return next((f"patch {number}" for number in found), "")


def _bound_of(policy: ScoredPolicy, row: np.ndarray) -> str:
    """The last patch that lowers the level of a row, float32[1, F]."""
    level, found = policy.level, ""
    assert level is not None
    share = float(policy.scorers[level.name].scores(row, names_of(level))[0])
    for number, patch in enumerate(policy.patches, 1):
        if patch.cap is not None and patch.cap < share and meets(patch, level, row[0]):
            share, found = patch.cap, f"patch {number}"
    return found


@singledispatch
def rule_of(scorer: Scorer, row: np.ndarray, names: Sequence[str]) -> str:
    """The piece that speaks for a row, float32[1, F], as exported code names it."""
    raise TypeError(type(scorer))


@rule_of.register(RuleList)
@rule_of.register(StepList)
@rule_of.register(LeastTerm)
def _(scorer: Scorer, row: np.ndarray, names: Sequence[str]) -> str:
    places = scorer.firing(row, names)
    assert places is not None
    return f"{scorer.clause or 'term'} {int(places[0]) + 1}"


@rule_of.register(PointSum)
@rule_of.register(TreeSum)
@rule_of.register(WeightedSum)
def _(scorer: Scorer, row: np.ndarray, names: Sequence[str]) -> str:
    return {PointSum: "points", TreeSum: "trees"}.get(type(scorer), "formula")


@rule_of.register
def _(scorer: Switch, row: np.ndarray, names: Sequence[str]) -> str:
    own = row[:, [list(names).index(name) for name in scorer.names]]
    fits = (case.condition is None or bool(holds(case.condition, own)[0]) for case in scorer.cases)
    place = next(number for number, fit in enumerate(fits) if fit)
    return f"case {place + 1}: {rule_of(scorer.cases[place].scorer, row, names)}"


def table(policy: ScoredPolicy, names: Sequence[str], decisions: Iterator[Asked], count: int) -> str:
    """CSV, a row a candidate: number of the decision, what is asked, the features `names`, what is answered.

    Numbers of features are the shortest decimals that are the same float32. Decisions whose answer would be an error
    are left out.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    idles, level = policy.may_idle, policy.level is not None
    asks = [*(["none_allowed"] if idles else []), *(["most", "least"] if level else [])]
    answers = ["candidate", *(["limit"] if level else []), "rule", *(["limit_rule"] if level else [])]
    writer.writerow(["decision", *asks, *names, *answers])
    columns = [names_of(policy.rank).index(name) for name in names]
    number = 0
    for asked in islice(decisions, PATIENCE * count):
        found = answer(policy, asked)
        if found is None:
            continue
        for row, least in zip(asked.features, asked.least.tolist(), strict=True):
            posed = {"none_allowed": int(asked.none_allowed), "most": asked.most, "least": least}
            told = found._asdict()
            values = [decimal(row[column]) for column in columns]
            writer.writerow([number, *(posed[ask] for ask in asks), *values, *(told[name] for name in answers)])
        number += 1
        if number == count:
            break
    return text.getvalue()
