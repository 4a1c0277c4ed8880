"""Commands and snippets of the pages: each is understood by what it calls, and what needs minutes at most is run.

The tests marked `workflow` follow the tutorial on a tiny configuration, then run the other pages' commands on its
results.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

from clearsched.cli import app
from clearsched.params.reference import default_yaml
from clearsched.params.scenarios import merge
from snakemake_runs import environment, typed
from test_spark_eventlog import app_start, end, executor, job, task, text

sys.path.append(str(Path(__file__).parents[1] / "tools"))

from site_pages import links, tables

ROOT = Path(__file__).parents[1]

PROGRAMS = ("clearsched", "snakemake", "make", "python", "pip", "dvc", "git", "echo")
TUTORIAL = "docs/tutorial.md"
RESULTS = "results/default"


class Block(NamedTuple):
    """A block of code of a page."""

    page: str
    line: int
    kind: str  # "python", "yaml", ...; empty where none is told
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


class Command(NamedTuple):
    """A command of a page as words, without its comment; variables that the block sets are filled in."""

    page: str
    line: int
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {shlex.join(self.words)}"


def blocks() -> Iterator[Block]:
    """All blocks of all pages that are written by hand."""
    for page in links.sources().values():
        whole = (ROOT / page).read_text("utf-8")
        for found in re.finditer(r"^```(\w*)\n(.*?)^```", whole, re.MULTILINE | re.DOTALL):
            yield Block(page, whole[: found.start()].count("\n") + 2, found[1], found[2])


def commands() -> Iterator[Command]:
    """All commands: the lines that begin with a program, of blocks of no language."""
    for block in blocks():
        if block.kind:
            continue
        variables: dict[str, str] = {}
        for line in block.text.replace("\\\n", " ").splitlines():
            if found := re.fullmatch(r"(\w+)=(\S+)", line):
                variables[f"${found[1]}"] = found[2]
                continue
            if line.split(" ")[0] not in PROGRAMS or re.match(r"\w+:", line):
                continue
            for name, value in variables.items():
                line = line.replace(name, value)
            line = re.sub(r"<[^<>]*>", "FOLDER", line)
            for part in line.split(" && "):
                yield Command(block.page, block.line, tuple(shlex.split(part, comments=True)))


def of(program: str) -> list[Command]:
    return [command for command in commands() if command.words[0] == program]


PLACEHOLDER = re.compile(r"\.\.\.|FOLDER|FILE|NAME|results/synthetic")
"""Words that a reader fills in, and results of a scenario that is not run here."""


def test_there_are_commands_of_every_program() -> None:
    assert {command.words[0] for command in commands()} == set(PROGRAMS)
    assert len(of("clearsched")) > 50 and len(of("snakemake")) > 20


@pytest.mark.parametrize("command", of("clearsched"), ids=str)
def test_the_command_line_understands(command: Command) -> None:
    """Every option and argument of it is known; where the page leaves some out ("..."), the rest."""
    given = [word for word in command.words[1:] if word != "..."]
    current, context = get_command(app), None
    name = "clearsched"
    while hasattr(current, "commands"):
        context = current.make_context(name, list(given), parent=context, resilient_parsing=True)
        assert given[0] in current.commands, f"no command {given[0]}"
        name, current, given = given[0], current.commands[given[0]], given[1:]
    current.make_context(name, given, parent=context, resilient_parsing="..." in command.words)


@pytest.mark.parametrize("command", of("make"), ids=str)
def test_make_has_the_target(command: Command) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for word in command.words[1:]:
        name, is_set, _ = word.partition("=")
        wanted = rf"\$[({{]?.*\b{name}\b" if is_set else rf"^{name}:"
        assert re.search(wanted, makefile, re.MULTILINE), word


@pytest.mark.parametrize("command", of("python"), ids=str)
def test_the_script_is_there_and_has_the_options(command: Command) -> None:
    words = list(command.words[1:])
    path = ROOT / (f"{words[1].replace('.', '/')}" if words[0] == "-m" else words[0])
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    code = "".join(file.read_text("utf-8") for file in files)
    for word in words[1:]:
        if word.startswith("--"):
            assert re.search(rf"[\"']{word}[\"']", code) or word[2:].replace("-", "_") in code, word


@pytest.mark.parametrize("command", of("pip"), ids=str)
def test_pip_installs_an_extra_that_there_is(command: Command) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert re.fullmatch(r"clearsched\[(\w+)\]", command.words[2])[1] in extras  # type: ignore[index]


@pytest.mark.parametrize("command", of("dvc"), ids=str)
def test_dvc_understands(command: Command) -> None:
    parser = pytest.importorskip("dvc.cli.parser").get_main_parser()
    assert parser.parse_args(list(command.words[1:])).func


@pytest.mark.parametrize("block", [block for block in blocks() if block.kind == "python"], ids=str)
def test_python_is_python(block: Block) -> None:
    assert ast.parse(block.text).body, "only comments"


@pytest.mark.parametrize("block", [block for block in blocks() if block.kind in ("yaml", "json")], ids=str)
def test_data_are_data(block: Block) -> None:
    """A part of a file is one in braces."""
    whole = block.text if block.kind == "yaml" or block.text.lstrip().startswith(("{", "[")) else f"{{{block.text}}}"
    assert yaml.safe_load(whole) if block.kind == "yaml" else json.loads(whole)


# The workflow's commands, as far as it plans them --------------------------------------------------------------------


def workplace(folder: Path) -> Path:
    """A folder that looks like the repository to who types a command there, with small params."""
    for name in ("Snakefile", "workflow", "data", "examples", "src", "benchmarks", "engines"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "scenarios", folder / "scenarios")
    tiny = yaml.safe_load((ROOT / "tests/config/tiny.yaml").read_text("utf-8")) | {"scenario": "default"}
    params = merge(yaml.safe_load(default_yaml()), tiny)
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    return folder


def run(folder: Path, words: tuple[str, ...], *more: str) -> subprocess.CompletedProcess[str]:
    """A command of the environment that runs the tests."""
    if words[0] == "snakemake":
        return typed(folder, *words[1:], *more)
    program = [sys.executable, "-m", "clearsched"] if words[0] == "clearsched" else [words[0]]
    line = [*program, *words[1:], *more]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=900, env=environment())


PLANNED = sorted({command.words: command for command in of("snakemake") if "--unlock" not in command.words}.values())


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages tell to write, and stand-ins for what a user has."""
    folder = workplace(tmp_path_factory.mktemp("plans"))
    for name in ("spark-logs", "FOLDER"):
        (folder / name).mkdir()
    (folder / "model.pt").touch()
    for name in ("scenarios/mine.yaml", "scenarios/cluster.yaml"):
        (folder / name).write_text(written(name))
    for command in of("echo"):
        said, aim = command.words[1], command.words[3]
        (folder / aim).write_text(said + "\n")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", PLANNED, ids=str)
