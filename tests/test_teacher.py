"""The teacher: what the network may and may not see, returns worked out by hand, files that are the same."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
import torch

from clearsched import teacher
from clearsched.errors import ClearschedError
from clearsched.files import write_json
from clearsched.problems.dag_jobs.graph import Observation, join, observation_of
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.network.encoding import POWERS, encode, encode_limits
from clearsched.problems.dag_jobs.network.network import ChildrenToParents, TeacherNetwork
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Simulation, Workload
from clearsched.problems.dag_jobs.traces import write_trace
from clearsched.problems.dag_jobs.workloads import build
from clearsched.schemas import LEARNING_CURVE, read_table
from clearsched.teacher import baselines, load_policy, policy_gradient, sampling
from clearsched.teacher.choices import best, draw, entropy, log_probability_of_level, softmax
from clearsched.teacher.imitation import Cloning, Epoch, demonstrate, inputs_of
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.sampling import Scope
from clearsched.teacher.settings import CloneParams, ImproveParams
from clearsched.teacher.steps import Pull, update
from cloning import clone
from stages import tiny_teacher
from toys import stage, toy_trace, toy_workload

SECOND = {"first_wave": 1200, "rest_wave": 1000, "fresh": 2000}
CHAIN = [stage(3, **SECOND), stage(4, [0], **SECOND), stage(2, [1], **SECOND)]
DIAMOND = [stage(2, **SECOND), stage(6, [0], **SECOND), stage(3, [0], **SECOND), stage(1, [1, 2], **SECOND)]
WIDE = [stage(20, **SECOND), stage(1, [0], **SECOND)]
TRACE = toy_trace([CHAIN, DIAMOND, WIDE])
EXECUTORS = 4


@pytest.fixture(scope="module")
def profiles() -> Profiles:
    return compile_profiles(TRACE)


@pytest.fixture(scope="module")
def instance(profiles: Profiles) -> DagJobsInstance:
    return DagJobsInstance(profiles)


@pytest.fixture(scope="module")
def network() -> TeacherNetwork:
    return new_network()


def new_network(seed: int = 0) -> TeacherNetwork:
    torch.manual_seed(seed)
    return TeacherNetwork(embedding=6, hidden=12, rounds=3)


def workload(seed: int = 0, jobs: int = 6) -> Workload:
    """An episode in which a network must choose a candidate; test_none.py is about the others."""
    generator = np.random.default_rng(seed)
    arrivals = np.sort(generator.integers(0, 4000 * jobs, jobs)).tolist()
    profile = generator.integers(0, TRACE.num_profiles, jobs).tolist()
    return toy_workload(
        arrivals, EXECUTORS, profile=profile, moving_delay_ms=500, seed=seed, mean_durations=False, idling=False
    )


def observations(profiles: Profiles, count: int = 12) -> list[Observation]:
    """Decisions of an episode that the first candidate and the largest limit schedule."""
    simulation = Simulation(profiles, workload(jobs=8))
    seen: list[Observation] = []
    while simulation.advance() and len(seen) < count:
        seen.append(simulation.observe())
        simulation.act(int(seen[-1].candidate_stage[0]), EXECUTORS)
    return seen


def scores(network: TeacherNetwork, seen: list[Observation]) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores of all candidates, and of the limits of the first candidate of each decision."""
    with torch.no_grad():
        batch = network.encode(join(seen))
        embedding = network.embed(batch)
        table = network.score_candidates(batch, embedding)
        return table[table.isfinite()], network.score_levels(batch, embedding, batch.first_candidate)


# What the network sees


def test_messages_flow_from_children_to_parents(network: TeacherNetwork) -> None:
    """In the chain 0 -> 1 -> 2 -> 3 beside a stage 4, what stage 2 is like reaches 0, 1 and itself, not 3 and 4."""
    parent, child = torch.tensor([0, 1, 2]), torch.tensor([1, 2, 3])
    own = torch.randn(5, 6, generator=torch.Generator().manual_seed(1))
    changed = own.clone()
    changed[2] += 1.0
    with torch.no_grad():
        before, after = network.passing(own, parent, child), network.passing(changed, parent, child)
    differs = (before != after).any(dim=1)
    assert differs.tolist() == [True, True, True, False, False]


