"""JSON and YAML that would take minutes, gigabytes or a traceback are refused at the door, in one line, at once."""

from __future__ import annotations

import json
import math
import random
import typing
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import annotated_types
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from clearsched import documents, shipped
from clearsched.cli import app
from clearsched.documents import DEEPEST, parse_json, parse_yaml, read_json, read_yaml_value
from clearsched.errors import ClearschedError
from clearsched.heuristics.tuning import tuned_heuristic
from clearsched.params import defaults, from_settings, load, load_stage, params_model, read_overrides, stage_values
from clearsched.problems import PROBLEMS, find_problem
from clearsched.problems.dag_jobs.traces.sources import parse_settings
from clearsched.problems.dag_jobs.workloads import read_episode
from clearsched.reading import show
from clearsched.scorers.policy import load_policy
from clearsched.section import Section
from clearsched.students.patching import read_file
from clearsched.teacher import load_policy as load_teacher
from toys import stage, toy_trace

DAG_JOBS = find_problem("dag_jobs")
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
WIDE_LAUGHS = "a: &a {" + ", ".join(f"k{i}: {i}" for i in range(400)) + "}\nb: [" + ", ".join(["*a"] * 400) + "]\n"
YAML = {
    "a billion laughs": LAUGHS,
    "a wide one": WIDE_LAUGHS,
    "merged": "a: &a {k: 1}\n" + "b: {<<: [" + ", ".join(["*a"] * 100_001) + "]}\n",
    "an anchor inside itself": "a: &a [*a]\n",
    "deep lists": "a: " + "[" * 1000 + "]" * 1000,
    "deep mappings": "a: " + "{a: " * 1000 + "1" + "}" * 1000,
    "deep blocks": "".join(" " * i + "a:\n" for i in range(400)) + " " * 400 + "1",
    "unclosed": "a: " + "[" * 100_000,
    "many digits": "seed: " + "9" * 5000,
    "many digits in hexadecimal": "seed: 0x" + "f" * 5000,
    "many digits in base 60": "seed: 1" + ":59" * 2000,
    "more than 64 bits": f"seed: {2**70}",
    "a tag that lies": "seed: !!int x",
    "a time that is none": "seed: !!timestamp 2024-13-45",
    "code": "a: !!python/object/apply:os.system [true]",
    "a key twice": "seed: 1\nseed: 2\n",
    "a key twice, one quoted": 'seed: 1\n"seed": 2\n',
    "a key twice inside": "workload: {load: 0.5, load: 0.6}\n",
    "no mapping": "[1, 2]",
    "too large": "# " + "x" * documents.MOST_YAML_BYTES,
    "NUL": "a: \0",
    "a broken escape": 'a: "\\x"',
}


def refusal(read: Callable[[Path], object], path: Path) -> str:
    """What is said of a file that is not read."""
    with pytest.raises(ClearschedError) as error:
        read(path)
    return str(error.value)


@pytest.mark.parametrize("name", YAML)
def test_params_are_refused_in_one_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(YAML[name])
    line = refusal(load, path)
    assert len(line.splitlines()) == 1
    assert len(line) < 400 + len(str(path))


