""" "None of these" as an answer that is learned, drawn, improved on and logged (docs/teacher.md)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from clearsched.decisions.experts import HeuristicExpert, TeacherExpert
from clearsched.decisions.reader import read_choices
from clearsched.decisions.recording import collect, record
from clearsched.decisions.writer import open_log
from clearsched.errors import ClearschedError
from clearsched.files import write_json
from clearsched.problems.dag_jobs.features import FEATURES
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.network.network import TeacherNetwork
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.traces import write_trace
from clearsched.problems.dag_jobs.workloads import build
from clearsched.problems.episodes import NONE
from clearsched.problems.policy import Policy
from clearsched.problems.problem import as_made, means_help
from clearsched.report.episode import record as record_schedules
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.policy import load_policy as load_student
from clearsched.scorers.text import render
from clearsched.search.searching import search as search_for
from clearsched.search.settings import SearchParams
from clearsched.students.patch_changes import changes_of
from clearsched.students.task import Task
from clearsched.teacher import sampling
from clearsched.teacher.choices import candidate_of, column_of, softmax
from clearsched.teacher.imitation import CloneParams, Cloning, Examples, demonstrate, imitation_loss
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.settings import ImproveParams, TeacherParams
from clearsched.teacher.steps import Pull, update
from clearsched.teacher.training import new_network
from cloning import clone
from stages import stage_params
from toys import stage, toy_trace, toy_workload

SECOND = {"first_wave": 1200, "rest_wave": 1000, "fresh": 2000}
CHAIN = [stage(3, **SECOND), stage(4, [0], **SECOND), stage(2, [1], **SECOND)]
DIAMOND = [stage(2, **SECOND), stage(6, [0], **SECOND), stage(3, [0], **SECOND), stage(1, [1, 2], **SECOND)]
TRACE = toy_trace([CHAIN, DIAMOND, [stage(20, **SECOND), stage(1, [0], **SECOND)]])
EXECUTORS = 6
EXPERT = heuristic("local_srpt", p=0.5, m=0.6)
"""Caps below the whole cluster: where every job is at its cap, freed executors stay idle."""


@pytest.fixture(scope="module")
def instance() -> DagJobsInstance:
    return DagJobsInstance(compile_profiles(TRACE))


def workload(seed: int, idling: bool = True) -> Workload:
    generator = np.random.default_rng(seed)
    arrivals = np.sort(generator.integers(0, 24_000, 6)).tolist()
    profile = generator.integers(0, TRACE.num_profiles, 6).tolist()
    return toy_workload(arrivals, EXECUTORS, profile=profile, moving_delay_ms=500, seed=seed, idling=idling)


def a_network(none: bool, eager_for_none: float = 0.0) -> TeacherNetwork:
    """Random weights; `eager_for_none` is added to the score of none."""
    torch.manual_seed(0)
    network = TeacherNetwork(embedding=6, hidden=12, rounds=3, none=none)
    if none:
        with torch.no_grad():
            network.none_net[-1].bias += eager_for_none
    return network


def answers_of(policy: TeacherPolicy, instance: DagJobsInstance, episodes: list[Workload]) -> tuple[np.ndarray, ...]:
    """What a policy answers in its own episodes, and whether none was allowed."""
    lockstep, candidate, level, allowed = instance.lockstep(episodes), [], [], []
    generators = [policy.generator(instance, episode) for episode in episodes]
    while lockstep.advance():
        seen = lockstep.observe()
        answers = policy.weigh(seen, [generators[lane] for lane in lockstep.pending]).answers
        candidate.append(answers.candidate)
        level.append(answers.level)
        allowed.append(seen.none_allowed.copy())
        lockstep.answer(answers)
    assert len(lockstep.results()) == len(episodes)
    return np.concatenate(candidate), np.concatenate(level), np.concatenate(allowed)


# Learned


@pytest.fixture(scope="module")
def clones(instance: DagJobsInstance) -> dict[bool, TeacherNetwork]:
    """Clones of the expert that can and that cannot answer none."""
    settings = CloneParams(episodes=8, epochs=12, dagger_rounds=1, batch_size=32, learning_rate=0.01)
    networks = {none: a_network(none) for none in (True, False)}
    for network in networks.values():
        episodes = [workload(seed) for seed in range(16)]
        clone(Cloning(network, instance, episodes, EXPERT.compiled, settings, np.random.default_rng(0)))
    return networks


def test_labels_tell_none_where_a_network_may_answer_it(instance: DagJobsInstance) -> None:
    episodes = [workload(seed) for seed in range(8)]
    examples = demonstrate(instance, episodes, EXPERT.compiled)
    named = examples.candidate != NONE
    assert 0.05 < 1 - named.mean() < 0.5
    assert examples.observation.none_allowed[~named].all()
    assert (examples.level[named] >= 1).all()
    without = demonstrate(instance, episodes, EXPERT.compiled, none=False)
    forbidden = demonstrate(instance, [workload(seed, idling=False) for seed in range(8)], EXPERT.compiled)
    assert (without.candidate != NONE).all() and (forbidden.candidate != NONE).all()
    assert without.candidate.tolist() == forbidden.candidate.tolist(), "the episodes go the same way"
    assert without.level.tolist() == forbidden.level.tolist()


def test_a_clone_learns_none(instance: DagJobsInstance, clones: dict[bool, TeacherNetwork]) -> None:
    fresh = demonstrate(instance, [workload(100 + seed) for seed in range(8)], EXPERT.compiled)
    answers = TeacherPolicy(clones[True], PROBLEM).weigh(fresh.observation).answers
    idle = fresh.candidate == NONE
    assert (answers.candidate[idle] == NONE).mean() > 0.8
    assert (answers.candidate[~idle] == NONE).mean() < 0.1
    assert (answers.level[answers.candidate == NONE] == 0).all()
    own, level, allowed = answers_of(TeacherPolicy(clones[True], PROBLEM), instance, [workload(s) for s in (200, 201)])
    assert (own == NONE).any() and allowed[own == NONE].all()
    assert ((level == 0) == (own == NONE)).all()


def test_a_network_without_none_never_answers_it(instance: DagJobsInstance, clones: dict[bool, TeacherNetwork]) -> None:
    for mode in ("argmax", "sampled"):
        policy = TeacherPolicy(clones[False], PROBLEM, mode)
        own, level, allowed = answers_of(policy, instance, [workload(seed) for seed in (200, 201)])
        assert allowed.any()
        assert (own != NONE).all() and (level >= 1).all()


def test_no_network_answers_none_where_it_is_forbidden(instance: DagJobsInstance) -> None:
    policy = TeacherPolicy(a_network(True, eager_for_none=50), PROBLEM)
    own, _, allowed = answers_of(policy, instance, [workload(seed, idling=False) for seed in range(3)])
    assert not allowed.any() and (own != NONE).all()


def test_cloning_none_asks_for_no_level(instance: DagJobsInstance) -> None:
    """The loss is the cross-entropy of none alone, whatever stands for its level."""
    examples = demonstrate(instance, [workload(0)], EXPERT.compiled)
    idle = examples[np.flatnonzero(examples.candidate == NONE)]
    assert len(idle)
    network = a_network(True)
    loss, (_, accuracy, level_accuracy) = imitation_loss(network, idle)
    other, _ = imitation_loss(network, Examples(idle.observation, idle.candidate, idle.level + 2))
    scores = TeacherPolicy(network, PROBLEM).weigh(idle.observation).candidates
    assert loss.item() == pytest.approx(-np.log(softmax(scores)[:, -1]).mean(), rel=1e-4)
    assert loss.item() == other.item()
    assert level_accuracy == 1
    assert accuracy == np.mean(scores.argmax(axis=1) == scores.shape[1] - 1)
    loss.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in network.parameters())
    assert network.none_net[-1].bias.grad.abs().item() > 0


def test_the_stage_trains_a_network_that_fits_the_episodes(tmp_path: Path) -> None:
    write_trace(tmp_path / "trace.parquet", TRACE)
    for idling in (True, False):
        params = stage_params(idling=idling, workload={"executors": 4, "jobs": 3})
        build(params, tmp_path / "trace.parquet", tmp_path / "workloads.parquet")
        opened = PROBLEM.open(tmp_path / "trace.parquet", tmp_path / "workloads.parquet")
        assert opened.none is idling
        assert new_network(opened, TeacherParams(), np.random.default_rng(0)).none is idling


# Drawn


def test_columns_and_candidates() -> None:
    batch = SimpleNamespace(most_candidates=3)
    assert column_of(torch.tensor([0, NONE, 2]), batch).tolist() == [0, 3, 2]
    assert candidate_of(np.array([0, 3, 2]), 3).tolist() == [0, NONE, 2]


def test_the_probability_of_a_choice_by_hand() -> None:
    """Three decisions: none; a candidate with its only level of that effect; one whose upper two levels do the same."""
    batch = SimpleNamespace(
        most_candidates=2, first_candidate=torch.tensor([0, 2, 3]), same_from=torch.tensor([3, 3, 3, 2, 2])
    )
    ranks = torch.tensor([[0.2, 0.3, 0.5], [0.9, 0.0, 0.1], [0.6, 0.4, 0.0]]).log()
    levels = torch.tensor([[0.0, 0.0, 1.0], [0.25, 0.5, 0.25], [0.2, 0.5, 0.3]]).log()
    candidate, level = torch.tensor([NONE, 0, 1]), torch.tensor([0, 2, 3])
    found = sampling.log_probability_of_choice(batch, ranks, levels, candidate, level)
    torch.testing.assert_close(found.exp(), torch.tensor([0.5, 0.9 * 0.5, 0.4 * 0.8]))
    without = sampling.log_probability_of_choice(batch, ranks, None, candidate, level)
    torch.testing.assert_close(without.exp(), torch.tensor([0.5, 0.9, 0.4]))


def test_the_best_and_the_drawn_answer_may_be_none(instance: DagJobsInstance) -> None:
    """A score of none far above the others is taken wherever it is allowed; one among them, as often as it says."""
    eager = TeacherPolicy(a_network(True, eager_for_none=50), PROBLEM)
    own, level, allowed = answers_of(eager, instance, [workload(seed) for seed in range(3)])
    assert ((own == NONE) == allowed).all() and allowed.any() and not allowed.all()
    assert (level[own == NONE] == 0).all() and (level[own != NONE] >= 1).all()
    examples = demonstrate(instance, [workload(0)], EXPERT.compiled)
    row = np.flatnonzero(examples.observation.none_allowed)[:1]
    many = examples.observation.take(np.repeat(row, 4000))
    policy = TeacherPolicy(a_network(True, eager_for_none=0.5), PROBLEM, "sampled")
    generator = np.random.default_rng(1)
    weighed = policy.weigh(many, [generator] * 4000)
    chance = softmax(weighed.candidates)[0, -1]
    assert 0.1 < chance < 0.9
    assert (weighed.answers.candidate == NONE).mean() == pytest.approx(chance, abs=0.04)


# Improved


def test_policy_gradient_with_none(instance: DagJobsInstance) -> None:
    network, generator = a_network(True), np.random.default_rng(0)
    episodes = [workload(0), workload(1)]
    steps, advantages, _ = sampling.collect(network, instance, episodes, 2, generator, sampling.Scope(20))
    none = steps.candidate == NONE
    assert none.any() and not none.all()
    assert (steps.level[none] == 0).all() and (steps.level[~none] >= 1).all()
    assert np.isfinite(steps.log_probability).all() and (steps.log_probability <= 1e-6).all()
    settings = ImproveParams(epochs=2, batch_size=64)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    before = network.none_net[-1].bias.item()
    loss, entropy = update(network, optimiser, steps, advantages, settings, generator, Pull(0.001, 0.01))
    assert np.isfinite(loss) and entropy > 0
    assert network.none_net[-1].bias.item() != before
    weighed = TeacherPolicy(network, PROBLEM).weigh(steps.observation)
    np.testing.assert_allclose(softmax(weighed.candidates).sum(axis=1), 1)
    np.testing.assert_allclose(softmax(weighed.levels).sum(axis=1), 1)
    assert (np.isfinite(weighed.candidates[:, -1]) == steps.observation.none_allowed).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_update_makes_a_good_none_likelier(instance: DagJobsInstance, sign: int) -> None:
    network = a_network(True)
    steps, _ = sampling.roll_out(network, instance, [workload(0)], np.random.default_rng(0))
    idle = steps[np.flatnonzero(steps.candidate == NONE)[:1]]
    optimiser = torch.optim.SGD(network.parameters(), lr=0.01)
    settings = ImproveParams(epochs=1)

    def chance() -> float:
        return float(softmax(TeacherPolicy(network, PROBLEM).weigh(idle.observation).candidates)[0, -1])

    before = chance()
    assert idle.log_probability[0] == pytest.approx(np.log(before), abs=1e-4)
    update(network, optimiser, idle, np.array([float(sign)]), settings, np.random.default_rng(0), Pull(0.001, 0.0))
    assert (chance() > before) == (sign > 0)


# Logged


def test_none_is_the_last_row_of_a_logged_decision(instance: DagJobsInstance, tmp_path: Path) -> None:
    decisions = list(record(HeuristicExpert(EXPERT), instance, [workload(0), workload(1)], "train"))
    about = {"problem": "dag_jobs", "expert": "x", "facts": {}, "episodes": {"train": 2}}
    with open_log(tmp_path / "log.parquet", PROBLEM, about, rows_per_group=50) as writer:
        for decision in decisions:
            writer.add(decision)
    stages, limits = (read_choices(tmp_path / "log.parquet", PROBLEM, name) for name in ("stage", "limit"))
    for found, expected in zip((stages, limits), collect(decisions, len(FEATURES)), strict=True):
        for name, column in found._asdict().items():
            np.testing.assert_array_equal(column, getattr(expected, name), err_msg=name)
    rows = np.flatnonzero(stages.is_none)
    assert len(rows)
    assert np.isin(rows, stages.starts[1:] - 1).all(), "the last row of its decision"
    assert np.isnan(stages.features[rows]).all() and not np.isnan(np.delete(stages.features, rows, axis=0)).any()
    assert (stages.candidate[rows] == NONE).all() and (stages.group[rows] == NONE).all()
    idle = stages.is_none[stages.chosen]
    assert idle.any() and not idle.all()
    assert (stages.probability[stages.chosen] == 1).all()
    assert not stages.kept(PROBLEM.choices[0])[idle].any()
    asked, answered = (list(zip(c.episode, c.decision, strict=True)) for c in (stages, limits))
    assert answered == [key for key, none in zip(asked, idle, strict=True) if not none], "none has no level"
    assert not limits.is_none.any() and not np.isnan(limits.features).any()


def test_a_network_without_none_logs_that_it_gave_none_no_chance(instance: DagJobsInstance) -> None:
    expert = TeacherExpert(TeacherPolicy(a_network(False), PROBLEM))
    stages, limits = collect(record(expert, instance, [workload(0)], "train"), len(FEATURES))
    assert stages.is_none.any() and len(limits.chosen) == len(stages.chosen)
    assert (stages.score[stages.is_none] == -np.inf).all()
    assert (stages.probability[stages.is_none] == 0).all()
    assert np.isfinite(stages.score[~stages.is_none]).all()
    np.testing.assert_allclose(np.add.reduceat(stages.probability, stages.starts[:-1]), 1, atol=1e-6)


def test_where_none_is_forbidden_no_row_tells_of_it(instance: DagJobsInstance) -> None:
    """What the heuristic leaves idle there is no decision of the log, and does not count."""
    episodes = [workload(seed, idling=False) for seed in range(2)]
    decisions = list(record(HeuristicExpert(EXPERT), instance, episodes, "train"))
    stages, limits = collect(decisions, len(FEATURES))
    assert not stages.is_none.any() and len(limits.chosen) == len(stages.chosen)
    for episode in (0, 1):
        own = stages.decision[stages.episode == episode]
        assert own.tolist() == list(range(len(own)))
    with_none, _ = collect(
        record(HeuristicExpert(EXPERT), instance, [workload(0), workload(1)], "train"), len(FEATURES)
    )
    assert len(with_none.chosen) == len(stages.chosen) + with_none.is_none[with_none.chosen].sum()


def test_the_simulator_keeps_none_from_stopping_the_cluster(instance: DagJobsInstance) -> None:
    """In a batch nobody asks about the executors of the pool again: none is no answer there."""
    episodes = [toy_workload([0, later], EXECUTORS, profile=[0, 1]) for later in (0, 60_000)]
    lockstep = instance.lockstep(episodes)
    lockstep.advance()
    assert lockstep.observe().none_allowed.tolist() == [False, True]


# Help first: what a policy means by none (docs/simulator.md §5)

IDLER = {
    "name": "idler",
    "kind": "student",
    "none": True,
    "stage": {
        "rules": [
            {"if": "job_executors < 2 and stage_executors < 1", "then": 1},
            {"if": "otherwise", "then": -1},
        ]
    },
    "limit": 0.34,
}
"""Two executors a job at most, and one a stage: whom it leaves idle finds ready stages of its own job."""


def idler(folder: Path, **told: object) -> ScoredPolicy:
    path = folder / "idler.json"
    write_json(path, IDLER | told)
    return load_student(path)


def completions(policy: Policy, instance: DagJobsInstance, episodes: list[Workload]) -> list[list[int]]:
    return [outcome.completion_ms.tolist() for outcome in policy.run(instance, episodes)]


def test_help_first_goes_with_a_policy_wherever_it_schedules(tmp_path: Path, instance: DagJobsInstance) -> None:
    episodes = [workload(seed) for seed in range(6)]
    network = a_network(True, eager_for_none=0.5)
    for plain, helps in (
        (idler(tmp_path), idler(tmp_path, help_first=True)),
        (TeacherPolicy(network, PROBLEM), TeacherPolicy(network, PROBLEM)),
    ):
        if isinstance(helps, TeacherPolicy):
            helps.help_first = True
        meant = completions(helps, instance, episodes)
        assert meant == completions(plain, instance, instance.helping(episodes))
        assert meant == completions(helps, instance, instance.helping(episodes))
        assert meant != completions(plain, instance, episodes)
    # A heuristic has no such meaning.
    assert completions(EXPERT, instance, episodes) == completions(EXPERT, instance, instance.helping(episodes))


def test_help_first_counts_where_decisions_are_asked_one_by_one(tmp_path: Path, instance: DagJobsInstance) -> None:
    """Who drives an episode of a log, a report or a patch decides it, not who is asked beside."""
    episode, helps, plain = workload(1), idler(tmp_path, help_first=True), idler(tmp_path)
    schedules, _ = record_schedules(instance, episode, [helps, plain], HeuristicExpert(EXPERT), 10**6)
    expected = [completions(policy, instance, [episode])[0] for policy in (helps, plain)]
    assert [schedule.outcome.completion_ms.tolist() for schedule in schedules] == expected
    assert expected[0] != expected[1]
    changes = [changes_of(before, after, instance, [episode]) for before, after in ((plain, helps), (helps, plain))]
    assert [each.candidate + each.level for each in changes] == [0, 0], "the same scores"
    decisions = [policy.run(instance, [episode])[0].num_decisions for policy in (helps, plain)]
    assert decisions[0] != decisions[1] and [each.decisions for each in changes] != [changes[0].decisions] * 2


def test_a_file_says_what_none_means(tmp_path: Path) -> None:
    helps = idler(tmp_path, help_first=True)
    helps.write(tmp_path / "again.json")
    assert load_student(tmp_path / "again.json").help_first
    assert "unless a ready stage of their own job has work for them" in render(helps)
    plain = idler(tmp_path)
    plain.write(tmp_path / "again.json")
    assert "help_first" not in (tmp_path / "again.json").read_text()
    assert "leave the executors idle" in render(plain) and "unless" not in render(plain)
    with pytest.raises(ClearschedError, match="help_first: true or false expected"):
        idler(tmp_path, help_first=1)
    write_json(
        tmp_path / "other.json", {"kind": "student", "problem": "deferrable_jobs", "start": 1, "help_first": True}
    )
    with pytest.raises(ClearschedError, match="help_first: no policy of deferrable_jobs can: false expected"):
        load_student(tmp_path / "other.json")


def test_what_a_run_makes_means_what_its_params_say(tmp_path: Path) -> None:
    trace, workloads = tmp_path / "trace.parquet", tmp_path / "workloads.parquet"
    write_trace(trace, TRACE)
    sizes = {"executors": EXECUTORS, "jobs": 4, "episodes": {"train": 2, "validation": 1, "test": 1}, "stress": 0.02}
    for help_first in (False, True):
        params = stage_params(workload=sizes | {"help_first": help_first})
        build(params, trace, workloads)
        made = PROBLEM.open(trace, workloads)
        assert made.help_first == help_first and made.rules == [] and means_help(made) == help_first
        # The episodes are the same: a policy whose file says nothing idles there as elsewhere.
        drawn = made.split("train")
        assert not any(each.semantics.help_first for each in drawn)
        assert [each.semantics.help_first for each in as_made(made, drawn)] == [help_first] * len(drawn)
        budget = SearchParams(families=("weights",), evaluations=4, restarts=1, episodes=2, population=4)
        found = search_for(made, "weights", made.split("train"), made.split("validation"), EXPERT, budget, 1)
        assert found.policy.help_first == help_first
        for expert_helps in (False, True):
            whole: Any = SimpleNamespace(none=True, instance=made, help_first=expert_helps)
            student = Task("list", PROBLEM, whole, whole, None, None, 1).student(*found.policy.scorers.values())
            assert student.help_first == (help_first or expert_helps), "as whom it learns from"
