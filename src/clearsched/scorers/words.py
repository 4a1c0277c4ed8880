"""The words of scorers: questions, conditions, shares and terms, with the units of the features."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np

from clearsched.compiled.feature import Feature
from clearsched.compiled.formulae import CONSTANT
from clearsched.scorers.conditions import OTHERWISE, Condition, Rule, number
from clearsched.scorers.scorer import Facts, Question

WIDTH = 110
EPSILON = 1e-9
"""Keeps a number that is whole, but for rounding, from being rounded up."""

INDENT = " " * 8
"""Of the lines after the first of a numbered text."""

SCORE = "rank"
"""The form of a choice whose scorer compares candidates; the score of the other form is a share of the most."""


def heading(choice: Question, how: str, facts: Facts) -> list[str]:
    """The question and how it is answered, and when the answer is "none of these"."""
    idle = idles(choice, facts)
    ending = f" If that is not above 0: {idle}." if idle else ""
    return textwrap.wrap(f"{choice.question} {how}{ending}", WIDTH)


def idles(choice: Question, facts: Facts) -> str:
    """What "none of these" means, if it is an answer; else empty."""
    return meaning(choice, facts) if choice.form == SCORE and facts.get("none") else ""


def meaning(choice: Question, facts: Facts) -> str:
    """What "none of these" means."""
    return choice.helps if facts.get("help_first") else choice.none


def units(choice: Question) -> dict[str, str]:
    """The unit of each feature by its name."""
    return {feature.name: feature.unit for feature in choice.features}


def phrase(condition: Condition, names: Sequence[str], unit: Mapping[str, str]) -> str:
    """A condition with the unit of its feature."""
    name = names[condition.feature]
    sign = "<" if condition.below else ">="
    return f"{name} {sign} {number(condition.threshold)}" + (f" {unit[name]}" if unit[name] else "")


def listed(
    rules: Sequence[tuple[Rule, str]], names: Sequence[str], unit: Mapping[str, str], *, alone: bool = False
) -> list[list[str]]:
    """Numbered rules, each as wrapped lines; `alone` for rules that exclude each other, so that no `else` is needed."""
    found = []
    for place, (rule, result) in enumerate(rules, 1):
        condition = " and ".join(phrase(c, names, unit) for c in rule.conditions)
        start = ("if " if alone or place == 1 else "else if ") + condition if condition else OTHERWISE
        found.append(wrapped(f"{place:>3}. ", f"{start}  ->  {result}"))
    return found


def wrapped(start: str, text: str) -> list[str]:
    """The lines of a numbered text; features and numbers are never broken."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=start,
        subsequent_indent=INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def amount(share: float, choice: Question, facts: Facts, up: bool = False) -> str:
    """A share of the most in words: `30 % of the executors (3 of 10)`; rounded `up`, or to the nearest."""
    text = f"{100 * share:g} % of the {choice.unit or 'most'}"
    most = facts.get("most", 0)
    if isinstance(most, int) and most > 0:
        whole = np.ceil(share * most - EPSILON) if up else np.floor(share * most + 0.5)
        text += f" ({max(1, min(most, int(whole)))} of {most})"
    return text


def terms(weights: Mapping[str, float], unit: Mapping[str, str]) -> list[str]:
    """A weighted sum, one term a line."""
    lines = []
    for name, weight in weights.items():
        told = "" if name == CONSTANT else f" x {name}"
        lines.append(f"  {weight:>+14}{told}" + (f" [{unit[name]}]" if unit.get(name) else ""))
    return lines


def glossary(features: Sequence[Feature]) -> list[str]:
    """What features are, one after another."""
    width = max((len(feature.name) for feature in features), default=0) + 2
    lines = []
    for feature in features:
        unit = f" [{feature.unit}]" if feature.unit else ""
        lines += textwrap.wrap(
            feature.meaning + unit,
            WIDTH,
            initial_indent=f"  {feature.name:<{width}}",
            subsequent_indent=" " * (width + 2),
        )
    return lines
