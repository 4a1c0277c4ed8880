"""What a policy costs inside the simulator's loop: the feature matrix, and the scores of trees, rules and formulae.

    python benchmarks/policies.py [--profiles DIR_OR_TRACE] [--cpu-seconds S] [--json]

Setting (a) of benchmarks/simulator.py, fair policy. First decisions per CPU second of whole episodes, without and with
the feature matrix filled at every decision; then, on the matrices of these decisions, evaluations per CPU second of an
ensemble of 50 trees of depth 3, of a rule list and of a formula, each with the same trees walked node by node for
comparison. CPU seconds of one thread; compilation is not counted.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from numba import njit
from simulator import SETTINGS, WARMUP_DELAY_MS, load

from clearsched.policies import heuristic
from clearsched.problems.dag_jobs.candidates import survey
from clearsched.problems.dag_jobs.engine import advance, commit
from clearsched.problems.dag_jobs.features import fill_features, new_rows
from clearsched.problems.dag_jobs.loop import choose
from clearsched.problems.dag_jobs.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulate import start


@njit
def run(state, policy, rows, stages, fill):
    """An episode; the number of its decisions, and of their candidates if the matrix is filled."""
    decisions = candidates = 0
    while advance(state):
        survey(state)
        if fill:
            candidates += fill_features(state, rows, stages)
        stage, requested = choose(state, policy, rows, stages)
        commit(state, stage, requested)
        decisions += 1
    return decisions, candidates


def loop_rates(profiles: Profiles, cpu_seconds: float) -> dict[str, float]:
    policy = heuristic("fair").compiled
    spent, decisions, candidates = {False: 0.0, True: 0.0}, 0, 0
    for index in range(-1, 10**9):
        workload = SETTINGS["a"].episode(profiles.trace.num_profiles, 0, max(index, 0))
        for fill in spent:
            state = start(profiles, workload)
            rows, stages = new_rows(len(state.stage)), np.empty(len(state.stage), np.int64)
            begin = time.process_time()
            found = run(state, policy, rows, stages, fill)
            if index >= 0:  # the first one compiles
                spent[fill] += time.process_time() - begin
        if index >= 0:
            decisions, candidates = decisions + found[0], candidates + found[1]
        if sum(spent.values()) > 2 * cpu_seconds:
            break
    return {
        "candidates_per_decision": candidates / decisions,
        "decisions_per_cpu_second": decisions / spent[False],
        "decisions_with_matrix_per_cpu_second": decisions / spent[True],
        "matrix_us": 1e6 * (spent[True] - spent[False]) / decisions,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", type=Path, help="trace file or tpch-decima folder (default: the embedded trace)")
    parser.add_argument("--cpu-seconds", type=float, default=2.0, help="CPU time to spend on each measurement, s")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    profiles = compile_profiles(load(arguments.profiles), WARMUP_DELAY_MS)
    answer = loop_rates(profiles, arguments.cpu_seconds)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
