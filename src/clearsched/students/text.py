"""A student written out for a person: its rules, what they give, and what the features mean, with units."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clearsched.compiled.formulae import CONSTANT
from clearsched.compiled.trees import LEAF
from clearsched.problems.dag_jobs.features import FEATURE_NAMES, FEATURES
from clearsched.students.policy import Student
from clearsched.students.rules import OTHERWISE, Condition, Rule, flatten, number

WIDTH = 110
TREES_SHOWN = 3


def render(student: Student) -> str:
    """The policy as text; its numbers are those that run."""
    executors = student.evidence.get("num_executors")
    used = [c.feature for rule in (*student.stage_rules, *student.limit_rules) for c in rule.conditions]
    lines = [f"Student {student.name}", "=" * (8 + len(student.name)), ""]
    if student.stage_rules:
        lines += _stage_rules(student)
    elif student.stage_weights:
        lines += ["Which stage gets executors? The candidate with the highest sum.", "", *_terms(student.stage_weights)]
        used += _columns(student.stage_weights)
    else:
        lines += _stage_trees(student.stage_trees)
        used += [feature for tree in student.stage_trees for feature in tree["feature"] if feature != LEAF]
    how = "This share of all, rounded." if student.limit_weights else "The first rule that fits."
    lines += ["", f"How many executors may the job of that stage hold? {how}", ""]
    if student.limit_weights:
        lines += _terms(student.limit_weights)
        used += _columns(student.limit_weights)
    elif student.limit_rules:
        lines += _listed([(rule, _share(rule.value, executors)) for rule in student.limit_rules])
    else:
        lines += _tree_rules(student.limit_trees, len(student.limit_trees))
        used += [feature for tree in student.limit_trees for feature in tree["feature"] if feature != LEAF]
    if used:
        lines += ["", "What the features are", "", *_glossary(sorted(set(used)))]
    return "\n".join(lines) + "\n"


def _stage_rules(student: Student) -> list[str]:
    shares = student.evidence.get("shares", {}).get("rules", [])
    notes = [f"   ({100 * share:.1f} % of the candidates)" for share in shares] or [""] * len(student.stage_rules)
    return [
        "Which stage gets executors? A candidate has the score of the first rule that fits it; the candidate of the",
        "highest score is chosen, the one of the earlier job among equals.",
        "",
        *_listed(
            [(rule, f"score {rule.value:g}{note}") for rule, note in zip(student.stage_rules, notes, strict=False)]
        ),
    ]


def _stage_trees(trees: Sequence[dict[str, Any]]) -> list[str]:
    splits = Counter(feature for tree in trees for feature in tree["feature"] if feature != LEAF)
    gain: Counter[int] = Counter()
    for tree in trees:
        for feature, value in zip(tree["feature"], tree.get("gain", [0.0] * len(tree["feature"])), strict=True):
            if feature != LEAF:
                gain[feature] += value
    whole = sum(gain.values()) or 1.0
    lines = [
        f"Which stage gets executors? The candidate with the highest sum over {len(trees)} trees.",
        "",
        "What the trees look at, by how much it improved the fit:",
        "",
        f"  {'feature':<24}{'unit':<12}{'gain':>8}{'splits':>9}",
    ]
    for feature in sorted(splits, key=lambda f: (-gain[f], f)):
        described = FEATURES[feature]
        lines.append(
            f"  {described.name:<24}{described.unit or '-':<12}"
            f"{100 * gain[feature] / whole:>6.1f} %{splits[feature]:>9}"
        )
    return [*lines, "", *_tree_rules(trees, min(TREES_SHOWN, len(trees)))]


def _terms(weights: Mapping[str, float]) -> list[str]:
    """A formula, one term a line, with units."""
    lines = []
    for name, weight in weights.items():
        unit = "" if name == CONSTANT else FEATURES[FEATURE_NAMES.index(name)].unit
        lines.append(f"  {weight:>+14}" + ("" if name == CONSTANT else f" x {name}") + (f" [{unit}]" if unit else ""))
    return lines


def _columns(weights: Mapping[str, float]) -> list[int]:
    return [FEATURE_NAMES.index(name) for name in weights if name != CONSTANT]


def _tree_rules(trees: Sequence[dict[str, Any]], shown: int) -> list[str]:
    lines = []
    for place, tree in enumerate(trees[:shown]):
        lines += [f"Tree {place + 1} of {len(trees)} adds:", ""]
        lines += _listed([(rule, f"{rule.value:+.3f}") for rule in flatten([tree])], alone=True)
        lines += [""]
    return lines[:-1]


def _listed(rules: Sequence[tuple[Rule, str]], alone: bool = False) -> list[str]:
    """Numbered rules, wrapped; `alone` for rules that exclude each other, so that no `else` is needed."""
    lines = []
    for place, (rule, result) in enumerate(rules, 1):
        condition = " and ".join(_phrase(c) for c in rule.conditions)
        start = ("if " if alone or place == 1 else "else if ") + condition if condition else OTHERWISE
        lines += textwrap.wrap(
            f"{start}  ->  {result}",
            WIDTH,
            initial_indent=f"{place:>3}. ",
            subsequent_indent=" " * 8,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def _phrase(condition: Condition) -> str:
    """A condition with the unit of its feature."""
    feature = FEATURES[condition.feature]
    sign = "<" if condition.below else ">="
    return f"{feature.name} {sign} {number(condition.threshold)}" + (f" {feature.unit}" if feature.unit else "")


def _share(share: float, executors: Any) -> str:
    """For example `30 % of the executors (3 of 10)`."""
    text = f"{100 * share:g} % of the executors"
    if isinstance(executors, int):
        text += f" ({max(1, min(executors, int(np.floor(share * executors + 0.5))))} of {executors})"
    return text


def _glossary(features: Sequence[int]) -> list[str]:
    width = max((len(FEATURES[f].name) for f in features), default=0) + 2
    lines = []
    for f in features:
        unit = f" [{FEATURES[f].unit}]" if FEATURES[f].unit else ""
        lines += textwrap.wrap(
            FEATURES[f].meaning + unit,
            WIDTH,
            initial_indent=f"  {FEATURES[f].name:<{width}}",
            subsequent_indent=" " * (width + 2),
        )
    return lines
