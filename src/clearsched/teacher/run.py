"""A training run: the network as it is, the best so far, the learning curve, and how it is put away and taken up."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from clearsched.errors import ClearschedError
from clearsched.problems.declarations import Measure
from clearsched.problems.episodes import Episode
from clearsched.problems.policy import Policy
from clearsched.problems.problem import Instance, Problem
from clearsched.schemas import LEARNING_CURVE
from clearsched.teacher.experts import Experts
from clearsched.teacher.imitation import Cloning
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.policy_gradient import Improving
from clearsched.teacher.resuming import (
    Checkpoints,
    Snapshot,
    copy_of,
    prefixed,
    restore_generator,
    state_of,
    under,
)

KEPT = 3
"""So many networks between the first and the last that were the best once may be asked where the best is not safe."""


class Diverged(Exception):
    """Training went wrong; the best so far is kept."""


class Best(NamedTuple):
    """A network that was the best on the validation episodes as it was validated."""

    weights: dict[str, Tensor]
    objective: float  # mean on these episodes, in the unit of the objective
    at: str  # a round of cloning, or an iteration


class Training:
    """A training run.

    Attributes:
        instance: the problem with its data.
        validation: the episodes that the network is judged on.
        network: being trained.
        experts: the policy that is cloned and the best heuristic.
        reference: mean objective of the cloned policy on the validation episodes.
        heuristic: that of the best tuned heuristic.
        scale_s: how long a job stays under the cloned policy, s: the unit of the horizon.
        phase: clone or improve.
        clone: mean objective of the best clone on the validation episodes, None before there is one.
        bests: the best so far last, before it a few that were it in the same phase, and first of all, in improving,
            the clone.
        rows: of schema LEARNING_CURVE.
        cpu_s: CPU seconds of all threads from the beginning to each of the rows.
        stopped: why training ended early, or empty.
    """

    def __init__(self, instance: Instance, validation: list[Episode], network: Any, experts: Experts) -> None:
        self._since_s = time.process_time()
        self.instance, self.validation, self.network, self.experts = instance, validation, network, experts
        self.reference, self.scale_s = mean_objective(experts.cloned, instance, validation)
        self.heuristic, _ = mean_objective(experts.heuristic, instance, validation)
        self.phase = "clone"
        self.clone: float | None = None
        self.bests: list[Best] = []
        self.rows: list[dict[str, Any]] = []
        self.cpu_s: list[float] = []
        self.stopped = ""
        self._checkpoints: Checkpoints | None = None

    @property
    def problem(self) -> Problem:
        """What is scheduled."""
        return self.instance.problem

    @property
    def best(self) -> dict[str, Tensor]:
        """The weights of the best so far."""
        return self.bests[-1].weights

    @property
    def best_objective(self) -> float | None:
        """What it comes to on the validation episodes; None before there is one."""
        return self.bests[-1].objective if self.bests else None

    @property
    def best_at(self) -> str:
        """Where it was; empty before there is one."""
        return self.bests[-1].at if self.bests else ""

    def parts(
        self,
        checkpoints: Checkpoints | None,
        cloning: Cloning,
        improving: Improving,
        generators: Mapping[str, np.random.Generator],
    ) -> None:
        """What is put away with it."""
        self._checkpoints, self._cloning, self._improving = checkpoints, cloning, improving
        self._generators = generators

    def validate(self, where: str, *, latest: bool = False) -> float:
        """Mean objective (argmax) on the validation episodes; keeps the weights if they are the best so far.

        `latest`: they are taken for it, and what came before is forgotten.
        """
        found, _ = mean_objective(TeacherPolicy(self.network, self.problem), self.instance, self.validation)
        self.check("validation objective", found)
        if latest:
            self.bests = []
        if self.best_objective is None or is_better(self.instance.objective, found, self.best_objective):
            first, later = self.bests[:1], self.bests[1:]
            self.bests = [*first, *later[-KEPT:], Best(copy_of(self.network), found, where)]
        return found

    def validate_average(self, where: str) -> float:
        """`validate` of the mean of the weights; the network stays as it is."""
        own = copy_of(self.network)
        self.network.load_state_dict(self._improving.average)
        try:
            return self.validate(where)
        finally:
            self.network.load_state_dict(own)

    def better(self, value: float, other: float) -> float:
        """The better one of two mean objectives."""
        return other if is_better(self.instance.objective, other, value) else value

    def is_close(self, tolerance: float | None) -> bool:
        """Whether the best so far costs no more than a share `tolerance` of the cloned policy's objective."""
        if self.best_objective is None or tolerance is None:
            return False
        order = 1 if self.instance.objective.lower_is_better else -1
        return order * (self.best_objective - self.reference) <= tolerance * abs(self.reference)

    def begin_improving(self) -> None:
        """Cloning is over: what the network is now, softened, is the clone."""
        self.phase, self.clone = "improve", self.best_objective
        self.bests = [self.bests[-1]._replace(weights=copy_of(self.network))]
        self._improving.begin()

    def settle(self, chosen: Best) -> None:
        """One of the best is what the training comes to."""
        self.bests = [chosen]
        self.network.load_state_dict(chosen.weights)

    def check(self, what: str, value: float) -> None:
        """Stop where a number is none.

        Raises:
            Diverged: it is not finite.
        """
        if not math.isfinite(value):
            raise Diverged(f"the {what} is not finite")

    def check_validation(self, value: float) -> None:
        """Stop where improving has made it much worse.

        Raises:
            Diverged: twice as bad as the clone.
        """
        assert self.clone is not None
        order = 1 if self.instance.objective.lower_is_better else -1
        if order * (value - self.clone) > max(abs(self.clone), abs(self.reference)):
            raise Diverged(f"the validation objective is {value:.4g}, that of the clone was {self.clone:.4g}")

    def stop(self, why: str) -> None:
        """End training early with one line on stderr; the best so far is kept.

        Raises:
            ClearschedError: there is none.
        """
        place = f"{self.phase}, after {len(self.rows)} rows of the learning curve"
        if self.best_objective is None:
            raise ClearschedError(f"teacher: {place}: {why}: nothing to keep; lower teacher.clone.learning_rate")
        self.stopped = why
        print(f"clearsched: teacher stopped: {place}: {why}; kept: {self.best_at}", file=sys.stderr)

    def record(self, phase: str, iteration: int, episodes: int, **measures: float | None) -> None:
        """Add a row to the learning curve."""
        row = {"phase": phase, "iteration": iteration, "episodes": episodes, "reference_objective": self.reference}
        self.rows.append(dict.fromkeys(LEARNING_CURVE.names) | row | measures)
        self.cpu_s.append(self.spent_s())

    def record_validation(self, objective: float) -> None:
        """Add to the last row what its network came to on the validation episodes; the time is told anew."""
        self.rows[-1]["validation_objective"] = objective
        self.cpu_s[-1] = self.spent_s()

    def spent_s(self) -> float:
        """CPU seconds of all threads since the training began; what was killed after a checkpoint is not in them."""
        return time.process_time() - self._since_s

    def validation_facts(self) -> dict[str, Any]:
        """Mean objective on the validation episodes of heuristic, cloned policy, clone and the teacher that is kept."""
        return {
            "episodes": len(self.validation),
            "measure": self.instance.objective.name,
            "best_heuristic": self.experts.heuristic.name,
            "heuristic": self.heuristic,
            "cloned": self.reference,
            "clone": self.best_objective if self.clone is None else self.clone,
            "teacher": self.best_objective,
            "teacher_is": self.best_at,
        }

    def save(self) -> None:
        """Write a checkpoint if one is due."""
        if self._checkpoints is not None:
            self._checkpoints.save_if_due(self._snapshot)

    def resume(self) -> None:
        """Go on from the checkpoint, if there is one."""
        found = self._checkpoints.load() if self._checkpoints is not None else None
        if found is None:
            return
        tensors, facts = found.tensors, found.facts
        self.phase, self.clone, self.rows = facts["phase"], facts["clone"], facts["rows"]
        self.cpu_s, self._since_s = facts["cpu_s"], self._since_s - facts["spent_s"]
        self.bests = [Best(under(f"best{place}", tensors), *told) for place, told in enumerate(facts["bests"])]
        self.network.load_state_dict(under("network", tensors))
        for name, generator in self._generators.items():
            restore_generator(generator, facts["generators"][name])
        part: Cloning | Improving = self._cloning if self.phase == "clone" else self._improving
        part.restore(Snapshot(under("part", tensors), facts["part"]))

    def _snapshot(self) -> Snapshot:
        part = (self._cloning if self.phase == "clone" else self._improving).snapshot()
        tensors = prefixed("network", self.network.state_dict())
        for place, each in enumerate(self.bests):
            tensors |= prefixed(f"best{place}", each.weights)
        facts = {
            "phase": self.phase,
            "clone": self.clone,
            "rows": self.rows,
            "cpu_s": self.cpu_s,
            "spent_s": self.spent_s(),
            "bests": [(each.objective, each.at) for each in self.bests],
            "generators": {name: state_of(generator) for name, generator in self._generators.items()},
            "part": part.facts,
        }
        return Snapshot(tensors | prefixed("part", part.tensors), facts)


def is_better(measure: Measure, value: float, other: float) -> bool:
    """Whether a mean of the measure is strictly better than another."""
    return value < other if measure.lower_is_better else value > other


def mean_objective(policy: Policy, instance: Instance, episodes: list[Episode]) -> tuple[float, float]:
    """Means over the episodes of the objective, and of how long a job stays, s."""
    name, results = instance.objective.name, policy.run(instance, episodes)
    scale_s = float(np.mean([result.scale_s for result in results]))
    return float(np.mean([result.measures[name] for result in results])), scale_s
