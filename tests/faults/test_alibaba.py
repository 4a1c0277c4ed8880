"""Impossible numbers and damaged archives of the Alibaba trace: counted, or refused in one line; nothing is left."""

from __future__ import annotations

import io
import random
import tarfile
from pathlib import Path

import pytest

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.settings.sources import Alibaba2018Params
from clearsched.problems.dag_jobs.traces import read_trace
from clearsched.problems.dag_jobs.traces.alibaba_2018 import write
from clearsched.problems.dag_jobs.traces.storage import check_file

SOUND = "M1,2,good,1,Terminated,100,110,100,0.39\n"


def built(folder: Path, text: str, **options: object) -> tuple[Path, dict[str, int], dict[str, int]]:
    """The trace of rows, and what its account says was skipped and survived."""
    (folder / "batch_task.csv").write_text(text)
    out = folder / "out" / "trace.parquet"
    summary = write(folder, out, Alibaba2018Params(**options), 1)
    check_file(out)
    return out, summary.skipped, {defect: count for defect, count in summary.survived.items() if count}


@pytest.mark.parametrize("number", ["10000000000", "1e300", "inf", "nan", "10000001", "9223372036854775808"])
def test_impossible_instances_leave_the_job_out(tmp_path: Path, number: str) -> None:
    out, skipped, _ = built(tmp_path, SOUND + f"M1,{number},bad,1,Terminated,100,110,100,0.39\n")
    assert read_trace(out).stages["num_tasks"].to_pylist() == [2]
    assert skipped == {"jobs with a number out of range (instances, start_time or end_time)": 1}


@pytest.mark.parametrize(
    "times",
    [
        "9223372036854775807,9223372036854775807",
        "100,9223372036854775000",
        "inf,110",
        "nan,110",
        "100,nan",
        "-9223372036854775808,110",
        "1e18,1e18",
    ],
)
def test_impossible_times_leave_the_job_out(tmp_path: Path, times: str) -> None:
    out, skipped, _ = built(tmp_path, f"M1,1,bad,1,Terminated,{times},100,0.39\n" + SOUND)
    trace = read_trace(out)
    assert trace.arrival_ms.tolist() == [0]
    assert list(skipped.values()) == [1]
    assert "out of range" in next(iter(skipped))


@pytest.mark.parametrize(("instances", "spread", "days"), [(1, 0.5, 25), (2, 0.5, 14), (1, 1.5, 25), (2, 1.5, 7)])
def test_a_task_too_long_for_the_schema_is_counted_not_clipped(
    tmp_path: Path, instances: int, spread: float, days: int
) -> None:
    row = f"M1,{instances},long,1,Terminated,100,{100 + days * 86_400},100,0.39\n"
    out, skipped, _ = built(tmp_path, SOUND + row, spread=spread)
    assert skipped == {"jobs with a task of more than 24.8 days": 1}
    assert read_trace(out).num_profiles == 1


def test_a_task_of_24_days_stays(tmp_path: Path) -> None:
    days = 24 * 86_400
    out, skipped, _ = built(tmp_path, f"M1,1,long,1,Terminated,100,{100 + days},100,0.39\n")
    assert not skipped
    assert read_trace(out).durations["duration_ms"].to_pylist() == [[days * 1000]]


@pytest.mark.parametrize("start", ["-5", "0", ""])
def test_a_start_that_is_none_is_told(tmp_path: Path, start: str) -> None:
    rows = f"M1,1,mixed,1,Terminated,100,110,100,0.39\nR2_1,1,mixed,1,Terminated,{start},120,100,0.39\n"
    _, skipped, survived = built(tmp_path, rows)
    assert not skipped
    assert {"tasks whose end_time is 0, missing or before start_time (the job's mean duration taken)": 1}.items() <= (
        survived.items()
    )


