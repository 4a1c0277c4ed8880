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
from clearsched.problems import DEFAULT
from clearsched.registry import Registry

if TYPE_CHECKING:
    from clearsched.paper.settings import PaperParams

PROBLEM = DEFAULT
"""What the papers schedule."""

SCALES = ("smoke", "paper")

TRAINING_SEEDS = {"smoke": 1, "paper": 3}
"""Where `paper.training_seeds` does not say otherwise."""

Values = Mapping[str, Any]


class Base(NamedTuple):
    """A scenario of the papers."""

    name: str
    label: str  # of the setting in captions: "20 jobs at time 0 on 50 executors"
    paper: Values  # what differs from the defaults at the scale paper, as in params.yaml
    smoke: Values  # what differs from that at the scale smoke
    seeds: bool = True  # whether its networks and students have several training seeds


def _shipped(name: str) -> dict[str, Any]:
    """Teacher and searched policies of the package: nothing is trained."""
    return {source: {"source": "shipped", "shipped": name} for source in ("teacher", "search")}


CLUSTER = {"executors": 50, "moving_delay_s": 2.0, "warmup_delay_s": 1.0}

STUDENTS = {
    "names": [*defaults(PROBLEM).students.names, "pruned_tree", "fair_limit"],
    "refine": {"structures": 1, "rounds": 3, "evaluations": 150},
    "pareto": {
        "kinds": ["pruned_tree", "rule_list"],
        "sizes": [2, 4, 8, 16, 32],  # of 64 leaves a tree alone took more than a quarter of an hour
    },
}

IMITATORS = [*defaults(PROBLEM).students.names, "pruned_tree", "fair_limit", "pairwise_forest"]
"""Held against the network as distilled: what refinement makes of a student imitates nobody."""

COMMON_SMOKE: dict[str, Any] = {
    "traces": {"source": "tpch-spark", "path": None},
    "workload": {
        "executors": 6,
        "episodes": {"train": 16, "validation": 4, "test": 8},
        "mean_interarrival_s": None,
        "stress": 0.02,
    },
    "heuristics": {
        "weighted_fair": {"alpha_min": -1.0, "alpha_max": 1.0, "alpha_step": 0.5},
        "capped_srpt": {"p": [0.3, 0.5], "m": [1.0, 2.0]},
    },
    "decisions": {"episodes": 4, "held_out": 2},
    "students": {
        "rule_list": {"max_rules": 3, "rescoring": {"trees": 5, "depth": 2}},
        "refine": {"rounds": 0, "evaluations": 12, "episodes": 2, "population": 4},
        "limit_tree": {"leaves": 4},
        "dagger_rounds": 0,
        "dagger_episodes": 2,
        "pareto": {"kinds": ["pruned_tree", "rule_list"], "sizes": [4]},
        # A process each: the others are fitted by tests of their own.
        "names": list(defaults(PROBLEM).students.names),
    },
    "evaluation": {"bootstrap": 999},
    "edge_cases": {"episodes": 4},
    "figures": {"dpi": 100},
}

SMALL_TRAINING: dict[str, Any] = {
    "search": {"evaluations": 8, "restarts": 2, "episodes": 4, "population": 4},
    "teacher": {
        "network": {"embedding": 4, "hidden": 8, "rounds": 2},
        "clone": {"episodes": 3, "dagger_rounds": 1, "epochs": 1, "batch_size": 64},
        "improve": {"iterations": 1, "sequences": 2, "rollouts": 2, "epochs": 1, "batch_size": 128},
    },
}
"""A training of seconds, for the scale smoke: one of each kind. Where two bases train alike there, one is shipped."""

TRAINING: dict[str, Any] = {"search": {"evaluations": 1000, "restarts": 2}, "teacher": {"seeds": 1}}
"""At the scale paper: some six CPU minutes a base, and one network each."""

_STREAM: dict[str, Any] = {
    **CLUSTER,
    "arrivals": "poisson",
    "mean_interarrival_s": 25.0,
    "jobs": 200,
    "episodes": {"train": 160, "validation": 32, "test": 40},
}

