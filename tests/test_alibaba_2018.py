"""The source alibaba-2018: documented rows, every known defect by a few rows of its own, filters, refusals."""

from __future__ import annotations

import re
import tarfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.settings.sources import Alibaba2018Params
from clearsched.problems.dag_jobs.traces import alibaba_2018, read_trace
from clearsched.problems.dag_jobs.traces.alibaba_2018 import names, query, write
from clearsched.problems.dag_jobs.traces.summary import Summary
from clearsched.problems.dag_jobs.traces.trace import Trace

DOCUMENTED = """\
R2_1,1,j_2,1,Terminated,87076,87086,50,0.2
M1,1,j_2,1,Terminated,87076,87083,50,0.2
"""


def row(name: str, job: str = "j_1", start: object = 100, end: object = 110, **other: object) -> str:
    """One row of the file; anything left out is sound."""
    fields = {"instances": 1, "status": "Terminated", "cpu": 100, "memory": 0.39} | other
    cells = (name, fields["instances"], job, 1, fields["status"], start, end, fields["cpu"], fields["memory"])
    return ",".join(map(str, cells)) + "\n"


class Build:
    """Writes rows to a file, reads them with the source."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, text: str, seed: int = 1, **options: Any) -> tuple[Trace, Summary]:
        """The trace and the summary of a file of this text."""
        (self.folder / "batch_task.csv").write_text(text)
        summary = write(self.folder, self.folder / "out" / "t.parquet", Alibaba2018Params(**options), seed)
        return read_trace(self.folder / "out" / "t.parquet"), summary


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Rows in, trace out."""
    return Build(tmp_path)


def met(summary: Summary, words: str) -> int:
    """How often the defect with these words in its name was met."""
    (count,) = [count for defect, count in summary.survived.items() if words in defect]
    return count


def parents(trace: Trace) -> list[list[int]]:
    """Parents of each row."""
    return trace.stages["parents"].to_pylist()


def durations(trace: Trace) -> list[list[int]]:
    """Durations of each row, ms."""
    return trace.durations["duration_ms"].to_pylist()


# What is read ------------------------------------------------------------------------------------------------------


def test_the_documented_rows(build: Build) -> None:
    trace, summary = build(DOCUMENTED)
    assert trace.stages["stage"].to_pylist() == [0, 1]
    assert parents(trace) == [[], [0]]  # R2_1 waits for M1, whichever row comes first
    assert durations(trace) == [[7000], [10000]]
    assert trace.stages["cpu"].to_pylist() == [0.5, 0.5]
    assert trace.stages["memory"].to_pylist() == pytest.approx([0.2, 0.2])
    assert trace.stages["arrival_ms"].to_pylist() == [0, 0]
    assert trace.levels == (1,)
    assert (summary.jobs, summary.stages, summary.tasks, summary.work_executor_s) == (1, 2, 2, 17.0)


def test_several_parents_and_tasks_without_a_number(build: Build) -> None:
    trace, _ = build(row("task_Nzg3ODA=") + row("J4_2_3") + row("M1") + row("M3") + row("R2_1") + row("MergeTask"))
    assert parents(trace) == [[], [0], [], [1, 2], [], []]


def test_instances_become_tasks_with_the_rows_mean_and_the_spread_asked_for(build: Build) -> None:
    trace, _ = build(row("M1", instances=40, end=120), spread=0.8)
    (values,) = durations(trace)
    assert trace.stages["num_tasks"].to_pylist() == [40]
    mean = sum(values) / len(values)
    assert mean == pytest.approx(20_000, abs=1)
    deviation = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    assert deviation / mean == pytest.approx(0.8, abs=1e-3)
    assert durations(build(row("M1", instances=40, end=120), spread=0.0)[0]) == [[20_000]]


def test_jobs_are_numbered_by_arrival_wherever_their_rows_stand(build: Build) -> None:
    text = row("M1", "j_9", 500) + row("M1", "j_3", 200) + row("R2_1", "j_9", 450) + row("M1", "j_5", 200)
    trace, _ = build(text)
    assert trace.stages["profile"].to_pylist() == [0, 1, 2, 2]
    assert trace.stages["arrival_ms"].to_pylist() == [0, 0, 250_000, 250_000]


def test_the_query_is_the_shape_of_the_dag(build: Build) -> None:
    text = (
        row("M1", "j_1") + row("R2_1", "j_1") + row("M1", "j_2", 101) + row("J2_1", "j_2", 101) + row("M1", "j_3", 102)
        + row("M2", "j_3", 102)
    )  # fmt: skip
    queries = build(text)[0].jobs["query"].to_pylist()
    assert queries[0] == queries[1] != queries[2] == "2-000000000000"


