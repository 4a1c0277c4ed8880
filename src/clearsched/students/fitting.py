"""Fit a student: distil it from the log and from where it goes (`dagger`), refine it in closed loop (`refining`)."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearsched.decisions.reader import read_metadata
from clearsched.errors import ClearschedError
from clearsched.files import make_folder, provenance, write_text
from clearsched.problems import find_problem
from clearsched.problems.episodes import Episode
from clearsched.problems.policy import heuristic
from clearsched.problems.problem import Instance, Problem
from clearsched.registry import load
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.scorers.rules import RuleList
from clearsched.scorers.text import render
from clearsched.search.guarding import guarded
from clearsched.search.safety import in_words
from clearsched.search.trials import JOINED
from clearsched.students.bench import Bench, Fitted, smallest_good
from clearsched.students.dagger import Learn, improve
from clearsched.students.dataset import Dataset, read_dataset, without_none
from clearsched.students.kinds import STUDENTS, settings_of
from clearsched.students.patching import kept_if_refused, laid_on, of_params
from clearsched.students.refining import refine
from clearsched.students.seeds import best_of_fits, best_of_seeds, kept_to_trees, seeded
from clearsched.students.sizes import resized, sizes_of
from clearsched.students.task import Task

if TYPE_CHECKING:
    from clearsched.decisions.experts import Expert

TRIAL_EPISODES = 32
"""Training episodes on which the variants of a fit are compared in closed loop, at most; streams are joined."""

SHARED = (
    "limit_tree",
    "limit_caps",
    "seeds",
    "fits",
    "dagger_rounds",
    "dagger_episodes",
    "sampling",
    "refine",
    "pareto",
    "pick",
)
"""What a fit reads of the section `students` beside the section of its kind."""


def fit_one(
    params: Any,
    kind: str,
    trace: Path,
    workloads: Path,
    tuned: Path | None,
    teacher: str | Path,
    decisions: Path,
    out_dir: Path,
    others: Sequence[Path] = (),
    size: int | None = None,
    by: str = "",
) -> Path:
    """See `clearsched.students.fit`."""
    problem = find_problem(params.problem)
    instance = problem.open(trace, workloads)
    check_log(decisions, problem, instance, workloads)
    of_params(params.students, problem)  # so that a broken patch is told before the fit
    inputs: dict[str, str | Path] = {"trace": trace, "workloads": workloads, "decisions": decisions}
    if Path(teacher).is_file():
        inputs["teacher"] = teacher
    inputs |= {path.stem: path for path in others}
    asked = {"guard": params.students.guard.heuristic, "safety_episodes": params.students.safety_episodes}
    on = {name for name, wanted in asked.items() if wanted}
    settings = params.students.model_dump(mode="json", include={kind, *SHARED, *on})
    with ThreadPoolExecutor(1) as pool:  # a large log is digested while it is read
        origin = pool.submit(provenance, settings, inputs)
        rare = asked_besides(params.students, kind, instance, teacher, tuned)
        task = task_of(params, kind, instance, decisions, others, tuned, rare)
    expert, name = _expert(params, kind, teacher, tuned, decisions)
    train = instance.split("train")
    later = train[params.decisions.episodes :] or train  # DAgger's episodes are new ones, as far as there are any
    visits = out_dir / f"{kind}_visits"
    shutil.rmtree(visits, ignore_errors=True)  # an earlier fit may have had more rounds
    make_folder(visits)
    sizes = [size] if size else sizes_of(params.students, kind)
    seeds = 1 if size else params.students.seeds  # of a size that was asked for, one of many
    fits = 1 if size else params.students.fits
    fit = partial(fit_size, task, expert=expert, episodes=later, visits=visits, by=by, seeds=seeds, fits=fits)
    student = picked(task, sizes, fit)
    student = replace(student, evidence={**student.evidence, "provenance": origin.result() | {"expert": name}})
    with kept_if_refused(out_dir / f"{kind}_unpatched", kind):
        student = laid_on(params.students, student, instance, tuned, rare)
    student = guarded(params.students.guard, student, instance, tuned, partial(_tell, task), rare)
    student.write(out_dir / f"{kind}.json")
    write_text(out_dir / f"{kind}.txt", render(student))
    return out_dir / f"{kind}.json"


def asked_besides(common: Any, kind: str, instance: Instance, teacher: str | Path, tuned: Path | None) -> list[Episode]:
    """Episodes on which a student is held to the safety check besides, where the teacher does not stray itself.

    So is one that does not imitate: what is told of it is to be held against the others. A line tells how many.

    Args:
        common: the section `students` of params.
        kind: of the registry.
        instance: with the training episodes.
        teacher: file of the network, or name of a heuristic.
        tuned: parameters of the heuristics.
    """
    if not common.safety_episodes:
        return []
    from clearsched.decisions.experts import load_expert  # it brings torch, and so does the next
    from clearsched.teacher.judging import ANEW, within_reach

    drawn = instance.redrawn_of_all(instance.split("train"), common.safety_episodes, ANEW)
    kept = within_reach(instance, load_expert(instance.problem, teacher, tuned).policy, drawn)
    print(f"{kind}: asked {len(kept):,} of {len(drawn):,} further episodes: the teacher is safe there", file=sys.stderr)
    return kept


def _expert(
    params: Any, kind: str, teacher: str | Path, tuned: Path | None, decisions: Path
) -> tuple[Expert | None, str]:
    """Who answers where the student goes, and the name; None where it goes nowhere: then the log's expert is told."""
    if not (params.students.dagger_rounds and STUDENTS[kind].imitates):
        return None, read_metadata(decisions)["expert"]
    from clearsched.decisions.experts import load_expert  # it brings torch

    expert = load_expert(find_problem(params.problem), teacher, tuned)
    return expert, expert.name


