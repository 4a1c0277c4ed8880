"""How fast the compiled simulator is: task events, episodes and decisions per CPU second under the fair heuristic.

    python benchmarks/simulator.py [--profiles DIR_OR_TRACE] [--cpu-seconds S] [--reference EPISODES] [--json]

The settings are those in which the published simulators were measured: (a) a batch of 20 jobs on 50 executors,
(b) 200 jobs that arrive every 25 s on average on 50 executors. CPU seconds of one thread; compilation is not counted.
`--reference` compares with tests/reference_simulator.py, the plain Python simulator of the same rules.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clearsched.policies import heuristic
from clearsched.problems.dag_jobs.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.rules import PUBLISHED, Rules
from clearsched.problems.dag_jobs.simulate import EpisodeResult, Workload, simulate
from clearsched.traces import Trace, load_profiles, tpch_spark

ROOT = Path(__file__).parents[1]
MOVING_DELAY_MS = 2000
WARMUP_DELAY_MS = 1000


@dataclass(frozen=True)
class Setting:
    """A cluster and the jobs that arrive at it, drawn uniformly from the profiles."""

    name: str
    jobs: int
    num_executors: int
    mean_interarrival_ms: int  # 0: all at time 0

    def __str__(self) -> str:
        every = self.mean_interarrival_ms / 1000
        arrivals = f"Poisson, one every {every:g} s" if every else "all at time 0"
        return f"({self.name}) {self.jobs} jobs, {arrivals}, {self.num_executors} executors"

    def episode(self, num_profiles: int, seed: int, index: int, rules: Rules = PUBLISHED) -> Workload:
        """Episode number `index` of a seed: the same whatever else was drawn."""
        generator = np.random.default_rng([seed, ord(self.name), index])
        profile = generator.integers(num_profiles, size=self.jobs)
        gaps = generator.exponential(self.mean_interarrival_ms, self.jobs)
        gaps[0] = 0
        arrival_ms = np.cumsum(gaps).astype(np.int64)
        duration_seed = int(generator.integers(2**63 - 1))
        return Workload(profile, arrival_ms, self.num_executors, MOVING_DELAY_MS, duration_seed, rules=rules)


SETTINGS = {
    "a": Setting("a", 20, 50, 0),
    "b": Setting("b", 200, 50, 25_000),
    "c": Setting("c", 10, 10, 0),
}


def load(path: Path | None) -> Trace:
    """A trace file, a folder of the `tpch-decima` layout, or the embedded trace."""
    return load_profiles(path if path is not None else ROOT / tpch_spark.EMBEDDED)


def rates(profiles: Profiles, setting: Setting, cpu_seconds: float) -> dict[str, float]:
    """Task events, episodes and decisions per CPU second, over at least `cpu_seconds`."""
    policy = heuristic("fair").compiled
    return timed(lambda workload: simulate(profiles, workload, policy), profiles, setting, cpu_seconds)


def timed(
    run: Callable[[Workload], EpisodeResult], profiles: Profiles, setting: Setting, cpu_seconds: float
) -> dict[str, float]:
    """Run episodes until `cpu_seconds` have been spent; the first one, which compiles, is not counted."""
    num_profiles = profiles.trace.num_profiles
    run(setting.episode(num_profiles, 0, 0))
    tasks = episodes = decisions = 0
    spent = 0.0
    while spent < cpu_seconds:
        batch = [setting.episode(num_profiles, 0, episodes + i) for i in range(5)]
        begin = time.process_time()
        results = [run(workload) for workload in batch]
        spent += time.process_time() - begin
        episodes += len(results)
        tasks += sum(result.num_tasks for result in results)
        decisions += sum(result.num_decisions for result in results)
    return {"task_events": tasks / spent, "episodes": episodes / spent, "decisions": decisions / spent}


def reference_rate(trace: Trace, setting: Setting, episodes: int) -> float:
    """Task events per CPU second of the plain simulator."""
    sys.path.append(str(ROOT / "tests"))
    from reference_policies import fair
    from toys import run_reference

    tasks, begin = 0, time.process_time()
    for index in range(episodes):
        workload = setting.episode(trace.num_profiles, 0, index)
        tasks += len(run_reference(trace, workload, fair, WARMUP_DELAY_MS).tasks)
    return tasks / (time.process_time() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", type=Path, help="trace file or tpch-decima folder (default: the embedded trace)")
    parser.add_argument("--cpu-seconds", type=float, default=3.0, help="CPU time to spend on each setting, s")
    parser.add_argument("--reference", type=int, default=0, metavar="EPISODES", help="compare with the plain simulator")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()

    trace = load(arguments.profiles)
    profiles = compile_profiles(trace, WARMUP_DELAY_MS)
    answer: dict[str, dict[str, float]] = {}
    for name in ("a", "b"):
        setting = SETTINGS[name]
        for kind, rate in rates(profiles, setting, arguments.cpu_seconds).items():
            answer.setdefault(f"{kind}_per_cpu_second", {})[name] = rate
        if arguments.reference:
            slow = reference_rate(trace, setting, arguments.reference)
            answer.setdefault("reference_task_events_per_cpu_second", {})[name] = slow
            ratio = answer["task_events_per_cpu_second"][name] / slow
            answer.setdefault("times_faster_than_reference", {})[name] = ratio
    if arguments.json:
        print(json.dumps(answer))
        return
    for name in ("a", "b"):
        print(f"{SETTINGS[name]}, fair:")
        for kind, by_setting in answer.items():
            print(f"  {kind.replace('_', ' '):<42} {by_setting[name]:>14,.0f}")


if __name__ == "__main__":
    main()
