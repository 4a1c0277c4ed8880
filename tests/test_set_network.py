"""The generic network: a set has no order, a decision no neighbours, and any problem will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from clearsched.problems import find_problem
from clearsched.problems.dag_jobs import problem as dag_jobs
from clearsched.problems.dag_jobs.features import FEATURE_NAMES
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.episodes import NONE
from clearsched.problems.problem import Instance
from clearsched.problems.set_network import SetNetwork
from clearsched.teacher.imitation import Cloning, Epoch, demonstrate
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.policy_gradient import Improving
from clearsched.teacher.settings import CloneParams, ImproveParams
from cloning import clone
from stages import stage_params
from toys import stage, toy_trace, toy_workload

DEFERRABLE = find_problem("deferrable_jobs")
NAMES = ("size", "age", "urgency")


class Seen(NamedTuple):
    """Pending decisions of no problem in particular."""

    candidates: np.ndarray
    candidate_start: np.ndarray
    none_allowed: np.ndarray
    levels: np.ndarray

    @property
    def num_decisions(self) -> int:
        return len(self.none_allowed)


def seen(counts: Sequence[int], seed: int = 0) -> Seen:
    """Decisions of so many candidates; a candidate's levels run from one of 1 to 3 to one of 4 to 6."""
    generator, total = np.random.default_rng(seed), sum(counts)
    levels = np.stack([generator.integers(1, 4, total), generator.integers(4, 7, total)], axis=1)
    rows = generator.exponential(10, (total, len(NAMES))).astype(np.float32)
    return Seen(rows, np.concatenate([[0], np.cumsum(counts)]), np.arange(len(counts)) % 2 == 0, levels)


def one(decisions: Seen, b: int, order: np.ndarray | None = None) -> Seen:
    """Decision b alone, its candidates in another order if given."""
    rows = np.arange(decisions.candidate_start[b], decisions.candidate_start[b + 1])
    rows = rows if order is None else rows[order]
    start = np.array([0, len(rows)])
    return Seen(decisions.candidates[rows], start, decisions.none_allowed[b : b + 1], decisions.levels[rows])


def network(none: bool = True, levels: bool = True) -> SetNetwork:
    torch.manual_seed(0)
    return SetNetwork(NAMES, 5, 9, none, levels).double()


