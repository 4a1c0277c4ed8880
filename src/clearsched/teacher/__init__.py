"""The teacher: a network that clones the best policy known and improves on it by policy gradient.

Light to import: torch is loaded when a network is trained or read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearsched.errors import ClearschedError

if TYPE_CHECKING:
    from clearsched.params import Params
    from clearsched.teacher.policy import TeacherPolicy
    from clearsched.teacher.settings import TeacherParams

__all__ = ["choose", "files", "load_policy", "train"]


def files(params: TeacherParams) -> list[Path]:
    """The files of the user's own that a training reads beside the run's: a published checkpoint.

    Raises:
        ClearschedError: it is not there.
    """
    if params.source != "published" or params.published.path is None:
        return []
    path = Path(params.published.path)
    if not path.is_file():
        raise ClearschedError(f"teacher.published.path: {path}: no such file; leave it empty to download the network")
    return [path]


def train(
    params: Params,
    trace: Path,
    workloads: Path,
    tuned: Path,
    searched: Sequence[Path],
    out_dir: Path,
    training_seed: int = 0,
    times: Path | None = None,
) -> Mapping[str, Any]:
    """Train a teacher; write teacher.safetensors, teacher.json and learning_curve.parquet to `out_dir`.

    With `teacher.source: shipped` these files are copied from the package, with `published` made of the checkpoint of a
    network that others published; then `times`, which gets the CPU seconds of a training, has no row. Any of them may
    have a guard. Returns what teacher.json holds. See `training.train`, `published.take` and `judging.give_guard`.
    """
    if params.teacher.source == "train":
        from clearsched.teacher.training import train as run

        return run(params, trace, workloads, tuned, searched, out_dir, training_seed, times)
    if times is not None:
        from clearsched.teacher.times import write_times

        write_times(times)
    if params.teacher.source == "published":
        from clearsched.teacher.published import take

        taken = take(params, trace, workloads, tuned, out_dir)
    else:
        from clearsched.files import read_json
        from clearsched.shipped import supply

        supply(params, params.teacher.shipped, "teacher", trace, workloads, out_dir)
        taken = read_json(out_dir / "teacher.json")
    if params.teacher.guard.heuristic is not None:
        from clearsched.teacher.judging import give_guard

        taken = give_guard(params, trace, workloads, tuned, searched, out_dir)
    if params.teacher.source == "shipped":
        from clearsched.search.safety import warn

        warn("the shipped teacher", taken, params.problem, trace, workloads)
    return taken


def choose(folders: Sequence[Path], out_dir: Path) -> Mapping[str, Any]:
    """Copy the best of several trained teachers to `out_dir`; see `choosing.choose`."""
    from clearsched.teacher.choosing import choose as run

    return run(folders, out_dir)


def load_policy(path: str | Path, mode: str = "argmax") -> TeacherPolicy:
    """The policy of a `.safetensors` file with its `.json` beside it; see `checkpoints.load_policy`."""
    from clearsched.teacher.checkpoints import load_policy as load

    return load(path, mode)
