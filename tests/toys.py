"""Hand-made traces and workloads for tests: a few stages whose task durations are plain to see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import numpy as np

from clearsched.problems.dag_jobs.schemas import WAVES
from clearsched.problems.dag_jobs.simulator.estimates import believed_task_ms
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Semantics, Workload
from clearsched.problems.dag_jobs.traces import Trace, make_trace, tpch_spark
from clearsched.problems.declarations import Measure
from reference_cluster import MeanDurations, StageProfile
from reference_draws import HashedDurations, HashedFaults
from reference_simulator import Policy, ReferenceSimulator

MICRO = ("0.5g", "1g", "2g", "5g", "10g")
"""The embedded sizes that scenarios/micro.yaml schedules."""


def micro_trace() -> Trace:
    """Their profiles: numbers that tests know stay, whatever else is recorded."""
    return tpch_spark.load(sizes=MICRO)


Durations = Mapping[int, Sequence[int]] | int
"""Measured durations in ms by level, or one duration at level 1."""

Told = Callable[[Any], bool]
"""Whether an episode is of a kind."""


def judged_on(
    *measures: Measure,
    is_hard: Told = lambda _: False,
    is_batch: Told = lambda _: False,
    due_s: Callable[[Any], float] = lambda _: 0.0,
    safety_bound: float | None = None,
    hard_bound: float | None = None,
) -> Any:
    """As much of an instance as a safety check asks for: its measures, and on which episodes more is allowed."""
    problem = SimpleNamespace(measures=measures)
    told = {"is_hard": is_hard, "is_batch": is_batch, "due_s": due_s}
    return SimpleNamespace(problem=problem, safety_bound=safety_bound, hard_bound=hard_bound, **told)


def stage(
    num_tasks: int,
    parents: Sequence[int] = (),
    *,
    first_wave: Durations = 20,
    rest_wave: Durations = 10,
    fresh: Durations = 50,
) -> dict[str, Any]:
    """One stage; by default 50 ms for a fresh executor, 20 ms for one new to the stage, 10 ms for the tasks after."""
    tables = {
        wave: {1: [table]} if isinstance(table, int) else table
        for wave, table in zip(WAVES, (first_wave, rest_wave, fresh), strict=True)
    }
    durations = [
        {"wave": wave, "level": level, "duration_ms": list(values)}
        for wave, table in tables.items()
        for level, values in table.items()
    ]
    return {"num_tasks": num_tasks, "parents": list(parents), "durations": durations}


def toy_rows(profiles: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Rows of the trace schema: profile i is query `q<i>` at size `tiny`."""
    return [
        {"profile": index, "query": f"q{index}", "size": "tiny", "stage": number, **deepcopy(fields)}
        for index, stages in enumerate(profiles)
        for number, fields in enumerate(stages)
    ]


def toy_trace(profiles: Sequence[Sequence[dict[str, Any]]], levels: Sequence[int] = (1,)) -> Trace:
    """A trace of the given profiles, each a list of `stage(...)`."""
    return make_trace(toy_rows(profiles), {"source": "toy", "levels": list(levels)}, "toy")


def work_by_hand_s(trace: Trace) -> float:
    """Work of all jobs, executor-seconds: tasks x mean of the rest-wave durations, of all durations without any."""
    work_s = 0.0
    for row in trace.stages.to_pylist():
        every = [(entry["wave"], ms) for entry in row["durations"] for ms in entry["duration_ms"]]
        rest = [ms for wave, ms in every if wave == "rest_wave"]
        work_s += row["num_tasks"] * float(np.mean(rest or [ms for _, ms in every])) / 1000
    return work_s


def toy_workload(
    arrivals_ms: Sequence[int],
    num_executors: int,
    *,
    profile: Sequence[int] | None = None,
    moving_delay_ms: int = 100,
    seed: int = 0,
    mean_durations: bool = True,
    **rules: float,
) -> Workload:
    """Jobs that arrive at the given times; job i has profile i unless `profile` says otherwise.

    `rules`: fields of `Semantics` that are not at their defaults.
    """
    return Workload(
        np.arange(len(arrivals_ms)) if profile is None else np.asarray(profile, np.int64),
        np.asarray(arrivals_ms, np.int64),
        num_executors,
        moving_delay_ms,
        seed,
        mean_durations,
        Semantics(**rules),
    )


