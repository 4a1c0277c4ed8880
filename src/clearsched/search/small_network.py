"""The family `small_network`: one hidden layer over the inputs of `weights`; an upper end that nobody needs to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clearsched.problems.programs import Ground, Number, Program, rounded
from clearsched.search.weights import Weights

HIDDEN = 8
"""Units."""

DIGITS = 3

STEP = 0.2
"""Standard deviation of a weight among the first candidates."""

SMALL = 0.3
"""Standard deviation of the first weights of a unit that has no say yet."""


class SmallNetwork:
    """See `problems.programs.Program`.

    Two of the units carry the weighted sum that `first` found, one its positive and one its negative part, so that the
    network begins as that sum; the others begin at random with no say.
    """

    def __init__(self, ground: Ground) -> None:
        self.linear = Weights(ground)
        self.inputs, self.caps = self.linear.inputs, self.linear.caps

    @property
    def first(self) -> Program | None:
        """The weighted sum."""
        return self.linear

    @property
    def numbers(self) -> Sequence[Number]:
        """Weights of the units by input, their biases, the weights of their answers, a bias, the caps."""
        names = [each.name for each in self.inputs]
        into = [Number(f"{name}_to_{unit}", 0.0, STEP) for name in names for unit in range(HIDDEN)]
        bias = [Number(f"bias_{unit}", 0.0, STEP) for unit in range(HIDDEN)]
        out = [Number(f"answer_{unit}", 0.0, STEP) for unit in range(HIDDEN)]
        caps = [number._replace(step=number.step / 4) for number in self.caps.numbers]
        return (*into, *bias, *out, Number("bias", 0.0, STEP), *caps)

    def start(self, generator: np.random.Generator, found: np.ndarray | None) -> np.ndarray:
        """The weighted sum as a network."""
        assert found is not None
        count = len(self.inputs)
        into = generator.normal(0.0, SMALL, (count, HIDDEN))
        bias = generator.normal(0.0, SMALL, HIDDEN)
        answer = np.zeros(HIDDEN)
        into[:, 0], into[:, 1] = found[:count], -found[:count]
        bias[:2], answer[:2] = 0.0, (1.0, -1.0)
        constant, caps = (found[count], found[count + 1 :]) if self.linear.none else (0.0, found[count:])
        return np.concatenate([into.ravel(), bias, answer, [constant], caps])

    def scorers(self, values: np.ndarray) -> Mapping[str, Any]:
        """Network and cap terms."""
        count = len(self.inputs)
        into, bias, answer, last, caps = np.split(values, np.cumsum([count * HIDDEN, HIDDEN, HIDDEN, 1]))
        layers = [
            {"weights": _told(into.reshape(count, HIDDEN)), "bias": _told(bias)},
            {"weights": _told(answer.reshape(HIDDEN, 1)), "bias": _told(last)},
        ]
        network = {
            "features": [each.name for each in self.inputs],
            "scales": [each.scale for each in self.inputs],
            "network": layers,
        }
        return {self.linear.rank.name: network, **self.caps.scorers(caps)}


def _told(values: np.ndarray) -> list[Any]:
    if values.ndim > 1:
        return [_told(row) for row in values]
    return [rounded(value, DIGITS) for value in values.tolist()]


program = SmallNetwork