def test_a_round_adds_what_the_children_sum_up_to() -> None:
    torch.manual_seed(3)
    passing = ChildrenToParents(embedding=2, rounds=1)
    own = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]])
    with torch.no_grad():
        after = passing(own, torch.tensor([0, 0]), torch.tensor([1, 2]))
        by_hand = own[0] + passing.update_net(passing.message_net(own[1]) + passing.message_net(own[2]))
        leaf = own[2] + passing.update_net(torch.zeros(2))
    torch.testing.assert_close(after[0], by_hand)
    torch.testing.assert_close(after[2], leaf)


def test_messages_are_those_of_torch_geometric_to_the_bit() -> None:
    geometric = pytest.importorskip("torch_geometric.nn")
    torch.manual_seed(4)
    passing = ChildrenToParents(embedding=4, rounds=3)
    own, edges = torch.randn(30, 4), torch.randint(0, 30, (2, 80))

    def theirs() -> torch.Tensor:
        sums, state = geometric.SimpleConv(aggr="sum"), own
        for _ in range(passing.rounds):
            state = own + passing.update_net(sums(passing.message_net(state), edges))
        return state

    gradients = []
    for state in (passing(own, edges[1], edges[0]), theirs()):
        passing.zero_grad()
        state.square().sum().backward()
        gradients.append([state.detach(), *(weights.grad.clone() for weights in passing.parameters())])
    assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))


def test_scores_do_not_depend_on_the_batch(profiles: Profiles, network: TeacherNetwork) -> None:
    seen = observations(profiles)
    together, limits = scores(network, seen)
    alone = [scores(network, [observation]) for observation in seen]
    torch.testing.assert_close(together, torch.cat([stages for stages, _ in alone]), atol=1e-5, rtol=0)
    torch.testing.assert_close(limits, torch.cat([limit for _, limit in alone]), atol=1e-5, rtol=0)
    assert len(together) == sum(len(observation.candidates) for observation in seen)


def test_scores_do_not_depend_on_the_order_of_jobs(profiles: Profiles, network: TeacherNetwork) -> None:
    several = [observation for observation in observations(profiles, 30) if len(observation.jobs) > 2]
    assert several
    for observation in several:
        turned, node_order = reverse_jobs(observation)
        place = np.argsort(node_order)
        as_before = [list(turned.candidate_node).index(place[node]) for node in observation.candidate_node]
        expected, found = scores(network, [observation])[0], scores(network, [turned])[0]
        torch.testing.assert_close(found[as_before], expected, atol=1e-5, rtol=0)


def reverse_jobs(observation: Observation) -> tuple[Observation, np.ndarray]:
    """The same decision with its jobs listed in reverse; and the old number of each node."""
    last = len(observation.jobs) - 1
    order = np.argsort(last - observation.node_job, kind="stable")
    place = np.argsort(order)
    rows = np.argsort(place[observation.candidate_node], kind="stable")
    turned = Observation(
        nodes=observation.nodes[order],
        node_job=last - observation.node_job[order],
        edges=place[observation.edges],
        jobs=observation.jobs[::-1].copy(),
        job_held=observation.job_held[::-1].copy(),
        totals=observation.totals,
        candidates=observation.candidates[rows],
        candidate_node=place[observation.candidate_node][rows],
        candidate_stage=observation.candidate_stage[rows],
        candidate_group=observation.candidate_group[rows],
        none_allowed=observation.none_allowed,
    )
    return turned, order


def test_inputs_by_hand(profiles: Profiles) -> None:
    """Two jobs at time 0: 9 tasks of 1 s and 12 of them; each counts with 5 s more; 4 executors."""
    simulation = Simulation(profiles, toy_workload([0, 0], EXECUTORS))
    assert simulation.advance()
    batch = encode(join([simulation.observe()]))
    half = POWERS.index(0.5)
    share = np.sqrt([9 + 5, 12 + 5]) / np.sqrt([9 + 5, 12 + 5]).sum()
    np.testing.assert_allclose(np.exp(batch.shares[:, half].numpy()), EXECUTORS * share, rtol=1e-6)
    np.testing.assert_allclose(np.exp(batch.shares[:, 0].numpy()), [2, 2], rtol=1e-6)
    assert batch.covering.tolist() == [3, 2], "the 4 executors at hand, but no more than the stage has tasks"
    inputs, allowed = encode_limits(batch, batch.first_candidate)
    assert allowed.tolist() == [[True] * 4]
    covers = inputs[0, :, 5].tolist()
    assert covers == [0, 0, 1, 1], "limits of 3 and 4 give 3 executors to the 3 tasks of the first stage"


