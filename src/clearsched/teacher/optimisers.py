"""Adam, as it computes alike on every processor."""

from __future__ import annotations

from typing import Any

import torch

from clearsched.teacher.devices import place_of


def adam(network: Any, rate: float) -> torch.optim.Adam:
    """Adam (Kingma and Ba 2015) on a network's weights.

    On a processor the fused form: the other takes its square roots from a library that starts from an estimate, in
    which makers of processors differ; here they are those of IEEE 754.
    """
    return torch.optim.Adam(network.parameters(), lr=rate, fused=place_of(network).type == "cpu" or None)
