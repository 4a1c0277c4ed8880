"""The Gymnasium environments: the checker, instances stepped by hand, seeds, bad input, many at once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from ast import literal_eval
from collections.abc import Iterator
from dataclasses import fields, replace
from math import ceil
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pyarrow as pa
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from clearsched.errors import ActionError, ClearschedError, TraceError, WorkloadError
from clearsched.params import parse
from clearsched.problems.dag_jobs.features import FEATURE_NAMES
from clearsched.problems.dag_jobs.gym.environment import DagJobsEnv, DagJobsVectorEnv
from clearsched.problems.dag_jobs.gym.settings import ARRIVALS, Settings
from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Semantics, Simulation, Workload
from clearsched.problems.dag_jobs.simulator.state import NONE
from clearsched.problems.dag_jobs.traces import Trace, load, write_trace
from clearsched.problems.dag_jobs.workloads import build
from clearsched.registration import DAG_JOBS
from toys import stage, toy_trace, toy_workload

ROOT = Path(__file__).parents[1]
HELD = FEATURE_NAMES.index("job_executors")
TO_DECIDE = FEATURE_NAMES.index("executors_to_decide")


def toy_profiles(*profiles: list[dict[str, Any]]) -> Profiles:
    return compile_profiles(toy_trace(profiles))


@pytest.fixture(scope="module")
def two_jobs() -> Profiles:
    """A job of one task and a job of two, each of a single stage: of both waiting, row 0 is the smaller job 0."""
    return toy_profiles([stage(1)], [stage(2)])


@pytest.fixture(scope="module")
def diamond() -> Profiles:
    """Stages 0 -> 1, 2 -> 3, of six tasks each."""
    return toy_profiles([stage(6), stage(6, [0]), stage(6, [0]), stage(6, [1, 2])])


@pytest.fixture
def strict() -> Iterator[None]:
    """Warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def play_out(env: DagJobsEnv, seed: int | None = None, **reset: Any) -> list[tuple[Any, ...]]:
    """One episode of samples: (observation, info) of the reset, then every step's answer."""
    course: list[tuple[Any, ...]] = [env.reset(seed=seed, **reset)]
    over = False
    while not over:
        course.append(env.step(env.action_space.sample()))
        over = course[-1][2] or course[-1][3]
    return course


# What Gymnasium asks of an environment ------------------------------------------------------------------------------

