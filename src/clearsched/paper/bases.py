"""The scenarios that the papers' figures are made from: policies are tuned, taken or trained once for each.

Each is a scenario of the workflow, made by its rules in results/<scale>-<base>/. At the scale `paper` they are the
published settings, those of scenarios/ (a test holds the two against each other); at the scale `smoke` the same with
few and small jobs, which come with the package, and with little effort.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from clearsched.params import Params, defaults, parse
from clearsched.params.scenarios import merge
from clearsched.registry import Registry

if TYPE_CHECKING:
    from clearsched.paper.settings import PaperParams

PROBLEM = "dag_jobs"
"""What the papers schedule."""

SCALES = ("smoke", "paper")

Values = Mapping[str, Any]


class Base(NamedTuple):
    """A scenario of the papers."""

    name: str
    label: str  # of the setting in captions: "20 jobs at time 0 on 50 executors"
    paper: Values  # what differs from the defaults at the scale paper, as in params.yaml
    smoke: Values  # what differs from that at the scale smoke


def _shipped(name: str) -> dict[str, Any]:
    """Teacher and searched policies of the package: nothing is trained."""
    return {source: {"source": "shipped", "shipped": name} for source in ("teacher", "search")}


CLUSTER = {"executors": 50, "moving_delay_s": 2.0, "warmup_delay_s": 1.0}

STUDENTS = {
    "names": ["rule_list", "boosted_trees", "pruned_tree", "fair_limit"],
    "refine": {"structures": 1, "rounds": 3, "evaluations": 150},
    "pareto": {
        "kinds": ["pruned_tree", "rule_list"],
        "sizes": [2, 4, 8, 16, 32, 64],
    },
}

COMMON_SMOKE: dict[str, Any] = {
    "traces": {"source": "tpch-spark", "path": None},
    "workload": {"executors": 6, "episodes": {"train": 16, "validation": 8, "test": 8}, "mean_interarrival_s": None},
    "heuristics": {
        "weighted_fair": {"alpha_min": -1.0, "alpha_max": 1.0, "alpha_step": 0.5},
        "capped_srpt": {"p": [0.3, 0.5], "m": [1.0, 2.0]},
    },
    "decisions": {"episodes": 4, "held_out": 2},
    "students": {
        "rule_list": {"max_rules": 3, "rescoring": {"trees": 5, "depth": 2}},
        "boosted_trees": {"trees": 5, "depth": 2},
        "refine": {"rounds": 0, "evaluations": 12, "episodes": 2, "population": 4},
        "limit_tree": {"leaves": 4},
        "dagger_rounds": 0,
        "dagger_episodes": 2,
        "pareto": {"kinds": ["pruned_tree", "rule_list"], "sizes": [2, 8]},
    },
    "evaluation": {"bootstrap": 999},
    "edge_cases": {"episodes": 4},
    "figures": {"dpi": 100},
}

BASES = Registry(
    "base of the paper's figures",
    (
        Base(
            "batch",
            "batches",
            {
                "traces": {"source": "tpch-decima"},
                "workload": {
                    **CLUSTER,
                    "arrivals": "batch",
                    "jobs": 20,
                    "episodes": {"train": 128, "validation": 64, "test": 100},
                },
                **_shipped("decima-a"),
                "students": STUDENTS,
            },
            merge(COMMON_SMOKE, {"workload": {"jobs": 8}, **_shipped("default")}),
        ),
        Base(
            "stream",
            "streams",
            {
                "traces": {"source": "tpch-decima"},
                "workload": {
                    **CLUSTER,
                    "arrivals": "poisson",
                    "mean_interarrival_s": 25.0,
                    "jobs": 200,
                    "episodes": {"train": 160, "validation": 32, "test": 40},
                },
                **_shipped("decima-b"),
                "students": STUDENTS,
            },
            merge(COMMON_SMOKE, {"workload": {"jobs": 16, "load": 0.85}, **_shipped("default")}),
        ),
    ),
)


def scenario_name(scale: str, base: str) -> str:
    """The scenario of a base: the name of its folder below results/."""
    return f"{scale}-{base}"


def scenarios_of(own: Params) -> dict[str, Params]:
    """The params of every base by the name of its scenario; of the user's own params the seed and `paper` hold.

    Raises:
        ClearschedError: the folder of the profiles is none.
    """
    return {scenario_name(own.paper.scale, name): params_of(own, name) for name in BASES}


def params_of(own: Params, name: str) -> Params:
    """The params of a base at the scale of the user's own params."""
    base, paper = BASES[name], own.paper
    values = merge(defaults(PROBLEM).model_dump(mode="json"), base.paper)
    values = merge(values, base.smoke if paper.scale == "smoke" else _profiles(paper, base))
    if paper.episodes is not None:
        most = min(paper.episodes, values["workload"]["episodes"]["test"])
        cases = min(paper.episodes, values["edge_cases"]["episodes"])
        values = merge(values, {"workload": {"episodes": {"test": most}}, "edge_cases": {"episodes": cases}})
    scenario = scenario_name(paper.scale, name)
    values |= {"scenario": scenario, "seed": own.seed, "paper": paper.model_dump(mode="json")}
    return parse(values, f"base {name} of the paper's figures")


def _profiles(paper: PaperParams, base: Base) -> Values:
    if base.paper["traces"]["source"] != "tpch-decima":
        return {}
    return {"traces": {"path": paper.profiles}}
