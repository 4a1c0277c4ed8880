"""A sum of trees as scorer: what boosting fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearsched.compiled.scoring import Packed
from clearsched.compiled.trees import LEAF, pack
from clearsched.documents import is_number
from clearsched.errors import ClearschedError
from clearsched.scorers import words
from clearsched.scorers.conditions import flatten
from clearsched.scorers.pieces import each_of
from clearsched.scorers.scorer import Facts, Piece, Question, Scorer, known_column, name_list, sorted_marks

TREES_SHOWN = 3
"""Of a sum of many trees; where all of them are soon read, all are shown."""

NODES_READ = 100
"""Nodes up to which all trees are shown: boosted rules have 84 at their usual budget."""

FEW_DIGITS = 6
"""What a leaf adds is printed with all its digits if it has no more: of fitted or refined leaves, not of boosting."""


@dataclass(frozen=True)
class TreeSum(Scorer):
    """Trees whose leaves are added up.

    Attributes:
        trees: dicts of lists as `compiled.trees.pack` takes them; `gain`, what a split improved, is a note.
        names: of the columns by which the trees count.
    """

    trees: tuple[dict[str, Any], ...]
    names: tuple[str, ...]

    def pack(self, names: Sequence[str], where: str = "scorer") -> Packed:
        """Flat arrays for the loop."""
        if tuple(names) == self.names:
            return Packed(trees=pack(list(self.trees), len(names), where))
        column = {LEAF: LEAF} | {i: known_column(self.names[i], names, where) for i in self._asked}
        trees = [{**tree, "feature": [column[f] for f in tree["feature"]]} for tree in self.trees]
        return Packed(trees=pack(trees, len(names), where))

    def to_json(self) -> dict[str, Any]:
        """The trees, and the list of names by which they count."""
        return {"features": list(self.names), "trees": list(self.trees)}

    @classmethod
    def from_json(cls, value: Any, names: Sequence[str], where: str) -> TreeSum:
        """`trees`: a list of trees; `features`: the names by which they count."""
        trees = value["trees"]
        if not isinstance(trees, list) or not trees:
            raise ClearschedError(f"{where}.trees: a list of trees expected")
        if "features" not in value:
            raise ClearschedError(f"{where}: trees need a list `features` of the names that they count by")
        own = name_list(value["features"], names, where)
        for place, tree in enumerate(trees):
            check_tree(tree, len(own), f"{where}: tree {place}")
        scorer = cls(tuple(trees), own)
        scorer.pack(names, where)  # so that a broken tree is told now
        return scorer

    def render(self, choice: Question, facts: Facts) -> list[str]:
        """What the trees look at and the first of them; of a level, of small trees and where asked, all of them."""
        whole = facts.get("whole", False)
        grown = [tree for tree in self.trees if len(tree["feature"]) > 1]
        constant = sum(tree["value"][0] for tree in self.trees if len(tree["feature"]) == 1)
        count = f"{len(grown)} tree{'s' * (len(grown) != 1)}"
        if choice.form == words.SCORE:
            lines = words.heading(choice, f"The candidate with the highest sum over {count}.", facts)
            gains = ["", *self._gains(grown, choice)] if any(sum(tree.get("gain", ())) for tree in grown) else []
            few = self.complexity() > NODES_READ and not whole
            lines += [*gains, "", *self._rules(grown, choice, TREES_SHOWN if few else len(grown), whole)]
        else:
            lines = words.heading(choice, f"The sum over {count}, as a share of all, rounded.", facts)
            lines += ["", *self._rules(grown, choice, len(grown), whole)]
        return [*lines, "", f"To the sum of all trees comes {_added(constant, whole)}."] if constant else lines

    def _gains(self, trees: Sequence[dict[str, Any]], choice: Question) -> list[str]:
        """What the trees look at, by how much it improved the fit."""
        splits: Counter[int] = Counter()
        gain: Counter[int] = Counter()
        for tree in trees:
            for feature, value in zip(tree["feature"], tree.get("gain", [0.0] * len(tree["feature"])), strict=True):
                if feature != LEAF:
                    splits[feature] += 1
                    gain[feature] += value
        whole, unit = sum(gain.values()) or 1.0, words.units(choice)
        lines = [
            "What the trees look at, by how much it improved the fit:",
            "",
            f"  {'feature':<24}{'unit':<12}{'gain':>8}{'splits':>9}",
        ]
        for f in sorted(splits, key=lambda f: (-gain[f], f)):
            name = self.names[f]
            lines.append(f"  {name:<24}{unit[name] or '-':<12}{100 * gain[f] / whole:>6.1f} %{splits[f]:>9}")
        return lines

    def _rules(self, trees: Sequence[dict[str, Any]], choice: Question, shown: int, whole: bool) -> list[str]:
        """The first trees, each as rules that exclude each other."""
        lines = []
        for place, tree in enumerate(trees[:shown], 1):
            rules = [(rule, _added(rule.value, whole)) for rule in flatten([tree])]
            blocks = words.listed(rules, self.names, words.units(choice), alone=True)
            lines += [f"Tree {place} of {len(trees)} adds:", "", *(line for block in blocks for line in block), ""]
        return lines[:-1]

    def complexity(self) -> int:
        """The nodes of all trees."""
        return sum(len(tree["feature"]) for tree in self.trees)

    @property
    def used(self) -> tuple[str, ...]:
        """The features that a node asks for, in the order of the columns."""
        return tuple(self.names[i] for i in self._asked)

    def pieces(self) -> list[Piece]:
        """The trees."""
        return each_of(self, "trees", "tree")

    def is_piecewise(self, name: str, together: int = 1) -> bool:
        """Constant between thresholds."""
        return True

    def thresholds(self, name: str) -> np.ndarray:
        """Those of the nodes."""
        return sorted_marks(
            threshold
            for tree in self.trees
            for feature, threshold in zip(tree["feature"], tree["threshold"], strict=True)
            if feature != LEAF and self.names[feature] == name
        )

    def places(self) -> Counter[str]:
        """Of nodes."""
        return Counter(self.names[f] for tree in self.trees for f in tree["feature"] if f != LEAF)

    @property
    def _asked(self) -> list[int]:
        return sorted({f for tree in self.trees for f in tree["feature"] if f != LEAF})


def _added(value: float, whole: bool) -> str:
    """What comes to a sum: all its digits if they are few or asked for, else three after the point."""
    short, few = f"{value:+.3f}", f"{value:+.{FEW_DIGITS}g}"
    if float(short) == value:
        return short
    if float(few) == value:
        return few
    return f"{value:+}" if whole else short


def check_tree(tree: Any, features: int, where: str) -> None:
    """The lists that count positions hold whole numbers, and the note `gain` a number for each node.

    Raises:
        ClearschedError: they do not; all else is told by `compiled.trees.pack`.
    """
    asked = tree.get("feature") if isinstance(tree, dict) else None
    if not isinstance(asked, list) or not all(_is_whole(f) and LEAF <= f < features for f in asked):
        raise ClearschedError(f"{where}: feature: a list of {LEAF} (leaf) to {features - 1} expected")
    for name in ("left", "right"):
        child = tree.get(name)
        if isinstance(child, list) and not all(_is_whole(node) for node in child):
            raise ClearschedError(f"{where}: {name}: a list of whole numbers expected")
    gain = tree.get("gain", [0.0] * len(asked))
    if not isinstance(gain, list) or len(gain) != len(asked) or not all(map(is_number, gain)):
        raise ClearschedError(f"{where}: gain: a number for each of the {len(asked)} nodes expected")
    for name in ("threshold", "value"):
        numbers = tree.get(name)
        if isinstance(numbers, list) and not all(map(is_number, numbers)):
            raise ClearschedError(f"{where}: a threshold or value is not finite, or no number")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