SETTINGS = [
    {},
    {"observation": "graph"},
    {"arrivals": "batch", "jobs": 3, "render_mode": "ansi"},
    {"reward": "makespan", "num_executors": 1, "limit_levels": 1, "max_candidates": 2},
    {"jobs": 1, "max_decisions": 5, "semantics": Semantics(work_conserving=True)},
    {"arrivals": "bursty", "bursty": {"factor": 9.0}, "idling": False},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_checker_has_no_complaint(settings: dict[str, Any], strict: None) -> None:
    env = gymnasium.make(DAG_JOBS, **settings)
    check_env(env.unwrapped)
    assert isinstance(env.unwrapped, DagJobsEnv)


@pytest.mark.parametrize("settings", SETTINGS)
def test_every_observation_lies_in_the_space(settings: dict[str, Any]) -> None:
    env = DagJobsEnv(**settings)
    for observation, *_ in play_out(env, seed=5):
        assert observation in env.observation_space
    assert env.observation_space.sample() in env.observation_space


ANYWHERE = """
import sys
import clearsched
loaded = {"gymnasium", "numpy", "numba", "torch"} & set(sys.modules)
assert not loaded, loaded
import gymnasium
assert "numba" not in sys.modules
env = gymnasium.make("clearsched/DagJobs-v0")
env.reset(seed=0)
envs = gymnasium.make_vec("clearsched/DagJobs-v0", num_envs=2)
print(type(envs).__name__, envs.metadata["autoreset_mode"].value)
"""


@pytest.mark.parametrize("first", ["", "import gymnasium"])
def test_import_registers_in_either_order_and_works_anywhere(first: str, tmp_path: Path) -> None:
    code = ANYWHERE if not first else first + ANYWHERE.replace("assert not", "0 and")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.stdout.split() == ["DagJobsVectorEnv", "NextStep"], done.stderr


# Episodes stepped by hand -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reward", "wanted"), [("jct", [-0.320, -0.150]), ("makespan", [-0.160, -0.150])])
def test_two_jobs_on_one_executor(two_jobs: Profiles, reward: str, wanted: list[float]) -> None:
    """The executor moves for 100 ms, runs 50 + 10 ms in job 1 until 160, moves again, runs 50 ms in job 0 until 310.

    Two jobs are in the system for 160 ms, one for 150 ms.
    """
    env = DagJobsEnv(two_jobs, num_executors=1, jobs=2, reward=reward)
    observation, info = env.reset(options={"workload": toy_workload([0, 0], 1)})
    assert info["num_candidates"] == 2
    assert observation["action_mask"].tolist() == [1, 1] + [0] + [1] * 10
    first = env.step([1, 9])
    assert first[1:4] == (wanted[0], False, False)
    assert first[4]["time_s"] == 0.160
    assert env.action_masks().tolist() == [True, False] + [False] + [True] * 10
    observation, last, terminated, truncated, info = env.step(np.array([0, 9]))
    assert (last, terminated, truncated) == (wanted[1], True, False)
    assert info["avg_jct_s"] == pytest.approx((0.160 + 0.310) / 2)
    assert (info["makespan_s"], info["num_tasks"]) == (0.310, 3)
    assert not observation["candidates"].any()
    assert info["action_mask"].tolist() == [False] * 3 + [True] * 10


@pytest.mark.parametrize(
    ("level", "committed", "end_ms"),
    # One executor runs 50 + 3 x 10 ms, two run 50 + 10, three end with the one that takes two, four run 50.
    [(0, 1, 180), (1, 2, 160), (2, 3, 160), (3, 4, 150)],
)
def test_the_level_is_a_share_of_the_cluster(level: int, committed: int, end_ms: int) -> None:
    profiles = toy_profiles([stage(4)], [stage(9)])
    env = DagJobsEnv(profiles, num_executors=4, jobs=2, limit_levels=4)
    workload = toy_workload([0, 0], 4)
    observation, _ = env.reset(options={"workload": workload})
    assert observation["candidates"][0, [HELD, TO_DECIDE]].tolist() == [0, 4]
    observation, *_ = env.step((0, level))
    if committed < 4:  # the round goes on for the rest: the other job is the only candidate left
        assert env.action_masks()[:2].tolist() == [True, False]
        assert observation["candidates"][0, TO_DECIDE] == 4 - committed
    alone = DagJobsEnv(profiles, num_executors=4, jobs=1, limit_levels=4)
    alone.reset(options={"workload": toy_workload([0], 4)})
    _, reward, terminated, _, _ = alone.step((0, level))
    assert (reward, terminated) == (-end_ms / 1000, True)


def test_a_level_below_what_the_job_holds_means_one_executor_more() -> None:
    """A job of two stages of 8 tasks on 4 executors. Stage 0 gets 2; then level 0, a limit of 1, gives stage 1 one.

    All start at 100 ms. The two run 50 + 3 x 10 ms and are free at 180 ms, when the third still runs.
    """
    env = DagJobsEnv(toy_profiles([stage(8), stage(8)]), num_executors=4, jobs=1, limit_levels=4)
    env.reset(options={"workload": toy_workload([0], 4)})
    observation, *_ = env.step((0, 1))
    assert observation["candidates"][0, [HELD, TO_DECIDE]].tolist() == [2, 2]
    observation, reward, *_ = env.step((0, 0))
    assert reward == -0.180
    assert observation["candidates"][0, [HELD, TO_DECIDE]].tolist() == [1, 2]


# None of the candidates ---------------------------------------------------------------------------------------------


WITH_A_LATER_JOB = toy_workload([0, 0, 500], 2, profile=[0, 1, 0])


def test_executors_left_idle(two_jobs: Profiles) -> None:
    """Two executors: one runs 50 + 10 ms in job 1, the other idles, although job 0 waits. At 500 none is refused."""
    env = DagJobsEnv(two_jobs, num_executors=2, jobs=3, limit_levels=2)
    observation, _ = env.reset(options={"workload": WITH_A_LATER_JOB})
    none = env.settings.layout.max_candidates
    assert (none, env.action_space.nvec.tolist()) == (3, [4, 2])
    assert observation["action_mask"].tolist() == [1, 1, 0, 1, 1, 1]
    observation, reward, *_ = env.step((1, 0))
    assert (reward, observation["action_mask"].tolist()) == (0, [1, 0, 0, 1, 1, 1])
    observation, reward, *_, info = env.step((none, 1))
    assert (reward, info["time_s"]) == (-0.320, 0.160)
    assert observation["action_mask"].tolist() == [1, 0, 0, 1, 1, 1]
    observation, reward, *_, info = env.step((none, 1))
    assert (round(reward, 9), info["time_s"]) == (-0.340, 0.500), "the last job arrives: nobody asks again"
    assert observation["action_mask"].tolist() == info["action_mask"].tolist() == [1, 1, 0, 0, 1, 1]
    with pytest.raises(ActionError, match=r"^decision 3: row 3, none, is refused: these executors would stay idle for"):
        env.step((none, 0))
    assert not env.step((0, 0))[2]
    assert env.step((0, 0))[2]


def test_without_idling_there_is_no_such_row(two_jobs: Profiles) -> None:
    env = DagJobsEnv(two_jobs, num_executors=2, jobs=2, idling=False)
    env.reset(options={"workload": toy_workload([0, 0], 2)})
    env.step((1, 0))
    assert env.action_space.nvec.tolist() == [2, 10]
    assert env.action_masks().tolist() == [True, False] + [True] * 10
    with pytest.raises(ActionError, match=r"^decision 1: row 2 is no candidate: rows 0 to 0 are$"):
        env.step((2, 0))
    env.reset(seed=0)
    assert env.workload is not None and not env.workload.semantics.idling


def test_an_episode_that_forbids_idling_masks_the_row(two_jobs: Profiles) -> None:
    env = DagJobsEnv(two_jobs, num_executors=2, jobs=2)
    env.reset(options={"workload": toy_workload([0, 0], 2, idling=False)})
    env.step((1, 0))
    assert env.action_masks()[:3].tolist() == [True, False, False]


def test_samples_idle_where_they_may(two_jobs: Profiles) -> None:
    env = DagJobsEnv(two_jobs, num_executors=2, jobs=3, limit_levels=1)
    env.reset(options={"workload": WITH_A_LATER_JOB})
    env.step((1, 0))
    rows = [int(env.action_space.sample()[0]) for _ in range(400)]
    assert set(rows) == {0, 3}
    assert 140 < rows.count(3) < 260
    envs = DagJobsVectorEnv(2, two_jobs, num_executors=2, jobs=3, limit_levels=1)
    envs.reset(options={"workload": WITH_A_LATER_JOB})
    envs.step(np.array([[1, 0], [0, 0]]))
    drawn = np.array([envs.action_space.sample()[:, 0] for _ in range(100)])
    assert [set(column) for column in drawn.T.tolist()] == [{0, 3}, {0, 3}]
    assert envs.action_masks()[:, 3].all()
    envs.step(np.array([[3, 0], [3, 0]]))


# An episode against the simulator's own interface -------------------------------------------------------------------


def documented_order(candidates: np.ndarray) -> list[int]:
    """The source job first, then jobs by work left, stages by rank; of equals the first comes first."""
    source, work, rank = (FEATURE_NAMES.index(name) for name in ("job_is_source", "job_work_left_s", "stage_rank"))
    keys = [(-row[source], row[work], row[rank]) for row in candidates.tolist()]
    return sorted(range(len(keys)), key=lambda i: keys[i])


@pytest.mark.parametrize("arrivals", ["poisson", "batch"])
@pytest.mark.parametrize("levels", [1, 7, 10, 25])
def test_an_episode_is_that_of_the_simulator(arrivals: str, levels: int) -> None:
    env = DagJobsEnv(arrivals=arrivals, jobs=8, limit_levels=levels, observation="graph")
    env.action_space.seed(levels)
    observation, _ = env.reset(seed=levels)
    assert env.workload is not None
    simulation, rewards = Simulation(env.settings.profiles, env.workload), []
    while simulation.advance():
        seen = simulation.observe()
        order = documented_order(seen.candidates)
        for name in ("candidates", "candidate_node", "nodes", "node_job", "jobs"):
            wanted = getattr(seen, name)[order] if name.startswith("candidate") else getattr(seen, name)
            count = len(wanted)
            assert np.array_equal(observation[name][:count], wanted)
            assert np.all(observation[name][count:] == (-1 if name in ("candidate_node", "node_job") else 0))
        count = seen.edges.shape[1]
        assert np.array_equal(observation["edges"][:, :count], seen.edges)
        assert np.all(observation["edges"][:, count:] == -1)
        assert np.array_equal(observation["totals"], seen.totals)
        assert observation["action_mask"].sum() == len(seen.candidates) + seen.none_allowed[0] + levels
        row, level = env.action_space.sample()
        share = ceil((level + 1) / levels * env.workload.num_executors - 1e-9)
        if row == env.settings.layout.max_candidates:
            simulation.act(NONE)
        else:
            held = int(seen.candidates[order[row], HELD])
            simulation.act(int(seen.candidate_stage[order[row]]), max(held + 1, share))
        observation, reward, terminated, _, info = env.step((row, level))
        rewards.append(reward)
    assert terminated
    result = simulation.result()
    assert sum(rewards) == pytest.approx(-result.jct_s.sum(), rel=1e-12)
    assert (info["avg_jct_s"], info["makespan_s"]) == (result.avg_jct_s, result.makespan_s)


@pytest.mark.parametrize("reward", ["jct", "makespan"])
def test_rewards_add_up(reward: str) -> None:
    env = DagJobsEnv(reward=reward, jobs=12)
    course = play_out(env, seed=3)
    info = course[-1][4]
    total = {"jct": 12 * info["avg_jct_s"], "makespan": info["makespan_s"]}[reward]
    assert sum(step[1] for step in course[1:]) == pytest.approx(-total, rel=1e-12)


def test_time_before_the_first_job_counts_for_the_makespan_alone(two_jobs: Profiles) -> None:
    for reward, wanted in (("jct", -0.150), ("makespan", -5.150)):
        env = DagJobsEnv(two_jobs, num_executors=1, jobs=1, reward=reward)
        env.reset(options={"workload": toy_workload([5000], 1)})
        assert env.step((0, 0))[1] == wanted


# Seeds --------------------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_course_to_the_bit() -> None:
    courses = []
    for _ in range(2):
        env = DagJobsEnv(jobs=10, semantics=Semantics())
        env.action_space.seed(1)
        courses.append([play_out(env, seed=11), play_out(env)])
    assert data_equivalence(courses[0], courses[1], exact=True)
    first, second = courses[0]
    assert not np.array_equal(first[0][0]["candidates"], second[0][0]["candidates"])


def test_another_seed_gives_another_episode_of_the_same_law() -> None:
    env = DagJobsEnv(jobs=2000, mean_interarrival_s=3.0, max_candidates=4)
    draws = []
    for seed in (1, 2):
        env.reset(seed=seed)
        assert env.workload is not None
        draws.append(env.workload)
        gaps = np.diff(env.workload.arrival_ms)
        assert gaps.mean() == pytest.approx(3000, abs=5 * 3000 / 2000**0.5)  # an exponential's deviation is its mean
        assert set(env.workload.profile) == set(range(env.settings.profiles.trace.num_profiles))
    assert draws[0].seed != draws[1].seed
    assert not np.array_equal(draws[0].profile, draws[1].profile)


def test_twice_the_load_halves_the_time_between_arrivals() -> None:
    base, loaded = (DagJobsEnv(load=load).settings.mean_interarrival_ms for load in (0.4, 0.8))
    assert loaded == pytest.approx(base / 2)


DRAWN = [
    {"arrivals": "poisson"},
    {"arrivals": "batch"},
    {"arrivals": "poisson", "mean_interarrival_s": 1.5},
    {"arrivals": "bursty", "bursty": {"factor": 20.0}},
    {"arrivals": "diurnal", "diurnal": {"day_s": 100.0}, "load": 0.5},
]


@pytest.mark.parametrize("options", DRAWN, ids=lambda options: "-".join(map(str, options.values())))
def test_episodes_are_drawn_as_those_of_workloads(options: dict[str, Any], tmp_path: Path) -> None:
    """The same stream gives the same episode, to the bit: there is one way to draw them."""
    given = {"workload": {**options, "executors": 7, "jobs": 9, "episodes": {"train": 16}}}
    trace = tmp_path / "trace.parquet"
    write_trace(trace, load("tpch-spark"))  # the settings' own default
    wanted, *_ = build(parse(given, "test"), trace, tmp_path / "drawn.parquet").split("train")
    drawn = Settings(num_executors=7, jobs=9, **options).draw(np.random.default_rng([1, 0, 0]))
    assert drawn.profile.tolist() == wanted.profile.tolist()
    assert drawn.arrival_ms.tolist() == wanted.arrival_ms.tolist()
    assert replace(drawn, profile=wanted.profile, arrival_ms=wanted.arrival_ms) == wanted


def test_every_kind_of_arrivals_runs() -> None:
    """`replay` on a source of the Alibaba cluster's shape, whose jobs have arrival times."""
    for arrivals in ARRIVALS:
        source = "alibaba-like" if arrivals == "replay" else "tpch-spark"
        env = DagJobsEnv(source, jobs=4, arrivals=arrivals)
        assert play_out(env, seed=0)[-1][2]


def test_a_replay_follows_the_trace() -> None:
    trace = load("alibaba-like")
    known = trace.stages["arrival_ms"].take(trace.profile_starts[:-1]).to_numpy()
    env = DagJobsEnv(trace, jobs=6, arrivals="replay", replay={"speed": 2.0})
    env.reset(seed=3)
    assert env.workload is not None
    when = known[env.workload.profile]
    assert np.all(np.diff(when) >= 0)
    assert env.workload.arrival_ms.tolist() == ((when - when[0]) // 2).tolist()


def test_a_batch_arrives_at_time_0() -> None:
    batch = DagJobsEnv(arrivals="batch", jobs=5)
    batch.reset(seed=0)
    assert batch.workload is not None
    assert batch.workload.arrival_ms.tolist() == [0] * 5


# Sizes --------------------------------------------------------------------------------------------------------------


def test_no_more_candidates_than_rows() -> None:
    """The default size holds every decision: batches on a large cluster show as many candidates as there can be."""
    env = DagJobsEnv(arrivals="batch", jobs=6, num_executors=500, limit_levels=50)
    for seed in range(3):
        for _, info in (entry[:1] + entry[-1:] for entry in play_out(env, seed=seed)):
            assert info["num_candidates"] <= env.settings.layout.max_candidates


def test_the_default_size_counts_a_stage_or_its_parent(diamond: Profiles) -> None:
    assert DagJobsEnv(diamond, jobs=3).settings.layout.max_candidates == 3 * 2
    assert DagJobsEnv(toy_profiles([stage(1)] * 5), jobs=3).settings.layout.max_candidates == 15


def test_with_too_few_rows_the_first_candidates_are_offered() -> None:
    whole, cut = (DagJobsEnv(arrivals="batch", observation="graph", max_candidates=most) for most in (None, 3))
    every, info = whole.reset(seed=4)
    first, cut_info = cut.reset(seed=4)
    assert info["num_candidates"] == cut_info["num_candidates"] > 3
    for name in ("candidates", "candidate_node"):
        assert np.array_equal(first[name], every[name][:3])
    assert cut.action_masks().tolist() == [True] * 3 + [False] + [True] * 10
    with pytest.raises(ActionError, match=r"^decision 0: row 4 is no candidate: rows 0 to 2 are$"):
        cut.step((4, 0))
    assert play_out(cut, seed=4)[-1][2]


def test_episode_ends_after_max_decisions() -> None:
    env = DagJobsEnv(max_decisions=7)
    course = play_out(env, seed=1)
    assert len(course) == 1 + 7
    assert course[-1][2:4] == (False, True)
    assert "avg_jct_s" not in course[-1][4]
    assert len(play_out(DagJobsEnv(toy_profiles([stage(1)]), jobs=1, max_decisions=1))) == 2


# Bad input ----------------------------------------------------------------------------------------------------------

BAD = [
    (2, 0),
    (-1, 0),
    (0, 10),
    (0, -1),
    (0, float("nan")),
    (float("nan"), 0),
    (float("inf"), 0),
    (0.5, 0),
    (0,),
    (0, 0, 0),
    0,
    None,
    "ab",
    [[0], 0],
    [[0, 0]],
    np.full((40, 2), np.nan),
    10**30,
    (10**30, 0),
    [True, False],
    {},
]


@pytest.mark.parametrize("action", BAD)
def test_a_bad_action_is_refused_and_changes_nothing(action: Any, two_jobs: Profiles) -> None:
    env = DagJobsEnv(two_jobs, num_executors=1, jobs=2)
    options = {"workload": toy_workload([0, 0], 1)}
    env.reset(options=options)
    with pytest.raises(ActionError, match=r"^decision 0: ") as told:
        env.step(action)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 150
    assert env.step((0.0, 9))[1] == -0.300  # job 0 first: 100 + 50 ms with two jobs in the system
    with pytest.raises(ActionError, match=r"^decision 1: "):
        env.step(action)
    env.reset(options=options)
    assert env.step((1, 9))[1] == -0.320


def test_no_decision_before_and_after_an_episode(two_jobs: Profiles) -> None:
    env = DagJobsEnv(two_jobs, num_executors=1, jobs=1)
    with pytest.raises(ActionError, match=r"^decision 0: .*reset"):
        env.step((0, 0))
    env.reset(seed=0)
    env.step((0, 0))
    with pytest.raises(ActionError, match=r"^decision \d: .*reset"):
        env.step((0, 0))


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"num_executors": 0}, WorkloadError, "num_executors is 0"),
        ({"num_executors": 2.5}, WorkloadError, "num_executors is 2.5"),
        ({"jobs": 0}, WorkloadError, "jobs is 0"),
        ({"load": float("nan")}, WorkloadError, "load is nan"),
        ({"load": 0}, WorkloadError, "load is 0"),
        ({"mean_interarrival_s": -1}, WorkloadError, "mean_interarrival_s is -1"),
        ({"moving_delay_s": -1}, WorkloadError, "moving_delay_s is -1"),
        ({"arrivals": "bursts"}, ClearschedError, "known are poisson, batch, bursty, diurnal, replay"),
        ({"arrivals": "bursty", "bursty": {"factor": 0.5}}, WorkloadError, "bursty.factor is 0.5"),
        ({"diurnal": {"peak": 1}}, WorkloadError, "diurnal.peak is 1"),
        ({"arrivals": "replay"}, ClearschedError, "has no arrival times"),
        ({"reward": "speed"}, ClearschedError, "known are jct, makespan"),
        ({"observation": "pixels"}, ClearschedError, "known are candidates, graph"),
        ({"limit_levels": 0}, ClearschedError, "limit_levels is 0"),
        ({"max_candidates": 0}, ClearschedError, "max_candidates is 0"),
        ({"trace": "nowhere.parquet"}, ClearschedError, "nowhere.parquet"),
        ({"trace": Trace(pa.Table.from_pylist([], schema=TRACE), (1,))}, TraceError, "empty"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], error: type[ClearschedError], told: str) -> None:
    for make in (lambda: gymnasium.make(DAG_JOBS, **settings), lambda: gymnasium.make_vec(DAG_JOBS, 2, **settings)):
        with pytest.raises(error, match=told):
            make()