def test_the_workflow_plans_it(plans: Path, command: Command) -> None:
    """`snakemake --dry-run`: targets, scenarios and values of the command line are all right."""
    if "workflow/profiles/slurm" in command.words:
        pytest.importorskip("snakemake_executor_plugin_slurm", reason="extra slurm: snakemake-executor-plugin-slurm")
    path = re.search(r"data/downloads/[\w.]+", " ".join(command.words))
    words = tuple(word.replace(path[0], "data/tpch-spark.parquet") if path else word for word in command.words)
    answer = run(plans, words, "--dry-run", "--quiet", "all")
    assert answer.returncode == 0, answer.stdout + answer.stderr


def written(name: str) -> str:
    """The block of a page that is a file: its first line is a comment that names it."""
    (found,) = {block.text for block in blocks() if block.kind == "yaml" and block.text.startswith(f"# {name}\n")}
    return found


# What is run ---------------------------------------------------------------------------------------------------------


def toy_logs(folder: Path) -> None:
    """Logs of a dozen applications of four queries each: a map of a few tasks, a reduce of one."""
    folder.mkdir()
    for number in range(12):
        events: list[dict[str, Any]] = [app_start(f"app-{number}"), executor("1", 2)]
        for query in range(4):
            at, tasks, first = 60_000 * (4 * number + query), 2 + 3 * query, 2 * query
            stages = (first, 10 * query + 5, tasks, []), (first + 1, 10 * query + 9, 1, [first])
            last = 400 + 90 * number + 500 * query
            events += [
                job(query, at, *stages, sql=str(query), text=f"query {'abcd'[query]}"),
                *(task(first, index, at, at + last + 50 * index) for index in range(tasks)),
                task(first + 1, 0, at + 8_000, at + 8_300 + 20 * number),
                end(query),
            ]
        (folder / f"app-{number}").write_bytes(text(events))


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of who followed the tutorial, command for command."""
    folder = workplace(tmp_path_factory.mktemp("tutorial"))
    toy_logs(folder / "spark-logs")
    for name in ("scenarios/mine.yaml", "patches.yaml"):
        (folder / name).write_text(of_tutorial(name))
    for command in commands():
        if command.page != TUTORIAL:
            continue
        answer = run(folder, command.words)
        told = f"{command}\n{answer.stdout}{answer.stderr}"
        if command.words[:2] == ("clearsched", "doctor"):  # 1: something is wrong with this machine
            assert answer.returncode in (0, 1), told
        elif command.words[:3] == ("clearsched", "students", "patch") and answer.returncode == 2:
            assert "the patches are refused, nothing was written" in answer.stderr, told  # what tiny fits come to
        else:
            assert answer.returncode == 0, told
    return folder


def of_tutorial(name: str) -> str:
    """A file that the tutorial tells to write."""
    (found,) = [b.text for b in blocks() if b.page == TUTORIAL and b.text.startswith(f"# {name}\n")]
    return found


@pytest.mark.workflow
def test_the_tutorial_leads_from_logs_to_rules(followed: Path) -> None:
    results = followed / "results/mine"
    assert "otherwise" in (results / "students/rule_list.txt").read_text("utf-8")
    assert "tuned" in (results / "evaluation/comparison.txt").read_text("utf-8")
    for file in ("../report/index.html", "students/rule_list.md", "../../pictures/dag_gallery.svg"):
        assert (results / file).stat().st_size > 0, file
    answer = run(followed, ("clearsched", "traces", "describe", "jobs.parquet", "--json"))
    assert json.loads(answer.stdout)["counts"]["jobs"] == 48, "four queries of each of twelve applications"


@pytest.mark.workflow
def test_tables_lie_where_the_reference_says(followed: Path) -> None:
    found = set()
    for each in tables.defined():
        place = tables.PLACES.get(each.name, "")
        if place and "deferrable_jobs" not in each.name and ".paper." not in each.name:
            for path in (followed / "results/mine").glob(re.sub(r"<\w+>", "*", place)):
                assert pq.read_schema(path).names == each.schema.names, path
                found.add(each.name)
    assert len(found) >= 12, found


OTHERWISE = {
    ("clearsched", "shipped", "make"): "writes into the package: tests/test_shipped.py",
    ("clearsched", "shipped", "judge"): "writes into the package: tests/test_shipped.py",
    ("clearsched", "shipped", "guard"): "writes into the package: tests/test_shipped.py",
    ("clearsched", "traces", "record-tpch"): "runs Spark: tests/test_recorder.py",
    ("clearsched", "evaluation", "optimum"): "needs OR-Tools: tests/test_optimum.py",
    ("clearsched", "paper", "figure"): "needs the papers' runs: tests/test_paper.py",
    ("clearsched", "figures", "compare"): "needs a second scenario: tests/test_workflow.py",
    ("clearsched", "edge-cases", "show"): "needs all edge cases: tests/test_edge_cases.py",
    ("clearsched", "students", "fit"): "a step of the workflow that the tutorial runs",
    ("clearsched", "engine"): "asks a real engine: tests/test_engine_spark_run.py, tests/test_engine_slurm.py",
    ("clearsched", "serve"): "goes on until it is told to end: tests/test_serving.py",
}
"""Commands that are not run here, and where they are."""

RUN = {
    command.words: command
    for command in of("clearsched")
    if command.page != TUTORIAL
    and "..." not in command.words
    and not any(command.words[: len(words)] == words for words in OTHERWISE)
    and not any(PLACEHOLDER.fullmatch(word) for word in command.words)
}

SMALLER = {"/var/log/spark": "spark-logs", "/spark-logs": "spark-logs", "jobs=100000": "jobs=2000"}
"""What the pages have larger, or elsewhere."""


@pytest.fixture(scope="module")
def desk(followed: Path) -> Path:
    """The tutorial's results under the names that other pages have, and the files that these have lying about."""
    for name in (RESULTS, "results/cluster"):
        (followed / name).symlink_to("mine")
    shutil.copy(followed / RESULTS / "students/rule_list.json", followed / "rule_list.json")
    shutil.copy(followed / RESULTS / "decisions/decisions.parquet", followed / "decisions.parquet")
    (followed / "wrong.yaml").write_text((followed / "params.yaml").read_text())
    data = {
        "episode.json": next(b.text for b in blocks() if b.kind == "json" and b.page == "docs/simulator.md"),
        "mine.json": next(b.text for b in blocks() if b.kind == "json" and b.page == "docs/formulae.md"),
        "mine.yaml": "- {when: always, cap: 1.0}\n",
    }
    for name, content in data.items():
        (followed / name).write_text(content)
    return followed


