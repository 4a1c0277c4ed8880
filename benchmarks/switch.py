"""Does a switch between strategies pay where the load changes, and where it does not?

    python benchmarks/switch.py RESULTS --out FOLDER [--rounds 2] [--evaluations 300] [--test] [--json]

RESULTS is a run of the default (results/default) whose rule list is the start. It is refined anew for three loads on
the same jobs: `quiet` and `crowded`, Poisson arrivals at the rates of calms and bursts in scenarios/changing-load.yaml,
and `changing`, that scenario itself. Then the lists compete as in `students.switch`, on the training
episodes of the changing load, and once more, with the list as it was in place of `changing`, on the stationary default.
What is refined is written to FOLDER and taken from there the next time. Told are mean JCT and the paired difference to
the list that was refined for the very load, on the validation episodes, or with `--test`, once all is chosen, on the
test episodes. Logs of decisions, which tell the quantiles that thresholds are made of, are of the best tuned heuristic.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from clearsched import decisions
from clearsched.evaluation.comparison import Bootstrap, compare
from clearsched.evaluation.policies import reference_policy
from clearsched.evaluation.rollouts import roll_out
from clearsched.files import read_json, write_text
from clearsched.params import Params, read_scenarios, read_yaml
from clearsched.problems import find_problem
from clearsched.problems.policy import heuristic
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.scorers.text import render
from clearsched.search.safety import judge_whole
from clearsched.students.fitting import task_of
from clearsched.students.refining import refine
from clearsched.students.switch import compete

ROOT = Path(__file__).parents[1]
PROBLEM = find_problem("dag_jobs")
START = "stationary"
"""The load of RESULTS, and its rule list."""


def loads(scenario: Path) -> dict[str, dict[str, Any]]:
    """What differs from the defaults in the section `workload`, by the name of the load."""
    own = read_yaml(scenario)["workload"]
    bursty = own["bursty"]
    burst, calm, factor = bursty["burst_s"], bursty["calm_s"], bursty["factor"]
    quiet = own["load"] * (burst + calm) / (calm + factor * burst)
    plain = {key: value for key, value in own.items() if key not in ("arrivals", "bursty")}
    return {
        "quiet": plain | {"load": round(quiet, 6)},
        "crowded": plain | {"load": round(factor * quiet, 6)},
        "changing": own,
    }


class Load:
    """One load: its params, episodes and log in a folder."""

    def __init__(self, name: str, params: Params, results: Path, folder: Path, refinement: Mapping[str, int]) -> None:
        students = params.students
        self.name = name
        self.params = params.model_copy(
            update={"students": students.model_copy(update={"refine": students.refine.model_copy(update=refinement)})}
        )
        self.trace = results / "traces" / "trace.parquet"
        if name == START:
            self.workloads, self.log = results / "traces" / "workloads.parquet", results / "decisions/decisions.parquet"
            return
        self.workloads, self.log = folder / name / "workloads.parquet", folder / name / "decisions.parquet"
        tuned = results / "heuristics" / "tuned.json"
        if not self.log.is_file():
            PROBLEM.draw(params, self.trace, self.workloads)
            best = reference_policy(PROBLEM, read_json(tuned))
            decisions.log(params, self.trace, self.workloads, tuned, best, self.log)

    def task(self, kind: str, others: Mapping[str, ScoredPolicy] | None = None) -> Any:
        """A fit on this load."""
        task = task_of(self.params, kind, PROBLEM.open(self.trace, self.workloads), self.log)
        return replace(task, others=others or {})

    def refined(self, start: ScoredPolicy, path: Path) -> ScoredPolicy:
        """The student refined for this load; kept at `path`."""
        if not path.is_file():
            task = self.task("rule_list")
            found = refine(task, replace(start, name=self.name, evidence={}), task.common.refine)
            told = {"unseen": found.costs, "chosen": found.chosen}
            replace(found.policy, evidence={**found.policy.evidence, **told}).write(path)
        return load_policy(path)


def measure(load: Load, policies: Mapping[str, ScoredPolicy], own: str, test: bool) -> list[dict[str, Any]]:
    """One row a policy on a load; differences to the list that was refined for it, `own`."""
    instance = PROBLEM.open(load.trace, load.workloads)
    named = [replace(policy, name=name) for name, policy in policies.items()]
    episodes = instance.split("test" if test else "validation")
    runs = roll_out(PROBLEM, [heuristic(PROBLEM, "fair"), *named], instance, episodes)
    rows = compare(PROBLEM, runs, own, Bootstrap(), further=()).to_pylist()
    keys = ("policy", "mean", "difference", "difference_low", "difference_high", "worst_to_baseline")
    base = next(row["mean"] for row in rows if row["policy"] == own)
    return [
        {"load": load.name, "episodes": len(episodes)}
        | {key: 100 * row[key] / base if key.startswith("diff") else row[key] for key in keys}
        for row in rows
    ]


def competed(load: Load, others: Mapping[str, ScoredPolicy], folder: Path) -> tuple[ScoredPolicy, str]:
    """The best switch on a load, kept in the folder, and in words what it and the safety check came to in training."""
    task = load.task("switch", others)
    found = compete(task)
    best = float(found.costs.min())
    switch = replace(found.switch, name="switch")
    switch.write(folder / f"switch-{load.name}.json")
    write_text(folder / f"switch-{load.name}.txt", render(switch))
    scorer = switch.scorers["stage"]
    which = {json.dumps(p.scorers["stage"].to_json()): name for name, p in others.items()}
    told = ", else ".join(
        which.get(json.dumps(case.scorer.to_json()), "?")
        + (f" if {case.condition.text(scorer.names)}" if case.condition else "")
        for case in scorer.cases
    )
    pays = "pays" if found.pays else "does not pay"
    saved = f"{100 * (found.cost / best - 1):+.2f} % to the best alone in training: {pays}"
    return switch, f"{load.name}: {told}: {saved}; safety check: {checked(task, switch)}"


def checked(task: Any, policy: ScoredPolicy) -> str:
    """What the safety check says of a policy."""
    (verdict,) = judge_whole(task.bench.instance, [policy])
    return f"{'strays' if verdict.strays else 'safe'}: {verdict}"


def main() -> None:
    """Refine, compete, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--scenario", type=Path, default=ROOT / "scenarios" / "changing-load.yaml")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--evaluations", type=int, default=300)
    parser.add_argument("--test", action="store_true", help="told on test episodes: once, when all is chosen")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    refinement = {"rounds": options.rounds, "evaluations": options.evaluations}
    start = load_policy(options.results / "students" / "rule_list.json")
    students, at = {START: start}, {}
    for name, workload in {START: {}, **loads(options.scenario)}.items():
        (params,) = read_scenarios([{"workload": workload}], {}, name).values()
        at[name] = Load(name, params, options.results, options.out, refinement)
        if name != START:
            students[name] = at[name].refined(start, options.out / f"{name}.json")
    rows, told = [], []
    for name, left_out in (("changing", START), (START, "changing")):
        others = {key: student for key, student in students.items() if key != left_out}
        pair, line = competed(at[name], others, options.out)
        told.append(line)
        rows += measure(at[name], {**students, "switch": pair}, name, options.test)
    if options.json:
        print(json.dumps({"told": told, "rows": rows}))
        return
    print(*told, sep="\n")
    print("| load | episodes | policy | mean JCT (s) | difference (%) | CI (%) | worst to fair |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        ends = f"{row['difference_low']:+.1f} to {row['difference_high']:+.1f}"
        told_row = [row["load"], str(row["episodes"]), row["policy"], f"{row['mean']:.2f}", f"{row['difference']:+.2f}"]
        print(f"| {' | '.join(told_row)} | {ends} | {row['worst_to_baseline'] or 0:.2f} |")


if __name__ == "__main__":
    main()