def test_what_no_training_saw_is_answered_as_at_its_edge(instance: DagJobsInstance, profiles: Profiles) -> None:
    """In the training episodes nothing changes, to the bit; an input beyond them is taken for the largest of them."""
    free, held = new_network(), new_network()
    training, expert = [workload(seed) for seed in range(3)], heuristic("fair").compiled
    free.normalise_like(free.encode(join(observations(profiles))))
    held.load_state_dict(free.state_dict())
    held.bound_like(inputs_of(held, instance, training, expert))
    for batch in inputs_of(held, instance, training, expert):
        with torch.no_grad():
            alike = zip(free.embed(batch), held.embed(batch), strict=True)
            assert all(torch.equal(one, other) for one, other in alike)
    batch = held.encode(join(observations(profiles)))
    far = batch._replace(totals=torch.full_like(batch.totals, 99), candidates=torch.full_like(batch.candidates, 99))
    edge = batch._replace(
        totals=held.global_high.expand_as(batch.totals), candidates=held.candidate_high.expand_as(batch.candidates)
    )
    with torch.no_grad():
        for each in ("total", "candidates"):
            assert torch.equal(getattr(held.embed(far), each), getattr(held.embed(edge), each))
            assert not torch.equal(getattr(free.embed(far), each), getattr(free.embed(edge), each))


def test_no_more_jobs_are_summed_than_training_saw(profiles: Profiles, network: TeacherNetwork) -> None:
    """A network of small jobs idled a whole cluster that had 80 of them at once: sums grow without end."""
    held = copy.deepcopy(network)
    held.most.fill_(3)
    batch = held.encode(join(observations(profiles)))
    jobs = np.bincount(batch.job_decision)
    assert set(jobs) == {1, 3, 4}, "fewer, as many, and more"
    with torch.no_grad():
        free, told = network.embed(batch), held.embed(batch)
        sums = torch.zeros_like(told.total).index_add(0, batch.job_decision, told.job)
        share = torch.from_numpy(np.minimum(3 / jobs, 1)).float()[:, None]
        totals = held.normal("global", batch.totals)
        torch.testing.assert_close(told.total, held.total_net(torch.cat([sums * share, totals], dim=1)))
    assert torch.equal(free.total[jobs <= 3], told.total[jobs <= 3])
    assert not torch.isclose(free.total[jobs > 3], told.total[jobs > 3]).all(dim=1).any()


def test_limits_start_above_what_the_job_holds(profiles: Profiles, network: TeacherNetwork) -> None:
    policy = TeacherPolicy(network, PROBLEM)
    for observation in observations(profiles):
        (candidate,), (limit,) = (weighed := policy.weigh(join([observation]))).answers
        held = observation.job_held[observation.node_job[observation.candidate_node[candidate]]]
        limits = np.flatnonzero(np.isfinite(weighed.levels[0])) + 1
        assert limits.tolist() == list(range(held + 1, EXECUTORS + 1))
        assert limit in limits
        assert 0 <= candidate < len(observation.candidates)
        assert np.isfinite(weighed.candidates).tolist() == [[True] * len(observation.candidates) + [False]]
        assert softmax(weighed.candidates).sum() == pytest.approx(1)
        assert softmax(weighed.levels).sum() == pytest.approx(1)


# Choices


def test_the_first_of_equal_scores_wins_whatever_the_last_bits_say() -> None:
    table = np.array([[1.0, 2.0, 2.0 + 1e-9], [0.5, -np.inf, 0.4]])
    assert best(table).tolist() == [1, 0]


