"""Each switch that leaves out a part of the teacher or of its training, or tells it more, changes what it says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clearsched.errors import ClearschedError
from clearsched.params import parse
from clearsched.problems.dag_jobs.graph import GLOBAL_FEATURES, Graph, join
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.network.network import TeacherNetwork
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Simulation, Workload
from clearsched.problems.dag_jobs.traces import write_trace
from clearsched.problems.dag_jobs.workloads import Workloads, build, read_workloads
from clearsched.problems.dag_jobs.workloads.streams import mean_gap_ms
from clearsched.problems.networks import only_most
from clearsched.teacher import baselines, sampling
from clearsched.teacher.checkpoints import load_network, save_checkpoint
from clearsched.teacher.imitation import Cloning
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.sampling import Scope
from clearsched.teacher.settings import CloneParams
from cloning import clone
from toys import stage, toy_trace, toy_workload

DIAMOND = [stage(2), stage(6, [0]), stage(3, [0]), stage(1, [1, 2])]
TRACE = toy_trace([DIAMOND, [stage(5), stage(2, [0])]])
EXECUTORS = 4
SIZES = {"embedding": 4, "hidden": 8, "rounds": 2}


@pytest.fixture(scope="module")
def profiles() -> Profiles:
    return compile_profiles(TRACE)


@pytest.fixture(scope="module")
def instance(profiles: Profiles) -> DagJobsInstance:
    return DagJobsInstance(profiles)


def network(**options: Any) -> TeacherNetwork:
    torch.manual_seed(1)
    made: TeacherNetwork = PROBLEM.network({**SIZES, **options}, False)
    return made


def workload(seed: int = 0, gap_ms: float = 0.0) -> Workload:
    drawn = toy_workload(
        [0, 0, 900, 2500, 4000], EXECUTORS, profile=[0, 1, 0, 0, 1], moving_delay_ms=300, seed=seed,
        mean_durations=False, idling=False,
    )  # fmt: skip
    return replace(drawn, interarrival_ms=gap_ms)


def decisions(profiles: Profiles, episode: Workload) -> Graph:
    """Decisions of an episode that the first candidate and the largest limit schedule."""
    simulation, seen = Simulation(profiles, episode), []
    while simulation.advance():
        seen.append(simulation.observe())
        simulation.act(int(seen[-1].candidate_stage[0]), EXECUTORS)
    return join(seen)


def scores(net: TeacherNetwork, graph: Graph) -> torch.Tensor:
    with torch.no_grad():
        batch = net.encode(graph)
        return net.score_candidates(batch, net.embed(batch))


def longer_elsewhere(graph: Graph) -> Graph:
    """The same decisions, but the stages that nobody may choose now have tasks of ten times the duration."""
    nodes = graph.nodes.copy()
    others = np.setdiff1d(np.arange(len(nodes)), graph.candidate_node)
    assert len(others)
    nodes[others] *= 10
    return graph._replace(nodes=nodes)


# No graph embedding


def test_without_rounds_a_stage_is_scored_by_itself(profiles: Profiles) -> None:
    graph = decisions(profiles, workload())
    changed = longer_elsewhere(graph)
    whole, alone = network(), network(rounds=0)
    assert not torch.equal(scores(whole, graph), scores(whole, changed)), "the embedding sees the other stages"
    assert torch.equal(scores(alone, graph), scores(alone, changed))
    assert not torch.equal(scores(whole, graph), scores(alone, graph))


# No limit control


def test_only_the_largest_allowed_level_is_left() -> None:
    allowed = torch.tensor([[False, True, True, False], [True, False, False, False]])
    found = only_most(allowed, torch.zeros(1, dtype=torch.float64))
    assert found.dtype == torch.float64
    assert found.isfinite().nonzero().tolist() == [[0, 2], [1, 0]]


def test_without_limits_every_answer_is_all_executors(profiles: Profiles) -> None:
    graph = decisions(profiles, workload())
    limited = TeacherPolicy(network(), PROBLEM).weigh(graph).answers
    free = TeacherPolicy(network(levels="most"), PROBLEM).weigh(graph).answers
    assert (free.level == EXECUTORS).all()
    assert (limited.level != EXECUTORS).any()
    assert np.array_equal(free.candidate, limited.candidate), "the stages are chosen as before"


def test_a_network_without_limits_is_cloned_from_a_policy_with_limits(instance: DagJobsInstance) -> None:
    """The expert's limits are none that it can choose: they add nothing to the loss, rather than infinity."""
    net = network(levels="most")
    heads = {name: value.clone() for name, value in net.named_parameters() if name.startswith("limit")}
    settings = CloneParams(episodes=2, dagger_rounds=1, epochs=2, batch_size=8)
    expert, losses = heuristic("fair").compiled, []
    cloning = Cloning(net, instance, [workload(seed) for seed in range(2)], expert, settings, np.random.default_rng(0))
    clone(cloning, lambda epoch: losses.append(epoch.loss))
    assert np.isfinite(losses).all() and losses[-1] < losses[0]
    assert all(torch.equal(value, dict(net.named_parameters())[name]) for name, value in heads.items())
    steps, advantages, _ = sampling.collect(net, instance, [workload()], 2, np.random.default_rng(1), Scope(20.0))
    assert (steps.level == EXECUTORS).all() and np.isfinite(advantages).all()
    assert np.isfinite(steps.log_probability).all()


