"""A small neural network as scorer, on the features of one candidate. It answers outside the compiled loop only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearsched.compiled.scoring import Packed
from clearsched.errors import ClearschedError
from clearsched.scorers import words
from clearsched.scorers.scorer import Facts, Question, known_column, name_list


@dataclass(frozen=True)
class Perceptron:
    """Layers of weighted sums, all but the last cut at 0 from below (a multilayer perceptron with ReLU).

    Attributes:
        layers: (weights float64[inputs, outputs], bias float64[outputs]) each; the last has one output.
        names: of the features that the first layer takes, in their order.
    """

    layers: tuple[tuple[np.ndarray, np.ndarray], ...]
    names: tuple[str, ...]

    def pack(self, names: Sequence[str], where: str = "scorer") -> Packed:
        """There is none.

        Raises:
            ClearschedError: always.
        """
        raise ClearschedError(
            f"{where}: a network answers outside the simulator's loop only: score logged decisions with it, or fit a "
            "student of another kind"
        )

    def scores(self, features: np.ndarray, names: Sequence[str]) -> np.ndarray:
        """float64[n] of float32[n, F]."""
        values = features[:, [known_column(name, names, "network") for name in self.names]].astype(np.float64)
        for weights, bias in self.layers[:-1]:
            values = np.maximum(values @ weights + bias, 0.0)
        weights, bias = self.layers[-1]
        answer: np.ndarray = (values @ weights + bias)[:, 0]
        return answer

    def to_json(self) -> dict[str, Any]:
        """The layers, and the names of their inputs."""
        layers = [{"weights": weights.tolist(), "bias": bias.tolist()} for weights, bias in self.layers]
        return {"features": list(self.names), "network": layers}

    @classmethod
    def from_json(cls, value: Any, names: Sequence[str], where: str) -> Perceptron:
        """`network`: a list of objects with `weights` (a row an input) and `bias`; `features`: its inputs."""
        own = name_list(value.get("features"), names, where)
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
        return cls(tuple(read), own)

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
