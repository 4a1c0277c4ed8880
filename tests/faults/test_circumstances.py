"""What a command meets that is not its input: folders that nobody can write to, another run beside it, no
home, another language, odd paths, clocks that went back. Same bytes, or one line and exit code 2, and nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import snakemake_runs

ROOT = Path(__file__).parents[2]
CLEARSCHED = [sys.executable, "-m", "clearsched"]
SMALL = "jobs=3"
YEAR_S = 365 * 24 * 3600


def environment(**changes: str | None) -> dict[str, str]:
    """This one's with changes; None takes a variable out."""
    known = snakemake_runs.environment() | {key: value for key, value in changes.items() if value is not None}
    return {key: value for key, value in known.items() if changes.get(key, "") is not None}


def start(*command: object, cwd: Path | None = None, **changes: str | None) -> subprocess.Popen[str]:
    """A command that runs."""
    words = [*CLEARSCHED, *map(str, command)]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=cwd, env=environment(**changes), stdout=pipe, stderr=pipe, text=True)


def run(*command: object, cwd: Path | None = None, **changes: str | None) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    process = start(*command, cwd=cwd, **changes)
    told, complaint = process.communicate()
    return process.returncode, told, complaint


def build(out: Path, **changes: str | None) -> tuple[int, str, str]:
    """A small trace, written to `out`."""
    return run("traces", "build", "--source", "synthetic", "--set", SMALL, "--out", out, **changes)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The trace as it is written in the usual circumstances."""
    out = tmp_path_factory.mktemp("usual") / "trace.parquet"
    code, _, complaint = build(out)
    assert code == 0, complaint
    return out.read_bytes()


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A small file system of its own in memory; where nobody may mount one the test is skipped."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no command `mount`")
    if done.returncode:
        pytest.skip("only root may mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


# The disk ----------------------------------------------------------------------------------------------------------


def test_results_that_nobody_can_write_to_are_one_line(tmp_path: Path) -> None:
    with mounted(tmp_path / "results", "ro") as results:
        for out in (results / "traces" / "trace.parquet", results / "trace.parquet"):
            code, told, complaint = build(out)
            assert (code, told) == (2, "")
            assert complaint.startswith("clearsched: --out ") and "no permission to write to" in complaint
            assert complaint.count("\n") == 1
        assert list(results.iterdir()) == []


# The surroundings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"HOME": None},
        {"HOME": "/nowhere", "XDG_CACHE_HOME": "/proc/nowhere"},
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
        {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
        {"PYTHONIOENCODING": "ascii"},
        {"TZ": "Pacific/Kiritimati"},
        {"NUMBA_CACHE_DIR": "/proc/nowhere"},
        {"MPLCONFIGDIR": "/proc/nowhere"},
    ],
    ids=lambda changes: ",".join(changes),
)
def test_the_surroundings_do_not_change_a_byte(tmp_path: Path, expected: bytes, changes: dict[str, str | None]) -> None:
    code, told, complaint = build(tmp_path / "trace.parquet", **changes)
    assert (code, complaint) == (0, "")
    assert "stages" in told
    assert (tmp_path / "trace.parquet").read_bytes() == expected


def test_what_an_encoding_lacks_is_printed_as_something_else() -> None:
    """The list of problems has dashes and signs that ASCII does not."""
    code, told, complaint = run("problems", PYTHONIOENCODING="ascii")
    assert (code, complaint) == (0, "")
    assert "dag_jobs" in told


@pytest.mark.parametrize("name", ["a folder with spaces", "ä'ö\"ü", "{wildcard}", "-dash", "%s", "a[/b]", ":smile:"])
def test_odd_paths(tmp_path: Path, expected: bytes, name: str) -> None:
    """`a[/` would be the end of a style to rich, which prints the path."""
    folder = tmp_path / name
    folder.mkdir(parents=True)
    command = ("traces", "build", "--source", "synthetic", "--set", SMALL, "--out", f"{name}/{name}.parquet")
    code, told, complaint = run(*command, cwd=tmp_path)
    assert (code, complaint) == (0, "")
    assert f"{name}/{name}.parquet: jobs" in told
    assert (folder / f"{name}.parquet").read_bytes() == expected
    assert "all right" in run("traces", "validate", folder / f"{name}.parquet")[1]


# Time --------------------------------------------------------------------------------------------------------------


def test_files_from_the_future_are_read_and_replaced(tmp_path: Path, expected: bytes) -> None:
    """As they are when the clock was set back."""
    out, later = tmp_path / "trace.parquet", time.time() + YEAR_S
    out.write_text("of next year")
    os.utime(out, (later, later))
    assert build(out)[0] == 0
    assert out.read_bytes() == expected
    assert out.stat().st_mtime < later
    os.utime(out, (later, later))
    assert run("traces", "validate", out)[0] == 0


# Two runs ----------------------------------------------------------------------------------------------------------


def test_two_runs_with_one_output_give_the_same_bytes(tmp_path: Path, expected: bytes) -> None:
    command = ("traces", "build", "--source", "synthetic", "--set", SMALL, "--out", tmp_path / "trace.parquet")
    both = [start(*command), start(*command)]
    for process in both:
        assert (process.communicate()[1], process.returncode) == ("", 0)
    assert [path.name for path in tmp_path.iterdir()] == ["trace.parquet"]
    assert (tmp_path / "trace.parquet").read_bytes() == expected


def files(folder: Path) -> dict[str, bytes]:
    """Everything below a folder, hidden files too, by path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_two_fits_into_one_folder_give_the_files_of_one(tmp_path: Path, sound: Path) -> None:
    inputs = {"params": "stage_students.json", "trace": "trace.parquet", "workloads": "workloads.parquet"}
    inputs |= {"tuned": "tuned.json", "decisions": "decisions.parquet"}
    options = [word for name, file in inputs.items() for word in (f"--{name}", sound / file)]
    command = ("students", "fit", "rule_list", *options, "--teacher", "fair", "--out", tmp_path)
    both = [start(*command), start(*command)]
    for process in both:
        complaint = process.communicate()[1]
        assert process.returncode == 0, complaint
    expected = {name: data for name, data in files(sound).items() if name.startswith("rule_list")}
    assert files(tmp_path) == expected
    assert {"rule_list.json", "rule_list.txt"} <= expected.keys()


def workflow(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Snakemake on the repository's workflow, in a folder of its own."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder)]
    command += [*arguments, "--configfile", str(ROOT / "tests/config/tiny.yaml")]
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command, env=environment(PATH=programs), text=True, **both)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with spaces in its name, for the workflow."""
    folder = tmp_path / "a folder with spaces"
    folder.mkdir()
    (folder / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    return folder


@pytest.mark.workflow
def test_a_second_workflow_waits_outside_and_a_killed_one_is_unlocked(place: Path) -> None:
    """The lock of a run that was killed is there to stay until `snakemake --unlock`; then all goes on."""
    target = "results/tiny/params/traces.json"
    first = workflow(place, "--cores", "1", target)
    held = place / ".snakemake/locks"
    while first.poll() is None and not (held.is_dir() and any(held.iterdir())):
        time.sleep(0.01)
    first.send_signal(signal.SIGSTOP)
    assert first.poll() is None, first.communicate()[0]
    second = workflow(place, "--cores", "1", target)
    told = second.communicate()[0]
    assert second.returncode == 1
    assert "cannot be locked" in told
    first.kill()
    first.communicate()
    for arguments in (("--unlock",), ("--cores", "1", target)):
        process = workflow(place, *arguments)
        told = process.communicate()[0]
        assert process.returncode == 0, told
    assert (place / target).is_file()