def test_draw_inverts_the_distribution() -> None:
    probabilities = np.tile([0.2, 0.0, 0.5, 0.3, 0.0], (5, 1))
    assert draw(probabilities, np.array([0.0, 0.19, 0.21, 0.71, 1 - 1e-17])).tolist() == [0, 0, 2, 3, 3]


def test_entropy_of_a_row_with_gaps() -> None:
    rows = torch.tensor([[0.0, -torch.inf, 0.0], [3.0, -torch.inf, -torch.inf]]).log_softmax(dim=1)
    torch.testing.assert_close(entropy(rows), torch.tensor([np.log(2), 0.0], dtype=torch.float32))


def test_limits_that_give_the_same_count_as_one() -> None:
    """Limits 2, 3, 4 are allowed; from 3 on the decision gives all it has."""
    logs = torch.tensor([[0.0, 0.5, 0.2, 0.3]]).log().expand(3, 4)
    found = log_probability_of_level(logs, torch.tensor([2, 3, 4]), torch.tensor([3, 3, 3]))
    torch.testing.assert_close(found.exp(), torch.tensor([0.5, 0.5, 0.5]))


# Cloning


def test_clone_learns_the_heuristic_and_follows_it_in_its_own_episodes(instance: DagJobsInstance) -> None:
    settings = CloneParams(episodes=6, epochs=12, dagger_rounds=1, batch_size=32, learning_rate=0.01)
    expert = heuristic("capped_srpt", p=0.5, m=2.0)
    network, epochs = new_network(), list[Epoch]()
    generator = np.random.default_rng(0)
    training = [workload(s) for s in range(12)]
    clone(Cloning(network, instance, training, expert.compiled, settings, generator), epochs.append)
    assert [epoch.episodes for epoch in epochs] == [6] * 12 + [12] * 12
    assert epochs[-1].accuracy > 0.95
    assert epochs[-1].level_accuracy > 0.95
    fresh = [workload(100 + seed) for seed in range(8)]
    theirs = np.mean([result.avg_jct_s for result in expert.run(instance, fresh)])
    ours = np.mean([result.avg_jct_s for result in TeacherPolicy(network, PROBLEM).run(instance, fresh)])
    assert ours == pytest.approx(theirs, rel=0.05)


def test_demonstrations_carry_the_untruncated_limit(instance: DagJobsInstance) -> None:
    """Two jobs of the wide profile at time 0, caps ceil(2 x 4 / 2) = 4 each by m = 2: the first gets all at once."""
    two = toy_workload([0, 0], EXECUTORS, profile=[2, 2])
    examples = demonstrate(instance, [two], heuristic("capped_srpt", p=0.5, m=2.0).compiled)
    assert (examples.candidate[0], examples.level[0]) == (0, 4)
    halves = demonstrate(instance, [two], heuristic("capped_srpt", p=0.5, m=1.0).compiled)
    first_two = [observation_of(halves.observation, b) for b in (0, 1)]
    nodes = [seen.candidate_node[c] for seen, c in zip(first_two, halves.candidate, strict=False)]
    jobs = [int(seen.node_job[node]) for seen, node in zip(first_two, nodes, strict=True)]
    assert jobs == [0, 1]
    assert halves.level[:2].tolist() == [2, 2]


def test_a_heuristic_that_leaves_executors_idle_can_be_cloned(instance: DagJobsInstance) -> None:
    """Where a network must choose a candidate: what the heuristic leaves idle is no example."""
    examples = demonstrate(instance, [workload(seed) for seed in range(4)], heuristic("fair").compiled)
    assert len(examples)
    assert all(examples.candidate >= 0)
    assert all((examples.level >= 1) & (examples.level <= EXECUTORS))


# Policy gradient


def finished(arrival_ms: list[int], completion_ms: list[int]) -> EpisodeResult:
    return EpisodeResult(np.array(arrival_ms), np.array(completion_ms), np.ones(len(arrival_ms)), 0, 0)


def test_returns_by_hand() -> None:
    """Jobs in the system over [0, 3 s] and [1 s, 4 s]: the integral of their number is 6 job-seconds."""
    result = finished([0, 1000], [3000, 4000])
    returns = result.cost_to_go(np.array([0.0, 0.5, 2, 3.5, 4]), np.inf)
    np.testing.assert_allclose(returns, [-6, -5.5, -3, -0.5, 0])
    assert returns[0] == pytest.approx(-result.jct_s.sum())


