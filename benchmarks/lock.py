"""A rule list that locks the cluster in one of 300 streams, and what finds it and cures it.

    python benchmarks/lock.py --rule-list FILE --profiles DIR [--streams 300] [--trainings 10] [--guards] [--json]

FILE is the list, DIR the tpch-decima folder. The list, the list with a rule before it that cures it, tuned capped SRPT
and fair run the same streams under the published rules and with each correction that ends locks (docs/simulator.md
§10). Then the safety check (`search.safety`) meets the list and the cured one on other streams of training, of so many
seeds: how often it refuses them, and what it costs. `--guards`: in place of all that, the list on the stream that locks
with a guard (docs/guards.md) by who takes over and after how long a stall.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from settings import command

from clearsched.files import read_json, write_json
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.semantics import Semantics
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.policy import Policy
from clearsched.scorers.guard import Bound, Guard
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.search.safety import judge
from clearsched.search.trials import trials

JOBS, EXECUTORS, GAP_MS, MOVING_DELAY_MS, PROFILES = 200, 50, 25_000, 2000, 154
SEED = 123
"""Of the streams of which number `LOCKED` locks."""
LOCKED = 158
TRAINING = 192
"""Streams that a scenario of this setting trains and validates on."""

STALLS_S = (20.0, 100.0, 200.0, 1000.0)
"""After which a guard takes over."""

RULES = {
    "published": Semantics(),
    "offer_parked": Semantics(offer_parked=True),
    "back_up_parked": Semantics(back_up_parked=True),
    "help_first": Semantics(help_first=True),
}

CURE = {
    "if": "stage_is_ready >= 1 and stage_executors < 1 and job_sqrt_load >= 3 and job_executors >= 1",
    "score": 9.0,
    "share": 0.0,
}
"""A stage that is ready and has nobody, of a job that holds three times its share, comes first."""


def tuned() -> Policy:
    """Capped SRPT with the best of the default grid on twelve other streams."""
    return heuristic("capped_srpt", p=0.5, m=2.0)


def streams(count: int, seed: int = SEED) -> list[Workload]:
    """Poisson streams: each the same whatever the number of those after it."""
    rng = np.random.default_rng(seed)
    drawn = []
    for number in range(count):
        gaps = rng.exponential(GAP_MS, JOBS)
        gaps[0] = 0
        arrivals = np.cumsum(gaps).astype(np.int64)
        drawn.append(Workload(rng.integers(0, PROFILES, JOBS), arrivals, EXECUTORS, MOVING_DELAY_MS, seed=number))
    return drawn


def lists(path: Path) -> tuple[ScoredPolicy, ScoredPolicy]:
    """The list of a file, and the same after the rule that cures it."""
    content = read_json(path)
    with TemporaryDirectory() as folder:
        cured = Path(folder) / "cured.json"
        write_json(cured, {**content, "name": "cured", "rules": [CURE, *content["rules"]]})
        return load_policy(path, PROBLEM), load_policy(cured, PROBLEM)


def measure(profiles: Profiles, rule_list: Path, count: int) -> list[dict[str, Any]]:
    """One row a rule of the game and policy."""
    instance, rows = DagJobsInstance(profiles), []
    for rules, semantics in RULES.items():
        given = [replace(stream, semantics=semantics) for stream in streams(count)]
        base = np.array([outcome.avg_jct_s for outcome in tuned().run(instance, given)])
        for policy in (*lists(rule_list), tuned(), heuristic("fair")):
            begin = time.process_time()
            outcomes = policy.run(instance, given)
            jct_s = np.array([outcome.avg_jct_s for outcome in outcomes])
            rows.append(
                {
                    "rules": rules, "policy": policy.name, "jct_s": jct_s.mean(), "worst": (jct_s / base).max(),
                    "episode": int((jct_s / base).argmax()),
                    "stall_s": max(outcome.measures["stall_s"] for outcome in outcomes),
                    "parked_percent": max(outcome.measures["parked_percent"] for outcome in outcomes),
                    "cpu_s": time.process_time() - begin,
                }
            )  # fmt: skip
    return rows


def check(profiles: Profiles, rule_list: Path, seeds: int) -> list[dict[str, Any]]:
    """One row a policy: how many of the checks refuse it, and CPU time of one."""
    instance, rows = DagJobsInstance(profiles), []
    with trials(instance, PROBLEM.measures[0], 1) as runs:
        for policy in lists(rule_list):
            refused, begin = 0, time.process_time()
            for seed in range(seeds):
                training = streams(TRAINING, seed)
                verdict = judge(runs, [policy], heuristic("fair"), [*training, *instance.stressed(training)])[0]
                refused += verdict.strays
            rows.append(
                {"policy": policy.name, "refused": refused, "of": seeds, "cpu_s": (time.process_time() - begin) / seeds}
            )
    return rows


def guards(profiles: Profiles, rule_list: Path) -> list[dict[str, Any]]:
    """One row a heuristic: mean JCT of the stream that locks, s, by the stall after which it takes over, s."""
    instance, locks = DagJobsInstance(profiles), streams(LOCKED + 1)[LOCKED:]
    listed, _ = lists(rule_list)
    rows = []
    for name in PROBLEM.heuristics:
        row: dict[str, Any] = {"policy": name}
        for stall_s in STALLS_S:
            guard = Guard(name, {"stall_s": Bound(stall_s, stall_s / 2)})
            (outcome,) = replace(listed, guard=guard).run(instance, locks)
            row[f"{stall_s:g}"] = outcome.avg_jct_s
        rows.append(row)
    return rows


def main(arguments: argparse.Namespace, profiles: Profiles) -> None:
    if arguments.guards:
        told = guards(profiles, arguments.rule_list)
        print(json.dumps(told) if arguments.json else "")
        for row in [] if arguments.json else told:
            print(f"{row['policy']:<14}" + "".join(f"{key} s: {row[key]:.1f}".rjust(16) for key in list(row)[1:]))
        return
    rows = measure(profiles, arguments.rule_list, arguments.streams)
    found = check(profiles, arguments.rule_list, arguments.trainings)
    if arguments.json:
        print(json.dumps({"streams": rows, "check": found}))
        return
    print(f"{'rules':<14}{'policy':<13}{'JCT (s)':>9}{'worst':>8}{'stream':>8}{'stall (s)':>11}{'parked (%)':>12}")
    for row in rows:
        told = f"{row['jct_s']:>9.2f}{row['worst']:>8.2f}{row['episode']:>8}{row['stall_s']:>11.1f}"
        print(f"{row['rules']:<14}{row['policy']:<13}{told}{row['parked_percent']:>12.1f}")
    for row in found:
        print(f"{row['policy']}: {row['refused']} of {row['of']} checks refuse it, {row['cpu_s']:.1f} CPU s a check")


if __name__ == "__main__":
    command(
        __doc__,
        main,
        rule_list={"type": Path, "required": True, "help": "the rule list's file"},
        streams={"type": int, "default": 300, "help": "streams of 200 jobs (%(default)s)"},
        trainings={"type": int, "default": 10, "help": "seeds of training streams for the check (%(default)s)"},
        guards={"action": "store_true", "help": "the guards alone"},
        json={"action": "store_true", "help": "print JSON"},
    )
