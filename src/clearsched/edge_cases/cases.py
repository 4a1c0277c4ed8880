"""Which edge cases a scenario has, and the params of each: the scenario's own with what the edge case changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clearsched.edge_cases import settings
from clearsched.errors import ClearschedError
from clearsched.params.checking import parse
from clearsched.params.scenarios import merge
from clearsched.problems import find_problem
from clearsched.problems.declarations import EdgeCase
from clearsched.problems.problem import Problem
from clearsched.registry import Registry, load

if TYPE_CHECKING:
    from clearsched.params import Params

SECTIONS = ("traces", "workload")
"""What an edge case may change."""

NORMAL = EdgeCase(settings.NORMAL, "normal load", "the scenario as it is: what the others are held against", "")


def cases_of(problem: Problem) -> Registry[EdgeCase]:
    """The edge cases of a problem, the scenario as it is first.

    Raises:
        ClearschedError: two of them have one name.
    """
    return Registry("edge case", (NORMAL, *problem.edge_cases.values()))


def cases_run(params: Params) -> list[str]:
    """The names of `params.edge_cases` that the scenario can have.

    Raises:
        ClearschedError: what one of them changes does not fit the scenario.
    """
    return [name for name in dict.fromkeys(params.edge_cases.names) if params_of(params, name) is not None]


def params_of(params: Params, name: str) -> Params | None:
    """The params of an edge case, with its few episodes; None where the scenario can have no such thing.

    Raises:
        ClearschedError: there is no such edge case, or what it changes does not fit the scenario.
    """
    case = cases_of(find_problem(params.problem))[name]
    changes: Mapping[str, Any] | None = load(case.changes)(params) if case.changes else {}
    if changes is None:
        return None
    episodes = {"episodes": {"train": 1, "validation": 1, "test": params.edge_cases.episodes}}
    changes = merge(changes, {"workload": episodes})
    unknown = [key for key in changes if key not in SECTIONS]
    if unknown:
        raise ClearschedError(f"edge case {name}: changes {unknown[0]}: it may change {' and '.join(SECTIONS)}")
    own = params.model_dump(mode="json", include={"problem", *SECTIONS})
    changed = parse(merge(own, changes), f"edge case {name}: does not fit the scenario", whole=False)
    return params.model_copy(update={section: getattr(changed, section) for section in SECTIONS})


def changes_trace(params: Params, name: str) -> bool:
    """Whether the jobs of an edge case are not those of the scenario."""
    changed = params_of(params, name)
    return changed is not None and changed.traces != params.traces
