"""What a decision costs with many simulations in lockstep on one thread: simulation, batched graph, network.

    python benchmarks/lockstep.py [--profiles DIR_OR_TRACE] [--cpu-seconds S] [--simulations K] [--no-network] [--json]

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

import numpy as np
from settings import SETTINGS, TIMED, Row, Setting, command, print_by_setting

from clearsched.problems.dag_jobs.graph import Graph
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.lockstep import Lockstep
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.episodes import Answers

NETWORK = {"embedding": 16, "hidden": 32, "rounds": 4}

Answer = Callable[[Lockstep, Graph], Answers]


def by_fair(lockstep: Lockstep, _: Graph) -> Answers:
    """The fair heuristic."""
    return lockstep.ask(heuristic("fair").compiled)


def by_network(profiles: Profiles, setting: Setting) -> Answer:
    """A network with random weights, inputs scaled as in training."""
    import torch

    from clearsched.problems.dag_jobs.network.network import TeacherNetwork
    from clearsched.teacher.sampling import choose

    torch.set_num_threads(1)
    torch.manual_seed(0)
    network, generator = TeacherNetwork(**NETWORK), np.random.default_rng(0)
    lockstep, seen = Lockstep(profiles, [setting.episode(profiles.trace.num_profiles, 1, 0)]), []
    while lockstep.advance():
        graph = lockstep.observe()
        seen.append(graph.take(np.arange(1)))
        lockstep.answer(by_fair(lockstep, graph))
    network.normalise_like(network.encode(seen[0].and_more(seen[1:])))

    def answer(_: Lockstep, graph: Graph) -> Answers:
        candidate, limit, _ = choose(network, graph, generator)
        return Answers(candidate, limit)

    return answer


def cost_of(
    profiles: Profiles, setting: Setting, simulations: int, cpu_seconds: float, answer: Answer
) -> dict[str, float]:
    """CPU microseconds a decision by part, after as many steps as there are simulations, over episodes without end."""
    episodes = (setting.episode(profiles.trace.num_profiles, 0, index) for index in itertools.count())
    lockstep = Lockstep(profiles, episodes, simulations, keep_results=False)
    parts = ("advance", "again", "observe", "answer", "act")
    spent, counted = np.zeros(len(parts)), 0
    for step in itertools.count():
        marks = [time.process_time()]
        waiting = lockstep.advance()
        marks.append(time.process_time())
        lockstep._to_run = lockstep.pending  # no event until the pending decisions: what is left is the bookkeeping
        lockstep._run()
        marks.append(time.process_time())
        graph = lockstep.observe()
        marks.append(time.process_time())
        answers = answer(lockstep, graph)
        marks.append(time.process_time())
        lockstep.answer(answers)
        marks.append(time.process_time())
        if step >= simulations:
            spent += np.diff(marks)
            counted += waiting
            if spent.sum() >= cpu_seconds:
                break
    return dict(zip(parts, (spent / counted * 1e6).tolist(), strict=True))


def measure(profiles: Profiles, cpu_seconds: float, simulations: int, network: bool) -> dict[str, dict[str, float]]:
    """What is measured, by quantity and setting."""
    answer: dict[str, dict[str, float]] = {}
    for name in TIMED:
        setting = SETTINGS[name]
        cost = cost_of(profiles, setting, simulations, cpu_seconds, by_fair)
        found = {
            "observe_us": cost["observe"],
            "act_us": cost["act"],
            "advance_us": cost["advance"],
            "step_us": cost["advance"] + cost["observe"] + cost["act"],
            "step_without_events_us": cost["again"] + cost["observe"] + cost["act"],
        }
        if network:
            cost = cost_of(profiles, setting, simulations, cpu_seconds, by_network(profiles, setting))
            found["network_us"] = cost["answer"]
            found["network_decisions_per_cpu_second"] = 1e6 / (sum(cost.values()) - cost["again"])
        for what, value in found.items():
            answer.setdefault(what, {})[name] = value
    return answer


def rows(profiles: Profiles, cpu_seconds: float, simulations: int = 64) -> list[Row]:
    """Lines of the table (table.py)."""
    found = measure(profiles, cpu_seconds, simulations, network=True)
    shown = {
        "observe_us": (f"batched graph of {simulations} simulations", "CPU us a decision"),
        "step_without_events_us": ("the same, with the step around it", "CPU us a decision"),
        "step_us": ("the same, with the simulation of events", "CPU us a decision"),
        "network_decisions_per_cpu_second": (f"network decisions, {simulations} simulations", "per CPU s"),
    }
    return [Row(what, unit, *(found[key][name] for name in TIMED)) for key, (what, unit) in shown.items()]


def main(arguments: argparse.Namespace, profiles: Profiles) -> None:
    answer = measure(profiles, arguments.cpu_seconds, arguments.simulations, not arguments.no_network)
    if arguments.json:
        print(json.dumps(answer))
        return
    print_by_setting(answer)


if __name__ == "__main__":
    command(
        __doc__,
        main,
        simulations={"type": int, "default": 64, "help": "simulations in lockstep (%(default)s)"},
        no_network={"action": "store_true", "help": "without torch"},
        json={"action": "store_true", "help": "print JSON"},
    )
