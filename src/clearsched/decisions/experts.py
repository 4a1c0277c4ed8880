"""Who answers decisions: the teacher's network, or a heuristic in its place, behind one protocol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.heuristics.tuning import read_tuned
from clearsched.problems.episodes import NONE, Episode, Lockstep
from clearsched.problems.policy import CompiledPolicy, heuristic
from clearsched.problems.problem import Instance, Problem
from clearsched.teacher import load_policy
from clearsched.teacher.policy import TeacherPolicy, Weighed


class Expert(Protocol):
    """A policy that answers pending decisions, with a score for every candidate."""

    @property
    def name(self) -> str:
        """Its name in the log's metadata."""

    @property
    def policy(self) -> Any:
        """Who it is, as what schedules whole episodes."""

    def generator(self, instance: Instance, episode: Episode) -> np.random.Generator | None:
        """The random stream of an episode, if the expert draws its choices."""

    def weigh(self, lockstep: Lockstep, observation: Any, generators: Sequence[np.random.Generator | None]) -> Weighed:
        """Answer each pending decision."""


class HeuristicExpert:
    """A heuristic as expert: its choice has score and probability 1, every other candidate 0."""

    def __init__(self, policy: CompiledPolicy) -> None:
        self.policy = policy
        self.name = policy.name

    def generator(self, instance: Instance, episode: Episode) -> None:
        """A heuristic draws nothing."""

    def weigh(self, lockstep: Lockstep, observation: Any, generators: Sequence[np.random.Generator | None]) -> Weighed:
        """Answer each pending decision by the heuristic."""
        answers = lockstep.ask(self.policy.compiled)
        counts, count = np.diff(observation.candidate_start), observation.num_decisions
        most = int(counts.max())
        table = np.where(np.arange(most + 1) < counts[:, None], 0.0, -np.inf)
        table[:, most] = np.where(observation.none_allowed, 0.0, -np.inf)
        columns = np.where(answers.candidate == NONE, most, answers.candidate)
        table[np.arange(count), columns] = 1.0
        levels = np.zeros((count, 0))
        if observation.levels.shape[1]:
            levels = _level_table(observation, answers.candidate)
            named = np.flatnonzero(answers.candidate != NONE)
            levels[named, answers.level[named] - 1] = 1.0
        return Weighed(answers, table, levels, certain=True)


def _level_table(observation: Any, candidate: np.ndarray) -> np.ndarray:
    """float64[B, N]: 0 for each level that the chosen candidate may get, -inf for the others."""
    bounds = observation.levels[observation.candidate_start[:-1] + np.maximum(candidate, 0)]
    level = np.arange(1, int(bounds[:, 1].max()) + 1)
    return np.where((level >= bounds[:, :1]) & (level <= bounds[:, 1:]), 0.0, -np.inf)


class TeacherExpert:
    """The teacher's network as expert."""

    def __init__(self, teacher: TeacherPolicy) -> None:
        self.policy = teacher
        self.name = teacher.name

    def generator(self, instance: Instance, episode: Episode) -> np.random.Generator | None:
        """The episode's own stream if the teacher draws its choices."""
        return self.policy.generator(instance, episode) if self.policy.mode == "sampled" else None

    def weigh(self, lockstep: Lockstep, observation: Any, generators: Sequence[np.random.Generator | None]) -> Weighed:
        """Answer all pending decisions in one pass of the network."""
        if self.policy.mode != "sampled":
            return self.policy.weigh(observation)
        return self.policy.weigh(observation, [generator for generator in generators if generator is not None])


def load_expert(problem: Problem, name: str | Path, tuned: Path | None = None, mode: str = "argmax") -> Expert:
    """The expert of a teacher's `.safetensors` file or of a heuristic's name.

    Args:
        problem: whose decisions it answers.
        name: the file, or the name.
        tuned: parameters by heuristic, as `clearsched heuristics tune` writes them.
        mode: argmax or sampled, for a teacher.

    Raises:
        ClearschedError: no such file or heuristic, a teacher of another problem, or a student's file, which has no say
            in what is right.
    """
    path = Path(name)
    if path.suffix == ".json":
        raise ClearschedError(f"{name}: a student is no expert: give a teacher's .safetensors or a heuristic's name")
    if path.suffix == ".safetensors":
        teacher = load_policy(path, mode)
        if teacher.problem.name != problem.name:
            raise ClearschedError(f"{name}: a teacher of the problem {teacher.problem.name}, not of {problem.name}")
        return TeacherExpert(teacher)
    found = read_tuned(tuned, problem) if tuned else {}
    return HeuristicExpert(heuristic(problem, str(name), found.get(str(name), {})))
