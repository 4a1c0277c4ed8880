"""Adam, and the form of it that computes alike on every processor."""

from __future__ import annotations

import os
from typing import Any

import torch

from clearsched.arithmetic import is_portable
from clearsched.teacher.devices import place_of


def adam(network: Any, rate: float) -> torch.optim.Adam:
    """Adam (Kingma and Ba 2015) on a network's weights.

    Portable arithmetic needs the fused form: the other takes its square roots from a library that rounds them otherwise
    on other processors; these are those of IEEE 754.
    """
    fused = is_portable(os.environ) and place_of(network).type == "cpu"
    return torch.optim.Adam(network.parameters(), lr=rate, fused=fused or None)