@pytest.mark.parametrize("planned", ["nan,0.39", "inf,0.39", "-100,0.39", "100,nan", "100,-1", "1e300,1e300"])
def test_an_impossible_demand_is_kept_empty_and_counted(tmp_path: Path, planned: str) -> None:
    _, skipped, survived = built(tmp_path, f"M1,1,j,1,Terminated,100,110,{planned}\n")
    assert not skipped
    assert survived["tasks with an impossible plan_cpu or plan_mem (kept empty)"] == 1


def test_a_job_of_too_many_stages_is_left_out(tmp_path: Path) -> None:
    rows = "".join(f"M{i},1,wide,1,Terminated,100,110,100,0.39\n" for i in range(10_001))
    out, skipped, _ = built(tmp_path, rows + SOUND)
    assert skipped == {"jobs of more than 10,000 stages": 1}
    assert read_trace(out).num_profiles == 1


def refused(path: Path) -> tuple[str, list[Path]]:
    """What is said of a file that cannot be read, and what was written all the same."""
    out = path.parent / "out" / "trace.parquet"
    with pytest.raises(ClearschedError) as error:
        write(path, out, Alibaba2018Params(), 1)
    return str(error.value), list(out.parent.iterdir()) if out.parent.exists() else []


def archive(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def link(kind: bytes, target: str) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo("batch_task.csv")
    info.type, info.linkname = kind, target
    return info, b""


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
@pytest.mark.parametrize("target", ["/etc/passwd", "batch_task.csv", "../other.csv", "gone"])
def test_only_a_file_counts_in_an_archive(tmp_path: Path, kind: bytes, target: str) -> None:
    path = archive(tmp_path / "batch_task.tar.gz", link(kind, target))
    line, written = refused(path)
    assert "holds no batch_task.csv" in line and "\n" not in line
    assert written == []


def test_a_link_before_the_file_is_passed_over(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "batch_task.tar.gz",
        link(tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.TarInfo("deep/batch_task.csv"), SOUND.encode()),
    )
    assert write(path, tmp_path / "out" / "t.parquet", Alibaba2018Params(), 1).jobs == 1


@pytest.mark.parametrize("name", ["batch_task.tar.gz", "batch_task.tgz", "batch_task.tar"])
def test_a_damaged_archive_is_one_line(tmp_path: Path, name: str) -> None:
    whole = archive(tmp_path / "whole.tar.gz", (tarfile.TarInfo("batch_task.csv"), 200 * SOUND.encode())).read_bytes()
    draw = random.Random(1)
    for place in range(20):
        garbage = draw.randbytes(600)
        flipped = bytearray(whole)
        flipped[draw.randrange(40, len(whole))] ^= 1 << draw.randrange(8)
        (tmp_path / name).write_bytes((garbage, whole[: 9 + 7 * place], b"", bytes(flipped))[place % 4])
        line, written = refused(tmp_path / name)
        assert line.startswith(f"{tmp_path / name}: ") and "\n" not in line
        assert written == []


def test_a_damaged_csv_is_one_line_or_read(tmp_path: Path) -> None:
    draw = random.Random(1)
    path = tmp_path / "batch_task.csv"
    for _ in range(60):
        data = bytearray(5 * SOUND.encode())
        for _ in range(draw.randrange(1, 6)):
            data[draw.randrange(len(data))] = draw.choice((0, 10, 34, 44, 57, 195, 255))
        path.write_bytes(bytes(data))
        try:
            write(path, tmp_path / "out" / "t.parquet", Alibaba2018Params(), 1)
        except ClearschedError as error:
            assert len(str(error).splitlines()) == 1
            continue
        check_file(tmp_path / "out" / "t.parquet")


def test_a_name_with_the_signs_of_a_pattern_is_one_file(tmp_path: Path) -> None:
    path = tmp_path / "part[1]*?.csv"
    path.write_text(SOUND)
    (tmp_path / "part1x.csv").write_text(SOUND.replace("good", "other"))
    assert write(path, tmp_path / "t.parquet", Alibaba2018Params(), 1).jobs == 1
