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

from clearsched.errors import ClearschedError
from clearsched.files import provenance, read_json
from clearsched.policies import CompiledPolicy, heuristic
from clearsched.problems.dag_jobs.network.network import TeacherNetwork
from clearsched.problems.dag_jobs.policies import HEURISTICS
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.workloads import Workloads, load_inputs
from clearsched.schemas import LEARNING_CURVE, write_table
from clearsched.teacher.checkpoints import save_checkpoint
from clearsched.teacher.imitation import Epoch, clone, demonstrate
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.policy_gradient import improve, temperature_for

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from clearsched.params import Params
    from clearsched.params.models import TeacherParams

STREAM = 4
"""Position of the teacher among the consumers of the seed; the splits of the workloads have 0 to 2."""


@dataclass
class Training:
    """A training run: the network as it is, the best so far, and the learning curve.

    Attributes:
        profiles, validation: what the network is judged on.
        network: being trained.
        reference_jct_s: mean JCT of the cloned heuristic on the validation episodes.
        best: weights of the lowest validation JCT so far.
        best_jct_s, best_at: that JCT, and where it was: clone, or an iteration of the policy gradient.
        rows: of schema LEARNING_CURVE.
    """

    profiles: Profiles
    validation: list[Workload]
    network: TeacherNetwork
    reference_jct_s: float
    best: dict[str, torch.Tensor] = field(default_factory=dict)
    best_jct_s: float = np.inf
    best_at: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)

    def validate(self, where: str) -> float:
        """Mean JCT (argmax) on the validation episodes; keeps the weights if they are the best so far."""
        jct_s = mean_jct_s(TeacherPolicy(self.network), self.profiles, self.validation)
        if jct_s < self.best_jct_s:
            self.best, self.best_jct_s, self.best_at = copy.deepcopy(self.network.state_dict()), jct_s, where
        return jct_s

    def record(self, phase: str, iteration: int, episodes: int, **measures: float | None) -> None:
        """Add a row to the learning curve."""
        row = {"phase": phase, "iteration": iteration, "episodes": episodes, "reference_jct_s": self.reference_jct_s}
        self.rows.append(dict.fromkeys(LEARNING_CURVE.names) | row | measures)


def train(params: Params, trace: Path, workloads: Path, tuned: Path, out_dir: Path) -> Mapping[str, Any]:
    """Train a teacher and write it to `out_dir`.

    The number of steps is fixed by `params`, never by the clock, and one thread does the arithmetic, so the same
    inputs give the same files to the byte.

    Args:
        params: sections seed and teacher are used.
        trace, workloads: Parquet files; episodes of the splits train and validation are used.
        tuned: JSON file of the tuned heuristics.
        out_dir: gets teacher.safetensors, teacher.json and learning_curve.parquet.

    Returns:
        What teacher.json says beyond network and inputs.

    Raises:
        ClearschedError: an input is broken, or does not name the heuristic to clone.
    """
    profiles, drawn = load_inputs(trace, workloads)
    expert = heuristic_to_clone(params.teacher.clone.heuristic, tuned)
    origin = provenance(
        {"seed": params.seed, "teacher": params.teacher.model_dump(mode="json")},
        {"trace": trace, "workloads": workloads, "tuned": tuned},
    )
    with one_thread():
        training = run(params, profiles, drawn, expert)
    training.network.load_state_dict(training.best)
    facts = {
        "seed": params.seed,
        "cloned": {"policy": expert.name, "settings": dict(expert.settings)},
        "validation": validation_facts(training),
        "provenance": origin,
    }
    out_dir = Path(out_dir)
    sizes = params.teacher.network.model_dump()
    save_checkpoint(out_dir / "teacher.safetensors", training.network, sizes, facts)
    curve = pa.Table.from_pylist(training.rows, schema=LEARNING_CURVE)
    write_table(out_dir / "learning_curve.parquet", curve, LEARNING_CURVE, origin)
    return facts


def run(params: Params, profiles: Profiles, drawn: Workloads, expert: CompiledPolicy) -> Training:
    """Both phases of training, with a progress bar on stderr."""
    streams = np.random.SeedSequence(params.seed, spawn_key=(STREAM,)).spawn(3)
    weights, cloning, improving = (np.random.default_rng(stream) for stream in streams)
    validation = drawn.split("validation")
    training = Training(
        profiles,
        validation,
        new_network(params.teacher, weights),
        mean_jct_s(expert, profiles, validation),
    )
    episodes = drawn.split("train")
    with progress_bar(params.teacher) as (progress, task):
        run_clone(training, params.teacher, episodes, expert, cloning, progress, task)
        run_improve(training, params.teacher, episodes, improving, progress, task)
    return training


