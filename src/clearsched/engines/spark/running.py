"""Policies on a real cluster, one application each, and the same jobs under the same policies in the simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.engines.comparing import Runs
from clearsched.engines.spark import applications
from clearsched.engines.spark.applications import EnginePolicy
from clearsched.engines.spark.calibration import EPISODE as CALIBRATION
from clearsched.engines.spark.calibration import Calibration, calibrated, calibration_jobs, pooled
from clearsched.engines.spark.cluster import running
from clearsched.engines.spark.measured import MeasuredEpisode, measured_episodes, read_log
from clearsched.engines.spark.own import own_policy
from clearsched.engines.spark.replaying import ReplayJob, replay_jobs, with_overhead
from clearsched.engines.spark.requirements import Software
from clearsched.errors import ClearschedError
from clearsched.evaluation.policies import load_policy
from clearsched.export.source import read_source
from clearsched.export.spark import write as spark_rules
from clearsched.files import digest_file, digest_json, make_folder, read_json, write_bytes, write_json
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.policy import Policy

DONE = "done.json"
"""What is written beside an event log that is whole: its name, and the digest of the plan that it is of."""


@dataclass(frozen=True)
class Given:
    """A policy on both sides.

    Attributes:
        name: in tables.
        simulated: what schedules in the simulator.
        student: the file that the rules are exported from; None for Spark's own policies.
    """

    name: str
    simulated: Policy
    student: Path | None


@dataclass(frozen=True)
class Results:
    """What was run.

    Attributes:
        jobs: the jobs by episode.
        real: by policy and episode.
        simulated: JCT by policy, an array of float64[jobs] an episode, s.
        calibration: of all applications.
        calibrations: by policy.
    """

    jobs: Mapping[str, Sequence[ReplayJob]]
    real: Mapping[str, Mapping[str, MeasuredEpisode]]
    simulated: Mapping[str, tuple[np.ndarray, ...]]
    calibration: Calibration
    calibrations: Mapping[str, Calibration]

    @property
    def runs(self) -> dict[str, Runs]:
        """What is compared."""
        return {
            name: Runs(tuple(episode.jct_s for episode in episodes.values()), self.simulated[name])
            for name, episodes in self.real.items()
        }


def policies_of(own: Sequence[str], students: Sequence[Path]) -> list[Given]:
    """Spark's own policies and those of students' files, for both sides.

    Raises:
        ClearschedError: a policy is unknown, a file broken, or two have one name.
    """
    problem = find_problem("dag_jobs")
    found = [Given(name, own_policy(name), None) for name in own]
    found += [Given(path.stem, load_policy(problem, path), path) for path in students]
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise ClearschedError(f"{name}: two policies of this name: give one of the files another name")
    if not found:
        raise ClearschedError("no policy: name one of Spark's own, or give the file of a student")
    return found


def run(
    software: Software,
    instance: DagJobsInstance,
    episodes: Sequence[Workload],
    policies: Sequence[Given],
    folder: Path,
    port: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Results:
    """Run episodes under every policy on one cluster, then in the simulator.

    A policy whose application has ended before is not run again, if nothing has changed.

    Raises:
        ClearschedError: as `cluster.running` and `applications.run`; rules that the jar cannot run.
    """
    executors = episodes[0].num_executors
    jobs = {f"episode-{number}": replay_jobs(instance, episode) for number, episode in enumerate(episodes)}
    plan = {CALIBRATION: calibration_jobs(executors), **jobs}
    asks_each_task = episodes[0].semantics.ask_each_task
    engine = [_for_engine(one, software, folder, asks_each_task) for one in policies]
    waiting = [one for one in engine if _done(one, plan, software, folder / one.name) is None]
    if waiting:
        with running(software, executors, make_folder(folder / "cluster"), port) as address:
            for one in waiting:
                _run_one(software, address, executors, one, plan, folder / one.name, say)
    real, calibrations = {}, {}
    for one in engine:
        log = _done(one, plan, software, folder / one.name)
        assert log is not None
        found = measured_episodes(read_log(log), plan, str(log))
        calibrations[one.name] = calibrated(found.pop(CALIBRATION))
        real[one.name] = found
    simulated = {}
    for policy in policies:  # with its own calibration: what else the machine does changes from one to the next
        declared = declared_instance(instance, calibrations[policy.name])
        simulated[policy.name] = tuple(result.jct_s for result in policy.simulated.run(declared, episodes))
    return Results(jobs, real, simulated, pooled(list(calibrations.values())), calibrations)


def declared_instance(instance: DagJobsInstance, calibration: Calibration) -> DagJobsInstance:
    """The simulator's side: the same jobs, their tasks longer by what the engine was measured to take for each."""
    trace = with_overhead(instance.profiles.trace, calibration.task_overhead_ms)
    return DagJobsInstance(compile_profiles(trace, instance.profiles.warmup_delay_ms), instance.drawn)


def check_episodes(episodes: Sequence[Workload]) -> None:
    """Whether a replay can be what the episodes say.

    Raises:
        ClearschedError: an executor takes time to change jobs, which a replayed task does not.
    """
    for episode in episodes:
        if episode.moving_delay_ms:
            raise ClearschedError(
                f"workload.moving_delay_s is {episode.moving_delay_ms / 1000:g}: a real Spark moves at no cost between "
                "sleeping tasks: draw the episodes with 0, as scenarios/spark.yaml does"
            )


def _for_engine(one: Given, software: Software, folder: Path, asks_each_task: bool) -> EnginePolicy:
    if one.student is None:
        return EnginePolicy(one.name)
    if not software.rules:
        raise ClearschedError(f"{software.jar}: has no cluster manager for rules; build it again: make spark-jar")
    rules = make_folder(folder / one.name) / "rules.json"
    # As `clearsched export` writes them, without test vectors.
    write_bytes(rules, spark_rules(read_source(one.student, "Spark rules", rules)))
    return EnginePolicy(one.name, rules, asks_each_task)


def _digest(one: EnginePolicy, plan: Mapping[str, Sequence[ReplayJob]], software: Software) -> str:
    """Of all that the event log depends on."""
    texts = {name: [[job.arrival_ms, applications.as_text(job)] for job in jobs] for name, jobs in plan.items()}
    made: dict[str, Any] = {"policy": one.name, "spark": software.version, "plan": texts}
    if one.rules is not None:
        made |= {"rules": read_json(one.rules), "jar": digest_file(software.jar), "each_task": one.asks_each_task}
    return digest_json(made)


def _done(one: EnginePolicy, plan: Mapping[str, Sequence[ReplayJob]], software: Software, folder: Path) -> Path | None:
    """The event log of a run of this plan that has ended."""
    if not (folder / DONE).is_file():
        return None
    told: Any = read_json(folder / DONE)
    log = folder / "events" / str(told.get("log"))
    return log if told.get("plan") == _digest(one, plan, software) and log.is_file() else None


def _run_one(
    software: Software,
    address: str,
    executors: int,
    one: EnginePolicy,
    plan: Mapping[str, Sequence[ReplayJob]],
    folder: Path,
    say: Callable[[str], None],
) -> None:
    say(f"{one.name}: {len(plan) - 1} episodes")
    log = applications.run(
        software, address, executors, one, plan, folder, lambda episode: say(f"{one.name}: {episode} has ended")
    )
    write_json(folder / DONE, {"log": log.name, "plan": _digest(one, plan, software)})
