"""Who answers decisions: the teacher's network, or a heuristic in its place, behind one protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.policies import CompiledPolicy, load_policy
from clearsched.problems.dag_jobs.graph import Observation
from clearsched.problems.dag_jobs.simulator.candidates import executors_held
from clearsched.problems.dag_jobs.simulator.simulate import Simulation, Workload
from clearsched.problems.dag_jobs.simulator.state import JOB, NONE


class Answer(NamedTuple):
    """An expert's answer to one decision with c candidates, on a cluster of N executors."""

    candidate: int  # row of the observation's candidates that is chosen
    stage: int  # that candidate's stage: what `Simulation.act` takes
    limit: int  # executors that the stage's job may hold
    stage_score: np.ndarray  # float64[c]
    stage_probability: np.ndarray  # float64[c]
    limits: np.ndarray  # int64[N - held]: what the limit could be
    limit_score: np.ndarray  # float64[N - held]
    limit_probability: np.ndarray  # float64[N - held]


class Expert(Protocol):
    """A policy that answers pending decisions, with a score for every candidate."""

    @property
    def name(self) -> str:
        """Its name in the log's metadata."""

    def generator(self, workload: Workload) -> np.random.Generator | None:
        """The random stream of an episode, if the expert draws its choices."""

    def decide(
        self,
        simulations: Sequence[Simulation],
        observations: Sequence[Observation],
        generators: Sequence[np.random.Generator | None],
    ) -> Sequence[Answer | None]:
        """Answer each pending decision; None where the expert gives the executors to nobody."""


class HeuristicExpert:
    """A heuristic as expert: its choice has score and probability 1, every other candidate 0."""

    def __init__(self, policy: CompiledPolicy) -> None:
        self.policy = policy
        self.name = policy.name

    def generator(self, workload: Workload) -> None:
        """A heuristic draws nothing."""

    def decide(
        self,
        simulations: Sequence[Simulation],
        observations: Sequence[Observation],
        generators: Sequence[np.random.Generator | None],
    ) -> list[Answer | None]:
        """Answer each pending decision by the heuristic."""
        return [self._answer(sim, seen) for sim, seen in zip(simulations, observations, strict=True)]

    def _answer(self, simulation: Simulation, seen: Observation) -> Answer | None:
        stage, limit = simulation.reference_choice(self.policy.compiled)
        if stage == NONE:
            return None
        held = int(executors_held(simulation.state, simulation.state.stage[stage, JOB]))
        limits = np.arange(held + 1, simulation.workload.num_executors + 1)
        by_stage = (seen.candidate_stage == stage).astype(np.float64)
        by_limit = (limits == limit).astype(np.float64)
        candidate = int(by_stage.argmax())
        return Answer(candidate, int(stage), int(limit), by_stage, by_stage, limits, by_limit, by_limit)


class TeacherExpert:
    """The teacher's network as expert."""

    def __init__(self, teacher: Any) -> None:
        self.teacher = teacher
        self.name = teacher.name

    def generator(self, workload: Workload) -> np.random.Generator | None:
        """The episode's own stream if the teacher draws its choices."""
        generator: np.random.Generator | None = (
            self.teacher.generator(workload) if self.teacher.mode == "sampled" else None
        )
        return generator

    def decide(
        self,
        simulations: Sequence[Simulation],
        observations: Sequence[Observation],
        generators: Sequence[np.random.Generator | None],
    ) -> Sequence[Answer]:
        """Answer all pending decisions in one pass of the network."""
        if self.teacher.mode == "sampled":
            answers: Sequence[Answer] = self.teacher.decide(list(observations), list(generators))
        else:
            answers = self.teacher.decide(list(observations))
        return answers


def load_expert(name: str | Path, tuned: Mapping[str, Any] | None = None, mode: str = "argmax") -> Expert:
    """The expert of a teacher's `.safetensors` file or of a heuristic's name.

    Args:
        name: the file, or the name.
        tuned: parameters by heuristic, as `clearsched heuristics tune` writes them.
        mode: argmax or sampled, for a teacher.

    Raises:
        ClearschedError: no such file or heuristic, or a student's file, which has no say in what is right.
    """
    if Path(name).suffix == ".json":
        raise ClearschedError(f"{name}: a student is no expert: give a teacher's .safetensors or a heuristic's name")
    policy = load_policy(name, tuned, mode)
    return HeuristicExpert(policy) if isinstance(policy, CompiledPolicy) else TeacherExpert(policy)
