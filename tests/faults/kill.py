"""Kill commands with SIGKILL at random points, run them again, compare the bytes of all results.

    python tests/faults/kill.py [--kills 20] [--only NAME]... [--out docs/reliability-kills.md]

Each command runs undisturbed once; then, for every kill, in a fresh folder: started, killed with all its processes at a
moment drawn between its start and its end, and run again as a user would (a workflow after `snakemake --unlock`). Its
results must then be those of the undisturbed run, byte for byte. Configuration: tests/config/killed.yaml. The workflows
run up to the tuned heuristics; stages after them are killed as commands of their own. The exit code is 1 if a result
differs or a rerun fails.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import yaml

REPOSITORY = Path(__file__).parents[2]
COPIED = ("Snakefile", "dvc.yaml", ".dvcignore", ".dvc/config", "data/tpch-spark.parquet", "src", "workflow")
LOGS = ("logs", "benchmarks")
"""Folders of what is no result: they tell how long things took."""

OF_STAGES = ["--trace", "in/traces/trace.parquet", "--workloads", "in/traces/workloads.parquet"]
OF_STAGES += ["--tuned", "in/heuristics/tuned.json"]
LEARNED = ["--teacher", "in/teacher/teacher.safetensors", "--decisions", "in/decisions/decisions.parquet"]
CLEARSCHED = [sys.executable, "-m", "clearsched"]
BUILD = [*CLEARSCHED, "traces", "build", "--source", "alibaba-like"]
FIT = [*CLEARSCHED, "students", "fit", "rule_list"]
SNAKEMAKE = [sys.executable, "-m", "snakemake"]
RESULTS = "results/killed"
LOGGED = [
    f"{RESULTS}/{name}" for name in ("params/teacher.json", "params/students.json", "decisions/decisions.parquet")
]


class Killed(NamedTuple):
    """A command to kill.

    Attributes:
        name: what the table calls it.
        command: the command line, from the root of a copy of the repository; it writes below `results`.
        unlock: whether a user unlocks Snakemake before running it again.
        inputs: whether it reads the results of the stages before it, from the folder `in`.
    """

    name: str
    command: list[str]
    unlock: bool = False
    inputs: bool = False


KILLED = (
    Killed(
        "traces build",
        [*BUILD, "--set", "jobs=50000", "--out", "results/trace.parquet"],
    ),
    Killed(
        "teacher train",
        [*CLEARSCHED, "teacher", "train", "--params", "in/params/teacher.json", *OF_STAGES, "--out", "results"],
        inputs=True,
    ),
    Killed(
        "students fit",
        [*FIT, "--params", "in/params/students.json", *OF_STAGES, *LEARNED, "--out", "results"],
        inputs=True,
    ),
    Killed("snakemake", [*SNAKEMAKE, "--cores", "2", f"{RESULTS}/heuristics/tuned.json"], unlock=True),
    Killed("dvc repro", [sys.executable, "-m", "dvc", "repro", "heuristics"], unlock=True),
)
INPUTS = Killed("stages", [*SNAKEMAKE, "--cores", "2", *LOGGED])
"""What makes the folder `in`."""


class Trial(NamedTuple):
    """What became of one kill: its moment as a share of the undisturbed run, and what was there after the rerun."""

    share: float
    ended_before: bool
    rerun_failed: str
    differing: tuple[str, ...]
    temporary_killed: int
    temporary_rerun: int


def main() -> int:
    """0 if every rerun gave the bytes of the undisturbed run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="of each command, at least 1")
    parser.add_argument("--only", action="append", choices=[each.name for each in KILLED], help="default: all")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--out", type=Path, help="file to write the table to, Markdown; else it is printed")
    arguments = parser.parse_args()
    chosen = [each for each in KILLED if not arguments.only or each.name in arguments.only]
    with tempfile.TemporaryDirectory(prefix="clearsched-kill-") as place:
        for rows in run_all(chosen, arguments.kills, Random(arguments.seed), Path(place)):
            if arguments.out:  # after each kill: hours of work are not lost with the last one
                arguments.out.write_text(table(rows), "utf-8")
    print(table(rows), end="")
    return int(any(trial.differing or trial.rerun_failed for trials in rows.values() for trial in trials))


def run_all(chosen: list[Killed], kills: int, rng: Random, place: Path) -> Iterator[dict[str, list[Trial]]]:
    """The trials of each command so far, after each of them."""
    start = workplace(place / "start")
    stages = None
    rows: dict[str, list[Trial]] = {}
    for each in chosen:
        if each.inputs and stages is None:
            stages = undisturbed(INPUTS, start, place, None)[0] / RESULTS
        whole, seconds = undisturbed(each, start, place, stages)
        expected = digests(whole / "results")
        print(f"{each.name}: {seconds:.0f} s undisturbed, {len(expected)} files", file=sys.stderr)
        rows[each.name] = []
        for number in range(kills):
            trial = kill_once(each, start, place / "killed", stages, seconds, rng, expected)
            rows[each.name].append(trial)
            print(f"{each.name} {number + 1}: {trial}", file=sys.stderr)
            yield rows


