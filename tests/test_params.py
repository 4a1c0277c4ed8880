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
    defaults,
    from_settings,
    load,
    load_stage,
    params_model,
    parse,
    read_overrides,
    read_scenarios,
    settings,
    stage_values,
    write_stage,
)
from clearsched.params.checking import RENAMED
from clearsched.params.reference import default_yaml, fields, json_schema, known_keys
from clearsched.params.scenarios import merge
from clearsched.params.tables import docs_table
from clearsched.problems import PROBLEMS, find_problem
from clearsched.search.families import FAMILIES
from clearsched.students.kinds import settings_of

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
        (
            "students: {patches: [{when: always, do: avoid}, {wehn: always, do: avoid}]}",
            ["students.patches[1].wehn: unknown key; the nearest", "is students.patches[1].when; known here: when, do"],
        ),
        (
            "students: {patches: [{when: always, doo: avoid}]}",
            [
                "students.patches[0].doo: unknown key; the nearest",
                "key is students.patches[0].do; known here: when, do",
            ],
        ),
        (
            "students: {patches: [{when: always, executers: 3}]}",
            ["students.patches[0].executers: unknown key; known here: when, do, cap, because, priority"],
        ),
        (
            "students: {pareto: {further: [{knid: rule_list}]}}",
            [
                "students.pareto.further[0].knid: ",
                "key is students.pareto.further[0].kind; known here: kind, by, sizes",
            ],
        ),
        (
            "traces: {mix: [{wieght: 2}]}",
            ["traces.mix[0].wieght: unknown key; the nearest known key is traces.mix[0].weight; known here: source,"],
        ),
        ("workload: {load: 3}", ["workload.load: 3", "number > 0, < 2"]),
        ("workload: {load: 0}", ["workload.load: 0 ", "number > 0, < 2"]),
        ("workload: {load: .nan}", ["workload.load: NaN", "number > 0, < 2"]),
        ("workload: {load: '0.8'}", ['workload.load: "0.8"', "it is text: write 0.8"]),
        ("teacher: {clone: {learning_rate: 1e-3}}", ["teacher.clone.learning_rate", "it is text: write 0.001"]),
        ("workload: {executors: 2.5}", ["workload.executors: 2.5", "whole number >= 1"]),
        ("workload: {executors: true}", ["workload.executors: true", "whole number >= 1"]),
        (
            "workload: {mean_interarrival_s: -1}",
            ["workload.mean_interarrival_s: -1", "number > 0, <= 1000000000 or"],
        ),
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
    assert params.workload.jobs == defaults().workload.jobs
    path.write_text("")
    assert load(path) == defaults()


def test_params_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        defaults().seed = 3  # type: ignore[misc]


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


@pytest.mark.parametrize("problem", PROBLEMS)
def test_default_file_holds_the_defaults(problem: str) -> None:
    params = parse(yaml.safe_load(default_yaml(problem)), "default")
    assert params == defaults(problem).named()
    assert default_yaml(problem).index("problem:") < default_yaml(problem).index("scenario:")


def test_the_tiny_configuration_is_allowed() -> None:
    assert load(REPOSITORY / "tests/config/tiny.yaml").scenario == "tiny"


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_key_is_described_and_bounded(problem: str) -> None:
    for path, entry in fields(problem):
        assert entry.get("description"), f"{path}: no description"
        if entry.get("type") == "integer":
            assert "minimum" in entry or "exclusiveMinimum" in entry, f"{path}: no lower bound"


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_sees_its_sections_and_no_other(stage: str, tmp_path: Path) -> None:
    path = tmp_path / f"{stage}.json"
    write_stage(stage_values(defaults(), stage), stage, path)
    params = load_stage(path, stage)
    for section in Params.model_fields:
        if section in STAGES[stage]:
            assert getattr(params, section) == getattr(defaults(), section)
        else:
            with pytest.raises(ClearschedError, match=section):
                getattr(params, section)
    assert list(params.model_dump(mode="json")) == [name for name in Params.model_fields if name in STAGES[stage]]
    assert json.loads(path.read_text()) == params.model_dump(mode="json")


