"""`clearsched simulate`: one episode from a file, under any policy; `clearsched traces replay`: a whole trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.replay import in_chunks, replay
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Workload
from clearsched.problems.dag_jobs.traces import load_profiles
from clearsched.problems.dag_jobs.workloads import read_episode
from clearsched.problems.policy import Policy


def simulate_file(
    workload: Path,
    profiles: Path,
    policy: Policy,
    durations: str,
    seed: int,
    record: Path | None = None,
    chrome: Path | None = None,
) -> dict[str, Any]:
    """Simulate the episode in a JSON file of the form of the golden files.

    Args:
        workload: the JSON file: num_executors, moving_delay_ms, warmup_delay_ms, jobs (query, size, arrival_ms).
        profiles: a Parquet trace, or a folder of the `tpch-decima` layout.
        policy: a heuristic, a teacher or a student.
        durations: sampled, or mean for the golden mode.
        seed: seed of the sampled durations.
        record: folder to write the episode's tasks, decisions and jobs to, Parquet (record.py).
        chrome: file to write it to as a Chrome trace (chrome_trace.py).

    Returns:
        completion_ms (in the order of the file's jobs), makespan_ms, avg_jct_ms, num_decisions, num_tasks; of a policy
        with a guard also take_overs: from_s, until_s (null: to the end), gauge and its value then.

    Raises:
        ClearschedError: a file is missing or broken, or a recording cannot be written.
    """
    _check_targets(record, chrome)
    trace = load_profiles(profiles)
    episode, order, warmup_delay_ms = read_episode(workload, trace, durations=durations, seed=seed)
    compiled = compile_profiles(trace, warmup_delay_ms)
    recorded = record is not None or chrome is not None
    result = policy.run(DagJobsInstance(compiled), [episode], record=recorded)[0]
    if recorded:
        _write(result, compiled, episode, policy.name, record, chrome)
    completion_ms = np.empty_like(result.completion_ms)
    completion_ms[order] = result.completion_ms
    return {
        "completion_ms": completion_ms.tolist(),
        "makespan_ms": int(completion_ms.max()),
        "avg_jct_ms": float((result.completion_ms - result.arrival_ms).mean()),
        "num_decisions": result.num_decisions,
        "num_tasks": result.num_tasks,
        **_take_overs(result),
    }


def _take_overs(result: EpisodeResult) -> dict[str, Any]:
    """What the policy's guard did, if it has one."""
    if result.guard is None:
        return {}
    names = [gauge.name for gauge in find_problem("dag_jobs").gauges]
    told = [taken._asdict() | {"gauge": names[taken.gauge]} for taken in result.guard.take_overs]
    return {"take_overs": told}


def replay_trace(
    path: Path,
    policy: Policy,
    num_executors: int,
    *,
    speed: float = 1.0,
    moving_delay_s: float = 2.0,
    warmup_delay_s: float = 1.0,
    durations: str = "sampled",
    seed: int = 0,
) -> dict[str, Any]:
    """Schedule all jobs of a trace as they arrived; statistics only, so that millions of jobs need little memory.

    Args:
        path: a Parquet trace with arrival times. Its profiles are compiled at once: a few hundred bytes a stage.
        policy: one that runs inside the simulator's loop: a heuristic or a student.
        num_executors: executors of the cluster.
        speed: how many times faster jobs arrive than in the trace; their tasks last as long.
        moving_delay_s, warmup_delay_s: overheads of executors, s.
        durations: sampled, or mean.
        seed: seed of the sampled durations.

    Returns:
        The settings, then num_jobs, mean_jct_s, p50_jct_s, p95_jct_s, p99_jct_s (quantiles to 2 %), largest_jct_s,
        makespan_s (from the first arrival to the last completion), most_jobs (in the system at once), num_tasks,
        num_decisions.

    Raises:
        ClearschedError: the trace is broken or has no arrival times, or the policy runs outside the loop only.
    """
    compiled = getattr(policy, "compiled", None)
    if compiled is None:
        raise ClearschedError(f"traces replay: {policy.name} runs outside the loop: take a heuristic or a student")
    if getattr(policy, "guard", None):
        raise ClearschedError(f"traces replay: {policy.name} has a guard, which a replay does not run: take it off")
    if not 0 < speed < np.inf:
        raise ClearschedError(f"traces replay: speed is {speed}: a number above 0 expected")
    trace = load_profiles(path)
    arrival = trace.stages["arrival_ms"].take(trace.profile_starts[:-1])
    if arrival.null_count:
        raise ClearschedError(f"{path}: has no arrival times to replay")
    arrival_ms = arrival.to_numpy()
    order = np.argsort(arrival_ms, kind="stable")
    times_ms = np.floor((arrival_ms[order] - arrival_ms[order[:1]]) / speed)
    seen = replay(
        compile_profiles(trace, round(warmup_delay_s * 1000)),
        in_chunks(order, times_ms.astype(np.int64)),
        compiled,
        num_executors=num_executors,
        moving_delay_ms=round(moving_delay_s * 1000),
        seed=seed,
        mean_durations=durations == "mean",
    )
    return {
        "policy": policy.name,
        "num_executors": num_executors,
        "speed": speed,
        "num_jobs": seen.num_jobs,
        "mean_jct_s": seen.mean_jct_s,
        **{f"p{round(100 * share)}_jct_s": seen.quantile_s(share) for share in (0.5, 0.95, 0.99)},
        **{name: getattr(seen, name) for name in ("largest_jct_s", "makespan_s", "most_jobs")},
        **{name: getattr(seen, name) for name in ("num_tasks", "num_decisions")},
    }


def _check_targets(record: Path | None, chrome: Path | None) -> None:
    """Refuse before anything runs what could not be written after it."""
    if record is not None and record.exists() and not record.is_dir():
        raise ClearschedError(f"--record {record}: is a file: a recording is a folder of Parquet files")
    if chrome is not None and chrome.is_dir():
        raise ClearschedError(f"--chrome {chrome}: is a folder: a Chrome trace is one file, for example trace.json")


def _write(
    result: EpisodeResult,
    profiles: Profiles,
    workload: Workload,
    policy: str,
    record: Path | None,
    chrome: Path | None,
) -> None:
    from clearsched.problems.dag_jobs.recording import chrome_trace
    from clearsched.problems.dag_jobs.recording import record as parquet

    recording = parquet.record(result, profiles, workload, policy)
    if record is not None:
        parquet.write_parquet(recording, record)
    if chrome is not None:
        chrome_trace.write_chrome_trace(recording, chrome)
