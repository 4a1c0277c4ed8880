"""A network of one hidden layer as flat arrays: the upper end of what a search can find, and nobody needs to read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearsched.compiled.formulae import log_of
from clearsched.compiled.jit import compiled
from clearsched.compiled.trees import BLOCK

WIDEST = BLOCK - 1
"""Hidden units that fit into the free places at the end of the scores (`write_scores`)."""


class Network(NamedTuple):
    """bias + sum of weight x max(0, hidden), hidden = shift + input x matrix; no input: adds nothing.

    I inputs, H hidden units.
    """

    feature: np.ndarray  # int64[I]: column
    scale: np.ndarray  # float64[I]: above 0, the input is sign(x) log(1 + |x| / scale); 0: x itself
    matrix: np.ndarray  # float64[I, H]
    shift: np.ndarray  # float64[H]
    weight: np.ndarray  # float64[H]
    bias: float


NO_NETWORK = Network(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 0)), np.zeros(0), np.zeros(0), 0.0)


@compiled
def add_network(network: Network, rows: np.ndarray, count: int, values: np.ndarray) -> None:
    """Add the network's answer to each of the first `count` rows of float32[n, F] to `values`.

    The WIDEST values after those are written too: the hidden units.
    """
    units = len(network.weight)
    for i in range(count):
        for unit in range(units):
            values[count + unit] = network.shift[unit]
        for place in range(len(network.feature)):
            value, scale = np.float64(rows[i, network.feature[place]]), network.scale[place]
            if scale > 0.0:
                value = log_of(value, scale)
            for unit in range(units):
                values[count + unit] += value * network.matrix[place, unit]
        total = network.bias
        for unit in range(units):
            total += network.weight[unit] * max(values[count + unit], 0.0)
        values[i] += total
