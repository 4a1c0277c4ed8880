"""The best of several trained teachers, chosen on the validation episodes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clearsched.errors import ClearschedError
from clearsched.files import read_json, write_bytes, write_json
from clearsched.problems import find_problem
from clearsched.problems.objectives import find_objective
from clearsched.search.safety import told_safe, verdict_in

WEIGHTS, FACTS, CURVE = "teacher.safetensors", "teacher.json", "learning_curve.parquet"


def choose(folders: Sequence[Path], out_dir: Path) -> Mapping[str, Any]:
    """Copy the teacher with the best validation objective, the first of equals; its JSON tells of all under `seeds`.

    One that strays from the baseline on an episode (`judging`) comes after all that do not. One that was shipped tells
    already of those that it was chosen from: it keeps that.

    Args:
        folders: outputs of `train` on the same inputs with different training seeds.
        out_dir: gets teacher.safetensors, teacher.json and learning_curve.parquet.

    Returns:
        What teacher.json says.

    Raises:
        ClearschedError: no folder, a file is missing or broken, or they are not of one problem, seed and inputs.
    """
    if not folders:
        raise ClearschedError("teacher choose: no folder: give those that `clearsched teacher train` wrote")
    told = {Path(folder): _facts(Path(folder)) for folder in folders}
    first = next(iter(told.values()))
    for folder, facts in told.items():
        for key in ("problem", "seed"):
            if facts.get(key) != first.get(key) or _inputs(facts) != _inputs(first):
                raise ClearschedError(f"{folder / FACTS}: trained on other inputs than {next(iter(told)) / FACTS}")
    told_by = next(iter(told)) / FACTS
    measure = find_objective(find_problem(str(first.get("problem"))), first["validation"].get("measure"), told_by)
    order = 1 if measure.lower_is_better else -1
    best = min(told, key=lambda folder: (not told_safe(told[folder]), order * told[folder]["validation"]["teacher"]))
    if not told_safe(told[best]):
        print(f"teacher: none is safe: the best on validation is kept; {verdict_in(told[best])}", file=sys.stderr)
    seeds = [{"training_seed": facts["training_seed"], **_values(facts)} for facts in told.values()]
    for name in (WEIGHTS, CURVE):
        _copy(best / name, Path(out_dir) / name)
    chosen = {**told[best], "seeds": told[best].get("seeds", seeds)}
    write_json(Path(out_dir) / FACTS, chosen)
    return chosen


def _facts(folder: Path) -> dict[str, Any]:
    path = folder / FACTS
    facts = read_json(path)
    found = facts.get("validation") if isinstance(facts, dict) else None
    if not isinstance(found, dict) or not isinstance(found.get("teacher"), float) or "training_seed" not in facts:
        raise ClearschedError(f"{path}: does not tell how its teacher does on validation; train it again")
    return dict(facts)


def _inputs(facts: Mapping[str, Any]) -> Any:
    origin = facts.get("provenance")
    return origin.get("inputs") if isinstance(origin, dict) else None


def _values(facts: Mapping[str, Any]) -> dict[str, Any]:
    found = facts["validation"]
    told = {key: found.get(key) for key in ("clone", "teacher", "teacher_is")}
    return told | {"stopped": facts.get("stopped"), "safe": told_safe(facts)}


def _copy(source: Path, target: Path) -> None:
    try:
        data = source.read_bytes()
    except OSError as error:
        raise ClearschedError(f"{source}: cannot be read: {error}; train it again") from None
    write_bytes(target, data)