def reference_profiles(trace: Trace) -> list[list[StageProfile]]:
    """The profiles of a trace in the form that the reference simulator reads."""
    profiles: list[list[StageProfile]] = [[] for _ in range(trace.num_profiles)]
    for row in trace.stages.to_pylist():
        tables: dict[str, dict[int, list[int]]] = {wave: {} for wave in WAVES}
        for entry in row["durations"]:
            tables[entry["wave"]][entry["level"]] = entry["duration_ms"]
        profiles[row["profile"]].append(StageProfile(row["num_tasks"], tuple(row["parents"]), **tables))
    return profiles


def believed_by_job(trace: Trace, workload: Workload) -> list[list[float | None]]:
    """The mean task durations that policies see of each job's stages; None where they see what is."""
    counts = np.diff(trace.profile_starts)[workload.profile]
    if workload.estimates.are_exact:
        return [[None] * count for count in counts]
    arrays = compile_profiles(trace).arrays
    believed = believed_task_ms(arrays, np.asarray(workload.profile), workload.estimates, workload.seed)
    return [part.tolist() for part in np.split(believed, np.cumsum(counts)[:-1])]


def run_reference(trace: Trace, workload: Workload, policy: Policy, warmup_delay_ms: int = 1000) -> ReferenceSimulator:
    """The same episode in the reference simulator, run to its end."""
    profiles, rules = reference_profiles(trace), workload.semantics
    simulator = ReferenceSimulator(
        [profiles[index] for index in workload.profile],
        [int(time) for time in workload.arrival_ms],
        policy,
        num_executors=workload.num_executors,
        moving_delay_ms=workload.moving_delay_ms,
        warmup_delay_ms=warmup_delay_ms,
        durations=MeanDurations() if workload.mean_durations else HashedDurations(workload.seed),
        levels=trace.levels,
        work_conserving=rules.work_conserving,
        right_interpolation=rules.right_interpolation,
        spark_fifo=rules.spark_fifo,
        offer_parked=rules.offer_parked,
        spark_offers=rules.spark_offers,
        back_up_parked=rules.back_up_parked,
        help_first=rules.help_first,
        offer_at_completion=rules.offer_at_completion,
        ask_each_task=rules.ask_each_task,
        faults=HashedFaults(
            workload.seed, rules.failures_per_hour, rules.straggler_probability, rules.straggler_slowdown
        ),
        recovery_ms=rules.recovery_ms,
        outage=(rules.outage_executors, rules.outage_from_ms, rules.outage_until_ms),
    )
    for job, believed in zip(simulator.jobs, believed_by_job(trace, workload), strict=True):
        for stage_of_job, task_ms in zip(job.stages, believed, strict=True):
            stage_of_job.believed_ms = task_ms
    simulator.run()
    return simulator


def decision_rows(result: EpisodeResult) -> list[list[Any]]:
    """Decisions of the compiled simulator as the rows of docs/simulator.md §9."""
    assert result.decisions is not None
    rows = []
    for time, job, stage_of_key, k, target_job, target_stage, requested, committed in result.decisions.tolist():
        source = [None if job < 0 else job, None if stage_of_key < 0 else stage_of_key]
        target = None if target_job < 0 else [target_job, target_stage]
        rows.append([time, source, k, target, requested, committed])
    return rows


def task_rows(result: EpisodeResult) -> list[tuple[Any, ...]]:
    """Task starts of the compiled simulator: (start_ms, duration_ms, job, stage, wave, attempt, failed)."""
    assert result.tasks is not None
    return [(*row[:4], WAVES[row[4]], *row[5:]) for row in result.tasks.tolist()]


def assert_same(result: EpisodeResult, reference: ReferenceSimulator) -> None:
    """Event for event: every decision, every start of a task, every completion."""
    assert decision_rows(result) == reference.decisions
    assert task_rows(result) == reference.tasks
    assert result.completion_ms.tolist() == reference.completions_ms
    assert result.num_decisions == len(reference.decisions)
    assert result.num_tasks == len(reference.tasks)
    assert result.stall_ms == reference.longest_stall_ms
    end_ms = max(1, max(reference.completions_ms))
    assert result.parked_share == reference.parked_time_ms / (end_ms * reference.num_executors)