def test_discounted_returns_are_the_integral() -> None:
    result, horizon_s, start_s = finished([0, 1000, 2500], [3000, 4000, 2600]), 1.5, 0.7
    clock = np.linspace(start_s, 4, 1_000_001)
    jobs = zip(result.arrival_ms / 1000, result.completion_ms / 1000, strict=True)
    number = sum((a <= clock) & (clock < c) for a, c in jobs)
    integral = np.trapezoid(np.exp(-(clock - start_s) / horizon_s) * number, clock)
    found = result.cost_to_go(np.array([start_s]), horizon_s)
    assert found[0] == pytest.approx(-integral, rel=1e-5)


def test_advantages_at_one_time_sum_to_zero() -> None:
    rollouts = [finished([0, 1000], ends) for ends in ([3000, 4000], [2000, 6000], [5000, 4500])]
    times_s = np.array([0.0, 1.5, 3])
    advantages = baselines.group_advantages([times_s] * 3, rollouts, 2.0)
    np.testing.assert_allclose(np.sum(advantages, axis=0), 0, atol=1e-12)
    at_start = np.concatenate(baselines.group_advantages([np.zeros(1)] * 3, rollouts, np.inf))
    np.testing.assert_allclose(at_start, np.array([-6, -7, -8.5]) + 21.5 / 3, err_msg="minus total JCT, less the mean")


def test_excess_backlog_compares_rollouts_at_one_time() -> None:
    """By 1 s the second rollout has come half the way from 4 jobs to 6; at 2 s the first goes from 1 job to none."""
    times = [np.array([0.0, 1]), np.array([0.0, 2])]
    backlogs = [np.array([[2.0], [1.0]]), np.array([[4.0], [6.0]])]
    first, second = baselines.excess_backlog(times, backlogs, [3.0, 2.0])
    assert first.tolist() == [[-1.0], [-2.0]]
    assert second.tolist() == [[1.0], [2.75]]


def test_a_rollout_that_has_ended_has_no_backlog() -> None:
    times = [np.array([0.0]), np.array([0.0, 5])]
    first, second = baselines.excess_backlog(times, [np.array([[2.0]]), np.array([[2.0], [1.0]])], [4.0, 9.0])
    assert first.tolist() == [[0.0]]
    assert second.tolist() == [[0.0], [0.5]]


def test_what_the_backlog_explains_is_taken_out() -> None:
    generator = np.random.default_rng(0)
    excess, own = generator.normal(size=(20_000, 2)), generator.normal(size=20_000)
    left = baselines.without_backlog(own - 30 * excess[:, 0] + 2 * excess[:, 1], excess)
    assert np.corrcoef(left, own)[0, 1] > 0.999
    constant = np.zeros((20_000, 1))
    np.testing.assert_array_equal(baselines.without_backlog(own, constant), own)


def test_rollouts_of_a_sequence_share_its_jobs_and_durations(
    instance: DagJobsInstance, network: TeacherNetwork
) -> None:
    generator = np.random.default_rng(0)
    steps, advantages, jct_s = sampling.collect(network, instance, [workload(0), workload(1)], 3, generator, Scope(20))
    assert len(steps) == len(advantages)
    assert advantages.std() == pytest.approx(1)
    assert jct_s > 0
    assert all(steps.log_probability <= 1e-6)


@pytest.mark.parametrize("sign", [1, -1])
def test_update_makes_good_choices_likelier(instance: DagJobsInstance, sign: int) -> None:
    network = new_network()
    steps, _ = sampling.roll_out(network, instance, [workload(0)], np.random.default_rng(0))
    chosen = steps[np.flatnonzero(steps.log_probability < -0.1)[:1]]
    settings = ImproveParams(epochs=1)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.001)
    generator = np.random.default_rng(0)
    losses = [
        update(network, optimiser, chosen, np.array([float(sign)]), settings, generator, Pull(0.001, 0.0))[0]
        for _ in range(2)
    ]
    assert losses[1] < losses[0]
    ratio = -losses[1] / sign
    assert (ratio > 1) == (sign > 0)