@pytest.mark.parametrize("scenario", ["2024-13-45", "2024-01-02", "2024-01-02T25:61:61"])
def test_a_date_is_text(tmp_path: Path, scenario: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(f"scenario: {scenario}\n")
    if ":" in scenario:
        with pytest.raises(ClearschedError, match="scenario"):
            load(path)
    else:
        assert load(path).scenario == scenario


def test_anchors_may_be_used() -> None:
    assert parse_yaml("a: &a [1, 2]\nb: *a\nc: {<<: {d: 1}, e: *a}", "here") == {
        "a": [1, 2],
        "b": [1, 2],
        "c": {"d": 1, "e": [1, 2]},
    }


@pytest.mark.parametrize("name", YAML)
def test_what_a_command_line_gives_is_refused_or_text(name: str) -> None:
    """`--set` refuses; a value of `--config` that is no YAML stays text, which the models refuse."""
    given = read_overrides({"seed": YAML[name]}, {"seed": YAML[name]})["seed"]
    assert given is None or isinstance(given, str | list | dict | int)
    try:
        parse_settings([f"jobs={YAML[name]}"])
    except ClearschedError as error:
        assert len(str(error)) < 400


JSON = {
    "deep lists": "[" * 100_000 + "]" * 100_000,
    "deep objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "unclosed": "[" * 100_000,
    "just too deep": "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1),
    "many digits": '{"seed": ' + "9" * 5000 + "}",
    "more than 64 bits": f'{{"seed": {2**70}}}',
    "a key twice": '{"a": 1, "a": 1}',
    "a key twice, one escaped": '{"a": 1, "\\u0061": 1}',
    "a key twice inside": '{"a": [{"b": 1, "c": 2, "b": 3}]}',
    "cut": '{"a": ',
    "two": "{} {}",
}


@pytest.mark.parametrize("name", JSON)
def test_json_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(JSON[name])
    readers = (
        read_json,
        load_policy,
        show,
        lambda path: load_stage(path, "traces"),
        lambda path: load_teacher(path.with_suffix(".safetensors")),
        lambda path: tuned_heuristic(DAG_JOBS, "best", path),
        lambda path: read_episode(path, toy_trace([[stage(1)]]), durations="mean", seed=0),
        lambda path: read_file(path, DAG_JOBS),
    )
    for read in readers:
        line = refusal(read, path)
        assert len(line.splitlines()) == 1
        assert len(line) < 300 + len(str(path))


def test_as_deep_as_allowed_is_read() -> None:
    assert parse_json("[" * DEEPEST + "]" * DEEPEST, "here") is not None
    assert parse_yaml("[" * DEEPEST + "]" * DEEPEST, "here") is not None
    for number in (-(2**63), 2**64 - 1, 0):
        assert parse_json(str(number), "here") == parse_yaml(str(number), "here") == number


def test_a_file_is_not_read_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with path.open("wb") as stream:
        stream.truncate(documents.MOST_JSON_BYTES + 1)  # a hole: it takes no disk
    for read in (read_json, read_yaml_value):
        with pytest.raises(ClearschedError, match="bytes"):
            read(path)


@pytest.mark.parametrize("read", [read_json, read_yaml_value])
def test_what_is_no_file_of_text_is_one_line(tmp_path: Path, read: Any) -> None:
    (tmp_path / "latin").write_bytes(b"a: \xff\xfe")
    for path in (tmp_path, tmp_path / "gone", tmp_path / "latin", tmp_path / "latin" / "x", tmp_path / ("a" * 300)):
        with pytest.raises(ClearschedError):
            read(path)
    with pytest.raises(ClearschedError):
        read(Path("/dev/zero"))


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda data: data.decode("latin-1")))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_json, parse_yaml):
        try:
            parse(text, "here")
        except ClearschedError as error:
            assert str(error).startswith("here: ")


LINES = ("seed=" + "9" * 5000, "seed=" + "[" * 100_000, 'a={"b": 1, "b": 2}', "seed=", "=1")


@pytest.mark.parametrize("line", LINES)
def test_settings_of_the_workflow_are_refused_in_one_line(line: str) -> None:
    with pytest.raises(ClearschedError) as error:
        from_settings([line])
    assert len(str(error.value)) < 300


# Numbers -----------------------------------------------------------------------------------------------------------


