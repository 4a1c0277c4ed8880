"""Write the golden episodes of tests/golden: `python tests/make_golden.py [NAME ...]`, by hand, from the repository.

An episode is a file: the cluster, the jobs out of the embedded trace, the rules (but `idling`, which heuristics are not
bound by), and what comes out under each policy in the plain simulator (reference_simulator.py). `test_golden.py` asks
the compiled simulator for the same.

Of each policy the file holds the completion times, and of the rows of decisions (docs/simulator.md §9) and of task
starts the number, the first rows and the SHA-256 of all. A task row is (start_ms, duration_ms, job, stage, wave); in
episodes with faults the number of the attempt and whether it failed follow.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.problems.dag_jobs.simulator.simulate import Semantics, Workload
from clearsched.problems.dag_jobs.traces import Trace, make_trace
from clearsched.problems.dag_jobs.workloads import sampling
from reference_policies import Fifo, capped_srpt, fair, local_srpt, sjf_cp, weighted_fair, wsjf
from reference_simulator import Policy
from toys import micro_trace, run_reference

FOLDER = Path(__file__).parent / "golden"
NUM_FIRST_ROWS = 20
WARMUP_DELAY_MS = 1000
UPPER_LEVEL = 8

SETTINGS: dict[str, dict[str, float]] = {
    "fifo": {},
    "fair": {},
    "sjf_cp": {},
    "weighted_fair": {"alpha": -0.5},
    "wsjf": {"alpha": -1.0},
    "capped_srpt": {"p": 0.4, "m": 3.0},
    "local_srpt": {"p": 0.5, "m": 2.0},
}
"""The policies and their parameters, where an episode does not say otherwise."""

FAULTS: dict[str, Any] = {
    "failures_per_hour": 1000.0,
    "recovery_ms": 5000,
    "straggler_probability": 0.05,
    "straggler_slowdown": 3.0,
}

UNTOLD = ("idling", "outage_executors", "outage_from_ms", "outage_until_ms")
"""Rules that no golden episode changes."""

STINGY = {**SETTINGS, "local_srpt": {"p": 0.5, "m": 0.5}}
"""With limits that leave executors idle, so that it matters when they are offered again."""


def only(*names: str) -> dict[str, dict[str, float]]:
    """Some of the policies."""
    return {name: SETTINGS[name] for name in names}


@dataclass(frozen=True)
class Episode:
    """What is to be drawn.

    Attributes:
        num_executors, num_jobs, moving_delay_ms, seed: as in `Workload`.
        interarrival_ms: mean time between two arrivals (exponential); 0 for a batch.
        mean_durations: rounded means instead of draws.
        policies: parameters by name.
        rules: fields of `Semantics`.
        wide_levels: the upper of the two levels of the trace (1 and 2) is called 8, so that levels have to be drawn.
    """

    num_executors: int
    num_jobs: int
    seed: int
    interarrival_ms: float = 0.0
    mean_durations: bool = False
    moving_delay_ms: int = 2000
    policies: dict[str, dict[str, float]] = field(default_factory=lambda: SETTINGS)
    rules: dict[str, Any] = field(default_factory=dict)
    wide_levels: bool = False


EPISODES = {
    "batch-1": Episode(1, 3, 1, mean_durations=True),
    "batch-5": Episode(5, 5, 2),
    "poisson-5-nodelay": Episode(5, 6, 3, interarrival_ms=3000, mean_durations=True, moving_delay_ms=0),
    "poisson-10": Episode(10, 10, 4, interarrival_ms=2000),
    "batch-50": Episode(50, 10, 5, mean_durations=True),
    "poisson-50-nodelay": Episode(50, 12, 6, interarrival_ms=800, moving_delay_ms=0),
    "poisson-200": Episode(200, 12, 7, interarrival_ms=200, policies=only("fifo", "fair", "capped_srpt")),
    "batch-200-nodelay": Episode(200, 8, 8, mean_durations=True, moving_delay_ms=0, policies=only("fifo", "wsjf")),
    "wide-levels-10": Episode(10, 8, 9, interarrival_ms=1500, policies=only("fifo", "fair"), wide_levels=True),
    "work-conserving-10": Episode(10, 10, 10, interarrival_ms=1500, policies=STINGY, rules={"work_conserving": True}),
    "right-interpolation-10": Episode(
        10,
        8,
        9,
        interarrival_ms=1500,
        policies=only("fifo", "fair"),
        rules={"right_interpolation": True},
        wide_levels=True,
    ),
    "spark-fifo-10": Episode(
        10, 10, 11, interarrival_ms=1500, policies=only("fifo", "fair"), rules={"spark_fifo": True}
    ),
    "failures-10": Episode(10, 8, 12, interarrival_ms=1500, rules={"failures_per_hour": 2000.0, "recovery_ms": 3000}),
    "stragglers-5": Episode(
        5, 5, 13, mean_durations=True, rules={"straggler_probability": 0.1, "straggler_slowdown": 4.0}
    ),
    "offer-parked-10": Episode(10, 12, 15, interarrival_ms=1500, policies=STINGY, rules={"offer_parked": True}),
    "back-up-parked-10": Episode(10, 12, 16, interarrival_ms=1500, policies=STINGY, rules={"back_up_parked": True}),
    "offer-at-completion-10": Episode(
        10, 12, 17, interarrival_ms=1500, policies=STINGY, rules={"offer_at_completion": True}
    ),
    "all-rules-50": Episode(
        50,
        10,
        14,
        interarrival_ms=500,
        rules={"work_conserving": True, "right_interpolation": True, "spark_fifo": True, **FAULTS},
        wide_levels=True,
    ),
}


LATER = ("offer_parked", *sampling.LATER)
"""Rules that came after the first golden files were written."""


def told_rules(rules: Semantics) -> dict[str, Any]:
    """The rules of an episode as its file has them: the later corrections only where they are on, `UNTOLD` never."""
    told = asdict(rules)
    left_out = {*UNTOLD, *(name for name in LATER if not told[name])}
    return {name: value for name, value in told.items() if name not in left_out}


def plain_policy(name: str, settings: dict[str, float]) -> Policy:
    """A heuristic in its plain form."""
    if name == "fifo":
        return Fifo()
    if settings:
        known = {"weighted_fair": weighted_fair, "wsjf": wsjf, "capped_srpt": capped_srpt, "local_srpt": local_srpt}
        return known[name](**settings)
    return {"fair": fair, "sjf_cp": sjf_cp}[name]


def golden_trace(wide_levels: bool) -> Trace:
    """The embedded trace, as it is or with its upper level renamed."""
    trace = micro_trace()
    if not wide_levels:
        return trace
    lower, upper = trace.levels
    rows = trace.stages.to_pylist()
    for row in rows:
        for entry in row["durations"]:
            entry["level"] = UPPER_LEVEL if entry["level"] == upper else entry["level"]
    return make_trace(rows, {"source": "golden", "levels": [lower, UPPER_LEVEL]}, "golden")


def description(episode: Episode) -> dict[str, Any]:
    """What the file says of an episode: all that a simulator needs to run it."""
    generator = random.Random(episode.seed)
    trace = micro_trace()
    arrival, jobs = 0.0, []
    for _ in range(episode.num_jobs):
        row = trace.jobs.slice(int(generator.random() * trace.num_profiles), 1).to_pylist()[0]
        jobs.append({"query": row["query"], "size": row["size"], "arrival_ms": math.floor(arrival)})
        arrival += -math.log(1 - generator.random()) * episode.interarrival_ms
    return {
        "num_executors": episode.num_executors,
        "moving_delay_ms": episode.moving_delay_ms,
        "warmup_delay_ms": WARMUP_DELAY_MS,
        "durations": "mean" if episode.mean_durations else "drawn",
        "seed": episode.seed,
        "wide_levels": episode.wide_levels,
        "rules": told_rules(Semantics(**episode.rules)),
        "policies": episode.policies,
        "jobs": jobs,
    }


def golden_workload(content: dict[str, Any], trace: Trace) -> Workload:
    """The episode that a file describes."""
    jobs = content["jobs"]
    return Workload(
        np.array([trace.find(job["query"], job["size"]) for job in jobs], np.int64),
        np.array([job["arrival_ms"] for job in jobs], np.int64),
        content["num_executors"],
        content["moving_delay_ms"],
        content["seed"],
        content["durations"] == "mean",
        Semantics(**content["rules"]),
    )


def summary(
    decisions: Sequence[Any], tasks: Sequence[Any], completions_ms: list[int], rules: Semantics
) -> dict[str, Any]:
    """What a file holds of one policy's run."""
    faulty = rules.failures_per_hour > 0 or rules.straggler_probability > 0
    result: dict[str, Any] = {"completion_ms": completions_ms}
    for name, rows in (("decisions", decisions), ("tasks", [row[: 7 if faulty else 5] for row in tasks])):
        text = json.dumps([list(row) for row in rows], separators=(",", ":"))
        result[f"num_{name}"] = len(rows)
        result[f"{name}_sha256"] = hashlib.sha256(text.encode()).hexdigest()
        result[f"first_{name}"] = [list(row) for row in rows[:NUM_FIRST_ROWS]]
    return result