def test_decisions_of_rollouts_are_kept_in_the_order_of_episodes(
    instance: DagJobsInstance, network: TeacherNetwork
) -> None:
    """What was kept is what each episode shows when its choices are made again one at a time."""
    episodes = [workload(0), workload(1)]
    steps, results = sampling.roll_out(network, instance, episodes, np.random.default_rng(0))
    row = 0
    for number, (episode, result) in enumerate(zip(episodes, results, strict=True)):
        simulation = Simulation(instance.profiles, episode)
        while simulation.advance():
            seen, kept = simulation.observe(), observation_of(steps.observation, row)
            assert [array.tolist() for array in seen] == [array.tolist() for array in kept]
            assert (steps.episode[row], steps.time_s[row]) == (number, simulation.time_s)
            waiting = [len(seen.jobs), seen.jobs[:, 4].sum(), *(f(seen.jobs[:, 2]).sum() for f in (np.abs, np.sqrt))]
            np.testing.assert_allclose(steps.observation.backlog()[row, :4], waiting, rtol=1e-6)
            simulation.act(seen.candidate_stage[steps.candidate[row]], steps.level[row])
            row += 1
        assert simulation.result().completion_ms.tolist() == result.completion_ms.tolist()
    assert row == len(steps)


# The policy


@pytest.mark.parametrize("mode", ["argmax", "sampled"])
def test_an_episode_does_not_depend_on_its_company(
    instance: DagJobsInstance, network: TeacherNetwork, mode: str
) -> None:
    episodes = [workload(seed) for seed in range(5)]
    policy = TeacherPolicy(network, PROBLEM, mode, seed=3)
    together = policy.run(instance, episodes)
    again = policy.run(instance, episodes)
    for one, two, episode in zip(together, again, episodes, strict=True):
        assert one.completion_ms.tolist() == two.completion_ms.tolist()
        assert one.completion_ms.tolist() == policy.run(instance, [episode])[0].completion_ms.tolist()


def test_an_episode_is_recorded(instance: DagJobsInstance, network: TeacherNetwork) -> None:
    """Tasks and decisions on request, else neither."""
    plain = TeacherPolicy(network, PROBLEM).run(instance, [workload()])[0]
    assert plain.tasks is None and plain.decisions is None
    result = TeacherPolicy(network, PROBLEM).run(instance, [workload()], record=True)[0]
    assert result.tasks is not None and result.decisions is not None
    assert len(result.tasks) == result.num_tasks
    assert len(result.decisions) == result.num_decisions
    assert result.completion_ms.max() == (result.tasks[:, 0] + result.tasks[:, 1]).max()


def test_sampled_episodes_differ_by_seed(instance: DagJobsInstance, network: TeacherNetwork) -> None:
    one, two = (TeacherPolicy(network, PROBLEM, "sampled", seed).run(instance, [workload()])[0] for seed in (1, 2))
    assert one.completion_ms.tolist() != two.completion_ms.tolist()


@pytest.mark.parametrize("mode", ["argmax", "sampled"])
def test_run_makes_the_choices_of_weigh(instance: DagJobsInstance, network: TeacherNetwork, mode: str) -> None:
    policy, episode = TeacherPolicy(network, PROBLEM, mode, seed=5), workload(2)
    simulation, generator = Simulation(instance.profiles, episode), policy.generator(instance, episode)
    while simulation.advance():
        seen = simulation.observe()
        (candidate,), (limit,) = policy.weigh(join([seen]), [generator]).answers
        simulation.act(int(seen.candidate_stage[candidate]), int(limit))
    assert simulation.result().completion_ms.tolist() == policy.run(instance, [episode])[0].completion_ms.tolist()


def test_the_temperature_gives_the_entropy_asked_for(profiles: Profiles) -> None:
    network, seen = new_network(), observations(profiles)
    network.soften(0.01)
    several = [observation for observation in seen if len(observation.candidates) > 1]
    wanted = 0.5 * np.mean([np.log(len(observation.candidates)) for observation in several])
    network.soften(policy_gradient.temperature_for(network, join(several), wanted))
    weighed = TeacherPolicy(network, PROBLEM).weigh(join(several))
    found = [-(chance[chance > 0] * np.log(chance[chance > 0])).sum() for chance in softmax(weighed.candidates)]
    assert np.mean(found) == pytest.approx(wanted, rel=1e-3)
    assert policy_gradient.temperature_for(network, join(several), wanted / 2) == 1


