"""The blocks of networks as ONNX, for one pending decision: what `networks.py` and the teacher's choice do, drawn.

A network that is exported names the function that draws it under `onnx`, "package.module:function": it is given a
`NetworkGraph`, the network in double precision, and its problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from clearsched.compiled.feature import Feature
from clearsched.onnx_graph import OnnxGraph


class NetworkGraph(OnnxGraph):
    """A network that is being drawn.

    Attributes:
        features: what the columns of each input of numbers are, by its name.
    """

    def __init__(self, digits: int) -> None:
        """Scores are rounded to so many decimals before the best is taken."""
        super().__init__()
        self.digits = digits
        self.features: dict[str, tuple[Feature, ...]] = {}

    def rows(self, name: str, count: str, features: Sequence[Feature]) -> str:
        """An input float32[count, features]."""
        self.features[name] = tuple(features)
        return self.take(name, np.float32, [count, len(features)])

    def row(self, name: str, features: Sequence[Feature]) -> str:
        """An input float32[features]."""
        self.features[name] = tuple(features)
        return self.take(name, np.float32, [len(features)])

    def single(self, name: str) -> str:
        """float32: rounded as the inputs of a network are."""
        return self.cast(name, np.float32)

    def log(self, values: str) -> str:
        """float32 of any numbers: the logarithm, rounded once."""
        return self.single(self.node("Log", [self.double(values)]))

    def signed_log(self, values: str) -> str:
        """float32 of float32: sign(x) log(1 + |x|)."""
        size = self.log1p(self.node("Abs", [self.double(values)]))
        return self.single(self.node("Mul", [self.node("Sign", [self.double(values)]), size]))

    def normal(self, network: Any, group: str, values: str) -> str:
        """double[n, width] of float32: a group of inputs, held, shifted, scaled and cut as by `Normalised.normal`."""
        mean, scale = (self.weights(getattr(network, f"{group}_{name}")) for name in ("mean", "scale"))
        values = self.double(values)
        if group in network.held:
            low, high = (self.weights(getattr(network, f"{group}_{name}")) for name in ("low", "high"))
            values = self.node("Min", [self.node("Max", [values, low]), high])
        shifted = self.node("Sub", [values, mean])
        return self.node("Clip", [self.node("Div", [shifted, scale]), self.real(-10.0), self.real(10.0)])

    def perceptron(self, layers: nn.Sequential, rows: str) -> str:
        """double[n, last width] of double[n, first width]."""
        for layer in layers:
            rows = self.node("Relu", [rows]) if isinstance(layer, nn.ReLU) else self.linear(layer, rows)
        return rows

    def linear(self, layer: Any, rows: str) -> str:
        """double[n, out] of double[n, in]."""
        given = [rows, self.weights(layer.weight)]
        if layer.bias is not None:
            given.append(self.weights(layer.bias))
        return self.node("Gemm", given, transB=1)

    def weights(self, values: Tensor) -> str:
        """A constant in double precision."""
        return self.constant(values.detach().double().numpy())

    def beside(self, *parts: str) -> str:
        """The columns of several, one after another."""
        return self.node("Concat", parts, axis=1)

    def column(self, values: str) -> str:
        """[n, 1] of [n]."""
        return self.node("Unsqueeze", [values, self.constant(np.array([1]))])

    def row_of(self, values: str) -> str:
        """[1, n] of [n]."""
        return self.node("Unsqueeze", [values, self.constant(np.array([0]))])

    def flat(self, values: str) -> str:
        """[n] of [n, 1] or of [1, n]."""
        return self.node("Reshape", [values, self.constant(np.array([-1]))])

    def pick(self, values: str, places: str | int | Sequence[int], axis: int = 0) -> str:
        """Rows, or with axis 1 columns; a whole number takes the axis away."""
        places = places if isinstance(places, str) else self.constant(np.array(places, np.int64))
        return self.node("Gather", [values, places], axis=axis)

    def for_each(self, row: str, like: str, width: int) -> str:
        """[n, width]: the row [1, width] as often as `like` is long."""
        return self.node("Expand", [row, self.shape(like, width)])

    def shape(self, like: str, width: int) -> str:
        """int64[2]: as many rows as `like` has, of that width."""
        rows = self.node("Shape", [like], end=1)
        return self.node("Concat", [rows, self.constant(np.array([width]))], axis=0)

    def zeros(self, like: str, width: int) -> str:
        """double[n, width]: a row for each of `like`."""
        from onnx import numpy_helper

        zero = numpy_helper.from_array(np.zeros(1))
        return self.node("ConstantOfShape", [self.shape(like, width)], value=zero)

    def sums(self, rows: str, of: str, like: str, width: int) -> str:
        """double[n, width]: sums of rows double[m, width] by int64[m] `of`; n as `like` is long.

        Element by element: runtimes with several threads add whole rows (ScatterND) to one another in disorder and may
        lose one.
        """
        places = self.node("Expand", [self.column(of), self.shape(of, width)])
        return self.node("ScatterElements", [self.zeros(like, width), places, rows], axis=0, reduction="add")

    def total(self, rows: str) -> str:
        """[1, K]: the sum of rows [n, K]."""
        return self.node("ReduceSum", [rows, self.constant(np.array([0]))], keepdims=1)

    def best(self, scores: str) -> str:
        """int64: the first of the best, as `teacher.choices.best` takes it."""
        shift = self.real(10.0**self.digits)
        rounded = self.node("Div", [self.node("Round", [self.node("Mul", [scores, shift])]), shift])
        return self.node("ArgMax", [rounded], axis=0, keepdims=0, select_last_index=0)

    def choose(self, scores: str, none: str | None, none_allowed: str) -> tuple[str, str]:
        """Tell scores and candidate, of the scores double[c] and that of none, double[1].

        Returns:
            The candidate, int64; and int64[1], the row whose level is asked for: the first one's where none is chosen.
        """
        self.tell("candidate", np.int64)
        self.tell(self.node("Identity", [scores], "scores"), np.float64, ["c"])
        candidate = self.best(scores)
        if none is not None:
            never = self.constant(np.array([-np.inf]))
            none = self.tell(self.node("Where", [none_allowed, none, never], "none_score"), np.float64, [1])
            column = self.best(self.node("Concat", [scores, none], axis=0))
            is_none = self.node("Equal", [column, self.node("Size", [scores])])
            candidate = self.node("Where", [is_none, self.whole(-1), column])
        candidate = self.node("Identity", [candidate], "candidate")
        return candidate, self.flat(self.node("Max", [candidate, self.whole(0)]))

    def choose_level(self, scores: str, allowed: str, candidate: str) -> None:
        """Tell the limit and its scores, of scores double[N] and of those that are allowed, bool[N]."""
        scores = self.node("Where", [allowed, scores, self.real(-np.inf)])
        level = self.node("Add", [self.best(scores), self.whole(1)])
        is_none = self.node("Less", [candidate, self.whole(0)])
        self.tell(self.node("Where", [is_none, self.whole(0), level], "limit"), np.int64)
        self.tell(self.node("Identity", [scores], "limit_scores"), np.float64, ["N"])

    def only_most(self, allowed: str, levels: str) -> str:
        """double[N]: 0 for the largest level int64[N] that is allowed, bool[N], and -inf for all others."""
        counted = self.node("Where", [allowed, levels, self.whole(0)])
        largest = self.node("ReduceMax", [counted], keepdims=1)
        return self.node("Where", [self.node("Equal", [levels, largest]), self.real(0.0), self.real(-np.inf)])