def picked(task: Task, sizes: Sequence[int | None], fit: Callable[[int | None], Fitted]) -> ScoredPolicy:
    """The safe student of the smallest size that is nearly as good as the best; `sizes` in growing order."""
    fits = {size: fit(size) for size in sizes}
    safe = {size: each for size, each in fits.items() if each.is_safe} or fits
    within = task.common.pareto.within
    size, _ = smallest_good([(size, each.cost) for size, each in safe.items()], within)
    if len(fits) > 1:
        unsafe = len(fits) - len(safe)
        left_out = f", {unsafe} that are not safe left out" if unsafe else ""
        _tell(task, f"of {len(fits)} sizes {size} is the smallest within {100 * within:g} % of the best{left_out}")
    return fits[size].policy


def fit_size(
    task: Task,
    size: int | None,
    expert: Any,
    episodes: Sequence[Episode],
    visits: Path,
    by: str = "",
    seeds: int = 1,
    fits: int = 1,
) -> Fitted:
    """The student of a size, told by the setting `by`: the best of so many training seeds; its file keeps them all.

    Each of them is the best of so many fits.

    Raises:
        ClearschedError: the kind has no size, or not this one.
    """
    learn: Learn = load(f"{STUDENTS[task.name].module}:learn")
    task = replace(task, settings=resized(task.name, task.settings, size, by))
    folder = visits if size is None else visits / f"size={size}"

    def fit(number: int) -> Fitted:
        own, alone = kept_to_trees(seeded(task, number), number % fits), seeds * fits == 1
        visited = folder if alone else folder / f"seed={number}"
        return refined(own, *distilled(own, learn, expert, episodes, visited))

    best = best_of_seeds(partial(best_of_fits, fit, fits=fits), seeds, task.bench, partial(_tell, task))
    name = by or STUDENTS[task.name].size
    told = {"size": getattr(task.settings, name)} | ({"size_by": by} if by else {}) if name else {}
    return best._replace(policy=replace(best.policy, evidence={**best.policy.evidence, **told}))


def task_of(
    params: Any,
    kind: str,
    instance: Instance,
    decisions: Path,
    others: Sequence[Path] = (),
    tuned: Path | None = None,
    rare: Sequence[Episode] = (),
) -> Task:
    """What the student of a kind learns from.

    Args:
        params: with the sections `students` and `seed`.
        kind: of the registry.
        instance: with the episodes.
        decisions: the log.
        others: files of students that are fitted already.
        tuned: parameters of the heuristics.
        rare: episodes that it is asked beside those of the safety check.
    """
    problem, common = instance.problem, params.students
    trials = instance.joined(instance.split("train")[:TRIAL_EPISODES], JOINED)
    baseline = heuristic(problem, problem.baseline)
    bench = Bench(instance, instance.objective, trials, instance.split("validation"), baseline, rare)
    # What is drawn by importance is drawn of all.
    budget = common.sampling.decisions if common.sampling.by == "equal" else 0
    dataset = read_dataset(decisions, problem, "train", instance.most, budget)
    known = {path.stem: load_policy(path, problem) for path in others}
    if not STUDENTS[kind].imitates:
        common = common.model_copy(update={"dagger_rounds": 0})
    return Task(kind, problem, dataset, bench, settings_of(common, kind), common, params.seed, known, tuned)


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


def distilled(
    task: Task, learn: Learn, expert: Any, episodes: Sequence[Episode], visits: Path | None = None
) -> tuple[ScoredPolicy, list[ScoredPolicy]]:
    """The student of the best round (`dagger.improve`), and those of the others.

    Its file tells what each round came to.
    """
    student, others, costs = improve(task, learn, expert, episodes, visits, partial(_say, task))
    values = list(map(task.bench.told, costs))
    return _with_evidence(student, task.dataset, {f"validation_{task.bench.measure.name}": values}), others


def refined(task: Task, student: ScoredPolicy, others: Sequence[ScoredPolicy] = ()) -> Fitted:
    """The student after refinement in closed loop; its file tells what each step came to.

    `others`: of other rounds of imitation; one of them is refined where it is safe and the student is not.
    """
    found = refine(task, student, task.common.refine, tell=partial(_tell, task), others=others)
    values = list(map(task.bench.told, found.costs))
    if found.safety is not None:
        for line in in_words(found.safety, "what was distilled"):
            _tell(task, line)
    if task.common.refine.rounds:
        was, now = (task.bench.in_words(found.costs[place]) for place in (0, found.chosen))
        _tell(
            task, f"refined with {found.evaluations:,.0f} other sets of numbers: {was} became {now} on unseen episodes"
        )
    told = {f"refined_{task.bench.measure.name}": values, f"unseen_{task.bench.measure.name}": values[found.chosen]}
    student = _with_evidence(found.policy, task.dataset, {**student.evidence, **found.policy.evidence, **told})
    is_safe = found.safety is None or not found.safety.verdict.strays
    return Fitted(student, found.costs[found.chosen], is_safe)


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
    _tell(task, f"{what}: {task.bench.in_words(cost)} on {len(task.bench.validation)} validation episodes")


def _tell(task: Task, what: str) -> None:
    """A line on stderr."""
    print(f"{task.name}: {what}", file=sys.stderr, flush=True)
