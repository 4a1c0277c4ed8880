"""What a decision costs an exported network in onnxruntime, and the same teacher in torch: one at a time, one thread.

    python benchmarks/export_network.py [--network FILE] [--profiles DIR_OR_TRACE] [--cpu-seconds S] [--json]

The network (default: the shipped teacher of the default scenario) is exported, and answers the decisions of one episode
of setting (a) under the fair heuristic, over and over for a given CPU time: milliseconds of one decision from the
arrays of `Simulation.observe` to candidate and limit. With it: its size, and the seconds until a session stands.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from settings import SETTINGS, command

from clearsched.errors import ClearschedError
from clearsched.export import export
from clearsched.problems.dag_jobs.graph import Graph, observation_of
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.lockstep import Lockstep
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.shipped import find


def decisions(profiles: Profiles) -> list[Graph]:
    """Those of one episode, each alone."""
    fair, setting = heuristic("fair").compiled, SETTINGS["a"]
    lockstep, found = Lockstep(profiles, [setting.episode(profiles.trace.num_profiles, 0, 0)]), []
    while lockstep.advance():
        found.append(lockstep.observe().take(np.arange(1)))
        lockstep.answer(lockstep.ask(fair), by_heuristic=True)
    return found


def milliseconds(answer: Callable[[Any], Any], asked: list[Any], cpu_seconds: float) -> float:
    """CPU milliseconds of a decision."""
    for one in asked[:20]:
        answer(one)
    begin = time.process_time()
    for number in count(1):
        answer(asked[number % len(asked)])
        spent = time.process_time() - begin
        if spent >= cpu_seconds and number >= 20:
            break
    return 1e3 * spent / number


def measure(network: Path, found: list[Graph], cpu_seconds: float, folder: Path) -> dict[str, float]:
    """What is measured, by quantity."""
    try:
        import onnxruntime
    except ImportError:
        raise ClearschedError("export_network: onnxruntime is not installed: pip install 'clearsched[onnx]'") from None
    from clearsched.teacher import load_policy
    from clearsched.teacher.threads import one_thread

    (file,) = export(network, "onnx", folder / "teacher.onnx")
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    begin = time.process_time()
    session = onnxruntime.InferenceSession(file, settings, providers=["CPUExecutionProvider"])
    started = time.process_time() - begin
    names, policy = [entry.name for entry in session.get_inputs()], load_policy(network)
    told = ["candidate"] + ["limit"] * policy.network.levels
    posed = [observation_of(one, 0) for one in found]
    asked = [{name: getattr(seen, name) for name in names} for seen in posed]
    with one_thread():
        teacher = milliseconds(policy.weigh, found, cpu_seconds)
    return {
        "onnxruntime_ms": milliseconds(lambda given: session.run(told, given), asked, cpu_seconds),
        "torch_ms": teacher,
        "file_kb": file.stat().st_size / 1e3,
        "session_s": started,
        "stages_a_decision": float(np.mean([len(seen.nodes) for seen in posed])),
        "candidates_a_decision": float(np.mean([len(seen.candidates) for seen in posed])),
    }


def main(arguments: argparse.Namespace, profiles: Profiles) -> None:
    with tempfile.TemporaryDirectory() as name:
        shipped = [file for file in find("default").copy("teacher", Path(name)) if file.suffix == ".safetensors"]
        network = arguments.network or shipped[0]
        answer = measure(network, decisions(profiles), arguments.cpu_seconds, Path(name))
    if arguments.json:
        print(json.dumps(answer))
        return
    for what, value in answer.items():
        print(f"{what.replace('_', ' '):<24}{value:>10.3f}")


if __name__ == "__main__":
    command(
        __doc__,
        main,
        json={"action": "store_true", "help": "print JSON"},
        network={"type": Path, "help": "a teacher's .safetensors file"},
    )