def test_a_stage_refuses_the_file_of_another(tmp_path: Path) -> None:
    path = tmp_path / "traces.json"
    write_stage(stage_values(defaults(), "traces"), "traces", path)
    with pytest.raises(ClearschedError, match="the stage teacher needs the sections seed, teacher"):
        load_stage(path, "teacher")
    foreign = {**stage_values(defaults(), "traces"), "figures": {}}
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
    values = stage_values(defaults(), "workloads")
    lines = settings(values)
    assert "workload.load=0.85" in lines
    assert "workload.episodes.train=512" in lines
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


# Problems


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> str:
    """Another problem, with sections of its own: its name."""
    monkeypatch.setitem(PROBLEMS, "queue", "other_problem:PROBLEM")
    return "queue"


def test_a_file_is_of_a_problem_and_has_its_sections(queue: str, tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text("problem: queue\nworkload: {servers: 3}\nheuristics: {threshold: {steps: 4}}\n")
    params = load(path)
    assert (params.problem, params.workload.servers, params.heuristics.threshold.steps) == (queue, 3, 4)
    assert params.scenario == queue
    assert params.evaluation.policies == ("first", "threshold", *FAMILIES, "teacher", *find_student_names())
    assert isinstance(params, Params)
    assert known_keys(queue)[:3] == ["problem", "scenario", "seed"]


def find_student_names() -> tuple[str, ...]:
    from clearsched.students.kinds import STUDENTS

    return tuple(STUDENTS)


def test_a_problem_gives_the_common_sections_other_defaults(queue: str) -> None:
    """Its file may still change them, one at a time."""
    assert defaults(queue).teacher.improve.iterations == 3
    assert defaults(queue).teacher.improve.sequences == defaults().teacher.improve.sequences
    params = parse({"problem": queue, "teacher": {"improve": {"sequences": 2}}}, "params.yaml")
    assert (params.teacher.improve.iterations, params.teacher.improve.sequences) == (3, 2)
    assert "iterations: 3" in default_yaml(queue)
    assert json_schema(queue)["title"].endswith("queue")
    assert "`teacher.improve.iterations`" in docs_table(queue)


@pytest.mark.parametrize(
    ("overrides", "part"),
    [
        ({"teacher": {"improve": {"iteration": 3}}}, "teacher.improve.iteration: unknown key"),
        ({"teacher": {"improve": {"iterations": -3}}}, "teacher.improve.iterations: -3 is no default"),
        ({"teacher": {"improve": 3}}, "teacher.improve: 3 is no default"),
        ({"teacher": {"guard": {"settings": {"p": "x"}}}}, "teacher.guard.settings: {'p': 'x'} is no default"),
        ({"workload": {"servers": 3}}, "workload is no section that all problems have"),
    ],
)
def test_defaults_that_are_not_allowed_are_refused(
    overrides: dict, part: str, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find_problem(queue), "overrides", overrides, raising=False)
    with pytest.raises(ClearschedError, match=part):
        params_model.__wrapped__(queue)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "problem: queue\nworkload: {moving_delay_s: 1.0}",
            "workload.moving_delay_s: is a key of the problem dag_jobs, and this file's problem is queue",
        ),
        (
            "workload: {servers: 1}",
            "workload.servers: is a key of the problem queue, and this file's problem is dag_jobs",
        ),
        ("problem: queu", "problem: unknown problem 'queu': known are dag_jobs"),
        ("problem: queu", "did you mean queue?"),
        ("problem: [dag_jobs]", 'problem: ["dag_jobs"] is not allowed: expected one of dag_jobs'),
        ("problem: queue\nevaluation: {policies: [fifo]}", 'evaluation.policies[0]: "fifo" is not allowed'),
        ("problem: queue\nteacher: {clone: {policy: fair}}", 'teacher.clone.policy: "fair" is not allowed'),
    ],
)
def test_a_wrong_problem_gets_one_line(text: str, line: str, queue: str, tmp_path: Path) -> None:
    assert line in complaint(text, tmp_path)


