"""The stage `teacher`: clone the best heuristic, improve on it, keep what schedules the validation episodes best."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch

from clearsched.files import provenance
from clearsched.heuristics.tuning import tuned_heuristic
from clearsched.problems import find_problem
from clearsched.problems.policy import CompiledPolicy, Policy
from clearsched.problems.problem import Episode, Instance, Measure
from clearsched.schemas import LEARNING_CURVE, write_table
from clearsched.teacher.checkpoints import save_checkpoint
from clearsched.teacher.imitation import Epoch, clone, demonstrate
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.policy_gradient import improve, temperature_for
from clearsched.teacher.threads import one_thread

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from clearsched.params import Params
    from clearsched.teacher.settings import TeacherParams

STREAM = 4
"""Position of the teacher among the consumers of the seed; the splits of the workloads have 0 to 2."""


@dataclass
class Training:
    """A training run: the network as it is, the best so far, and the learning curve.

    Attributes:
        instance: the problem with its data.
        validation: the episodes that the network is judged on.
        network: being trained.
        reference: mean objective of the cloned heuristic on the validation episodes.
        scale_s: how long a job stays under it, s: the unit of the horizon.
        best: weights of the best validation objective so far.
        best_objective, best_at: that objective, and where it was: clone, or an iteration of the policy gradient.
        rows: of schema LEARNING_CURVE.
    """

    instance: Instance
    validation: list[Episode]
    network: Any
    reference: float
    scale_s: float
    best: dict[str, torch.Tensor] = field(default_factory=dict)
    best_objective: float | None = None
    best_at: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)

    def validate(self, where: str) -> float:
        """Mean objective (argmax) on the validation episodes; keeps the weights if they are the best so far."""
        policy = TeacherPolicy(self.network, self.instance.problem)
        found, _ = mean_objective(policy, self.instance, self.validation)
        if self.best_objective is None or is_better(self.instance.objective, found, self.best_objective):
            self.best, self.best_objective, self.best_at = copy.deepcopy(self.network.state_dict()), found, where
        return found

    def record(self, phase: str, iteration: int, episodes: int, **measures: float | None) -> None:
        """Add a row to the learning curve."""
        row = {"phase": phase, "iteration": iteration, "episodes": episodes, "reference_objective": self.reference}
        self.rows.append(dict.fromkeys(LEARNING_CURVE.names) | row | measures)


def is_better(measure: Measure, value: float, other: float) -> bool:
    """Whether a mean of the measure is strictly better than another."""
    return value < other if measure.lower_is_better else value > other


def train(params: Params, trace: Path, workloads: Path, tuned: Path, out_dir: Path) -> Mapping[str, Any]:
    """Train a teacher and write it to `out_dir`.

    The number of steps is fixed by `params`, never by the clock, and one thread does the arithmetic, so the same
    inputs give the same files to the byte.

    Args:
        params: problem, seed and the section teacher are used.
        trace, workloads: Parquet files; episodes of the splits train and validation are used.
        tuned: JSON file of the tuned heuristics.
        out_dir: gets teacher.safetensors, teacher.json and learning_curve.parquet.

    Returns:
        What teacher.json says beyond network and inputs.

    Raises:
        ClearschedError: an input is broken, or does not name the heuristic to clone.
    """
    problem = find_problem(params.problem)
    instance = problem.open(trace, workloads)
    expert = tuned_heuristic(problem, params.teacher.clone.heuristic, tuned)
    origin = provenance(
        {"seed": params.seed, "teacher": params.teacher.model_dump(mode="json")},
        {"trace": trace, "workloads": workloads, "tuned": tuned},
    )
    with one_thread():
        training = run(params, instance, expert)
    training.network.load_state_dict(training.best)
    facts = {
        "seed": params.seed,
        "cloned": {"policy": expert.name, "settings": dict(expert.settings)},
        "validation": validation_facts(training),
        "provenance": origin,
    }
    out_dir = Path(out_dir)
    sizes = params.teacher.network.model_dump()
    save_checkpoint(out_dir / "teacher.safetensors", training.network, problem, sizes, facts)
    measure = instance.objective
    curve = pa.Table.from_pylist(training.rows, schema=LEARNING_CURVE)
    about = {"measure": measure.name, "label": measure.label, "short": measure.short, "unit": measure.unit}
    write_table(out_dir / "learning_curve.parquet", curve, LEARNING_CURVE, origin | about)
    return facts


def run(params: Params, instance: Instance, expert: CompiledPolicy) -> Training:
    """Both phases of training, with a progress bar on stderr."""
    streams = np.random.SeedSequence(params.seed, spawn_key=(STREAM,)).spawn(3)
    weights, cloning, improving = (np.random.default_rng(stream) for stream in streams)
    validation = instance.split("validation")
    network = new_network(instance, params.teacher, weights)
    training = Training(instance, validation, network, *mean_objective(expert, instance, validation))
    episodes = instance.split("train")
    with progress_bar(params.teacher) as (progress, task):
        run_clone(training, params.teacher, episodes, expert, cloning, progress, task)
        run_improve(training, params.teacher, episodes, improving, progress, task)
    return training


def run_clone(
    training: Training,
    params: TeacherParams,
    episodes: list[Episode],
    expert: CompiledPolicy,
    generator: np.random.Generator,
    progress: Progress,
    task: TaskID,
) -> None:
    """Clone `expert`; each epoch is a row of the learning curve, the last one with the validation objective."""
    epochs: list[Epoch] = []
    rank, *level = (choice.name for choice in training.instance.problem.choices)

    def report(epoch: Epoch) -> None:
        epochs.append(epoch)
        shares = [f"{rank} {epoch.accuracy:.1%}", *(f"{name} {epoch.level_accuracy:.1%}" for name in level)]
        progress.update(task, advance=1, description=f"teacher: cloning, {', '.join(shares)} as {expert.name}")

    network, instance = training.network, training.instance
    clone(network, instance, episodes, expert.compiled, params.clone, generator, report)
    examples = demonstrate(instance, episodes[: params.clone.episodes], expert.compiled, none=network.none)
    network.soften(temperature_for(network, examples.observation, params.improve.exploration))
    found = training.validate("clone")
    for index, epoch in enumerate(epochs):
        last = index == len(epochs) - 1
        training.record(
            "clone",
            index,
            epoch.episodes,
            loss=epoch.loss,
            entropy=epoch.entropy,
            validation_objective=found if last else None,
        )


def run_improve(
    training: Training,
    params: TeacherParams,
    episodes: list[Episode],
    generator: np.random.Generator,
    progress: Progress,
    task: TaskID,
) -> None:
    """Improve the clone; each iteration is a row of the learning curve."""
    settings = params.improve
    horizon_s = settings.horizon * training.scale_s
    simulated = training.rows[-1]["episodes"]
    iterations = improve(training.network, training.instance, episodes, settings, generator, horizon_s)
    for index, iteration in enumerate(iterations):
        simulated += settings.sequences * settings.rollouts
        last = index == settings.iterations - 1
        found = training.validate(f"iteration {index}") if last or (index + 1) % settings.validate_every == 0 else None
        training.record("improve", index, simulated, validation_objective=found, **iteration._asdict())
        assert training.best_objective is not None
        gain = training.best_objective / training.reference - 1 if training.reference else 0.0
        description = f"teacher: policy gradient, best {gain:+.2%} against the heuristic on validation"
        progress.update(task, advance=1, description=description)


def validation_facts(training: Training) -> dict[str, Any]:
    """Mean objective on the validation episodes of the heuristic, its clone and the teacher that is kept."""
    cloned = [row["validation_objective"] for row in training.rows if row["phase"] == "clone"][-1]
    return {
        "episodes": len(training.validation),
        "measure": training.instance.objective.name,
        "heuristic": training.reference,
        "clone": cloned,
        "teacher": training.best_objective,
        "teacher_is": training.best_at,
    }


def new_network(instance: Instance, params: TeacherParams, generator: np.random.Generator) -> Any:
    """A network with random weights, without touching torch's global random state."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(generator.integers(2**63)))
        return instance.problem.network(params.network.model_dump(), instance.none)


def mean_objective(policy: Policy, instance: Instance, episodes: list[Episode]) -> tuple[float, float]:
    """Means over the episodes of the objective, and of how long a job stays, s."""
    name, results = instance.objective.name, policy.run(instance, episodes)
    scale_s = float(np.mean([result.scale_s for result in results]))
    return float(np.mean([result.measures[name] for result in results])), scale_s


@contextmanager
def progress_bar(params: TeacherParams) -> Iterator[tuple[Progress, TaskID]]:
    """A bar on stderr: one step an epoch of cloning or an iteration of the policy gradient."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        total = (1 + params.clone.dagger_rounds) * params.clone.epochs + params.improve.iterations
        yield progress, progress.add_task("teacher: cloning", total=total)
