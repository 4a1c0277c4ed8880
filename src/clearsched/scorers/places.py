"""Where a scorer asks for each feature: how much of it a person reads for one part of a choice."""

from __future__ import annotations

from collections import Counter
from typing import Any

from clearsched.compiled.cap_terms import TIMES
from clearsched.compiled.trees import LEAF
from clearsched.scorers.cap_terms import LeastTerm
from clearsched.scorers.points import PointSum
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.steps import StepList
from clearsched.scorers.switch import Switch
from clearsched.scorers.ties import MOST
from clearsched.scorers.trees import TreeSum


def places_of(scorer: Scorer) -> Counter[str]:
    """How many conditions, ties, nodes, powers and weights ask for each feature; of a kind not known here, one each."""
    if isinstance(scorer, RuleList):
        asked = [scorer.names[c.feature] for rule in scorer.rules for c in rule.conditions]
        return Counter(asked + [tie.removeprefix(MOST) for tie in scorer.ties])
    if isinstance(scorer, PointSum):
        asked = [scorer.names[c.feature] for entry in scorer.points for c in entry.conditions]
        return Counter(asked + [tie.removeprefix(MOST) for tie in scorer.ties])
    if isinstance(scorer, Switch):
        own = Counter(scorer.names[case.condition.feature] for case in scorer.cases if case.condition)
        return sum((places_of(case.scorer) for case in scorer.cases), own)
    if isinstance(scorer, TreeSum):
        return Counter(scorer.names[f] for tree in scorer.trees for f in tree["feature"] if f != LEAF)
    if isinstance(scorer, LeastTerm):
        return Counter(name for term in scorer.terms for name in term if name != TIMES)
    if isinstance(scorer, StepList):
        return sum((_of_step(step, scorer.names) for step in scorer.steps), Counter())
    return Counter(scorer.used)


def _of_step(step: Any, names: tuple[str, ...]) -> Counter[str]:
    found = Counter(names[condition.feature] for condition in step.conditions)
    found.update([step.of] if step.of else [])
    found.update(name for term in step.below for name in term if name != TIMES)
    found.update(step.plus)
    return found
