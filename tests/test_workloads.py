"""Episodes: the same seed gives the same bytes, each stands for itself, and the load is the one asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

from clearsched.edge_cases.cases import params_of
from clearsched.errors import ClearschedError
from clearsched.files import digest_bytes, digest_file
from clearsched.params import Params, parse
from clearsched.problems.dag_jobs.command import simulate_file
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.schemas import WORKLOADS
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.semantics import Semantics
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.traces import Trace, make_trace, write_trace
from clearsched.problems.dag_jobs.workloads import (
    SPLITS,
    Workloads,
    build,
    executor_ms,
    load_inputs,
    mean_interarrival_ms,
    read_episode,
    read_workloads,
    stress,
)
from clearsched.problems.dag_jobs.workloads.sampling import LATER
from clearsched.schemas import write_table
from toys import micro_trace, stage, toy_rows, toy_trace

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
    with pytest.raises(ClearschedError, match=r"workloads\.parquet: 9 train episodes asked for, the workloads hold 4"):
        again.split("train", 9)


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
    with pytest.raises(ClearschedError, match=r"^9 test episodes asked for, the workloads hold 2: draw more"):
        drawn.split("test", 9)
    with pytest.raises(ClearschedError, match=r"^1 tests episode asked for, the workloads hold 0"):
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
    assert mean_interarrival_ms(params(load=0.5).workload, (first + second) / 2) == pytest.approx(wanted)
    assert mean_interarrival_ms(params(load=0.25).workload, (first + second) / 2) == pytest.approx(2 * wanted)
    assert mean_interarrival_ms(params(load=0.5, mean_interarrival_s=0.007).workload, (first + second) / 2) == 7
    assert mean_interarrival_ms(params(arrivals="batch").workload, (first + second) / 2) == 0


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


# As before ---------------------------------------------------------------------------------------------------------

GOLDEN = {  # SHA-256 (16 digits) of the columns, written by the version before there were other kinds of arrivals
    "poisson": {
        "episode": "ada2e23decf25282",
        "job": "0366b83b64d4ce34",
        "profile": "d912541742757ad2",
        "arrival_ms": "f31b1be49ea27110",
        "duration_seed": "ac9e79351fd27c42",
    },
    "batch": {
        "episode": "ada2e23decf25282",
        "job": "0366b83b64d4ce34",
        "profile": "d912541742757ad2",
        "arrival_ms": "16fa66a7dc98d93f",
        "duration_seed": "92a962b6f7c57ce0",
    },
}


@pytest.mark.parametrize("arrivals", ["poisson", "batch"])
def test_default_workloads_are_what_they_were(tmp_path: Path, arrivals: str) -> None:
    """Over the jobs that were the default data set then."""
    trace = tmp_path / "trace.parquet"
    write_trace(trace, micro_trace())
    workload = {"arrivals": arrivals, "episodes": {"train": 64}}
    drawn = build(parse({"workload": workload}, "test"), trace, tmp_path / "workloads.parquet")
    found = {name: digest_bytes(drawn.table[name].to_numpy().tobytes()) for name in GOLDEN[arrivals]}
    assert found == GOLDEN[arrivals]
    assert drawn.table["split"].to_pylist() == ["train"] * 64 * 40 + ["validation"] * 32 * 40 + ["test"] * 64 * 40
    assert drawn.settings == {
        "num_executors": 10,
        "moving_delay_ms": 2000,
        "warmup_delay_ms": 1000,
        "mean_interarrival_ms": 2369.5486631016042 if arrivals == "poisson" else 0.0,
        "durations": "sampled",
        "semantics": {
            name: value
            for name, value in asdict(Semantics()).items()
            if not name.startswith("outage_") and name not in LATER
        },
        "seed": 1,
        "trace": digest_file(trace),
        "objective": "jct_s",
    }


# Other arrivals ----------------------------------------------------------------------------------------------------


def timed_trace(arrival_ms: Sequence[int], queries: Sequence[str] = ()) -> Trace:
    """One job of one stage at each time; job i has i + 1 tasks of 10 ms and query `q<i>` or the one given."""
    rows = toy_rows([[stage(i + 1, first_wave=10, fresh=10)] for i in range(len(arrival_ms))])
    for i, row in enumerate(rows):
        row |= {"arrival_ms": arrival_ms[i], "query": queries[i] if queries else row["query"]}
    return make_trace(rows, {"source": "timed", "levels": [1]}, "test")


@pytest.mark.parametrize("arrivals", ["bursty", "diurnal"])
def test_offered_load_is_the_one_asked_for(trace_path: Path, arrivals: str) -> None:
    """Executor time of the jobs that came, over the time there was: 0.6 within 4 standard errors."""
    options = {"arrivals": arrivals, "load": 0.6, "jobs": 20_000, "diurnal": {"day_s": 10.0}}
    options["bursty"] = {"burst_s": 0.5, "calm_s": 2.0}
    drawn = draw(trace_path, **options)
    occupied = executor_ms(compile_profiles(TRACE), 4, 100)
    for split in SPLITS:
        assert drawn.settings["splits"][split]["offered_load"] == pytest.approx(0.6)
        for episode in drawn.split(split):
            load = occupied[episode.profile].sum() / (4 * episode.arrival_ms[-1])
            assert load == pytest.approx(0.6, rel=0.1)
    assert drawn.settings["arrivals"] == arrivals


@pytest.mark.parametrize("arrivals", ["bursty", "diurnal", "replay"])
def test_other_arrivals_are_deterministic(tmp_path: Path, arrivals: str) -> None:
    path = tmp_path / "trace.parquet"
    write_trace(path, timed_trace(range(0, 3000, 100)))
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        draw(path, name, seed=seed, arrivals=arrivals)
    a, b, c = (path.with_name(name).read_bytes() for name in "abc")
    assert a == b
    assert a != c


TIMES = [0, 5, 5, 17, 1000, 1001, 1234, 5000, 9999, 12_345]


def test_replay_reproduces_the_trace_to_the_millisecond(tmp_path: Path) -> None:
    """Jobs need not stand in order of arrival in the trace."""
    path = tmp_path / "trace.parquet"
    shuffled = [4, 0, 9, 1, 3, 2, 8, 7, 6, 5]
    write_trace(path, timed_trace([TIMES[i] for i in shuffled]))
    whole = draw(path, arrivals="replay", jobs=100).split("train")[0]
    assert whole.arrival_ms.tolist() == TIMES
    assert [shuffled[p] for p in whole.profile] in ([0, 1, 2, *range(3, 10)], [0, 2, 1, *range(3, 10)])
    faster = draw(path, arrivals="replay", jobs=100, replay={"speed": 2.0}).split("train")[0]
    assert faster.arrival_ms.tolist() == [time // 2 for time in TIMES]
    window = draw(path, arrivals="replay", jobs=100, replay={"start_s": 1.0, "window_s": 4.0}).split("train")[0]
    assert window.arrival_ms.tolist() == [0, 1, 234]
    for episode in draw(path, arrivals="replay", jobs=3).split("train"):
        place = [shuffled[p] for p in episode.profile]
        first = TIMES[place[0]]
        assert episode.arrival_ms.tolist() == [TIMES[i] - first for i in place]
        assert len(place) == 3


def test_load_of_a_replay(tmp_path: Path) -> None:
    """Jobs of 10, 20, ..., 50 ms every 100 ms, and 2 executors of 1 to serve each: offered by hand, then as asked."""
    path = tmp_path / "trace.parquet"
    write_trace(path, timed_trace([0, 100, 200, 300, 400]))
    cluster = {"executors": 1, "moving_delay_s": 0.0, "arrivals": "replay"}
    facts = draw(path, **cluster).settings["splits"]["test"]
    assert facts["offered_load"] == pytest.approx(30 / 100)
    assert facts["mean_interarrival_ms"] == pytest.approx(100)
    drawn = draw(path, **cluster, load=0.75, replay={"speed": None})
    facts = drawn.settings["splits"]["test"]
    assert (facts["offered_load"], facts["speed"]) == (pytest.approx(0.75), pytest.approx(2.5))
    assert drawn.split("test")[0].arrival_ms.tolist() == [0, 40, 80, 120, 160]


def test_a_replay_that_cannot_be(trace_path: Path, tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match=r"trace\.parquet: has no arrival times"):
        draw(trace_path, arrivals="replay")
    path = tmp_path / "timed.parquet"
    write_trace(path, timed_trace([0, 100]))
    with pytest.raises(ClearschedError, match=r"workload\.replay: no job .* last job arrives after 0 s"):
        draw(path, arrivals="replay", replay={"start_s": 1.0})
    write_trace(path, timed_trace([0, 0]))
    with pytest.raises(ClearschedError, match="no speed gives a load"):
        draw(path, arrivals="replay", replay={"speed": None})


# Splits ------------------------------------------------------------------------------------------------------------


def queries_of(drawn: Workloads, trace: Trace) -> list[set[str]]:
    names = [trace.stages["query"][int(row)].as_py() for row in trace.profile_starts[:-1]]
    return [{names[p] for episode in drawn.split(split) for p in episode.profile} for split in SPLITS]


def test_template_split_is_disjoint(tmp_path: Path) -> None:
    """10 templates with 3 jobs each: 5, 2 and 3 of them, all their jobs, and other ones with another seed."""
    trace = timed_trace(range(30), [f"t{i % 10}" for i in range(30)])
    path = tmp_path / "trace.parquet"
    write_trace(path, trace)
    fractions = {"train": 0.5, "validation": 0.2, "test": 0.3}
    options = {"split": "template", "split_fractions": fractions, "jobs": 200}
    found = queries_of(draw(path, **options), trace)
    assert [len(queries) for queries in found] == [5, 2, 3]
    assert len(set.union(*found)) == 10
    assert queries_of(draw(path, **options, episodes={"train": 9, "validation": 9, "test": 9}), trace) == found
    assert queries_of(draw(path, seed=2, **options), trace) != found
    assert queries_of(draw(path, arrivals="batch", **options), trace) == found


def test_each_split_has_the_load_asked_for(tmp_path: Path) -> None:
    """Templates differ in work, so the time between arrivals does."""
    trace = timed_trace(range(9))
    write_trace(tmp_path / "trace.parquet", trace)
    drawn = draw(tmp_path / "trace.parquet", split="template", load=0.5, jobs=300)
    occupied = executor_ms(compile_profiles(trace), 4, 100)
    for split in SPLITS:
        gap = drawn.settings["splits"][split]["mean_interarrival_ms"]
        jobs = sorted({int(p) for episode in drawn.split(split) for p in episode.profile})
        assert gap == pytest.approx(occupied[jobs].mean() / (0.5 * 4))


def test_split_by_time(tmp_path: Path) -> None:
    trace = timed_trace([90, 80, 70, 60, 50, 40, 30, 20, 10, 0])
    write_trace(tmp_path / "trace.parquet", trace)
    drawn = draw(tmp_path / "trace.parquet", split="time", jobs=200)
    found = [{int(p) for episode in drawn.split(split) for p in episode.profile} for split in SPLITS]
    assert found == [{9, 8, 7, 6, 5, 4}, {3, 2}, {1, 0}]


def test_too_few_templates(trace_path: Path) -> None:
    with pytest.raises(ClearschedError, match=r"workload\.split: template: .* 2 templates \(queries\), at least 3"):
        draw(trace_path, split="template")


# Only what is used -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["trace.parquet", "trace.arrow"])
def test_only_the_profiles_that_are_used_are_compiled(tmp_path: Path, name: str) -> None:
    """40 profiles, 2 jobs drawn: the compiled ones are theirs, whatever their new numbers."""
    trace = timed_trace(range(40))
    write_trace(tmp_path / name, trace)
    drawn = draw(tmp_path / name, jobs=2, episodes={"train": 1, "validation": 1, "test": 1})
    profiles, again = load_inputs(tmp_path / name, tmp_path / "workloads.parquet")
    used = sorted(set(drawn.table["profile"].to_pylist()))
    assert profiles.names == [(f"q{p}", "tiny") for p in used]
    assert [used[p] for p in again.table["profile"].to_pylist()] == drawn.table["profile"].to_pylist()
    assert profiles.work_ms.tolist() == [10 * (p + 1) for p in used]
    assert again.table.drop_columns(["profile"]).equals(drawn.table.drop_columns(["profile"]))


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
    answer = simulate_file(path, trace_path, heuristic("fifo"), "mean", 0)
    sorted_jobs = sorted(EPISODE["jobs"], key=lambda job: job["arrival_ms"])
    path = write_episode(tmp_path, json.dumps(EPISODE | {"jobs": sorted_jobs}))
    in_order = simulate_file(path, trace_path, heuristic("fifo"), "mean", 0)
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
        (changed(num_executors=0), "num_executors is 0: 1 to 1,000,000 expected"),
        (changed(moving_delay_ms=None), "moving_delay_ms is null"),
        (changed(warmup_delay_ms=float("nan")), "warmup_delay_ms is NaN"),
        (changed(warmup_delay_ms=float("inf")), "warmup_delay_ms is Infinity"),
        (changed(moving_delay_ms=10**30), "is too large a number: 64 bits at most"),
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
        simulate_file(path, trace_path, heuristic("fifo"), "mean", 0)
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


# Stress ------------------------------------------------------------------------------------------------------------

WORK_MS = np.array([500.0, 20.0, 700.0])


def test_stress_streams_have_their_jobs_backlog_and_rate() -> None:
    training = [Workload(np.arange(3), np.array([0, 100, 200]), 2, 10, seed=1)]
    many = training * stress.SHORT
    assert stress.kinds_of(many) == (stress.GIANT, *stress.STREAMS)
    assert [kind.jobs for kind in stress.STREAMS] == sorted(kind.jobs for kind in stress.STREAMS), "short ones first"
    _, first, *others = stress.kinds_of(training)
    assert first.episodes == stress.SHORT - 1 and tuple(others) == stress.STREAMS[1:]
    part = stress.kinds_of(many, 0.02)
    assert [kind.episodes for kind in part] == [4, 1, 1, 2, 1, 1, 1, 1, 1]
    assert [kind.jobs for kind in part] == [20, 20, 20, 20, 20, 20, 20, 40, 40]
    assert [kind.backlog for kind in part] == [0, 0, 0, 0, 0, 2, 2, 0, 0]
    assert [kind.swarm for kind in part] == [0, 0, 0, 0, 8, 0, 0, 0, 0]
    for kind in [each for each in stress.STREAMS if not each.swarm]:
        first, again, other = (list(stress.stressed(training, kind, WORK_MS, seed)) for seed in (5, 5, 6))
        assert len(first) == kind.episodes
        for one, two in zip(first, again, strict=True):
            np.testing.assert_array_equal(one.arrival_ms, two.arrival_ms)
            np.testing.assert_array_equal(one.profile, two.profile)
            assert one.seed == two.seed
            assert len(one.profile) == len(one.arrival_ms) == kind.jobs
            assert (one.arrival_ms == 0).sum() >= max(kind.backlog, 1)
            assert (np.diff(one.arrival_ms) >= 0).all() and set(one.profile.tolist()) <= {0, 1, 2}
            assert one.moving_delay_ms == 10 * kind.moves
            later = one.arrival_ms[max(kind.backlog, 1) :]
            assert later[-1] / len(later) == pytest.approx(100 / kind.faster, rel=0.3)
        assert (first[0].arrival_ms != first[1].arrival_ms).any() and (first[0].arrival_ms != other[0].arrival_ms).any()


def test_a_swarm_is_of_the_smallest_jobs_and_comes_at_once() -> None:
    """Besides the jobs of the stream without it, with the one after its first quarter."""
    training = [Workload(np.arange(3), np.array([0, 100, 200]), 2, 10, seed=1)]
    (kind,) = (each for each in stress.STREAMS if each.swarm)
    without = kind._replace(swarm=0)
    for one, plain in zip(*(stress.stressed(training, each, WORK_MS, 5) for each in (kind, without)), strict=True):
        place = kind.jobs // 4
        swarm = slice(place, place + kind.swarm)
        assert set(one.profile[swarm].tolist()) == {int(np.argmin(WORK_MS))}
        assert (one.arrival_ms[swarm] == plain.arrival_ms[place - 1]).all()
        np.testing.assert_array_equal(np.delete(one.profile, swarm), plain.profile)
        np.testing.assert_array_equal(np.delete(one.arrival_ms, swarm), plain.arrival_ms)
        assert one.seed == plain.seed


@pytest.mark.parametrize("gap_ms", [0, 5000])
def test_episodes_are_drawn_anew_like_those_of_training(trace_path: Path, gap_ms: int) -> None:
    """Streams like streams, batches like batches: as many jobs, of the same profiles, the same for the same seed."""
    draw(trace_path)
    instance = DagJobsInstance(*load_inputs(trace_path, trace_path.with_name("workloads.parquet")))
    training = [replace(one, arrival_ms=gap_ms * np.arange(len(one.profile))) for one in instance.split("train")]
    jobs = len(training[0].profile)
    one, again, other, more = (
        instance.redrawn(training, count, seed) for count, seed in ((9, 3), (9, 3), (9, 4), (12, 3))
    )
    assert [len(episode.profile) for episode in one] == [jobs] * 9
    assert [episode.seed for episode in one] == [episode.seed for episode in again]
    assert [episode.seed for episode in one] == [episode.seed for episode in more[:9]]
    assert not {episode.seed for episode in one} & {episode.seed for episode in (*other, *training)}
    trained = {profile for episode in training for profile in episode.profile.tolist()}
    assert all(set(episode.profile.tolist()) <= trained for episode in one)
    assert {instance.is_batch(episode) for episode in one} == {gap_ms == 0}
    assert not any(map(instance.is_hard, one))
    assert not any(map(instance.due_s, one)), "they have no deadlines"


def test_further_episodes_are_of_each_short_kind(trace_path: Path) -> None:
    """As they are, with a giant, with tiny jobs and in each edge case of the check, each kind drawn by itself."""
    cases = ("executors_lost", "stragglers")
    draw(trace_path, safety_cases=cases)
    instance = DagJobsInstance(*load_inputs(trace_path, trace_path.with_name("workloads.parquet")))
    training = instance.split("train")
    jobs = len(training[0].profile)
    found = instance.redrawn_of_all(training, 14, 7)
    assert len(found) == 15, "three of each of five kinds"
    plain, giants, swarms, lost, slow = (found[begin : begin + 3] for begin in range(0, 15, 3))
    assert [one.seed for one in plain] == [one.seed for one in instance.redrawn(training, 3, 7)]
    assert [*map(instance.is_hard, found)] == [False] * 3 + [True] * 3 + [False] * 9
    assert {len(one.profile) for one in (*plain, *giants, *lost, *slow)} == {jobs}
    assert {len(one.profile) for one in swarms} == {3 * jobs}
    assert {one.semantics for one in plain} == {training[0].semantics}
    for name, seed, own in (("executors_lost", 10, lost), ("stragglers", 11, slow)):
        assert [one.seed for one in own] == [one.seed for one in instance.in_case(name, training, seed, 3)]
        assert {one.semantics for one in own} == {one.semantics for one in instance.in_case(name, training, 0, 1)}
    assert len({one.seed for one in found}) == 15
    draw(trace_path, safety_cases=cases, stress=0.02)
    part = DagJobsInstance(*load_inputs(trace_path, trace_path.with_name("workloads.parquet")))
    assert [one.seed for one in part.redrawn_of_all(training, 14, 7)] == [one.seed for one in found]


def test_a_share_of_the_stress_is_what_a_file_tells(trace_path: Path) -> None:
    """All of it where the file tells none."""
    shares = {}
    for share in (1.0, 0.02):
        drawn = draw(trace_path, stress=share)
        assert drawn.settings.get("stress", 1.0) == share and ("stress" in drawn.settings) == (share < 1)
        instance = DagJobsInstance(*load_inputs(trace_path, trace_path.with_name("workloads.parquet")))
        assert instance.stress_share == share
        shares[share] = instance.stressed(instance.split("train"))
    assert len(shares[0.02]) < 0.1 * len(shares[1.0])
    assert max(len(one.profile) for one in shares[0.02]) < max(len(one.profile) for one in shares[1.0])
    write_table(trace_path.with_name("workloads.parquet"), drawn.table, WORKLOADS, drawn.settings | {"stress": 5.0})
    with pytest.raises(ClearschedError, match="stress"):
        load_inputs(trace_path, trace_path.with_name("workloads.parquet"))


BOUNDS = ("safety_bound", "giant_bound")


def test_what_a_policy_may_take_is_what_a_file_tells(trace_path: Path) -> None:
    """As much as the safety check allows where the file tells nothing."""
    path = trace_path.with_name("workloads.parquet")
    for bounds in ({}, {"safety_bound": 1.1}, {"giant_bound": 1.3}, {"safety_bound": 1.1, "giant_bound": 1.3}):
        drawn = draw(trace_path, **bounds)
        assert {name: drawn.settings[name] for name in BOUNDS if name in drawn.settings} == bounds
        instance = DagJobsInstance(*load_inputs(trace_path, path))
        assert [instance.safety_bound, instance.hard_bound] == [bounds.get(name) for name in BOUNDS]
    for name in BOUNDS:
        write_table(path, drawn.table, WORKLOADS, drawn.settings | {name: 0})
        with pytest.raises(ClearschedError, match=name):
            load_inputs(trace_path, path)


@pytest.mark.parametrize("jobs", [5, 40])  # of 40 an outage lasts as long as `workload.outage` says by default
def test_edge_cases_that_a_scenario_names_are_in_its_safety_check(trace_path: Path, jobs: int) -> None:
    """After the giants: streams like those of training in which all is as the edge case itself makes it."""
    names = ("estimates_missing", "estimates_off", "executors_lost", "stragglers")  # in the order of the file
    path = trace_path.with_name("workloads.parquet")
    told = {}
    for cases in ((), names):
        drawn = draw(trace_path, safety_cases=cases, jobs=jobs)
        assert list(drawn.settings.get("safety_cases", ())) == list(cases)
        instance = DagJobsInstance(*load_inputs(trace_path, path))
        told[cases] = instance.stressed(instance.split("train"))
    usual, named = told.values()
    giants = sum(map(instance.is_hard, usual))
    added = named[giants : giants + len(names) * stress.CASES]
    assert [one.seed for one in usual] == [one.seed for one in (*named[:giants], *named[giants + len(added) :])]
    training = instance.split("train")
    like = instance.redrawn(training, stress.CASES, 0)
    for number, name in enumerate(names):
        own = added[number * stress.CASES : (number + 1) * stress.CASES]
        assert [one.seed for one in own] == [one.seed for one in like]
        changed = params_of(params(1, jobs=jobs), name)
        assert changed is not None
        itself = build(changed, trace_path, trace_path.with_name("case.parquet")).split("train")[0]
        assert {one.semantics for one in own} == {itself.semantics}
        assert {one.estimates for one in own} == {itself.estimates}
        assert (itself.semantics, itself.estimates) != (training[0].semantics, training[0].estimates)
    fair = heuristic("fair")
    lost = added[2 * stress.CASES : 3 * stress.CASES]
    slower, plain = (sum(run.measures["jct_s"] for run in fair.run(instance, each)) for each in (lost, like))
    assert slower > plain, "fewer executors"


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ({"safety_cases": ["stragglers", "stragglers"]}, "safety_cases names one twice"),
        ({"safety_cases": ["executors_lost"], "arrivals": "batch"}, "safety_cases: executors_lost"),
        ({"safety_cases": ["executors_lost"], "executors": 1}, "safety_cases: executors_lost: this scenario cannot"),
        ({"safety_cases": ["giant_job"]}, "safety_cases"),
        ({"giant_bound": 1.1}, "giant_bound is 1.1: it must be 1.2 or more"),
        ({"giant_bound": 1.05, "safety_bound": 1.1}, "giant_bound is 1.05: it must be 1.1 or more"),
        ({"giant_bound": 1.3, "arrivals": "batch"}, "giant_bound must be null where arrivals are batch"),
    ],
)
def test_what_a_safety_check_cannot_have(trace_path: Path, workload: dict[str, Any], message: str) -> None:
    with pytest.raises(ClearschedError, match=message):
        draw(trace_path, **workload)


@pytest.mark.parametrize("part", ["semantics", "estimates"])
def test_a_damaged_edge_case_of_a_file_is_one_line(trace_path: Path, part: str) -> None:
    drawn, path = draw(trace_path, safety_cases=("stragglers",)), trace_path.with_name("workloads.parquet")
    for wrong in ({"straggler_probability": 2.0, "error": 0.0}, {"unknown": 1}):
        case = drawn.settings["safety_cases"]["stragglers"] | {part: wrong}
        write_table(path, drawn.table, WORKLOADS, drawn.settings | {"safety_cases": {"stragglers": case}})
        with pytest.raises(ClearschedError, match="safety_cases: stragglers") as caught:
            load_inputs(trace_path, path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("gap_ms", [0, 5000])
def test_a_giant_among_the_jobs_has_many_times_the_tasks(trace_path: Path, gap_ms: int) -> None:
    """One job of the first half, a giant of a profile of training; the simulator runs it like any other."""
    draw(trace_path)
    instance = DagJobsInstance(*load_inputs(trace_path, trace_path.with_name("workloads.parquet")))
    training = [replace(one, arrival_ms=gap_ms * np.arange(len(one.profile))) for one in instance.split("train")]
    kind, *_ = stress.kinds_of(training)
    assert kind.giant
    plain, episodes = instance.profiles, instance.stressed_by(kind, training)
    known, tasks = plain.trace.num_profiles, plain.num_tasks
    trained = {profile for one in training for profile in one.profile.tolist()}
    fair = heuristic("fair")
    for episode, outcome in zip(episodes, fair.run(instance, episodes[:3]), strict=False):
        (place,) = np.flatnonzero(episode.profile >= known)
        assert place < (kind.jobs + 1) // 2 and set(np.delete(episode.profile, place).tolist()) <= trained
        giant = instance._profiles_of([episode])
        of = int(episode.profile[place]) - known
        assert of in trained
        assert giant.num_tasks[episode.profile[place]] == pytest.approx(20 * tasks[of])
        assert giant.work_ms[episode.profile[place]] == pytest.approx(20 * plain.work_ms[of])
        assert outcome.measures["jct_s"] > 0
    assert instance._profiles_of(training) is plain
    assert all(map(instance.is_hard, episodes)) and not any(map(instance.is_hard, training))
    assert {instance.is_batch(one) for one in (*training, *instance.stressed(training))} == {gap_ms == 0}
    draw(trace_path, giant={"tasks": 20.0, "after_job": 1})
    instance = DagJobsInstance(*load_inputs(trace_path, trace_path.with_name("workloads.parquet")))
    assert all(map(instance.is_hard, instance.split("train"))), "a scenario of giants"


def test_batches_under_stress_come_together() -> None:
    training = [Workload(np.arange(3), np.zeros(3, np.int64), 2, 10, seed=1)]
    for kind in stress.kinds_of(training):
        made = list(stress.stressed(training, kind, WORK_MS))
        assert len(made) == kind.episodes and all((one.arrival_ms == 0).all() for one in made)
        assert {len(one.profile) for one in made} == {kind.jobs + kind.swarm}
