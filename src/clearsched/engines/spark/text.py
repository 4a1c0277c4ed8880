"""The tables of a run: CSV for machines, a page of text for people."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from clearsched.engines.comparing import Compared, Ranking
from clearsched.engines.spark.measured import END, EXECUTED_BY, JOB, STAGE, START, TASK
from clearsched.engines.spark.running import Results
from clearsched.engines.tables import order, table
from clearsched.evaluation.policies import label
from clearsched.files import write_text
from clearsched.problems import find_problem

AIM = 0.09
"""Error of the mean JCT that Decima's authors report of their simulator where jobs share the cluster (Mao et al. 2019,
section 6.2); alone 0.05."""

JOBS_HEADER = ("policy", "episode", "job", "template", "arrival_s", "real_jct_s", "simulated_jct_s")
TASKS_HEADER = ("policy", "episode", "executor", "job", "stage", "task", "start_s", "end_s")
POLICIES_HEADER = (
    "policy",
    *("real_jct_s", "real_low_s", "real_high_s"),
    *("simulated_jct_s", "simulated_low_s", "simulated_high_s"),
    *("error", "error_low", "error_high"),
    *("job_error_mean", "job_error_median", "job_error_p90"),
    *("to_reference_s", "to_reference_low_s", "to_reference_high_s"),
)
NAMES = {"fifo": "FIFO of Spark", "fair": "FAIR of Spark"}


def shown(policy: str) -> str:
    """The written name of a policy."""
    return NAMES.get(policy) or label(find_problem("dag_jobs"), policy)


def write_tables(
    results: Results,
    compared: Sequence[Compared],
    ranked: Ranking,
    reference: str,
    facts: Mapping[str, Any],
    out: Path,
) -> str:
    """Write jobs.csv, tasks.csv, policies.csv and comparison.txt; return the text."""
    write_text(out / "jobs.csv", _csv(JOBS_HEADER, _job_rows(results)))
    write_text(out / "tasks.csv", _csv(TASKS_HEADER, _task_rows(results)))
    write_text(out / "policies.csv", _csv(POLICIES_HEADER, map(_policy_row, compared)))
    text = "\n".join(lines(results, compared, ranked, reference, facts)) + "\n"
    write_text(out / "comparison.txt", text)
    return text


def lines(
    results: Results, compared: Sequence[Compared], ranked: Ranking, reference: str, facts: Mapping[str, Any]
) -> list[str]:
    """The page."""
    episodes = list(results.jobs)
    worst = max(abs(row.error.mean) for row in compared)
    found = results.calibration
    return [
        f"{len(episodes)} episodes of {len(results.jobs[episodes[0]])} jobs on a real Spark {facts['spark']} of "
        f"{facts['executors']} executors; tasks: {facts['tasks']}.",
        "JCT out of Spark's event log.",
        *table(compared, shown(reference), shown),
        "",
        *order(ranked, shown),
        f"Largest error of a mean: {100 * worst:.1f} % (Decima's simulator, shared cluster: {100 * AIM:.0f} %).",
        f"Declared to the simulator, by each policy's calibration: {_overheads(results)} ms a task.",
        f"Not declared: a stage opens {found.stage_ms:.1f} ms after its parents, a job starts {found.submit_ms:.1f} ms",
        f"after its submission, the first task after a change of job {found.change_ms:.1f} ms later than others.",
        *_attempts(results),
    ]


def _overheads(results: Results) -> str:
    return ", ".join(f"{shown(name)} {found.task_overhead_ms:.1f}" for name, found in results.calibrations.items())


def _attempts(results: Results) -> list[str]:
    more = sum(episode.attempts for episodes in results.real.values() for episode in episodes.values())
    return [f"Tasks that Spark had to run again: {more}."] if more else []


def _job_rows(results: Results) -> Iterable[Sequence[Any]]:
    for policy, episodes in results.real.items():
        for (name, measured), simulated in zip(episodes.items(), results.simulated[policy], strict=True):
            for number, job in enumerate(results.jobs[name]):
                arrival_s = measured.arrival_ms[number] / 1000
                yield policy, name, number, job.template, arrival_s, measured.jct_s[number], round(simulated[number], 3)


def _task_rows(results: Results) -> Iterable[Sequence[Any]]:
    """The tasks of the first episode of each policy."""
    for policy, episodes in results.real.items():
        name, measured = next(iter(episodes.items()))
        for task in measured.tasks.tolist():
            where = (task[column] for column in (EXECUTED_BY, JOB, STAGE, TASK))
            yield policy, name, *where, task[START] / 1000, task[END] / 1000


def _policy_row(row: Compared) -> Sequence[Any]:
    cells: list[Any] = [row.policy]
    for found, digits in ((row.real, 3), (row.simulated, 3), (row.error, 5)):
        cells += [round(value, digits) for value in (found.mean, found.low, found.high)]
    cells += [round(value, 5) for value in (row.job_error, row.job_error_median, row.job_error_p90)]
    to = row.to_reference
    return cells + (["", "", ""] if to is None else [round(value, 3) for value in (to.mean, to.low, to.high)])


def _csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return stream.getvalue()
