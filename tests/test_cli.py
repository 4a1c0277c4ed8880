"""The command line: every command answers --help fast, and a user's mistake is one line and exit code 2."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from clearsched.arithmetic import SWITCH
from clearsched.cli import app, main
from clearsched.params import defaults, load_stage, settings, stage_values, write_stage
from clearsched.params.reference import default_yaml, json_schema
from clearsched.problems import PROBLEMS

HEAVY = (
    "torch",
    "torch_geometric",
    "xgboost",
    "imodels",
    "sklearn",
    "matplotlib",
    "pyspark",
    "numba",
    "pyarrow",
    "pandas",
)
PROGRAM = [sys.executable, "-c", "from clearsched.cli import main; main()"]


def run(*arguments: str, cwd: Path | None = None, timeout_s: float = 900) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=timeout_s, cwd=cwd)


def commands(group: object = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every command and group."""
    group = typer.main.get_command(app) if group is None else group
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


def command_of(path: tuple[str, ...]) -> Any:
    """The command or group of a path."""
    command: Any = typer.main.get_command(app)
    for name in path:
        command = command.commands[name]
    return command


def test_every_stage_has_its_commands() -> None:
    paths = {" ".join(path) for path in commands()}
    assert paths >= {
        "simulate",
        "export",
        "problems",
        "params check",
        "params dvc",
        "params schema",
        "params docs",
        "params stage",
        "traces build",
        "traces workloads",
        "traces describe",
        "traces validate",
        "traces figures",
        "figures compare",
        "params scenario",
        "traces record-tpch",
        "heuristics tune",
        "search run",
        "search show",
        "teacher choose",
        "teacher train",
        "decisions log",
        "decisions describe",
        "students fit",
        "students show",
        "evaluation run",
        "evaluation show",
        "edge-cases run",
        "edge-cases compare",
        "edge-cases show",
        "figures draw",
    }


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_every_command_explains_itself(path: tuple[str, ...]) -> None:
    answer = CliRunner().invoke(app, [*path, "--help"])
    assert answer.exit_code == 0
    assert "Usage" in answer.output


@pytest.mark.parametrize("path", [(), ("simulate",), ("teacher", "train"), ("traces", "record-tpch")], ids=" ".join)
def test_help_loads_nothing_heavy(path: tuple[str, ...]) -> None:
    """What makes help answer at once; a clock would tell of the machine that tests run on."""
    lines = (
        "import sys",
        f"sys.argv = ['clearsched', *{path}, '--help']",
        "from clearsched.cli import main",
        "try:",
        "    main()",
        "except SystemExit as stop:",
        "    assert not stop.code",
        f"print([name for name in {HEAVY} if name in sys.modules])",
    )
    answer = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert "Usage" in answer.stdout
    assert answer.stdout.splitlines()[-1] == "[]"


def test_nothing_heavy_is_imported_before_a_command_runs() -> None:
    code = f"import sys, clearsched.cli; print([name for name in {HEAVY} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_version() -> None:
    from clearsched import __version__

    assert run("--version").stdout.strip() == f"clearsched {__version__}"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("params", "check", "none.yaml"), "none.yaml: no such file"),
        (("params", "default", "--problem", "dag_job"), "did you mean dag_jobs?"),
        (("problems", "dag_job"), "did you mean dag_jobs?"),
        (("params", "stage", "trace", "seed=1", "--out", "x.json"), "unknown stage 'trace'"),
        (("params", "stage", "traces", "seed", "--out", "x.json"), "seed: expected key=JSON"),
        (("traces", "validate", "none.parquet"), "none.parquet: no such file"),
        (("traces", "build", "--params", "none.json", "--out", "x.parquet"), "none.json: no such file"),
        (("decisions", "describe", "none.parquet"), "none.parquet"),
        (("students", "show", "none.json"), "none.json"),
        (("evaluation", "show", "none"), "none"),
        (("simulate", "none.json", "--profiles", "none.parquet", "--policy", "fair"), "none"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments: tuple[str, ...], part: str, tmp_path: Path) -> None:
    answer = run(*arguments, cwd=tmp_path)
    assert answer.returncode == 2, answer.stderr
    assert part in answer.stderr
    assert len(answer.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == [], "nothing may be written"


def told(*arguments: str) -> list[str]:
    """The lines on standard error of a command line that is refused, run in this process."""
    complaint = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patched,
        contextlib.redirect_stderr(complaint),
        pytest.raises(SystemExit) as end,
    ):
        patched.setattr(sys, "argv", ["clearsched", *arguments])
        patched.delenv(SWITCH, raising=False)  # with it the command line would replace this process
        main()
    assert end.value.code == 2
    return complaint.getvalue().splitlines()


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_a_wrong_command_line_is_one_line_and_exit_code_2(path: tuple[str, ...]) -> None:
    """An unknown option, arguments too many, and none where there must be some, of every command and group."""
    where, see = " ".join(path) + ": " * bool(path), f"(see {' '.join(('clearsched', *path))} --help)"
    assert told(*path, "--hepl") == [f"clearsched: {where}no such option --hepl; did you mean --help? {see}"]
    command = command_of(path)
    if not any(param.nargs == -1 for param in command.params):
        (line,) = told(*path, *(["none"] * 9))
        assert line.startswith(f"clearsched: {where}") and line.endswith(see)
    if hasattr(command, "commands") or any(param.required for param in command.params):
        (line,) = told(*path)
        assert line.startswith(f"clearsched: {where}") and line.endswith(see)
        assert any(words in line for words in ("missing option '-", "missing argument '", "no command is named"))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("evaluatoin", "no such command 'evaluatoin'. Did you mean 'evaluation'? (see clearsched --help)"),
        ("traces bild", "traces: no such command 'bild'. Did you mean 'build'? (see clearsched traces --help)"),
        ("traces", "traces: no command is named (see clearsched traces --help)"),
        (
            "traces build --sourc x",
            "traces build: no such option --sourc; did you mean --source? (see clearsched traces build --help)",
        ),
        ("traces build --source", "option '--source' requires an argument"),
        ("teacher train", "teacher train: missing option '--params' (see clearsched teacher train --help)"),
        (
            "simulate x.json --profiles x --policy fair --durations best",
            "simulate: invalid value for '--durations': 'best' is not one of 'sampled', 'mean' "
            "(see clearsched simulate --help)",
        ),
    ],
)
def test_what_a_wrong_command_line_is_told(arguments: str, line: str) -> None:
    assert told(*arguments.split()) == [f"clearsched: {line}"]


