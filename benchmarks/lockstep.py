"""What a decision costs with many simulations in lockstep on one thread: simulation, batched graph, network.

    python benchmarks/lockstep.py [--profiles DIR_OR_TRACE] [--simulations K] [--decisions N] [--json]

Settings (a) and (b) of benchmarks/simulator.py. CPU microseconds a decision of `observe` (the graph of all), of
`act`, of `advance` (events until the next decision, and its candidates), of these three together, and of these three
without events; and network decisions per CPU second, the network being a teacher of the default size with random
weights whose choices are drawn. Compilation is not counted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from simulator import SETTINGS, WARMUP_DELAY_MS, Setting, load

from clearsched.policies import heuristic
from clearsched.problems.dag_jobs.graph import Graph
from clearsched.problems.dag_jobs.lockstep import Lockstep
from clearsched.problems.dag_jobs.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.state import NONE

NETWORK = {"embedding": 16, "hidden": 32, "rounds": 4}

Answer = Callable[[Lockstep, Graph], tuple[np.ndarray, np.ndarray]]


def by_fair(lockstep: Lockstep, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """The fair heuristic; where it names no stage, the first candidate gets what it can use."""
    stage, limit = lockstep.choices(heuristic("fair").compiled)
    none = stage == NONE
    stage[none] = graph.candidate_stage[graph.candidate_start[:-1][none]]
    limit[none] = graph.totals[none, 2]
    return stage, limit


def by_network(profiles: Profiles, setting: Setting) -> Answer:
    """A network with random weights, inputs scaled as in training."""
    import torch

    from clearsched.teacher.encoding import encode
    from clearsched.teacher.imitation import demonstrate
    from clearsched.teacher.network import TeacherNetwork
    from clearsched.teacher.policy_gradient import choose

    torch.set_num_threads(1)
    torch.manual_seed(0)
    network, generator = TeacherNetwork(**NETWORK), np.random.default_rng(0)
    episode = setting.episode(profiles.trace.num_profiles, 1, 0)
    network.normalise_like(encode(demonstrate(profiles, [episode], heuristic("fair").compiled).graph))

    def answer(lockstep: Lockstep, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
        candidate, limit, _ = choose(network, graph, generator)
        return graph.candidate_stage[graph.candidate_start[:-1] + candidate], limit

    return answer


def measure(profiles: Profiles, setting: Setting, simulations: int, decisions: int, answer: Answer) -> dict[str, float]:
    """CPU microseconds a decision by part, after a tenth of the decisions, over episodes without end."""
    episodes = (setting.episode(profiles.trace.num_profiles, 0, index) for index in itertools.count())
    lockstep = Lockstep(profiles, episodes, simulations, keep_results=False)
    parts = ("advance", "again", "observe", "answer", "act")
    spent, done = np.zeros(len(parts)), -decisions // 10
    counted = 0
    while done < decisions:
        marks = [time.process_time()]
        waiting = lockstep.advance()
        marks.append(time.process_time())
        lockstep._to_run = lockstep.pending  # no event until the pending decisions: what is left is the bookkeeping
        lockstep._run()
        marks.append(time.process_time())
        graph = lockstep.observe()
        marks.append(time.process_time())
        stage, limit = answer(lockstep, graph)
        marks.append(time.process_time())
        lockstep.act(stage, limit)
        marks.append(time.process_time())
        if done >= 0:
            spent += np.diff(marks)
            counted += waiting
        done += waiting
    return dict(zip(parts, (spent / counted * 1e6).tolist(), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", type=Path, help="trace file or tpch-decima folder (default: the embedded trace)")
    parser.add_argument("--simulations", type=int, default=64, help="simulations in lockstep")
    parser.add_argument("--decisions", type=int, default=100_000, help="decisions to measure without a network")
    parser.add_argument("--no-network", action="store_true", help="without torch")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()

    profiles = compile_profiles(load(arguments.profiles), WARMUP_DELAY_MS)
    answer: dict[str, dict[str, float]] = {}
    for name in ("a", "b"):
        setting = SETTINGS[name]
        cost = measure(profiles, setting, arguments.simulations, arguments.decisions, by_fair)
        answer.setdefault("observe_us", {})[name] = cost["observe"]
        answer.setdefault("act_us", {})[name] = cost["act"]
        answer.setdefault("advance_us", {})[name] = cost["advance"]
        answer.setdefault("step_us", {})[name] = cost["advance"] + cost["observe"] + cost["act"]
        answer.setdefault("step_without_events_us", {})[name] = cost["again"] + cost["observe"] + cost["act"]
        if not arguments.no_network:
            decide = by_network(profiles, setting)
            cost = measure(profiles, setting, arguments.simulations, arguments.decisions // 5, decide)
            answer.setdefault("network_us", {})[name] = cost["answer"]
            answer.setdefault("network_decisions_per_cpu_second", {})[name] = 1e6 / (sum(cost.values()) - cost["again"])
    if arguments.json:
        print(json.dumps(answer))
        return
    for name in ("a", "b"):
        print(f"{SETTINGS[name]}, {arguments.simulations} simulations:")
        for kind, by_setting in answer.items():
            print(f"  {kind.replace('_', ' '):<42} {by_setting[name]:>14,.2f}")


if __name__ == "__main__":
    main()
