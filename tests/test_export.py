"""Exported students answer as the simulator does: on its decisions and on drawn ones, in every language there is here."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from clearsched.cli import app
from clearsched.decisions.choices import Choices
from clearsched.errors import ClearschedError
from clearsched.export import FORMATS, export
from clearsched.export.dialect import exact
from clearsched.export.vectors import Asked, answer, drawn
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.simulator.lockstep import Lockstep
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.problem import NONE
from clearsched.scorers.policy import ScoredPolicy, load_policy, names_of
from clearsched.students import ranking
from clearsched.students.settings import RankingParams
from toys import micro_trace

SHIPPED = Path(__file__).parents[1] / "src" / "clearsched" / "shipped"
PROBLEM = find_problem("dag_jobs")
STAGE = PROBLEM.choices[0]
EXECUTORS = 10
LOGGED = 10_000
"""Decisions on which a language must agree."""

RULE_LIST = {
    "rules": [
        {
            "if": "job_is_source >= 1 and job_fair_load < 2.9 and job_work_left_s < 160 and stage_critical_path_s >= 3.3"
            " and job_work_per_executor_s < 160",
            "then": 4,
        },
        {"if": "job_is_source >= 1 and job_fair_load < 2 and job_work_left_s < 110", "then": 3},
        {"if": "job_load_80 < 3 and job_load_work < 0.086", "then": 2},
        {"if": "otherwise", "then": 1},
    ],
    "ties": ["job_work_left_s", "stage_rank"],
}
CAPS = {"steps": [{"if": "otherwise", "below": [{"times": 2.1, "jobs_in_system": -1}]}]}
"""The rule list that the README shows, and its limit."""

IDLING = {
    "rules": [
        {"if": "job_is_source >= 1 and job_fair_load < 2", "then": 2},
        {"if": "job_load_80 < 1.3", "then": 1},
        {"if": "otherwise", "then": 0},
    ],
    "ties": ["-stage_critical_path_s", "job_work_left_s"],
}
SHARES = {"rules": [{"if": "jobs_in_system < 3", "then": 0.7}, {"if": "otherwise", "then": 0.25}]}
PATCHES = [
    {"when": "job_age_s > 20", "do": "prefer", "because": "nobody waits for ever"},
    {"when": "job_work_left_s > 60 s and stage_is_ready < 1", "do": "avoid"},
    {"when": "parked_share > 0.5", "do": "idle", "priority": -1},
    {"when": "jobs_in_system > 4", "cap": 0.3},
]
FORMULA = {
    "weights": {"constant": 0.5, "job_work_left_s": -0.02, "stage_is_ready": 3},
    "log_weights": {"job_age_s": {"weight": 0.3, "scale": 4.5}, "job_work_rank": {"weight": -2, "scale": 1}},
}
TERMS = {"cap_terms": [{"times": 3, "job_sqrt_share": 1}, {"times": 0.05, "job_work_left_s": 0.7}]}
POINTS = {
    "points": [
        {"if": "job_is_source >= 1", "add": 3},
        {"if": "job_work_rank >= 2", "add": -2},
        {"if": "stage_is_ready >= 1 and job_age_s < 9.7", "add": 1},
    ],
    "ties": ["job_work_left_s"],
}
SWITCH = {"switch": [{"if": "jobs_in_system < 3.3", "use": POINTS}, {"if": "otherwise", "use": RULE_LIST}]}


def student(folder: Path, name: str, stage: Any, limit: Any = CAPS, **more: Any) -> Path:
    """A student's file."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"kind": "student", "name": name, "stage": stage, "limit": limit, "most": 10, **more}))
    return path


class Logged(NamedTuple):
    """Decisions of the simulator and its answers."""

    asked: list[Asked]
    answers: list[tuple[int, int]]  # candidate, limit


