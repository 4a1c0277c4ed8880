"""Many simulations in lockstep: at each step one forward pass decides for all that wait for a decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clearsched.problems.dag_jobs.graph import Observation
from clearsched.problems.dag_jobs.simulate import Simulation

Decide = Callable[[Sequence[int], Sequence[Observation]], Sequence[tuple[int, int]]]
"""From the positions of the simulations that wait, and what they see, to (stage, limit) of each."""


def lockstep(simulations: Sequence[Simulation], decide: Decide) -> None:
    """Run all simulations to their end."""
    waiting = [index for index, simulation in enumerate(simulations) if simulation.advance()]
    while waiting:
        observations = [simulations[index].observe() for index in waiting]
        for index, (stage, limit) in zip(waiting, decide(waiting, observations), strict=True):
            simulations[index].act(stage, limit)
        waiting = [index for index in waiting if simulations[index].advance()]


def compact(observation: Observation) -> Observation:
    """The same decision to be kept for later: `observe` leaves room for more rows, which would stay in memory."""
    return observation._replace(
        nodes=observation.nodes.copy(),
        node_job=observation.node_job.copy(),
        candidates=observation.candidates.copy(),
        candidate_stage=observation.candidate_stage.copy(),
    )
