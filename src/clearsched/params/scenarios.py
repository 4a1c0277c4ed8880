"""Layers of params: a file, what is laid over it, and several scenarios in one run, each with a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clearsched.edge_cases.settings import NORMAL
from clearsched.errors import ClearschedError
from clearsched.params.checking import parse, problem_of, read_overrides, read_yaml
from clearsched.params.composing import defaults
from clearsched.params.models import Params
from clearsched.problems import find_problem
from clearsched.search.families import families_of
from clearsched.students.kinds import STUDENTS, fitted

KEY = "scenarios"
"""The key of Snakemake's configuration that lists the overlays; it is no key of params.yaml."""


def read_scenarios(files: Sequence[Mapping[str, Any]], given: Mapping[str, Any], where: str) -> dict[str, Params]:
    """The params of each scenario by its name: one, unless overlays are listed.

    An overlay is a YAML file with what differs from params.yaml. Without the key `scenario` it is named as its file.
    What is `given` on the command line holds for all of them. A layer of another problem than those below it sets
    aside what is theirs (`lay_over`).

    Args:
        files: what params.yaml and further configuration files hold, the later over the earlier.
        given: what the command line gives, values inside mappings as text.
        where: what errors call these.

    Raises:
        ClearschedError: an overlay is missing or wrong, two have one name, or they differ in what all jobs share.
    """
    typed = read_overrides(dict(given), given)
    base: dict[str, Any] = {}
    for layer in files:
        base = lay_over(base, layer, where)
    overlays = typed.pop(KEY, None) or base.pop(KEY, None)
    base.pop(KEY, None)
    if not overlays:
        params = parse(lay_over(base, typed, where), where)
        return {params.scenario: params}
    if not isinstance(overlays, list) or not all(isinstance(path, str) for path in overlays):
        raise ClearschedError(f"{KEY}: expected a list of files: --config {KEY}='[scenarios/a.yaml, scenarios/b.yaml]'")
    found: dict[str, Params] = {}
    for path in overlays:
        overlay = {"scenario": Path(path).stem} | read_yaml(path)
        params = parse(lay_over(lay_over(base, overlay, path), typed, path), path)
        if params.scenario in found:
            raise ClearschedError(f"{path}: a second scenario with the name {params.scenario}: its results would mix")
        found[params.scenario] = params
    _check_alike(found)
    return found


RULES = (
    "students.names",
    "students.control",
    "students.switch.of",
    "students.pareto.kinds",
    "students.pareto.sizes",
    "students.pareto.further",
)
"""What rules there are depends on these."""


def _check_alike(scenarios: Mapping[str, Params]) -> None:
    """Refuse scenarios that need other rules: there is one set of rules in a run."""
    first = next(iter(scenarios.values()))
    for name, params in scenarios.items():
        if params.problem != first.problem:
            raise ClearschedError(f"scenario {name}: problem must be the same in all scenarios of a run")
        for key, own, other in zip(RULES, _rules(params), _rules(first), strict=True):
            if own != other:
                raise ClearschedError(f"scenario {name}: {key} must be the same in all scenarios of a run")


def _rules(params: Params) -> tuple[Any, ...]:
    """The values of `RULES`."""
    students = params.students
    of, sizes = students.model_dump()["switch"]["of"], students.pareto
    return students.names, fitted(students), of, sizes.kinds, sizes.sizes, sizes.further


def lay_over(base: Mapping[str, Any], layer: Mapping[str, Any], where: str) -> dict[str, Any]:
    """`base` with the values of `layer`, section by section; of another problem, `base` keeps what it may keep.

    Raises:
        ClearschedError: the layer's problem is another one, and it or that of the base is unknown, or the base wrong.
    """
    if "problem" in layer and base and problem_of(layer, where) != problem_of(base, where):
        base = set_aside(base, problem_of(layer, where), where)
    return merge(base, layer)


def set_aside(values: Mapping[str, Any], problem: str, where: str) -> dict[str, Any]:
    """What of a file's `values` holds for another problem as well; all the rest takes that problem's defaults.

    Set aside are the sections that the file's problem owns; every value of the common sections that is only its
    default, since the other problem may have another; and what names its policies: `evaluation.policies`,
    `teacher.clone.policy`, `teacher.published.name`, and `students.names`, `search.families` and `edge_cases.names` if
    one of them is unknown.

    Raises:
        ClearschedError: the values are not right for the file's own problem.
    """
    params = parse({key: value for key, value in values.items() if key != KEY}, where)
    known = defaults(params.problem).model_dump(mode="json")
    own = {*find_problem(params.problem).sections, *find_problem(problem).sections, "problem"}
    kept = _chosen({key: value for key, value in values.items() if key not in own}, known)
    families = set(families_of(find_problem(problem)))
    for section, key, names in (
        ("evaluation", "policies", set(STUDENTS)),
        ("students", "names", set(STUDENTS)),
        ("search", "families", families),
        ("edge_cases", "names", {NORMAL, *find_problem(problem).edge_cases}),
    ):
        if not set(kept.get(section, {}).get(key, ())) <= names:
            del kept[section][key]
    kept.get("teacher", {}).get("clone", {}).pop("policy", None)
    kept.get("teacher", {}).get("published", {}).pop("name", None)
    return kept


def _chosen(values: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The values that differ from what is known."""
    chosen: dict[str, Any] = {}
    for key, value in values.items():
        usual = known.get(key)
        if isinstance(value, Mapping):
            chosen[key] = _chosen(value, usual if isinstance(usual, Mapping) else {})
        elif value != usual:
            chosen[key] = value
    return chosen


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over`, section by section."""
    both = dict(base)
    for key, value in over.items():
        inner = both.get(key)
        both[key] = merge(inner, value) if isinstance(value, Mapping) and isinstance(inner, Mapping) else value
    return both
