"""Exported students answer as the simulator does, on its decisions and on drawn ones, in every language there is."""

from __future__ import annotations

import csv
import hashlib
import json
import re
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
from clearsched.compiled.guard import is_full, new_watch, takes_over, with_room
from clearsched.decisions import log as write_log
from clearsched.decisions.choices import Choices
from clearsched.decisions.reader import read_choices
from clearsched.errors import ClearschedError
from clearsched.export import FORMATS, export
from clearsched.export.dialect import exact
from clearsched.export.vectors import Asked, answer, drawn
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs import workloads
from clearsched.problems.dag_jobs.simulator.lockstep import Lockstep
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.traces import write_trace
from clearsched.problems.episodes import NONE
from clearsched.scorers.policy import ScoredPolicy, load_policy, names_of
from clearsched.students import ranking
from clearsched.students.settings import RankingParams
from spark_jar import HOME, JAVA, build, check
from stages import stage_params
from toys import micro_trace

ROOT = Path(__file__).parents[1]
SHIPPED = ROOT / "src" / "clearsched" / "shipped"
PROBLEM = find_problem("dag_jobs")
STAGE = PROBLEM.choices[0]
EXECUTORS = 10
LOGGED = 10_000
"""Decisions on which a language must agree."""

RULE_LIST = {
    "rules": [
        {
            "if": "job_is_source >= 1 and job_fair_load < 2.9 and job_work_left_s < 160 and "
            "stage_critical_path_s >= 3.3 and job_work_per_executor_s < 160",
            "then": 4,
        },
        {"if": "job_is_source >= 1 and job_fair_load < 2 and job_work_left_s < 110", "then": 3},
        {"if": "job_load_80 < 3 and job_load_work < 0.086", "then": 2},
        {"if": "otherwise", "then": 1},
    ],
    "ties": ["job_work_left_s", "stage_rank"],
}
CAPS = {"steps": [{"if": "otherwise", "below": [{"times": 2.1, "jobs_in_system": -1}]}]}
"""A rule list of the default scenario, and its limit."""

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


JAVA_DRIVER = """
public class Driver {
    public static void main(String[] words) throws Exception {
        final var constructor = NAME.Candidate.class.getDeclaredConstructors()[0];
        final int width = constructor.getParameterCount();
        final var in = new java.io.StreamTokenizer(new java.io.InputStreamReader(System.in));
        in.resetSyntax();
        in.wordChars(33, 126);
        in.whitespaceChars(0, 32);
        while (in.nextToken() != java.io.StreamTokenizer.TT_EOF) {
            final boolean none_allowed = in.sval.equals("1");
            in.nextToken();
            final int most = Integer.parseInt(in.sval);
            in.nextToken();
            final int count = Integer.parseInt(in.sval);
            final int[] least = new int[count];
            final var rows = new NAME.Candidate[count];
            for (int i = 0; i < count; i++) {
                in.nextToken();
                least[i] = Integer.parseInt(in.sval);
                final Object[] values = new Object[width];
                for (int k = 0; k < width; k++) {
                    in.nextToken();
                    values[k] = Float.parseFloat(in.sval);
                }
                rows[i] = (NAME.Candidate) constructor.newInstance(values);
            }
            final var found = NAME.choose(rows, most, leastNONE);
            System.out.println(found.candidate() + " " + found.limit());
        }
    }
}
"""


@pytest.mark.parametrize("name", NAMES)
def test_java_answers_as_the_simulator(
    name: str, files: dict[str, Path], logs: dict[str, tuple[ScoredPolicy, Logged]], tmp_path: Path
) -> None:
    if shutil.which("javac") is None or shutil.which("java") is None:
        pytest.skip("no Java compiler `javac`")
    policy, logged = logs[name]
    named = name.title()
    source, _ = export(files[name], "java", tmp_path / f"{named}.java")
    driver = JAVA_DRIVER.replace("NAME", named).replace("NONE", ", none_allowed" if policy.may_idle else "")
    (tmp_path / "Driver.java").write_text(driver)
    run(["javac", "-Xlint:all", "-Werror", source.name, "Driver.java"], "", tmp_path)
    found = run(["java", "Driver"], posed(policy, logged, own_columns(policy, source)), tmp_path)
    assert answered(found) == logged.answers


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not JAVA or not HOME:
        pytest.skip("no Java compiler `javac`, or no pyspark")
    return build(tmp_path_factory.mktemp("jar"))