def test_softening_keeps_the_best_choice(profiles: Profiles) -> None:
    network = new_network()
    before = TeacherPolicy(network, PROBLEM).weigh(join(observations(profiles)))
    network.soften(3.0)
    after = TeacherPolicy(network, PROBLEM).weigh(join(observations(profiles)))
    assert [answer.tolist() for answer in after.answers] == [answer.tolist() for answer in before.answers]
    np.testing.assert_allclose(after.candidates, before.candidates / 3, atol=1e-6)
    np.testing.assert_allclose(after.levels, before.levels / 3, atol=1e-6)


def test_wrong_modes_are_refused(profiles: Profiles, instance: DagJobsInstance, network: TeacherNetwork) -> None:
    with pytest.raises(ClearschedError, match="must be argmax or sampled"):
        TeacherPolicy(network, PROBLEM, "greedy")
    with pytest.raises(ClearschedError, match="random generator for each observation"):
        TeacherPolicy(network, PROBLEM, "sampled").weigh(join(observations(profiles)))
    assert TeacherPolicy(network, PROBLEM).run(instance, []) == []


# The stage and its files


def tiny_params() -> Any:
    return tiny_teacher(improve={"iterations": 3, "sequences": 2, "rollouts": 2, "validate_every": 2})


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Trace, workloads and tuned heuristics."""
    folder = tmp_path_factory.mktemp("inputs")
    trace, workloads, tuned = (folder / name for name in ("trace.parquet", "workloads.parquet", "tuned.json"))
    write_trace(trace, TRACE)
    build(tiny_params(), trace, workloads)
    write_json(tuned, {"problem": "dag_jobs", "best": "capped_srpt", "capped_srpt": {"p": 0.5, "m": 2.0}})
    return [trace, workloads, tuned]


@pytest.fixture(scope="module")
def trained(inputs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher")
    teacher.train(tiny_params(), *inputs, [], folder)
    return folder


@pytest.fixture
def checkpoint(trained: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    for name in ("teacher.safetensors", "teacher.json"):
        (tmp_path / name).write_bytes((trained / name).read_bytes())
    return tmp_path / "teacher.safetensors"


def test_training_twice_gives_the_same_bytes(inputs: list[Path], trained: Path, tmp_path: Path) -> None:
    torch.manual_seed(99)  # the state of the process must not matter
    torch.set_num_threads(2)
    teacher.train(tiny_params(), *inputs, [], tmp_path)
    names = sorted(path.name for path in trained.iterdir())
    assert names == ["learning_curve.parquet", "teacher.json", "teacher.safetensors"]
    for name in names:
        assert (tmp_path / name).read_bytes() == (trained / name).read_bytes(), name


def test_the_learning_curve_tells_both_phases(trained: Path) -> None:
    table, metadata = read_table(trained / "learning_curve.parquet", LEARNING_CURVE)
    assert table["phase"].to_pylist() == ["clone"] * 4 + ["improve"] * 3
    assert table["iteration"].to_pylist() == [0, 1, 2, 3, 0, 1, 2]
    assert table["episodes"].to_pylist() == [2, 2, 4, 4, 8, 12, 16]
    validated = [value is not None for value in table["validation_objective"].to_pylist()]
    assert validated == [False, True] * 2 + [False, True, True], "each round, every second iteration and the last"
    assert set(metadata["inputs"]) == {"trace", "workloads", "tuned"}
    assert (metadata["measure"], metadata["short"], metadata["unit"]) == ("jct_s", "JCT", "s")


def test_the_best_on_validation_is_kept(trained: Path, inputs: list[Path]) -> None:
    found = json.loads((trained / "teacher.json").read_text())["validation"]
    table, _ = read_table(trained / "learning_curve.parquet", LEARNING_CURVE)
    assert found["teacher"] == pc.min(table["validation_objective"]).as_py()
    assert found["teacher"] <= found["clone"]
    instance = PROBLEM.open(*inputs[:2])
    validation = instance.split("validation")
    assert (found["measure"], found["episodes"]) == ("jct_s", len(validation))
    for policy, mean in (
        (load_policy(trained / "teacher.safetensors"), found["teacher"]),
        (heuristic("capped_srpt", p=0.5, m=2.0), found["heuristic"]),
    ):
        assert np.mean([result.avg_jct_s for result in policy.run(instance, validation)]) == mean


def test_a_checkpoint_reads_back(checkpoint: Path) -> None:
    policy = load_policy(checkpoint, mode="sampled")
    assert (policy.name, policy.kind, policy.mode, dict(policy.settings)) == ("teacher", "teacher", "sampled", {})
    assert policy.problem is PROBLEM
    assert policy.network.none, "workload.idling: none is scored"
    assert teacher.load_policy(checkpoint).seed == tiny_params().seed


def spoil(*path: str | int, value: object) -> Callable[[Path], None]:
    """Change one value of teacher.json."""

    def change(checkpoint: Path) -> None:
        where = checkpoint.with_suffix(".json")
        content = inner = json.loads(where.read_text())
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        where.write_text(json.dumps(content))

    return change


SPOILS = [
    (lambda path: path.unlink(), "teacher.safetensors: no such file"),
    (lambda path: path.with_suffix(".json").unlink(), "teacher.json: no such file"),
    (lambda path: path.write_bytes(path.read_bytes()[:-7]), "teacher.safetensors: truncated or changed"),
    (lambda path: path.with_suffix(".json").write_text('{"format": 1'), "teacher.json: line 1: not valid JSON"),
    (lambda path: path.with_suffix(".json").write_text("{}"), "does not describe a teacher"),
    (spoil("format", value=1), "teacher.json: format is 1, this version reads 3; train it again"),
    (
        spoil("problem", value="dag_job"),
        "teacher.json: problem: unknown problem 'dag_job': known are .*; did you mean dag_jobs",
    ),
    (spoil("problem", value=None), "teacher.json: problem: unknown problem 'None'"),
    (
        spoil("problem", value="deferrable_jobs"),
        "teacher.json: trained on other candidate inputs than this version has",
    ),
    (spoil("inputs", "job", 0, value="is_cheap"), r"other job inputs than this version has \(is_cheap, is_source\)"),
    (spoil("network", "hidden", value=9), "does not hold the weights that its JSON file describes"),
    (spoil("network", "rounds", value=True), "network.rounds is True: a whole number from 0 to 4096 expected"),
    (spoil("none", value=False), "does not hold the weights that its JSON file describes"),
]


@pytest.mark.parametrize(("change", "message"), SPOILS, ids=[message for _, message in SPOILS])
def test_a_broken_checkpoint_is_refused_in_one_line(
    checkpoint: Path, change: Callable[[Path], None], message: str
) -> None:
    change(checkpoint)
    with pytest.raises(ClearschedError, match=message) as caught:
        load_policy(checkpoint)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"problem": "dag_jobs", "best": "capped_srpt"},
        {"problem": "dag_jobs", "best": "magic", "magic": {}},
        {"problem": "dag_jobs", "fair": {}},
        {"problem": "dag_jobs", "best": "capped_srpt", "capped_srpt": {"p": "half"}},
        {"problem": "dag_jobs", "best": "capped_srpt", "capped_srpt": {"q": 1}},
        {"problem": "deferrable_jobs", "best": "fifo", "fifo": {}},
        {"best": "capped_srpt", "capped_srpt": {"p": 0.5, "m": 2.0}},
    ],
    ids=str,
)
def test_a_tuning_without_the_heuristic_is_refused(inputs: list[Path], tmp_path: Path, content: object) -> None:
    tuned = tmp_path / "tuned.json"
    tuned.write_text(json.dumps(content))
    with pytest.raises(ClearschedError, match=r"tuned\.json: .*tune them again"):
        teacher.train(tiny_params(), *inputs[:2], tuned, [], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_package_is_light_to_import() -> None:
    program = "import sys, clearsched.teacher; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