def run_clone(
    training: Training,
    params: TeacherParams,
    episodes: list[Workload],
    expert: CompiledPolicy,
    generator: np.random.Generator,
    progress: Progress,
    task: TaskID,
) -> None:
    """Clone `expert`; each epoch is a row of the learning curve, the last one with the validation JCT."""
    epochs: list[Epoch] = []

    def report(epoch: Epoch) -> None:
        epochs.append(epoch)
        accuracy = f"stage {epoch.stage_accuracy:.1%}, limit {epoch.limit_accuracy:.1%} as {expert.name}"
        progress.update(task, advance=1, description=f"teacher: cloning, {accuracy}")

    clone(training.network, training.profiles, episodes, expert.compiled, params.clone, generator, report)
    examples = demonstrate(training.profiles, episodes[: params.clone.episodes], expert.compiled)
    training.network.soften(temperature_for(training.network, examples.graph, params.improve.exploration))
    jct_s = training.validate("clone")
    for index, epoch in enumerate(epochs):
        last = index == len(epochs) - 1
        training.record(
            "clone",
            index,
            epoch.episodes,
            loss=epoch.loss,
            entropy=epoch.entropy,
            validation_jct_s=jct_s if last else None,
        )


def run_improve(
    training: Training,
    params: TeacherParams,
    episodes: list[Workload],
    generator: np.random.Generator,
    progress: Progress,
    task: TaskID,
) -> None:
    """Improve the clone; each iteration is a row of the learning curve."""
    settings = params.improve
    horizon_ms = settings.horizon * training.reference_jct_s * 1000
    simulated = training.rows[-1]["episodes"]
    iterations = improve(training.network, training.profiles, episodes, settings, generator, horizon_ms)
    for index, iteration in enumerate(iterations):
        simulated += settings.sequences * settings.rollouts
        last = index == settings.iterations - 1
        jct_s = training.validate(f"iteration {index}") if last or (index + 1) % settings.validate_every == 0 else None
        training.record("improve", index, simulated, validation_jct_s=jct_s, **iteration._asdict())
        gain = training.best_jct_s / training.reference_jct_s - 1
        description = f"teacher: policy gradient, best {gain:+.2%} against the heuristic on validation"
        progress.update(task, advance=1, description=description)


def validation_facts(training: Training) -> dict[str, Any]:
    """Mean JCT on the validation episodes of the heuristic, its clone and the teacher that is kept, in s."""
    cloned = [row["validation_jct_s"] for row in training.rows if row["phase"] == "clone"][-1]
    return {
        "episodes": len(training.validation),
        "heuristic_jct_s": training.reference_jct_s,
        "clone_jct_s": cloned,
        "teacher_jct_s": training.best_jct_s,
        "teacher_is": training.best_at,
    }


def heuristic_to_clone(name: str, tuned: Path) -> CompiledPolicy:
    """The heuristic of that name with its tuned parameters; `best`: the one that the tuning found best.

    Raises:
        ClearschedError: the file is broken or lacks the heuristic.
    """
    found = read_json(tuned)
    if not isinstance(found, dict):
        raise ClearschedError(f"{tuned}: does not hold tuned heuristics; tune them again")
    name = found.get("best", "") if name == "best" else name
    if name not in HEURISTICS or not isinstance(found.get(name), dict):
        raise ClearschedError(f"{tuned}: holds no heuristic {name!r} to clone; tune them again")
    return heuristic(name, **found[name])


def new_network(params: TeacherParams, generator: np.random.Generator) -> TeacherNetwork:
    """A network with random weights, without touching torch's global random state."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(generator.integers(2**63)))
        return TeacherNetwork(**params.network.model_dump())


def mean_jct_s(policy: CompiledPolicy | TeacherPolicy, profiles: Profiles, episodes: list[Workload]) -> float:
    """Mean over the episodes of the mean job completion time, s."""
    return float(np.mean([result.avg_jct_s for result in policy.run(profiles, episodes)]))


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread and deterministic kernels: sums in one order, so the same bytes whatever the number of cores."""
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(deterministic)


@contextmanager
def progress_bar(params: TeacherParams) -> Iterator[tuple[Progress, TaskID]]:
    """A bar on stderr: one step an epoch of cloning or an iteration of the policy gradient."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        total = (1 + params.clone.dagger_rounds) * params.clone.epochs + params.improve.iterations
        yield progress, progress.add_task("teacher: cloning", total=total)
