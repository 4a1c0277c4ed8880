"""The rules of a part as statements that every language has: tests, sums and returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from clearsched.export.program import (
    FIRST,
    IDLE,
    Amount,
    Bound,
    Case,
    Cases,
    Least,
    Node,
    Order,
    Part,
    Points,
    Product,
    Switched,
    Test,
    Tree,
    Trees,
    Value,
)

SCORE, RULE, CAP, SHARE, PLACE, BEHIND, PATCH = "score", "rule", "cap", "share", "place", "behind", "patch"
"""Names of variables."""


class Under(NamedTuple):
    """Whether a feature is below a variable."""

    name: str
    variable: str


class Compared(NamedTuple):
    """Whether a variable is below another one, or at most a number."""

    variable: str
    sign: str  # "<" or "<="
    other: str | float


Ask: TypeAlias = Test | Under | Compared


class Comment(NamedTuple):
    """Lines for a reader."""

    lines: tuple[str, ...]


class Let(NamedTuple):
    """A new variable."""

    variable: str
    value: float | str | tuple[Product, ...]  # a number, another variable, or the least of some products


class Text(NamedTuple):
    """A new variable that holds a text."""

    variable: str
    value: str


class Put(NamedTuple):
    """Another value of a variable."""

    variable: str
    value: str | float  # another variable or a number


class Say(NamedTuple):
    """Another text of a variable; if `once`, only where it has none."""

    variable: str
    value: str
    once: bool = False


class Add(NamedTuple):
    """A number or an amount, added to a variable."""

    variable: str
    amount: float | Amount | str


class Double(NamedTuple):
    """A variable times 2."""

    variable: str


class If(NamedTuple):
    """Statements that run if all asks hold, and those that run if not."""

    asks: tuple[Ask, ...]
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


class Block(NamedTuple):
    """Statements with variables of their own."""

    body: tuple[Statement, ...]


class Return(NamedTuple):
    """The score, and the text that names what gave it: one of its own, or that of a variable."""

    value: str | float
    rule: str
    is_variable: bool = False


Statement: TypeAlias = Comment | Let | Text | Put | Say | Add | Double | If | Block | Return


def body_of(part: Part) -> list[Statement]:
    """What a function does that is given a candidate, and answers with its score and what gave it."""
    return list(_body(part, ""))


def _body(part: Part, before: str) -> Iterator[Statement]:
    """`before`: of the names of the rules."""
    if isinstance(part, Cases):
        for case in part.cases:
            yield from _case(case, before)
    elif isinstance(part, Points):
        yield from _points(part, before)
    elif isinstance(part, Trees):
        yield from _trees(part, before)
    elif isinstance(part, Least):
        yield from _least(part, before)
    else:
        yield from _switched(part, before)


def _case(case: Case, before: str) -> Iterator[Statement]:
    """A case: its printed lines, then its tests, its cap and its value."""
    if case.told:
        yield Comment(case.told)
    inner = _returned(case.value, case.cap is not None, before + case.name)
    if case.cap is not None:
        inner = [Let(CAP, case.cap.terms), If((Under(case.cap.of, CAP),), tuple(inner))]
    if case.tests:
        yield If(case.tests, tuple(inner))
    elif case.cap is not None:
        yield Block(tuple(inner))
    else:
        yield from inner


def _returned(value: Value, has_cap: bool, name: str) -> list[Statement]:
    """A value, returned; where the cap is the value it has been computed already."""
    start: float | str | tuple[Product, ...] = value.start
    if isinstance(start, tuple) and has_cap:
        start = CAP
    if not value.plus and not isinstance(start, tuple):
        return [Return(start, name)]
    return [Let(SCORE, start), *(Add(SCORE, amount) for amount in value.plus), Return(SCORE, name)]


def _points(part: Points, before: str) -> Iterator[Statement]:
    yield Let(SCORE, 0.0)
    for entry in part.entries:
        yield Comment(entry.told)
        yield If(entry.tests, (Add(SCORE, entry.add),)) if entry.tests else Add(SCORE, entry.add)
    if part.order:
        yield Comment(("among equals:",))
        assert not isinstance(part.order.start, tuple)
        yield Let("ties", part.order.start)
        yield from (Add("ties", amount) for amount in part.order.plus)
        yield Add(SCORE, "ties")
    yield Return(SCORE, before + part.name)


def _trees(part: Trees, before: str) -> Iterator[Statement]:
    yield Let(SCORE, 0.0)
    for place, tree in enumerate(part.trees, 1):
        yield Comment((f"tree {place} of {len(part.trees)}",))
        yield _grown(tree)
    yield Return(SCORE, before + part.name)


def trees_of(part: Trees) -> list[list[Statement]]:
    """What each tree adds to the score, for a language in which it is a function of its own."""
    return [[_grown(tree)] for tree in part.trees]


def _grown(tree: Tree) -> Statement:
    """A tree that adds the leaf that a candidate comes to."""
    if isinstance(tree, Node):
        return If((tree.test,), (_grown(tree.low),), (_grown(tree.high),))
    return Add(SCORE, tree)


def _least(part: Least, before: str) -> Iterator[Statement]:
    for place, (name, text, term) in enumerate(zip(part.names, part.texts, part.terms, strict=True)):
        yield Comment((text,))
        if place == 0:
            yield Let(CAP, (term,))
            yield Text(RULE, before + name)
        else:
            product = f"{CAP}_{place + 1}"
            yield Let(product, (term,))
            yield If((Compared(product, "<", CAP),), (Put(CAP, product), Say(RULE, before + name)))
    yield Return(CAP, RULE, True)


def _switched(part: Switched, before: str) -> Iterator[Statement]:
    for place, way in enumerate(part.ways, 1):
        yield Comment((*way.told, *way.part.told))
        inner = tuple(_body(way.part, f"{before}case {place}: "))
        yield If((way.test,), inner) if way.test else Block(inner)


def placing(orders: Sequence[Order], none: bool) -> list[Statement]:
    """What a function does that is given a candidate with its score: its place among all, and the patch that it meets.

    The higher place comes first; below 0, "none of these" comes before it (`compiled.patches.place_of`).
    """
    behind = float(2 ** len(orders))
    body: list[Statement] = [Let(PLACE, 0.0), Let(BEHIND, 0.0), Text(PATCH, "")]
    if none:
        body += [
            Comment(("not above 0: none of these is better",)),
            If((Compared(SCORE, "<=", 0.0),), (Put(BEHIND, behind),)),
        ]
    for order in orders:
        name = order.told[0].partition(".")[0]
        met: list[Statement] = [Add(PLACE, 1.0 if order.action == FIRST else -1.0), Say(PATCH, name, once=True)]
        met += [Put(BEHIND, behind)] if order.action == IDLE else []
        body += [Comment(order.told), Double(PLACE)]
        body += [] if order.action == FIRST else [Add(PLACE, 1.0)]
        body += [If(order.tests, tuple(met))] if order.tests else met
    return [*body, Add(PLACE, f"-{BEHIND}"), Return(PLACE, PATCH, True)]


def bounding(bounds: Sequence[Bound]) -> list[Statement]:
    """What a function does that is given a candidate with its share: the share that is left, and what gave it."""
    body: list[Statement] = []
    for bound in bounds:
        name = bound.told[0].partition(".")[0]
        lowered = (Put(SHARE, bound.share), Say(RULE, name))
        body += [Comment(bound.told), If((*bound.tests, Compared(str(bound.share), "<", SHARE)), lowered)]
    return [*body, Return(SHARE, RULE, True)]