INDUSTRIAL: dict[str, Any] = {
    "traces": {"source": "alibaba-like", "alibaba_like": {"jobs": 2000}},
    "workload": {
        "executors": 50,
        "corrections": {"offer_at_completion": True, "back_up_parked": True},
        "episodes": {"train": 512},
        "safety_cases": ["executors_lost"],
    },
    "search": {"families": ["reserve"], "evaluations": 2000, "restarts": 10},
    "teacher": {
        "clone": {
            "episodes": 48,
            "dagger_rounds": 5,
            "epochs": 8,
            "tolerance": None,
            "safety_rounds": 6,
            "safety_episodes": 2000,
        }
    },
    "decisions": {"episodes": 256},
    "students": {
        "names": ["rule_list"],
        "dagger_episodes": 64,
        "sampling": {"by": "importance"},
        "rule_list": {"max_rules": 16},
    },
}
"""As scenarios/alibaba-like.yaml, whose corrections of the rules of the game it takes for policies to be safe.

Unlike those of other bases its networks are three with one training seed too: the scenario keeps the best of them.
"""

SMALL_INDUSTRIAL: dict[str, Any] = {
    "traces": {"source": "alibaba-like", "alibaba_like": {"jobs": 60, "max_stages": 8, "max_tasks": 30}},
    "workload": {"jobs": 10},
    **merge(
        {"search": {"families": list(defaults(PROBLEM).search.families)}, "teacher": SMALL_TRAINING["teacher"]},
        _shipped("default"),
    ),
}
"""For the scale smoke: the largest jobs of the trace would take its time."""

BATCH_IMPROVE = {"iterations": 16, "rollouts": 8, "horizon": 1000, "trace": None, "validate_every": 4}
STREAM_IMPROVE = {"iterations": 8, "validate_every": 4}
"""How the shipped networks were trained: those of further training seeds are too (scenarios/decima-a, decima-b)."""

OTHER_RATE = 75 / 45
"""How much longer between arrivals than in the test, in table 2 of Decima."""


def _objective(
    name: str, label: str, smoke: Values = SMALL_TRAINING, teacher: Values | None = None, **workload: Any
) -> Base:
    """As scenarios/objective-*.yaml: batches for one objective or another, with or without a cost of moving.

    `smoke`: where network and searched policy are from at the scale smoke; so below. `teacher`: of its own settings.
    """
    common = {"arrivals": "batch", "jobs": 20, "executors": 10, "moving_delay_s": 2.0, "episodes": {"test": 100}}
    jobs = {"tpch_spark": {"sizes": ["0.5g", "1g", "2g", "5g", "10g"]}}
    small = merge(COMMON_SMOKE, {"workload": {"jobs": 6}, **smoke})
    training = merge(TRAINING, {"teacher": teacher or {}})
    return Base(name, label, {"traces": jobs, "workload": common | workload, **training}, small)


def _rate(name: str, label: str, times: float = 1.0, smoke: Values = SMALL_TRAINING, **changed: Values) -> Base:
    """Streams for a network of its own, so many times as long between arrivals; `changed`: sections, merged into it."""
    workload = _STREAM | {"mean_interarrival_s": 25.0 * times}
    paper = merge({"traces": {"source": "tpch-decima"}, "workload": workload, **TRAINING}, changed)
    small = merge(COMMON_SMOKE, {"workload": {"jobs": 10, "load": 0.85 / times}, **smoke})
    return Base(name, label, paper, merge(small, _kept(changed)))


def _kept(changed: Mapping[str, Values]) -> Values:
    """Of what a base changes, what the scale smoke would set otherwise: the size of the network."""
    network = changed.get("teacher", {}).get("network", {})
    return {"teacher": {"network": network}} if network else {}


LAST_JOB = {"clone": {"safety_rounds": 3}, "improve": {"iterations": 12, "validate_every": 1, "anchor": 0.1}}
"""How a network for the makespan is trained to be safe, as in scenarios/objective-makespan.yaml."""

