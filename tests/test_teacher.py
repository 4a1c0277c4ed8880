"""The teacher: what the network may and may not see, returns worked out by hand, files that are the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
import torch
from clearsched.policies import heuristic, load_policy

from clearsched import teacher
from clearsched.errors import ClearschedError
from clearsched.files import write_json
from clearsched.params import Params, parse
from clearsched.params.models import CloneParams, ImproveParams
from clearsched.problems.dag_jobs.graph import Observation, join, observation_of
from clearsched.problems.dag_jobs.network.encoding import POWERS, collate, encode_limits
from clearsched.problems.dag_jobs.network.network import ChildrenToParents, TeacherNetwork
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Simulation, Workload
from clearsched.problems.dag_jobs.traces import write_trace
from clearsched.problems.dag_jobs.workloads import build
from clearsched.schemas import LEARNING_CURVE, read_table
from clearsched.teacher import baselines, policy_gradient
from clearsched.teacher.choices import best, draw, entropy, log_probability_of_grant
from clearsched.teacher.imitation import Epoch, clone, demonstrate
from clearsched.teacher.policy import TeacherPolicy
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
def network() -> TeacherNetwork:
    return new_network()


def new_network(seed: int = 0) -> TeacherNetwork:
    torch.manual_seed(seed)
    return TeacherNetwork(embedding=6, hidden=12, rounds=3)


def workload(seed: int = 0, jobs: int = 6) -> Workload:
    generator = np.random.default_rng(seed)
    arrivals = np.sort(generator.integers(0, 4000 * jobs, jobs)).tolist()
    profile = generator.integers(0, TRACE.num_profiles, jobs).tolist()
    return toy_workload(arrivals, EXECUTORS, profile=profile, moving_delay_ms=500, seed=seed, mean_durations=False)


def observations(profiles: Profiles, count: int = 12) -> list[Observation]:
    """Decisions of an episode that the first candidate and the largest limit schedule."""
    simulation = Simulation(profiles, workload(jobs=8))
    seen: list[Observation] = []
    while simulation.advance() and len(seen) < count:
        seen.append(simulation.observe())
        simulation.act(int(seen[-1].candidate_stage[0]), EXECUTORS)
    return seen


def scores(network: TeacherNetwork, seen: list[Observation]) -> tuple[torch.Tensor, torch.Tensor]:
    """Stage scores of all candidates, and limit scores for the first candidate of each decision."""
    with torch.no_grad():
        batch = collate(seen)
        embedding = network.embed(batch)
        return (
            network.score_stages(batch, embedding),
            network.score_limits(batch, embedding, batch.first_candidate),
        )


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
    )
    return turned, order


def test_inputs_by_hand(profiles: Profiles) -> None:
    """Two jobs at time 0: 9 tasks of 1 s and 12 of them; each counts with 5 s more; 4 executors."""
    simulation = Simulation(profiles, toy_workload([0, 0], EXECUTORS))
    assert simulation.advance()
    batch = collate([simulation.observe()])
    half = POWERS.index(0.5)
    share = np.sqrt([9 + 5, 12 + 5]) / np.sqrt([9 + 5, 12 + 5]).sum()
    np.testing.assert_allclose(np.exp(batch.shares[:, half].numpy()), EXECUTORS * share, rtol=1e-6)
    np.testing.assert_allclose(np.exp(batch.shares[:, 0].numpy()), [2, 2], rtol=1e-6)
    assert batch.covering.tolist() == [3, 2], "the 4 executors at hand, but no more than the stage has tasks"
    inputs, allowed = encode_limits(batch, batch.first_candidate)
    assert allowed.tolist() == [[True] * 4]
    covers = inputs[0, :, 5].tolist()
    assert covers == [0, 0, 1, 1], "limits of 3 and 4 give 3 executors to the 3 tasks of the first stage"


def test_limits_start_above_what_the_job_holds(profiles: Profiles, network: TeacherNetwork) -> None:
    policy = TeacherPolicy(network)
    for observation in observations(profiles):
        answer = policy.decide([observation])[0]
        held = observation.job_held[observation.node_job[observation.candidate_node[answer.candidate]]]
        assert answer.limits.tolist() == list(range(held + 1, EXECUTORS + 1))
        assert answer.limit in answer.limits
        assert answer.stage == observation.candidate_stage[answer.candidate]
        assert answer.stage_probability.sum() == pytest.approx(1)
        assert answer.limit_probability.sum() == pytest.approx(1)
        assert len(answer.stage_score) == len(observation.candidates)


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
    found = log_probability_of_grant(logs, torch.tensor([2, 3, 4]), torch.tensor([3, 3, 3]))
    torch.testing.assert_close(found.exp(), torch.tensor([0.5, 0.5, 0.5]))


# Cloning


def test_clone_learns_the_heuristic_and_follows_it_in_its_own_episodes(profiles: Profiles) -> None:
    settings = CloneParams(episodes=6, epochs=12, dagger_rounds=1, batch_size=32, learning_rate=0.01)
    expert = heuristic("capped_srpt", p=0.5, m=2.0)
    network, epochs = new_network(), list[Epoch]()
    generator = np.random.default_rng(0)
    clone(network, profiles, [workload(s) for s in range(12)], expert.compiled, settings, generator, epochs.append)
    assert [epoch.episodes for epoch in epochs] == [6] * 12 + [12] * 12
    assert epochs[-1].stage_accuracy > 0.95
    assert epochs[-1].limit_accuracy > 0.95
    fresh = [workload(100 + seed) for seed in range(8)]
    theirs = np.mean([result.avg_jct_s for result in expert.run(profiles, fresh)])
    ours = np.mean([result.avg_jct_s for result in TeacherPolicy(network).run(profiles, fresh)])
    assert ours == pytest.approx(theirs, rel=0.05)


def test_demonstrations_carry_the_untruncated_limit(profiles: Profiles) -> None:
    """Two jobs of the wide profile at time 0, caps ceil(2 x 4 / 2) = 4 each by m = 2: the first gets all at once."""
    two = toy_workload([0, 0], EXECUTORS, profile=[2, 2])
    examples = demonstrate(profiles, [two], heuristic("capped_srpt", p=0.5, m=2.0).compiled)
    assert (examples.candidate[0], examples.limit[0]) == (0, 4)
    halves = demonstrate(profiles, [two], heuristic("capped_srpt", p=0.5, m=1.0).compiled)
    first_two = [observation_of(halves.graph, b) for b in (0, 1)]
    nodes = [seen.candidate_node[c] for seen, c in zip(first_two, halves.candidate, strict=False)]
    jobs = [int(seen.node_job[node]) for seen, node in zip(first_two, nodes, strict=True)]
    assert jobs == [0, 1]
    assert halves.limit[:2].tolist() == [2, 2]


def test_a_heuristic_that_leaves_executors_idle_can_be_cloned(profiles: Profiles) -> None:
    examples = demonstrate(profiles, [workload(seed) for seed in range(4)], heuristic("fair").compiled)
    assert len(examples)
    assert all(examples.limit <= EXECUTORS)


# Policy gradient


def finished(arrival_ms: list[int], completion_ms: list[int]) -> EpisodeResult:
    return EpisodeResult(np.array(arrival_ms), np.array(completion_ms), 0, 0)


def test_returns_by_hand() -> None:
    """Jobs in the system over [0, 3 s] and [1 s, 4 s]: the integral of their number is 6 job-seconds."""
    result = finished([0, 1000], [3000, 4000])
    times = np.array([0.0, 500, 2000, 3500, 4000])
    returns = baselines.returns_to_go(times, result, np.inf)
    np.testing.assert_allclose(returns, [-6, -5.5, -3, -0.5, 0])
    assert returns[0] == pytest.approx(-result.jct_s.sum())


def test_discounted_returns_are_the_integral() -> None:
    result, horizon, start = finished([0, 1000, 2500], [3000, 4000, 2600]), 1500.0, 700.0
    clock = np.linspace(start, 4000, 1_000_001)
    number = sum((a <= clock) & (clock < c) for a, c in zip(result.arrival_ms, result.completion_ms, strict=True))
    integral = np.trapezoid(np.exp(-(clock - start) / horizon) * number, clock) / 1000
    found = baselines.returns_to_go(np.array([start]), result, horizon)
    assert found[0] == pytest.approx(-integral, rel=1e-5)


def test_advantages_at_one_time_sum_to_zero() -> None:
    rollouts = [finished([0, 1000], ends) for ends in ([3000, 4000], [2000, 6000], [5000, 4500])]
    times = np.array([0.0, 1500, 3000])
    advantages = baselines.group_advantages([times] * 3, rollouts, 2000.0)
    np.testing.assert_allclose(np.sum(advantages, axis=0), 0, atol=1e-12)
    at_start = np.concatenate(baselines.group_advantages([np.zeros(1)] * 3, rollouts, np.inf))
    np.testing.assert_allclose(at_start, np.array([-6, -7, -8.5]) + 21.5 / 3, err_msg="minus total JCT, less the mean")


def test_excess_backlog_compares_rollouts_at_one_time() -> None:
    """At 1 s the second rollout is still as its decision at 0 s left it: 4 jobs; at 2 s the first has 1 job."""
    times = [np.array([0.0, 1000]), np.array([0.0, 2000])]
    backlogs = [np.array([[2.0], [1.0]]), np.array([[4.0], [7.0]])]
    first, second = baselines.excess_backlog(times, backlogs)
    assert first.tolist() == [[-1.0], [-1.5]]
    assert second.tolist() == [[1.0], [3.0]]


def test_what_the_backlog_explains_is_taken_out() -> None:
    generator = np.random.default_rng(0)
    excess, own = generator.normal(size=(20_000, 2)), generator.normal(size=20_000)
    left = baselines.without_backlog(own - 30 * excess[:, 0] + 2 * excess[:, 1], excess)
    assert np.corrcoef(left, own)[0, 1] > 0.999
    constant = np.zeros((20_000, 1))
    np.testing.assert_array_equal(baselines.without_backlog(own, constant), own)


def test_rollouts_of_a_sequence_share_its_jobs_and_durations(profiles: Profiles, network: TeacherNetwork) -> None:
    generator = np.random.default_rng(0)
    steps, advantages, jct_s = policy_gradient.collect(
        network, profiles, [workload(0), workload(1)], 3, generator, horizon_ms=20_000
    )
    assert len(steps) == len(advantages)
    assert advantages.std() == pytest.approx(1)
    assert jct_s > 0
    assert all(steps.log_probability <= 1e-6)


@pytest.mark.parametrize("sign", [1, -1])
def test_update_makes_good_choices_likelier(profiles: Profiles, sign: int) -> None:
    network = new_network()
    steps, _ = policy_gradient.roll_out(network, profiles, [workload(0)], np.random.default_rng(0))
    chosen = steps[np.flatnonzero(steps.log_probability < -0.1)[:1]]
    settings = ImproveParams(epochs=1, entropy=0.0, learning_rate=0.001)
    optimiser = torch.optim.SGD(network.parameters(), lr=settings.learning_rate)
    generator = np.random.default_rng(0)
    losses = [
        policy_gradient.update(network, optimiser, chosen, np.array([float(sign)]), settings, generator)[0]
        for _ in range(2)
    ]
    assert losses[1] < losses[0]
    ratio = -losses[1] / sign
    assert (ratio > 1) == (sign > 0)


def test_decisions_of_rollouts_are_kept_in_the_order_of_episodes(profiles: Profiles, network: TeacherNetwork) -> None:
    """What was kept is what each episode shows when its choices are made again one at a time."""
    episodes = [workload(0), workload(1)]
    steps, results = policy_gradient.roll_out(network, profiles, episodes, np.random.default_rng(0))
    row = 0
    for number, (episode, result) in enumerate(zip(episodes, results, strict=True)):
        simulation = Simulation(profiles, episode)
        while simulation.advance():
            seen, kept = simulation.observe(), observation_of(steps.graph, row)
            assert [array.tolist() for array in seen] == [array.tolist() for array in kept]
            assert (steps.episode[row], steps.time_ms[row]) == (number, simulation.time_s * 1000)
            waiting = [len(seen.jobs), seen.jobs[:, 4].sum(), *(f(seen.jobs[:, 2]).sum() for f in (np.abs, np.sqrt))]
            np.testing.assert_allclose(baselines.backlog(steps.graph)[row, :4], waiting, rtol=1e-6)
            simulation.act(seen.candidate_stage[steps.candidate[row]], steps.limit[row])
            row += 1
        assert simulation.result().completion_ms.tolist() == result.completion_ms.tolist()
    assert row == len(steps)


# The policy


@pytest.mark.parametrize("mode", ["argmax", "sampled"])
def test_an_episode_does_not_depend_on_its_company(profiles: Profiles, network: TeacherNetwork, mode: str) -> None:
    episodes = [workload(seed) for seed in range(5)]
    policy = TeacherPolicy(network, mode, seed=3)
    together = policy.run(profiles, episodes)
    again = policy.run(profiles, episodes)
    for one, two, episode in zip(together, again, episodes, strict=True):
        assert one.completion_ms.tolist() == two.completion_ms.tolist()
        assert one.completion_ms.tolist() == policy.run(profiles, [episode])[0].completion_ms.tolist()


def test_an_episode_is_recorded(profiles: Profiles, network: TeacherNetwork) -> None:
    result = TeacherPolicy(network).run(profiles, [workload()], record_tasks=True, record_decisions=True)[0]
    assert result.tasks is not None and result.decisions is not None
    assert len(result.tasks) == result.num_tasks
    assert len(result.decisions) == result.num_decisions
    assert result.completion_ms.max() == (result.tasks[:, 0] + result.tasks[:, 1]).max()


def test_sampled_episodes_differ_by_seed(profiles: Profiles, network: TeacherNetwork) -> None:
    one, two = (TeacherPolicy(network, "sampled", seed).run(profiles, [workload()])[0] for seed in (1, 2))
    assert one.completion_ms.tolist() != two.completion_ms.tolist()


@pytest.mark.parametrize("mode", ["argmax", "sampled"])
def test_run_makes_the_choices_of_decide(profiles: Profiles, network: TeacherNetwork, mode: str) -> None:
    policy, episode = TeacherPolicy(network, mode, seed=5), workload(2)
    simulation, generator = Simulation(profiles, episode), policy.generator(episode)
    while simulation.advance():
        answer = policy.decide([simulation.observe()], [generator])[0]
        simulation.act(answer.stage, answer.limit)
    assert simulation.result().completion_ms.tolist() == policy.run(profiles, [episode])[0].completion_ms.tolist()


def test_the_temperature_gives_the_entropy_asked_for(profiles: Profiles) -> None:
    network, seen = new_network(), observations(profiles)
    network.soften(0.01)
    several = [observation for observation in seen if len(observation.candidates) > 1]
    wanted = 0.5 * np.mean([np.log(len(observation.candidates)) for observation in several])
    network.soften(policy_gradient.temperature_for(network, join(several), wanted))
    answers = TeacherPolicy(network).decide(several)
    found = [-(answer.stage_probability * np.log(answer.stage_probability)).sum() for answer in answers]
    assert np.mean(found) == pytest.approx(wanted, rel=1e-3)
    assert policy_gradient.temperature_for(network, join(several), wanted / 2) == 1


def test_softening_keeps_the_best_choice(profiles: Profiles) -> None:
    network = new_network()
    before = TeacherPolicy(network).decide(observations(profiles))
    network.soften(3.0)
    for old, new in zip(before, TeacherPolicy(network).decide(observations(profiles)), strict=True):
        assert (old.stage, old.limit) == (new.stage, new.limit)
        np.testing.assert_allclose(new.stage_score, old.stage_score / 3, atol=1e-6)


def test_tasks_are_recorded_on_request(profiles: Profiles, network: TeacherNetwork) -> None:
    result = TeacherPolicy(network).run(profiles, [workload()], record_tasks=True)[0]
    assert result.tasks is not None
    assert len(result.tasks) == result.num_tasks


def test_wrong_modes_are_refused(profiles: Profiles, network: TeacherNetwork) -> None:
    with pytest.raises(ClearschedError, match="must be argmax or sampled"):
        TeacherPolicy(network, "greedy")
    with pytest.raises(ClearschedError, match="random generator for each observation"):
        TeacherPolicy(network, "sampled").decide(observations(profiles))
    assert TeacherPolicy(network).decide([]) == []


# The stage and its files


def tiny_params() -> Params:
    values = {
        "seed": 5,
        "workload": {
            "executors": EXECUTORS,
            "jobs": 5,
            "moving_delay_s": 0.5,
            "episodes": {"train": 4, "validation": 3, "test": 1},
        },
        "decisions": {"episodes": 1, "held_out": 1},
        "students": {"dagger_episodes": 1},
        "teacher": {
            "network": {"embedding": 4, "hidden": 8, "rounds": 2},
            "clone": {"episodes": 2, "epochs": 2, "batch_size": 32},
            "improve": {"iterations": 3, "sequences": 2, "rollouts": 2, "validate_every": 2},
        },
    }
    return parse(values, "test", whole=False)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Trace, workloads and tuned heuristics."""
    folder = tmp_path_factory.mktemp("inputs")
    trace, workloads, tuned = (folder / name for name in ("trace.parquet", "workloads.parquet", "tuned.json"))
    write_trace(trace, TRACE)
    build(tiny_params(), trace, workloads)
    write_json(tuned, {"best": "capped_srpt", "capped_srpt": {"p": 0.5, "m": 2.0}})
    return [trace, workloads, tuned]