def workplace(folder: Path) -> Path:
    """A copy of what the workflow needs of the repository, with the smallest configuration as its params.yaml."""
    for name in COPIED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (REPOSITORY / name).is_dir():
            shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(REPOSITORY / name, folder / name)
    (folder / "profiles").symlink_to("workflow/profiles")
    whole = yaml.safe_load((REPOSITORY / "params.yaml").read_text("utf-8"))
    small = yaml.safe_load((REPOSITORY / "tests/config/killed.yaml").read_text("utf-8"))
    (folder / "params.yaml").write_text(yaml.safe_dump(merged(whole, small), sort_keys=False))
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    return folder


def merged(base: dict, over: dict) -> dict:
    """`base` with the values of `over`, section by section."""
    inner = {key: merged(base[key], value) for key, value in over.items() if isinstance(value, dict)}
    return base | over | inner


def fresh(each: Killed, start: Path, folder: Path, stages: Path | None) -> Path:
    """`folder` as it is before the command runs."""
    shutil.rmtree(folder, ignore_errors=True)
    if not each.inputs:
        return Path(shutil.copytree(start, folder, symlinks=True))
    assert stages is not None
    shutil.copytree(stages, folder / "in", symlinks=True)
    return folder


def undisturbed(each: Killed, start: Path, place: Path, stages: Path | None) -> tuple[Path, float]:
    """The folder of a run that nobody disturbs, and the seconds that it took."""
    folder = place / f"{each.name.replace(' ', '-')}-undisturbed"
    fresh(each, start, folder, stages)
    begin = time.monotonic()
    finish(each.command, folder)
    return folder, time.monotonic() - begin


def finish(command: list[str], folder: Path) -> None:
    """Run to the end.

    Raises:
        RuntimeError: it fails; with its last lines.
    """
    answer = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True)
    if answer.returncode:
        raise RuntimeError(f"{' '.join(command[2:5])} failed: {(answer.stdout + answer.stderr)[-1500:]}")


def environment() -> dict[str, str]:
    """The package of the repository, whose compiled code is there, and the programs beside this Python."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return os.environ | {"PYTHONPATH": str(REPOSITORY / "src"), "PATH": programs, "DVC_NO_ANALYTICS": "1"}


def kill_once(
    each: Killed,
    start: Path,
    folder: Path,
    stages: Path | None,
    seconds: float,
    rng: Random,
    expected: dict[str, str],
) -> Trial:
    """Start, kill, run again, compare."""
    fresh(each, start, folder, stages)
    share = rng.uniform(0.02, 0.98)
    process = subprocess.Popen(
        each.command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        process.wait(share * seconds)
    except subprocess.TimeoutExpired:
        kill_tree(process.pid)
    ended_before = process.wait() == 0
    temporary_killed, failed = len(temporary(folder)), ""
    try:
        if each.unlock:
            finish([*SNAKEMAKE, "--unlock"], folder)
        finish(each.command, folder)
    except RuntimeError as error:
        failed = str(error)
    found = digests(folder / "results")
    differing = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
    return Trial(share, ended_before, failed, tuple(differing), temporary_killed, len(temporary(folder)))


def kill_tree(number: int) -> None:
    """End a process and all that it started, at once: each is stopped first, so that none starts another."""
    family = [number]
    for member in family:
        try:
            os.kill(member, signal.SIGSTOP)
            tasks = Path(f"/proc/{member}/task").iterdir()
            family += [int(child) for task in tasks for child in (task / "children").read_text().split()]
        except OSError:
            continue
    for member in family:
        try:
            os.kill(member, signal.SIGKILL)
        except OSError:
            continue


def digests(results: Path) -> dict[str, str]:
    """SHA-256 of every result, by its path; hidden files and logs are none."""
    found = {}
    for path in sorted(results.rglob("*")):
        parts = path.relative_to(results).parts
        if path.is_file() and not any(part.startswith(".") or part in LOGS for part in parts):
            found["/".join(parts)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def temporary(folder: Path) -> list[Path]:
    """Hidden files below results, but for those that are there to stay."""
    kept = (".gitignore", ".snakemake_timestamp")
    return [path for path in (folder / "results").rglob(".*") if path.is_file() and path.name not in kept]


HEAD = """\
# Killed and run again

Written by `make kill` (`tests/faults/kill.py`). Each command is killed with SIGKILL, with all its processes, at a
random moment of its run, and run again in the same folder, a workflow after `snakemake --unlock`. Then all results
are compared with those of a run that nobody disturbed, byte for byte, and hidden files of unfinished writes counted.
Configuration: `tests/config/killed.yaml`, the smallest; `traces build` writes 50,000 jobs of `alibaba-like`;
`snakemake` and `dvc repro` run from params to tuned heuristics. Logs and times are no results.

| command | kills | killed at | before it ended | equal bytes | unfinished files after the kill | after the rerun |
|---|---|---|---|---|---|---|
"""


def table(rows: dict[str, list[Trial]]) -> str:
    """The page: a row a command."""
    text = HEAD
    for name, trials in rows.items():
        shares = [trial.share for trial in trials]
        equal = sum(not trial.differing and not trial.rerun_failed for trial in trials)
        cells = (
            f"`{name}`",
            f"{len(trials)}",
            f"{min(shares):.0%} to {max(shares):.0%} of the run",
            f"{sum(not trial.ended_before for trial in trials)}",
            f"{equal} of {len(trials)}",
            f"{sum(trial.temporary_killed for trial in trials)}",
            f"{sum(trial.temporary_rerun for trial in trials)}",
        )
        text += f"| {' | '.join(cells)} |\n"
    return text


if __name__ == "__main__":
    sys.exit(main())