def tables(net: SetNetwork, decisions: Seen, chosen: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the candidates, and of the levels of each decision's candidate number `chosen`."""
    with torch.no_grad():
        batch = net.encode(decisions)
        embedding = net.embed(batch)
        levels = net.score_levels(batch, embedding, batch.first_candidate + chosen) if net.levels else torch.zeros(1)
        return net.score_candidates(batch, embedding).numpy(), levels.numpy()


def test_the_order_of_candidates_does_not_matter() -> None:
    net, decisions = network(), seen([5, 4])
    order = np.array([3, 0, 4, 1, 2])
    scores, _ = tables(net, one(decisions, 0))
    turned, levels = tables(net, one(decisions, 0, order))
    np.testing.assert_allclose(turned[0, :5], scores[0, order], atol=1e-12)
    np.testing.assert_allclose(turned[0, 5], scores[0, 5], atol=1e-12)
    assert len(set(scores[0].round(6))) == 6, "the candidates and none differ"
    np.testing.assert_allclose(levels, tables(net, one(decisions, 0), chosen=3)[1], atol=1e-12)


def test_decisions_of_a_batch_do_not_know_of_each_other() -> None:
    net, decisions = network(), seen([2, 7, 1, 4])
    together, levels = tables(net, decisions)
    for b, count in enumerate([2, 7, 1, 4]):
        alone, own_levels = tables(net, one(decisions, b))
        np.testing.assert_allclose(together[b, :count], alone[0, :count], atol=1e-12)
        np.testing.assert_allclose(together[b, -1], alone[0, -1], atol=1e-12)
        width = own_levels.shape[1]
        np.testing.assert_allclose(levels[b, :width], own_levels[0], atol=1e-12)
        assert np.isneginf(levels[b, width:]).all()


def test_a_candidate_is_scored_beside_the_others() -> None:
    """The same row in other company has another score: what is best depends on what else there is."""
    net, decisions = network(), seen([5])
    fewer = tables(net, one(decisions, 0, np.array([0, 1])))[0][0]
    assert abs(fewer[:2] - tables(net, decisions)[0][0, :2]).min() > 1e-6


def test_what_is_no_answer_has_no_score() -> None:
    decisions = seen([2, 3, 1])
    scores, levels = tables(network(), decisions)
    assert np.isfinite(scores).tolist() == [
        [True, True, False, True],
        [True, True, True, False],  # none is no answer to the second
        [True, False, False, True],
    ]
    assert tables(network(none=False), decisions)[0].shape == (3, 3)
    first, last = decisions.levels[decisions.candidate_start[:-1]].T
    assert levels.shape == (3, last.max())
    for b in range(3):
        assert np.flatnonzero(np.isfinite(levels[b])).tolist() == list(range(first[b] - 1, last[b]))


def test_a_network_has_the_heads_that_are_asked_for() -> None:
    bare = network(none=False, levels=False)
    assert not [name for name, _ in bare.named_parameters() if name.startswith(("none_net", "level_"))]
    assert bare.inputs == {"candidate": NAMES, "level": ()}
    without = seen([2, 3])._replace(levels=np.zeros((5, 0), np.int64))
    assert np.isfinite(tables(bare, without)[0]).sum() == 5


def test_scale_and_temperature() -> None:
    net, decisions = network(), seen([40, 40])
    net.normalise_like(net.encode(decisions))
    rows = net.normal("candidate", net.encode(decisions).candidates)
    np.testing.assert_allclose(rows.mean(dim=0), 0, atol=1e-6)
    np.testing.assert_allclose(rows.std(dim=0, correction=0), 1, atol=1e-6)
    before = tables(net, decisions)
    net.soften(4.0)
    for old, new in zip(before, tables(net, decisions), strict=True):
        np.testing.assert_allclose(new, old / 4, atol=1e-12)


def test_what_no_training_saw_is_answered_as_at_its_edge() -> None:
    """A feature beyond those of training is the largest of them, and more candidates count as its most."""
    free, net, training = network(), network(), seen([4, 3])
    net.bound_like(net.encode(part) for part in (one(training, 0), one(training, 1)))
    for found, wanted in zip(tables(net, training), tables(free, training), strict=True):
        assert np.array_equal(found, wanted)
    rows = training.candidates.copy()
    rows[2] *= 1000
    edge = np.minimum(rows, training.candidates.max(axis=0))
    told, wanted = (tables(net, training._replace(candidates=each)) for each in (rows, edge))
    np.testing.assert_allclose(told[0], wanted[0], rtol=1e-6)
    twice = seen([8])._replace(candidates=np.tile(training.candidates[:4], (2, 1)))
    np.testing.assert_allclose(tables(net, twice)[0][0, :4], tables(net, one(training, 0))[0][0, :4], rtol=1e-6)
    assert abs(tables(free, twice)[0][0, :4] - tables(free, one(training, 0))[0][0, :4]).min() > 1e-6


# In the hands of the teacher


def cloned(net: Any, instance: Instance, training: list[Any], expert: Any, **settings: float) -> Epoch:
    """Clone in place; how the last epoch went."""
    epochs: list[Epoch] = []
    params = CloneParams(**{"batch_size": 64, "learning_rate": 0.01, "dagger_rounds": 1} | settings)
    clone(Cloning(net, instance, training, expert, params, np.random.default_rng(0)), epochs.append)
    return epochs[-1]


@pytest.fixture(scope="module")
def deferrable(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    folder = tmp_path_factory.mktemp("deferrable")
    params = stage_params(
        "deferrable_jobs",
        workload={"jobs": 40, "slots": 80, "load": 0.8, "episodes": {"train": 6, "validation": 3, "test": 1}},
    )
    DEFERRABLE.build(params, folder / "trace.parquet")
    DEFERRABLE.draw(params, folder / "trace.parquet", folder / "workloads.parquet")
    return DEFERRABLE.open(folder / "trace.parquet", folder / "workloads.parquet")


def test_it_clones_the_threshold_rule(deferrable: Instance) -> None:
    torch.manual_seed(0)
    net = DEFERRABLE.network({"embedding": 8, "hidden": 24, "rounds": 1}, True)
    expert = DEFERRABLE.compile_heuristic("threshold", (0.5, 0.5))
    train, validation = deferrable.split("train"), deferrable.split("validation")
    last = cloned(net, deferrable, train, expert, episodes=6, epochs=15)
    assert last.accuracy > 0.9
    fresh = demonstrate(deferrable, validation, expert)
    answers = TeacherPolicy(net, DEFERRABLE).weigh(fresh.observation).answers
    idle = fresh.candidate == NONE
    assert 0.1 < idle.mean() < 0.9
    assert ((answers.candidate == NONE) == idle).mean() > 0.85
    assert (answers.candidate == fresh.candidate).mean() > 0.8
    eager = deferrable.simulate(DEFERRABLE.compile_heuristic("fifo", ()), validation)
    theirs = deferrable.simulate(expert, validation)
    ours = TeacherPolicy(net, DEFERRABLE).run(deferrable, validation)
    cost = [float(np.mean([result.measures["cost"] for result in results])) for results in (ours, theirs, eager)]
    assert abs(cost[0] - cost[1]) < 0.5 * abs(cost[2] - cost[1]), "much nearer to the rule than to FIFO"


def test_policy_gradient_improves_any_problem(deferrable: Instance) -> None:
    """A few iterations from random weights: the cost of the rollouts falls."""
    torch.manual_seed(0)
    net = DEFERRABLE.network({"embedding": 8, "hidden": 16, "rounds": 1}, True)
    sizes = {"iterations": 8, "sequences": 3, "rollouts": 4, "batch_size": 256, "epochs": 2}
    settings = ImproveParams(**sizes, learning_rate=0.01, target_kl=None, trace=None)
    episodes, generator = deferrable.split("train"), np.random.default_rng(0)
    net.normalise_like(
        net.encode(demonstrate(deferrable, episodes, DEFERRABLE.compile_heuristic("edf", ())).observation)
    )
    found = list(Improving(net, deferrable, episodes, settings, generator, 7200.0).run())
    costs = [iteration.train_objective for iteration in found]
    assert np.isfinite(costs).all()
    assert np.mean(costs[-2:]) < np.mean(costs[:2])


def test_it_serves_a_problem_that_has_a_network_of_its_own() -> None:
    """DAG jobs, with levels and with none: cloned in both choices, run to the end, improved a step."""
    second = {"first_wave": 1200, "rest_wave": 1000, "fresh": 2000}
    chain = [stage(3, **second), stage(4, [0], **second), stage(2, [1], **second)]
    wide = [stage(20, **second), stage(1, [0], **second)]
    instance = DagJobsInstance(compile_profiles(toy_trace([chain, wide])))
    generator = np.random.default_rng(0)
    episodes = [
        toy_workload(
            np.sort(generator.integers(0, 24_000, 6)).tolist(), 4, profile=generator.integers(0, 2, 6), seed=seed
        )
        for seed in range(8)
    ]
    expert = dag_jobs.heuristic("local_srpt", p=0.5, m=0.6).compiled
    torch.manual_seed(0)
    net = SetNetwork(tuple(FEATURE_NAMES), 8, 24, none=True, levels=True)
    last = cloned(net, instance, episodes, expert, episodes=4, epochs=20)
    assert last.accuracy > 0.9
    assert last.level_accuracy > 0.8
    policy = TeacherPolicy(net, dag_jobs.PROBLEM)
    results = policy.run(instance, episodes)
    assert [result.completion_ms.tolist() for result in results] == [
        policy.run(instance, [episode])[0].completion_ms.tolist() for episode in episodes
    ]
    settings = ImproveParams(iterations=1, sequences=2, rollouts=2)
    (iteration,) = Improving(net, instance, episodes, settings, generator, 20.0).run()
    assert np.isfinite([iteration.loss, iteration.entropy, iteration.train_objective]).all()
    assert all(parameter.isfinite().all() for parameter in net.parameters())
