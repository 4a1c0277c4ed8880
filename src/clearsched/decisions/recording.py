"""Run an expert on many episodes in lockstep and hand out every decision; write them down as the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearsched.decisions.experts import Answer, Expert, load_expert
from clearsched.decisions.progress import progress_bar
from clearsched.decisions.writer import open_log
from clearsched.files import provenance, read_json
from clearsched.problems.dag_jobs.simulator.engine import commit
from clearsched.problems.dag_jobs.simulator.loop import Compiled
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import Simulation, Workload
from clearsched.problems.dag_jobs.simulator.state import JOB, NONE
from clearsched.problems.dag_jobs.workloads import load_inputs

if TYPE_CHECKING:
    from clearsched.params import Params

LOCKSTEP = 64
"""Episodes that run side by side, so that the network answers many decisions in one pass."""


class Decision(NamedTuple):
    """One decision with c candidates, and the expert's answer."""

    split: str
    episode: int
    decision: int
    time_s: float
    features: np.ndarray  # float32[c, F]
    stages: np.ndarray  # int64[c]: row of each candidate in the episode's state
    jobs: np.ndarray  # int64[c]: its job, in order of arrival
    answer: Answer


def log(
    params: Params, trace: Path, workloads: Path, tuned: Path | None, teacher: str | Path, out: Path
) -> dict[str, int]:
    """Run a teacher (or a heuristic of that name) on training and held-out episodes and write its log to `out`.

    Returns:
        Number of episodes logged by split.

    Raises:
        ClearschedError: an input is missing or broken, or there are fewer episodes than asked for.
    """
    profiles, drawn = load_inputs(trace, workloads)
    settings = params.decisions
    expert = load_expert(teacher, read_json(tuned) if tuned else None, settings.mode)
    episodes = {"train": settings.episodes, "validation": settings.held_out}
    inputs: dict[str, str | Path] = {"trace": trace, "workloads": workloads}
    if tuned:
        inputs["tuned"] = tuned
    if Path(teacher).is_file():
        inputs["teacher"] = teacher
    metadata = provenance(settings.model_dump(mode="json"), inputs) | {
        "expert": expert.name,
        "num_executors": drawn.settings["num_executors"],
        "episodes": episodes,
    }
    with open_log(out, metadata) as writer, progress_bar("decisions log", sum(episodes.values())) as advance:
        for split, count in episodes.items():
            for decision in record(expert, profiles, drawn.split(split, count), split, advance=advance):
                writer.add(decision)
    return episodes


def record(
    expert: Expert,
    profiles: Profiles,
    workloads: Sequence[Workload],
    split: str,
    *,
    actor: Compiled | None = None,
    first_episode: int = 0,
    advance: object = None,
) -> Iterator[Decision]:
    """Every decision of some episodes with the expert's answer, episodes in lockstep, step by step.

    Args:
        expert: who answers.
        profiles: the trace.
        workloads: the episodes.
        split: what the decisions say of their split.
        actor: the policy whose choices are carried out; without one, the expert's.
        first_episode: index of the first workload in its split.
        advance: called without argument when an episode ends.
    """
    for begin in range(0, len(workloads), LOCKSTEP):
        batch = workloads[begin : begin + LOCKSTEP]
        running = [
            _Episode(first_episode + begin + i, Simulation(profiles, w), expert.generator(w))
            for i, w in enumerate(batch)
        ]
        while running := [episode for episode in running if _continues(episode, advance)]:
            simulations = [episode.simulation for episode in running]
            seen = [simulation.observe() for simulation in simulations]
            answers = expert.decide(simulations, seen, [episode.generator for episode in running])
            for episode, observation, answer in zip(running, seen, answers, strict=True):
                simulation = episode.simulation
                if answer is not None:
                    yield Decision(
                        split,
                        episode.index,
                        episode.decisions,
                        simulation.time_s,
                        observation.candidates,
                        observation.candidate_stage,
                        simulation.state.stage[observation.candidate_stage, JOB],
                        answer,
                    )
                    episode.decisions += 1
                _carry_out(simulation, answer, actor)


class _Episode:
    """An episode that runs, and how many of its decisions were handed out."""

    def __init__(self, index: int, simulation: Simulation, generator: np.random.Generator | None) -> None:
        self.index = index
        self.simulation = simulation
        self.generator = generator
        self.decisions = 0


def _continues(episode: _Episode, advance: object) -> bool:
    pending = episode.simulation.advance()
    if not pending:
        episode.simulation.result()  # says so if jobs were left unfinished
        if callable(advance):
            advance()
    return pending


def _carry_out(simulation: Simulation, answer: Answer | None, actor: Compiled | None) -> None:
    """Act as the actor says, or as the expert answered; nobody gets the executors where that is none."""
    if actor is not None:
        stage, limit = simulation.reference_choice(actor)
    elif answer is not None:
        stage, limit = answer.stage, answer.limit
    else:
        stage, limit = NONE, 0
    if stage == NONE:
        commit(simulation.state, NONE, 0)
    else:
        simulation.act(stage, limit)
