"""An output that cannot be written: one line, exit code 2, nothing replaced and nothing left; killed writers' files."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import typer

from clearsched import temporary
from clearsched.cli import app
from clearsched.cli.commands import check_outputs, output_file, output_folder
from clearsched.errors import ClearschedError
from clearsched.figures import style
from clearsched.files import atomic_path, check_inputs, make_folder, write_bytes, write_json, write_text
from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.settings.sources import Alibaba2018Params
from clearsched.problems.dag_jobs.traces import alibaba_2018, storage, write_trace
from clearsched.problems.dag_jobs.traces.mixing import mix
from clearsched.problems.dag_jobs.traces.sources import options_of, write
from clearsched.schemas import TUNING, write_table
from clearsched.teacher.resuming import Checkpoints, Snapshot
from clearsched.temporary import PREFIX, sweep, temporary_file, temporary_folder
from toys import stage, toy_trace

PROGRAM = [sys.executable, "-c", "from clearsched.cli import main; main()"]
ROWS = "M1,2,j,1,Terminated,100,110,100,0.39\n" * 50


def run(*arguments: str | Path, cwd: Path, **streams: Any) -> subprocess.CompletedProcess[str]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    return subprocess.run([*PROGRAM, *map(str, arguments)], text=True, cwd=cwd, check=False, timeout=900, **streams)


def traced(folder: Path) -> Path:
    path = folder / "in.parquet"
    write_trace(path, toy_trace([[stage(2)]]))
    return path


def csv(folder: Path) -> Path:
    path = folder / "batch_task.csv"
    path.write_text(ROWS)
    return path


def drawn(out: Path) -> None:
    figure = style.new_figure(1.0)
    style.draw_or_say("x", lambda: style.Drawing(figure, ["a"], [[1]]), out.with_suffix(""), 50)


def tuning(out: Path) -> None:
    columns = {"policy": ["a"], "setting": [""], "mean": [1.0], "chosen": [True]}
    write_table(out, pa.table(columns), TUNING, {})


def checkpointed(out: Path) -> None:
    Checkpoints(out, "digest", 0.0).save_if_due(lambda: Snapshot({}, {}))


WRITERS = {
    "text": (".txt", lambda inputs, out: write_text(out, "x" * 20_000)),
    "json": (".json", lambda inputs, out: write_json(out, list(range(5000)))),
    "bytes": (".safetensors", lambda inputs, out: write_bytes(out, b"x" * 20_000)),
    "table": (".parquet", lambda inputs, out: tuning(out)),
    "trace, Parquet": (".parquet", lambda inputs, out: write_trace(out, toy_trace([[stage(2)]] * 2000))),
    "trace, Arrow": (".arrow", lambda inputs, out: write_trace(out, toy_trace([[stage(2)]] * 2000))),
    "convert": (".arrow", lambda inputs, out: storage.convert(traced(inputs), out)),
    "mix": (".parquet", lambda inputs, out: mix([(traced(inputs), 1.0)], out)),
    "synthetic": (".parquet", lambda inputs, out: write("synthetic", None, out, None, 1)),
    "alibaba-like": (
        ".parquet",
        lambda inputs, out: write("alibaba-like", None, out, options_of("alibaba-like", {"jobs": 200}), 1),
    ),
    "alibaba-2018": (".parquet", lambda inputs, out: alibaba_2018.write(csv(inputs), out, Alibaba2018Params(), 1)),
    "picture": (".svg", lambda inputs, out: drawn(out)),
}


def refused(writer: str, out: Path, tmp_path: Path) -> str:
    """The one line that a writer ends with."""
    inputs = tmp_path / "inputs"
    inputs.mkdir(exist_ok=True)
    with pytest.raises(ClearschedError) as error:
        WRITERS[writer][1](inputs, out)
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_folder_a_file_above_and_a_name_too_long(tmp_path: Path, writer: str) -> None:
    suffix = WRITERS[writer][0]
    (tmp_path / f"folder{suffix}").mkdir()
    (tmp_path / "file").write_text("kept")
    assert "is a folder" in refused(writer, tmp_path / f"folder{suffix}", tmp_path)
    assert "is a file" in refused(writer, tmp_path / "file" / f"out{suffix}", tmp_path)
    assert "is a file" in refused(writer, tmp_path / "file" / "deeper" / f"out{suffix}", tmp_path)
    assert "too long" in refused(writer, tmp_path / ("a" * 300 + suffix), tmp_path)
    assert (tmp_path / "file").read_text() == "kept"
    assert not list(tmp_path.rglob(f"{PREFIX}*"))
    assert not list((tmp_path / f"folder{suffix}").iterdir())


@pytest.mark.parametrize("writer", WRITERS)
def test_a_device_and_a_pipe_stay_what_they_are(tmp_path: Path, writer: str) -> None:
    suffix = WRITERS[writer][0]
    link, pipe = tmp_path / f"null{suffix}", tmp_path / f"pipe{suffix}"
    link.symlink_to("/dev/null")
    os.mkfifo(pipe)
    for path in (link, pipe):
        assert "is a device or a pipe" in refused(writer, path, tmp_path)
    assert link.is_symlink() and pipe.is_fifo()
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("writer", WRITERS)
def test_nothing_can_be_made_where_not_even_root_may(tmp_path: Path, writer: str) -> None:
    if not Path("/proc/self").is_dir():
        pytest.skip("no /proc")
    assert "/proc/" in refused(writer, Path(f"/proc/none/out{WRITERS[writer][0]}"), tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_protected_stays(tmp_path: Path, writer: str) -> None:
    suffix = WRITERS[writer][0]
    closed, file = tmp_path / "closed", tmp_path / f"file{suffix}"
    closed.mkdir(mode=0o555)
    file.write_text("kept")
    file.chmod(0o444)
    assert "no permission" in refused(writer, closed / f"out{suffix}", tmp_path)
    assert "write-protected" in refused(writer, file, tmp_path)
    assert file.read_text() == "kept"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A disk of 8 kB."""
    folder = tmp_path_factory.mktemp("tiny")
    command = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(folder)]
    try:
        mounted = os.geteuid() == 0 and not subprocess.run(command, capture_output=True, check=False).returncode
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("no disk can be mounted")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk_keeps_what_was_there(tmp_path: Path, tiny: Path, writer: str) -> None:
    if writer in ("convert", "mix", "alibaba-2018", "table"):  # these fit
        with (tiny / "filler").open("wb", buffering=0) as stream, contextlib.suppress(OSError):
            while stream.write(b"x" * 512):
                pass
    out = tiny / f"out{WRITERS[writer][0]}"
    out.unlink(missing_ok=True)
    try:
        told = refused(writer, out, tmp_path)
        assert "No space left on device" in told
        assert writer == "picture" or not out.exists()  # of its three files the first may fit
        assert not list(tiny.rglob(f"{PREFIX}*"))
    finally:
        for path in tiny.iterdir():
            path.unlink()


