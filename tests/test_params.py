"""params.yaml: what is refused and in which words, and that the generated files are what the models give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clearsched.errors import ClearschedError
from clearsched.params import (
    STAGES,
    Params,
    from_settings,
    load,
    load_stage,
    parse,
    read_overrides,
    settings,
    stage_values,
    write_stage,
)
from clearsched.params.reference import default_yaml, docs_table, fields, json_schema, known_keys

REPOSITORY = Path(__file__).parents[1]


def complaint(text: str, tmp_path: Path) -> str:
    """The error line that a params.yaml of this text gets, without the file's name."""
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ClearschedError) as caught:
        load(path)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"{path}: ")
    return line.removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("trace: {}", ["trace: unknown key", "nearest known key is traces"]),
        ("traces: {sorce: x}", ["traces.sorce: unknown key", "nearest known key is traces.source", "source, path"]),
        ("executers: 1", ["executers: unknown key", "nearest known key is workload.executors"]),
        ("teacher: {clone: {epoch: 1}}", ["teacher.clone.epoch", "nearest known key is teacher.clone.epochs"]),
        ("7: 1", ["7: unknown key"]),
        ("workload: {load: 3}", ["workload.load: 3", "number > 0, < 2"]),
        ("workload: {load: 0}", ["workload.load: 0 ", "number > 0, < 2"]),
        ("workload: {load: .nan}", ["workload.load: NaN", "number > 0, < 2"]),
        ("workload: {load: '0.8'}", ['workload.load: "0.8"', "it is text: write 0.8"]),
        ("teacher: {clone: {learning_rate: 1e-3}}", ["teacher.clone.learning_rate", "it is text: write 0.001"]),
        ("workload: {executors: 2.5}", ["workload.executors: 2.5", "whole number >= 1"]),
        ("workload: {executors: true}", ["workload.executors: true", "whole number >= 1"]),
        ("workload: {mean_interarrival_s: -1}", ["workload.mean_interarrival_s: -1", "number > 0 or empty"]),
        (
            "traces: {source: tpch-decimal}",
            ['traces.source: "tpch-decimal"', "one of tpch-spark, tpch-decima", "nearest"],
        ),
        ("traces:", ["traces: empty (null)", "a section with the keys source, path"]),
        ("heuristics: {capped_srpt: {p: [1, 9]}}", ["heuristics.capped_srpt.p[1]: 9", "number >= -4, <= 4"]),
        ("heuristics: {capped_srpt: {m: []}}", ["heuristics.capped_srpt.m: []"]),
        (
            "heuristics: {weighted_fair: {alpha_min: 1, alpha_max: 0}}",
            ["heuristics.weighted_fair", "alpha_min must not"],
        ),
        ("evaluation: {policies: [fifo, fifi]}", ['evaluation.policies[1]: "fifi"', "nearest is fifo"]),
        ("evaluation: {policies: [fifo, fifo]}", ["evaluation.policies", "each name once"]),
        ("workload: {episodes: {train: 2}}", ["teacher.clone.episodes", "workload.episodes.train, which is 2"]),
        ("scenario: ../up", ['scenario: "../up"', "letters, digits"]),
        ("seed: 1\nseed: 2", ["line 2", "key 'seed' stands twice"]),
        ("traces: {source: a, source: b}", ["line 1", "key 'source' stands twice"]),
        ("seed: [", ["line 1", "not valid YAML"]),
        ("- seed", ["expected a mapping of sections"]),
        ("seed: &a [*a]", ["not a tree of settings"]),
        ("seed: -1\nworkload: {load: 9}", ["seed: -1", "(and 1 more)"]),
    ],
)
def test_bad_params_get_one_line(text: str, parts: list[str], tmp_path: Path) -> None:
    line = complaint(text, tmp_path)
    for part in parts:
        assert part in line


def test_a_missing_or_binary_file_gets_one_line(tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match="no such file"):
        load(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ClearschedError, match=r"binary\.yaml: cannot be read"):
        load(tmp_path / "binary.yaml")