def test_a_key_with_another_place_gets_told_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RENAMED, "workload.delay_s", "workload.moving_delay_s")
    line = complaint("workload: {delay_s: 1.0}", tmp_path)
    assert line == "workload.delay_s: has another place: write workload.moving_delay_s"


def test_renamed_keys_are_gone_and_their_new_places_are_known() -> None:
    known = {key for problem in PROBLEMS for key in known_keys(problem)}
    assert not known & set(RENAMED)
    assert set(RENAMED.values()) <= known


def test_the_shipped_file_can_be_run_for_another_problem(queue: str) -> None:
    """`snakemake --config problem=queue` sets aside what is dag_jobs's in the file, and what is only its default."""
    shipped = yaml.safe_load(default_yaml())
    (params,) = read_scenarios([shipped], {"problem": queue}, "params.yaml").values()
    assert params == defaults(queue).named()
    chosen = merge(
        shipped,
        {
            "seed": 5,
            "teacher": {"improve": {"epochs": 2}, "clone": {"policy": "fair"}},
            "evaluation": {"policies": ["fair", "teacher"], "bootstrap": 300},
            "students": {"names": ["rule_list"]},
        },
    )
    (params,) = read_scenarios([chosen], {"problem": queue, "workload": {"servers": "4"}}, "params.yaml").values()
    assert (params.seed, params.teacher.improve.epochs, params.evaluation.bootstrap) == (5, 2, 300)
    assert (params.teacher.improve.iterations, params.teacher.clone.policy) == (3, "best")
    assert params.evaluation.policies == defaults(queue).evaluation.policies
    assert params.students.names == ("rule_list",)
    assert params.workload.servers == 4


def test_an_overlay_may_be_of_another_problem(queue: str, tmp_path: Path) -> None:
    shipped = yaml.safe_load(default_yaml())
    (tmp_path / "other.yaml").write_text("problem: queue\nworkload: {servers: 9}\n")
    listed = {"scenarios": [str(tmp_path / "other.yaml")]}
    (params,) = read_scenarios([shipped], listed, "params.yaml").values()
    assert (params.problem, params.scenario, params.workload.servers) == (queue, "other", 9)
    (tmp_path / "same.yaml").write_text("seed: 3\n")
    listed["scenarios"].append(str(tmp_path / "same.yaml"))
    with pytest.raises(ClearschedError, match="problem must be the same"):
        read_scenarios([shipped], listed, "params.yaml")


def test_a_file_that_is_wrong_for_its_own_problem_stays_wrong(queue: str) -> None:
    with pytest.raises(ClearschedError, match=r"workload\.lod: unknown key"):
        read_scenarios([{"workload": {"lod": 1}}], {"problem": queue}, "params.yaml")


def test_a_load_for_another_problem_sets_aside_too(queue: str, tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(default_yaml())
    assert load(path, queue) == defaults(queue).named()


def test_every_problem_and_source_has_a_folder_of_its_own(queue: str) -> None:
    """Unless the user named the scenario."""
    names = [
        parse(values, "params.yaml").scenario
        for values in (
            {},
            {"traces": {"source": "synthetic"}},
            {"problem": queue},
            {"problem": queue, "traces": {"source": "bursts"}},
            {"problem": queue, "scenario": "mine"},
        )
    ]
    assert names == ["default", "synthetic", "queue", "queue-bursts", "mine"]


def test_a_figure_may_read_nothing_but_how_figures_are_drawn() -> None:
    """So that another number of bootstrap samples does not draw the DAG gallery again."""
    assert set(STAGES["figures"]) == {"problem", "scenario", "figures"}


@pytest.mark.parametrize(("given", "rules"), [({"control": True}, 3), ({"names": ["rules_from_nothing"]}, 8)])
def test_a_control_has_the_budgets_of_the_list_beside_it(given: dict[str, object], rules: int) -> None:
    students = parse({"students": {"rule_list": {"max_rules": 3}, **given}}, "test").students
    assert settings_of(students, "rules_from_nothing").max_rules == rules
    assert settings_of(students, "rule_list").max_rules == 3
