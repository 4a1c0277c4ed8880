"""All kinds of student on the log of a finished run: how near to the teacher, how much to read, how good.

    python benchmarks/kinds.py RESULTS [--kinds pruned_tree figs] [--rounds 0] [--json]

RESULTS is a scenario's folder (results/default) with `traces/`, `teacher/` and `decisions/`. Settings are the defaults,
without DAgger. Told are, of the logged held-out decisions that are not trivial, the share in which the student answers
as the teacher, in the same group, and that on real choices; the numbers and conditions that a person must read; the
mean of the objective on the test episodes as distilled and, with `--rounds`, refined, each with its paired difference
to the teacher in % of the teacher's mean and the 95 % interval of that over episodes; and the worst episode relative
to the baseline's. No wall-clock decides anything; seconds are told.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.decisions.parts import WHOLE
from clearsched.decisions.reader import read_choices, read_metadata
from clearsched.evaluation.fidelity import rank_rows
from clearsched.evaluation.statistics import generator, paired_difference
from clearsched.params import defaults
from clearsched.problems import find_problem
from clearsched.problems.policy import heuristic
from clearsched.registry import load
from clearsched.students.bench import JOINED, Bench
from clearsched.students.dataset import read_dataset
from clearsched.students.fitting import TRIAL_EPISODES
from clearsched.students.kinds import STUDENTS
from clearsched.students.refining import refine
from clearsched.students.task import Task
from clearsched.teacher import load_policy

COLUMNS = (
    "kind",
    "top1",
    "same group",
    "real",
    "to read",
    "cost",
    "to teacher, %",
    "refined",
    "refined to teacher, %",
    "worst to baseline",
    "seconds",
)


def measure(folder: Path, kinds: list[str], refinement: dict[str, int]) -> list[dict[str, Any]]:
    """One row a kind."""
    log = folder / "decisions" / "decisions.parquet"
    problem = find_problem(read_metadata(log)["problem"])
    params = defaults(problem.name)
    common = params.students.model_copy(
        update={"dagger_rounds": 0, "refine": params.students.refine.model_copy(update=refinement)}
    )
    instance = problem.open(folder / "traces" / "trace.parquet", folder / "traces" / "workloads.parquet")
    baseline = heuristic(problem, problem.baseline)
    trials = instance.joined(instance.split("train")[:TRIAL_EPISODES], JOINED)
    bench = Bench(instance, instance.objective, trials, instance.split("validation"), baseline)
    dataset, rank = read_dataset(log, problem, "train", instance.most), problem.choices[0]
    held, test = read_choices(log, problem, rank.name, "validation"), instance.split("test")
    fair = bench.costs(baseline, test)
    theirs = bench.costs(load_policy(folder / "teacher" / "teacher.safetensors"), test)
    rows = []
    for kind in kinds:
        start = time.perf_counter()
        task = Task(kind, problem, dataset, bench, getattr(common, kind), common, params.seed)
        student = load(f"{STUDENTS[kind].module}:learn")(task)
        told = {row["decisions_of"]: row for row in rank_rows(student, rank, held) if row["part"] == WHOLE}
        found = refine(task, student, common.refine).policy if common.refine.rounds else None
        distilled = bench.costs(student, test)
        costs = bench.costs(found, test) if found else distilled
        row = (
            kind,
            told["all"]["top1"],
            told["all"]["same_group"],
            told.get("real", {}).get("same_group"),
            sum(scorer.complexity() for scorer in student.scorers.values()),
            float(distilled.mean()),
            _percent(distilled, theirs),
            float(costs.mean()) if found else None,
            _percent(costs, theirs) if found else None,
            float(np.max(costs / fair)),
            time.perf_counter() - start,
        )
        rows.append(dict(zip(COLUMNS, row, strict=True)))
        print(line(rows[-1]), file=sys.stderr, flush=True)
    return rows


def _percent(costs: np.ndarray, theirs: np.ndarray) -> str:
    """The paired difference of costs to others' in % of the mean of those, with its interval."""
    told = paired_difference(costs, theirs, generator(0)).scaled(100 / abs(theirs.mean()))
    return f"{told.mean:+.2f} ({told.low:+.2f} to {told.high:+.2f})"


def line(row: dict[str, Any]) -> str:
    """A row of the Markdown table."""
    cells = [
        f"{value:.3f}" if isinstance(value, float) else str("" if value is None else value) for value in row.values()
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the rows as a Markdown table, or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument(
        "--kinds", nargs="+", choices=list(STUDENTS), default=[name for name in STUDENTS if name != "switch"]
    )
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--evaluations", type=int, default=300)
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    refinement = {name: getattr(given, name) for name in ("rounds", "evaluations", "episodes")}
    rows = measure(given.results, given.kinds, refinement)
    if given.json:
        print(json.dumps(rows))
        return
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    print("\n".join(map(line, rows)))


if __name__ == "__main__":
    main()
