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

APART = 1_000_003
"""What is added to the seeds of a scenario for episodes that something may be tuned on."""

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


def params_apart(params: Params, name: str, episodes: int) -> Params | None:
    """The params of an edge case with validation episodes that something may be tuned on; None as in `params_of`.

    Other seeds than those of the scenario name them, so that they are none of those that `edge_cases.run` draws. Where
    jobs are split by template, the seed says which are the test's, and stays: a split has random numbers of its own.

    Raises:
        ClearschedError: see `params_of`.
    """
    traces = params.traces.model_copy(update={"seed": _apart(params.traces.seed)})
    own = params_of(params.model_copy(update={"traces": traces}), name)
    if own is None:
        return None
    counts = own.workload.episodes.model_copy(update={"validation": episodes, "test": 1})
    seed = own.seed if getattr(own.workload, "split", "seed") == "template" else _apart(own.seed)
    workload = own.workload.model_copy(update={"episodes": counts})
    update: dict[str, Any] = {"workload": workload, "seed": seed}
    return own.model_copy(update=update | ({} if own.traces != traces else {"traces": params.traces}))


def _apart(seed: int) -> int:
    """Another seed of those that params allow."""
    return (seed + APART) % 2**32


def changes_trace(params: Params, name: str) -> bool:
    """Whether the jobs of an edge case are not those of the scenario."""
    changed = params_of(params, name)
    return changed is not None and changed.traces != params.traces