def test_a_given_workload_is_checked_and_the_environment_stays_usable(two_jobs: Profiles) -> None:
    env = DagJobsEnv(two_jobs, num_executors=1, jobs=2, observation="graph")
    good = toy_workload([0, 0], 1)
    bad: list[Any] = [replace(good, num_executors=0), toy_workload([], 1), toy_workload([0] * 3, 1, profile=[0] * 3), 7]
    for workload in bad:
        with pytest.raises(WorkloadError):
            env.reset(options={"workload": workload})
    env.reset(options={"workload": good})
    assert env.step((1, 9))[1] == -0.320


def test_render_tells_the_decision(two_jobs: Profiles) -> None:
    env = DagJobsEnv(two_jobs, num_executors=3, jobs=2, render_mode="ansi")
    assert env.render() == "no episode has begun"
    env.reset(options={"workload": toy_workload([0, 0], 3)})
    assert env.render() == (
        "0.0 s, decision 0: 3 of 3 executors to decide on, 2 candidates\n"
        "  query q0 at tiny, arrived at 0.0 s: holds 0, 1 tasks to start, 1 stages left\n"
        "  query q1 at tiny, arrived at 0.0 s: holds 0, 2 tasks to start, 1 stages left"
    )
    assert DagJobsEnv(two_jobs).render() is None


