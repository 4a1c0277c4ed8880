"""A policy of a teacher and a student: with no part the student has no say, with all parts it alone has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from clearsched.decisions.parts import PARTS
from clearsched.evaluation.part_costs import LEVEL, Hybrid, objective_of, part_costs
from clearsched.evaluation.statistics import Bootstrap
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.features import FEATURE_NAMES
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.workloads.files import Workloads
from clearsched.scorers.conditions import parse_conditions
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.rules import Rule, RuleList
from clearsched.teacher.policy import TeacherPolicy
from toys import stage, toy_trace, toy_workload

DAG_JOBS = find_problem("dag_jobs")
SLOW = {"first_wave": 1200, "rest_wave": 1000, "fresh": 2000}
CHAIN = [stage(3, **SLOW), stage(4, [0], **SLOW), stage(2, [1], **SLOW)]
DIAMOND = [stage(2, **SLOW), stage(6, [0], **SLOW), stage(3, [0], **SLOW), stage(1, [1, 2], **SLOW)]
WIDE = [stage(20, **SLOW), stage(1, [0], **SLOW)]


def rules(*texts: tuple[str, float], ties: tuple[str, ...] = ()) -> RuleList:
    found = [Rule(parse_conditions(text, FEATURE_NAMES, "test"), value) for text, value in texts]
    return RuleList(tuple(found), FEATURE_NAMES, ties=ties)


@pytest.fixture(scope="module")
def instance() -> DagJobsInstance:
    drawn = Workloads(pa.table({}), {"num_executors": 6, "semantics": {"idling": True}, "objective": "jct_s"})
    return DagJobsInstance(compile_profiles(toy_trace([CHAIN, DIAMOND, WIDE])), drawn)


@pytest.fixture(scope="module")
def episodes() -> list[Any]:
    generator = np.random.default_rng(2)
    found = []
    for seed in range(3):
        arrivals = np.sort(generator.integers(0, 24_000, 6)).tolist()
        profile = generator.integers(0, 3, 6).tolist()
        found.append(toy_workload(arrivals, 6, profile=profile, moving_delay_ms=500, seed=seed, idling=True))
    return found


@pytest.fixture(scope="module")
def teacher() -> TeacherPolicy:
    torch.manual_seed(0)
    return TeacherPolicy(DAG_JOBS.network({"embedding": 4, "hidden": 8, "rounds": 2}, True), DAG_JOBS)


@pytest.fixture(scope="module")
def student() -> ScoredPolicy:
    """Idles where every candidate's job holds three executors; first the job that came last."""
    stages = rules(("job_executors < 3", 2), ("otherwise", -1), ties=("job_age_s", "stage_rank"))
    limits = rules(("job_is_source < 1", 0.34), ("otherwise", 0.7))
    return ScoredPolicy("student", DAG_JOBS, {"stage": stages, "limit": limits}, none=True)


def ends(policy: Any, instance: DagJobsInstance, episodes: list[Any]) -> list[list[int]]:
    return [outcome.completion_ms.tolist() for outcome in policy.run(instance, episodes)]


def test_no_part_is_the_teacher_and_all_parts_are_the_student(
    instance: DagJobsInstance, episodes: list[Any], teacher: TeacherPolicy, student: ScoredPolicy
) -> None:
    alone, other = ends(teacher, instance, episodes), ends(student, instance, episodes)
    assert alone != other
    assert ends(Hybrid(teacher, student, ()), instance, episodes) == alone
    assert ends(Hybrid(teacher, student, (*PARTS, LEVEL)), instance, episodes) == other
    between = [ends(Hybrid(teacher, student, (part,)), instance, episodes) for part in (*PARTS, LEVEL)]
    assert sum(found != alone for found in between) >= 3, "parts have a say of their own"


def test_costs_are_paired_and_in_percent(
    instance: DagJobsInstance, episodes: list[Any], teacher: TeacherPolicy, student: ScoredPolicy
) -> None:
    alone = objective_of(teacher, instance, episodes)
    costs = part_costs(teacher, student, instance, episodes, (LEVEL,), alone, Bootstrap(resamples=100))

    def mean(policy: Any) -> float:
        return float(np.mean([outcome.measures["jct_s"] for outcome in policy.run(instance, episodes)]))

    base = mean(teacher)
    expected = 100 * (mean(Hybrid(teacher, student, (LEVEL,))) - base) / base
    assert costs[LEVEL].mean == pytest.approx(expected)
    assert costs[LEVEL].low <= costs[LEVEL].mean <= costs[LEVEL].high
