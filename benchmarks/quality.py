"""How good the heuristics are: mean job completion time in the settings of the published comparisons.

    python benchmarks/quality.py [--profiles DIR_OR_TRACE] [--episodes N] [--settings a,b,c] [--json]

Settings: (a) a batch of 20 jobs on 50 executors, (b) 200 jobs that arrive every 25 s on average on 50 executors,
(c) a batch of 10 jobs on 10 executors. All policies run on the same episodes with the same task durations. The exponent
of weighted fair and of wsjf is tuned (-2 to 2 by 0.1) on episodes of another seed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from settings import SETTINGS, WARMUP_DELAY_MS, Setting, load, mean_jct_s

from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload

ALPHAS = [round(-2 + i / 10, 1) for i in range(41)]
TUNED_ON, MEASURED_ON = 1, 2
"""Seeds."""


def drawn(profiles: Profiles, setting: Setting, seed: int, episodes: int) -> list[Workload]:
    """The first episodes of a seed."""
    return [setting.episode(profiles.trace.num_profiles, seed, index) for index in range(episodes)]


def tuned_alpha(profiles: Profiles, setting: Setting, episodes: int, name: str) -> float:
    """The exponent with the lowest mean job completion time on the tuning seed."""
    workloads = drawn(profiles, setting, TUNED_ON, episodes)
    means = [mean_jct_s(profiles, workloads, name, alpha=alpha).mean() for alpha in ALPHAS]
    return ALPHAS[int(np.argmin(means))]


def measure(profiles: Profiles, setting: Setting, episodes: int, tuning_episodes: int) -> list[dict[str, object]]:
    """One row a policy: name, settings, mean JCT and its standard error, both in s."""
    runs: list[tuple[str, dict[str, float]]] = [("fifo", {}), ("sjf_cp", {}), ("fair", {})]
    for name in ("weighted_fair", "wsjf"):
        runs.append((name, {"alpha": tuned_alpha(profiles, setting, tuning_episodes, name)}))
    runs.append(("capped_srpt", {"p": 0.4, "m": 3.0}))
    rows, workloads = [], drawn(profiles, setting, MEASURED_ON, episodes)
    for name, parameters in runs:
        jct = mean_jct_s(profiles, workloads, name, **parameters)
        shown = ", ".join(f"{key}={value:g}" for key, value in parameters.items())
        error = float(jct.std(ddof=1) / len(jct) ** 0.5)
        rows.append({"policy": name, "settings": shown, "mean_jct_s": float(jct.mean()), "standard_error_s": error})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", type=Path, help="trace file or tpch-decima folder (default: the embedded trace)")
    parser.add_argument("--episodes", type=int, default=100, help="episodes of each setting")
    parser.add_argument("--tuning-episodes", type=int, default=20, help="episodes that alpha is tuned on")
    parser.add_argument("--settings", default="a,b,c", help="settings to run, separated by commas")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    chosen = arguments.settings.split(",")
    if arguments.episodes < 2 or not set(chosen) <= set(SETTINGS):
        parser.error(f"at least 2 episodes, and settings out of {','.join(SETTINGS)}")

    profiles = compile_profiles(load(arguments.profiles), WARMUP_DELAY_MS)
    answer = {}
    for name in chosen:
        setting = SETTINGS[name]
        answer[name] = measure(profiles, setting, arguments.episodes, arguments.tuning_episodes)
        if arguments.json:
            continue
        print(f"{setting}, {arguments.episodes} episodes:")
        print(f"  {'policy':<16}{'settings':<14}{'mean JCT (s)':>14}{'std. error (s)':>16}")
        for row in answer[name]:
            numbers = f"{row['mean_jct_s']:>14.2f}{row['standard_error_s']:>16.2f}"
            print(f"  {row['policy']:<16}{row['settings']:<14}{numbers}")
        sys.stdout.flush()
    if arguments.json:
        print(json.dumps(answer))


if __name__ == "__main__":
    main()