@pytest.mark.parametrize("name", NAMES)
def test_the_spark_jar_answers_as_the_simulator(
    name: str, files: dict[str, Path], logs: dict[str, tuple[ScoredPolicy, Logged]], tmp_path: Path, jar: Path
) -> None:
    """On logged decisions the candidate and the limit, on the test vectors the rules that spoke as well."""
    policy, logged = logs[name]
    rules, vectors = export(files[name], "spark", tmp_path / f"{name}.json")
    found = check(jar, rules, text=posed(policy, logged, own_columns(policy, rules)))
    assert answered(found) == logged.answers
    assert check(jar, rules, vectors) == "200 decisions, all as the simulator answers\n"


LUA_DRIVER = """
local rules = dofile("NAME.lua")
while true do
    local none_allowed, most, count = io.read("*n", "*n", "*n")
    if not none_allowed then
        break
    end
    local rows, least = {}, {}
    for i = 1, count do
        least[i] = io.read("*n")
        rows[i] = {}
        for _, name in ipairs(rules.features) do
            rows[i][name] = io.read("*n")
        end
    end
    local found = rules.choose(rows, most, least, none_allowed == 1)
    print(string.format("%d %d", found.candidate and found.candidate - 1 or -1, found.limit))
end
"""


@pytest.mark.parametrize("name", NAMES)
def test_lua_answers_as_the_simulator(
    name: str, files: dict[str, Path], logs: dict[str, tuple[ScoredPolicy, Logged]], tmp_path: Path
) -> None:
    lua = next(filter(None, map(shutil.which, ("lua", "lua5.4", "lua5.3", "luajit"))), None)
    if lua is None:
        pytest.skip("no Lua")
    policy, logged = logs[name]
    source, _ = export(files[name], "lua", tmp_path / f"{name}.lua")
    (tmp_path / "driver.lua").write_text(LUA_DRIVER.replace("NAME", name))
    found = run([lua, "driver.lua"], posed(policy, logged, own_columns(policy, source)), tmp_path)
    assert answered(found) == logged.answers


@pytest.mark.parametrize("name", [name for name in NAMES if name != "patched"])
def test_onnx_answers_as_the_simulator(
    name: str, files: dict[str, Path], logs: dict[str, tuple[ScoredPolicy, Logged]], tmp_path: Path
) -> None:
    pytest.importorskip("onnx", reason="no onnx")
    runtime = pytest.importorskip("onnxruntime", reason="no onnxruntime")
    policy, logged = logs[name]
    source, _ = export(files[name], "onnx", tmp_path / f"{name}.onnx")
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = 1  # trees are added in their order
    session = runtime.InferenceSession(source, settings, providers=["CPUExecutionProvider"])
    told = json.loads(session.get_modelmeta().custom_metadata_map["features"])
    columns = [names_of(policy.rank).index(feature) for feature in told]
    assert columns == own_columns(policy, source)
    for asked, expected in zip(logged.asked, logged.answers, strict=True):
        given = {"candidates": asked.features[:, columns], "most": np.array(asked.most), "least": asked.least}
        given |= {"none_allowed": np.array(asked.none_allowed)} if policy.may_idle else {}
        candidate, limit = session.run(["candidate", "limit"], given)
        if name == "formula" and int(candidate) != expected[0]:
            # The runtime's logarithms of equal numbers differ by the last digit from place to place.
            scores = policy.scores(asked.features)
            assert scores[candidate] == pytest.approx(scores[expected[0]], abs=1e-12)
            continue
        assert (int(candidate), int(limit)) == expected