# Many at once -------------------------------------------------------------------------------------------------------

SMALL = {"jobs": 3, "num_executors": 4}


def native(num_envs: int, **settings: Any) -> DagJobsVectorEnv:
    envs = gymnasium.make_vec(DAG_JOBS, num_envs, vectorization_mode="vector_entry_point", **SMALL, **settings)
    assert isinstance(envs, DagJobsVectorEnv)
    return envs


def courses(envs: VectorEnv, actions: list[np.ndarray], seed: Any) -> list[Any]:
    return [envs.reset(seed=seed), *(envs.step(action) for action in actions)]


def valid_actions(num_envs: int, steps: int, seed: int, **settings: Any) -> list[np.ndarray]:
    """Actions that the native environments allow, one episode after another."""
    envs = native(num_envs, **settings)
    envs.action_space.seed(7)
    envs.reset(seed=seed)
    actions = []
    for _ in range(steps):
        actions.append(envs.action_space.sample())
        envs.step(actions[-1])
    return actions


@pytest.mark.parametrize("settings", [{}, {"observation": "graph", "max_decisions": 9}])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_native_vector_is_that_of_gymnasium_to_the_bit(mode: str, settings: dict[str, Any]) -> None:
    actions = valid_actions(3, 120, 20, **settings)
    envs = native(3, **settings)
    theirs = gymnasium.make_vec(DAG_JOBS, 3, vectorization_mode=mode, **SMALL, **settings)
    try:
        assert theirs.observation_space == envs.observation_space
        assert theirs.action_space == envs.action_space
        assert theirs.metadata["autoreset_mode"] == envs.metadata["autoreset_mode"]
        ours, reference = courses(envs, actions, 20), courses(theirs, actions, 20)
        ended = sum(step[2].sum() + step[3].sum() for step in ours[1:])
        assert ended > 3  # every environment begins another episode by itself, and one a third
        assert data_equivalence(ours, reference, exact=True)
    finally:
        theirs.close()


