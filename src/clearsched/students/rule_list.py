"""The rule list: models of imodels find rules, the ones that serve best are put in order, trials polish the list.

A list is read from the top: it is sorted by falling score, so the candidate that meets the earliest rule is chosen.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from clearsched.compiled.trees import LEAF
from clearsched.decisions.reader import Choices
from clearsched.problems.dag_jobs.features import FEATURE_NAMES
from clearsched.students.dataset import best_rows, ranks, subset
from clearsched.students.rounding import Columns, simplify
from clearsched.students.rules import Condition, Rule, flatten, holds

if TYPE_CHECKING:
    from clearsched.params.models import RuleListParams

PER_DECISION = ("executors_to_decide", "jobs_in_system")
"""Features that all candidates of a decision share: they can't tell one from another, and mislead small models."""

CONFOUNDED = ("job_is_source",)
"""Freed executors mostly sit in the job that is preferred anyway, so this feature goes with the choice without being
its reason; half of the models are fitted without it."""

MAX_DECISIONS = 3000
"""Decisions that a list is fitted on, evenly taken from all: imodels' trees take seconds on more."""

CONDITION_PRICE = 0.0005
"""What a condition must save in mean regret (0 to 1) to be worth its reader's time."""

GAIN = 0.0005
"""Share of the mean JCT that a polished list must save to be preferred, for each condition or rule that it adds."""

FACTORS = (0.7, 0.85, 1.2, 1.4)
"""What polishing multiplies a threshold by; thresholds on whole numbers move by one instead."""

Conditions = tuple[Condition, ...]


