"""Every reader of the package: the sound files it reads, and the commands that read one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from . import service

INPUT, OUT, SEEDS = "{input}", "{out}", "{seeds}"
"""In a command: the damaged file, the folder for what is written, the folder of sound files."""


class Reader(NamedTuple):
    """What reads one kind of file.

    Attributes:
        name: what it is called.
        shape: the format, a key of `mutating.SHAPES`.
        seeds: names of sound files.
        commands: each a command line; one that begins with "call" calls a function of `CALLS` instead.
        beside: further sound files that lie beside the input.
        need: what sound files it and its commands need, one of `seeds.NEEDS`.
    """

    name: str
    shape: str
    seeds: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]
    beside: tuple[str, ...] = ()
    need: str = "stages"


SIMULATE = ("simulate", f"{SEEDS}/workload.json", "--profiles", f"{SEEDS}/trace.parquet", "--policy", INPUT)
TRACE = ("--trace", f"{SEEDS}/trace.parquet")
WORKLOADS = ("--workloads", f"{SEEDS}/workloads.parquet")
TUNING = ("heuristics", "tune", "--params", f"{SEEDS}/stage_heuristics.json", *TRACE, "--workloads", INPUT)
DRAWING = ("traces", "workloads", "--params", f"{SEEDS}/stage_workloads.json", "--trace", INPUT)
PATCHING = ("students", "patch", f"{SEEDS}/stay_and_move.json", "--patches", INPUT, *TRACE, *WORKLOADS)
BUILT = ("--out", f"{OUT}/trace.parquet")

READERS = {
    reader.name: reader
    for reader in (
        Reader(
            "event-log",
            "json lines",
            ("plain", "plain", "plain", "java.lz4", "java.snappy", "java.zstd", "log.gz", "log.zst"),
            tuple(
                ("traces", "build", "--source", "spark-eventlog", "--path", INPUT, *BUILT, *setting)
                for setting in ((), (), ("--set", "job=job-group"), ("--set", "clock=processor"))
            ),
            need="files",
        ),
        Reader(
            "alibaba",
            "csv",
            ("batch_task.csv", "batch_task.csv", "batch_task.tar.gz"),
            tuple(
                ("traces", "build", "--source", "alibaba-2018", "--path", INPUT, *BUILT, *setting)
                for setting in ((), (), ("--set", "keep=all", "--set", "after_parents=true"))
            ),
            need="files",
        ),
        Reader(
            "trace",
            "parquet",
            ("trace.parquet", "trace.parquet", "trace.arrow"),
            (
                ("traces", "validate", INPUT),
                ("traces", "describe", INPUT, "--json"),
                ("traces", "convert", INPUT, "--out", f"{OUT}/trace.arrow"),
                ("traces", "replay", INPUT, "--executors", "3"),
                (*DRAWING, "--out", f"{OUT}/workloads.parquet"),
            ),
        ),
        Reader(
            "workloads",
            "parquet",
            ("workloads.parquet",),
            (
                (*TUNING, "--out", f"{OUT}/tuning.parquet", "--out-tuned", f"{OUT}/tuned.json"),
                ("students", "show", f"{SEEDS}/stay_and_move.json", *TRACE, "--workloads", INPUT),
            ),
        ),
        Reader(
            "decisions",
            "parquet",
            ("decisions.parquet",),
            (
                ("decisions", "describe", INPUT),
                ("students", "show", f"{SEEDS}/rule_list.json", "--decisions", INPUT),
                ("students", "verify", f"{SEEDS}/rule_list.json", "--decisions", INPUT),
            ),
            need="students",
        ),
        Reader(
            "students",
            "json",
            ("rule_list.json", "boosted_trees.json"),
            (("students", "show", INPUT), ("students", "verify", INPUT), SIMULATE),
            need="students",
        ),
        Reader("searched", "json", ("stay_and_move.json",), (("search", "show", INPUT), SIMULATE)),
        Reader("teacher", "safetensors", ("teacher.safetensors",), (SIMULATE,), beside=("teacher.json",)),
        Reader(
            "teacher-json",
            "json",
            ("teacher.json",),
            ((*SIMULATE[:-1], "{folder}/teacher.safetensors"),),
            beside=("teacher.safetensors",),
        ),
        Reader("tuned", "json", ("tuned.json",), (("call", "tuned", INPUT),)),
        Reader("stage-params", "json", ("stage_workloads.json", "stage_students.json"), (("call", "stage", INPUT),)),
        Reader(
            "workload",
            "json",
            ("workload.json",),
            (("simulate", INPUT, "--profiles", f"{SEEDS}/trace.parquet", "--policy", "fair"),),
        ),
        Reader(
            "params",
            "yaml",
            ("params.yaml",),
            (
                ("params", "check", INPUT),
                ("params", "stage", "students", "--params", INPUT, "--out", f"{OUT}/stage.json"),
            ),
            need="files",
        ),
        Reader("scenario", "yaml", ("overlay.yaml",), (("call", "scenario", INPUT),), need="files"),
        Reader(
            "patches",
            "yaml",
            ("patches.yaml",),
            ((*PATCHING, "--out", OUT),),
        ),
        Reader("http", "http", ("decide.http",), (("call", "http", INPUT, f"{SEEDS}/stay_and_move.json"),)),
    )
}


def _tuned(path: Path) -> None:
    """Every heuristic of a file of tuned ones, as the stages after the tuning take them."""
    from clearsched.errors import ClearschedError
    from clearsched.evaluation.policies import load_policy
    from clearsched.heuristics.tuning import read_tuned
    from clearsched.problems import find_problem

    problem = find_problem("dag_jobs")
    found = read_tuned(path, problem)
    for name in problem.heuristics:
        if name not in found:
            raise ClearschedError(f"{path}: lacks {name}")
        load_policy(problem, name, found)


def _stage(path: Path) -> None:
    from clearsched.params import load_stage

    load_stage(path, path.stem.removeprefix("stage_"))


def _scenario(path: Path) -> None:
    """An overlay as Snakemake's configuration lists it."""
    from clearsched.params.scenarios import read_scenarios

    read_scenarios([], {"scenarios": [str(path)]}, "params.yaml")


CALLS: dict[str, Callable[..., Any]] = {"tuned": _tuned, "stage": _stage, "scenario": _scenario, "http": service.ask}
"""Readers that only Snakemake, a longer stage or a client of the service comes to; each takes paths."""

WRITTEN = ("trace.parquet", "trace.arrow", "workloads.parquet", "tuning.parquet", "tuned.json", "stage.json")
WRITTEN += ("stay_and_move.json", "stay_and_move.txt", "stay_and_move_changes.parquet")
"""What a command that succeeds may leave in its folder."""