def test_params_stage_writes_what_the_workflow_needs(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text("seed: 5\nworkload: {jobs: 3}\n")
    out = tmp_path / "workloads.json"
    assert run("params", "stage", "workloads", "--params", str(path), "--out", str(out)).returncode == 0
    written = json.loads(out.read_text())
    assert (written["seed"], written["workload"]["jobs"]) == (5, 3)
    again = tmp_path / "again.json"
    values = settings({**stage_values(defaults(), "workloads"), "seed": 5, "workload": {"jobs": 3}})
    assert run("params", "stage", "workloads", *values, "--out", str(again)).returncode == 0
    assert again.read_bytes() == out.read_bytes()


def test_a_stage_command_refuses_the_params_of_another_stage(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    write_stage(stage_values(defaults(), "figures"), "figures", path)
    answer = run("traces", "build", "--params", str(path), "--out", str(tmp_path / "trace.parquet"))
    assert answer.returncode == 2
    assert "the stage traces needs the sections traces" in answer.stderr


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_problem_is_told_and_described(problem: str, tmp_path: Path) -> None:
    """What is printed for it is a file that its params are read from."""
    path = tmp_path / "params.yaml"
    assert run("params", "default", "--problem", problem, "--out", str(path)).returncode == 0
    assert path.read_text("utf-8") == default_yaml(problem)
    assert f"problem {problem}" in run("params", "check", str(path)).stdout
    assert json.loads(run("params", "schema", "--problem", problem).stdout) == json_schema(problem)
    told = run("problems", problem).stdout
    assert told.startswith(f"{problem}: ")
    for part in ("choices", "measures", "heuristics", "sources", "families", "students", "figures"):
        assert f"  {part}\n" in told
    for name in (*defaults(problem).evaluation.policies, defaults(problem).traces.source):
        assert name in told or name == "teacher"


@pytest.mark.parametrize("problem", PROBLEMS)
def test_what_runs_need_can_be_compiled_ahead(problem: str) -> None:
    result = run("prepare", problem, timeout_s=900)  # it compiles all there is where nothing has been yet
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_file_can_be_checked_for_another_problem(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(default_yaml())
    for problem in PROBLEMS:
        assert (
            run("params", "scenario", str(path), "--problem", problem).stdout.strip()
            == defaults(problem).named().scenario
        )


def test_a_section_of_another_problem_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    for problem in PROBLEMS:
        if problem == "dag_jobs":
            continue
        path = tmp_path / "params.yaml"
        path.write_text(f"problem: {problem}\nworkload: {{moving_delay_s: 1.0}}\n")
        answer = run("params", "check", str(path))
        assert answer.returncode == 2
        line = f"workload.moving_delay_s: is a key of the problem dag_jobs, and this file's problem is {problem}"
        assert answer.stderr == f"clearsched: {path}: {line}\n"


def test_traces_build_tells_what_was_read(tmp_path: Path) -> None:
    """The account is the problem's; the command prints it."""
    path, out = tmp_path / "traces.json", tmp_path / "trace.parquet"
    values = stage_values(defaults(), "traces")
    values["traces"] |= {"source": "synthetic", "synthetic": {"jobs": 7}}
    write_stage(values, "traces", path)
    assert load_stage(path, "traces").problem == "dag_jobs"
    answer = run("traces", "build", "--params", str(path), "--out", str(out))
    assert answer.returncode == 0, answer.stderr
    assert f"{out}: jobs of synthetic" in answer.stdout
    assert "jobs" in answer.stdout and "7" in answer.stdout
    assert out.is_file()