@pytest.fixture(scope="module")
def trained(inputs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher")
    teacher.train(tiny_params(), *inputs, folder)
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
    teacher.train(tiny_params(), *inputs, tmp_path)
    names = sorted(path.name for path in trained.iterdir())
    assert names == ["learning_curve.parquet", "teacher.json", "teacher.safetensors"]
    for name in names:
        assert (tmp_path / name).read_bytes() == (trained / name).read_bytes(), name


def test_the_learning_curve_tells_both_phases(trained: Path) -> None:
    table, metadata = read_table(trained / "learning_curve.parquet", LEARNING_CURVE)
    assert table["phase"].to_pylist() == ["clone"] * 4 + ["improve"] * 3
    assert table["iteration"].to_pylist() == [0, 1, 2, 3, 0, 1, 2]
    assert table["episodes"].to_pylist() == [2, 2, 4, 4, 8, 12, 16]
    validated = [value is not None for value in table["validation_jct_s"].to_pylist()]
    assert validated == [False] * 3 + [True] + [False, True, True], "the clone, every second iteration and the last"
    assert set(metadata["inputs"]) == {"trace", "workloads", "tuned"}


def test_the_best_on_validation_is_kept(trained: Path, inputs: list[Path]) -> None:
    found = json.loads((trained / "teacher.json").read_text())["validation"]
    table, _ = read_table(trained / "learning_curve.parquet", LEARNING_CURVE)
    assert found["teacher_jct_s"] == pc.min(table["validation_jct_s"]).as_py()
    assert found["teacher_jct_s"] <= found["clone_jct_s"]
    from clearsched.problems.dag_jobs.workloads import load_inputs

    profiles, drawn = load_inputs(*inputs[:2])
    policy = load_policy(trained / "teacher.safetensors")
    results = policy.run(profiles, drawn.split("validation"))
    assert np.mean([result.avg_jct_s for result in results]) == found["teacher_jct_s"]


def test_a_checkpoint_reads_back(checkpoint: Path) -> None:
    policy = load_policy(checkpoint, mode="sampled")
    assert (policy.name, policy.kind, policy.mode, dict(policy.settings)) == ("teacher", "teacher", "sampled", {})
    assert teacher.load_policy(checkpoint).seed == tiny_params().seed


def spoil_inputs(checkpoint: Path) -> None:
    path = checkpoint.with_suffix(".json")
    content = json.loads(path.read_text())
    content["inputs"]["job"][0] = "is_cheap"
    path.write_text(json.dumps(content))


def spoil_size(checkpoint: Path) -> None:
    path = checkpoint.with_suffix(".json")
    content = json.loads(path.read_text())
    content["network"]["hidden"] = 9
    path.write_text(json.dumps(content))


SPOILS = [
    (lambda path: path.unlink(), "teacher.safetensors: no such file"),
    (lambda path: path.with_suffix(".json").unlink(), "teacher.json: no such file"),
    (lambda path: path.write_bytes(path.read_bytes()[:-7]), "teacher.safetensors: truncated or changed"),
    (lambda path: path.with_suffix(".json").write_text('{"format": 1'), "teacher.json: line 1: not valid JSON"),
    (lambda path: path.with_suffix(".json").write_text("{}"), "does not describe a teacher"),
    (spoil_inputs, r"other job inputs than this version has \(is_cheap, is_source\)"),
    (spoil_size, "does not hold the weights that its JSON file describes"),
]


@pytest.mark.parametrize(("spoil", "message"), SPOILS, ids=[message for _, message in SPOILS])
def test_a_broken_checkpoint_is_refused_in_one_line(checkpoint: Path, spoil, message: str) -> None:
    spoil(checkpoint)
    with pytest.raises(ClearschedError, match=message) as caught:
        load_policy(checkpoint)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content", ["[]", '{"best": "capped_srpt"}', '{"best": "magic", "magic": {}}', '{"fair": {}}'], ids=str
)
def test_a_tuning_without_the_heuristic_is_refused(inputs: list[Path], tmp_path: Path, content: str) -> None:
    tuned = tmp_path / "tuned.json"
    tuned.write_text(content)
    with pytest.raises(ClearschedError, match=r"tuned\.json: .*tune them again"):
        teacher.train(tiny_params(), *inputs[:2], tuned, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_package_is_light_to_import() -> None:
    program = "import sys, clearsched.teacher; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
