"""Statements in the syntax of a language: what languages differ in are a few words, told by a `Dialect`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from clearsched.export.program import Amount, Product, Test
from clearsched.export.statements import (
    Add,
    Ask,
    Block,
    Comment,
    Double,
    If,
    Let,
    Put,
    Return,
    Say,
    Statement,
    Text,
    Under,
)
from clearsched.scorers.conditions import number

WIDTH = 108
"""Columns of the code."""

INDENT = "    "


def exact(threshold: float) -> str:
    """A float32 as a decimal for a language whose numbers are float64.

    The decimal that is printed for a reader is taken where float32 numbers are the same sides of both: where it lies
    above the float32 before the threshold, and not above the threshold.
    """
    whole = np.float32(threshold)
    told = shortest(threshold)
    before = float(np.nextafter(whole, np.float32(-np.inf)))
    return told if before < float(told) <= float(whole) else repr(float(whole))


def shortest(threshold: float) -> str:
    """The shortest decimal that is the same float32, with a point or an exponent."""
    told = number(threshold)
    if "e" in told:
        mantissa, _, exponent = told.partition("e")
        return f"{mantissa.rstrip('.')}e{exponent}"
    return told if "." in told else f"{told}.0"


@dataclass(frozen=True)
class Dialect:
    """What the writers of a language fill in; `{}` stands for what comes there.

    Attributes:
        comment: how a comment begins.
        both: joins what must hold.
        feature: a feature of the candidate, by its name in the language.
        threshold: the literal of a float32.
        start: of a condition, and what opens its block.
        long: the same where the condition takes several lines: what stands above it, and below.
        end: of a block; empty: indentation ends it.
        otherwise: between the blocks of what holds and what does not.
        block: what opens a block of its own; empty: the language needs none, since variables are not of a block.
        number: declares a variable that is a number.
        text: declares a variable that is a text.
        put: gives a variable another value.
        add: a variable, a sign, and what is added or taken away.
        once: gives a variable a text where it has none.
        stop: of a statement: ";" or nothing.
        returns: the score and the text.
        power, log: calls of helpers: sign(x) log(1 + |x| / scale).
        least: the least of some products, by how many they are and their texts.
        names: the name of each feature in the language, where it is another one.
    """

    comment: str
    both: str
    feature: str
    threshold: Callable[[float], str]
    start: str
    long: tuple[str, str]
    end: str
    otherwise: str
    block: str
    number: str
    text: str
    put: str
    add: str
    once: str
    stop: str
    returns: str
    least: Callable[[Sequence[str]], str]
    power: str = "power({}, {})"
    log: str = "log_of({}, {})"
    units: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def lines(self, statements: Iterable[Statement], depth: int) -> list[str]:
        """Code, indented."""
        return [line for statement in statements for line in self._of(statement, INDENT * depth, depth)]

    def told(self, lines: Iterable[str], indent: str) -> list[str]:
        """A comment."""
        return [f"{indent}{self.comment} {line}".rstrip() for line in lines]

    def column(self, name: str) -> str:
        """A feature of the candidate."""
        return self.feature.format(self.names.get(name, name))

    def _of(self, statement: Statement, indent: str, depth: int) -> list[str]:
        if isinstance(statement, Comment):
            return self.told(statement.lines, indent)
        if isinstance(statement, If):
            return self._if(statement, indent, depth)
        if isinstance(statement, Block):
            if not self.block:
                return self.lines(statement.body, depth)
            return [indent + self.block, *self.lines(statement.body, depth + 1), indent + self.end]
        if isinstance(statement, Add):
            return self._add(statement, indent)
        return _wrapped(f"{indent}{self._simple(statement)}{self.stop}", indent)

    def _simple(self, statement: Let | Text | Put | Say | Double | Return | Statement) -> str:
        """A statement of one line."""
        if isinstance(statement, Let):
            return self.number.format(statement.variable, self._value(statement.value))
        if isinstance(statement, Text):
            return self.text.format(statement.variable, f'"{statement.value}"')
        if isinstance(statement, Put):
            return self.put.format(statement.variable, self._value(statement.value))
        if isinstance(statement, Say):
            how = self.once if statement.once else self.put
            return how.format(statement.variable, f'"{statement.value}"')
        if isinstance(statement, Double):
            return self.put.format(statement.variable, f"2.0 * {statement.variable}")
        assert isinstance(statement, Return)
        rule = statement.rule if statement.is_variable else f'"{statement.rule}"'
        return self.returns.format(self._value(statement.value), rule)

    def _value(self, value: float | str | tuple[Product, ...]) -> str:
        if isinstance(value, tuple):
            return self.least([self._product(term) for term in value])
        return value if isinstance(value, str) else repr(float(value))

    def _product(self, term: Product) -> str:
        """From left to right, so that a language rounds as the loop does; the coefficient makes it float64."""
        factors = [
            self.column(name) if power == 1.0 else self.power.format(self.column(name), repr(power))
            for name, power in term.powers
        ]
        return " * ".join([repr(term.times), *factors])

    def _add(self, statement: Add, indent: str) -> list[str]:
        amount, note = statement.amount, ""
        if isinstance(amount, Amount):
            value, note = self.column(amount.name), self.units.get(amount.name, "")
            if amount.scale:
                value = self.log.format(value, repr(amount.scale))
            told = f"{amount.weight!r} * {value}"
        else:
            told = amount if isinstance(amount, str) else repr(float(amount))
        sign, told = ("-", told[1:]) if told.startswith("-") else ("+", told)
        return [f"{indent}{self.add.format(statement.variable, sign, told)}{self.stop}{self._note(note)}"]

    def _note(self, text: str) -> str:
        """A comment at the end of a line."""
        return f"  {self.comment} {text}" if text else ""

    def _if(self, statement: If, indent: str, depth: int) -> list[str]:
        asks = [self._ask(ask) for ask in statement.asks]
        lines = [f"{indent}{self.start.format(self.both.join(asks))}{self._note(self._unit_of(statement.asks))}"]
        if len(lines[0]) > WIDTH:
            joined = [asks[0], *(f"{self.both.lstrip()}{ask}" for ask in asks[1:])]
            notes = [self._note(self._unit_of([ask])) for ask in statement.asks]
            inner = [f"{indent}{INDENT * 2}{ask}{note}" for ask, note in zip(joined, notes, strict=True)]
            lines = [indent + self.long[0], *inner, indent + self.long[1]]
        lines += self.lines(statement.then, depth + 1)
        if statement.otherwise:
            lines += [indent + self.otherwise, *self.lines(statement.otherwise, depth + 1)]
        return lines + ([indent + self.end] if self.end else [])

    def _unit_of(self, asks: Sequence[Ask]) -> str:
        """What a condition that stands alone is told besides: the number as it is printed, and its unit."""
        if len(asks) != 1 or not isinstance(asks[0], Test):
            return ""
        ask, unit = asks[0], self.units.get(asks[0].name, "")
        told = number(ask.threshold)
        same = self.threshold(ask.threshold).rstrip("f") in (told, shortest(ask.threshold))
        return unit if same else f"{told} {unit}".rstrip()

    def _ask(self, ask: Ask) -> str:
        if isinstance(ask, Test):
            return f"{self.column(ask.name)} {'<' if ask.below else '>='} {self.threshold(ask.threshold)}"
        if isinstance(ask, Under):
            return f"{self.column(ask.name)} < {ask.variable}"
        return f"{ask.variable} {ask.sign} {self._value(ask.other)}"


def _wrapped(line: str, indent: str) -> list[str]:
    """A long line of code, broken before a ` * ` or after a comma, the rest indented twice."""
    found, rest = [], line
    while len(rest) > WIDTH:
        start = len(indent) + len(INDENT) * 3
        place = max(rest.rfind(" * ", start, WIDTH), rest.rfind(", ", start, WIDTH) + 1)
        if place <= 0:
            break
        found.append(rest[:place].rstrip())
        rest = f"{indent}{INDENT * 2}{rest[place:].lstrip()}"
    return [*found, rest]
