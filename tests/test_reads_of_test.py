"""Only the evaluation, and what follows from it, reads test episodes: all other rules run where there are none.

Snakemake says which commands the rules are, those that may read them left out; they run here one after another, in one
process, on a file of episodes that has none of the test. To ask for a split that has no episodes is an error
(`Instance.split`), so a command that reads them fails. A rule that is added is asked about like the others.

The papers' figures are a target of their own, `paper`, whose bases are scenarios with episodes of their own.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from clearsched.cli import app
from clearsched.errors import ClearschedError
from clearsched.paper.experiments import groups_run
from clearsched.problems.dag_jobs.workloads import Workloads as DagJobs
from clearsched.problems.deferrable_jobs.workloads.files import Workloads as DeferrableJobs
from planned import in_turn
from test_workflow import REPOSITORY, snakemake, workplace

READERS = ("evaluation_run", "students_pareto_compare", "figures_draw_arrivals", "report_collect")
"""Who may read them: the evaluation, that of students of several sizes, the picture of the first episode, the page.

Left out is what follows from them too. Edge cases draw episodes of their own."""

PAPER_READERS = (*READERS, "paper_latency", *(f"paper_episodes_{group}" for group in groups_run("smoke")))
"""Who may of the rules of `paper`: its own evaluation, and the times to a decision; not fidelity, nor the optimum."""

CONFIGS = {"dag_jobs": "tiny", "deferrable_jobs": "tiny_deferrable"}
FEW = "students={pareto: {kinds: [rule_list], sizes: [2]}}"
DRAW = ("traces", "workloads")


def commands(
    folder: Path, problem: str, targets: Sequence[str] = ("all", "students_pareto"), readers: Sequence[str] = READERS
) -> list[list[str]]:
    """The arguments of `clearsched` in each rule that may not read test episodes, and each `cp` of a file.

    Figures come last: what they read is a folder, which is there before it is whole.
    """
    answer = snakemake(
        folder,
        *(*targets, "--dry-run", "--printshellcmds", "--cores", "1", "--omit-from", *readers),
        *("--config", FEW),
        config=REPOSITORY / f"tests/config/{CONFIGS[problem]}.yaml",
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    lines = (answer.stdout + answer.stderr).splitlines()
    told = [line.split("Shell command: ", 1)[1].split(" > ")[0] for line in lines if "Shell command: " in line]
    found = [shlex.split(line) for line in told if line != "None"]  # a target has none
    assert {words[0] for words in found} <= {"clearsched", "cp"}
    found = [words[words[0] == "clearsched" :] for words in found]
    return sorted(found, key=lambda words: words[:2] == ["paper", "figure"])


def without_test_episodes(path: Path) -> int:
    """Take the rows of the test out of a file of workloads, which stays what it is besides; how many they were."""
    table = pq.read_table(path)
    kept = table.filter(pc.not_equal(table["split"], "test"))
    pq.write_table(kept, path)
    return len(table) - len(kept)


def run(arguments: list[str]) -> None:
    """A command in this process; what is wrong is raised.

    Raises:
        ClearschedError: as on the command line.
    """
    if arguments[0] == "cp":
        *sources, folder = map(Path, arguments[1:])
        folder.mkdir(parents=True, exist_ok=True)
        for source in sources:
            shutil.copy(source, folder)
        return
    assert not app(arguments, prog_name="clearsched", standalone_mode=False)
    if arguments[:2] == [*DRAW]:
        assert without_test_episodes(Path(arguments[arguments.index("--out") + 1]))


def peek(problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every command look at a test episode beside those that it asks for."""
    kind = {"dag_jobs": DagJobs, "deferrable_jobs": DeferrableJobs}[problem]
    own = kind.split

    def peeking(self: object, name: str, limit: int | None = None) -> object:
        own(self, "test", 1)  # type: ignore[arg-type]
        return own(self, name, limit)  # type: ignore[arg-type]

    monkeypatch.setattr(kind, "split", peeking)


READ = "1 test episode asked for, the workloads hold 0"
"""What is said of a command that reads test episodes."""


@pytest.mark.workflow
@pytest.mark.parametrize("problem", CONFIGS)
def test_no_rule_but_the_evaluations_reads_test_episodes(
    tmp_path: Path, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = commands(workplace(tmp_path), problem)
    monkeypatch.chdir(tmp_path)
    stages = {" ".join(words[:2]) for words in listed}
    assert stages >= {
        "heuristics tune",
        "search run",
        "teacher train",
        "teacher choose",
        "decisions log",
        "students fit",
    }
    assert not stages & {"evaluation run", "edge-cases run", "students pareto"}
    for words in in_turn(listed):
        run(words)


@pytest.mark.workflow
@pytest.mark.parametrize("problem", CONFIGS)
def test_a_rule_that_reads_them_is_found(tmp_path: Path, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tuning, made to look at a test episode beside those of validation."""
    listed = commands(workplace(tmp_path), problem)
    monkeypatch.chdir(tmp_path)
    for tuning in in_turn(listed):
        if tuning[:2] == ["heuristics", "tune"]:
            break
        run(tuning)
    peek(problem, monkeypatch)
    with pytest.raises(ClearschedError, match=READ):
        run(tuning)


@pytest.mark.workflow
def test_no_rule_of_the_papers_but_their_evaluations_reads_test_episodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it would be seen: of the times to a decision, which may, and of the fidelity, made to look at one."""
    listed = commands(workplace(tmp_path), "dag_jobs", ["paper"], PAPER_READERS)
    monkeypatch.chdir(tmp_path)
    stages = {" ".join(words[:2]) for words in listed}
    assert stages >= {"heuristics tune", "teacher train", "decisions log", "students fit", "paper fidelity"}
    assert stages >= {"paper optimum", "paper figure"} and not stages & {"paper episodes", "paper latency"}
    for words in in_turn(listed):
        run(words)
    fidelity = next(words for words in listed if words[:2] == ["paper", "fidelity"])
    peek("dag_jobs", monkeypatch)
    with pytest.raises(ClearschedError, match=READ):
        run(fidelity)
    monkeypatch.undo()
    base = tmp_path / "results" / "smoke-stream"
    inputs = {
        "params": "params/paper.json",
        "trace": "traces/trace.parquet",
        "workloads": "traces/workloads.parquet",
        "tuned": "heuristics/tuned.json",
        "teacher": "teacher/teacher.safetensors",
        "student": "students/rule_list.json",
        "out": "paper/latency.parquet",
    }
    with pytest.raises(ClearschedError, match=READ):
        run(["paper", "latency", *(word for name, file in inputs.items() for word in (f"--{name}", str(base / file)))])
