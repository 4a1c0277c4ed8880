"""A network that others published as the teacher: its checkpoint read, judged on the validation episodes, written down.

Nothing is trained. What comes out has the form of a training's results, so that log, students and evaluation go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.files import DOWNLOADS, provenance
from clearsched.heuristics.tuning import tuned_heuristic
from clearsched.problems import find_problem
from clearsched.problems.problem import Instance, Problem
from clearsched.registry import load
from clearsched.schemas import LEARNING_CURVE, write_table
from clearsched.teacher import files
from clearsched.teacher.checkpoints import save_published
from clearsched.teacher.experts import BEST
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.run import mean_objective

if TYPE_CHECKING:
    from clearsched.params import Params

MOST_BYTES = 256_000_000
"""Of a checkpoint that is read at all; each network has a smaller bound of its own."""


def take(params: Params, trace: Path, workloads: Path, tuned: Path, out_dir: Path) -> Mapping[str, Any]:
    """Make the teacher's files of the published network that `params.teacher.published` names.

    Args:
        params: problem, seed and the section teacher are used.
        trace, workloads: Parquet files; the validation episodes are run.
        tuned: JSON file of the tuned heuristics, of which the best is run beside the network.
        out_dir: gets teacher.safetensors, teacher.json and learning_curve.parquet, a row.

    Returns:
        What teacher.json says beyond the inputs.

    Raises:
        ClearschedError: no such network or file, the download failed, or the file is of another network.
    """
    problem, name = find_problem(params.problem), params.teacher.published.name
    network, digest = read_network(problem, name, next(iter(files(params.teacher)), None))
    instance = problem.open(trace, workloads)
    validation = _validation(network, instance, tuned)
    inputs: dict[str, str | Path] = {"trace": trace, "workloads": workloads, "tuned": tuned}
    origin = provenance({"seed": params.seed, "published": name, "sha256": digest}, inputs)
    facts = {
        "seed": params.seed,
        "training_seed": 0,
        "checkpoint": {"sha256": digest, "about": problem.published[str(name)].summary},
        "validation": validation,
        "stopped": None,
        "provenance": origin,
    }
    out_dir, measure = Path(out_dir), instance.objective
    save_published(out_dir / "teacher.safetensors", network, problem, str(name), facts)
    row = {
        "phase": "published",
        "iteration": 0,
        "episodes": 0,
        "loss": float("nan"),
        "validation_objective": validation["teacher"],
        "reference_objective": validation["heuristic"],
    }
    curve = pa.Table.from_pylist([dict.fromkeys(LEARNING_CURVE.names) | row], schema=LEARNING_CURVE)
    about = {"measure": measure.name, "label": measure.label, "short": measure.short, "unit": measure.unit}
    write_table(out_dir / "learning_curve.parquet", curve, LEARNING_CURVE, origin | about)
    return facts


def read_network(problem: Problem, name: str | None, path: Path | None = None) -> tuple[Any, str]:
    """A published network with its weights, and the SHA-256 of its checkpoint.

    Args:
        problem: that it is for.
        name: of the registry `problem.published`.
        path: its checkpoint; None: it is downloaded into `data/downloads`, once.

    Raises:
        ClearschedError: no such network or file, the download failed, or the file is of another network.
    """
    module = problem.published[str(name)].module
    path = load(f"{module}:fetch")(DOWNLOADS) if path is None else path
    data = _bytes(path)
    network = load(f"{module}:new")()
    network.load_state_dict(load(f"{module}:read")(data, path))
    return network, sha256(data).hexdigest()


def _bytes(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise ClearschedError(f"{path}: {size:,} bytes: no checkpoint of a network that is known here")
        return path.read_bytes()
    except OSError as error:
        raise ClearschedError(f"{path}: cannot be read: {error.strerror}") from None


def _validation(network: Any, instance: Instance, tuned: Path) -> dict[str, Any]:
    """Mean objective on the validation episodes of the network and of the best tuned heuristic."""
    episodes = instance.split("validation")
    heuristic = tuned_heuristic(instance.problem, BEST, tuned)
    return {
        "episodes": len(episodes),
        "measure": instance.objective.name,
        "best_heuristic": heuristic.name,
        "heuristic": mean_objective(heuristic, instance, episodes)[0],
        "teacher": mean_objective(TeacherPolicy(network, instance.problem), instance, episodes)[0],
        "teacher_is": "as published",
    }