def test_the_logs_hold_what_they_should(logs: dict[str, tuple[ScoredPolicy, Logged]]) -> None:
    """Every answer that a student may give is among the decisions on which languages are compared."""
    for name in ("idling", "patched", "boosted_trees"):
        assert any(candidate == NONE for candidate, _ in logs[name][1].answers), name
    for name, (_, logged) in logs.items():
        assert len(logged.asked) == LOGGED
        assert len({limit for _, limit in logged.answers}) > 2, name
        assert max(len(asked.features) for asked in logged.asked) > 5


@pytest.mark.parametrize("name", NAMES)
def test_the_vectors_are_those_that_the_code_answers(name: str, files: dict[str, Path], tmp_path: Path) -> None:
    """Rows on both sides of every threshold: candidate, limit, and the rules that spoke."""
    source, vectors = export(files[name], "python", tmp_path / f"{name}.py")
    module, decisions = imported(source), {}
    for row in csv.DictReader(vectors.open()):
        decisions.setdefault(row["decision"], []).append(row)
    assert len(decisions) == 200
    rules = set()
    for rows in decisions.values():
        first = rows[0]
        given = [
            [float(row[feature.name]) for feature in module_features(load_policy(files[name]), row)] for row in rows
        ]
        more = {"none_allowed": first["none_allowed"] == "1"} if "none_allowed" in first else {}
        found = module.choose(given, int(first["most"]), [int(row["least"]) for row in rows], **more)
        place = NONE if found.candidate is None else found.candidate
        assert (str(place), str(found.limit)) == (first["candidate"], first["limit"])
        assert (found.rule, found.limit_rule) == (first["rule"], first["limit_rule"])
        rules |= {found.rule, found.limit_rule}
    assert len(rules) > 1


def module_features(policy: ScoredPolicy, row: dict[str, str]) -> list[Any]:
    """The features of a problem that a row of vectors has."""
    return [feature for feature in policy.rank.features if feature.name in row]


@given(st.floats(-(2.0**99), 2.0**99, width=32), st.integers(-2, 2))
def test_a_literal_parts_float32_numbers_as_the_threshold_does(threshold: float, steps: int) -> None:
    """A language whose numbers are float64 compares with a decimal; the loop compares float32."""
    value = np.float32(threshold)
    for _ in range(abs(steps)):
        value = np.nextafter(value, np.float32(np.inf if steps > 0 else -np.inf))
    assert (float(value) < float(exact(threshold))) == bool(value < np.float32(threshold))


def test_literals_read_as_rules_do() -> None:
    assert [exact(value) for value in (4.8, 160.0, 2.9)] == ["4.8", "160.0", "2.9"]
    assert exact(0.3) == "0.3" and float(exact(0.7)) == float(np.float32(0.7)) != 0.7


