"""`batch_task.csv` read by DuckDB: filtered, sorted by arrival of the job, given out in batches of bounded size.

What does not fit into the memory that DuckDB may use goes to a folder on disk, which is removed in the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.settings.sources import Alibaba2018Params
from clearsched.problems.dag_jobs.traces.alibaba_2018.names import has_edge_pattern
from clearsched.problems.dag_jobs.traces.alibaba_2018.rows import LONGEST_MS, spread_factors
from clearsched.problems.dag_jobs.traces.summary import Summary

COLUMNS = {
    "task_name": "VARCHAR",
    "instance_num": "DOUBLE",
    "job_name": "VARCHAR",
    "task_type": "VARCHAR",
    "status": "VARCHAR",
    "start_time": "DOUBLE",
    "end_time": "DOUBLE",
    "plan_cpu": "DOUBLE",
    "plan_mem": "DOUBLE",
}
"""Columns of the file, in order."""

EXPECTED = f"{len(COLUMNS)} columns expected ({', '.join(COLUMNS)}; no header)"

MEMORY_LIMIT = "1GB"
"""What DuckDB may use before it goes to disk."""

BATCH_ROWS = 100_000

MOST_INSTANCES = 10_000_000
"""Of a task; more is a fault of the file, and none could be simulated."""

MOST_STAGES = 10_000
"""Of a job."""

MOST_S = 10_000_000_000
"""Seconds that a time may be from 0: 317 years, so that times of day 0 of the trace or of 1970 are both read."""

MOST_PLANNED = 1_000_000
"""Of plan_cpu (100 = 1 core) and plan_mem (%)."""


class BatchTasks:
    """The tasks of the jobs that the options keep.

    Raises:
        ClearschedError: the file is not of this format, is empty, or the options contradict each other.
    """

    def __init__(self, csv: Path, work: Path, options: Alibaba2018Params, seed: int, summary: Summary) -> None:
        self._csv, self._summary = csv, summary
        self._db = duckdb.connect(":memory:")
        for name, value in (("memory_limit", MEMORY_LIMIT), ("temp_directory", str(work / "spill"))):
            self._db.execute(f"SET {name} = '{_quoted(value)}'")
        self._db.execute("SET enable_progress_bar = false")
        self._read()
        self._group()
        self._keep(options, seed)
        self._count_impossible()

    def close(self) -> None:
        """Let go of the files."""
        self._db.close()

    def batches(self) -> Iterator[pa.Table]:
        """Whole jobs in order of arrival: profile (int64), job_start_s (since the first job), name (string; empty: no
        number), instances, start_s, end_s, cpu (100 = 1 core), memory (%), as float64 or null; about `BATCH_ROWS` rows.
        """
        reader = self._db.sql(
            """
            SELECT profile, arrival_s, name, instances, task.start_s, end_s, cpu, memory
            FROM task JOIN kept USING (job) ORDER BY profile, task.rowid
            """
        ).to_arrow_reader(BATCH_ROWS)
        rest: pa.Table | None = None
        for record in reader:
            table = pa.Table.from_batches([record])
            if rest is not None:
                table = pa.concat_tables([rest, table])
            profile = table["profile"].to_numpy()
            last = int(np.searchsorted(profile, profile[-1]))
            rest = table.slice(last)
            if last >= BATCH_ROWS:
                yield table.slice(0, last)
            else:
                rest = table
        if rest is not None and len(rest):
            yield rest

    def _read(self) -> None:
        """The file as table `task`, in its order; names without a number are long and told by nothing: left out."""
        _check_columns(self._csv)
        columns = ", ".join(f"'{name}': '{kind}'" for name, kind in COLUMNS.items())
        odd = f"instance_num > {MOST_INSTANCES} OR isnan(instance_num)"
        for name in ("start_time", "end_time"):
            odd += f" OR abs({name}) > {MOST_S} OR isnan({name})"
        planned = {name: f"{name} < 0 OR {name} > {MOST_PLANNED} OR isnan({name})" for name in ("plan_cpu", "plan_mem")}
        cpu, memory = (f"CASE WHEN {wrong} THEN NULL ELSE {name} END" for name, wrong in planned.items())
        try:
            self._db.execute(
                f"""
                CREATE TABLE task AS SELECT
                    CASE WHEN starts_with(task_name, 'task_') OR starts_with(task_name, 'MergeTask') THEN ''
                        ELSE coalesce(task_name, '') END AS name,
                    instance_num AS instances, job_name AS job, status IS NOT DISTINCT FROM 'Terminated' AS finished,
                    start_time AS start_s, end_time AS end_s, {cpu} AS cpu, {memory} AS memory,
                    coalesce({odd}, false) AS odd, coalesce({" OR ".join(planned.values())}, false) AS impossible
                FROM read_csv('{_quoted(_literal(str(self._csv)))}', header = false, auto_detect = false, delim = ',',
                    quote = '"', escape = '"', nullstr = '', columns = {{{columns}}})
                """
            )
        except duckdb.Error as error:
            raise ClearschedError(f"{self._csv}: {_reason(str(error))}") from None
        nameless = self._value("SELECT count(*) FROM task WHERE job IS NULL")
        if nameless:
            self._summary.skip("rows without a job name", nameless)

    def _group(self) -> None:
        """Table `job`: stages, whether all are finished, first start, whether a number of it is out of range, most
        instances and longest duration of a stage, whether a name has a parent, first row.
        """
        self._db.execute(
            f"""
            CREATE TABLE job AS SELECT job, count(*) AS stages, bool_and(finished) AS finished,
                min(start_s) FILTER (start_s > 0) AS start_s, bool_or(odd) AS odd, max(instances) AS instances,
                coalesce(max(end_s - start_s) FILTER (start_s > 0), 0) AS longest_s,
                bool_or(regexp_matches(name, '{has_edge_pattern()}')) AS dag, min(rowid) AS first_row
            FROM task WHERE job IS NOT NULL GROUP BY job
            """
        )
        if not self._value("SELECT count(*) FROM job"):
            raise ClearschedError(f"{self._csv}: no task in it; expected the rows of batch_task.csv")

    def _keep(self, options: Alibaba2018Params, seed: int) -> None:
        """Table `kept`: job, profile, arrival_s of the jobs that the options keep; the others are counted by reason."""
        # The longest of a stage's several durations lasts `spread` longer than its mean.
        times = float(spread_factors(options.spread)[-1])
        most_s = f"{LONGEST_MS / 1000} / CASE WHEN instances > 1 THEN {times} ELSE 1 END"
        reasons = [
            ("jobs with a number out of range (instances, start_time or end_time)", "odd"),
            ("jobs with a task of more than 24.8 days", f"longest_s > {most_s}"),
            (f"jobs of more than {MOST_STAGES:,} stages", f"stages > {MOST_STAGES}"),
            ("jobs without a start time", "start_s IS NULL"),
        ]
        if options.keep == "finished":
            reasons.append(("jobs with a task that is not Terminated", "NOT finished"))
        start = f"start_s - {self._value('SELECT coalesce(min(start_s), 0) FROM job WHERE NOT odd')}"
        outside = f"{start} < {options.start_h * 3600}"
        if options.end_h is not None:
            outside += f" OR {start} >= {options.end_h * 3600}"
        reasons.append(("jobs that arrive outside the window", outside))
        size = f"stages < {options.min_stages}"
        if options.max_stages is not None:
            size += f" OR stages > {options.max_stages}"
        reasons.append(("jobs of another size", size))
        if options.dag_only:
            reasons.append(("jobs without an edge", "NOT dag"))
        cases = " ".join(f"WHEN {condition} THEN '{reason}'" for reason, condition in reasons)
        self._db.execute(f"CREATE TABLE verdict AS SELECT *, CASE {cases} END AS reason FROM job")
        for reason, count in self._db.execute(
            "SELECT reason, count(*) FROM verdict WHERE reason IS NOT NULL GROUP BY reason ORDER BY reason"
        ).fetchall():
            self._summary.skip(reason, count)
        self._db.execute(
            """
            CREATE TABLE kept AS SELECT job, start_s - min(start_s) OVER () AS arrival_s,
                row_number() OVER (ORDER BY start_s, first_row) - 1 AS profile
            FROM verdict WHERE reason IS NULL
            """
        )
        count = self._value("SELECT count(*) FROM kept")
        if options.sample is not None and options.sample < count:
            self._sample(options.sample, count, seed)
            self._summary.skip("jobs not in the sample", count - options.sample)
        self._db.execute("DROP TABLE job; DROP TABLE verdict")

    def _count_impossible(self) -> None:
        """Of the jobs that are kept."""
        count = self._value("SELECT count(*) FROM task JOIN kept USING (job) WHERE impossible")
        if count:
            self._summary.survive("tasks with an impossible plan_cpu or plan_mem (kept empty)", count)

    def _sample(self, size: int, count: int, seed: int) -> None:
        """Leave `size` jobs in `kept`, numbered anew; the first of them arrives at 0."""
        drawn = np.sort(np.random.default_rng(seed).choice(count, size, replace=False))
        self._db.register("drawn", pa.table({"old": drawn, "profile": np.arange(size)}))
        self._db.execute(
            """
            CREATE TABLE sampled AS SELECT job, arrival_s - min(arrival_s) OVER () AS arrival_s, drawn.profile
            FROM kept JOIN drawn ON kept.profile = drawn.old;
            DROP TABLE kept; ALTER TABLE sampled RENAME TO kept
            """
        )
        self._db.unregister("drawn")

    def _value(self, query: str) -> Any:
        return self._db.execute(query).fetchall()[0][0]


def _check_columns(csv: Path) -> None:
    """The first line has as many columns as the file should have.

    Raises:
        ClearschedError: it has not; 8 are told to be those of the trace of 2017.
    """
    with csv.open("rb") as stream:
        line = stream.readline(10_000)
    count = line.count(b",") + 1
    if line.strip() and count != len(COLUMNS):
        hint = " (8 are those of cluster-trace-v2017, which is not read)" if count == 8 else ""
        raise ClearschedError(f"{csv}: line 1: {count} columns{hint}: {EXPECTED}")


def _literal(path: str) -> str:
    """A path that DuckDB takes for no pattern of several files."""
    return re.sub(r"[*?\[]", r"[\g<0>]", path)


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def _reason(message: str) -> str:
    """One line of DuckDB's many: which line of the file, what is wrong with it."""
    line = re.search(r"Line:\s*(\d+)", message)
    where = f"line {line[1]}: " if line else ""
    conversion = re.search(r'converting column "(\w+)".*?(?:Could not convert string "(.*?)"|$)', message, re.DOTALL)
    if conversion:
        return f"{where}{conversion[1]} is {conversion[2]!r}, which is no number: {EXPECTED}"
    number = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if number:
        return f"{where}{number[2]} columns: {EXPECTED}"
    return f"{where}cannot be read ({message.splitlines()[0]}): {EXPECTED}"
