"""How a teacher learns: mean objective on the validation episodes against the CPU time spent on training.

    python benchmarks/learning.py --trace TRACE --workloads WORKLOADS --tuned TUNED [--searched FILE ...]
        [--params STAGE_PARAMS] [--training-seed N] [--json]

The files are those of a scenario's folder below results/; --params takes results/<scenario>/params/teacher.json, else
the defaults hold. The first compilation of the simulator is not counted. Nothing is written.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from clearsched.params import defaults, load_stage
from clearsched.problems import find_problem
from clearsched.teacher.judging import experts_of
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.threads import one_thread
from clearsched.teacher.training import new_network, run, streams


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """A row each check on the validation episodes, and what they are held against."""
    params = load_stage(arguments.params, "teacher") if arguments.params else defaults()
    problem = find_problem(params.problem)
    instance = problem.open(arguments.trace, arguments.workloads)
    experts = experts_of(params.teacher, instance, arguments.tuned, arguments.searched)
    # Compiles all that training calls.
    network = new_network(instance, params.teacher, streams(0, 0)[0])
    TeacherPolicy(network, problem).run(instance, instance.split("train", 2))
    lockstep = instance.lockstep(instance.split("train", 1))
    lockstep.advance()
    lockstep.ask(experts.cloned.compiled)
    with one_thread():
        training = run(params, instance, experts, arguments.training_seed)
    rows = [
        {"where": f"{row['phase']} {row['iteration']}", "cpu_s": cpu_s, "validation": row["validation_objective"]}
        for row, cpu_s in zip(training.rows, training.cpu_s, strict=True)
        if row["validation_objective"] is not None
    ]
    return {"cpu_s": training.spent_s(), "rows": rows, **training.validation_facts()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("trace", "workloads", "tuned"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--searched", type=Path, nargs="*", default=[], help="searched policies that may be cloned")
    parser.add_argument("--params", type=Path, help="params of the stage teacher")
    parser.add_argument("--training-seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    found = measure(arguments)
    if arguments.json:
        print(json.dumps(found, indent=2))
        return
    print(f"best heuristic {found['heuristic']:.4f} ({found['best_heuristic']}), cloned policy {found['cloned']:.4f}")
    print(f"{'where':<36}{'CPU (s)':>10}{'validation':>14}")
    for row in found["rows"]:
        print(f"{row['where']:<36}{row['cpu_s']:>10.1f}{row['validation']:>14.4f}")
    print(f"kept: {found['teacher_is']}, {found['teacher']:.4f}, {found['cpu_s']:.0f} CPU s in all")


if __name__ == "__main__":
    main()
