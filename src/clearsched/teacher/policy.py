"""The trained network as a policy: for evaluation, for the decision log, and for students that learn from it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.graph import Graph, Observation, join
from clearsched.problems.dag_jobs.network.encoding import encode
from clearsched.problems.dag_jobs.network.network import TeacherNetwork
from clearsched.problems.dag_jobs.simulator.lockstep import Lockstep
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Workload
from clearsched.teacher.choices import best, draw, stage_table
from clearsched.teacher.rollouts import run_lockstep

MODES = ("argmax", "sampled")
LOCKSTEP = 64
"""Episodes that run side by side: bounds memory; the choices do not depend on it."""


class Answer(NamedTuple):
    """What the teacher answers to a decision with c candidates, and how it weighed them."""

    candidate: int  # row of observation.candidates
    stage: int  # observation.candidate_stage[candidate]: what Simulation.act takes
    limit: int  # executors that the stage's job may hold
    stage_score: np.ndarray  # float64[c]
    stage_probability: np.ndarray  # float64[c]
    limits: np.ndarray  # int64[N - held]: held + 1 .. N of the chosen stage's job
    limit_score: np.ndarray  # float64[N - held]
    limit_probability: np.ndarray  # float64[N - held]


class TeacherPolicy:
    """A network that schedules.

    Attributes:
        name, kind: "teacher".
        mode: argmax, or sampled if it draws its choices from their probabilities.
        settings: none that were tuned.
    """

    name = "teacher"
    kind = "teacher"

    def __init__(self, network: TeacherNetwork, mode: str = "argmax", seed: int = 0) -> None:
        """Take a copy of `network`, in double precision (see `choices.DIGITS`).

        Raises:
            ClearschedError: unknown mode.
        """
        if mode not in MODES:
            raise ClearschedError(f"teacher: mode is {mode!r}: it must be {' or '.join(MODES)}")
        self.mode = mode
        self.seed = seed
        self.settings: Mapping[str, float] = {}
        self.network = copy.deepcopy(network).double().eval()

    def generator(self, workload: Workload) -> np.random.Generator:
        """The random stream of an episode in sampled mode: its own, whatever else runs."""
        return np.random.default_rng([self.seed, workload.seed])

    def run(
        self,
        profiles: Profiles,
        workloads: Sequence[Workload],
        *,
        record_tasks: bool = False,
        record_decisions: bool = False,
    ) -> list[EpisodeResult]:
        """Schedule each episode; `LOCKSTEP` of them at a time share the forward passes."""
        if not workloads:
            return []
        lockstep = Lockstep(profiles, workloads, LOCKSTEP, record_tasks=record_tasks, record_decisions=record_decisions)
        generators = [self.generator(workload) for workload in workloads]

        def decide(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
            running = lockstep.episode[lockstep.pending].tolist()
            return self.choose(graph, [generators[episode] for episode in running])[:2]

        run_lockstep(lockstep, decide)
        return lockstep.results()

    def decide(
        self, observations: Sequence[Observation], generators: Sequence[np.random.Generator] | None = None
    ) -> list[Answer]:
        """Answer pending decisions, of any number of simulations, in one forward pass.

        Args:
            observations: the decisions.
            generators: in sampled mode a random stream a decision (see `generator`); two numbers of each are used.

        Raises:
            ClearschedError: sampled mode without a generator for each observation.
        """
        if not observations:
            return []
        candidate, limit, stages, limits = self.choose(join(observations), generators)
        answers = []
        for row, observation in enumerate(observations):
            count = len(observation.candidates)
            allowed = np.flatnonzero(np.isfinite(limits[row]))
            answers.append(
                Answer(
                    candidate=int(candidate[row]),
                    stage=int(observation.candidate_stage[candidate[row]]),
                    limit=int(limit[row]),
                    stage_score=stages[row, :count],
                    stage_probability=_softmax(stages[row, :count]),
                    limits=allowed + 1,
                    limit_score=limits[row, allowed],
                    limit_probability=_softmax(limits[row, allowed]),
                )
            )
        return answers

    def choose(
        self, graph: Graph, generators: Sequence[np.random.Generator] | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Candidate and limit of each decision of a graph, int64[B], and the tables of scores that they come from.

        The tables are float64[B, most candidates] and float64[B, N], -inf where there is no such choice. Generators
        and errors as for `decide`.
        """
        uniform = self._uniform(graph.num_decisions, generators)
        with torch.inference_mode():
            batch = encode(graph)
            embedding = self.network.embed(batch)
            stages = stage_table(self.network, batch, embedding).numpy()
            candidate = best(stages) if uniform is None else draw(_softmax(stages), uniform[:, 0])
            chosen = batch.first_candidate + torch.from_numpy(candidate)
            limits = self.network.score_limits(batch, embedding, chosen).numpy()
        limit = best(limits) if uniform is None else draw(_softmax(limits), uniform[:, 1])
        return candidate, limit + 1, stages, limits

    def _uniform(self, count: int, generators: Sequence[np.random.Generator] | None) -> np.ndarray | None:
        """float64[count, 2] in sampled mode."""
        if self.mode == "argmax":
            return None
        if generators is None or len(generators) != count:
            raise ClearschedError("teacher: sampled mode needs a random generator for each observation")
        return np.stack([generator.random(2) for generator in generators])


def _softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities along the last axis."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
