"""A policy as code sees it: tests, products, cases and trees, in the order of the printed rules.

Between the scorers, which know the simulator's loop, and the writers of a language, which know its syntax. All numbers
are those that run: thresholds are float32, everything else is float64, and sums are made in the order of the loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from clearsched.compiled.feature import Feature


class Test(NamedTuple):
    """`name < threshold` if below, else `name >= threshold`, as float32."""

    name: str
    below: bool
    threshold: float  # exactly a float32


class Product(NamedTuple):
    """times x name^power x ..., from left to right."""

    times: float
    powers: tuple[tuple[str, float], ...]


class Amount(NamedTuple):
    """weight x name, or with a scale above 0 weight x sign(name) log(1 + |name| / scale)."""

    name: str
    weight: float
    scale: float = 0.0


class Value(NamedTuple):
    """A number, or the least of some products, and then what is added to it, one after another."""

    start: float | tuple[Product, ...]
    plus: tuple[Amount, ...] = ()


class Cap(NamedTuple):
    """`of` must be below the least of the products."""

    of: str
    terms: tuple[Product, ...]


class Case(NamedTuple):
    """A row that meets the tests and is below the cap has the value, if no earlier case took it."""

    name: str  # "rule 2"
    told: tuple[str, ...]  # the printed lines
    tests: tuple[Test, ...]
    value: Value
    cap: Cap | None = None


@dataclass(frozen=True)
class Cases:
    """The first case that fits gives the score; the last has neither tests nor cap."""

    told: tuple[str, ...]
    cases: tuple[Case, ...]


class Entry(NamedTuple):
    """What is added to the score of a row that meets the tests."""

    told: tuple[str, ...]
    tests: tuple[Test, ...]
    add: float


@dataclass(frozen=True)
class Points:
    """The sum of all entries whose tests a row meets, and then the value of `order`."""

    told: tuple[str, ...]
    name: str
    entries: tuple[Entry, ...]
    order: Value | None = None


@dataclass(frozen=True)
class Node:
    """A question of a tree."""

    test: Test  # always below
    low: Tree
    high: Tree


Tree: TypeAlias = Node | float


@dataclass(frozen=True)
class Trees:
    """The sum of all trees, from the first to the last."""

    told: tuple[str, ...]
    name: str
    trees: tuple[Tree, ...]


@dataclass(frozen=True)
class Least:
    """The least of some products; the first of equals tells the name."""

    told: tuple[str, ...]
    names: tuple[str, ...]  # of each product
    texts: tuple[str, ...]  # as printed
    terms: tuple[Product, ...]


class Way(NamedTuple):
    """A scorer, and when it answers."""

    told: tuple[str, ...]
    test: Test | None  # None: otherwise
    part: Part


@dataclass(frozen=True)
class Switched:
    """The first way whose test holds answers; the last has none."""

    told: tuple[str, ...]
    ways: tuple[Way, ...]


Part: TypeAlias = Cases | Points | Trees | Least | Switched
"""What scores one choice."""

FIRST, LAST, IDLE = "first", "last", "idle"
"""What an order does to a row that meets its tests: before all others, after them, after "none of these" too."""


class Order(NamedTuple):
    """A patch that orders candidates."""

    told: tuple[str, ...]
    tests: tuple[Test, ...]
    action: str


class Bound(NamedTuple):
    """A patch that bounds the share."""

    told: tuple[str, ...]
    tests: tuple[Test, ...]
    share: float


class Gauged(NamedTuple):
    """A number that a guard watches: between which values its heuristic takes over and hands back."""

    name: str
    meaning: str  # with its unit
    above: float
    until: float


class Guarding(NamedTuple):
    """Who takes over from the rules, and when; whoever runs them reads the gauges and has that heuristic."""

    told: str  # "When the backlog is above 310 s, fair schedules until the backlog is at most 155 s."
    gauges: tuple[Gauged, ...]


@dataclass(frozen=True)
class Program:
    """A policy.

    Attributes:
        title: "Searched stay_and_move of DAG jobs".
        question: of the rank choice, in words.
        features: those that it asks for, in the order of the problem's columns.
        rank: scores candidates.
        none: whether the scores themselves may answer "none of these".
        may_idle: whether they or a patch may.
        idle: what "none of these" means, in words.
        orders, ordered: patches on the candidates, and the text above them.
        level: the share of the most that the chosen candidate gets; None: the problem asks for none.
        up: whether a level is rounded up.
        bounds: patches on the level.
        most: the largest level that the file tells; 0: it does not.
        unit: what a level counts.
        names: of the choices: rank and level.
        guard: what takes over; None: nothing does.
    """

    title: str
    question: str
    features: tuple[Feature, ...]
    rank: Part
    none: bool
    may_idle: bool
    idle: str
    orders: tuple[Order, ...] = ()
    ordered: tuple[str, ...] = ()
    level: Part | None = None
    up: bool = False
    bounds: tuple[Bound, ...] = ()
    most: int = 0
    unit: str = ""
    names: tuple[str, str] = ("candidate", "level")
    guard: Guarding | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """What scores its choices."""
        return (self.rank, self.level) if self.level else (self.rank,)


def values_of(part: Part) -> Iterator[Value]:
    """All values of a part, in order."""
    if isinstance(part, Cases):
        yield from (case.value for case in part.cases)
    elif isinstance(part, Points) and part.order:
        yield part.order
    elif isinstance(part, Switched):
        for way in part.ways:
            yield from values_of(way.part)


def leasts_of(part: Part) -> Iterator[tuple[Product, ...]]:
    """All lists of products of which the least is taken."""
    if isinstance(part, Cases):
        yield from (case.cap.terms for case in part.cases if case.cap)
    elif isinstance(part, Least):
        yield part.terms
    elif isinstance(part, Switched):
        for way in part.ways:
            yield from leasts_of(way.part)
    yield from (value.start for value in values_of(part) if isinstance(value.start, tuple))


def uses_power(program: Program) -> bool:
    """Whether a product has a power that is not 1."""
    leasts = [least for part in program.parts for least in leasts_of(part)]
    return any(power != 1.0 for least in leasts for term in least for _, power in term.powers)


def uses_log(program: Program) -> bool:
    """Whether a logarithm is added somewhere."""
    return any(amount.scale for part in program.parts for value in values_of(part) for amount in value.plus)


def uses_least(program: Program) -> bool:
    """Whether the least of some products is taken."""
    return any(True for part in program.parts for _ in leasts_of(part))
