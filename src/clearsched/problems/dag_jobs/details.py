"""What an evaluation of DAG jobs tells beside the measures: every job, every task of one episode, who ran it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from clearsched.problems.dag_jobs.recording.lanes import task_table
from clearsched.problems.dag_jobs.recording.spans import join_runs
from clearsched.problems.dag_jobs.schemas import GANTT_EPISODE, JOBS, TASKS
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Workload
from clearsched.problems.episodes import Timeline
from clearsched.problems.problem import Instance


class WithProfiles(Instance, Protocol):
    """The instance of a trace."""

    @property
    def profiles(self) -> Profiles: ...


def tables(
    instance: WithProfiles, runs: Sequence[Any], episodes: Sequence[Workload]
) -> dict[str, tuple[pa.Table, pa.Schema]]:
    """The tables `jobs` and `tasks`; `runs` are `evaluation.rollouts.Rollout`."""
    return {
        "jobs": (job_table(instance, runs, episodes), JOBS),
        "tasks": (tasks_of_episode(instance, runs, episodes[GANTT_EPISODE]), TASKS),
    }


def job_table(instance: WithProfiles, runs: Sequence[Any], episodes: Sequence[Workload]) -> pa.Table:
    """One row a policy, episode and job, of schema JOBS."""
    queries = np.array([query for query, _ in instance.profiles.names], dtype=object)
    sizes = np.array([size for _, size in instance.profiles.names], dtype=object)
    parts = []
    for run in runs:
        for number, (result, episode) in enumerate(zip(run.results, episodes, strict=True)):
            count = len(episode.profile)
            parts.append(
                pa.table(
                    [
                        pa.array([run.name] * count),
                        pa.array(np.full(count, number, dtype=np.int32)),
                        pa.array(np.arange(count, dtype=np.int32)),
                        pa.array(queries[episode.profile], pa.string()),
                        pa.array(sizes[episode.profile], pa.string()),
                        pa.array(np.asarray(result.arrival_ms, dtype=np.float64) / 1000.0),
                        pa.array(np.asarray(result.jct_s, dtype=np.float64)),
                    ],
                    schema=JOBS,
                )
            )
    return pa.concat_tables(parts).combine_chunks()


def tasks_of_episode(instance: WithProfiles, runs: Sequence[Any], episode: Workload) -> pa.Table:
    """Every task of an episode under `shown`, of schema TASKS, in order of start and executor."""
    parts = []
    for run in shown(runs):
        result = run.policy.run(instance, [episode], record=True)[0]
        table = task_table(run.name, result.tasks, episode.num_executors)
        parts.append(table.sort_by([("start_ms", "ascending"), ("executor", "ascending")]))
    return pa.concat_tables(parts).combine_chunks()


def timeline(outcome: EpisodeResult, episode: Workload) -> Timeline:
    """Which job every executor worked for; tasks of a job that follow each other on an executor are one span."""
    assert outcome.tasks is not None, "the episode was not recorded"
    runs = join_runs(task_table("", outcome.tasks, episode.num_executors))
    return Timeline(
        "executor",
        episode.num_executors,
        "job",
        runs.executor.astype(np.int64),
        runs.job.astype(np.int64),
        runs.start_s,
        runs.end_s,
        np.zeros(len(runs.job), np.bool_),
        np.asarray(outcome.arrival_ms, np.float64) / 1000.0,
        np.asarray(outcome.completion_ms, np.float64) / 1000.0,
    )


def shown(runs: Sequence[Any]) -> list[Any]:
    """For the Gantt chart: fair, the teacher and the best student, as far as they were run; else the first policy."""
    students = sorted((run for run in runs if run.kind == "student"), key=lambda run: (run.objective.mean(), run.name))
    wanted = ["fair", "teacher", *(run.name for run in students[:1])]
    by_name = {run.name: run for run in runs}
    return [by_name[name] for name in wanted if name in by_name] or [runs[0]]