def test_vector_spaces_and_seeds() -> None:
    envs = native(4)
    assert envs.observation_space == batch_space(envs.single_observation_space, 4)
    observation, infos = envs.reset(seed=[5, 6, 5, 6])
    assert observation in envs.observation_space
    assert np.array_equal(observation["candidates"][:2], observation["candidates"][2:])
    assert not np.array_equal(observation["candidates"][0], observation["candidates"][1])
    assert np.array_equal(envs.action_masks(), infos["action_mask"])
    for step in range(30):
        action = envs.action_space.sample()
        assert action in envs.action_space
        observation, rewards, *ends, _ = envs.step(action)
        assert observation in envs.observation_space
        assert [array.dtype for array in (rewards, *ends)] == [np.float64, bool, bool], step
    single = DagJobsEnv(**SMALL)
    assert data_equivalence(single.reset(seed=6)[0], {k: v[1] for k, v in envs.reset(seed=5)[0].items()}, exact=True)


def test_next_step_after_an_end_begins_an_episode(two_jobs: Profiles) -> None:
    envs = DagJobsVectorEnv(2, two_jobs, num_executors=1, jobs=2, arrivals="batch")
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    envs.reset(options={"workload": toy_workload([0, 0], 1)})
    _, rewards, terminations, *_ = envs.step([[1, 0], [0, 0]])
    assert rewards.tolist() == [-0.320, -0.300]
    assert not terminations.any()
    observation, rewards, terminations, _, infos = envs.step([[0, 0], [0, 0]])
    assert rewards.tolist() == [-0.150, -0.160]
    assert terminations.all()
    assert not observation["candidates"].any()
    assert infos["avg_jct_s"] == pytest.approx([0.235, 0.230])
    observation, rewards, terminations, _, infos = envs.step([[99, 99], [99, 99]])  # ignored
    assert rewards.tolist() == [0, 0]
    assert not terminations.any()
    assert observation["action_mask"][:, :2].all()
    assert infos["time_s"].tolist() == [0, 0]


