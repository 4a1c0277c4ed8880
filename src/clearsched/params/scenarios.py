"""Several scenarios in one run: overlays over params.yaml, each with a folder of results of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clearsched.errors import ClearschedError
from clearsched.params.checking import parse, read_overrides, read_yaml
from clearsched.params.models import Params

KEY = "scenarios"
"""The key of Snakemake's configuration that lists the overlays; it is no key of params.yaml."""


def read_scenarios(config: Mapping[str, Any], given: Mapping[str, Any], where: str) -> dict[str, Params]:
    """The params of each scenario by its name: one, unless `config` lists overlays.

    An overlay is a YAML file with what differs from params.yaml. Without the key `scenario` it is named as its file.
    What is `given` on the command line holds for all of them.

    Raises:
        ClearschedError: an overlay is missing or wrong, two have one name, or they fit different students.
    """
    values = {key: value for key, value in config.items() if key != KEY}
    given = {key: value for key, value in given.items() if key != KEY}
    typed = read_overrides(values, given)
    if not config.get(KEY):
        params = parse(typed, where)
        return {params.scenario: params}
    paths = config[KEY]
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise ClearschedError(f"{KEY}: expected a list of files: --config {KEY}='[scenarios/a.yaml, scenarios/b.yaml]'")
    found: dict[str, Params] = {}
    for path in paths:
        overlay = {"scenario": Path(path).stem} | read_yaml(path)
        merged = merge(merge(typed, overlay), read_overrides(dict(given), given))
        params = parse(merged, path)
        if params.scenario in found:
            raise ClearschedError(f"{path}: a second scenario with the name {params.scenario}: its results would mix")
        found[params.scenario] = params
    first = next(iter(found.values()))
    for name, params in found.items():
        if params.students.names != first.students.names:
            raise ClearschedError(f"scenario {name}: students.names must be the same in all scenarios of a run")
    return found


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over`, section by section."""
    both = dict(base)
    for key, value in over.items():
        inner = both.get(key)
        both[key] = merge(inner, value) if isinstance(value, Mapping) and isinstance(inner, Mapping) else value
    return both
