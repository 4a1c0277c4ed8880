"""What `clearsched engine spark run` does, from its options to its files."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clearsched.engines.comparing import compare, ranking
from clearsched.engines.spark import figures, text
from clearsched.engines.spark.requirements import check_port, find_software
from clearsched.engines.spark.running import Results, check_episodes, policies_of
from clearsched.engines.spark.running import run as run_policies
from clearsched.errors import ClearschedError
from clearsched.files import make_folder, provenance, write_json
from clearsched.problems.dag_jobs.instance import open_instance

TASKS = "sleep what the trace says (replay)"
REFERENCE = "fifo"


@dataclass(frozen=True)
class Asked:
    """The options of the command; see there."""

    trace: Path
    workloads: Path
    policies: tuple[str, ...]
    students: tuple[Path, ...]
    split: str
    episodes: int
    replay: bool
    jar: Path
    port: int | None


def run(asked: Asked, out: Path, say: Callable[[str], None]) -> str:
    """Run, compare, write tables and figures; return the table as text.

    Raises:
        ClearschedError: Java, pyspark or the jar is missing; another run is at work in the folder; an option or a file
            is wrong; Spark ended early.
    """
    if not asked.replay:
        raise ClearschedError(
            "--no-replay: queries of TPC-H are not run by this command yet: tasks sleep what a trace says"
        )
    software = find_software(asked.jar)
    if asked.port is not None:
        check_port(asked.port)
    policies = policies_of(asked.policies, asked.students)
    instance = open_instance(asked.trace, asked.workloads)
    episodes = instance.split(asked.split, asked.episodes)
    check_episodes(episodes)
    with _alone(make_folder(out)):
        results = run_policies(software, instance, episodes, policies, out, asked.port, say)
        runs = results.runs
        reference = REFERENCE if REFERENCE in runs else next(iter(runs))
        compared, ranked = compare(runs, reference), ranking(runs)
        facts = {"spark": software.version, "executors": episodes[0].num_executors, "tasks": TASKS}
        told = text.write_tables(results, compared, ranked, reference, facts, out)
        write_json(out / "run.json", _origin(asked, results, facts))
        figures.draw_all(results, compared, ranked, out)
    return told


def _origin(asked: Asked, results: Results, facts: dict[str, Any]) -> dict[str, Any]:
    """What the results are of: the facts, the calibrations, the files that went in."""
    files = {"trace": asked.trace, "workloads": asked.workloads}
    files |= {path.stem: path for path in asked.students}
    settings = {"policies": list(results.real), "split": asked.split, "episodes": asked.episodes}
    return facts | {
        "declared": {name: {"task_overhead_ms": one.task_overhead_ms} for name, one in results.calibrations.items()},
        "calibration": results.calibration.to_json(),
        "calibrations": {name: found.to_json() for name, found in results.calibrations.items()},
        "provenance": provenance(settings, files),
    }


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep a second run out of a folder as long as the block runs.

    Raises:
        ClearschedError: there is one.
    """
    with open(folder / ".lock", "w", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ClearschedError(
                f"{folder}: another run is at work here: wait for it, or give another --out"
            ) from None
        yield
