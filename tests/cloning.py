"""Cloning in one call, for tests that need a network which answers like a policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clearsched.problems.problem import Compiled, Episode, Instance
from clearsched.teacher.imitation import Cloning, Epoch
from clearsched.teacher.settings import CloneParams


def clone(
    network: Any,
    instance: Instance,
    training: Sequence[Episode],
    expert: Compiled,
    params: CloneParams,
    generator: np.random.Generator,
    report: Callable[[Epoch], None] = lambda epoch: None,
) -> None:
    """All rounds of `Cloning`, whatever the clone costs by then; `report` is called after each epoch."""
    cloning = Cloning(network, instance, training, expert, params, generator)
    for _ in range(1 + params.dagger_rounds):
        for epoch in cloning.run_round():
            report(epoch)
