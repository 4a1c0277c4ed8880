"""Fit a student: learn from the log, run, let the expert answer where the student went, learn again (DAgger)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.decisions.reader import read_metadata
from clearsched.errors import ClearschedError
from clearsched.files import provenance, write_text
from clearsched.problems import find_problem
from clearsched.problems.policy import heuristic
from clearsched.problems.problem import Episode, Instance, Problem
from clearsched.registry import load
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.rules import RuleList
from clearsched.scorers.text import render
from clearsched.students.bench import Bench
from clearsched.students.dataset import Dataset, read_dataset, without_none
from clearsched.students.kinds import STUDENTS
from clearsched.students.patching import laid_on, of_params
from clearsched.students.refining import JOINED, refine
from clearsched.students.task import Task

TRIAL_EPISODES = 32
"""Training episodes on which the variants of a fit are compared in closed loop, at most; streams are joined."""

DIGITS = 6
"""Digits of the measure that a student's file tells."""

Learn = Callable[[Task], ScoredPolicy]


def fit_one(
    params: Any,
    kind: str,
    trace: Path,
    workloads: Path,
    tuned: Path | None,
    teacher: str | Path,
    decisions: Path,
    out_dir: Path,
) -> Path:
    """See `clearsched.students.fit`."""
    from clearsched.decisions.experts import load_expert  # it brings torch

    learn: Learn = load(f"{STUDENTS[kind].module}:learn")
    problem = find_problem(params.problem)
    instance = problem.open(trace, workloads)
    check_log(decisions, problem, instance, workloads)
    of_params(params.students, problem)  # so that a broken patch is told before the fit
    expert = load_expert(problem, teacher, tuned)
    train = instance.split("train")
    baseline = heuristic(problem, problem.baseline)
    trials = instance.joined(train[:TRIAL_EPISODES], JOINED)
    bench = Bench(instance, instance.objective, trials, instance.split("validation"), baseline)
    dataset = read_dataset(decisions, problem, "train", instance.most)
    common = params.students
    task = Task(kind, problem, dataset, bench, getattr(common, kind), common, params.seed)
    later = train[params.decisions.episodes :] or train  # DAgger's episodes are new ones, as far as there are any
    student = refined(task, improve(task, learn, expert, later))
    inputs: dict[str, str | Path] = {"trace": trace, "workloads": workloads, "decisions": decisions}
    if Path(teacher).is_file():
        inputs["teacher"] = teacher
    names = ("limit_tree", "limit_caps", "dagger_rounds", "dagger_episodes", "refine")
    settings = {name: value for name, value in common.model_dump(mode="json").items() if name in (kind, *names)}
    origin = provenance(settings, inputs) | {"expert": expert.name}
    student = replace(student, evidence={**student.evidence, "provenance": origin})
    student = laid_on(common, student, instance)
    student.write(out_dir / f"{kind}.json")
    write_text(out_dir / f"{kind}.txt", render(student))
    return out_dir / f"{kind}.json"


def check_log(decisions: Path, problem: Problem, instance: Instance, workloads: Path) -> None:
    """The log must be of this problem, and of episodes like those at hand.

    Raises:
        ClearschedError: it is not.
    """
    logged = read_metadata(decisions)
    if logged["problem"] != problem.name:
        raise ClearschedError(f"{decisions}: decisions of the problem {logged['problem']}, not of {problem.name}")
    for name, value in instance.facts.items():
        if logged["facts"].get(name) != value:
            raise ClearschedError(
                f"{decisions}: logged with {name} {logged['facts'].get(name)}, {workloads} has {value}; log again"
            )


def improve(task: Task, learn: Learn, expert: Any, episodes: Sequence[Episode]) -> ScoredPolicy:
    """The best of a student learned from the log and of those learned again from where it went (DAgger).

    The rounds are compared in closed loop by the objective on the validation episodes.

    Args:
        task: what is learned from at first.
        learn: of the kind.
        expert: who answers where the student went (`decisions.experts.Expert`).
        episodes: where the student goes.

    Source: S. Ross, G. Gordon, D. Bagnell, A reduction of imitation learning and structured prediction to no-regret
    online learning, AISTATS 2011.
    """
    rounds, count = task.common.dagger_rounds, task.common.dagger_episodes
    best, history = None, []
    for done in range(rounds + 1):
        student = learn(task)
        history.append(task.bench.validation_cost(student))
        _say(task, f"{done} DAgger rounds, {len(task.dataset.rank.chosen):,} decisions", history[-1])
        if best is None or history[-1] < min(history[:-1]):
            best = student
        if done < rounds:
            visited = [episodes[i] for i in np.arange(done * count, (done + 1) * count) % len(episodes)]
            task = replace(task, dataset=_with_visits(task, expert, visited, student))
    assert best is not None
    values = [float(f"{task.bench.value(cost):.{DIGITS}g}") for cost in history]
    return _with_evidence(best, task.dataset, {f"validation_{task.bench.measure.name}": values})


def refined(task: Task, student: ScoredPolicy) -> ScoredPolicy:
    """The student after refinement in closed loop; its file tells what each step came to."""
    found = refine(task, student, task.common.refine)
    values = [float(f"{task.bench.value(cost):.{DIGITS}g}") for cost in found.costs]
    for verdict in found.refused:
        _warn(task, f"a variant was refused: on its worst episode it takes {verdict.worst:.2f} times the baseline's")
    if len(found.refused) == len(found.costs):
        _warn(task, "none is safe: what was distilled is kept; do not deploy it")
    was, now = (_told(task, found.costs[place]) for place in (0, found.chosen))
    _warn(task, f"refined with {found.evaluations:,.0f} other sets of numbers: {was} became {now} on unseen episodes")
    told = {f"refined_{task.bench.measure.name}": values}
    return _with_evidence(found.policy, task.dataset, {**student.evidence, **found.policy.evidence, **told})


def _with_visits(task: Task, expert: Any, episodes: list[Episode], student: ScoredPolicy) -> Dataset:
    """The decisions so far and the expert's answers where the student went."""
    from clearsched.decisions.recording import record  # it brings torch

    instance = task.bench.instance
    return task.dataset.with_decisions(record(expert, instance, episodes, "train", actor=student.compiled))


def _with_evidence(student: ScoredPolicy, dataset: Dataset, found: dict[str, Any]) -> ScoredPolicy:
    """How the student did, and how often its rules apply: share of the candidates, of the decisions for the level."""
    rows = {"rank": without_none(dataset.rank).features}
    if dataset.level is not None:
        rows["level"] = dataset.level.features[dataset.level.starts[:-1]]
    scorers = dict(student.scorers)
    for choice in dataset.choices:
        scorer = scorers[choice.name]
        if isinstance(scorer, RuleList):
            scorers[choice.name] = scorer.with_shares(rows[choice.form])
    most = {"most": dataset.most} if dataset.level is not None else {}
    return replace(student, scorers=scorers, evidence={**most, **found})


def _say(task: Task, what: str, cost: float) -> None:
    """A line on stderr: how good the student is by now."""
    _warn(task, f"{what}: {_told(task, cost)} on {len(task.bench.validation)} validation episodes")


def _told(task: Task, cost: float) -> str:
    measure = task.bench.measure
    value = f"{task.bench.value(cost):.{1 if measure.unit == 's' else 4}f}"
    return f"{measure.short} {value} {measure.unit}".rstrip()


def _warn(task: Task, what: str) -> None:
    print(f"{task.name}: {what}", file=sys.stderr, flush=True)