MIXED = {"mixed_rates": {"least": 1.0, "most": OTHER_RATE}}
"""From the rate of the test to the other one. Which rates Decima mixed is not told here: see docs/paper.md."""


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
                **merge(_shipped("decima-a"), {"teacher": {"improve": BATCH_IMPROVE}}),
                "students": STUDENTS,
            },
            merge(COMMON_SMOKE, {"workload": {"jobs": 8}, **_shipped("default")}),
        ),
        Base(
            "stream",
            "streams",
            {
                "traces": {"source": "tpch-decima"},
                "workload": _STREAM,
                **merge(_shipped("decima-b"), {"teacher": {"improve": STREAM_IMPROVE}}),
                "students": STUDENTS,
            },
            merge(COMMON_SMOKE, {"workload": {"jobs": 16, "load": 0.85}, **_shipped("default")}),
        ),
        Base(
            "imitated",
            "streams, students as distilled",
            {
                "traces": {"source": "tpch-decima"},
                # Of the stress a part: whether they pass it is told, nothing is chosen by it.
                "workload": _STREAM | {"stress": 0.05},
                **_shipped("decima-b"),
                "students": {"names": IMITATORS, "refine": {"rounds": 0}},
            },
            merge(
                COMMON_SMOKE,
                {
                    "workload": {"jobs": 16, "load": 0.85},
                    **_shipped("default"),
                    "students": {"names": ["rule_list", "pairwise_forest"], "pairwise_forest": {"trees": 2}},
                },
            ),
            seeds=False,
        ),
        Base(
            "changing",
            "streams of quiet and crowded phases",
            {
                "traces": {"source": "tpch-decima"},
                "workload": _STREAM
                | {
                    "arrivals": "bursty",
                    "bursty": {"factor": 5.0, "burst_s": 1000.0, "calm_s": 3000.0},
                    "load": 0.7,
                    "mean_interarrival_s": None,
                    # As in scenarios/decima-b.yaml: else nearly every step of a refinement is refused.
                    "help_first": True,
                },
                **_shipped("decima-b"),
                "students": merge(STUDENTS, {"names": [*defaults(PROBLEM).students.names, "switch"]}),
            },
            merge(
                COMMON_SMOKE,
                {
                    "workload": {"jobs": 16, "bursty": {"burst_s": 20.0, "calm_s": 60.0}},
                    **_shipped("default"),
                    "students": {"names": [*defaults(PROBLEM).students.names, "switch"], "switch": {"thresholds": 1}},
                },
            ),
            seeds=False,
        ),
        Base(
            "industrial",
            "streams of jobs like those of an industrial trace",
            INDUSTRIAL,
            merge(COMMON_SMOKE, SMALL_INDUSTRIAL),
        ),
        _objective("objective_jct", "batches, for the mean JCT", _shipped("default"), objective="jct_s"),
        _objective("objective_makespan", "batches, for the makespan", teacher=LAST_JOB, objective="makespan_s"),
        _objective(
            "objective_moving",
            "batches, for the mean JCT, moves are free",
            _shipped("default"),
            objective="jct_s",
            moving_delay_s=0.0,
        ),
        _rate("rate_same", "a network trained at the rate of the test"),
        _rate("rate_other", "a network trained at another rate", OTHER_RATE, _shipped("default")),
        _rate("rate_mixed", "a network trained on mixed rates", smoke=_shipped("default"), workload=MIXED),
        _rate(
            "rate_told",
            "a network trained on mixed rates that is told the rate",
            workload=MIXED,
            teacher={"network": {"rate": True}},
        ),
        _rate(
            "unseen_queries",
            "a network that never saw the test's queries",
            smoke=_shipped("default"),
            workload={"split": "template"},
        ),
        _rate("ablated_graph", "no graph embedding", teacher={"network": {"rounds": 0}}),
        _rate("ablated_limits", "no limit control", teacher={"network": {"levels": "most"}}),
        _rate(
            "ablated_baseline",
            "no input-dependent baseline",
            smoke=_shipped("default"),
            teacher={"improve": {"baseline": "iteration"}},
        ),
        _rate(
            "ablated_stream",
            "trained on batches only",
            smoke=_shipped("default"),
            workload={"arrivals": "batch", "jobs": 20, "mean_interarrival_s": None},
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
    if base.seeds and (seeds := training_seeds(own)) > 1:
        values = merge(values, {"teacher": {"source": "train", "seeds": seeds}, "students": {"seeds": seeds}})
        if paper.scale == "smoke":
            values = merge(values, {"teacher": SMALL_TRAINING["teacher"]})
    scenario = scenario_name(paper.scale, name)
    values |= {"scenario": scenario, "seed": own.seed, "paper": paper.model_dump(mode="json")}
    return parse(values, f"base {name} of the paper's figures")


def training_seeds(own: Params) -> int:
    """How often networks are trained and students fitted."""
    return own.paper.training_seeds or TRAINING_SEEDS[own.paper.scale]


def network_seeds(own: Params) -> dict[str, int]:
    """The networks of each base: its training seeds; one that is taken was chosen already."""
    found = {name: params_of(own, name).teacher for name in BASES}
    return {name: teacher.seeds if teacher.source == "train" else 1 for name, teacher in found.items()}


def _profiles(paper: PaperParams, base: Base) -> Values:
    if base.paper["traces"].get("source") != "tpch-decima":
        return {}
    return {"traces": {"path": paper.profiles}}