def learn(choices: Choices, settings: RuleListParams) -> list[Rule]:
    """A list of at most `max_rules` rules that chooses as the scores of `choices` do.

    The scores must rank all candidates of a decision, and exp(score - best score) say how good a candidate is next to
    the best: the top choice alone does not say what to do when the best candidate is not there.
    """
    real = subset(choices, ~choices.trivial)
    keep = np.zeros(len(real.chosen), bool)
    keep[:: max(1, -(-len(keep) // MAX_DECISIONS))] = True
    real = subset(real, keep)
    if len(real.chosen) == 0:
        return [Rule((), 0.0)]
    return numbered(simplify(assemble(mine(real, settings), real, settings), real.features))


class Mined(NamedTuple):
    """A conjunction of conditions, and which rows meet it."""

    conditions: Conditions
    rows: np.ndarray  # bool[n]


def mine(real: Choices, settings: RuleListParams) -> list[Mined]:
    """The rules of several models of imodels, with every part of them; of rules for the same rows the shortest."""
    columns = Columns(real.features)
    found: dict[bytes, Mined] = {}
    for trees in _models(real, settings):
        for rule in columns.round_rules(flatten(trees)):
            for length in range(1, len(rule.conditions) + 1):
                for conditions in itertools.combinations(rule.conditions, length):
                    rows = np.logical_and.reduce([holds(condition, real.features) for condition in conditions])
                    known = found.get(key := rows.tobytes())
                    if known is None or length < len(known.conditions):
                        found[key] = Mined(conditions, rows)
    return list(found.values())


def assemble(mined: Sequence[Mined], real: Choices, settings: RuleListParams) -> list[Rule]:
    """Put rules into a list one by one, each where it lowers the regret most, until none pays or the list is full.

    The regret of a decision is 1 - exp(score of the list's choice - best score): 0 if they agree, near 0 for near ties.
    """
    first = real.starts[:-1]
    regret = 1.0 - np.exp(real.score - np.maximum.reduceat(real.score, first)[real.owner])
    row, count = np.arange(len(regret)), len(regret)
    place = np.zeros(count, np.int64)  # the rule of each row
    rules: list[Conditions] = [()]

    def cost(keys: np.ndarray) -> float:
        """Mean regret if of each decision the row with the lowest key is chosen, the first of equals."""
        return float(regret[np.minimum.reduceat(keys * count + row, first) % count].mean())

    lowest = cost(place)
    while len(rules) < settings.max_rules:
        options = (
            (cost(2 * place + 1 - later * (2 * (place - i) + 1)) + CONDITION_PRICE * len(rule.conditions), i, n)
            for i in range(len(rules))
            for n, rule in enumerate(mined)
            if (later := rule.rows & (place >= i)).any()
        )
        found, i, n = min(options, default=(lowest, 0, 0))
        if found >= lowest:
            break
        lowest = found - CONDITION_PRICE * len(mined[n].conditions)
        place = np.where(mined[n].rows & (place >= i), i, place + (place >= i))
        rules.insert(i, mined[n].conditions)
    return [Rule(conditions, float(len(rules) - 1 - i)) for i, conditions in enumerate(rules)]


def _models(real: Choices, settings: RuleListParams) -> Iterator[list[dict[str, Any]]]:
    """Models of imodels, fitted to the candidates' ranks and to the best ones, as flat trees."""
    from imodels import FIGSRegressor

    rank, sizes = ranks(real), real.sizes[real.owner]
    best = np.zeros(len(rank))
    best[best_rows(real)] = 1.0
    even = np.where(best == 1, 1.0, 1.0 / np.maximum(sizes - 1, 1))  # the best one weighs as much as all others
    for left_out in (PER_DECISION, (*PER_DECISION, *CONFOUNDED)):
        columns = [i for i, name in enumerate(FEATURE_NAMES) if name not in left_out]
        features = real.features[:, columns]
        for target, weight in itertools.product((1.0 / (1 + rank), best), (1.0 / sizes, 1.0 / (1 + rank))):
            model = FIGSRegressor(max_rules=max(1, settings.max_rules - 1), max_trees=1)
            with _seeded_ties():
                model.fit(features, target, sample_weight=weight)
            yield [from_figs(tree, columns) for tree in model.trees_]
        yield [_elimination_list(features, columns, best, even, settings)]


def from_figs(root: Any, columns: Sequence[int]) -> dict[str, list]:
    """A tree of imodels' FIGS as a flat tree; its `x <= t` becomes `x < the next float32`."""
    tree: dict[str, list] = {name: [] for name in ("feature", "threshold", "left", "right", "value")}

    def add(node: Any) -> int:
        place, is_leaf = len(tree["feature"]), node.left is None
        value = float(np.asarray(node.value).ravel()[-1]) if is_leaf else 0.0
        threshold = 0.0 if is_leaf else float(np.nextafter(np.float32(node.threshold), np.float32(np.inf)))
        row = (LEAF if is_leaf else columns[node.feature], threshold, 0, 0, value)
        for column, entry in zip(tree.values(), row, strict=True):
            column.append(entry)
        if not is_leaf:
            tree["left"][place], tree["right"][place] = add(node.left), add(node.right)
        return place

    add(root)
    return tree


def _elimination_list(
    features: np.ndarray, columns: Sequence[int], best: np.ndarray, weight: np.ndarray, settings: RuleListParams
) -> dict[str, list]:
    """imodels' GreedyRuleList fitted to "not the best": each rule sets aside what is surely not, the rest is chosen.

    The model takes no weights, so a fixed draw of rows makes best and not best equally frequent. A list that peels off
    the best candidates instead ends after its first rule, since the rows it sets aside first are all of one class.
    """
    from imodels import GreedyRuleListClassifier

    drawn = np.random.default_rng(0).choice(len(best), 2 * int(best.sum()), p=weight / weight.sum())
    model = GreedyRuleListClassifier(max_depth=max(1, settings.max_rules - 1), criterion="entropy")
    with _seeded_ties():
        model.fit(features[drawn], 1.0 - best[drawn], feature_names=[FEATURE_NAMES[i] for i in columns])
    tree: dict[str, list] = {name: [] for name in ("feature", "threshold", "left", "right", "value")}
    for rule in model.rules_[:-1]:
        place = len(tree["feature"])
        inner = (columns[rule["index_col"]], float(rule["cutoff"]), place + 1, place + 2, 0.0)
        if not rule["flip"]:  # the rule is x >= cutoff: what meets it is to the right
            inner = (*inner[:2], place + 2, place + 1, 0.0)
        for row in (inner, (LEAF, 0.0, 0, 0, -float(rule["val_right"]))):
            for column, entry in zip(tree.values(), row, strict=True):
                column.append(entry)
    for column, entry in zip(tree.values(), (LEAF, 0.0, 0, 0, -float(model.rules_[-1]["val"])), strict=True):
        column.append(entry)
    return tree


@contextmanager
def _seeded_ties() -> Iterator[None]:
    """Seed numpy's global stream for a while: the stumps inside imodels break ties between features by it."""
    state = np.random.get_state()
    np.random.seed(0)
    try:
        yield
    finally:
        np.random.set_state(state)


def numbered(rules: Sequence[Rule]) -> list[Rule]:
    """The same order with whole scores down to 0; rules of equal value get equal scores."""
    values = sorted({rule.value for rule in rules})
    return [Rule(rule.conditions, float(values.index(rule.value))) for rule in rules]


Costs: TypeAlias = Callable[[list[Rule], np.ndarray | None], np.ndarray | None]
"""Mean JCT (s) of a list on each training episode; None if it falls behind the costs given (`Bench.race`)."""


def polish(rules: list[Rule], costs: Costs, columns: Columns, settings: RuleListParams) -> list[Rule]:
    """A better list near this one: one change at a time, kept if it pays in closed loop.

    Args:
        rules: where to start.
        costs: JCT of a list by episode.
        columns: which features are whole numbers, and how thresholds round.
        settings: `polish_rounds` passes over all changes at most, the first without a gain being the last;
            at most `max_rules` rules.
    """
    lowest = costs(rules, None)
    assert lowest is not None
    seen = {_key(rules)}
    for _ in range(settings.polish_rounds):
        before, place = lowest.mean(), 0
        while place < len(options := neighbours(rules, columns, settings.max_rules)):
            option = options[place]
            place += 1
            if _key(option) in seen:
                continue
            seen.add(_key(option))
            found = costs(option, lowest)
            gain = 0.0 if _length(option) < _length(rules) else GAIN * (1 + _length(option) - _length(rules))
            if found is not None and found.mean() <= lowest.mean() * (1 - gain):
                rules, lowest = option, found
        if lowest.mean() >= before:
            break
    return rules


def neighbours(rules: Sequence[Rule], columns: Columns, max_rules: int) -> list[list[Rule]]:
    """The lists that differ by one change.

    A rule or condition less, a threshold moved, two rules in the other order, or, where a rule more is allowed, a
    second rule just below one, with one of its conditions looser or dropped.
    """
    found = []
    for i, rule in enumerate(rules[:-1]):
        head, tail = list(rules[:i]), list(rules[i + 1 :])
        found.append(head + tail)
        below = (rule.value + tail[0].value) / 2
        for k in range(len(rule.conditions)):
            without = _with_condition(rule, k)
            found.append([*head, without, *(tail if without.conditions else [])])
            found += [[*head, moved, *tail] for moved in _moved(rule, k, columns, FACTORS, (-1, 1))]
            if len(rules) < max_rules:
                looser = [*_loosened(rule, k, columns), *([without] if without.conditions else [])]
                found += [[*head, rule, second._replace(value=below), *tail] for second in looser]
        if len(tail) > 1:
            later = tail[0]
            found.append([*head, Rule(later.conditions, rule.value), Rule(rule.conditions, later.value), *tail[1:]])
    return found


def _with_condition(rule: Rule, place: int, *instead: Condition) -> Rule:
    return rule._replace(conditions=(*rule.conditions[:place], *instead, *rule.conditions[place + 1 :]))


def _moved(rule: Rule, place: int, columns: Columns, factors: Sequence[float], steps: Sequence[int]) -> Iterator[Rule]:
    """The rule with one threshold multiplied by a factor, or moved by a step where the feature is a whole number."""
    condition = rule.conditions[place]
    old = condition.threshold
    if columns.is_whole(condition.feature):
        thresholds = [old + step for step in steps if old + step > 0]
    else:
        thresholds = [float(f"{factor * old:.2g}") for factor in factors]
    for threshold in thresholds:
        if threshold != old:
            yield _with_condition(rule, place, condition._replace(threshold=threshold))


def _loosened(rule: Rule, place: int, columns: Columns) -> Iterator[Rule]:
    if rule.conditions[place].below:
        return _moved(rule, place, columns, (1.5, 3.0), (1, 2))
    return _moved(rule, place, columns, (0.67, 0.33), (-1, -2))


def _key(rules: Sequence[Rule]) -> tuple[tuple[Condition, ...], ...]:
    """What makes two lists schedule alike: their conditions in order (scores fall from rule to rule)."""
    return tuple(rule.conditions for rule in rules)


def _length(rules: Sequence[Rule]) -> int:
    return sum(len(rule.conditions) + 1 for rule in rules)