def test_a_link_to_a_file_is_replaced_and_the_file_stays(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "kept").read_text() == "kept" and (tmp_path / "link").read_text() == "new"
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(ClearschedError, match="loop"):
        write_text(tmp_path / "loop", "x")


@pytest.mark.parametrize(
    "name", ["a" * 255, "b" * 250 + ".json", "c." + "d" * 240, "ä" * 127, ".json", "-", "a b", "é\n"]
)
def test_every_name_that_the_disk_takes_is_written(tmp_path: Path, name: str) -> None:
    write_json(tmp_path / name, 1)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_bytes_that_are_no_text_are_escaped(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"path": "\udcff"})
    assert "\\udcff" in (tmp_path / "x.json").read_text("utf-8")


def test_a_folder_is_made_or_told(tmp_path: Path) -> None:
    assert make_folder(tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "x"):
        with pytest.raises(ClearschedError, match="is a file"):
            make_folder(path)
    with pytest.raises(ClearschedError, match="is a file"):
        checkpointed(tmp_path / "file")


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    path = traced(tmp_path)
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "hard").hardlink_to(path)
    before = path.read_bytes()
    for name in ("in.parquet", "./in.parquet", "link", "hard", "../" + tmp_path.name + "/in.parquet"):
        with pytest.raises(ClearschedError, match="is what is read"):
            check_inputs(tmp_path / name, [path])
    with pytest.raises(ClearschedError, match="is what is read"):
        alibaba_2018.write(csv(tmp_path), tmp_path / "batch_task.csv", Alibaba2018Params(), 1)
    check_inputs(tmp_path / "other", [path, tmp_path / "gone"])
    assert path.read_bytes() == before


# Commands ----------------------------------------------------------------------------------------------------------