@pytest.mark.workflow
@pytest.mark.parametrize("command", RUN.values(), ids=str)
def test_it_runs(desk: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    if "onnx" in command.words:
        pytest.importorskip("onnx", reason="no onnx")
    monkeypatch.chdir(desk)
    given = [SMALLER.get(word, word) for word in command.words[1:]]
    if "--episode" in given:  # the tiny run's are fewer
        given[given.index("--episode") + 1], given[given.index("--decision") + 1] = "0", "8"
    answer = CliRunner().invoke(app, given)
    told = f"{answer.output}{answer.exception!r}"
    if command.words[1] == "doctor":
        assert answer.exit_code in (0, 1), told
    elif command.words[1:3] in (("students", "patch"), ("students", "guard")) and answer.exit_code:
        assert "refused" in told or "do not deploy" in told, told
    else:
        assert answer.exit_code == 0, told


OWN_TEST = {
    "docs/new-problem.md": "tests/test_new_problem.py",
    "docs/environment.md": "tests/test_environment.py",
    "docs/export.md": "tests/test_export.py",
}
PYTHON = {block.page: None for block in blocks() if block.kind == "python" and block.page not in OWN_TEST}


@pytest.mark.workflow
@pytest.mark.parametrize("page", PYTHON)
def test_the_python_of_a_page_runs(
    desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], page: str
) -> None:
    """Its blocks one after another, with what the page says is there; each makes something, or prints it."""
    monkeypatch.chdir(desk)
    names = at_hand()
    for block in blocks():
        if (block.page, block.kind) == (page, "python"):
            before = dict(names)
            exec(compile(block.text, str(block), "exec"), names)
            made = [name for name in names if name != "__builtins__" and names[name] is not before.get(name)]
            assert made or capsys.readouterr().out, f"{block}: nothing came of it"


def at_hand() -> dict[str, Any]:
    """What snippets that are a part of a program take from before them."""
    import numpy as np

    from clearsched.problems.dag_jobs.instance import DagJobsInstance
    from clearsched.problems.dag_jobs.problem import heuristic
    from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
    from clearsched.problems.dag_jobs.simulator.simulate import Workload
    from clearsched.problems.dag_jobs.traces import load

    profiles = compile_profiles(load("tpch-spark"))
    episode = Workload(profile=[3, 40, 7], arrival_ms=[0, 0, 5_000], num_executors=10, moving_delay_ms=2_000, seed=1)
    cluster = DagJobsInstance(profiles)
    lockstep = cluster.lockstep([episode])
    lockstep.advance()
    return {
        "profiles": profiles,
        "episode": episode,
        "workloads": [episode],
        "heuristic": heuristic,
        "lockstep": lockstep,
        "features": np.zeros((3, 39), np.float32),
    }
