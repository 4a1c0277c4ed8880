"""What the corrections and faults of the simulator change: mean job completion time against the published rules.

    python benchmarks/corrections.py [--profiles DIR_OR_TRACE] [--episodes N] [--settings a,b] [--json]

Episodes are paired: the same jobs, arrivals and task durations with and without the change. A cell is the change of the
mean in percent, with its 95 % confidence interval.
"""

from __future__ import annotations

import argparse
import json

import numpy as np
from settings import SETTINGS, Setting, command, mean_jct_s

from clearsched.errors import ClearschedError
from clearsched.evaluation.statistics import generator, paired_difference
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import Semantics

CHANGES = {
    "work_conserving": Semantics(work_conserving=True),
    "offer_at_completion": Semantics(offer_at_completion=True),
    "right_interpolation": Semantics(right_interpolation=True),
    "spark_fifo": Semantics(spark_fifo=True),
    "offer_parked": Semantics(offer_parked=True),
    "back_up_parked": Semantics(back_up_parked=True),
    "ask_each_task": Semantics(ask_each_task=True),
    "failures: 6 an hour, back after 10 s": Semantics(failures_per_hour=6.0),
    "stragglers: 5 % of tasks, 4 times longer": Semantics(straggler_probability=0.05, straggler_slowdown=4.0),
}
POLICIES: dict[str, dict[str, float]] = {"fifo": {}, "fair": {}, "capped_srpt": {"p": 0.4, "m": 3.0}}
SEED = 4


def jct_s(profiles: Profiles, setting: Setting, episodes: int, name: str, rules: Semantics) -> np.ndarray:
    """float64[episodes]: the mean job completion time of each episode under given rules, s."""
    count = profiles.trace.num_profiles
    workloads = [setting.episode(count, SEED, index, rules) for index in range(episodes)]
    return mean_jct_s(profiles, workloads, name, **POLICIES[name])


def measure(profiles: Profiles, setting: Setting, episodes: int) -> list[dict[str, object]]:
    """One row a change and policy: mean JCT without and with it, s, and the change in percent with its interval."""
    rows: list[dict[str, object]] = []
    for name in POLICIES:
        published = jct_s(profiles, setting, episodes, name, Semantics())
        for change, rules in CHANGES.items():
            if rules.spark_fifo and name != "fifo":
                continue
            changed = jct_s(profiles, setting, episodes, name, rules)
            difference = paired_difference(changed, published, generator(SEED)).scaled(100 / published.mean())
            rows.append(
                {
                    "change": change, "policy": name,
                    "published_jct_s": published.mean(), "changed_jct_s": changed.mean(),
                    "percent": difference.mean, "low": difference.low, "high": difference.high,
                }
            )  # fmt: skip
    return rows


def main(arguments: argparse.Namespace, profiles: Profiles) -> None:
    chosen = arguments.settings.split(",")
    if arguments.episodes < 2 or not set(chosen) <= set(SETTINGS):
        raise ClearschedError(f"at least 2 episodes, and settings out of {','.join(SETTINGS)}")
    answer = {name: measure(profiles, SETTINGS[name], arguments.episodes) for name in chosen}
    if arguments.json:
        print(json.dumps(answer))
        return
    for name, rows in answer.items():
        print(f"{SETTINGS[name]}, {arguments.episodes} episodes:")
        print(f"  {'change':<42}{'policy':<13}{'before (s)':>11}{'after (s)':>11}{'change (%)':>12}  95 % interval")
        for row in rows:
            means = f"{row['published_jct_s']:>11.2f}{row['changed_jct_s']:>11.2f}{row['percent']:>12.2f}"
            print(f"  {row['change']:<42}{row['policy']:<13}{means}  {row['low']:.2f} to {row['high']:.2f}")


if __name__ == "__main__":
    command(
        __doc__,
        main,
        episodes={"type": int, "default": 100, "help": "episodes of each setting (%(default)s)"},
        settings={"default": "a,b", "help": "settings to run, separated by commas (%(default)s)"},
        json={"action": "store_true", "help": "print JSON"},
    )
