"""Episodes: the same seed gives the same bytes, each stands for itself, and the load is the one asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

from clearsched.errors import ClearschedError
from clearsched.params import Params, parse
from clearsched.problems.dag_jobs.command import simulate_file
from clearsched.problems.dag_jobs.profiles import compile_profiles
from clearsched.traces import Trace, write_trace
from clearsched.workloads import (
    SPLITS,
    Workloads,
    build,
    executor_ms,
    load_inputs,
    mean_interarrival_ms,
    read_episode,
    read_workloads,
)
from toys import stage, toy_trace

TRACE = toy_trace([[stage(2), stage(1, [0])], [stage(3)]])
SMALL = {"executors": 4, "jobs": 5, "moving_delay_s": 0.1, "episodes": {"train": 4, "validation": 3, "test": 2}}


def params(seed: int = 1, **workload: Any) -> Params:
    return parse({"seed": seed, "workload": SMALL | workload}, "test", whole=False)


@pytest.fixture
def trace_path(tmp_path: Path) -> Path:
    write_trace(tmp_path / "trace.parquet", TRACE)
    return tmp_path / "trace.parquet"


def draw(trace_path: Path, name: str = "workloads.parquet", seed: int = 1, **workload: Any) -> Workloads:
    return build(params(seed, **workload), trace_path, trace_path.with_name(name))


def test_workloads_survive_the_disk(trace_path: Path) -> None:
    drawn = draw(trace_path)
    read = read_workloads(trace_path.with_name("workloads.parquet"))
    assert read.table.equals(drawn.table)
    assert read.settings == drawn.settings
    assert read.settings["num_executors"] == 4
    assert read.settings["moving_delay_ms"] == 100
    assert read.settings["warmup_delay_ms"] == 1000
    profiles, again = load_inputs(trace_path, trace_path.with_name("workloads.parquet"))
    assert profiles.warmup_delay_ms == 1000
    assert again.table.equals(drawn.table)


def test_the_same_seed_gives_the_same_bytes(trace_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        draw(trace_path, name, seed=seed)
    a, b, c = (trace_path.with_name(name).read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_an_episode_does_not_depend_on_how_many_others_are_drawn(trace_path: Path) -> None:
    few = draw(trace_path, "few")
    many = draw(trace_path, "many", episodes={"train": 9, "validation": 8, "test": 7})
    for split in SPLITS:
        for one, other in zip(few.split(split), many.split(split), strict=False):
            assert one.profile.tolist() == other.profile.tolist()
            assert one.arrival_ms.tolist() == other.arrival_ms.tolist()
            assert one.seed == other.seed


def test_splits_and_episodes_are_disjoint(trace_path: Path) -> None:
    drawn = draw(trace_path, jobs=12)
    episodes = [episode for split in SPLITS for episode in drawn.split(split)]
    assert [len(drawn.split(split)) for split in SPLITS] == [4, 3, 2]
    assert len({episode.seed for episode in episodes}) == len(episodes)
    assert len({episode.arrival_ms.tobytes() for episode in episodes}) == len(episodes)


def test_the_first_episodes_of_a_split(trace_path: Path) -> None:
    drawn = draw(trace_path)
    assert [e.seed for e in drawn.split("train", 2)] == [e.seed for e in drawn.split("train")][:2]
    with pytest.raises(ClearschedError, match="9 test episodes asked for, the workloads hold 2"):
        drawn.split("test", 9)
    with pytest.raises(ClearschedError, match="the workloads hold 0"):
        drawn.split("tests")


def test_batch_and_poisson_arrivals(trace_path: Path) -> None:
    for episode in draw(trace_path, arrivals="batch").split("train"):
        assert episode.arrival_ms.tolist() == [0] * 5
    drawn = draw(trace_path, "poisson", jobs=4000, mean_interarrival_s=25.0)
    assert drawn.settings["mean_interarrival_ms"] == 25_000
    for episode in drawn.split("train"):
        gaps = np.diff(episode.arrival_ms)
        assert episode.arrival_ms[0] == 0
        assert gaps.min() >= 0
        assert abs(gaps.mean() - 25_000) < 4 * 25_000 / 4000**0.5
        assert abs(gaps.std() - 25_000) < 4 * 25_000 * (2 / 4000) ** 0.5
        assert abs(np.bincount(episode.profile, minlength=2) - 2000).max() < 4 * (4000 * 0.25) ** 0.5


def test_durations_mode(trace_path: Path) -> None:
    assert not draw(trace_path).split("train")[0].mean_durations
    assert draw(trace_path, "mean", durations="mean").split("train")[0].mean_durations


def test_load_by_hand() -> None:
    """4 executors: 2 serve a job. 10 ms a task, 10 more a first one, 30 more a fresh one, 100 a move."""
    profiles = compile_profiles(TRACE)
    first = (2 * 10 + 2 * 10) + (1 * 10 + 1 * 10) + 2 * 30 + 2 * 100
    second = (3 * 10 + 2 * 10) + 2 * 30 + 2 * 100
    assert executor_ms(profiles, 4, 100).tolist() == [first, second]
    wanted = (first + second) / 2 / (0.5 * 4)
    assert mean_interarrival_ms(params(load=0.5), (first + second) / 2) == pytest.approx(wanted)
    assert mean_interarrival_ms(params(load=0.25), (first + second) / 2) == pytest.approx(2 * wanted)
    assert mean_interarrival_ms(params(load=0.5, mean_interarrival_s=0.007), (first + second) / 2) == 7
    assert mean_interarrival_ms(params(arrivals="batch"), (first + second) / 2) == 0


def test_workloads_of_another_trace_are_refused(trace_path: Path) -> None:
    draw(trace_path)
    other = trace_path.with_name("other.parquet")
    write_trace(other, toy_trace([[stage(1)]]))
    with pytest.raises(ClearschedError, match=r"workloads\.parquet: was drawn over another trace"):
        load_inputs(other, trace_path.with_name("workloads.parquet"))


def test_a_trace_is_no_workload(trace_path: Path) -> None:
    with pytest.raises(ClearschedError, match="columns do not fit the schema"):
        read_workloads(trace_path)


def test_rows_are_in_order(trace_path: Path) -> None:
    table = draw(trace_path).table
    rows = list(zip(*(table[name].to_pylist() for name in ("split", "episode", "job")), strict=True))
    wanted = [
        (split, episode, job)
        for split, count in zip(SPLITS, (4, 3, 2), strict=True)
        for episode in range(count)
        for job in range(5)
    ]
    assert rows == wanted
    assert pc.min(table["duration_seed"]).as_py() >= 0


# One episode from a file -------------------------------------------------------------------------------------------

EPISODE = {
    "num_executors": 2,
    "moving_delay_ms": 100,
    "warmup_delay_ms": 1000,
    "jobs": [
        {"query": "q1", "size": "tiny", "arrival_ms": 40},
        {"query": "q0", "size": "tiny", "arrival_ms": 0},
        {"query": "q1", "size": "tiny", "arrival_ms": 0},
    ],
}


def write_episode(folder: Path, text: str) -> Path:
    (folder / "episode.json").write_text(text)
    return folder / "episode.json"


def test_an_episode_is_read_in_order_of_arrival(tmp_path: Path) -> None:
    path = write_episode(tmp_path, json.dumps(EPISODE))
    workload, order, warmup_delay_ms = read_episode(path, TRACE, durations="mean", seed=7)
    assert (workload.profile.tolist(), workload.arrival_ms.tolist()) == ([0, 1, 1], [0, 0, 40])
    assert order.tolist() == [1, 2, 0]
    assert (workload.num_executors, workload.moving_delay_ms, warmup_delay_ms) == (2, 100, 1000)
    assert (workload.seed, workload.mean_durations) == (7, True)


def test_answers_come_in_the_order_of_the_file(tmp_path: Path, trace_path: Path) -> None:
    path = write_episode(tmp_path, json.dumps(EPISODE))
    answer = simulate_file(path, trace_path, "fifo", "mean", 0)
    sorted_jobs = sorted(EPISODE["jobs"], key=lambda job: job["arrival_ms"])
    path = write_episode(tmp_path, json.dumps(EPISODE | {"jobs": sorted_jobs}))
    in_order = simulate_file(path, trace_path, "fifo", "mean", 0)
    assert answer["completion_ms"] == [in_order["completion_ms"][i] for i in (2, 0, 1)]
    assert answer["avg_jct_ms"] == in_order["avg_jct_ms"]


def changed(**fields: Any) -> str:
    return json.dumps(EPISODE | fields)


def with_job(**fields: Any) -> str:
    return changed(jobs=[EPISODE["jobs"][1], {"query": "q0", "size": "tiny", "arrival_ms": 0} | fields])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1: not valid JSON"),
        ("[]", "num_executors is null"),
        ("3", "num_executors is null"),
        (changed(num_executors=-1), "num_executors is -1: a whole number of at least 0 expected"),
        (changed(num_executors=2.5), "num_executors is 2.5"),
        (changed(num_executors=True), "num_executors is true"),
        (changed(num_executors="2"), 'num_executors is "2"'),
        (changed(num_executors=0), "num_executors is 0: at least 1"),
        (changed(moving_delay_ms=None), "moving_delay_ms is null"),
        (changed(warmup_delay_ms=float("nan")), "warmup_delay_ms is NaN"),
        (changed(warmup_delay_ms=float("inf")), "warmup_delay_ms is Infinity"),
        (changed(moving_delay_ms=10**30), "moving_delay_ms is 1"),
        (changed(jobs=None), "jobs: a list of at least one job"),
        (changed(jobs=[]), "jobs: a list of at least one job"),
        (changed(jobs=["q1"]), r"jobs\[0\]: arrival_ms is null"),
        (with_job(arrival_ms=-5), r"jobs\[1\]: arrival_ms is -5"),
        (with_job(arrival_ms=1e30), r"jobs\[1\]: arrival_ms is 1e\+30"),
        (with_job(query="q9"), r"jobs\[1\]: no profile of query q9 at size tiny"),
        (with_job(size="huge"), r"jobs\[1\]: no profile of query q0 at size huge: the trace has sizes tiny"),
        (changed(jobs=[{"arrival_ms": 0, "size": "tiny"}]), r"jobs\[0\]: query is missing"),
    ],
)
def test_a_malformed_episode(tmp_path: Path, trace_path: Path, text: str, message: str) -> None:
    path = write_episode(tmp_path, text)
    with pytest.raises(ClearschedError, match=message) as caught:
        simulate_file(path, trace_path, "fifo", "mean", 0)
    assert str(caught.value).startswith((f"{path}: ", "workload: "))
    assert "\n" not in str(caught.value)


def test_a_missing_episode(tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match="no such file"):
        read_episode(tmp_path / "gone.json", TRACE, durations="mean", seed=0)


def test_whole_numbers_may_be_written_as_floats(tmp_path: Path) -> None:
    """The golden files do."""
    trace: Trace = TRACE
    workload, _, _ = read_episode(write_episode(tmp_path, with_job(arrival_ms=40.0)), trace, durations="mean", seed=0)
    assert workload.arrival_ms.tolist() == [0, 40]
