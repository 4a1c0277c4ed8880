"""Fit every student: learn from the log, run, let the expert answer where the student went, learn again (DAgger)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clearsched.decisions.experts import Expert, load_expert
from clearsched.decisions.reader import read_metadata
from clearsched.decisions.recording import record
from clearsched.errors import ClearschedError
from clearsched.files import provenance, read_json, write_text
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.workloads import load_inputs
from clearsched.students import boosted_trees, limit_tree, rule_list
from clearsched.students.bench import Bench, smallest_good
from clearsched.students.dataset import Dataset, read_dataset
from clearsched.students.policy import Student
from clearsched.students.rounding import Columns
from clearsched.students.rules import Rule, first_rule
from clearsched.students.text import render

if TYPE_CHECKING:
    from clearsched.params import Params

LIMIT_TOLERANCE = 0.001
"""Share of the mean JCT that a smaller limit tree may cost."""

TRIAL_EPISODES = 16
"""Training episodes on which the variants of a fit are compared in closed loop, at most."""

Learn = Callable[[Dataset, Bench], Student]


def fit_all(
    params: Params,
    trace: Path,
    workloads: Path,
    tuned: Path | None,
    teacher: str | Path,
    decisions: Path,
    out_dir: Path,
) -> dict[str, Path]:
    """See `clearsched.students.fit`."""
    profiles, drawn = load_inputs(trace, workloads)
    executors = drawn.settings["num_executors"]
    logged = read_metadata(decisions)
    if logged["num_executors"] != executors:
        raise ClearschedError(
            f"{decisions}: logged on {logged['num_executors']} executors, {workloads} has {executors}; log again"
        )
    expert = load_expert(teacher, read_json(tuned) if tuned else None)
    train = drawn.split("train")
    bench = Bench(profiles, train[:TRIAL_EPISODES], drawn.split("validation"))
    dataset = read_dataset(decisions, "train", executors)
    inputs: dict[str, str | Path] = {"trace": trace, "workloads": workloads, "decisions": decisions}
    if Path(teacher).is_file():
        inputs["teacher"] = teacher
    origin = provenance(params.students.model_dump(mode="json"), inputs) | {"expert": expert.name}
    later = train[params.decisions.episodes :] or train  # DAgger's episodes are new ones, as far as there are any
    written: dict[str, Path] = {}
    for name in params.students.names:
        student = improve(name, _learner(name, params), dataset, expert, bench, later, params)
        student = replace(student, evidence={**student.evidence, "provenance": origin})
        written[name] = out_dir / f"{name}.json"
        student.write(written[name])
        write_text(out_dir / f"{name}.txt", render(student))
    return written


def improve(
    name: str,
    learn: Learn,
    dataset: Dataset,
    expert: Expert,
    bench: Bench,
    episodes: list[Workload],
    params: Params,
) -> Student:
    """The best of a student learned from the log and of those learned again from where it went (DAgger).

    The rounds are compared by closed-loop JCT on the validation episodes.

    Source: S. Ross, G. Gordon, D. Bagnell, A reduction of imitation learning and structured prediction to no-regret
    online learning, AISTATS 2011.
    """
    settings = params.students
    best, history = None, []
    for done in range(settings.dagger_rounds + 1):
        student = learn(dataset, bench)
        history.append(bench.validation_jct_s(student))
        _tell(name, done, history[-1], len(bench.validation), len(dataset.stage.chosen))
        if best is None or history[-1] < min(history[:-1]):
            best = student
        if done < settings.dagger_rounds:
            places = np.arange(done * settings.dagger_episodes, (done + 1) * settings.dagger_episodes) % len(episodes)
            visited = record(expert, bench.profiles, [episodes[i] for i in places], "train", actor=student.compiled)
            dataset = dataset.with_decisions(visited)
    assert best is not None
    return replace(best, evidence=_evidence(best, dataset, history))


def _learner(name: str, params: Params) -> Learn:
    settings = params.students

    def learn_boosted_trees(dataset: Dataset, bench: Bench) -> Student:
        trees = boosted_trees.learn(dataset.stage, settings.boosted_trees, params.seed)
        return with_limit(Student(name, stage_trees=tuple(trees)), dataset, bench, settings.limit_tree.leaves)

    def learn_rule_list(dataset: Dataset, bench: Bench) -> Student:
        limit = tuple(limit_tree.learn(dataset, settings.limit_tree.leaves))

        def costs(rules: list[Rule], rival: np.ndarray | None) -> np.ndarray | None:
            return bench.race(Student(name, stage_rules=tuple(rules), limit_rules=limit), rival)

        ranked = boosted_trees.rescored(dataset.stage, settings.boosted_trees, params.seed)
        rules = rule_list.learn(ranked, settings.rule_list)
        rules = rule_list.polish(rules, costs, Columns(dataset.stage.features), settings.rule_list)
        student = Student(name, stage_rules=tuple(rule_list.numbered(rules)))
        return with_limit(student, dataset, bench, settings.limit_tree.leaves)

    return {"rule_list": learn_rule_list, "boosted_trees": learn_boosted_trees}[name]


def with_limit(student: Student, dataset: Dataset, bench: Bench, leaves: int) -> Student:
    """The student with the smallest limit tree that schedules nearly as well as the best one."""
    variants = (replace(student, limit_rules=tuple(rules)) for rules in limit_tree.variants(dataset, leaves))
    chosen, _ = smallest_good(((variant, bench.train_jct_s(variant)) for variant in variants), LIMIT_TOLERANCE)
    return chosen


def _evidence(student: Student, dataset: Dataset, history: list[float]) -> dict[str, Any]:
    """How the student did, and how often its rules apply: share of the candidates, of the decisions for the limit."""
    chosen = dataset.limit.features[dataset.limit.starts[:-1]]
    shares = {
        key: np.round(np.bincount(first_rule(rules, rows), minlength=len(rules)) / max(len(rows), 1), 4).tolist()
        for key, rules, rows in (
            ("rules", student.stage_rules, dataset.stage.features),
            ("limit_rules", student.limit_rules, chosen),
        )
        if rules
    }
    return {
        "num_executors": dataset.num_executors,
        "validation_jct_s": [round(jct, 3) for jct in history],
        "shares": shares,
    }


def _tell(name: str, rounds: int, jct_s: float, episodes: int, decisions: int) -> None:
    print(
        f"{name}: {rounds} DAgger rounds, {decisions:,} decisions: JCT {jct_s:.1f} s on {episodes} validation episodes",
        file=sys.stderr,
        flush=True,
    )
