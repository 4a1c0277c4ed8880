"""The stage `search`: for one family several restarts, the best of them by the validation episodes, files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.files import provenance, write_text
from clearsched.heuristics.tuning import tuned_heuristic
from clearsched.problems import find_problem
from clearsched.problems.episodes import Episode
from clearsched.problems.policy import Policy, heuristic
from clearsched.problems.problem import Instance, Problem, means_help
from clearsched.problems.programs import Program, rounded
from clearsched.registry import load
from clearsched.schemas import SEARCH_CURVE, write_table
from clearsched.scorers.guard import check_gauges
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.scorer import read_scorer
from clearsched.scorers.text import render
from clearsched.search.families import families_of
from clearsched.search.guard_bounds import in_turn, measured
from clearsched.search.probing import Probes
from clearsched.search.restarts import Restart, Search, long_ones
from clearsched.search.safety import evidence, first_safe, in_words
from clearsched.search.sampling import ground_of
from clearsched.search.settings import SearchParams
from clearsched.search.trials import trials

if TYPE_CHECKING:
    from clearsched.params import Params

DIGITS = 6
"""Digits of the measure that a policy's file tells."""

AGAIN = 8
"""So often a restart is made at most."""

Tell = Callable[[dict[str, Any]], None]


class Found(NamedTuple):
    """What a search gives."""

    policy: ScoredPolicy
    restarts: list[Restart]
    curve: pa.Table  # of schema `SEARCH_CURVE`


def search_one(params: Params, family: str, trace: Path, workloads: Path, tuned: Path, out_dir: Path) -> Path:
    """See `clearsched.search.run`."""
    problem = find_problem(params.problem)
    entry = families_of(problem)[family]
    instance = problem.open(trace, workloads)
    reference = tuned_heuristic(problem, "best", tuned)
    measure = instance.objective
    settings = params.search
    episodes = instance.split("train"), instance.split("validation")
    with _progress(entry.label, settings) as tell:
        found = search(instance, family, *episodes, reference, settings, params.seed, tell, tuned=tuned)
    told = settings.model_dump(mode="json", exclude={"families"})
    origin = provenance(told, {"trace": trace, "workloads": workloads, "tuned": tuned})
    policy = replace(found.policy, evidence={**found.policy.evidence, "provenance": origin})
    policy.write(out_dir / f"{family}.json")
    write_text(out_dir / f"{family}.txt", render(policy))
    told_of = {"family": family, "reference": reference.name, "measure": measure.name, "unit": measure.unit}
    write_table(out_dir / f"{family}_curve.parquet", found.curve, SEARCH_CURVE, origin | told_of)
    return out_dir / f"{family}.json"


def search(
    instance: Instance,
    family: str,
    train: list[Episode],
    validation: list[Episode],
    reference: Policy,
    settings: SearchParams,
    seed: int,
    tell: Tell = lambda row: None,
    threads: int | None = None,
    tuned: Path | None = None,
) -> Found:
    """The best policy of a family that the budget allows.

    Args:
        instance: what runs the episodes.
        family: of the problem.
        train: episodes to search on.
        validation: episodes to choose between restarts on.
        reference: a heuristic that the search is told against.
        settings: budget, restarts, population.
        seed: of all random numbers.
        tell: called with each row of the curve.
        threads: on which episodes run; as many as numba may use, unless told. The result is the same.
        tuned: parameters of the heuristics, for a guard; its defaults without.

    Raises:
        ClearschedError: no candidate could be run, or the problem has no gauges for a guard.
    """
    problem = instance.problem
    entry = families_of(problem)[family]
    if settings.guard.heuristic is not None:
        check_gauges(problem, "search.guard", settings.guard.gauges)  # before minutes of search
    measure = instance.objective
    compiled: Any = reference
    with trials(instance, measure, threads) as runs:
        costs = runs.cost([reference], [*train, *validation])[0]
        count = long_ones(settings.episodes, train, instance.parted(train))
        settings = settings.model_copy(update={"episodes": count})
        program: Program = load(entry.program)(ground_of(instance, train, compiled.compiled))
        policy = partial(policy_of, family, problem, instance.none, means_help(instance))
        baseline = heuristic(problem, problem.baseline)
        guards = in_turn(settings.guard, measured(settings.guard, compiled, instance, tuned, "search.guard"))
        probes = Probes(runs, baseline, [*train, *validation, *instance.stressed(train)], [], guards[0])
        common = Search(family, policy, settings, runs, train, validation, costs[: len(train)], seed, tell)
        restarts = [_safe_restart(common, program, probes, number) for number in range(settings.restarts)]
        ran = [restart for restart in restarts if np.isfinite(restart.validation) and restart.policy is not None]
        if not ran:
            raise ClearschedError(
                f"search: {family}: no candidate could be run to its end: a feature or a score is not a finite number; "
                "look at the trace, or search for another family"
            )
        ran.sort(key=lambda restart: restart.validation)
        alone = [restart.policy for restart in ran if restart.policy]
        guarded = [_guarded(policy, settings, instance, tuned) for policy in alone]
        policies = [*alone, *guarded] if len(guards) > 1 else guarded
        chosen = first_safe(probes.verdict, policies, len(policies) - len(guarded))
    for line in in_words(chosen, "the best on validation"):
        print(f"search: {family}: {line}", file=sys.stderr, flush=True)
    best = ran[chosen.place % len(ran)]
    told = {
        "measure": measure.name,
        "episodes": len(validation),
        "value": rounded(runs.value(best.validation), DIGITS),
        "heuristic": rounded(runs.value(float(costs[len(train) :].mean())), DIGITS),
    }
    most = {"most": instance.most} if instance.most else {}
    judged = evidence(chosen.verdict, baseline, instance)
    found = {**most, "validation": told, **judged, "restarts": [_told(restart) for restart in restarts]}
    rows = [row for restart in restarts for row in restart.curve]
    curve = pa.Table.from_pylist(rows, schema=SEARCH_CURVE)
    return Found(replace(policies[chosen.place], evidence=found), restarts, curve)


