"""Event logs of real clusters, in the folder `shared` beside the repository, against a derivation of their own.

The derivation reads the JSON by itself and follows docs/spark-eventlog.md step by step, slowly: it shares no code with
the source. The logs are public test data of Apache Spark and of NVIDIA's spark-rapids-tools (both Apache-2.0).
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from clearsched.problems.dag_jobs.settings.sources import SparkEventlogParams
from clearsched.problems.dag_jobs.traces import Trace, read_trace
from clearsched.problems.dag_jobs.traces.spark_eventlog import write
from clearsched.problems.dag_jobs.traces.summary import Summary

LOGS = {
    "application_1578436911597_0052": ["application_1578436911597_0052"],
    "rp_nosql_eventlog": ["rp_nosql_eventlog"],
    "local-1430917381534": ["local-1430917381534"],
    "db_subExecution_id.zstd": ["db_subExecution_id.zstd"],
    "db_sim_eventlog": ["db_sim_eventlog/eventlog-2021-06-15--15-00.gz", "db_sim_eventlog/eventlog"],
    "nds_q72_dataproc_2_2.zstd": ["nds_q72_dataproc_2_2.zstd"],
    **{
        f"multiple_attempts/attempt_{number}_eventlog.zstd": [f"multiple_attempts/attempt_{number}_eventlog.zstd"]
        for number in (1, 2, 3, 4)
    },
}
"""What is given as path -> the files that are read for it, in order."""

NO_PARENTS_NOTED = {1: [0]}
"""Of the log of Spark 1.4: of two stages that a Spark job lists, the second reads the first."""


@pytest.fixture(scope="module")
def logs(shared: Path) -> Path:
    folder = shared / "data" / "spark-events"
    if not folder.is_dir():
        pytest.skip("no event logs in the folder `shared`")
    return folder


def events_of(paths: list[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        elif path.suffix == ".zstd":
            data = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
        for line in data.splitlines():
            yield json.loads(line)


class Log:
    """What a log says, as plain dictionaries."""

    def __init__(self, paths: list[Path]) -> None:
        self.jobs: dict[int, dict[str, Any]] = {}
        self.stages: dict[int, dict[str, Any]] = {}
        self.tasks: defaultdict[int, list[tuple[int, int, str]]] = defaultdict(list)
        self.cores: dict[str, int] = {}
        self.cpus: dict[int, float] = {}
        self.roots: dict[int, int] = {}
        for position, event in enumerate(events_of(paths)):
            kind = event["Event"].rpartition(".")[2]
            if kind == "SparkListenerJobStart":
                self.jobs[event["Job ID"]] = event | {"from": position}
                for info in event["Stage Infos"]:
                    self.stages.setdefault(info["Stage ID"], info | {"job": event["Job ID"]})
            elif kind == "SparkListenerJobEnd":
                self.jobs[event["Job ID"]]["to"] = position
                assert event["Job Result"]["Result"] == "JobSucceeded"
            elif kind == "SparkListenerTaskEnd":
                assert event["Task End Reason"]["Reason"] == "Success"
                info = event["Task Info"]
                self.tasks[event["Stage ID"]].append((info["Launch Time"], info["Finish Time"], info["Executor ID"]))
            elif kind == "SparkListenerExecutorAdded":
                self.cores[event["Executor ID"]] = event["Executor Info"]["Total Cores"]
            elif kind == "SparkListenerResourceProfileAdded":
                self.cpus[event["Resource Profile Id"]] = event["Task Resource Requests"]["cpus"]["Amount"]
            elif kind == "SparkListenerSQLExecutionStart" and event.get("rootExecutionId") is not None:
                self.roots[event["executionId"]] = event["rootExecutionId"]

    def groups(self) -> list[list[dict[str, Any]]]:
        """The Spark jobs of each job: those of one root of SQL executions, or one alone."""
        found: dict[Any, list[dict[str, Any]]] = {}
        for number, job in self.jobs.items():
            execution = (job.get("Properties") or {}).get("spark.sql.execution.id")
            key = ("alone", number) if execution is None else self.roots.get(int(execution), int(execution))
            found.setdefault(key, []).append(job)
        return list(found.values())

    def rdd(self, stage: int) -> int:
        return int(self.stages[stage]["RDD Info"][0]["RDD ID"])

    def parents(self, stage: int, jobs: list[dict[str, Any]], ran: list[int]) -> set[int]:
        """Rules 1 and 2 of docs/spark-eventlog.md: the stages that ran and that a stage waits for."""
        direct: set[int] = set()
        waiting = list(self.stages[stage].get("Parent IDs", NO_PARENTS_NOTED.get(stage, [])))
        while waiting:
            parent = waiting.pop()
            same = [other for other in ran if other == parent or self.rdd(other) == self.rdd(parent)]
            direct |= set(same[:1]) if parent not in ran else {parent}
            if not same:
                waiting += self.stages[parent]["Parent IDs"]
        start = self.jobs[self.stages[stage]["job"]]["from"]
        for parent in set(direct):
            for job in jobs:
                listed = {info["Stage ID"] for info in job["Stage Infos"]}
                if any(self.rdd(other) == self.rdd(parent) for other in listed) and job["to"] < start:
                    direct.add(max(listed & set(ran)))
        return direct - {stage}

    def cpu(self, stage: int) -> float:
        return self.cpus.get(self.stages[stage].get("Resource Profile Id", 0), 1.0)

    def waves(self, ran: list[int]) -> tuple[dict[tuple[int, str], list[int]], int]:
        """The durations of each stage and wave, and the cores used: every task on the core that is free the longest."""
        attempts = sorted(
            (launch, finish, position, executor)
            for position, stage in enumerate(ran)
            for launch, finish, executor in self.tasks[stage]
        )
        free: dict[str, list[int]] = {}
        met: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
        durations: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
        for launch, finish, position, executor in attempts:
            if executor not in free:
                mine = [(start, end) for start, end, _, name in attempts if name == executor]
                most = max(sum(start <= at < max(end, start + 1) for start, end in mine) for at, _ in mine)
                free[executor] = [0] * (int(self.cores.get(executor, 0) // self.cpu(ran[position])) or most)
            core = min(range(len(free[executor])), key=lambda core: (free[executor][core], core))
            free[executor][core] = finish
            seen = met[executor, core]
            wave = "fresh" if not seen else "rest_wave" if position in seen else "first_wave"
            seen.add(position)
            durations[position, wave].append(max(finish - launch, 1))
        return durations, len(met)


def built(path: Path, tmp_path: Path, **options: Any) -> tuple[Trace, Summary]:
    summary = write(path, tmp_path / "trace.parquet", SparkEventlogParams(**options), 0)
    return read_trace(tmp_path / "trace.parquet"), summary


@pytest.mark.parametrize("name", LOGS)
def test_real_log_is_built_as_derived(logs: Path, tmp_path: Path, name: str) -> None:
    """Jobs, stages, tasks, edges, cores, waves, durations and arrivals, all of them."""
    trace, summary = built(logs / name, tmp_path, sequence=False)
    log = Log([logs / file for file in LOGS[name]])
    groups = sorted(log.groups(), key=lambda jobs: jobs[0]["Submission Time"])
    first = groups[0][0]["Submission Time"]
    assert trace.num_profiles == len(groups) and summary.skipped == {}
    rows = iter(trace.stages.to_pylist())
    for profile, jobs in enumerate(groups):
        listed = {info["Stage ID"] for job in jobs for info in job["Stage Infos"]}
        ran = sorted(
            (stage for stage in listed if log.tasks[stage]),
            key=lambda stage: (log.jobs[log.stages[stage]["job"]]["from"], log.rdd(stage), stage),
        )
        waves, cores = log.waves(ran)
        level = max(power for power in (2**n for n in range(20)) if power <= cores)
        for position, stage in enumerate(ran):
            row = next(rows)
            assert (row["profile"], row["stage"]) == (profile, position)
            assert row["num_tasks"] == len(log.tasks[stage]) == log.stages[stage]["Number of Tasks"]
            assert row["arrival_ms"] == jobs[0]["Submission Time"] - first
            assert row["cpu"] == log.cpu(stage)
            assert {ran[parent] for parent in row["parents"]} == log.parents(stage, jobs, ran)
            assert {entry["level"] for entry in row["durations"]} == {level}
            for entry in row["durations"]:
                assert entry["duration_ms"] == sorted(waves[position, entry["wave"]])
    assert next(rows, None) is None


@pytest.mark.parametrize(
    ("name", "jobs", "levels", "cpus"),
    [
        ("application_1578436911597_0052", 1, (2,), {2.0}),  # 4 cores, tasks of 2
        ("rp_nosql_eventlog", 1, (1,), {2.0}),  # 2 cores, tasks of 2
        ("local-1430917381534", 1, (8,), {1.0}),
        ("db_subExecution_id.zstd", 1, (16,), {1.0}),  # one command, 11 Spark jobs of 4 executions
        ("db_sim_eventlog", 1, (8,), {1.0}),  # one Spark job over two files
        ("nds_q72_dataproc_2_2.zstd", 32, (1, 128), {1.0}),
    ],
)
def test_real_logs_by_eye(
    logs: Path, tmp_path: Path, name: str, jobs: int, levels: tuple[int, ...], cpus: set[float]
) -> None:
    trace, summary = built(logs / name, tmp_path)
    assert (trace.num_profiles, trace.levels, set(trace.stages["cpu"].to_pylist())) == (jobs, levels, cpus)
    derived = {defect for defect in summary.survived if "derived" in defect}
    assert bool(derived) == (name == "local-1430917381534")


@pytest.mark.parametrize("job", ["sql-execution", "job-group"])
def test_one_program_four_times_has_the_same_templates(logs: Path, tmp_path: Path, job: str) -> None:
    """Its broadcasts are described with a run id, which is the name of their job group as well."""
    trace, _ = built(logs / "multiple_attempts", tmp_path, job=job)
    names = trace.jobs["query"].to_pylist()
    assert trace.num_profiles == 8 and len(set(names)) == 2
    assert names[0::2] == names[:1] * 4 and names[1::2] == names[1:2] * 4
    assert not any("roadcast" in name for name in names)


def test_all_of_the_folder(logs: Path, tmp_path: Path) -> None:
    """A pattern of every file gives the same: parts are read as the log that they belong to."""
    whole, summary = built(logs, tmp_path)
    assert whole.num_profiles == 1 + 1 + 1 + 1 + 1 + 8 + 32 and summary.skipped == {}
    assert built(Path(f"{logs}/**/*"), tmp_path)[0].stages.equals(whole.stages)