# No input-dependent baseline


class Outcome:
    """A rollout whose return-to-go is told."""

    def __init__(self, value: float) -> None:
        self.value = value

    def cost_to_go(self, times_s: np.ndarray, horizon_s: float) -> np.ndarray:
        return np.full(len(times_s), self.value)


def test_one_baseline_for_all_does_not_take_out_what_the_jobs_brought() -> None:
    """Two rollouts each of an easy and of a heavy sequence: by hand."""
    times, results = [np.zeros(1)] * 4, [Outcome(value) for value in (-1.0, -3.0, -11.0, -13.0)]
    own = [baselines.group_advantages(times[part], results[part], np.inf) for part in (slice(0, 2), slice(2, 4))]
    assert np.concatenate([*own[0], *own[1]]).tolist() == [1.0, -1.0, 1.0, -1.0]
    together = baselines.group_advantages(times, results, np.inf)
    assert np.concatenate(together).tolist() == [6.0, 4.0, -4.0, -6.0]


def test_the_baseline_of_the_settings_is_the_one_that_is_used(
    instance: DagJobsInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    real = baselines.group_advantages

    def noted(times: Any, results: Any, horizon_s: float, end_s: Any) -> list[np.ndarray]:
        sizes.append(len(results))
        return real(times, results, horizon_s, end_s)

    monkeypatch.setattr(sampling, "group_advantages", noted)
    for baseline in ("sequence", "iteration"):
        generator, scope = np.random.default_rng(1), Scope(20.0, baseline=baseline)
        sampling.collect(network(), instance, [workload(0), workload(1), workload(2)], 2, generator, scope)
    assert sizes == [2, 2, 2, 6]


# Told the rate


def test_only_a_network_that_is_told_the_rate_tells_rates_apart(profiles: Profiles) -> None:
    slow, fast = (decisions(profiles, workload(gap_ms=gap_ms)) for gap_ms in (75_000.0, 45_000.0))
    column = [feature.name for feature in GLOBAL_FEATURES].index("interarrival_s")
    assert (slow.totals[:, column] == 75).all() and (fast.totals[:, column] == 45).all()
    plain, told = network(), network(rate=True)
    assert torch.equal(scores(plain, slow), scores(plain, fast))
    assert not torch.equal(scores(told, slow), scores(told, fast))
    assert told.inputs["global"] == (*plain.inputs["global"], "interarrival_s")


def test_another_problem_says_that_it_tells_no_rate() -> None:
    from clearsched.problems import find_problem

    other = find_problem("deferrable_jobs")
    with pytest.raises(ClearschedError, match=r"teacher\.network\.rate: deferrable_jobs tells its networks no rate"):
        other.network({**SIZES, "rate": True}, False)


# On disk


@pytest.mark.parametrize("options", [{}, {"rounds": 0}, {"levels": "most"}, {"rate": True, "levels": "most"}])
def test_a_checkpoint_tells_what_was_left_out(options: dict[str, Any], profiles: Profiles, tmp_path: Path) -> None:
    net, path = network(**options), tmp_path / "teacher.safetensors"
    save_checkpoint(path, net, PROBLEM, {**SIZES, "levels": "learned", "rate": False, **options}, {})
    read, description = load_network(path)
    assert description["network"] == {**SIZES, **options}, "defaults stand in no file: older ones have none"
    graph = decisions(profiles, workload(gap_ms=5000.0))
    ours, theirs = (TeacherPolicy(each, PROBLEM).weigh(graph).answers for each in (net, read))
    assert np.array_equal(ours.candidate, theirs.candidate) and np.array_equal(ours.level, theirs.level)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"levels": "fewest"}, r'network\.levels is "fewest": known are "learned", "most"'),
        ({"rate": 1}, r"network\.rate is 1: known are false, true"),
        ({"rounds": -1}, r"network\.rounds is -1: a whole number from 0 to 4096 expected"),
    ],
)
def test_a_checkpoint_of_something_unknown_is_refused(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "teacher.safetensors"
    save_checkpoint(path, network(), PROBLEM, SIZES, {})
    told = json.loads(path.with_suffix(".json").read_text("utf-8"))
    told["network"] |= changed
    path.with_suffix(".json").write_text(json.dumps(told), "utf-8")
    with pytest.raises(ClearschedError, match=message):
        load_network(path)


# Episodes of mixed rates


def draw(folder: Path, name: str, **workload: Any) -> Workloads:
    write_trace(folder / "trace.parquet", TRACE)
    episodes = {"train": 30, "validation": 2, "test": 2}
    small = {"executors": 4, "jobs": 400, "mean_interarrival_s": 10.0, "episodes": episodes}
    params = parse({"workload": small | workload}, "test", whole=False)
    return build(params, folder / "trace.parquet", folder / name)


def test_each_episode_draws_a_rate_and_says_which(tmp_path: Path) -> None:
    draw(tmp_path, "mixed", mixed_rates={"least": 1.0, "most": 5 / 3})
    drawn = read_workloads(tmp_path / "mixed")
    episodes = drawn.split("train")
    told = np.array([each.interarrival_ms for each in episodes])
    seen = np.array([mean_gap_ms(each) for each in episodes])
    assert told.min() >= 10_000 and told.max() <= 10_000 * 5 / 3 and told.std() > 1000
    np.testing.assert_allclose(seen, told, rtol=0.2)
    assert np.corrcoef(seen, told)[0, 1] > 0.9
    assert drawn.settings["mean_interarrival_ms"] == pytest.approx(10_000 * 4 / 3)
    assert [each.interarrival_ms for each in drawn.split("train", 3)] == told[:3].tolist()


def test_one_rate_is_told_too_and_draws_nothing(tmp_path: Path) -> None:
    plain, one = draw(tmp_path, "plain"), draw(tmp_path, "one", mixed_rates={"least": 1.0, "most": 1.0})
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "one").read_bytes()
    assert "interarrivals_ms" not in plain.settings
    assert {each.interarrival_ms for each in one.split("test")} == {10_000.0}
    batch = draw(tmp_path, "batch", arrivals="batch", mean_interarrival_s=None)
    assert {each.interarrival_ms for each in batch.split("test")} == {0.0}


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ({"mixed_rates": {"least": 2.0, "most": 1.0}}, "mixed_rates.least is 2: it must not be above most, 1"),
        ({"arrivals": "batch", "mixed_rates": {"most": 2.0}}, "where arrivals are batch: they have no rate to mix"),
    ],
)
def test_rates_that_cannot_be_mixed_are_told_in_a_line(workload: dict[str, Any], message: str) -> None:
    with pytest.raises(ClearschedError, match=message):
        parse({"workload": workload}, "test", whole=False)


def test_a_file_that_tells_of_other_episodes_is_refused(tmp_path: Path) -> None:
    drawn = draw(tmp_path, "mixed", mixed_rates={"least": 1.0, "most": 2.0})
    drawn.settings["interarrivals_ms"]["train"].pop()
    with pytest.raises(ClearschedError, match="interarrivals_ms tells of 29 train episodes, there are 30"):
        drawn.split("train")