def test_a_bad_action_stops_all_environments_before_any_has_moved() -> None:
    envs = native(3)
    before, _ = envs.reset(seed=1)
    good = np.zeros((3, 2), np.int64)
    for bad in (np.array([[0, 0], [0, 0], [99, 0]]), good[:2], good[:, :1], np.full((3, 2), np.nan), None):
        with pytest.raises(ActionError, match=r"^decision \d+: "):
            envs.step(bad)
    after, *_ = envs.step(good)
    assert data_equivalence(after, courses(native(3), [good], 1)[1][0], exact=True)
    assert data_equivalence(before, envs.reset(seed=1)[0], exact=True)
    with pytest.raises(ClearschedError, match="2 seeds for 3 environments"):
        envs.reset(seed=[1, 2])


def test_reset_mask_resets_some() -> None:
    envs = native(2, render_mode="ansi")
    envs.reset(seed=1)
    envs.step(np.zeros((2, 2), np.int64))
    told = envs.render()
    assert told is not None
    envs.reset(seed=[8, None], options={"reset_mask": np.array([True, False])})
    now = envs.render()
    assert now is not None
    assert now[0] != told[0]
    assert now[1] == told[1]


def test_samples_are_valid_under_every_mode() -> None:
    for mode in ("sync", "vector_entry_point"):
        envs = gymnasium.make_vec(DAG_JOBS, 2, vectorization_mode=mode, **SMALL)
        envs.reset(seed=0)
        rows = set()
        for _ in range(40):
            action = envs.action_space.sample()
            rows |= set(action[:, 0].tolist())
            envs.step(action)
        assert (rows == {0}) == (mode == "sync")


