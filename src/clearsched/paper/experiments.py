"""What the papers' figures run all policies on: a base's episodes, or these with something changed.

Every experiment is run once, by the rule `paper_episodes`; figures share what it writes. Policies are those of the
base, as they are: what changes is what they were not made for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from clearsched.edge_cases.cases import params_of as params_of_case
from clearsched.errors import ClearschedError
from clearsched.paper.bases import BASES
from clearsched.params import Params, parse
from clearsched.params.scenarios import merge
from clearsched.registry import Registry

Values = Mapping[str, Any]


class Experiment(NamedTuple):
    """All policies of a base on episodes."""

    name: str
    label: str
    base: str
    changes: Callable[[Params], Params | None]  # the params of its episodes, of the base's; None: cannot be had
    smoke: bool = True  # whether it is run at the scale smoke
    tasks: bool = False  # whether every task is recorded, to tell what jobs really took
    episodes: int = 100_000  # test episodes, at most
    students: bool = True  # whether the base's students run too: where they matter, for a fit takes long


def _as_it_is(params: Params) -> Params:
    return params


def _changed(params: Params, workload: Values) -> Params:
    """The params with another workload; the same jobs and draws, as far as the change leaves them."""
    values = params.model_dump(mode="json", include={"problem", "workload"})
    changed = parse(merge(values, {"workload": workload}), "experiment of the paper's figures", whole=False)
    return params.model_copy(update={"workload": changed.workload})


def _load(percent: int) -> Callable[[Params], Params]:
    return lambda params: _changed(params, {"load": percent / 100, "mean_interarrival_s": None})


def _cluster(times: float) -> Callable[[Params], Params]:
    """So many times the executors, and jobs that come as much faster: the load stays."""

    def changes(params: Params) -> Params:
        own, gap = params.workload.executors, params.workload.mean_interarrival_s
        executors = max(round(times * own), 1)
        return _changed(
            params, {"executors": executors, "mean_interarrival_s": None if gap is None else gap * own / executors}
        )

    return changes


def _edge(case: str) -> Callable[[Params], Params | None]:
    return lambda params: params_of_case(params, case)


def _rate_of_test(params: Params) -> Params:
    """The arrivals of the base rate_same, and so its episodes."""
    own = BASES["rate_same"]
    given = own.smoke if params.paper.scale == "smoke" else own.paper
    return _changed(params, {key: given["workload"].get(key, getattr(params.workload, key)) for key in ARRIVALS})


ARRIVALS = ("load", "mean_interarrival_s")
OBJECTIVES = ("objective_jct", "objective_makespan", "objective_moving")
LOADS = (50, 60, 70, 80, 90, 100, 110, 120)
SMOKE_LOADS = (50, 80, 120)
CLUSTERS = {10: 0.2, 100: 2.0}
"""Executors, where the base has 50, by how many times the base's."""

EDGES = ("overload", "giant_job", "tiny_jobs", "stragglers", "executors_lost", "unseen_jobs", "estimates_off")
SMOKE_EDGES = ("overload", "giant_job")


def _experiments() -> list[Experiment]:
    found = [
        Experiment("batch", "20 jobs at time 0", "batch", _as_it_is),
        Experiment("stream", "a stream of jobs", "stream", _as_it_is, tasks=True),
    ]
    found += [
        Experiment(f"load_{load}", f"load {load} %", "stream", _load(load), load in SMOKE_LOADS, episodes=20)
        for load in LOADS
    ]
    found += [
        Experiment(f"executors_{count}", f"{count} executors", "stream", _cluster(times), count == 100, episodes=20)
        for count, times in CLUSTERS.items()
    ]
    found.append(
        Experiment(
            "estimates_none",
            "no duration estimates",
            "stream",
            lambda params: _changed(params, {"estimates": {"missing": 1.0}}),
            episodes=20,
        )
    )
    found += [
        Experiment(f"edge_{case}", case.replace("_", " "), "stream", _edge(case), case in SMOKE_EDGES) for case in EDGES
    ]
    found += [Experiment(name, BASES[name].label, name, _as_it_is, students=False) for name in OBJECTIVES]
    found += [
        Experiment("rate_same", "trained at the rate of the test", "rate_same", _as_it_is, students=False),
        Experiment("rate_other", "trained at another rate", "rate_other", _rate_of_test, students=False),
    ]
    return found


EXPERIMENTS = Registry("experiment of the papers' figures", _experiments())


def names_run(names: tuple[str, ...], scale: str) -> list[str]:
    """Of the experiments, those that are run at a scale."""
    return [name for name in names if scale == "paper" or EXPERIMENTS[name].smoke]


def params_of(params: Params, name: str) -> Params:
    """The params of an experiment, of those of its base; one training and one validation episode.

    Raises:
        ClearschedError: there is no such experiment, or the base cannot have it.
    """
    experiment = EXPERIMENTS[name]
    if not params.scenario.endswith(f"-{experiment.base}"):
        raise ClearschedError(
            f"experiment {name}: of the base {experiment.base}, not of the scenario {params.scenario}"
        )
    changed = experiment.changes(params)
    if changed is None:
        raise ClearschedError(f"experiment {name}: the base {BASES[experiment.base].name} cannot have it")
    most = min(experiment.episodes, changed.workload.episodes.test)
    return _changed(changed, {"episodes": {"train": 1, "validation": 1, "test": most}})