def episodes() -> Iterator[Workload]:
    """As in the default scenario: 20 jobs on 10 executors that come one after another."""
    trace = micro_trace()
    for number in range(10**6):
        random = np.random.default_rng([7, number])
        arrivals = np.cumsum(random.exponential(2500.0, 20)).astype(np.int64)
        yield Workload(random.integers(trace.num_profiles, size=20), arrivals, EXECUTORS, 2000, number)


def log(policy: ScoredPolicy, count: int = LOGGED) -> Logged:
    """Decisions that the compiled policy takes in the simulator, one after another."""
    lockstep = Lockstep(compile_profiles(micro_trace()), episodes(), 8, keep_results=False)
    asked: list[Asked] = []
    answers: list[tuple[int, int]] = []
    while len(asked) < count:
        lockstep.advance()
        seen, found = lockstep.observe(), lockstep.ask(policy.compiled)
        for b in range(seen.num_decisions):
            rows = slice(seen.candidate_start[b], seen.candidate_start[b + 1])
            least = seen.levels[rows, 0].copy()
            asked.append(Asked(seen.candidates[rows].copy(), bool(seen.none_allowed[b]), EXECUTORS, least))
            answers.append((int(found.candidate[b]), int(found.level[b])))
        lockstep.answer(found)
    return Logged(asked[:count], answers[:count])


@cache
def boosted() -> Any:
    """Boosted trees as students are fitted, on decisions of the shipped policy."""
    found = log(load_policy(SHIPPED / "default" / "stay_and_move.json"), 1500)
    kept = [(a, b) for a, (b, _) in zip(found.asked, found.answers, strict=True) if b != NONE]
    sizes = np.array([len(a.features) for a, _ in kept])
    starts = np.append(0, np.cumsum(sizes))
    rows = np.concatenate([a.features for a, _ in kept])
    chosen = starts[:-1] + [b for _, b in kept]
    score = np.zeros(len(rows))
    score[chosen] = 1.0
    order = np.arange(len(kept))
    choices = Choices(
        rows,
        starts,
        chosen,
        np.arange(len(rows)),
        np.zeros(len(rows), np.int64),
        score,
        score,
        order,
        order,
        order.astype(np.float64),
    )
    trees = ranking.learn(choices, STAGE.features, RankingParams(), 1)
    return {"features": list(names_of(STAGE)), "trees": trees}


def students(folder: Path) -> dict[str, Path]:
    """Students of every kind that is exported, by name."""
    shipped = folder / "stay_and_move.json"
    shutil.copy(SHIPPED / "default" / "stay_and_move.json", shipped)
    return {
        "stay_and_move": shipped,
        "rule_list": student(folder, "rule_list", RULE_LIST),
        "idling": student(folder, "idling", IDLING, SHARES, none=True),
        "boosted_trees": student(folder, "boosted_trees", boosted(), none=True),
        "patched": student(folder, "patched", IDLING, TERMS, none=True, patches=PATCHES),
        "formula": student(folder, "formula", FORMULA, TERMS, none=True),
        "switch": student(folder, "switch", SWITCH, {"cap_terms": TERMS["cap_terms"], "up": True}),
    }


NAMES = ("stay_and_move", "rule_list", "idling", "boosted_trees", "patched", "formula", "switch")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return students(tmp_path_factory.mktemp("students"))


@pytest.fixture(scope="module")
def logs(files: dict[str, Path]) -> dict[str, tuple[ScoredPolicy, Logged]]:
    """What the simulator decides under each of them."""
    loaded = {name: load_policy(path) for name, path in files.items()}
    return {name: (policy, log(policy)) for name, policy in loaded.items()}


def imported(path: Path) -> ModuleType:
    """A module from a file."""
    spec = spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def own_columns(policy: ScoredPolicy, path: Path) -> list[int]:
    """The columns of the features that an exported file asks for: those that its test vectors have."""
    header = next(csv.reader(path.with_suffix(".vectors.csv").open()))
    return [place for place, name in enumerate(names_of(policy.rank)) if name in header]


