"""Every choice a user makes (params.yaml), checked before anything runs, and which stage may read which part of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clearsched.documents import parse_json
from clearsched.errors import ClearschedError
from clearsched.files import json_text, read_json, write_json
from clearsched.params.checking import parse, read_overrides, read_yaml
from clearsched.params.composing import defaults, params_model
from clearsched.params.models import Params
from clearsched.params.scenarios import lay_over, read_scenarios

__all__ = [
    "STAGES",
    "Params",
    "defaults",
    "from_settings",
    "lay_over",
    "load",
    "load_stage",
    "params_model",
    "parse",
    "read_overrides",
    "read_scenarios",
    "read_yaml",
    "settings",
    "stage_values",
    "write_stage",
]

STAGES: dict[str, tuple[str, ...]] = {
    "traces": ("problem", "scenario", "traces"),
    "workloads": ("problem", "scenario", "seed", "workload"),
    "heuristics": ("problem", "scenario", "seed", "heuristics"),
    "search": ("problem", "scenario", "seed", "search"),
    "teacher": ("problem", "scenario", "seed", "teacher"),
    "decisions": ("problem", "scenario", "seed", "decisions"),
    "students": ("problem", "scenario", "seed", "decisions", "students"),
    "evaluation": ("problem", "scenario", "seed", "evaluation"),
    "edge_cases": ("problem", "scenario", "seed", "traces", "workload", "evaluation", "edge_cases"),
    "students_pareto": ("problem", "scenario", "seed", "students", "evaluation", "figures"),
    "figures": ("problem", "scenario", "figures"),
    "paper": ("problem", "scenario", "seed", "traces", "workload", "evaluation", "edge_cases", "figures", "paper"),
    "report": ("problem", "scenario", "evaluation", "report"),
}
"""The sections of params.yaml that each stage may read. The workflow writes exactly these to the stage's own file, and
changing one of them is what makes the stage run again; a section of an earlier stage costs nothing here, since that
stage's results change with it. `parallel` is of none: it changes no result, and goes by the environment."""


def load(path: str | Path, problem: str | None = None) -> Params:
    """Read and check a params.yaml; keys it does not give take their defaults.

    Args:
        path: the file.
        problem: another problem than the file's: what belongs to the file's is set aside (`scenarios.set_aside`).

    Raises:
        ClearschedError: see `parse`; also a missing file, broken YAML or a key that stands twice.
    """
    values = read_yaml(path)
    return parse(lay_over(values, {"problem": problem}, str(path)) if problem else values, str(path))


def stage_values(params: Params, stage: str) -> dict[str, Any]:
    """The sections of `params` that `stage` depends on, as JSON values in the order of params.yaml."""
    sections = _sections(stage)
    return {name: value for name, value in params.model_dump(mode="json").items() if name in sections}


def settings(values: dict[str, Any], prefix: str = "") -> list[str]:
    """`values` as one `key.path=JSON` a leaf, for example `workload.load=0.85`: small pieces that can be compared."""
    found = []
    for key, value in values.items():
        if isinstance(value, dict):
            found += settings(value, f"{prefix}{key}.")
        else:
            found.append(f"{prefix}{key}={json.dumps(value)}")
    return found


def from_settings(lines: Iterable[str]) -> dict[str, Any]:
    """The inverse of `settings`.

    Raises:
        ClearschedError: a line is not of the form `key.path=JSON`.
    """
    values: dict[str, Any] = {}
    for line in lines:
        path, equals, text = line.partition("=")
        *sections, key = path.split(".")
        place = values
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise ClearschedError(f"{line}: {section} is a value and a section")
        try:
            place[key] = parse_json(text, path)
        except ClearschedError:
            raise ClearschedError(f"{line[:200]}: expected key=JSON, for example workload.load=0.85") from None
        if not (equals and all(sections) and key):
            raise ClearschedError(f"{line}: expected key=JSON, for example workload.load=0.85")
    return values


def stage_text(values: dict[str, Any]) -> str:
    """What `write_stage` writes of checked values."""
    return json_text(values)


def write_stage(values: dict[str, Any], stage: str, out: str | Path) -> None:
    """Write a stage's own params file, atomically; `values` must be exactly its sections.

    Raises:
        ClearschedError: a section is missing, superfluous or wrong.
    """
    write_json(out, stage_values(_limited(values, stage, f"params of the stage {stage}"), stage))


def load_stage(path: str | Path, stage: str) -> Params:
    """Read a stage's own params file. Touching a section that is not the stage's raises ClearschedError.

    Raises:
        ClearschedError: the file is missing, broken, or not of this stage.
    """
    _sections(stage)
    values = read_json(path)
    if not isinstance(values, dict):
        raise ClearschedError(f"{path}: expected the params of the stage {stage}, got {type(values).__name__}")
    return _limited(values, stage, str(path))


def _limited(values: dict[str, Any], stage: str, where: str) -> Params:
    sections = _sections(stage)
    missing = [name for name in sections if name not in values]
    if missing:
        raise ClearschedError(f"{where}: the stage {stage} needs the sections {', '.join(missing)}: write it again")
    foreign = [name for name in values if name in Params.model_fields and name not in sections]
    if foreign:
        raise ClearschedError(f"{where}: the stage {stage} does not read the sections {', '.join(foreign)}")
    return parse(values, where, whole=False).limited_to(sections)


def _sections(stage: str) -> tuple[str, ...]:
    if stage not in STAGES:
        raise ClearschedError(f"unknown stage {stage!r}: known are {', '.join(STAGES)}")
    return STAGES[stage]