def test_sampling_draws_every_candidate_evenly(two_jobs: Profiles) -> None:
    env = DagJobsEnv(two_jobs, num_executors=1, jobs=2, limit_levels=3)
    env.reset(options={"workload": toy_workload([0, 0], 1)})
    draws = [tuple(env.action_space.sample()) for _ in range(600)]
    assert set(draws) == {(row, level) for row in range(2) for level in range(3)}
    mask = (np.array([0, 1, 0], np.int8), np.array([0, 0, 1], np.int8))
    assert env.action_space.sample(mask=mask).tolist() == [1, 2]


def test_workload_is_not_shared_between_environments() -> None:
    workload = Workload(np.array([0, 1]), np.array([0, 10]), 3, 100, seed=4)
    one, two = DagJobsEnv(**SMALL), DagJobsEnv(**SMALL)
    courses_of = []
    for env in (one, two):
        env.action_space.seed(2)
        courses_of.append(play_out(env, options={"workload": workload}))
    assert data_equivalence(courses_of[0], courses_of[1], exact=True)


# The page for users -------------------------------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "environment.md").read_text()


@pytest.mark.parametrize("block", re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
def test_code_of_the_page_runs(block: str) -> None:
    left: dict[str, Any] = {}
    exec(compile(block, "docs/environment.md", "exec"), left)
    if "envs" in left:  # the vector form: a row of candidates for each of its environments
        assert left["observations"]["candidates"].shape[:2] == (64, 32)
        assert (left["rewards"] <= 0).all()
        return
    assert left["env"].observation_space.contains(left["observation"])
    if left.get("over"):  # a whole episode: no job takes longer than the last completion
        assert 0 < left["info"]["avg_jct_s"] <= left["info"]["makespan_s"]


def test_the_page_tells_defaults_and_sizes() -> None:
    defaults = {field.name: field.default for field in fields(Settings)} | {"render_mode": None}
    told: dict[str, str] = {}
    for names, values in re.findall(r"^\| (`.*?) \| (.*?) \|", PAGE.split("## Episodes")[1], re.MULTILINE):
        told |= dict(zip(re.findall(r"`(\w+)`", names), values.split(", "), strict=True))
    assert set(told) == set(defaults)
    for name, value in told.items():
        if value != "as needed":
            assert literal_eval(value.strip("`")) == defaults[name], name
    shapes = DagJobsEnv(observation="graph").observation_space
    for name in ("nodes", "jobs", "totals"):
        assert re.search(rf"`{name}` float32\[.*?{shapes[name].shape[-1]}\]", PAGE)