def make(name: str) -> dict[str, Any]:
    """The content of a golden file, by the plain simulator."""
    content = description(EPISODES[name])
    trace = golden_trace(content["wide_levels"])
    workload = golden_workload(content, trace)
    content["results"] = {}
    for policy, settings in content["policies"].items():
        done = run_reference(trace, workload, plain_policy(policy, settings), content["warmup_delay_ms"])
        content["results"][policy] = summary(done.decisions, done.tasks, done.completions_ms, workload.semantics)
    return content


def to_text(value: Any, indent: str = "") -> str:
    """JSON with a line a key and a line a row."""
    deeper = indent + " "
    if isinstance(value, dict) and value:
        lines = [f"{deeper}{json.dumps(key)}: {to_text(item, deeper)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        return "[\n" + ",\n".join(deeper + json.dumps(item) for item in value) + f"\n{indent}]"
    return json.dumps(value)


def main() -> None:
    for name in sys.argv[1:] or EPISODES:
        begin = time.process_time()
        content = make(name)
        path = FOLDER / f"{name}.json"
        path.write_text(to_text(content) + "\n")
        numbers = {
            policy: (result["num_decisions"], result["num_tasks"]) for policy, result in content["results"].items()
        }
        print(
            f"{name}: {time.process_time() - begin:.1f} s, {path.stat().st_size / 1000:.1f} kB, {numbers}", flush=True
        )


if __name__ == "__main__":
    main()
