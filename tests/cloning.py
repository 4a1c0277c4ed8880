"""Cloning in one call, for tests that need a network which answers like a policy."""

from __future__ import annotations

from collections.abc import Callable

from clearsched.teacher.imitation import Cloning, Epoch


def clone(cloning: Cloning, report: Callable[[Epoch], None] = lambda epoch: None) -> None:
    """All rounds, whatever the clone costs by then; `report` is called after each epoch."""
    for _ in range(1 + cloning.params.dagger_rounds):
        for epoch in cloning.run_round():
            report(epoch)