def test_the_file_tells_where_it_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "stay_and_move.json"
    shutil.copy(SHIPPED / "default" / "stay_and_move.json", path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    for name, entry in FORMATS.items():
        if entry.vectors and name != "onnx":
            text = export(path, name)[0].read_text("utf-8")
            if name == "spark":  # the lines stand in lists
                text = " ".join([*json.loads(text)["header"], *re.findall(r"\"(.*)\",?$", text, re.MULTILINE)])
            text = " ".join(text.split())
            for told in (
                f"From: stay_and_move.json, sha256 {digest}",
                "trace c7633a1b78ddbcb8",
                "mean job completion time 20.1615 s on 32 validation episodes",
                "time since the job arrived [s]",
                "Apache-2.0",
                "3. else if job_is_source >= 1 -> score 1000, and",
            ):
                assert told in text, (name, told)
            assert "restarts" not in text


def code_of_page(language: str) -> list[str]:
    """The blocks of docs/export.md in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "docs/export.md").read_text("utf-8"), re.S | re.M)


@pytest.mark.parametrize("language", ["python", "c"])
def test_the_page_shows_what_is_written(tmp_path: Path, language: str) -> None:
    """docs/export.md, of examples/rule_list.json."""
    out = tmp_path / f"rules{FORMATS[language].suffix}"
    written = export(ROOT / "examples/rule_list.json", language, out)[0].read_text()
    shown = code_of_page(language)[0].partition("    ...\n")
    assert (shown[2] or shown[0]) in written


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    export(ROOT / "examples/rule_list.json", "python", tmp_path / "rules.py")
    asked = code_of_page("python")[1]
    answer = subprocess.run([sys.executable, "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"# {answer.stdout}" in asked


def test_who_exports_rules_that_are_not_safe_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export(student(tmp_path, "mine", RULE_LIST), "python", tmp_path / "mine.py")
    assert capsys.readouterr().err == ""
    export(student(tmp_path, "mine", RULE_LIST, stress={"worst": 1.2, "of_limit": 4.6}), "python", tmp_path / "mine.py")
    assert capsys.readouterr().err.startswith("mine is not safe: on an episode a measure is 4.60 times its limit; ")


def test_the_rules_stand_in_their_order(tmp_path: Path) -> None:
    text = export(student(tmp_path, "rules", RULE_LIST), "c")[0].read_text()
    places = [text.index(told) for told in ("// 1. if job_is", '"rule 1"', "// 2. else", '"rule 2"', '"rule 4"')]
    assert places == sorted(places)


def test_a_problem_without_a_level(tmp_path: Path) -> None:
    rules = {"rules": [{"if": "job_is_late >= 1", "then": 1}, {"if": "otherwise", "then": 0}], "ties": ["job_cpu"]}
    path = tmp_path / "late.json"
    path.write_text(json.dumps({"kind": "student", "problem": "deferrable_jobs", "none": True, "start": rules}))
    module = imported(export(path, "python")[0])
    assert module.choose([(3.0, 0.0), (2.0, 1.0), (1.0, 1.0)]) == (2, "rule 1")
    assert module.choose([(3.0, 0.0)]) == (None, "rule 2")
    assert module.choose([(3.0, 0.0)], none_allowed=False) == (0, "rule 2")
    assert module.choose([]) == (None, "")
    with pytest.raises(ValueError, match="candidate 1: a feature or the score is not a finite number"):
        module.choose([(1.0, 1.0), (float("nan"), 1.0)])


def test_vectors_are_drawn_alike_every_time(files: dict[str, Path]) -> None:
    policy = load_policy(files["rule_list"])
    asked, again = (list(islice(drawn(policy, 5), 5)) for _ in range(2))
    assert [answer(policy, one) for one in asked] == [answer(policy, one) for one in again]


def test_vectors_are_taken_from_a_log(tmp_path: Path, files: dict[str, Path]) -> None:
    """The rows are the log's; the answer is the student's, whatever the log's expert did."""
    trace, jobs, decisions = (tmp_path / f"{name}.parquet" for name in ("trace", "workloads", "decisions"))
    params = stage_params(
        workload={"executors": 4, "jobs": 5, "episodes": {"train": 4, "validation": 3, "test": 1}},
        decisions={"episodes": 3, "held_out": 2},
    )
    write_trace(trace, micro_trace())
    workloads.build(params, trace, jobs)
    write_log(params, trace, jobs, None, "fifo", decisions)
    source, vectors = export(files["rule_list"], "python", tmp_path / "rules.py", decisions, 20)
    logged, rows = read_choices(decisions, PROBLEM, "stage"), list(csv.DictReader(vectors.open()))
    assert len({row["decision"] for row in rows}) == 20
    features = logged.features[~logged.is_none][: len(rows)]
    for name in imported(source).Candidate._fields:
        column = names_of(STAGE).index(name)
        assert [np.float32(row[name]) for row in rows] == features[:, column].tolist()


GUARD = {"heuristic": "fair", "when": {"backlog_s": {"above": 300, "until": 150}}}
GUARD_DRIVERS = {
    "c": """
#include "NAME.c"
#include <stdio.h>

int main(void)
{
    int was = 0;
    double backlog, stall;
    while (scanf("%lf %lf", &backlog, &stall) == 2)
        printf("%d\\n", was = NAME_takes_over(was, backlog, stall));
    return 0;
}
""",
    "java": """
public class Driver {
    public static void main(String[] words) {
        final var in = new java.util.Scanner(System.in).useLocale(java.util.Locale.ROOT);
        boolean was = false;
        while (in.hasNextDouble()) {
            was = NAME.takesOver(was, in.nextDouble(), in.nextDouble());
            System.out.println(was ? 1 : 0);
        }
    }
}
""",
    "lua": """
local rules, was = dofile("NAME.lua"), false
while true do
    local backlog, stall = io.read("*n", "*n")
    if not backlog then
        break
    end
    was = rules.takes_over(was, backlog, stall)
    print(was and 1 or 0)
end
""",
}
"""Programs that read two gauges a line and print who decides."""


def driven(language: str, source: Path) -> list[str | Path]:
    """The command of a program around an exported file; it is skipped where the language is not there."""
    names = {"c": ("cc",), "java": ("javac",), "lua": ("lua", "lua5.4", "lua5.3", "luajit")}[language]
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip(f"no {names[0]}")
    driver = source.parent / {"c": "driver.c", "java": "Driver.java", "lua": "driver.lua"}[language]
    driver.write_text(GUARD_DRIVERS[language].replace("NAME", source.stem))
    if language == "lua":
        return [found, driver.name]
    if language == "java":
        run([found, "-Xlint:all", "-Werror", source.name, driver.name], "", source.parent)
        return ["java", "Driver"]
    run(
        [found, "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", driver.name, "-o", "driver", "-lm"],
        "",
        source.parent,
    )
    return [source.parent / "driver"]


@pytest.mark.parametrize("language", ["python", "c", "java", "lua"])
def test_an_exported_guard_takes_over_as_the_simulators(language: str, tmp_path: Path) -> None:
    """10,000 decisions, gauges on both sides of the bounds and at them."""
    when = {"backlog_s": {"above": 3.0, "until": 1.0}, "stall_s": {"above": 5.0, "until": 2.5}}
    policy = load_policy(student(tmp_path, "Mine", RULE_LIST, guard={"heuristic": "fair", "when": when}))
    assert policy.guard is not None
    bounds = policy.guard.compiled(PROBLEM, None).bounds
    random = np.random.default_rng(11)
    near = np.array([0.0, 1.0, np.nextafter(1.0, 2.0), 2.5, 3.0, np.nextafter(3.0, 4.0), 5.0, 40.0])
    gauges = near[np.minimum(random.geometric(0.4, (10_000, 2)) - 1, len(near) - 1)]
    watch, expected = new_watch(bounds), []
    for now, (backlog, stall) in enumerate(gauges):
        watch = with_room(watch) if is_full(watch) else watch
        watch.values[:] = backlog, stall, 0.0
        expected.append(bool(takes_over(bounds, watch, float(now))))
    assert 1_000 < sum(expected) < 9_000
    source = export(tmp_path / "Mine.json", language)[0]
    if language == "python":
        module, was, found = imported(source), False, []
        for pair in gauges.tolist():
            was = module.takes_over(was, *pair)
            found.append(was)
    else:
        text = "".join(f"{backlog!r} {stall!r}\n" for backlog, stall in gauges.tolist())
        found = [line == "1" for line in run(driven(language, source), text, tmp_path).splitlines()]
    assert found == expected
    told = " ".join(re.sub(r"^\W+", "", line, flags=re.MULTILINE) for line in source.read_text().splitlines())
    sentence = policy.guard.sentence(PROBLEM)
    assert sentence[1:] in " ".join(told.split())
    assert "takes" not in export(student(tmp_path, "Alone", RULE_LIST), language)[0].read_text()


NETWORK = {
    "features": ["job_age_s"],
    "network": [{"weights": [[1.0]], "bias": [0.0]}, {"weights": [[1.0]], "bias": [1.0]}],
}


@pytest.mark.parametrize(
    ("change", "arguments", "told"),
    [
        ({}, ("--format", "pyton"), "unknown format 'pyton': known are python, c, "),
        ({}, ("--format", "pyton"), "; did you mean python?"),
        ({"kind": "teacher"}, ("--format", "c"), "no policy: an object with"),
        ({"problem": "dag_job"}, ("--format", "c"), "unknown problem 'dag_job': known are dag_jobs, deferrable_jobs"),
        ({"problem": "deferrable_jobs"}, ("--format", "c"), "start: missing"),
        ({"stage": {"job_ages": 1}}, ("--format", "c"), "unknown feature 'job_ages'; did you mean job_age_s?"),
        ({"stage": NETWORK}, ("--format", "c"), "a scorer of this kind (Perceptron) is not made of rules"),
        ({"patches": PATCHES}, ("--format", "onnx"), "export"),
        ({"guard": GUARD}, ("--format", "spark"), "its guard watches the cluster and calls a heuristic, which Spark"),
        ({"guard": GUARD}, ("--format", "onnx"), "its guard watches the cluster and calls a heuristic, which ONNX"),
        ({}, ("--format", "python", "--out", "SELF"), "is what is read: write to another place"),
        ({}, ("--format", "java", "--out", "FOLDER/1.java"), "'1' is no name there"),
        ({}, ("--format", "c", "--decisions", "missing.parquet"), "missing.parquet: no such file"),
    ],
)
def test_bad_input_is_told_in_a_line(
    change: dict[str, Any], arguments: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    path = student(tmp_path, "mine", **{"stage": RULE_LIST, **change})
    given = [word.replace("SELF", str(path)).replace("FOLDER", str(tmp_path)) for word in arguments]
    found = CliRunner().invoke(app, ["export", str(path), *given])
    assert isinstance(found.exception, ClearschedError)
    assert told in str(found.exception) and "\n" not in str(found.exception)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.json"], "nothing half written"


def test_the_command_ends_with_2(tmp_path: Path) -> None:
    program = [sys.executable, "-c", "from clearsched.cli import main; main()"]
    given = ["export", str(tmp_path / "none.json"), "--format", "python"]
    found = subprocess.run([*program, *given], capture_output=True, text=True)
    assert found.returncode == 2
    assert found.stderr == f"clearsched: {tmp_path / 'none.json'}: no such file\n"


def test_the_schema_takes_every_student(files: dict[str, Path], tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    (path,) = export(files["patched"], "json-schema", tmp_path / "student.schema.json")
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    checker = jsonschema.Draft202012Validator(schema)
    for file in [*files.values(), *SHIPPED.glob("*/stay_and_move.json")]:
        checker.validate(json.loads(file.read_text()))
    checker.validate(json.loads(student(tmp_path, "network", NETWORK).read_text()))
    checker.validate(json.loads(student(tmp_path, "guarded", RULE_LIST, guard=GUARD).read_text()))


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "teacher"},
        {"problem": "deferrable_jobs"},
        {"none": 1},
        {"most": -1},
        {"stage": {"job_ages": 1}},
        {"stage": {"rules": []}},
        {"stage": {"rules": [{"then": 1}]}},
        {"stage": {**RULE_LIST, "ties": ["job_ages"]}},
        {"limit": {**SHARES, "ties": ["job_age_s"]}},
        {"stage": {"steps": [{"if": "otherwise", "than": 1}]}},
        {"stage": {"trees": [{"feature": [-1]}], "features": ["job_age_s"]}},
        {"stage": {"formula": {"job_age_s": 1e31}}},
        {"patches": [{"when": "always", "do": "prefer", "cap": 0.5}]},
        {"patches": [{"when": "always", "do": "hurry"}]},
        {"guard": {**GUARD, "when": {"backlog": {"above": 3, "until": 1}}}},
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(
    change: dict[str, Any], files: dict[str, Path], tmp_path: Path
) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    (path,) = export(files["patched"], "json-schema", tmp_path / "student.schema.json")
    broken = student(tmp_path, "broken", **{"stage": RULE_LIST, **change})
    with pytest.raises(ClearschedError):
        load_policy(broken, PROBLEM)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(json.loads(path.read_text())).validate(json.loads(broken.read_text()))
