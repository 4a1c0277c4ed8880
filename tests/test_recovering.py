"""From the simulator through a log to a printed rule: the rule by which an expert scheduled is found again."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from clearsched.decisions.answers import rank_answers
from clearsched.decisions.experts import HeuristicExpert
from clearsched.decisions.recording import record
from clearsched.decisions.writer import open_log
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.policy import CompiledPolicy
from clearsched.scorers.conditions import Rule, parse_conditions
from clearsched.scorers.policy import ScoredPolicy, load_policy, names_of
from clearsched.scorers.rules import RuleList
from clearsched.scorers.text import render
from clearsched.students import rule_list
from clearsched.students.bench import Bench
from clearsched.students.dataset import read_dataset, subset
from clearsched.students.fitting import distilled
from clearsched.students.settings import LimitCapsParams, LimitTreeParams, RuleListParams, StudentsParams
from clearsched.students.task import Task
from toys import stage, toy_trace, toy_workload

STAGE, LIMIT = PROBLEM.choices
EPISODES = {"train": 10, "validation": 4}


class Varied(DagJobsInstance):
    """Thirty jobs an episode, chains of one to three stages of any size: what is small by one feature is not by all."""

    most, none = 3, False
    stages = 3
    """Of a job, at most."""
    gap_ms = 150
    """Between arrivals, on average."""

    def __init__(self) -> None:
        generator = np.random.default_rng(5)
        jobs = []
        for count in generator.integers(1, self.stages + 1, 40):
            lasts = generator.integers(5, 40, count).tolist()
            tasks = generator.integers(2, 30, count).tolist()
            jobs.append(
                [
                    stage(size, [place - 1] if place else [], first_wave=last, rest_wave=last, fresh=last)
                    for place, (size, last) in enumerate(zip(tasks, lasts, strict=True))
                ]
            )
        super().__init__(compile_profiles(toy_trace(jobs), warmup_delay_ms=0))

    def split(self, name: str, limit: int | None = None) -> list[Workload]:
        generator = np.random.default_rng(["train", "validation"].index(name))
        found = []
        for seed in range(EPISODES[name]):
            arrivals = np.cumsum(generator.exponential(self.gap_ms, 30)).astype(int).tolist()
            profile = generator.integers(40, size=30).tolist()
            found.append(toy_workload(arrivals, self.most, profile=profile, moving_delay_ms=5, seed=seed, idling=False))
        return found[:limit]


class OneExecutor(Varied):
    """Independent jobs of one stage on one executor: whom the least work is left gets it (Schrage, 1968)."""

    most, stages, gap_ms = 1, 1, 100


def by_hand(condition: str, tie: str) -> CompiledPolicy:
    """First whom the condition fits, the least of `tie` among equals, who gets all executors."""
    names = names_of(STAGE)
    rules = RuleList((Rule(parse_conditions(condition, names, "here"), 1.0), Rule((), 0.0)), names, ties=(tie,))
    policy = ScoredPolicy("by_hand", PROBLEM, {"stage": rules, "limit": RuleList((Rule((), 1.0),), names_of(LIMIT))})
    return CompiledPolicy("by_hand", "student", policy.compiled)


def logged(instance: Varied, expert: CompiledPolicy, path: Path, *splits: str) -> Path:
    about = {"problem": PROBLEM.name, "expert": expert.name, "facts": {}, "episodes": EPISODES}
    with open_log(path, PROBLEM, about) as writer:
        for split in splits:
            for decision in record(HeuristicExpert(expert), instance, instance.split(split), split):
                writer.add(decision)
    return path


def learned(instance: Varied, expert: CompiledPolicy, folder: Path) -> tuple[ScoredPolicy, float, str]:
    """A rule list distilled from an expert's log alone, without refinement.

    Returns:
        it; the share of real decisions of episodes that it has not seen in which it chooses as the expert; its text.
    """
    log = logged(instance, expert, folder / "decisions.parquet", *EPISODES)
    bench = Bench(instance, instance.problem.measures[0], instance.split("train", 2), instance.split("validation", 2))
    common = StudentsParams(
        limit_tree=LimitTreeParams(leaves=2), limit_caps=LimitCapsParams(terms=0), dagger_rounds=0, dagger_episodes=1
    )
    dataset = read_dataset(log, PROBLEM, "train", instance.most)
    task = Task("rule_list", PROBLEM, dataset, bench, RuleListParams(), common, 1)
    distilled(task, rule_list.learn, None, [])[0].write(folder / "rule_list.json")
    student = load_policy(folder / "rule_list.json")
    held_out = read_dataset(log, PROBLEM, "validation", instance.most).rank
    real = subset(held_out, ~held_out.trivial)
    assert len(real.chosen) > 100
    assert np.mean(real.chosen == real.starts[:-1]) < 0.6, "the first candidate would do"
    text = " ".join(render(student).split("How many")[0].split())
    return student, float(np.mean(rank_answers(student, real) == real.chosen)), text


@pytest.mark.parametrize(
    ("expert", "printed"),
    [
        (heuristic("sjf_cp"), r"1\. otherwise"),
        (
            by_hand("stage_task_s < 0.015", "job_work_left_s"),
            r"1\. if stage_task_s < 0\.01\d* s -> score 1 .* 2\. otherwise",
        ),
    ],
    ids=["least work left", "short tasks, then least work left"],
)
def test_the_rule_of_an_expert_is_found_again(expert: CompiledPolicy, printed: str, tmp_path: Path) -> None:
    _, share, text = learned(Varied(), expert, tmp_path)
    assert share >= 0.99
    assert re.search(rf"among equals the one with the least job_work_left_s\. {printed}", text), text


def test_shortest_remaining_work_on_one_executor_is_found_again_exactly(tmp_path: Path) -> None:
    """The toy whose best rule is known, from the simulator to the words: every real decision, and no rule beside it."""
    student, share, text = learned(OneExecutor(), heuristic("sjf_cp"), tmp_path)
    assert share == 1.0
    rules = student.scorers[STAGE.name]
    assert isinstance(rules, RuleList)
    assert rules.ties == ("job_work_left_s",)
    assert [rule.conditions for rule in rules.rules] == [()]
    assert re.search(r"among equals the one with the least job_work_left_s\. 1\. otherwise", text), text


@pytest.mark.parametrize("splits", [(), ("train",)], ids=["empty log", "empty split"])
@pytest.mark.parametrize("budget", [0, 100])
def test_a_log_without_decisions_to_learn_from_is_told(splits: tuple[str, ...], budget: int, tmp_path: Path) -> None:
    log = logged(Varied(), heuristic("fifo"), tmp_path / "decisions.parquet", *splits)
    told = f"{log}: no decision of the validation episodes to learn from; log more of them"
    with pytest.raises(ClearschedError, match=f"^{re.escape(told)}$"):
        read_dataset(log, PROBLEM, "validation", Varied.most, budget)
