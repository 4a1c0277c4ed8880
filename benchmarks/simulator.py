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
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from settings import ROOT, SETTINGS, TIMED, WARMUP_DELAY_MS, Row, Setting, Stopwatch, command, episodes, load

from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Workload, simulate

__all__ = ["SETTINGS", "WARMUP_DELAY_MS", "Setting", "load"]  # other scripts import these from here

BATCH = 5
"""Episodes that are timed in one go."""


class Rates(NamedTuple):
    """What a simulator does in a CPU second."""

    task_events: float
    episodes: float
    decisions: float


def rates(profiles: Profiles, setting: Setting, cpu_seconds: float, *, record: bool = False) -> Rates:
    """Rates of the compiled simulator under the fair heuristic, over at least `cpu_seconds`."""
    policy = heuristic("fair").compiled

    def run(workload: Workload) -> EpisodeResult:
        return simulate(profiles, workload, policy, record_tasks=record, record_decisions=record)

    return timed(run, profiles, setting, cpu_seconds)


def timed(run: Callable[[Workload], EpisodeResult], profiles: Profiles, setting: Setting, cpu_seconds: float) -> Rates:
    """Run batches of episodes until `cpu_seconds` have been spent; a first one, which compiles, is not counted."""
    workloads = episodes(profiles, setting)
    run(next(episodes(profiles, setting)))
    watch, counted, tasks, decisions = Stopwatch(), 0, 0, 0
    while counted == 0 or watch.cpu_s < cpu_seconds:
        batch = list(islice(workloads, BATCH))
        with watch.running():
            results = [run(workload) for workload in batch]
        counted += len(results)
        tasks += sum(result.num_tasks for result in results)
        decisions += sum(result.num_decisions for result in results)
    return Rates(tasks / watch.cpu_s, counted / watch.cpu_s, decisions / watch.cpu_s)


def reference_rates(profiles: Profiles, setting: Setting, count: int) -> Rates:
    """Rates of the plain simulator, over `count` episodes."""
    sys.path.append(str(ROOT / "tests"))
    from reference_policies import fair
    from toys import run_reference

    watch, tasks, decisions = Stopwatch(), 0, 0
    for workload in islice(episodes(profiles, setting), count):
        with watch.running():
            finished = run_reference(profiles.trace, workload, fair, profiles.warmup_delay_ms)
        tasks += len(finished.tasks)
        decisions += len(finished.decisions)
    return Rates(tasks / watch.cpu_s, count / watch.cpu_s, decisions / watch.cpu_s)


def rows(profiles: Profiles, cpu_seconds: float, reference: int = 2) -> list[Row]:
    """Lines of the table (table.py): task events, episodes and decisions, and the plain simulator's task events."""
    fast = [rates(profiles, SETTINGS[name], cpu_seconds) for name in TIMED]
    if not reference:
        return [
            Row("task events", "per CPU s", fast[0].task_events, fast[1].task_events),
            Row("episodes", "per CPU s", fast[0].episodes, fast[1].episodes),
            Row("decisions", "per CPU s", fast[0].decisions, fast[1].decisions),
        ]
    slow = [reference_rates(profiles, SETTINGS[name], reference) for name in TIMED]
    lines = [
        Row(
            what.replace("_", " "),
            "per CPU s",
            *pair,
            *(quick / plain for quick, plain in zip(pair, plain, strict=True)),
        )
        for what, pair, plain in zip(Rates._fields, zip(*fast, strict=True), zip(*slow, strict=True), strict=True)
    ]
    plain = Row("task events of the plain simulator", "per CPU s", slow[0].task_events, slow[1].task_events, 1.0, 1.0)
    return [*lines, plain]


def main(arguments: argparse.Namespace, profiles: Profiles) -> None:
    answer: dict[str, dict[str, float]] = {}
    for name in TIMED:
        fast = rates(profiles, SETTINGS[name], arguments.cpu_seconds)
        for kind, value in fast._asdict().items():
            answer.setdefault(f"{kind}_per_cpu_second", {})[name] = value
        if arguments.reference:
            slow = reference_rates(profiles, SETTINGS[name], arguments.reference)
            answer.setdefault("reference_task_events_per_cpu_second", {})[name] = slow.task_events
            answer.setdefault("times_faster_than_reference", {})[name] = fast.task_events / slow.task_events
    if arguments.json:
        print(json.dumps(answer))
        return
    for name in TIMED:
        print(f"{SETTINGS[name]}, fair:")
        for kind, by_setting in answer.items():
            print(f"  {kind.replace('_', ' '):<42} {by_setting[name]:>14,.0f}")


if __name__ == "__main__":
    command(
        __doc__,
        main,
        cpu_seconds=3.0,
        reference={"type": int, "default": 0, "metavar": "EPISODES", "help": "compare with the plain simulator"},
        json={"action": "store_true", "help": "print JSON"},
    )
