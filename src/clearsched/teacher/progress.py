"""What a person sees of a training: a bar on stderr and, if wanted, metrics that DVCLive writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearsched.errors import ClearschedError
from clearsched.teacher.imitation import Epoch
from clearsched.teacher.policy_gradient import Iteration
from clearsched.teacher.run import Training

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from clearsched.teacher.settings import TeacherParams

FACE = "teacher: "


class Watch:
    """Tells how a training goes: a step an epoch of cloning or an iteration of the policy gradient."""

    def __init__(
        self, params: TeacherParams, training: Training, progress: Progress, task: TaskID, live: Any = None
    ) -> None:
        self._params, self._training, self._progress, self._task, self._live = params, training, progress, task, live
        self._measure = training.instance.objective
        self._choices = [choice.name for choice in training.problem.choices]
        self._now = ""

    def epoch(self, found: Epoch) -> None:
        """After an epoch of cloning."""
        shares = (found.accuracy, found.level_accuracy)
        told = ", ".join(f"{name} {share:.1%}" for name, share in zip(self._choices, shares, strict=False))
        self._now = f"cloning {self._training.experts.cloned.name}, {told} alike"
        self._step({"clone/loss": found.loss, "clone/accuracy": found.accuracy})

    def validated(self) -> None:
        """After a round of cloning."""
        self._tell()

    def improving(self) -> None:
        """Cloning is over: rounds that were not needed are not waited for."""
        clones = sum(row["phase"] == "clone" for row in self._training.rows)
        done = len(self._training.rows)
        self._progress.update(self._task, total=clones + self._params.improve.iterations, completed=done)

    def iteration(self, found: Iteration) -> None:
        """After an iteration of the policy gradient."""
        self._now = "policy gradient"
        self._step({"improve/loss": found.loss, "improve/entropy": found.entropy})

    def _step(self, numbers: dict[str, float]) -> None:
        self._progress.advance(self._task)
        self._tell()
        if self._live is None:
            return
        training = self._training
        if training.best_objective is not None:
            numbers |= {f"validation/{self._measure.name}": training.best_objective}
        for name, value in numbers.items():
            self._live.log_metric(name, value)
        self._live.next_step()

    def _tell(self) -> None:
        self._progress.update(self._task, description=f"{FACE}{self._now}{self._standing()}")

    def _standing(self) -> str:
        """The best so far against what it is to beat."""
        training = self._training
        if training.best_objective is None:
            return ""
        parts = [f"; best {self._measure.short} {training.best_objective:.4g} {self._measure.unit}".rstrip()]
        for policy, value in (
            (training.experts.heuristic, training.heuristic),
            (training.experts.cloned, training.reference),
        ):
            if value and f"to {policy.name}" not in parts[-1]:
                parts.append(f"{training.best_objective / value - 1:+.2%} to {policy.name}")
        return ", ".join(parts)


@contextmanager
def watching(params: TeacherParams, training: Training, live_dir: Path | None) -> Iterator[Watch]:
    """A bar on stderr while training goes; with a folder, metrics by DVCLive in it.

    Raises:
        ClearschedError: the metrics are wanted and DVCLive is not installed.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    live = None if live_dir is None else open_live(live_dir, resume=bool(training.rows))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        rounds = 1 + params.clone.dagger_rounds + params.clone.safety_rounds
        total = rounds * params.clone.epochs + params.improve.iterations
        task = progress.add_task(f"{FACE}cloning {training.experts.cloned.name}", total=total)
        progress.update(task, completed=len(training.rows))
        try:
            yield Watch(params, training, progress, task, live)
        finally:
            if live is not None:
                live.end()


def open_live(folder: Path, resume: bool) -> Any:
    """DVCLive's logger of metrics, no experiment of DVC made.

    Raises:
        ClearschedError: DVCLive is not installed.
    """
    try:
        from dvclive import Live
    except ImportError:
        raise ClearschedError(
            "teacher.live: needs DVCLive: pip install 'clearsched[live]', or set it to false"
        ) from None
    return Live(dir=str(folder), resume=resume, save_dvc_exp=False, dvcyaml=None, report=None)