@pytest.mark.parametrize("name", NAMES)
def test_python_answers_as_the_simulator(
    name: str, files: dict[str, Path], logs: dict[str, tuple[ScoredPolicy, Logged]], tmp_path: Path
) -> None:
    policy, logged = logs[name]
    source, _ = export(files[name], "python", tmp_path / f"{name}.py")
    module, columns = imported(source), own_columns(policy, source)
    given = {"none_allowed"} & set(module.choose.__code__.co_varnames)
    for asked, expected in zip(logged.asked, logged.answers, strict=True):
        more = {"none_allowed": asked.none_allowed} if given else {}
        found = module.choose(asked.features[:, columns].tolist(), asked.most, asked.least.tolist(), **more)
        assert (NONE if found.candidate is None else found.candidate, found.limit) == expected


def posed(policy: ScoredPolicy, logged: Logged, columns: list[int]) -> str:
    """The decisions as lines of numbers: none allowed, most, candidates; and a line each: least, features."""
    lines = []
    for asked in logged.asked:
        lines.append(f"{int(asked.none_allowed)} {asked.most} {len(asked.features)}")
        for row, least in zip(asked.features[:, columns].tolist(), asked.least.tolist(), strict=True):
            lines.append(" ".join([str(least), *map(repr, row)]))
    return "\n".join(lines) + "\n"


def answered(text: str) -> list[tuple[int, int]]:
    """What a driver prints: candidate and limit in each line."""
    found = (line.split() for line in text.splitlines())
    return [(int(candidate), int(limit)) for candidate, limit in found]


C_DRIVER = """
#include "NAME.c"
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    int none_allowed, most, count, least[200];
    static struct NAME_candidate rows[200];
    while (scanf("%d %d %d", &none_allowed, &most, &count) == 3) {
        for (int i = 0; i < count; i++) {
            float *values = (float *)&rows[i];
            if (scanf("%d", &least[i]) != 1)
                return 1;
            for (unsigned k = 0; k < sizeof rows[0] / sizeof(float); k++)
                if (scanf("%f", &values[k]) != 1)
                    return 1;
        }
        (void)none_allowed;
        const struct NAME_decision found = NAME_choose(rows, count, most, leastNONE);
        printf("%d %d\\n", found.candidate, found.limit);
    }
    return 0;
}
"""


def run(command: Sequence[str | Path], text: str, folder: Path) -> str:
    """What a program prints."""
    answer = subprocess.run(command, input=text, capture_output=True, text=True, cwd=folder)
    assert answer.returncode == 0, answer.stderr[-2000:]
    return answer.stdout


@pytest.mark.parametrize("name", NAMES)
def test_c_answers_as_the_simulator(
    name: str, files: dict[str, Path], logs: dict[str, tuple[ScoredPolicy, Logged]], tmp_path: Path
) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler `cc`")
    policy, logged = logs[name]
    source, _ = export(files[name], "c", tmp_path / f"{name}.c")
    driver = C_DRIVER.replace("NAME", name).replace("NONE", ", none_allowed" if policy.may_idle else "")
    (tmp_path / "driver.c").write_text(driver)
    strict = ["-std=c11", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    run([compiler, *strict, "driver.c", "-o", "driver", "-lm"], "", tmp_path)
    found = run([tmp_path / "driver"], posed(policy, logged, own_columns(policy, source)), tmp_path)
    assert answered(found) == logged.answers


def test_the_logs_hold_what_they_should(logs: dict[str, tuple[ScoredPolicy, Logged]]) -> None:
    """Every answer that a student may give is among the decisions on which languages are compared."""
    for name in ("idling", "patched", "boosted_trees"):
        assert any(candidate == NONE for candidate, _ in logs[name][1].answers), name
    for name, (_, logged) in logs.items():
        assert len(logged.asked) == LOGGED
        assert len({limit for _, limit in logged.answers}) > 2, name
        assert max(len(asked.features) for asked in logged.asked) > 5