def numbers(model: type[Section], path: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Each number of a section, with what is known of it."""
    for name, field in model.model_fields.items():
        yield from _leaves(field.annotation, list(field.metadata), f"{path}{name}")


def _leaves(kind: Any, known: list[Any], path: str) -> Iterator[tuple[str, list[Any]]]:
    origin = typing.get_origin(kind)
    if origin is typing.Annotated:
        inner, *more = typing.get_args(kind)
        known = [*known, *(part for each in more for part in (each.metadata if hasattr(each, "metadata") else [each]))]
        yield from _leaves(inner, known, path)
    elif origin is None and isinstance(kind, type) and issubclass(kind, Section):
        yield from numbers(kind, f"{path}.")
    elif origin is None and kind in (int, float):
        yield path, known
    elif origin is not typing.Literal:
        for inner in typing.get_args(kind):
            yield from _leaves(inner, known, path)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_number_of_params_has_two_ends(problem: str) -> None:
    """So that none asks for more memory or time than there is by a slip of the hand."""
    found = dict(numbers(params_model(problem)))
    assert len(found) > 50
    for path, known in found.items():
        for ends in ((annotated_types.Ge, annotated_types.Gt), (annotated_types.Le, annotated_types.Lt)):
            assert any(isinstance(part, ends) for part in known), path


@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", "w.json", "--profiles", "t.parquet", "--policy", "fair", "--seed", str(2**70)),
        ("traces", "build", "--source", "synthetic", "--out", "t.parquet", "--seed", str(2**70)),
        ("traces", "replay", "t.parquet", "--executors", "1000000000"),
        ("traces", "replay", "t.parquet", "--executors", "2", "--seed", str(2**70)),
        ("traces", "describe", "t.parquet", "--executors", "1000000000"),
        ("evaluation", "optimum", "fair", "--out", "o", "--seed", str(2**70)),
        ("teacher", "train", "--training-seed", str(2**70)),
    ],
    ids=" ".join,
)
def test_options_have_ends(arguments: tuple[str, ...]) -> None:
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == 2
    assert "less than or equal" in " ".join(answer.output.replace("│", " ").split())


EPISODE = {
    "num_executors": 2,
    "moving_delay_ms": 0,
    "warmup_delay_ms": 0,
    "jobs": [{"query": "q0", "size": "tiny", "arrival_ms": 5}],
}


@pytest.mark.parametrize("executors", [10**9, 10**6 + 1, 0])
def test_a_cluster_of_too_many_executors_is_refused(tmp_path: Path, executors: int) -> None:
    from clearsched.problems.dag_jobs.command import simulate_file
    from clearsched.problems.dag_jobs.traces import write_trace
    from clearsched.problems.policy import heuristic

    write_trace(tmp_path / "t.parquet", toy_trace([[stage(1)]]))
    (tmp_path / "w.json").write_text(json.dumps(EPISODE | {"num_executors": executors}))
    with pytest.raises(ClearschedError, match="num_executors"):
        simulate_file(tmp_path / "w.json", tmp_path / "t.parquet", heuristic(DAG_JOBS, "fair"), "mean", 0)


# Policies ----------------------------------------------------------------------------------------------------------

TREE = {"feature": [0, -1, -1], "threshold": [1.0, 0.0, 0.0], "left": [1, 0, 0], "right": [2, 0, 0]}
STAGES: dict[str, Any] = {
    "trees": {"features": ["job_age_s"], "trees": [TREE | {"value": [0.0, 1.0, 2.0], "gain": [1.0, 0.0, 0.0]}]},
    "rules": {"rules": [{"if": "job_age_s < 1", "then": 2}, {"if": "otherwise", "then": -1}], "ties": ["-job_age_s"]},
    "points": {"points": [{"if": "job_age_s < 1", "add": 2}]},
    "network": {"features": ["job_age_s"], "network": [{"weights": [[1.0]], "bias": [0.0]}] * 2},
    "switch": {"switch": [{"if": "jobs_in_system < 5", "use": {"job_age_s": 1}}, {"if": "otherwise", "use": 1}]},
    "formula": {"weights": {"constant": 0.5}, "log_weights": {"job_age_s": {"weight": 1, "scale": 2}}},
}
LIMITS: dict[str, Any] = {
    "rules": {"rules": [{"if": "otherwise", "then": 0.5}]},
    "cap_terms": {"cap_terms": [{"times": 3, "job_sqrt_share": 1}], "up": True},
    "steps": {
        "steps": [
            {"if": "job_age_s < 2", "of": "job_sqrt_share", "below": [{"times": 2}], "plus": {"job_age_s": 0.1}},
            {"if": "otherwise", "then": 1},
        ]
    },
    "number": 0.5,
}


def student(stage_part: Any, limit: Any) -> dict[str, Any]:
    patches = [{"when": "job_age_s > 5", "do": "avoid", "because": "x", "priority": 1}]
    return {"kind": "student", "most": 10, "patches": patches, "stage": stage_part, "limit": limit}


def read_policy(path: Path, content: Any) -> None:
    """As every command reads one: compiled and shown."""
    path.write_text(json.dumps(content))
    load_policy(path).compiled  # noqa: B018
    show(path)


@pytest.mark.parametrize("share", [-1, 5, 1.0001, -0.01])
@pytest.mark.parametrize(
    "limit",
    [
        lambda share: {"rules": [{"if": "otherwise", "then": share}]},
        lambda share: {"rules": [{"if": "otherwise", "limit_share": share}]},
        lambda share: {"steps": [{"if": "otherwise", "then": share}]},
        lambda share: share,
        lambda share: {"constant": share},
        lambda share: {"points": [{"add": share}]},
        lambda share: {"switch": [{"if": "otherwise", "use": {"rules": [{"if": "otherwise", "then": share}]}}]},
    ],
)
def test_a_level_is_a_share(tmp_path: Path, limit: Any, share: float) -> None:
    with pytest.raises(ClearschedError, match="a share from 0 to 1 expected"):
        read_policy(tmp_path / "p.json", student(STAGES["rules"], limit(share)))
    read_policy(tmp_path / "p.json", student(STAGES["rules"], limit(1)))


def test_a_level_of_the_first_format_is_a_share(tmp_path: Path) -> None:
    old = {"kind": "student", "rules": [{"if": "otherwise", "score": 1}]}
    for share, right in ((0.5, True), (-1, False), (5, False)):
        content = old | {"limit_rules": [{"if": "otherwise", "limit_share": share}]}
        if right:
            read_policy(tmp_path / "p.json", content)
        else:
            with pytest.raises(ClearschedError, match="a share from 0 to 1 expected"):
                read_policy(tmp_path / "p.json", content)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a value has values inside it."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(inner, (*path, key))


def with_value(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    made = deepcopy(value)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return made


@pytest.mark.parametrize("size", [1e39, -1e39, 1e300, 10**19])
@pytest.mark.parametrize("name", STAGES)
def test_no_number_of_a_policy_is_beyond_float32(tmp_path: Path, name: str, size: float) -> None:
    whole = student(STAGES[name], LIMITS["cap_terms"])
    for path in places(whole["stage"]):
        value = whole["stage"]
        for key in path:
            value = value[key]
        if isinstance(value, int | float) and abs(size) > 1e30:
            with pytest.raises(ClearschedError):
                read_policy(tmp_path / "p.json", whole | {"stage": with_value(whole["stage"], path, size)})


WRONG = (
    None, True, -1, 5, 1e39, math.nan, math.inf, 2**63, "", "x", "1e39", [], {}, [1], {"a": 1}, [[[]]], [None],
    "otherwise", "job_age_s < 1e39",
)  # fmt: skip


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", STAGES)
def test_a_wrong_value_anywhere_in_a_policy_is_one_line(tmp_path: Path, name: str, limit: str) -> None:
    whole = student(STAGES[name], LIMITS[limit])
    draw = random.Random(f"{name} {limit}")
    for path in places(whole):
        for wrong in draw.sample(WRONG, 3):
            try:
                read_policy(tmp_path / "p.json", with_value(whole, path, wrong))
            except ClearschedError as error:
                assert len(str(error).splitlines()) == 1


TEACHER_KEYS = ("format", "kind", "problem", "none", "network", "inputs", "weights", "seed", "training_seed")


def test_a_wrong_value_anywhere_in_a_teacher_is_one_line(tmp_path: Path) -> None:
    found = shipped.find("default")
    path = tmp_path / "teacher.safetensors"
    path.write_bytes(found.read("teacher.safetensors"))
    whole = {key: value for key, value in json.loads(found.read("teacher.json")).items() if key in TEACHER_KEYS}
    path.with_suffix(".json").write_text(json.dumps(whole))
    load_teacher(path)
    for name in ("seed", "training_seed"):
        for wrong in (None, "x", -1, 2**63, 1.5, True, []):
            path.with_suffix(".json").write_text(json.dumps(whole | {name: wrong}))
            with pytest.raises(ClearschedError, match=name):
                load_teacher(path)
    draw = random.Random(1)
    for place in places(whole):
        for wrong in draw.sample(WRONG, 2):
            path.with_suffix(".json").write_text(json.dumps(with_value(whole, place, wrong)))
            try:
                load_teacher(path)
            except ClearschedError as error:
                assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize("wrong", [None, True, "x", math.nan, math.inf, [], {}, 1e400])
def test_a_parameter_of_a_heuristic_is_a_number(tmp_path: Path, wrong: Any) -> None:
    path = tmp_path / "tuned.json"
    path.write_text(json.dumps({"best": "capped_srpt", "capped_srpt": {"p": wrong}}))
    with pytest.raises(ClearschedError, match="p"):
        tuned_heuristic(DAG_JOBS, "capped_srpt", path)


def test_a_wrong_value_anywhere_in_an_episode_is_one_line(tmp_path: Path) -> None:
    trace = toy_trace([[stage(1)]])
    for place in places(EPISODE):
        for wrong in WRONG:
            (tmp_path / "w.json").write_text(json.dumps(with_value(EPISODE, place, wrong)))
            try:
                episode, _, _ = read_episode(tmp_path / "w.json", trace, durations="mean", seed=0)
            except ClearschedError as error:
                assert len(str(error).splitlines()) == 1
                continue
            assert np.all(episode.arrival_ms >= 0)


@pytest.mark.parametrize("stage_name", ["traces", "workloads", "students", "edge_cases"])
def test_a_wrong_value_anywhere_in_the_params_of_a_stage_is_one_line(tmp_path: Path, stage_name: str) -> None:
    whole = stage_values(defaults(), stage_name)
    draw = random.Random(stage_name)
    for place in draw.sample(list(places(whole)), 40):
        (tmp_path / "p.json").write_text(json.dumps(with_value(whole, place, draw.choice(WRONG))))
        try:
            load_stage(tmp_path / "p.json", stage_name)
        except ClearschedError as error:
            assert len(str(error).splitlines()) == 1
