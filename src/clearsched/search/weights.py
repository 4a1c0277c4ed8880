"""The family `weights`: a formula over all features for the rank choice, cap terms for the level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clearsched.compiled.formulae import CONSTANT
from clearsched.problems.programs import Ground, Number, Program, rounded
from clearsched.search.inputs import Caps, Input, inputs_of, told
from clearsched.search.warm_start import fitted_weights

STEP = 0.3
"""Standard deviation of a weight among the first candidates, times that of its input; fitted weights have about 1."""


AT_ONCE = 1.0
"""The same of the constant: whether to idle at all is worth trying at once."""


class Weights:
    """See `problems.programs.Program`. It begins at what answers as the heuristic does (`warm_start`)."""

    first: Program | None = None

    def __init__(self, ground: Ground) -> None:
        self.rank, self.none = ground.rank, ground.none
        self.inputs, self.caps = inputs_of(ground), Caps(ground)
        read = told(self.inputs, ground.rows, [feature.name for feature in ground.rank.features])
        self._spread = np.where(read.std(axis=0) > 0, read.std(axis=0), 1.0)
        self._weights, self._constant = fitted_weights(ground, read)

    @property
    def numbers(self) -> Sequence[Number]:
        """A weight for each feature, the constant where "none of these" is an answer, the caps."""
        fitted = zip(self.inputs, self._weights.tolist(), self._spread.tolist(), strict=True)
        found = [Number(each.name, weight, STEP / spread) for each, weight, spread in fitted]
        if self.none:
            found.append(Number(CONSTANT, self._constant, AT_ONCE))
        return (*found, *self.caps.numbers)

    def start(self, generator: np.random.Generator, found: np.ndarray | None) -> np.ndarray:
        """The fitted sum; the restarts differ by what they draw."""
        return np.array([number.start for number in self.numbers])

    def scorers(self, values: np.ndarray) -> Mapping[str, Any]:
        """Formula and cap terms."""
        count = len(self.inputs)
        constant = float(values[count]) if self.none else 0.0
        caps = self.caps.scorers(values[count + self.none :])
        return {self.rank.name: formula(self.inputs, values[:count], constant), **caps}


def formula(inputs: Sequence[Input], weights: np.ndarray, constant: float) -> dict[str, Any]:
    """A formula as in a policy's file: weights of flags as they are, of all else with their logarithms."""
    plain, logs = {}, {}
    for each, weight in zip(inputs, weights.tolist(), strict=True):
        weight = rounded(weight)
        if each.scale:
            logs[each.name] = {"weight": weight, "scale": each.scale}
        else:
            plain[each.name] = weight
    if constant or not plain:
        plain[CONSTANT] = rounded(constant)
    return {"weights": plain, "log_weights": logs} if logs else {"weights": plain}


program = Weights
