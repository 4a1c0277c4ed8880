"""A network that others published, in our simulator: its mean JCT relative to fair's, and what our own policies reach.

    python benchmarks/published.py --profiles DIR [--checkpoint FILE] [--settings abc] [--episodes 40]
        [--policies FILE ...] [--json]

DIR is the tpch-decima folder, FILE the checkpoint of spark-sched-sim, downloaded without it. Every policy runs the same
episodes; ratios are of means, with a 95 % bootstrap interval over paired episodes. spark-sched-sim has another fair:
every active job has a share, here only one with demand, and of a job's ready stages the first by index is served, here
the one that opened first. "fair, stages by index" is ours but for the order, "fair of spark-sched-sim" has both.
`--policies`: rule lists, trees or searched policies, JSON files, to hold against the network.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from settings import SETTINGS, command

from clearsched.evaluation.policies import load_policy
from clearsched.problems.dag_jobs.graph import GLOBAL_FEATURES, JOB_FEATURES, NODE_FEATURES, Graph
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.episodes import NONE, Answers
from clearsched.teacher.policy import LOCKSTEP, TeacherPolicy
from clearsched.teacher.published import read_network
from clearsched.teacher.rollouts import run_lockstep

SEED = 17
RESAMPLES = 4000
NETWORK = "spark-sched-sim"
TUNED = {"p": 0.4, "m": 3.0}
"""Of capped SRPT: its defaults."""

_NODE, _JOB, _ALL = (
    [feature.name for feature in features] for features in (NODE_FEATURES, JOB_FEATURES, GLOBAL_FEATURES)
)
IS_SOURCE, IS_READY, DEMAND = _JOB.index("is_source"), _NODE.index("is_ready"), _NODE.index("demand")
TO_DECIDE, EXECUTORS = _ALL.index("executors_to_decide"), _ALL.index("num_executors")


class OtherFair:
    """Fair with the stage order of spark-sched-sim (`schedulers/heuristics/round_robin.py`), or with its shares too."""

    def __init__(self, every_job: bool) -> None:
        """`every_job`: whether every active job has a share, or only one with a stage of demand > 0."""
        self.every_job = every_job

    def run(self, instance: DagJobsInstance, episodes: list[Workload]) -> list[Any]:
        """Schedule each episode."""
        lockstep = instance.lockstep(episodes, LOCKSTEP)
        run_lockstep(lockstep, self.answer)
        return list(lockstep.results())

    def answer(self, graph: Graph) -> Answers:
        """The decisions of a graph, one after another."""
        found = [self.one(graph, b) for b in range(graph.num_decisions)]
        return Answers(*(np.array(column, np.int64) for column in zip(*found, strict=True)))

    def one(self, graph: Graph, b: int) -> tuple[int, int]:
        """Position of a candidate and the limit of its job; NONE where no job with a candidate is below its share."""
        jobs, nodes = (slice(start[b], start[b + 1]) for start in (graph.job_start, graph.node_start))
        candidates = graph.candidate_node[graph.candidate_start[b] : graph.candidate_start[b + 1]]
        job_of, ready = graph.node_job[candidates] - jobs.start, graph.nodes[candidates, IS_READY] == 1
        held, is_source = graph.job_held[jobs], graph.jobs[jobs, IS_SOURCE] == 1
        to_decide, executors = int(graph.totals[b, TO_DECIDE]), int(graph.totals[b, EXECUTORS])
        wanting = graph.node_job[nodes][graph.nodes[nodes, DEMAND] > 0]
        sharing = len(held) if self.every_job else len(np.unique(wanting))
        cap = int(np.ceil(executors / sharing - 1e-9))
        for j in [*np.flatnonzero(is_source), *np.flatnonzero(~is_source & (held < cap))]:
            own = np.flatnonzero(job_of == j)
            if len(own):
                first = own[ready[own]][0] if ready[own].any() else own[0]
                given = to_decide if is_source[j] else min(to_decide, cap - int(held[j]))
                return int(first), int(held[j]) + given
        return (NONE, 0) if graph.none_allowed[b] else (0, int(held[job_of[0]]) + to_decide)


def policies(checkpoint: Path | None, files: list[Path]) -> dict[str, Any]:
    """What is compared, by its name in the table; fair comes first."""
    network, _ = read_network(PROBLEM, NETWORK, checkpoint)
    found: dict[str, Any] = {
        "fair": heuristic("fair"),
        "fair, stages by index": OtherFair(every_job=False),
        "fair of spark-sched-sim": OtherFair(every_job=True),
        "network, argmax": TeacherPolicy(network, PROBLEM),
        "network, sampled": TeacherPolicy(network, PROBLEM, "sampled", SEED),
        "capped SRPT, defaults": heuristic("capped_srpt", **TUNED),
    }
    return found | {f"{path.parents[1].name}: {path.stem}": load_policy(PROBLEM, path) for path in files}


def mean_jct_s(policy: Any, instance: DagJobsInstance, episodes: list[Workload]) -> np.ndarray:
    """float64[episodes]."""
    return np.array([result.avg_jct_s for result in policy.run(instance, episodes)])


def ratio(values: np.ndarray, base: np.ndarray) -> tuple[float, float, float]:
    """Ratio of the means, and its 95 % interval over paired episodes."""
    drawn = np.random.default_rng(SEED).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1) / base[drawn].mean(axis=1), [0.025, 0.975])
    return float(values.mean() / base.mean()), float(low), float(high)


def measure(profiles: Profiles, name: str, compared: dict[str, Any], count: int) -> dict[str, dict[str, Any]]:
    """{policy: its mean JCT, and its ratios to both kinds of fair} in a setting."""
    setting, instance = SETTINGS[name], DagJobsInstance(profiles)
    episodes = [setting.episode(profiles.trace.num_profiles, SEED, index) for index in range(count)]
    values = {policy: mean_jct_s(run, instance, episodes) for policy, run in compared.items()}
    theirs = values["fair of spark-sched-sim"]
    return {
        policy: {
            "mean_jct_s": float(each.mean()),
            "to_fair": ratio(each, values["fair"]),
            "to_their_fair": ratio(each, theirs),
        }
        for policy, each in values.items()
    }


def run(given: argparse.Namespace, profiles: Profiles) -> None:
    """Measure and print."""
    compared = policies(given.checkpoint, given.policies)
    answer = {name: measure(profiles, name, compared, given.episodes) for name in given.settings}
    if given.json:
        print(json.dumps(answer, indent=2))
        return
    for name, rows in answer.items():
        print(f"{SETTINGS[name]}, {given.episodes} episodes")
        print(f"{'':<36}{'mean JCT, s':>12}{'to fair':>26}{'to that of spark-sched-sim':>30}")
        for policy, row in rows.items():
            ratios = [
                f"{mid:.3f} ({low:.3f} to {high:.3f})" for mid, low, high in (row["to_fair"], row["to_their_fair"])
            ]
            print(f"{policy:<36}{row['mean_jct_s']:>12.2f}{ratios[0]:>26}{ratios[1]:>30}")


if __name__ == "__main__":
    command(
        __doc__,
        run,
        checkpoint={"type": Path, "help": "of spark-sched-sim (default: it is downloaded)"},
        settings={"default": "abc", "help": "which of the settings, as letters (%(default)s)"},
        episodes={"type": int, "default": 40, "help": "episodes of each setting (%(default)s)"},
        policies={"type": Path, "nargs": "*", "default": [], "help": "JSON files of our own policies"},
        json={"action": "store_true", "help": "print JSON"},
    )