def leaves(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in getattr(group, "commands", {}).items():
        yield from leaves(command, (*path, name))
    if not hasattr(group, "commands"):
        yield path, group


def test_every_option_of_an_output_is_checked() -> None:
    """One that is not parsed as an output is not looked at before the command runs."""
    names = {"out", "out_tuned", "record", "chrome", "work"}
    found = set()
    for path, command in leaves(typer.main.get_command(app)):
        callback = command.callback
        for name, kind in callback.__annotations__.items():
            if name in names:
                found.add(name)
                assert "Out" in str(kind) or "output_f" in str(kind), (path, name)
    assert found == names


@pytest.mark.parametrize("text", ["", " ", "\n", "a\nb", "\x00"])
def test_an_empty_name_is_none(text: str) -> None:
    for parse in (output_file, output_folder):
        with pytest.raises(ClearschedError, match="names no"):
            parse(text)


def test_two_outputs_are_two_files_and_no_input(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    one, other = output_file(str(tmp_path / "a")), output_file(f"{tmp_path}/./a")
    with pytest.raises(ClearschedError, match="--out-tuned too"):
        check_outputs({"out": one, "out_tuned": other})
    for value in (tmp_path / "a", [tmp_path / "b", tmp_path / "a"], str(tmp_path / "a"), (str(tmp_path / "a"),)):
        with pytest.raises(ClearschedError, match=r"--out .*is what is read"):
            check_outputs({"out": one, "params": value})
    with pytest.raises(ClearschedError, match=r"--out .*is what is read"):
        check_outputs({"out": output_folder(str(tmp_path)), "folders": [tmp_path]})
    check_outputs({"out": output_file(str(tmp_path / "c")), "params": tmp_path / "a", "policy": "fair", "size": 1})


@pytest.mark.parametrize("out", ["folder", "file/x", "", "/dev/null", "a" * 300, "in.parquet"])
@pytest.mark.parametrize(
    "command",
    [("traces", "convert", "in.parquet"), ("simulate", "in.parquet", "--profiles", "in.parquet", "--policy", "fair")],
    ids=" ".join,
)
def test_a_command_ends_in_one_line(tmp_path: Path, command: tuple[str, ...], out: str) -> None:
    before = traced(tmp_path).read_bytes()
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    names = sorted(path.name for path in tmp_path.rglob("*"))
    answer = run(*command, "--out", out, cwd=tmp_path)
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert answer.stderr.count("\n") == 1
    assert answer.stderr.startswith("clearsched: ")
    assert sorted(path.name for path in tmp_path.rglob("*")) == names
    assert (tmp_path / "in.parquet").read_bytes() == before


@pytest.mark.parametrize("command", [("params", "default"), ("traces", "describe", "in.parquet"), ("--help",)])
def test_a_standard_output_that_takes_nothing(tmp_path: Path, command: tuple[str, ...]) -> None:
    traced(tmp_path)
    with open("/dev/full", "w") as full:
        answer = run(*command, cwd=tmp_path, stdout=full)
    assert (answer.returncode, answer.stderr) == (2, "clearsched: standard output: No space left on device\n")
    closed = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *PROGRAM, *command], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (closed.returncode, closed.stderr) == (2, "clearsched: standard output: Bad file descriptor\n")


def test_all_streams_closed_harm_no_file(tmp_path: Path) -> None:
    """No file takes the place of a stream, to be written into."""
    command = ["traces", "build", "--source", "synthetic", "--set", "jobs=5", "--out"]
    assert run(*command, "whole.parquet", cwd=tmp_path).returncode == 0
    for place, how in enumerate(("<&- >&- 2>&-", ">&-", "2>&-", "<&-")):
        script = f'"$@" {how}'
        subprocess.run(["sh", "-c", script, "sh", *PROGRAM, *command, f"{place}.parquet"], cwd=tmp_path, check=False)
        assert (tmp_path / f"{place}.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


@pytest.mark.parametrize("command", [("params", "default"), ("params", "schema"), ("params", "--help")], ids=" ".join)
def test_who_has_read_enough_ends_it_quietly(tmp_path: Path, command: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    answer = run(*command, cwd=tmp_path, stdout=writing)
    os.close(writing)
    assert (answer.returncode, answer.stderr) == (0, "")


def test_a_name_with_a_line_break_is_told_in_one_line(tmp_path: Path) -> None:
    for name in ("a\nb.yaml", "\udcff.yaml", "\x1b[31m.yaml"):
        answer = run("params", "check", os.fsencode(name).decode("utf-8", "surrogateescape"), cwd=tmp_path)
        assert answer.returncode == 2
        assert answer.stderr.count("\n") == 1 and answer.stderr[:-1].isprintable()


def test_an_input_with_a_name_too_long_is_one_line(tmp_path: Path) -> None:
    for command in (("traces", "describe"), ("traces", "validate"), ("students", "show"), ("params", "check")):
        answer = run(*command, "a" * 5000, cwd=tmp_path)
        assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)


# Killed writers ----------------------------------------------------------------------------------------------------

KILLED = """
import os, sys
from pathlib import Path
from clearsched.temporary import temporary_file, temporary_folder
folder = Path(sys.argv[1])
with temporary_file(folder, ".json") as file, temporary_folder(folder / "x") as inner:
    (inner / "y").write_text("half")
    file.write_text("half")
    print("ready", flush=True)
    sys.stdin.read()
"""


def age(path: Path) -> None:
    """Make it look older than this process."""
    os.utime(path, (time.time() - 3600, time.time() - 3600))


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process that is at work in a folder."""
    folder = tmp_path / "results" / "default"
    folder.mkdir(parents=True)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout and process.stdout.readline() == "ready\n"
    yield process, folder
    process.kill()
    process.wait()


def test_what_a_killed_process_left_is_swept_and_nothing_else(writing: tuple[subprocess.Popen[str], Path]) -> None:
    process, folder = writing
    (folder / "kept.json").write_text("1")
    (folder / ".hidden").write_text("somebody's own")
    for path in folder.iterdir():
        age(path)
    assert len(list(folder.glob(f"{PREFIX}*"))) == 2
    assert sweep(folder) == [], "another run is at work"
    process.kill()
    process.wait()
    assert len(sweep(folder.parent, deep=True)) == 2
    assert sorted(path.name for path in folder.iterdir()) == [".hidden", "kept.json"]


def test_what_is_younger_than_this_process_is_left(writing: tuple[subprocess.Popen[str], Path]) -> None:
    process, folder = writing
    process.kill()
    process.wait()
    for path in folder.iterdir():
        os.utime(path, (temporary.STARTED_S + 5, temporary.STARTED_S + 5))
    assert sweep(folder) == []


def test_the_next_writer_in_a_folder_sweeps_it(
    writing: tuple[subprocess.Popen[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(temporary, "_SWEPT", set())
    process, folder = writing
    process.kill()
    process.wait()
    for path in folder.iterdir():
        age(path)
    write_text(folder / "out.txt", "x")
    assert [path.name for path in folder.iterdir()] == ["out.txt"]


def test_a_link_of_such_a_name_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("x")
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "kept")
    os.utime(tmp_path / "kept", (1, 1))
    assert sweep(tmp_path) == []
    assert sweep(tmp_path / "none", deep=True) == []
    assert (tmp_path / "kept" / "file").exists()


def test_a_failed_block_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("before")
    for error in (KeyboardInterrupt, ValueError, MemoryError):
        with pytest.raises(error), atomic_path(tmp_path / "out") as path:
            path.write_text("half")
            raise error
    with contextlib.suppress(ValueError), temporary_folder(tmp_path / "x") as folder:
        (folder / "y").write_text("half")
        raise ValueError
    with temporary_file(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_text() == "before"


def test_the_schema_of_a_trace_is_what_the_writers_write(tmp_path: Path) -> None:
    """The writers above are those of the package: they write what is read again."""
    for name in ("synthetic", "trace, Arrow", "alibaba-2018"):
        out = tmp_path / f"{name}{WRITERS[name][0]}"
        (tmp_path / "inputs").mkdir(exist_ok=True)
        WRITERS[name][1](tmp_path / "inputs", out)
        assert set(storage.read_trace(out).stages.column_names) == set(TRACE.names)
        assert np.all(storage.read_trace(out).stages["num_tasks"].to_numpy() > 0)


def test_an_option_that_is_left_empty_is_no_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a path it would be the folder that the command runs in, which may well be written to."""
    monkeypatch.chdir(tmp_path)
    check_outputs({"out": output_folder("."), "by": ""})
    with pytest.raises(ClearschedError, match=r"--out .*is what is read"):
        check_outputs({"out": output_folder("."), "figures": Path()})
