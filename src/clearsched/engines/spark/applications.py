"""One application of Spark for each policy: its settings, its plan, its process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clearsched.engines.spark import driver
from clearsched.engines.spark.cluster import HOST, JVM, environment, last_line, start, stop
from clearsched.engines.spark.own import FAIR
from clearsched.engines.spark.replaying import ReplayJob, as_dag, as_text
from clearsched.engines.spark.requirements import Software
from clearsched.errors import ClearschedError
from clearsched.files import make_folder, write_json

WAIT_S = 120.0
"""For the executors of an application."""

MOVING_DELAY_MS = 0
"""What an executor takes to change jobs, in the eyes of the rules: nothing, as the calibration measures."""


@dataclass(frozen=True)
class EnginePolicy:
    """A policy of the engine.

    Attributes:
        name: in tables.
        rules: the file that the jar reads; None for Spark's own.
        asks_each_task: the rules are asked for each task, as Spark's own are, not only when a stage has none left.
    """

    name: str
    rules: Path | None = None
    asks_each_task: bool = False


def job_name(episode: str, number: int) -> str:
    """The job group of a job, by which it is found in the event log."""
    return f"{episode}-job-{number}"


def run(
    software: Software,
    address: str,
    executors: int,
    policy: EnginePolicy,
    episodes: Mapping[str, Sequence[ReplayJob]],
    folder: Path,
    advance: Callable[[str], None] = lambda _: None,
) -> Path:
    """Run episodes one after another under a policy; return the event log.

    Args:
        software: what is installed.
        address: "host:port" of the master.
        executors: how many the application takes, of one core each.
        policy: who orders the stages.
        episodes: the jobs by the name of their episode.
        folder: of the event log, of the decisions, and of what the process says.
        advance: called with the name of each episode that has ended.

    Raises:
        ClearschedError: the application ended before the plan did; the file of what it said is named.
    """
    make_folder(folder / "events")
    plan = {
        "conf": settings(software, address, executors, policy, folder),
        "executors": executors,
        "wait_s": WAIT_S,
        "fair": policy.name == FAIR,
        "episodes": [{"name": name, "jobs": _jobs(name, jobs)} for name, jobs in episodes.items()],
    }
    write_json(folder / "plan.json", plan)
    said = folder / "driver.log"
    command = [sys.executable, "-m", driver.__name__, str(folder / "plan.json")]
    process = start(command, said, environment(software), stdout=subprocess.PIPE)
    log = None
    try:
        assert process.stdout is not None
        for line in process.stdout:
            text = line.decode("utf-8", "replace")
            if text.startswith(driver.ANSWER):
                answer = json.loads(text.removeprefix(driver.ANSWER))
                log = answer.get("log", log)
                if "episode" in answer:
                    advance(answer["episode"])
        process.wait()
    finally:
        stop([process])
    if log is None:
        raise ClearschedError(f"{policy.name}: Spark ended before the last job: {last_line(said)}; see {said}")
    return folder / "events" / log


def settings(software: Software, address: str, executors: int, policy: EnginePolicy, folder: Path) -> dict[str, str]:
    """The settings of the application; all that a policy changes is here."""
    made = {
        "spark.app.name": f"clearsched {policy.name}",
        "spark.master": f"spark://{address}",
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": JVM,
        "spark.executor.extraJavaOptions": JVM,
        "spark.driver.extraClassPath": str(software.jar),
        "spark.executor.extraClassPath": str(software.jar),
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.cores.max": str(executors),
        "spark.locality.wait": "0",
        "spark.scheduler.mode": "FAIR" if policy.name == FAIR else "FIFO",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (folder.resolve() / "events").as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }
    if policy.rules is not None:
        made |= {
            "spark.master": f"spark-rules://{address}",
            "spark.clearsched.rules": str(policy.rules.resolve()),
            "spark.clearsched.decisions": str(folder.resolve() / "decisions.jsonl"),
            "spark.clearsched.movingDelay": f"{MOVING_DELAY_MS}ms",
            "spark.clearsched.ask": "task" if policy.asks_each_task else "stage",
        }
    return made


def _jobs(episode: str, jobs: Sequence[ReplayJob]) -> list[dict[str, Any]]:
    return [
        {
            "arrival_ms": job.arrival_ms,
            "name": job_name(episode, number),
            "pool": f"{number:06}",
            "template": job.template,
            "dag": json.dumps(as_dag(job), separators=(",", ":")),
            "text": as_text(job),
        }
        for number, job in enumerate(jobs)
    ]
