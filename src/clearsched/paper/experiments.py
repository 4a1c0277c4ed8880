"""What the papers' figures run all policies on: a base's episodes, or these with something changed.

Every experiment is run once, by the rule `paper_episodes`; figures share what it writes. Policies are those of the
base, as they are: what changes is what they were not made for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from clearsched.edge_cases.cases import params_of as params_of_case
from clearsched.errors import ClearschedError
from clearsched.paper.bases import BASES
from clearsched.paper.bases import params_of as params_of_base
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
    group: str = ""  # experiments of one group run in one process; empty: by itself
    policies: tuple[str, ...] = ()  # that run, the heuristic that is best as tuned beside them; empty: all
    patches: tuple[Values, ...] = ()  # laid on each student, which runs with and without them


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


def _rate_of_test(params: Params, **further: Any) -> Params:
    """The arrivals of the base rate_same, and so its episodes; `further`: what else of the workload is changed."""
    same = params_of_base(params, "rate_same").workload.model_dump(mode="json", include=set(ARRIVALS))
    return _changed(params, same | further)


def _rate_at(percent: int) -> Callable[[Params], Params]:
    return lambda params: _rate_of_test(params, load=percent / 100, mean_interarrival_s=None)


def _no_estimates(params: Params) -> Params:
    return _changed(params, {"estimates": {"missing": 1.0}})


def _split_by_template(params: Params) -> Params:
    """The episodes of the base unseen_queries, for a network that has seen their queries in training."""
    return _changed(params, {"split": "template"})


def _slow_moves(params: Params) -> Params:
    """Moves that take five times as long as those that policies were made for."""
    return _changed(params, {"moving_delay_s": 5 * params.workload.moving_delay_s})


ARRIVALS = ("arrivals", "jobs", "load", "mean_interarrival_s", "mixed_rates")
OBJECTIVES = ("objective_jct", "objective_makespan", "objective_moving")
LOADS = (50, 60, 70, 80, 90, 100, 110, 120)
SMOKE_LOADS = (50, 80, 120)
CLUSTERS = {10: 0.2, 100: 2.0}
"""Executors, where the base has 50, by how many times the base's."""

EDGES = ("overload", "giant_job", "tiny_jobs", "stragglers", "executors_lost", "unseen_jobs", "estimates_off")
SMOKE_EDGES = ("overload", "giant_job")


ABLATED = {
    "whole": "rate_same",
    **{what: f"ablated_{what}" for what in ("graph", "limits", "baseline", "stream")},
}
"""By what is left out: the base whose network it is."""

ABLATION_LOADS = (35, 45, 55, 65, 75, 85, 95)
SMOKE_ABLATION_LOADS = (35, 85)

PATCH = {
    "when": "job_move_s > 5 s and job_fair_load > 0.5",
    "do": "avoid",
    "because": "a move this slow pays for a job that holds little, not for one that has half its share",
}
"""The worked example of docs/patches.md, for moves that take five times as long."""


def _of_streams() -> Iterator[Experiment]:
    """Other loads, clusters, estimates and edge cases for the policies of a stream."""
    for load in LOADS:
        told = f"load {load} %"
        yield Experiment(f"load_{load}", told, "stream", _load(load), load in SMOKE_LOADS, episodes=20, group="loads")
    for count, times in CLUSTERS.items():
        name, told = f"executors_{count}", f"{count} executors"
        yield Experiment(name, told, "stream", _cluster(times), count == 100, episodes=20, group="others")
    yield Experiment("estimates_none", "no duration estimates", "stream", _no_estimates, episodes=20, group="others")
    for case in EDGES:
        told = case.replace("_", " ")
        yield Experiment(f"edge_{case}", told, "stream", _edge(case), case in SMOKE_EDGES, group="edges")


def _of_networks() -> Iterator[Experiment]:
    """Networks of other trainings, held against each other on the same episodes."""
    for name in OBJECTIVES:
        yield Experiment(name, BASES[name].label, name, _as_it_is, students=False)
    for name, told, base, changes in (
        ("rate_same", "trained at the rate of the test", "rate_same", _as_it_is),
        ("rate_other", "trained at another rate", "rate_other", _rate_of_test),
        ("rate_mixed", "trained on mixed rates", "rate_mixed", _rate_of_test),
        ("rate_told", "mixed rates, and told the rate", "rate_told", _rate_of_test),
        ("unseen", "trained on other queries", "unseen_queries", _as_it_is),
        ("seen", "trained on all queries", "rate_same", _split_by_template),
    ):
        yield Experiment(name, told, base, changes, students=False)


def _of_ablations() -> Iterator[Experiment]:
    """Networks without a part, by the load."""
    for what, base in ABLATED.items():
        for load in ABLATION_LOADS:
            yield Experiment(
                f"ablated_{what}_{load}",
                f"{what} at load {load} %",
                base,
                _rate_at(load),
                load in SMOKE_ABLATION_LOADS,
                episodes=20,
                students=False,
                group=f"ablated_{what}",
                policies=("weighted_fair", "teacher"),
            )


def _of_patches() -> Iterator[Experiment]:
    """A rule list with a patch and without it, and its network: where the patch is to serve, where it must not harm."""
    for name, told, changes in (
        ("patched_normal", "moves as ever", _as_it_is),
        ("patched_slow", "slow moves", _slow_moves),
    ):
        yield Experiment(
            name,
            told,
            "stream",
            changes,
            episodes=20,
            group="patched",
            policies=("weighted_fair", "rule_list", "teacher"),
            patches=(PATCH,),
        )


def _experiments() -> list[Experiment]:
    return [
        Experiment("batch", "20 jobs at time 0", "batch", _as_it_is),
        Experiment("stream", "a stream of jobs", "stream", _as_it_is, tasks=True),
        *_of_streams(),
        *_of_networks(),
        Experiment("imitated", "students as distilled", "imitated", _as_it_is),
        Experiment("changing", "quiet and crowded phases", "changing", _as_it_is),
        Experiment("industrial", "jobs like those of an industrial trace", "industrial", _as_it_is),
        *_of_ablations(),
        *_of_patches(),
    ]


EXPERIMENTS = Registry("experiment of the papers' figures", _experiments())


def groups_run(scale: str) -> dict[str, list[str]]:
    """What runs in one process at a scale: experiments by the name of their group, or their own.

    At the scale smoke, where a process takes longer to start than its episodes to run, all of a base run in one.
    """
    found: dict[str, list[str]] = {}
    for name in names_run(tuple(EXPERIMENTS), scale):
        experiment = EXPERIMENTS[name]
        found.setdefault(experiment.base if scale == "smoke" else experiment.group or name, []).append(name)
    return found


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
    if experiment.policies:
        settings = changed.evaluation.model_copy(update={"policies": experiment.policies})
        changed = changed.model_copy(update={"evaluation": settings})
    return _changed(changed, {"episodes": {"train": 1, "validation": 1, "test": most}})