def test_keys_not_given_take_their_defaults(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text("workload: {executors: 3}\n")
    params = load(path)
    assert params.workload.executors == 3
    assert params.workload.jobs == Params().workload.jobs
    path.write_text("")
    assert load(path) == Params()


def test_params_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Params().seed = 3  # type: ignore[misc]


def test_files_in_the_repository_are_what_the_models_give() -> None:
    """`make params` writes all of them. A params.yaml that was edited for a run keeps its keys, not its values."""
    assert json.loads((REPOSITORY / "docs/params.schema.json").read_text("utf-8")) == json_schema(), "run `make params`"
    assert (REPOSITORY / "docs/params.md").read_text("utf-8") == docs_table(), "run `make params`"

    def keys(tree: dict, prefix: str = "") -> list[str]:
        return [
            path
            for name, value in tree.items()
            for path in [f"{prefix}{name}", *(keys(value, f"{prefix}{name}.") if isinstance(value, dict) else [])]
        ]

    shipped = yaml.safe_load((REPOSITORY / "params.yaml").read_text("utf-8"))
    assert keys(shipped) == known_keys(), "run `make params`"
    parse(shipped, "params.yaml")


def test_default_file_holds_the_defaults() -> None:
    assert parse(yaml.safe_load(default_yaml()), "default") == Params()


def test_the_tiny_configuration_is_allowed() -> None:
    assert load(REPOSITORY / "tests/config/tiny.yaml").scenario == "tiny"


def test_every_key_is_described_and_bounded() -> None:
    for path, entry in fields():
        assert entry.get("description"), f"{path}: no description"
        if entry.get("type") == "integer":
            assert "minimum" in entry or "exclusiveMinimum" in entry, f"{path}: no lower bound"


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_sees_its_sections_and_no_other(stage: str, tmp_path: Path) -> None:
    path = tmp_path / f"{stage}.json"
    write_stage(stage_values(Params(), stage), stage, path)
    params = load_stage(path, stage)
    for section in Params.model_fields:
        if section in STAGES[stage]:
            assert getattr(params, section) == getattr(Params(), section)
        else:
            with pytest.raises(ClearschedError, match=section):
                getattr(params, section)
    assert list(params.model_dump(mode="json")) == [name for name in Params.model_fields if name in STAGES[stage]]
    assert json.loads(path.read_text()) == params.model_dump(mode="json")


def test_a_stage_refuses_the_file_of_another(tmp_path: Path) -> None:
    path = tmp_path / "traces.json"
    write_stage(stage_values(Params(), "traces"), "traces", path)
    with pytest.raises(ClearschedError, match="the stage teacher needs the sections seed, workload, teacher"):
        load_stage(path, "teacher")
    foreign = {**stage_values(Params(), "traces"), "figures": {}}
    with pytest.raises(ClearschedError, match="does not read the sections figures"):
        write_stage(foreign, "traces", tmp_path / "foreign.json")
    assert not (tmp_path / "foreign.json").exists()
    path.write_text("[1]")
    with pytest.raises(ClearschedError, match="expected the params of the stage traces"):
        load_stage(path, "traces")
    with pytest.raises(ClearschedError, match="unknown stage 'trace'"):
        load_stage(path, "trace")


def test_snakemakes_overrides_are_typed() -> None:
    """Snakemake gives `--config workload='{load: 0.7}'` as {"workload": {"load": "0.7"}}, merged over the file."""
    given = {"workload": {"load": "0.7", "mean_interarrival_s": "", "episodes": {"train": "20"}}, "seed": 3}
    config = {
        "scenario": "1",
        "seed": 3,
        "workload": {"load": "0.7", "jobs": "5", "mean_interarrival_s": "", "episodes": {"train": "20"}},
    }
    typed = read_overrides(config, given)
    assert typed["workload"] == {"load": 0.7, "jobs": "5", "mean_interarrival_s": None, "episodes": {"train": 20}}
    assert typed["scenario"] == "1", "what no override names stays as it is in the file"
    lists = read_overrides({"students": {"names": ["rule_list"]}}, {"students": {"names": ["rule_list"]}})
    assert lists == {"students": {"names": ["rule_list"]}}


def test_settings_are_one_a_leaf_and_come_back() -> None:
    values = stage_values(Params(), "workloads")
    lines = settings(values)
    assert "workload.load=0.85" in lines
    assert "workload.episodes.train=64" in lines
    assert from_settings(lines) == values
    for bad in ("seed", "seed=", "=1", ".seed=1", "seed=one"):
        with pytest.raises(ClearschedError, match="expected key=JSON"):
            from_settings([bad])
    with pytest.raises(ClearschedError, match="a value and a section"):
        from_settings(["seed=1", "seed.x=2"])


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(path=st.sampled_from(known_keys()), value=values)
def test_any_value_anywhere_is_taken_or_refused_in_one_line(path: str, value: object) -> None:
    tree = value
    for key in reversed(path.split(".")):
        tree = {key: tree}
    try:
        params = parse(tree, "params.yaml")  # type: ignore[arg-type]
    except ClearschedError as error:
        assert "\n" not in str(error)
    else:
        assert parse(params.model_dump(mode="json"), "again") == params