def _safe_restart(common: Search, program: Program, probes: Probes, number: int) -> Restart:
    """A restart that has run, made again while its best does not pass the whole check: with what told against it.

    What ran is known, so that only what follows from another answer runs anew. Where no finalist passes what is known,
    each tells one episode more; it ends where none does. At last the next finalists are asked; a restart without a safe
    one has its best all the same: there may be nothing safe.
    """
    for _ in range(AGAIN):
        keeps = partial(probes.keeps, known=probes.known)
        restart = Restart(replace(common, keeps=keeps, is_safe=probes.is_safe), number)
        restart.run(program)
        if restart.policy is None:
            told = [probes.learn_from(finalist) for finalist in restart.finalists]  # each of them, not up to the first
            if not any(told):
                break
        elif not probes.verdict(restart.policy).strays:
            return restart
    while restart.policy is not None and probes.verdict(restart.policy).strays:
        restart.choose()  # it has learned what told
    if restart.policy is None:
        restart.search = common
        restart.choose()
    return restart


def _guarded(policy: ScoredPolicy, settings: SearchParams, instance: Instance, tuned: Path | None) -> ScoredPolicy:
    """With the guard of `search.guard`, by which it is then judged; as it is where none is asked for."""
    return replace(policy, guard=measured(settings.guard, policy, instance, tuned, "search.guard"))


def policy_of(
    family: str, problem: Problem, none: bool, help_first: bool, program: Program, values: np.ndarray
) -> ScoredPolicy:
    """The policy of a family with some numbers."""
    told = program.scorers(values)
    scorers = {
        choice.name: read_scorer(told[choice.name], names_of(choice), f"{family}: {choice.name}")
        for choice in problem.choices
    }
    return ScoredPolicy(family, problem, scorers, none, {}, family, "searched", help_first=help_first)


def _told(restart: Restart) -> dict[str, Any]:
    """A restart as the policy's file has it."""
    value = restart.search.trials.value(restart.validation)
    scorers = {} if restart.policy is None else restart.policy.scorers
    return {
        "seed": restart.seed,
        "evaluations": rounded(restart.spent, DIGITS),
        "validation": rounded(value, DIGITS) if np.isfinite(value) else None,
        "scorers": {name: scorer.to_json() for name, scorer in scorers.items()},
    }


@contextmanager
def _progress(label: str, settings: SearchParams) -> Iterator[Tell]:
    """A bar on stderr: the best so far against the heuristic, and the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    share = settings.evaluations / settings.restarts
    lowest = np.inf
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(f"search: {label}", total=settings.evaluations)

        def tell(row: dict[str, Any]) -> None:
            nonlocal lowest
            lowest = min(lowest, np.inf if row["best_difference"] is None else row["best_difference"])
            against = f", best {100 * lowest:+.1f} % against the best heuristic" if np.isfinite(lowest) else ""
            done = row["restart"] * share + min(row["evaluations"], share)
            progress.update(task, completed=done, description=f"search: {label}{against}")

        yield tell
