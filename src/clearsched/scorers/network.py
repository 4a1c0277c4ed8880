"""A small neural network as scorer, on the features of one candidate. One of a single hidden layer runs in the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearsched.compiled.perceptron import WIDEST, Network
from clearsched.compiled.scoring import Packed, scores_of
from clearsched.documents import is_number
from clearsched.errors import ClearschedError
from clearsched.scorers import words
from clearsched.scorers.scorer import Facts, Question, Scorer, Scoring, known_column, name_list


@dataclass(frozen=True)
class Perceptron(Scorer):
    """Layers of weighted sums, all but the last cut at 0 from below (a multilayer perceptron with ReLU).

    Attributes:
        layers: (weights float64[inputs, outputs], bias float64[outputs]) each; the last has one output.
        names: of the features that the first layer takes, in their order.
        scales: a number each, or none at all: above 0, the input is sign(x) log(1 + |x| / scale); 0: x itself.
    """

    layers: tuple[tuple[np.ndarray, np.ndarray], ...]
    names: tuple[str, ...]
    scales: tuple[float, ...] = ()

    def pack(self, names: Sequence[str], where: str = "scorer") -> Packed:
        """Flat arrays for the loop.

        Raises:
            ClearschedError: more than one hidden layer, or a hidden layer that is too wide.
        """
        if len(self.layers) != 2 or len(self.layers[0][1]) > WIDEST:
            raise ClearschedError(
                f"{where}: in the simulator's loop runs a network of one hidden layer of at most {WIDEST} units: score "
                "logged decisions with this one, or fit a student of another kind"
            )
        (matrix, shift), (weight, bias) = self.layers
        columns = np.array([known_column(name, names, where) for name in self.names], np.int64)
        inner, shift, outer = (np.ascontiguousarray(part, np.float64) for part in (matrix, shift, weight[:, 0]))
        return Packed(network=Network(columns, self._scales(), inner, shift, outer, float(bias[0])))

    def scores(self, features: np.ndarray, names: Sequence[str], starts: np.ndarray | None = None) -> np.ndarray:
        """float64[n] of float32[n, F], also of a network that does not run in the loop."""
        if len(self.layers) == 2 and len(self.layers[0][1]) <= WIDEST:
            return scores_of(self.pack(names), features)
        values = features[:, [known_column(name, names, "network") for name in self.names]].astype(np.float64)
        scales = self._scales()
        logs = np.sign(values) * np.log1p(np.abs(values) / np.where(scales > 0, scales, 1.0))
        values = np.where(scales > 0, logs, values)
        for weights, bias in self.layers[:-1]:
            values = np.maximum(values @ weights + bias, 0.0)
        weights, bias = self.layers[-1]
        answer: np.ndarray = (values @ weights + bias)[:, 0]
        return answer

    def scoring(self, names: Sequence[str]) -> Scoring:
        """`scores`, also of a network that does not run in the loop."""
        return lambda features, starts=None: self.scores(features, names, starts)

    def _scales(self) -> np.ndarray:
        return np.array(self.scales or (0.0,) * len(self.names), np.float64)

    def to_json(self) -> dict[str, Any]:
        """The layers, and the names of their inputs."""
        layers = [{"weights": weights.tolist(), "bias": bias.tolist()} for weights, bias in self.layers]
        scales = {"scales": list(self.scales)} if self.scales else {}
        return {"features": list(self.names), **scales, "network": layers}

    @classmethod
    def from_json(cls, value: Any, names: Sequence[str], where: str) -> Perceptron:
        """`network`: a list of objects with `weights` (a row an input) and `bias`; `features`: its inputs."""
        own = name_list(value.get("features"), names, where)
        scales = _scales(value.get("scales", []), len(own), where)
        layers, inputs = value["network"], len(own)
        if not isinstance(layers, list) or not layers:
            raise ClearschedError(f"{where}.network: a list of layers expected")
        read = []
        for place, layer in enumerate(layers):
            try:
                weights, bias = (np.array(layer[key], np.float64) for key in ("weights", "bias"))
            except (KeyError, TypeError, ValueError):
                raise ClearschedError(
                    f"{where}.network[{place}]: lists of numbers `weights` and `bias` needed"
                ) from None
            outputs = bias.size if place < len(layers) - 1 else 1
            if bias.shape != (outputs,) or weights.shape != (inputs, outputs):
                raise ClearschedError(
                    f"{where}.network[{place}]: weights of {inputs} rows and a bias for each column expected, the last "
                    "layer with one"
                )
            if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
                raise ClearschedError(f"{where}.network[{place}]: a number is not finite")
            read.append((weights, bias))
            inputs = outputs
        return cls(tuple(read), own, scales)

    def render(self, choice: Question, facts: Facts) -> list[str]:
        """Its size: it cannot be read."""
        sizes = " x ".join(str(len(bias)) for _, bias in self.layers)
        if choice.form == words.SCORE:
            how = f"The candidate with the highest answer of a network ({sizes} units)."
        else:
            how = f"The answer of a network ({sizes} units), as a share of all, rounded."
        return [
            *words.heading(choice, how, facts),
            "",
            f"Its {self.complexity()} numbers are not for reading. It looks at:",
            "",
            *(f"  {name}" for name in self.names),
        ]

    def complexity(self) -> int:
        """The number of weights."""
        return sum(weights.size + bias.size for weights, bias in self.layers)

    @property
    def used(self) -> tuple[str, ...]:
        """Its inputs."""
        return self.names


def _scales(value: Any, count: int, where: str) -> tuple[float, ...]:
    """The scales of a file.

    Raises:
        ClearschedError: they are not one number of at least 0 for each feature.
    """
    if not isinstance(value, list) or len(value) not in (0, count) or not all(is_number(s) and s >= 0 for s in value):
        raise ClearschedError(f"{where}.scales: a number of at least 0 for each of the {count} features expected")
    return tuple(float(scale) for scale in value)
