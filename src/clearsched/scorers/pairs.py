"""A forest over pairs as scorer: each candidate is held against the others of its decision, and its wins are counted.

The wins are those of a Borda count whose votes are shares. Source of the form: S. Zhang et al., Multi-level explanation
of deep reinforcement learning-based scheduling, arXiv 2209.09645.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from clearsched.compiled.pairs import DIFFERENCE, OTHER, OWN
from clearsched.compiled.scoring import Packed
from clearsched.compiled.trees import LEAF, pack
from clearsched.errors import ClearschedError
from clearsched.scorers import words
from clearsched.scorers.conditions import flatten
from clearsched.scorers.pieces import each_of
from clearsched.scorers.scorer import Facts, Piece, Question, Scorer, known_column
from clearsched.scorers.trees import check_tree

Tree = dict[str, Any]

WORDS = {OTHER: "other ", DIFFERENCE: "difference "}
"""Before the name of a feature in a file; that of the candidate itself stands alone."""

TOLD = {OWN: "{}", OTHER: "{} of the other", DIFFERENCE: "{} less that of the other"}
"""In the text."""

TREES_SHOWN, LEVELS_SHOWN = 2, 2
"""Of a forest, which nobody reads as a whole: its first trees, and the first questions of each."""

OPPONENTS = 32
"""Others that a candidate is held against, unless a file says how many."""


MOST_OPPONENTS = 1_000_000
"""That a file may say: more candidates than any decision has."""


class Column(NamedTuple):
    """What a node asks for."""

    asks: int  # OWN, OTHER or DIFFERENCE
    name: str  # of the feature

    def __str__(self) -> str:
        return WORDS.get(self.asks, "") + self.name


@dataclass(frozen=True)
class PairForest(Scorer):
    """Trees that tell of a candidate and another one how likely the first is the better choice.

    Attributes:
        pairs: dicts of lists as `compiled.trees.pack` takes them; `value` is the share of the pairs that come to a node
            in which the first is better, at all nodes; `gain`, what a split told, is a note.
        columns: by which the trees count.
        against_none: trees that tell of a single candidate whether it is better than "none of these"; may be empty.
        opponents: others of a decision that each candidate is held against, at most.
    """

    pairs: tuple[Tree, ...]
    columns: tuple[Column, ...]
    against_none: tuple[Tree, ...] = ()
    opponents: int = OPPONENTS

    relative: ClassVar[bool] = True

    def pack(self, names: Sequence[str], where: str = "scorer") -> Packed:
        """Flat arrays for the loop: a pair that is surely won counts 1, and one that is surely lost -1."""
        place = {LEAF: LEAF} | {
            f: self.columns[f].asks * len(names) + known_column(self.columns[f].name, names, where) for f in self._asked
        }
        # The two ways round that a pair is asked add up; against none there is one.
        trees = [_counting(tree, place, 1.0 / len(self.pairs)) for tree in self.pairs]
        trees += [_counting(tree, place, 2.0 / len(self.against_none)) for tree in self.against_none]
        packed = pack(trees, (DIFFERENCE + 1) * len(names), where)
        return Packed(trees=packed, pairs=len(self.pairs), opponents=self.opponents)

    def to_json(self) -> dict[str, Any]:
        """The trees, and by which columns they count."""
        found: dict[str, Any] = {"opponents": self.opponents, "features": list(map(str, self.columns))}
        found |= {"against_none": list(self.against_none)} if self.against_none else {}
        return found | {"pairs": list(self.pairs)}

    @classmethod
    def from_json(cls, value: Any, names: Sequence[str], where: str) -> PairForest:
        """`pairs`, and it may have `against_none`: lists of trees; `features`: by which they count; `opponents`."""
        columns = _columns(value.get("features"), names, where)
        opponents = value.get("opponents", OPPONENTS)
        if isinstance(opponents, bool) or not isinstance(opponents, int) or not 1 <= opponents <= MOST_OPPONENTS:
            raise ClearschedError(f"{where}.opponents: a whole number from 1 to {MOST_OPPONENTS:,} expected")
        against_none = value.get("against_none", [])
        forest = {"pairs": value["pairs"], "against_none": against_none}
        for key, trees in forest.items():
            _check_trees(trees, len(columns), f"{where}.{key}")
        if not value["pairs"]:
            raise ClearschedError(f"{where}.pairs: a list of trees expected")
        scorer = cls(tuple(value["pairs"]), columns, tuple(against_none), opponents)
        scorer.pack(names, where)  # so that a broken tree is told now
        return scorer

    def check(self, choice: Question, where: str) -> None:
        """It compares candidates, which a choice of a level has none of."""
        if choice.form != words.SCORE:
            raise ClearschedError(f"{where}: pairs: they compare candidates, and this choice has none: use trees")

    def render(self, choice: Question, facts: Facts) -> list[str]:
        """What it asks for, how large it is, and the first questions of its first trees; all of it is in the JSON."""
        grown = self.pairs
        how = (
            f"Each candidate is held against {self.opponents} others at most: {_count(len(grown), 'tree')} tell how "
            "likely it is the better choice. The one that wins most, all of them together, is chosen."
        )
        leaves = sum(feature == LEAF for tree in grown for feature in tree["feature"])
        lines = [
            *words.heading(choice, how, facts),
            "",
            f"{_count(leaves, 'leaf', 'leaves')} are not for reading: the file has them all. What the trees ask for:",
            "",
            *self._asked_lines(choice),
        ]
        if facts.get("whole"):
            return [*lines, *self._all_lines(choice)]
        for place, tree in enumerate(grown[:TREES_SHOWN], 1):
            lines += ["", f"Tree {place} of {len(grown)} begins with:", "", *self._beginning(tree, choice)]
        if self.against_none and words.idles(choice, facts):
            lines += ["", "Whether a candidate is better than none; the first tree begins with:", ""]
            lines += self._beginning(self.against_none[0], choice)
        return lines

    def _all_lines(self, choice: Question) -> list[str]:
        """Every tree."""
        lines = []
        for what, trees in (("says", self.pairs), ("against none says", self.against_none)):
            for place, tree in enumerate(trees, 1):
                lines += ["", f"Tree {place} of {len(trees)} {what}:", "", *self._ways(tree, choice, ".6g")]
        return lines

    def _asked_lines(self, choice: Question) -> list[str]:
        """A line a feature: what its splits told, and how many ask for it in which way."""
        splits: Counter[Column] = Counter()
        gain: Counter[str] = Counter()
        for tree in self._trees():
            for f, value in zip(tree["feature"], tree.get("gain", [0.0] * len(tree["feature"])), strict=True):
                if f != LEAF:
                    splits[self.columns[f]] += 1
                    gain[self.columns[f].name] += value
        whole, unit = sum(gain.values()) or 1.0, words.units(choice)
        lines = [f"  {'feature':<24}{'unit':<12}{'told':>8}{'own':>8}{'other':>8}{'difference':>12}"]
        for name in sorted(gain, key=lambda name: (-gain[name], name)):
            own, other, difference = (splits[Column(asks, name)] for asks in (OWN, OTHER, DIFFERENCE))
            told = f"{100 * gain[name] / whole:.1f} %"
            lines.append(f"  {name:<24}{unit[name] or '-':<12}{told:>8}{own:>8}{other:>8}{difference:>12}")
        return lines

    def _beginning(self, tree: Tree, choice: Question) -> list[str]:
        """The first questions of a tree as rules that exclude each other."""
        return self._ways(_cut(tree, LEVELS_SHOWN), choice, ".0f")

    def _ways(self, tree: Tree, choice: Question, share: str) -> list[str]:
        """A tree as rules that exclude each other; `share`: the format of a percentage."""
        labels = [TOLD[column.asks].format(column.name) for column in self.columns]
        unit = {label: words.units(choice)[column.name] for label, column in zip(labels, self.columns, strict=True)}
        rules = [(rule, f"better in {100 * rule.value:{share}} %") for rule in flatten([tree])]
        return [line for block in words.listed(rules, labels, unit, alone=True) for line in block]

    def complexity(self) -> int:
        """The nodes of all trees."""
        return sum(len(tree["feature"]) for tree in self._trees())

    @property
    def used(self) -> tuple[str, ...]:
        """The features that a node asks for, each once, in the order of the columns."""
        return tuple(dict.fromkeys(self.columns[f].name for f in self._asked))

    def pieces(self) -> list[Piece]:
        """The trees over pairs."""
        return each_of(self, "pairs", "tree")

    def places(self) -> Counter[str]:
        """Of nodes."""
        return Counter(self.columns[f].name for tree in self._trees() for f in tree["feature"] if f != LEAF)

    def share(self, first: np.ndarray, second: np.ndarray, names: Sequence[str]) -> float:
        """How likely the first of two rows float32[F] is the better choice, as the trees have it, 0 to 1."""
        alone = replace(self, against_none=())
        return 0.5 + 0.5 * float(alone.scores(np.stack([first, second]), names)[0])

    def _trees(self) -> Iterator[Tree]:
        yield from (*self.pairs, *self.against_none)

    @property
    def _asked(self) -> list[int]:
        return sorted({f for tree in self._trees() for f in tree["feature"] if f != LEAF})


def _counting(tree: Tree, place: dict[int, int], weight: float) -> Tree:
    """A tree by the columns of the loop, whose leaves are wins and losses."""
    value = [weight * (share - 0.5) for share in tree["value"]]
    return {**tree, "feature": [place[f] for f in tree["feature"]], "value": value}


def _cut(tree: Tree, levels: int) -> Tree:
    """The first questions of a tree."""
    depth = [0] * len(tree["feature"])
    feature = list(tree["feature"])
    for node, asked in enumerate(tree["feature"]):
        if asked != LEAF:
            depth[tree["left"][node]] = depth[tree["right"][node]] = depth[node] + 1
        if depth[node] >= levels:
            feature[node] = LEAF
    return {**tree, "feature": feature}


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _columns(value: Any, names: Sequence[str], where: str) -> tuple[Column, ...]:
    """What the trees of a file count by.

    Raises:
        ClearschedError: no list of texts, or an unknown feature.
    """
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ClearschedError(f"{where}: pairs need a list `features` of the names that the trees count by")
    found = []
    for text in value:
        asks = next((asks for asks, word in WORDS.items() if text.startswith(word)), OWN)
        name = text.removeprefix(WORDS.get(asks, ""))
        known_column(name, names, f"{where}.features")
        found.append(Column(asks, name))
    return tuple(found)


def _check_trees(trees: Any, columns: int, where: str) -> None:
    """What `compiled.trees.pack` does not check.

    Raises:
        ClearschedError: no list of trees, a node that asks for no column, or a value that is no share.
    """
    if not isinstance(trees, list):
        raise ClearschedError(f"{where}: a list of trees expected")
    for place, tree in enumerate(trees):
        check_tree(tree, columns, f"{where}: tree {place}")
        value = tree.get("value")
        if not isinstance(value, list) or not all(0 <= v <= 1 for v in value):
            raise ClearschedError(f"{where}: tree {place}: value: a list of shares from 0 to 1 expected")
