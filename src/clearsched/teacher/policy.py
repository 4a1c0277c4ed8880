"""The trained network as a policy: for evaluation, for the decision log, and for students that learn from it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from clearsched.errors import ClearschedError
from clearsched.problems.episodes import NONE, Answers, Episode
from clearsched.problems.policy import as_meant
from clearsched.problems.problem import Instance, Problem
from clearsched.scorers.guard import Guard
from clearsched.teacher.choices import best, candidate_of, draw, row_of, softmax
from clearsched.teacher.devices import encode, tensor
from clearsched.teacher.guarding import Watched
from clearsched.teacher.kind import TEACHER
from clearsched.teacher.rollouts import run_lockstep
from clearsched.teacher.threads import one_thread

MODES = ("argmax", "sampled")
LOCKSTEP = 64
"""Episodes that run side by side: bounds memory; the choices do not depend on it."""


class Weighed(NamedTuple):
    """Answers to B decisions, and the tables of scores that they come from."""

    answers: Answers
    candidates: np.ndarray  # float64[B, most candidates + 1], the last one none; -inf where there is no such choice
    levels: np.ndarray  # float64[B, N], of the candidate chosen; column l - 1 is level l; [B, 0] without levels
    certain: bool = False  # the scores are probabilities already: 1 for what was chosen, else 0


class TeacherPolicy:
    """A network that schedules.

    Attributes:
        name, kind: "teacher".
        problem: that it was trained for.
        mode: argmax, or sampled if it draws its choices from their probabilities.
        seed: of its draws in sampled mode.
        training_seed: that it was trained with.
        settings: none that were tuned.
        guard: who schedules where more has piled up than training saw, or None. It decides in `run` alone: what the
            network itself would answer is asked of `weigh` and `levels`.
        help_first: as of `scorers.policy.ScoredPolicy`.
        evidence: what its JSON file says; nothing where it comes from none.
    """

    name = TEACHER.name
    kind = "teacher"

    def __init__(
        self,
        network: Any,
        problem: Problem,
        mode: str = "argmax",
        seed: int = 0,
        guard: Guard | None = None,
        *,
        help_first: bool = False,
    ) -> None:
        """Take a copy of `network` (`problems.networks.Network`), in double precision (see `choices.DIGITS`).

        Raises:
            ClearschedError: unknown mode.
        """
        if mode not in MODES:
            raise ClearschedError(f"teacher: mode is {mode!r}: it must be {' or '.join(MODES)}")
        self.problem = problem
        self.mode = mode
        self.seed = seed
        self.guard = guard
        self.training_seed = 0
        self.help_first = help_first
        self.evidence: Mapping[str, Any] = {}
        self.settings: Mapping[str, float] = {}
        self.network = copy.deepcopy(network).double().eval()

    def generator(self, instance: Instance, episode: Episode, again: int = 0) -> np.random.Generator:
        """The random stream of an episode in sampled mode: its own, whatever else runs; another one each time again."""
        return np.random.default_rng([self.seed + again, instance.seed(episode)])

    def run(self, instance: Instance, episodes: Sequence[Episode], *, record: bool = False) -> list[Any]:
        """Schedule each episode; `LOCKSTEP` of them at a time share the forward passes."""
        if not episodes:
            return []
        lockstep = instance.lockstep(as_meant(self, instance, episodes), LOCKSTEP, record=record)
        generators = [self.generator(instance, episode) for episode in episodes]
        watched = Watched(self.guard, self.problem, len(episodes)) if self.guard else None

        def decide(observation: Any) -> Answers:
            running = lockstep.episode[lockstep.pending].tolist()
            answers = self.weigh(observation, [generators[episode] for episode in running]).answers
            return answers if watched is None else watched.overrule(lockstep, answers)

        with one_thread():
            run_lockstep(lockstep, decide, by_heuristic=watched is not None)
        outcomes = list(lockstep.results())
        return outcomes if watched is None else watched.told(outcomes)

    def weigh(self, observation: Any, generators: Sequence[np.random.Generator] | None = None) -> Weighed:
        """Answer pending decisions, of any number of episodes, in one forward pass.

        Args:
            observation: the decisions, at least one.
            generators: in sampled mode a random stream a decision (see `generator`); two numbers of each are used.

        Raises:
            ClearschedError: sampled mode without a generator for each decision.
        """
        uniform = self._uniform(observation.num_decisions, generators)
        network = self.network
        with torch.inference_mode():
            batch = encode(network, observation)
            embedding = network.embed(batch)
            scores = network.score_candidates(batch, embedding).cpu().numpy()
            column = best(scores) if uniform is None else draw(softmax(scores), uniform[:, 0])
            candidate = candidate_of(column, batch.most_candidates)
            if not network.none:
                scores = np.concatenate([scores, np.full((len(scores), 1), -np.inf)], axis=1)
            if not network.levels:
                return Weighed(Answers(candidate, np.zeros_like(candidate)), scores, np.zeros((len(candidate), 0)))
            levels = network.score_levels(batch, embedding, row_of(tensor(candidate, network), batch)).cpu().numpy()
        level = best(levels) if uniform is None else draw(softmax(levels), uniform[:, 1])
        return Weighed(Answers(candidate, np.where(candidate == NONE, 0, level + 1)), scores, levels)

    def levels(self, observation: Any, candidate: np.ndarray) -> np.ndarray:
        """int64[B]: the best level of each given candidate, 0 for none; what it is if another one answers the choice.

        Args:
            observation: the decisions.
            candidate: int64[B], position among the decision's candidates, or NONE.
        """
        network = self.network
        with torch.inference_mode():
            batch = encode(network, observation)
            rows = row_of(tensor(candidate, network), batch)
            scores = network.score_levels(batch, network.embed(batch), rows).cpu().numpy()
        return np.where(candidate == NONE, 0, best(scores) + 1)

    def _uniform(self, count: int, generators: Sequence[np.random.Generator] | None) -> np.ndarray | None:
        """float64[count, 2] in sampled mode."""
        if self.mode == "argmax":
            return None
        if generators is None or len(generators) != count:
            raise ClearschedError("teacher: sampled mode needs a random generator for each observation")
        return np.stack([generator.random(2) for generator in generators])