def test_batches_of_any_size_give_the_same_trace(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(row(name, f"j_{job}", 1000 - job) for job in range(50) for name in ("M1", "R2_1", "J3_1_2"))
    whole, _ = build(text)
    monkeypatch.setattr(query, "BATCH_ROWS", 7)
    cut, _ = build(text)
    assert pq.ParquetFile(build.folder / "out" / "t.parquet").num_row_groups > 5
    assert cut.stages.equals(whole.stages)


def test_an_archive_is_read_too(build: Build, tmp_path: Path) -> None:
    expected, _ = build(DOCUMENTED)
    with tarfile.open(tmp_path / "batch_task.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "batch_task.csv", "batch_task.csv")
    (tmp_path / "batch_task.csv").unlink()
    write(tmp_path / "batch_task.tar.gz", tmp_path / "t.parquet", Alibaba2018Params(), 1)
    assert read_trace(tmp_path / "t.parquet").stages.equals(expected.stages)


def test_without_a_path_the_archive_is_fetched_and_verified(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def retrieve(address: str, digest: str, fname: str, path: Path, progressbar: bool) -> str:
        asked.append((address, digest))
        return str(tmp_path / "batch_task.csv")

    monkeypatch.setattr("pooch.retrieve", retrieve)
    build(DOCUMENTED)
    assert write(None, tmp_path / "t.parquet", Alibaba2018Params(), 1).jobs == 1
    assert asked == [(alibaba_2018.ARCHIVE, f"sha256:{alibaba_2018.SHA256}")]


def test_a_failed_download_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def retrieve(*args: object, **kwargs: object) -> str:
        raise OSError("no network")

    monkeypatch.setattr("pooch.retrieve", retrieve)
    with pytest.raises(ClearschedError, match=r"download of .* failed \(OSError\); fetch it by hand"):
        write(None, tmp_path / "t.parquet", Alibaba2018Params(), 1)


# Defects -----------------------------------------------------------------------------------------------------------


def test_cyclic_names_lose_the_edges_that_go_back(build: Build) -> None:
    trace, summary = build(row("M1_3") + row("R2_1") + row("R3_2") + row("M1_1", "j_2", 105) + row("R3_3", "j_2", 105))
    assert parents(trace) == [[], [0], [1], [], []]
    assert met(summary, "cycle") == 2


def test_a_parent_with_a_larger_number_is_no_cycle(build: Build) -> None:
    trace, summary = build(row("M1_2") + row("R2"))
    assert parents(trace) == [[1], []]
    assert met(summary, "cycle") == 0


def test_a_missing_parent_is_left_out(build: Build) -> None:
    trace, summary = build(row("M1") + row("R2_1_7") + row("M7", "j_2"))
    assert parents(trace) == [[], [0], []]
    assert met(summary, "missing parent") == 1


def test_a_number_that_occurs_twice_is_waited_for_twice(build: Build) -> None:
    trace, summary = build(row("M1", end=120) + row("M1", end=130) + row("R2_1"))
    assert parents(trace) == [[], [], [0, 1]]
    assert durations(trace) == [[20_000], [30_000], [10_000]]
    assert met(summary, "number that the job has already") == 1


@pytest.mark.parametrize("end", [0, 99, ""])
def test_an_unusable_end_takes_the_mean_of_the_job(build: Build, end: object) -> None:
    trace, summary = build(row("M1", end=120) + row("M2", end=130) + row("M3", end=end))
    assert durations(trace) == [[20_000], [30_000], [25_000]]
    assert met(summary, "before start_time") == 1


def test_a_job_without_a_usable_end_takes_a_second(build: Build) -> None:
    trace, summary = build(row("M1", end=0) + row("M1", "j_2", end=100))
    assert durations(trace) == [[1000], [1000]]
    assert (met(summary, "before start_time"), met(summary, "shorter than 1 s")) == (1, 1)


def test_empty_cpu_and_memory_stay_empty(build: Build) -> None:
    trace, summary = build(row("M1", cpu="") + row("M2", memory=""))
    assert trace.stages["cpu"].to_pylist() == [None, 1.0]
    assert trace.stages["memory"].null_count == 1
    assert (met(summary, "plan_cpu"), met(summary, "plan_mem")) == (1, 1)


@pytest.mark.parametrize("instances", ["", 0])
def test_no_instances_are_one(build: Build, instances: object) -> None:
    trace, summary = build(row("M1", instances=instances))
    assert trace.stages["num_tasks"].to_pylist() == [1]
    assert met(summary, "without instances") == 1


def test_a_child_with_its_parents_start_is_counted_and_corrected_if_asked(build: Build) -> None:
    trace, summary = build(DOCUMENTED)
    assert durations(trace) == [[7000], [10_000]]
    assert met(summary, "before a parent ends") == 1
    trace, summary = build(DOCUMENTED, after_parents=True)
    assert durations(trace) == [[7000], [3000]]  # 87086 - 87083
    assert met(summary, "before a parent ends") == 1


def test_unfinished_jobs_are_left_out_or_kept(build: Build) -> None:
    text = row("M1") + row("M1", "j_2", status="Failed") + row("R2_1", "j_2") + row("M1", "j_3", 0, 0, status="Waiting")
    trace, summary = build(text)
    assert trace.num_profiles == 1
    assert summary.skipped == {"jobs with a task that is not Terminated": 1, "jobs without a start time": 1}
    trace, summary = build(text, keep="all")
    assert trace.num_profiles == 2
    assert summary.skipped == {"jobs without a start time": 1}


def test_rows_without_a_job_are_counted(build: Build) -> None:
    _, summary = build(row("M1") + row("M1", job=""))
    assert summary.skipped == {"rows without a job name": 1}


def test_a_duration_beyond_the_schema_leaves_the_job_out(build: Build) -> None:
    _, summary = build(row("M1", start=1, end=10_000_000) + row("M1", "j_2"))
    assert summary.skipped == {"jobs with a task of more than 24.8 days": 1}


# Options -----------------------------------------------------------------------------------------------------------

HOURLY = "".join(row("M1", f"j_{hour}", 10 + 3600 * hour, 20 + 3600 * hour) for hour in range(10))


def test_a_window_in_hours(build: Build) -> None:
    trace, summary = build(HOURLY, start_h=2.0, end_h=5.0)
    assert trace.jobs.num_rows == 3
    assert trace.stages["arrival_ms"].to_pylist() == [0, 3_600_000, 7_200_000]
    assert summary.skipped == {"jobs that arrive outside the window": 7}


def test_a_sample_by_seed(build: Build) -> None:
    arrivals = {}
    for seed in (1, 2):
        trace, summary = build(HOURLY, seed=seed, sample=4)
        arrivals[seed] = trace.stages["arrival_ms"].to_pylist()
        assert trace.num_profiles == 4
        assert arrivals[seed][0] == 0
        assert arrivals[seed] == sorted(set(arrivals[seed]))
        assert summary.skipped == {"jobs not in the sample": 6}
        assert build(HOURLY, seed=seed, sample=4)[0].stages.equals(trace.stages)
    assert arrivals[1] != arrivals[2]
    assert build(HOURLY, sample=100)[0].num_profiles == 10


def test_jobs_by_size_and_with_edges(build: Build) -> None:
    text = (
        row("M1", "j_1")
        + row("M1", "j_2")
        + row("M2", "j_2")
        + row("M1", "j_3")
        + row("R2_1", "j_3")
        + row("M3", "j_3")
    )
    assert build(text, min_stages=2)[0].jobs["stages"].to_pylist() == [2, 3]
    assert build(text, max_stages=2)[0].jobs["stages"].to_pylist() == [1, 2]
    trace, summary = build(text, dag_only=True)
    assert trace.jobs["stages"].to_pylist() == [3]
    assert summary.skipped == {"jobs without an edge": 2}


# Refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("M1,1,j_1,1,Terminated,1,2,3\n", r"line 1: 8 columns \(8 are those of cluster-trace-v2017"),
        (DOCUMENTED + "M1,1,j_1\n", "line 3: 3 columns: 9 columns expected"),
        (row("M1") + row("M1", cpu="many"), "line 2: plan_cpu is 'many', which is no number"),
        ("task_name,instance_num,job_name,task_type,status,start_time,end_time,plan_cpu,plan_mem\n", "no header"),
        ("", "no task in it"),
        ("\x00\x01\n", "9 columns expected"),
        (row("M1", status="Failed"), "no job is left .1 jobs with a task that is not Terminated.; relax its options"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "batch_task.csv").write_text(text)
    with pytest.raises(ClearschedError, match=words) as caught:
        write(tmp_path, tmp_path / "out" / "t.parquet", Alibaba2018Params(), 1)
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "out").iterdir())  # neither a trace nor a temporary file


def test_a_bad_path_is_refused_in_one_line(tmp_path: Path) -> None:
    out = tmp_path / "t.parquet"
    with pytest.raises(ClearschedError, match=r"holds neither batch_task\.csv nor batch_task\.tar\.gz"):
        write(tmp_path, out, Alibaba2018Params(), 1)
    with pytest.raises(ClearschedError, match="no such file"):
        write(tmp_path / "none.csv", out, Alibaba2018Params(), 1)
    (tmp_path / "batch_task.tar.gz").write_bytes(b"no archive")
    with pytest.raises(ClearschedError, match=r"truncated or no \.tar\.gz"):
        write(tmp_path, out, Alibaba2018Params(), 1)
    with tarfile.open(tmp_path / "batch_task.tar.gz", "w:gz"):
        pass
    with pytest.raises(ClearschedError, match=r"holds no batch_task\.csv"):
        write(tmp_path, out, Alibaba2018Params(), 1)


def test_contradicting_options_are_refused(build: Build) -> None:
    with pytest.raises(ClearschedError, match="end_h"):
        build(DOCUMENTED, start_h=3.0, end_h=2.0)
    with pytest.raises(ClearschedError, match="max_stages"):
        build(DOCUMENTED, min_stages=3, max_stages=2)


# Against a slow parser ---------------------------------------------------------------------------------------------


def slow_parents(job: list[str]) -> list[list[int]]:
    """Parents of the tasks of a job, in the order of `slow_order`, by loops and text; a cyclic job loses edges back."""
    job = [job[index] for index in slow_order(job)]
    numbers = [slow_number(name) for name in job]
    found = []
    for name, number in zip(job, numbers, strict=True):
        wanted = (
            {int(part) for part in name.split("_")[1:] if re.fullmatch("[0-9]+", part)} if number is not None else set()
        )
        found.append([index for index, other in enumerate(numbers) if other in wanted])

    def reaches(start: int, goal: int, seen: set[int]) -> bool:
        for parent in found[start]:
            if parent == goal or (parent not in seen and reaches(parent, goal, seen | {parent})):
                return True
        return False

    if any(reaches(index, index, set()) for index in range(len(job))):
        found = [[parent for parent in its if parent < index] for index, its in enumerate(found)]
    return found


def slow_number(name: str) -> int | None:
    """The number of a task, if it has one."""
    head = name.split("_")[0]
    letters = head.rstrip("0123456789")
    sound = letters.isalpha() and letters != head and not name.startswith("MergeTask")
    return int(head[len(letters) :]) if sound else None


def slow_order(job: list[str]) -> list[int]:
    """Indices of the tasks by number, those without one last."""
    keys = [slow_number(name) for name in job]
    return sorted(range(len(job)), key=lambda index: (keys[index] is None, keys[index] or 0))


numbered = st.builds(
    lambda letter, number, parts: "_".join([f"{letter}{number}", *map(str, parts)]),
    st.sampled_from(["M", "R", "J", "Map"]),
    st.integers(1, 7),
    st.lists(st.one_of(st.integers(1, 7), st.sampled_from(["Stg", "", "007"])), max_size=3),
)
job_names = st.lists(
    st.one_of(numbered, st.sampled_from(["task_Nzg=", "MergeTask1_2", "x", "M", ""])), min_size=1, max_size=7
)


@given(st.lists(job_names, min_size=1, max_size=5))
@settings(max_examples=300, deadline=None)
def test_the_arrays_agree_with_a_slow_parser(jobs: list[list[str]]) -> None:
    import numpy as np
    import pyarrow as pa

    job = np.repeat(np.arange(len(jobs)), [len(tasks) for tasks in jobs])
    dag = names.resolve(job, pa.array([name for tasks in jobs for name in tasks], pa.string()))
    first = 0
    for tasks in jobs:
        assert (dag.order[first : first + len(tasks)] - first).tolist() == slow_order(tasks)
        bounds = dag.parent_start[first : first + len(tasks) + 1]
        found = [(dag.parents[a:b] - first).tolist() for a, b in pairwise(bounds)]
        assert found == slow_parents(tasks)
        first += len(tasks)


def test_numbers_too_large_are_none() -> None:
    assert names.parse(f"M{2**31}") == (names.NO_NUMBER, ())
    assert names.parse(f"M{2**31 - 1}_{2**40}_{'9' * 5000}_0003") == (2**31 - 1, (3, names.NO_NUMBER))
