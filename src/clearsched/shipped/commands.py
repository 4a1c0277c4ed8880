"""What makes results and shipped policies anew, as it is typed: a scenario, and what was laid over it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from clearsched.files import read_json
from clearsched.params import Params, from_settings, read_scenarios, read_yaml, settings, stage_values
from clearsched.problems import PROBLEMS


def make_commands(name: str, problem: str, stages: Mapping[str, Mapping[str, Any]], kept: Sequence[str]) -> list[str]:
    """What makes the folder of shipped policies anew, in two steps.

    Args:
        name: the scenario.
        problem: whose it is.
        stages: what the params of each stage of the results say.
        kept: stages whose policies are taken as they are.

    Raises:
        ClearschedError: params.yaml or the scenario's file is broken.
    """
    made = run_command(name, problem, kept, laid_over(stages, scenario_of(name)))
    return [made, f"clearsched shipped make {name} --results results/{name}"]


def run_command(name: str, problem: str, kept: Sequence[str] = (), laid: Sequence[str] = ()) -> str:
    """What makes the results of a scenario anew; `laid`: see `laid_over`."""
    sections = {each.partition("=")[0] for each in laid}
    config = [f"{stage}='{{source: shipped}}'" for stage in kept if stage not in sections]
    if name == problem:
        config.insert(0, f"problem={problem}")
    elif name != "default":
        config.insert(0, f"scenarios='[scenarios/{name}.yaml]'")
    config += laid
    return " ".join(["snakemake --cores 2", *(["--config", *config] if config else [])])


def stages_of(results: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What the params files of these stages say, by stage, as far as they lie in the results of a scenario."""
    paths = {name: results / "params" / f"{name}.json" for name in names}
    return {name: read_json(path) for name, path in paths.items() if path.is_file()}


def scenario_of(name: str, folder: Path = Path()) -> Params | None:
    """The params of a scenario as `run_command` names it, on top of params.yaml; None where there are no such files.

    Raises:
        ClearschedError: one of them is broken.
    """
    base, overlay = folder / "params.yaml", folder / "scenarios" / f"{name}.yaml"
    given = {"problem": name} if name in PROBLEMS else {"scenarios": f"[{overlay}]"} if name != "default" else {}
    if not base.is_file() or ("scenarios" in given and not overlay.is_file()):
        return None
    return read_scenarios([read_yaml(base)], given, str(base)).get(name)


def laid_over(stages: Mapping[str, Mapping[str, Any]], params: Params | None) -> list[str]:
    """What was laid over a scenario where stages ran with other values, as arguments of `--config`.

    For example "workload='{help_first: false}'".

    Args:
        stages: what the params file of each says.
        params: of the scenario; None: nobody knows.
    """
    if params is None:
        return []
    known = {line for stage in stages for line in settings(stage_values(params, stage))}
    other = dict.fromkeys(line for values in stages.values() for line in settings(dict(values)) if line not in known)
    return [f"{name}={shlex.quote(_flow(value))}" for name, value in from_settings(other).items()]


def _flow(value: Any) -> str:
    """A value as YAML in one line."""
    if not isinstance(value, dict):
        return json.dumps(value)
    told: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**9)
    return told.strip()
