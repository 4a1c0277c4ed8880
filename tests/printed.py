"""The printed text of a policy, carried out by its words alone, as a person would: rules, points, trees and caps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clearsched.decisions.choices import Choices
from random_trees import SIGNS

NUMBER = r"[-+]?\d[\d.]*(?:e[-+]?\d+)?"
COMPARISON = re.compile(rf"(\w+) (<|>=) ({NUMBER})(?: [^\s\d]\S*)?")
SHARE = re.compile(rf"({NUMBER}) % of the executors(?: \((\d+) of (\d+)\))?")
TIMES = re.compile(rf"(?:({NUMBER}) times )?(\w+)")
WORTH = re.compile(rf"(?:one executor for each (?:({NUMBER}) )?\S+|({NUMBER}) executors for each \S+) of (\w+)")
PRODUCT = re.compile(rf"({NUMBER})((?: [x/] \w+(?:\^{NUMBER})?(?: \[\S+\])?)*) of the executors")
FACTOR = re.compile(rf"([x/]) (\w+)(?:\^({NUMBER}))?")


class Printed(NamedTuple):
    """A rule as it stands there."""

    condition: str
    result: str


@dataclass(frozen=True)
class Part:
    """What the text says of one choice.

    Attributes:
        heading: the question and how it is answered, in one line.
        listing: what follows, a line an entry.
    """

    heading: str
    listing: tuple[str, ...]

    @property
    def rules(self) -> list[Printed]:
        """The numbered ones, in their order."""
        numbered = (re.fullmatch(r" *\d+\. (.*?)\s+->\s+(.*)", line) for line in self.listing)
        return [Printed(found[1], found[2]) for found in numbered if found]

    @property
    def above_idle(self) -> int:
        """So many rules stand above the line of those who would rather idle; all of them where there is none."""
        line = next((i for i, line in enumerate(self.listing) if line.startswith("     below here:")), None)
        return len(self.rules) if line is None else line

    @property
    def ties(self) -> list[tuple[float, str]]:
        """Features by their weights: among equals the least sum of them wins."""
        told = re.search(r"among equals the one with the ([^.]+)\.", self.heading)
        if not told:
            return []
        number = re.search(r"\(the ([^)]+)\)", told[1])
        extreme, _, terms = (number or told)[1].partition(" ")
        side = 1.0 if extreme == "least" else -1.0
        found = re.findall(r"([-+]?) ?([a-z]\w*)(?: / (\d+))?", terms)
        return [(side * (-1.0 if sign == "-" else 1.0) / float(part or 1), name) for sign, name, part in found]


def parts_of(text: str, questions: Sequence[str]) -> list[Part]:
    """What a text says of each question."""
    body = text.split("\nWhat the features are\n")[0]
    found = []
    for part in re.split("|".join(map(re.escape, questions)), body)[1:]:
        heading, _, listing = part.strip().partition("\n\n")
        lines = re.sub(r"\n {8,}(?=\S)", " ", listing).splitlines()
        found.append(Part(" ".join(heading.split()), tuple(lines)))
    assert len(found) == len(questions)
    return found


def cases_of(text: str, questions: Sequence[str]) -> list[list[tuple[str, Part]]]:
    """Of the text of a switch, for each question: the condition of each case, and what the text says in it."""
    found = []
    for part in re.split("|".join(map(re.escape, questions)), text.split("\nWhat the features are\n")[0])[1:]:
        bodies = re.split(r"\n(?=\S[^\n]*:\n)", part)[1:]
        heads, bodies = zip(*(body.split(":\n\n", 1) for body in bodies), strict=True)
        own = ["? " + re.sub(r"^  ", "", body, flags=re.MULTILINE) for body in bodies]
        found.append([(head, parts_of(body, ["? "])[0]) for head, body in zip(heads, own, strict=True)])
    assert len(found) == len(questions)
    return found


@dataclass(frozen=True)
class Rows:
    """Rows of features, by name."""

    names: Sequence[str]
    features: np.ndarray  # float32[n, F]
    most: int = 0  # executors

    def column(self, name: str) -> np.ndarray:
        """float32[n]."""
        return np.asarray(self.features[:, self.names.index(name)])

    def fits(self, condition: str) -> np.ndarray:
        """bool[n]: which rows meet what stands before the arrow, or after a number of points."""
        fits, capped = np.ones(len(self.features), bool), ""
        if condition in ("otherwise", "always"):
            return fits
        for part in re.sub("^(else )?if ", "", condition).split(" and "):
            if match := COMPARISON.fullmatch(part):
                fits &= SIGNS[match[2]](self.column(match[1]), np.float32(match[3]))
                continue
            name, _, cap = part.rpartition("below ")
            capped = name.strip() or capped
            fits &= self.most * self.column(capped).astype(np.float64) < self.executors(cap)
        return fits

    def plus(self, result: str) -> np.ndarray:
        """float64[n]: what a step adds to its score."""
        value = np.zeros(len(self.features))
        for weight, name in re.findall(rf"({NUMBER}) x (\w+)", result):
            value += float(weight) * self.column(name)
        return value

    def first(self, rules: Sequence[Printed]) -> np.ndarray:
        """int64[n]: the first rule that fits each row."""
        return np.argmax([self.fits(rule.condition) for rule in rules], axis=0)

    def executors(self, term: str) -> np.ndarray:
        """float64[n]: what a term of a limit comes to."""
        if match := SHARE.fullmatch(term):
            assert not match[3] or int(match[3]) == self.most
            return np.full(len(self.features), float(match[2] or float(match[1]) / 100 * self.most))
        if match := WORTH.fullmatch(term):
            each = float(match[2]) if match[2] else 1 / float(match[1] or 1)
            return each * self.column(match[3]).astype(np.float64)
        if match := TIMES.fullmatch(term):
            return self.most * float(match[1] or 1) * self.column(match[2]).astype(np.float64)
        match = PRODUCT.fullmatch(term)
        assert match, term
        value = np.full(len(self.features), self.most * float(match[1]))
        for sign, name, power in FACTOR.findall(match[2]):
            value *= self.column(name).astype(np.float64) ** (float(power or 1) * (1 if sign == "x" else -1))
        return value

    def least(self, terms: str) -> np.ndarray:
        """float64[n]: the least of the terms that `and` joins."""
        return np.min([self.executors(term) for term in terms.split(" and ")], axis=0)


def of_first(values: Sequence[np.ndarray], part: Part, rows: Rows) -> np.ndarray:
    """float64[n]: of the values, float64[n] for each rule, that of the first rule that fits."""
    return np.array(values)[rows.first(part.rules), np.arange(len(rows.features))]


def sums(part: Part, rows: Rows) -> np.ndarray:
    """float64[n]: the score of each row by rules, points or trees."""
    if part.heading.startswith("The most points win"):
        entries = [line.split(maxsplit=1) for line in part.listing]
        return np.sum([float(points) * rows.fits(condition) for points, condition in entries], axis=0)
    if part.rules[0].result.startswith("score"):
        scores = [re.match(rf"score ({NUMBER})", rule.result) for rule in part.rules]
        values = [
            float(found[1]) + rows.plus(rule.result) for found, rule in zip(scores, part.rules, strict=True) if found
        ]
        return of_first(values, part, rows)
    found = np.sum([float(rule.result) * rows.fits(rule.condition) for rule in part.rules], axis=0)
    for line in part.listing:
        if line.startswith("To the sum of all trees comes "):
            found += float(line.split()[-1].rstrip("."))
    return found


def chosen(part: Part, choices: Choices, names: Sequence[str], most: int = 0) -> np.ndarray:
    """int64[d]: the row that the text chooses; to idle is the last row of some decisions."""
    rows = Rows(names, np.where(choices.is_none[:, None], np.float32(1), choices.features), most)
    scores = sums(part, rows)
    listed = any(line.startswith("     below here:") for line in part.listing)
    listed_one_by_one = any(re.match(rf"score {NUMBER}.*: ", rule.result) for rule in part.rules)
    not_idle = "not above 0" not in part.heading and not listed_one_by_one
    busy = rows.first(part.rules) < part.above_idle if listed else (scores > 0) | not_idle
    scores[choices.is_none] = -np.inf
    among = np.zeros(len(scores))
    for weight, name in part.ties:
        among += weight * rows.column(name).astype(np.float64)
    order = np.lexsort((np.arange(len(scores)), among, -scores, choices.owner))
    best: np.ndarray = order[choices.starts[:-1]]
    last = choices.starts[1:] - 1
    return np.where(choices.is_none[last] & ~busy[best], last, best)


def level_of(rule: Printed) -> str:
    """The terms of a limit: those under which a row must be, where the rule says "up to that"."""
    if rule.result != "up to that":
        return rule.result
    return " and ".join(part.rpartition("below ")[2] for part in rule.condition.split(" and ") if "below " in part)


def limits(part: Part, rows: Rows) -> np.ndarray:
    """int64[n]: the executors that the text gives the job of each row, one at least."""
    if part.rules:
        told = of_first([rows.least(level_of(rule)) for rule in part.rules], part, rows)
    else:
        wanted = (re.sub("^(and )?at most ", "", line.strip()).rstrip(",.") for line in part.listing)
        told = np.min([rows.executors(term) for term in wanted], axis=0)
    up = "rounded up" in part.heading
    # A whole number is one whatever its last bit says.
    return np.clip(np.ceil(told - 1e-9) if up else np.floor(told + 0.5), 1, rows.most).astype(np.int64)
