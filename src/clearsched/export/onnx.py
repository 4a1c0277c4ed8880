"""A student as an ONNX graph: trees as a tree ensemble, all else as comparisons and sums, a column at a time.

The graph takes float32[N, F], the features in the order that its metadata tell, and answers with the candidate, -1 for
none of these, and its limit. Comparisons are of float32 and sums of float64, as in the simulator's loop; logarithms and
powers are those of the runtime, whose last digit may be another one. What gave a score is not told, and features must
be finite numbers: a graph raises no errors.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.export.program import Cases, Least, Node, Part, Points, Product, Program, Test, Tree, Trees, Value
from clearsched.export.source import Source
from clearsched.onnx_graph import OnnxGraph

TREE_OPSET = 5
"""Of the operators for trees."""

SUM, BELOW, PLAIN = 1, 1, 0
"""Of a tree ensemble: leaves are added; a node asks whether a value is less; nothing is done to the sum."""


def write(source: Source) -> bytes:
    """The graph.

    Raises:
        ClearschedError: the package `onnx` is not installed, or the student has patches.
    """
    program = source.unguarded
    graph = Graph(program)
    if program.orders or program.bounds:
        raise ClearschedError(
            f"{source.path}: patches cannot be exported to ONNX: export to another language, or take out `patches`"
        )
    graph.decide()
    names = [feature.name for feature in program.features]
    return graph.model(
        source.policy.name,
        [*source.header(), "", *source.features()],
        {"features": json.dumps(names), "units": json.dumps(source.units)},
        {"ai.onnx.ml": TREE_OPSET},
    )


class Graph(OnnxGraph):
    """The graph of a student's program."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program
        self.columns: dict[str, str] = {}
        self.take("candidates", np.float32, ["N", len(program.features)])
        if program.level:
            self.take("most", np.int64)
            self.take("least", np.int64, ["N"])
        if program.may_idle:
            self.take("none_allowed", np.bool_)

    def decide(self) -> None:
        """The candidate, and its limit."""
        program = self.program
        self.node("Identity", [self.scored(program.rank)], "scores")
        best = self.node("ArgMax", ["scores"], axis=0, keepdims=0, select_last_index=0)
        candidate = best
        if program.may_idle:
            above = self.node("Greater", [self.node("Gather", ["scores", best], axis=0), self.real(0.0)])
            idle = self.node("And", ["none_allowed", self.node("Not", [above])])
            candidate = self.node("Where", [idle, self.whole(-1), best])
        self.node("Identity", [candidate], "candidate")
        if program.level:
            self.limit(program.level, best)
        self.tell("candidate", np.int64)
        if program.level:
            self.tell("limit", np.int64)
        self.tell("scores", np.float64, ["N"])

    def limit(self, part: Part, best: str) -> None:
        """The limit of the candidate that is best."""
        share = self.node("Gather", [self.scored(part), best], axis=0)
        share = self.node("Min", [self.node("Max", [share, self.real(0.0)]), self.real(1.0)])
        wanted = self.node("Mul", [share, self.double("most")])
        if self.program.up:
            wanted = self.node("Ceil", [self.node("Sub", [wanted, self.real(1e-9)])])
        else:
            wanted = self.node("Floor", [self.node("Add", [wanted, self.real(0.5)])])
        limit = self.node("Max", [self.cast(wanted, np.int64), self.node("Gather", ["least", best], axis=0)])
        limit = self.node("Min", [limit, "most"])
        chosen = self.node("Less", ["candidate", self.whole(0)])
        self.node("Where", [chosen, self.whole(0), limit], "limit")

    def scored(self, part: Part) -> str:
        """double[N]: the score of each candidate."""
        if isinstance(part, Cases):
            *others, last = part.cases
            found = self.value(last.value)
            for case in reversed(others):
                asks = [self.ask(test) for test in case.tests]
                if case.cap:
                    asks.append(self.node("Less", [self.double(self.column(case.cap.of)), self.least(case.cap.terms)]))
                found = self.node("Where", [self.both(asks), self.value(case.value), found])
            return found
        if isinstance(part, Points):
            found = self.every(self.real(0.0))
            for entry in part.entries:
                add = self.real(entry.add)
                if entry.tests:
                    add = self.node("Where", [self.both(list(map(self.ask, entry.tests))), add, self.real(0.0)])
                found = self.node("Add", [found, add])
            return self.node("Add", [found, self.value(part.order)]) if part.order else found
        if isinstance(part, Trees):
            return self.trees(part.trees)
        if isinstance(part, Least):
            return self.every(self.least(part.terms))
        *ways, last_way = part.ways
        found = self.scored(last_way.part)
        for way in reversed(ways):
            assert way.test is not None
            found = self.node("Where", [self.ask(way.test), self.scored(way.part), found])
        return found

    def value(self, value: Value) -> str:
        """double[N]: a value of each candidate."""
        found = self.least(value.start) if isinstance(value.start, tuple) else self.real(value.start)
        for amount in value.plus:
            term = self.double(self.column(amount.name))
            if amount.scale:
                size = self.node("Div", [self.node("Abs", [term]), self.real(amount.scale)])
                term = self.node("Mul", [self.node("Sign", [term]), self.log1p(size)])
            found = self.node("Add", [found, self.node("Mul", [self.real(amount.weight), term])])
        return self.every(found)

    def least(self, terms: Sequence[Product]) -> str:
        """The least of some products; one that is not a number counts for nothing."""
        found = self.real(float("inf"))
        for term in terms:
            product = self.real(term.times)
            for name, power in term.powers:
                factor = self.double(self.column(name))
                factor = factor if power == 1.0 else self.node("Pow", [factor, self.real(power)])
                product = self.node("Mul", [product, factor])
            found = self.node("Where", [self.node("Less", [product, found]), product, found])
        return found

    def trees(self, trees: Sequence[Tree]) -> str:
        """double[N]: the sum of trees."""
        from onnx import numpy_helper

        columns = [feature.name for feature in self.program.features]
        flat = Flat(columns)
        roots = [flat.grow(tree) for tree in trees]
        rows = flat.rows
        sums = self.node(
            "TreeEnsemble",
            [self.double("candidates")],
            domain="ai.onnx.ml",
            aggregate_function=SUM,
            post_transform=PLAIN,
            n_targets=1,
            tree_roots=roots,
            nodes_featureids=[row[0] for row in rows],
            nodes_splits=numpy_helper.from_array(np.array([row[1] for row in rows], np.float64), "splits"),
            nodes_modes=numpy_helper.from_array(np.full(len(rows), BELOW, np.uint8), "modes"),
            nodes_truenodeids=[row[2] for row in rows],
            nodes_trueleafs=[row[3] for row in rows],
            nodes_falsenodeids=[row[4] for row in rows],
            nodes_falseleafs=[row[5] for row in rows],
            leaf_targetids=[0] * len(flat.leaves),
            leaf_weights=numpy_helper.from_array(np.array(flat.leaves, np.float64), "weights"),
        )
        return self.node("Squeeze", [sums, self.constant(np.array([1]))])

    def ask(self, test: Test) -> str:
        """bool[N]: whether the candidates meet a test."""
        below = self.node("Less", [self.column(test.name), self.constant(np.float32(test.threshold))])
        return below if test.below else self.node("Not", [below])

    def both(self, asks: Sequence[str]) -> str:
        """bool[N]: whether all hold."""
        return reduce(lambda one, other: self.node("And", [one, other]), asks)

    def column(self, name: str) -> str:
        """float[N]: a feature."""
        if name not in self.columns:
            place = [feature.name for feature in self.program.features].index(name)
            self.columns[name] = self.node("Gather", ["candidates", self.whole(place)], name, axis=1)
        return self.columns[name]

    def every(self, value: str) -> str:
        """double[N] of what may be one number for all."""
        if not self.program.features:
            raise ClearschedError("export: rules that ask for nothing make no graph")
        zeros = self.node("Mul", [self.double(self.column(self.program.features[0].name)), self.real(0.0)])
        return self.node("Add", [value, zeros])


class Flat:
    """Trees as rows: a node and its two children, each a row or a leaf."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns
        self.rows: list[list[Any]] = []  # feature, threshold; true: place, whether it is a leaf; false: the same
        self.leaves: list[float] = []

    def grow(self, tree: Tree) -> int:
        """Add a tree; the row of its root. A tree that is a leaf asks something and has it twice."""
        if not isinstance(tree, Node):
            tree = Node(Test(self.columns[0], True, 0.0), tree, tree)
        place = len(self.rows)
        self.rows.append([self.columns.index(tree.test.name), tree.test.threshold, 0, 0, 0, 0])
        for at, child in ((2, tree.low), (4, tree.high)):
            if isinstance(child, Node):
                self.rows[place][at] = self.grow(child)
            else:
                self.rows[place][at : at + 2] = [len(self.leaves), 1]
                self.leaves.append(child)
        return place
