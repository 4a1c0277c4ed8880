"""Ask the policies of a scenario what the page tells of them: their rules' worth, and the decisions of one episode."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearsched.decisions.choices import Choices
from clearsched.decisions.experts import load_expert
from clearsched.errors import ClearschedError, in_a_line
from clearsched.evaluation.policies import files_of, load_policies
from clearsched.files import provenance, write_json
from clearsched.heuristics.tuning import read_tuned
from clearsched.problems import find_problem
from clearsched.problems.declarations import rank_choice
from clearsched.problems.problem import Instance, Problem
from clearsched.reading.explaining import Prepared
from clearsched.reading.files import SPLIT, read_log
from clearsched.reading.flipping import spread_of
from clearsched.reading.worth import Bench
from clearsched.report.episode import record
from clearsched.report.explorer import Material, clauses_of, questions, schedule_data
from clearsched.report.packing import pack
from clearsched.report.rules import rules_of
from clearsched.scorers.policy import ScoredPolicy

if TYPE_CHECKING:
    from clearsched.params import Params


def collect(
    params: Params,
    trace: Path,
    workloads: Path,
    tuned: Path,
    teacher: Path,
    students: Sequence[Path],
    decisions: Path,
    out: Path,
    searched: Sequence[Path] = (),
) -> None:
    """See `clearsched.report.collect`."""
    problem = find_problem(params.problem)
    instance = problem.open(trace, workloads)
    policies = load_policies(problem, params.evaluation, read_tuned(tuned, problem), teacher, students, searched)
    scored = [policy for policy in policies if isinstance(policy, ScoredPolicy)]
    logged, most = read_log(scored[0], decisions, SPLIT) if scored else ({}, 0)
    bench = Bench(instance, instance.split(SPLIT), params.evaluation.confidence)
    expert = load_expert(problem, teacher, tuned, params.evaluation.mode)
    content: dict[str, Any] = {
        "problem": problem.name,
        "scenario": params.scenario,
        "objective": instance.objective.name,
        "setting": instance.describe("test", instance.split("test")),
        "bench": instance.describe(SPLIT, bench.episodes),
        "rules": [rules_of(policy, logged, most, bench) for policy in scored],
        "explorer": _explored(params, problem, instance, policies, expert, logged),
    }
    files = {"trace": trace, "workloads": workloads, "tuned": tuned, "decisions": decisions}
    files |= {"teacher": teacher} if teacher.is_file() else {}  # else the name of a heuristic in its place
    files |= files_of(students, searched)
    content["provenance"] = provenance(params.report.model_dump(mode="json"), files)
    write_json(out, content)


def _explored(
    params: Params,
    problem: Problem,
    instance: Instance,
    policies: Sequence[Any],
    expert: Any,
    logged: Mapping[str, Choices],
) -> dict[str, Any]:
    """The data of the explorer, or the reason why there are none: no picture is worth the run that it belongs to.

    Raises:
        ClearschedError: what it is made of is broken.
    """
    settings = params.report
    if not settings.decisions:
        return {"note": "No decisions were asked for: report.decisions is 0."}
    try:
        return _explorer(settings, problem, instance, policies, expert, logged)
    except ClearschedError:
        raise
    except Exception as error:
        why = in_a_line(error)
        print(f"clearsched: decision explorer: {why}", file=sys.stderr)
        return {"note": f"The decisions could not be told: {why}"}


def _explorer(
    settings: Any,
    problem: Problem,
    instance: Instance,
    policies: Sequence[Any],
    expert: Any,
    logged: Mapping[str, Choices],
) -> dict[str, Any]:
    runs = [*policies]
    if expert.name not in {policy.name for policy in policies}:
        runs.append(expert.policy)
    scored = [policy for policy in runs if isinstance(policy, ScoredPolicy)]
    rank = rank_choice(problem.choices)
    episode = instance.split("test")[settings.episode]
    schedules, longest = record(instance, episode, runs, expert, settings.decisions)
    choices = logged.get(rank.name) or schedules[0].rank
    material = Material(
        instance, episode, expert.name, [Prepared(policy) for policy in scored], spread_of(choices), settings.explained
    )
    return questions(problem) | {
        "episode": settings.episode,
        "expert": expert.name,
        "longest": longest,
        "kinds": {policy.name: policy.kind for policy in runs},
        "clauses": {policy.name: clauses_of(policy) for policy in scored},
        "words": {policy.name: policy.scorers[rank.name].clause for policy in scored},
        "used": {policy.name: list(policy.scorers[rank.name].used) for policy in scored},
        "schedules": {each.policy: pack(schedule_data(each, material)) for each in schedules},
    }
