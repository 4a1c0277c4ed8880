"""Shipped policies: made from results, found, checked, copied out; with small made files in place of a training."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from clearsched import search, shipped, teacher
from clearsched.cli import app
from clearsched.errors import ClearschedError
from clearsched.evaluation import shipped_safety
from clearsched.files import digest_bytes, digest_file, write_json
from clearsched.params import read_scenarios, read_yaml, stage_values, write_stage
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.schemas import WORKLOADS
from clearsched.schemas import COMPARISON, LEARNING_CURVE, SEEDS, read_table, write_table
from clearsched.scorers.guard import read_guard
from clearsched.scorers.policy import load_policy
from clearsched.search.safety import TOLD, Verdict
from clearsched.shipped import making, store
from clearsched.shipped.cards import STRESS, markdown, thinned
from clearsched.shipped.commands import laid_over, run_command, scenario_of
from conformance.test_conformance import drawn
from stages import stage_params

PROBLEM = find_problem("dag_jobs")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In place of the package's folder."""
    monkeypatch.setattr(store, "FOLDER", tmp_path / "package")
    return tmp_path / "package"


def filled(schema: pa.Schema, **values: Any) -> dict[str, Any]:
    """A row of a schema: the given values, and zeros and empty texts for the rest."""
    empty = {pa.string(): "", pa.bool_(): False}
    return {field.name: empty.get(field.type, 0) for field in schema} | values


def results_of(folder: Path, name: str = "small", source: str = "train") -> Path:
    """Results as a run leaves them, of a teacher and one family."""
    results = folder / "results" / name
    for path, content in (("traces/trace.parquet", b"jobs"), ("traces/workloads.parquet", b"episodes")):
        (results / path).parent.mkdir(parents=True, exist_ok=True)
        (results / path).write_bytes(content)
    common = {"problem": "dag_jobs", "scenario": name}
    write_json(results / "params/traces.json", common | {"traces": {"source": "tpch-spark"}})
    write_json(results / "params/workloads.json", common | {"seed": 3, "workload": {"jobs": 2}})
    write_json(results / "params/teacher.json", common | {"teacher": {"source": source}})
    inputs = {key: digest_file(results / "traces" / f"{key}.parquet") for key in ("trace", "workloads")}
    origin = {"provenance": {"version": "1", "params": {}, "inputs": inputs | {"tuned": "0"}}}
    restarts = [{"seed": seed, "evaluations": 10, "validation": 9.5 + seed, "scorers": {}} for seed in (1, 2)]
    write_json(results / "search/weights.json", {"kind": "searched", "restarts": restarts} | origin)
    (results / "search/weights.txt").write_text("a rule")
    curve = {"restart": [0, 0], "evaluations": [5.0, 10.0], "best_difference": [0.1, -0.05]}
    pq.write_table(pa.table(curve | {"validation_objective": [None, 9.5]}), results / "search/weights_curve.parquet")
    (results / "teacher").mkdir(exist_ok=True)
    (results / "teacher/teacher.safetensors").write_bytes(b"\x00weights")
    facts = {
        "seed": 3,
        "training_seed": 1,
        "cloned": {"policy": "weights", "settings": {}},
        "guard": {"heuristic": "fair", "when": {"largest_s": {"above": 143.0, "until": 71.5}}},
        "validation": {"measure": "jct_s", "teacher": 9.25},
        "seeds": [{"training_seed": seed, "clone": 9.75, "teacher": 9.5 - seed / 4} for seed in (0, 1)],
    }
    write_json(results / "teacher/teacher.json", {"kind": "teacher", "problem": "dag_jobs"} | facts | origin)
    rows = [filled(LEARNING_CURVE, phase="improve", iteration=i, validation_objective=10.0 - i / 50) for i in range(40)]
    write_table(
        results / "teacher/learning_curve.parquet", pa.Table.from_pylist(rows, LEARNING_CURVE), LEARNING_CURVE, {}
    )
    compared = [
        filled(
            COMPARISON, policy=policy, kind=kind, mode="argmax", measure="jct_s", unit="s", mean=mean, reference="fair"
        )
        for policy, kind, mean in (
            ("fair", "heuristic", 11.0),
            ("weights", "searched", 9.0),
            ("teacher", "teacher", 8.5),
        )
    ]
    compared.append(filled(COMPARISON, policy="rule_list", kind="student", measure="jct_s"))
    compared.append(filled(COMPARISON, policy="teacher", kind="teacher", measure="p95_s", mean=77.0))
    (results / "evaluation").mkdir(exist_ok=True)
    write_table(results / "evaluation/comparison.parquet", pa.Table.from_pylist(compared, COMPARISON), COMPARISON, {})
    seeds = [
        filled(SEEDS, policy=name, seed=seed, chosen=seed == 1, mean=9.0 + seed, difference_percent=-2.5)
        for name in ("weights", "rule_list")
        for seed in (1, 2)
    ]
    write_table(results / "evaluation/seeds.parquet", pa.Table.from_pylist(seeds, SEEDS), SEEDS, {})
    return results


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def take(name: str, policy: str, results: Path, out: Path) -> list[str]:
    return shipped.take(
        name, policy, PROBLEM, results / "traces/trace.parquet", results / "traces/workloads.parquet", out
    )


def test_what_is_made_is_found_and_taken(tmp_path: Path) -> None:
    results = results_of(tmp_path)
    shipped.make("small", results)
    assert shipped.names() == ["small"]
    assert shipped.find("small").policies == ["weights", "teacher"]
    assert take("small", "teacher", results, tmp_path / "teacher") == []
    assert take("small", "weights", results, tmp_path / "search") == []
    for stage in ("teacher", "search"):
        assert bytes_of(tmp_path / stage) == bytes_of(results / stage)


def test_the_card_tells_data_seeds_curve_results_and_command(tmp_path: Path, folder: Path) -> None:
    results = results_of(tmp_path)
    shipped.make("small", results)
    text = (folder / "small/card.md").read_text()
    for part in (
        digest_bytes(b"jobs"),
        digest_bytes(b"episodes"),
        "snakemake --cores 2 --config scenarios='[scenarios/small.yaml]'",
        "clearsched shipped make small --results results/small",
        "`tpch-spark` with seed 3",
        "| teacher | argmax | 8.5 [0, 0] |",
        "| fair | argmax | 11 [0, 0] |",
        "| 2 | 10 | 11.5 |",  # a training seed of the search
        "| 1 | 9.75 | 9.25 |",  # of the teacher
        "| weights | 1 | yes | 10 | -2.5 |",  # on the test episodes
        "| weights | 2 |  | 11 | -2.5 |",
        "| improve | 39 | 0 | 9.22 | 0 |",  # the end of the curve
        "Began as a clone of weights.",
        "It has a guard: when the largest job is above 143 s, fair schedules until the largest job is at most 71.5 s.",
    ):
        assert part in text, part
    assert "rule_list" not in text and "p95_s" not in text  # students are not shipped, the objective is told
    assert str(tmp_path) not in text
    assert text.count("| improve |") == 16


def test_the_same_results_give_the_same_bytes(tmp_path: Path, folder: Path) -> None:
    results = results_of(tmp_path)
    shipped.make("small", results)
    first = bytes_of(folder)
    shutil.copytree(results, tmp_path / "elsewhere" / "small")
    (folder / "small/gone.json").write_text("of an older card")
    shipped.make("small", tmp_path / "elsewhere" / "small")
    assert bytes_of(folder) == first


def test_other_data_are_told_in_words(tmp_path: Path) -> None:
    results = results_of(tmp_path)
    shipped.make("small", results)
    (results / "traces/trace.parquet").write_bytes(b"other jobs")
    (told,) = take("small", "weights", results, tmp_path / "search")
    assert "trace.parquet is not the data that 'small' was made from" in told and digest_bytes(b"jobs") in told
    assert (tmp_path / "search/weights.json").is_file()


def refusal(name: str, policy: str, results: Path) -> str:
    """The one line with which a policy is not given; nothing is written."""
    out = results / "taken"
    with pytest.raises(ClearschedError) as refused:
        take(name, policy, results, out)
    assert not out.exists() and "\n" not in str(refused.value)
    return str(refused.value)


def test_what_is_not_shipped_is_told_with_the_nearest(tmp_path: Path) -> None:
    results = results_of(tmp_path)
    assert refusal("small", "teacher", results).endswith("there are none yet: `clearsched shipped make`")
    shipped.make("small", results)
    assert refusal("smal", "teacher", results) == "no shipped policies 'smal': known are small; did you mean small?"
    assert refusal("small", "weight", results).endswith("they hold weights, teacher; did you mean weights?")


def test_a_damaged_file_is_not_given(tmp_path: Path, folder: Path) -> None:
    results = results_of(tmp_path)
    shipped.make("small", results)
    (folder / "small/teacher.safetensors").write_bytes(b"\x00weighty")
    assert "teacher.safetensors: changed since card.json was written" in refusal("small", "teacher", results)
    (folder / "small/teacher.safetensors").unlink()
    assert "teacher.safetensors: no such file, though card.json lists it" in refusal("small", "teacher", results)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"problem": "deferrable_jobs"}, "they schedule deferrable_jobs, not dag_jobs"),
        (
            {"features": {"stage": {"job_age_s": "0"}}},
            "stage: the feature job_age_s has another meaning",
        ),
        ({"features": {"stage": {"gone": "0"}}}, "stage: the feature gone has another meaning"),
        ({"format": 0}, "of another version of clearsched"),
    ],
)
def test_what_cannot_be_of_use_is_refused(tmp_path: Path, folder: Path, change: dict[str, Any], line: str) -> None:
    results = results_of(tmp_path)
    shipped.make("small", results)
    card = json.loads((folder / "small/card.json").read_text())
    write_json(folder / "small/card.json", card | change)
    assert line in refusal("small", "weights", results)


def test_a_feature_that_is_new_is_no_hindrance(tmp_path: Path, folder: Path) -> None:
    results = results_of(tmp_path)
    shipped.make("small", results)
    card = json.loads((folder / "small/card.json").read_text())
    card["features"]["stage"].popitem()
    write_json(folder / "small/card.json", card)
    assert take("small", "weights", results, tmp_path / "search") == []


def spoil(results: Path, what: str) -> None:
    """Make results that can't be shipped."""
    if what == "data":
        (results / "traces/workloads.parquet").write_bytes(b"other episodes")
    elif what == "evaluation":
        (results / "evaluation/comparison.parquet").unlink()
    elif what == "large":
        (results / "teacher/teacher.safetensors").write_bytes(b"0" * making.MOST_BYTES)
    elif what == "empty":
        shutil.rmtree(results / "teacher")
        shutil.rmtree(results / "search")
    elif what == "unevaluated":
        (results / "search/other.json").write_bytes((results / "search/weights.json").read_bytes())
        (results / "search/other.txt").write_text("a rule")
        shutil.copy(results / "search/weights_curve.parquet", results / "search/other_curve.parquet")
    elif what == "no params":
        (results / "params/workloads.json").unlink()
    elif what == "part of the stress":
        path = results / "params/workloads.json"
        told = json.loads(path.read_text())
        path.write_text(json.dumps(told | {"workload": told["workload"] | {"stress": 0.5}}))


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("data", "made from another workloads than lies beside it: run snakemake"),
        ("evaluation", "comparison.parquet: no such file: the policies have no test result"),
        ("large", "1,000,000 bytes: a shipped file has less than 1,000,000"),
        ("empty", "neither searched policies nor a teacher"),
        ("unevaluated", "other was not evaluated: add it to evaluation.policies"),
        ("no params", "no results of a scenario: params/workloads.json is missing"),
        ("part of the stress", "workload.stress is below 1: what is shipped passes the whole safety check"),
    ],
)
def test_results_that_can_not_be_shipped(tmp_path: Path, folder: Path, what: str, line: str) -> None:
    results = results_of(tmp_path)
    spoil(results, what)
    with pytest.raises(ClearschedError) as refused:
        shipped.make("small", results)
    assert line in str(refused.value) and "\n" not in str(refused.value)
    assert not folder.exists()


def test_results_of_another_scenario_or_of_shipped_policies(tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match="results of the scenario 'small', not 'large'"):
        shipped.make("large", results_of(tmp_path))
    with pytest.raises(ClearschedError, match=r"teacher\.source is shipped: there is nothing new to ship"):
        shipped.make("again", results_of(tmp_path, "again", source="shipped"))


def test_a_teacher_that_was_shipped_is_kept_beside_a_new_search(tmp_path: Path, folder: Path) -> None:
    """The files are those of the results, and the command says which of them are made anew."""
    shipped.make("small", results_of(tmp_path))
    results = results_of(tmp_path, source="shipped")
    common = {"problem": "dag_jobs", "scenario": "small"}
    write_json(results / "params/search.json", common | {"search": {"source": "search"}})
    before = (folder / "small/teacher.safetensors").read_bytes()
    (results / "search/weights.txt").write_text("a better rule")
    shipped.make("small", results)
    assert (folder / "small/teacher.safetensors").read_bytes() == before
    assert (folder / "small/weights.txt").read_text() == "a better rule"
    command = "snakemake --cores 2 --config scenarios='[scenarios/small.yaml]' teacher='{source: shipped}'"
    assert command in (folder / "small/card.md").read_text()
    write_json(results / "params/search.json", common | {"search": {"source": "shipped"}})
    with pytest.raises(ClearschedError, match=r"search\.source is shipped: there is nothing new to ship"):
        shipped.make("small", results)


def test_the_command_tells_what_was_laid_over_the_scenario(tmp_path: Path) -> None:
    """As it is typed, and typed so it gives the same params."""
    (tmp_path / "params.yaml").write_text("seed: 3\nworkload: {executors: 7}\n")
    (tmp_path / "scenarios").mkdir()
    overlay = tmp_path / "scenarios/small.yaml"
    overlay.write_text("workload: {help_first: true, jobs: 9}\n")
    base = read_yaml(tmp_path / "params.yaml")
    typed = {"scenarios": f"[{overlay}]", "seed": 4, "workload": {"help_first": "false", "load": "0.5"}}
    ran = read_scenarios([base], typed, "params.yaml")["small"]
    stages = {stage: stage_values(ran, stage) for stage in ("workloads", "search", "teacher")}
    told = laid_over(stages, scenario_of("small", tmp_path))
    assert told == ["seed=4", "workload='{load: 0.5, help_first: false}'"]
    assert run_command("small", "dag_jobs", ["teacher"], told).endswith(
        "--config scenarios='[scenarios/small.yaml]' teacher='{source: shipped}' " + " ".join(told)
    )
    again = dict(shlex.split(each)[0].split("=", 1) for each in told) | {"scenarios": f"[{overlay}]"}
    assert read_scenarios([base], again, "params.yaml")["small"] == ran
    assert laid_over(stages, ran) == [] and laid_over(stages, None) == []
    assert scenario_of("other", tmp_path) is None and scenario_of("small", tmp_path / "scenarios") is None
    named = scenario_of("deferrable_jobs", tmp_path)
    assert named is not None and named.problem == "deferrable_jobs"


def test_the_command_line(tmp_path: Path, folder: Path) -> None:
    results = results_of(tmp_path)
    runner = CliRunner()
    assert "none" in runner.invoke(app, ["shipped", "list"]).output
    made = runner.invoke(app, ["shipped", "make", "small", "--results", str(results)])
    assert made.exit_code == 0 and made.output.strip() == str(folder / "small")
    listed = runner.invoke(app, ["shipped", "list"]).output
    assert "small" in listed and "dag_jobs: weights, teacher" in listed
    shown = runner.invoke(app, ["shipped", "show", "small"])
    assert shown.output == (folder / "small/card.md").read_text()
    (folder / "small/weights.txt").write_text("another rule")
    damaged = runner.invoke(app, ["shipped", "show", "small"])
    assert isinstance(damaged.exception, ClearschedError) and "weights.txt: changed" in str(damaged.exception)


def test_a_curve_is_thinned_from_its_first_row_to_its_last() -> None:
    rows = [{"iteration": i, "validation_objective": None if i % 2 else float(i)} for i in range(101)]
    kept = thinned(rows, ["iteration"], most=6)
    assert kept == [[0], [20], [40], [60], [80], [100]]
    assert thinned(rows[:3], ["iteration"]) == [[0], [1], [2]]  # too few were checked: all rows


def test_what_the_package_holds_is_whole() -> None:
    """Every shipped folder: its files as the card has them, its page as the card says, no feature that has changed."""
    package = Path(store.__file__).parent
    for path in package.glob(f"*/{store.CARD}"):
        entry = shipped.Shipped(path.parent.name, path.parent, json.loads(path.read_text()))
        for file in entry.card["files"]:
            assert len(entry.read(file)) < making.MOST_BYTES
        assert (path.parent / "card.md").read_text() == markdown(dict(entry.card))
        store.check(entry, find_problem(entry.card["problem"]))


def test_a_search_may_take_what_is_shipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The files of the results are those of the package; other data are warned of, and nothing is searched."""
    results = results_of(tmp_path)
    shipped.make("small", results)
    data = [results / "traces/trace.parquet", results / "traces/workloads.parquet", tmp_path / "no tuned heuristics"]
    for given in ({"shipped": "small"}, {"shipped": "smal"}):
        params = stage_params(search={"source": "shipped"} | given)
        if given["shipped"] == "smal":
            with pytest.raises(ClearschedError, match="did you mean small"):
                search.run(params, "weights", *data, tmp_path / "none")
            continue
        assert search.run(params, "weights", *data, tmp_path / "out") == tmp_path / "out/weights.json"
        assert bytes_of(tmp_path / "out") == bytes_of(results / "search")
        assert capsys.readouterr().err == ""
    with pytest.raises(ClearschedError, match="no shipped policies 'test'"):  # the run's own name
        search.run(stage_params(search={"source": "shipped"}), "weights", *data, tmp_path / "none")
    data[1].write_bytes(b"other episodes")
    search.run(stage_params(search={"source": "shipped", "shipped": "small"}), "weights", *data, tmp_path / "out")
    assert capsys.readouterr().err.startswith("clearsched: warning: ")


def test_a_teacher_may_be_taken_from_what_is_shipped(tmp_path: Path) -> None:
    """Its files are those of the package, byte for byte, through the command that the workflow calls."""
    results = results_of(tmp_path)
    shipped.make("small", results)
    params = stage_params(teacher={"source": "shipped", "shipped": "small"})
    write_stage(stage_values(params, "teacher"), "teacher", tmp_path / "teacher.json")
    arguments = ["teacher", "train", "--params", str(tmp_path / "teacher.json"), "--tuned", "none"]
    for data in ("trace", "workloads"):
        arguments += [f"--{data}", str(results / "traces" / f"{data}.parquet")]
    run = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out")])
    assert run.exit_code == 0, run.output
    assert bytes_of(tmp_path / "out") == bytes_of(results / "teacher")
    chosen = CliRunner().invoke(app, ["teacher", "choose", str(tmp_path / "out"), "--out", str(tmp_path / "chosen")])
    assert chosen.exit_code == 0, chosen.output
    assert bytes_of(tmp_path / "chosen") == bytes_of(results / "teacher")  # it still tells what it was chosen from


# The safety check of today -------------------------------------------------------------------------------------------


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of which trace, episodes and the searched policy are real; what the network comes to is given."""
    results = results_of(tmp_path)
    trace, workloads = drawn(PROBLEM, tmp_path)
    for path in (trace, workloads):
        shutil.copy(path, results / "traces" / path.name)
    inputs = {key: digest_file(results / "traces" / f"{key}.parquet") for key in ("trace", "workloads")}
    origin = {"provenance": {"version": "1", "params": {}, "inputs": inputs}, "restarts": []}
    rules = {"stage": {"rules": [{"if": "otherwise", "then": 1}], "ties": ["job_work_left_s"]}, "limit": 1.0}
    weights = {"name": "weights", "kind": "searched", "problem": "dag_jobs", "none": False} | rules
    write_json(
        results / "search/weights.json",
        weights | origin | {"stress": {"heuristic": "fair", "episodes": 2, "worst": 1.1}},
    )
    teacher = json.loads((results / "teacher/teacher.json").read_text())
    write_json(results / "teacher/teacher.json", teacher | origin)
    monkeypatch.setattr(shipped_safety, "load_teacher", lambda path: path)
    verdict = Verdict(worst=1.61, episodes=40, hard=1.75)
    monkeypatch.setattr(shipped_safety, "check_of", lambda instance: SimpleNamespace(verdict=lambda policy: verdict))
    shipped.make("small", results)
    return results


def test_what_is_shipped_is_given_the_guard_of_the_run(
    tmp_path: Path, judged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And judged with it; all else of its file stays what it is."""
    guard = {"heuristic": "fair", "gauges": ["largest_s"]}
    guarded = stage_params(search={"source": "shipped", "shipped": "small", "guard": guard})
    data = [judged / "traces/trace.parquet", judged / "traces/workloads.parquet"]
    write_json(tmp_path / "tuned.json", {"problem": "dag_jobs"})
    written = search.run(guarded, "weights", *data, tmp_path / "tuned.json", tmp_path / "out")
    policy, before = (load_policy(path) for path in (written, judged / "search/weights.json"))
    assert policy.guard is not None and policy.guard.heuristic == "fair" and before.guard is None
    assert policy.evidence["stress"]["episodes"] > 2 and "hard" not in before.evidence["stress"]
    assert replace(policy, guard=None, evidence={}, where="") == replace(before, evidence={}, where="")
    assert "The guard: when the largest job" in written.with_suffix(".txt").read_text()
    assert "an older safety check" not in capsys.readouterr().err


def test_what_is_shipped_is_judged_by_the_check_of_today(
    tmp_path: Path, folder: Path, judged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = stage_params(search={"source": "shipped", "shipped": "small"})
    data = [judged / "traces/trace.parquet", judged / "traces/workloads.parquet", tmp_path / "no tuned heuristics"]
    search.run(weights, "weights", *data, tmp_path / "out")
    assert "weights passed an older safety check" in capsys.readouterr().err
    assert "Never judged by the safety check." in (folder / "small/card.md").read_text()

    assert CliRunner().invoke(app, ["shipped", "judge", "small", "--results", str(judged)]).exit_code == 0
    entry = shipped.find("small")
    assert {file for file in entry.card["files"] if entry.read(file)} == set(entry.card["files"]), (
        "digests are those of now"
    )
    stress = json.loads((folder / "small/weights.json").read_text())["stress"]
    assert stress["episodes"] > 2 and {"hard", "batch_end"} < set(stress)
    assert entry.card["policies"]["weights"]["stress"] == stress
    page = (folder / "small/card.md").read_text()
    assert page == markdown(dict(entry.card))
    assert "| any of these on an episode of the hardest kind | 1.75 times fair |" in page and "Never judged" not in page
    search.run(weights, "weights", *data, tmp_path / "out")
    assert "older safety check" not in capsys.readouterr().err
    teacher.train(stage_params(teacher={"source": "shipped", "shipped": "small"}), *data, [], tmp_path / "out")
    told = (
        "clearsched: warning: the shipped teacher is not safe: on its worst episode it takes 1.61 times the baseline's"
    )
    assert told in capsys.readouterr().err


def test_what_is_shipped_may_be_given_a_guard(
    tmp_path: Path, folder: Path, judged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, text and card tell it, and the policy is judged with it."""
    asked: list[Any] = []
    verdict = Verdict(worst=0.9, episodes=40, hard=1.3)
    check = SimpleNamespace(verdict=lambda policy: asked.append(policy) or verdict)
    monkeypatch.setattr(shipped_safety, "check_of", lambda instance: check)
    monkeypatch.setattr(shipped_safety, "load_teacher", lambda path: SimpleNamespace(guard=None))
    tuned = {name: {} for name in PROBLEM.heuristics} | {"local_srpt": {"p": 0.4, "m": 0.75}}
    write_json(judged / "heuristics/tuned.json", {"problem": "dag_jobs", "measure": "jct_s", "best": "fair", **tuned})
    command = ["shipped", "guard", "small", "--results", str(judged), "--heuristic", "local_srpt"]
    assert CliRunner().invoke(app, [*command, "--gauge", "largest_s", "--margin", "1"]).exit_code == 0
    entry, page = shipped.find("small"), (folder / "small/card.md").read_text()
    for policy in ("weights", "teacher"):
        guard = read_guard(json.loads(entry.read(f"{policy}.json"))["guard"], PROBLEM, policy)
        assert guard.heuristic == "local_srpt" and guard.settings == {"p": 0.4, "m": 0.75}
        assert set(guard.when) == {"largest_s"} and guard.when["largest_s"].above > 0
        assert f"## {policy}\n" in page and page.count(f"It has a guard: {guard.sentence(PROBLEM)}") == 2
    assert "The guard: when" in entry.read("weights.txt").decode()
    assert asked[0].guard.sentence(PROBLEM) in page and "1.3 times fair" in page
    assert "\nclearsched shipped guard small --results results/small --heuristic local_srpt --margin 1" in page
    before = bytes_of(folder)
    assert CliRunner().invoke(app, [*command, "--policy", "teacher"]).exit_code == 0
    again = bytes_of(folder)
    assert again["small/weights.json"] == before["small/weights.json"]
    assert again["small/teacher.json"] != before["small/teacher.json"]
    assert len(shipped.find("small").card["command"]) == 3 and "--policy teacher" in again["small/card.md"].decode()
    before = again
    told = CliRunner().invoke(app, [*command, "--policy", "techer"])
    assert "no policy 'techer': it has weights, teacher; did you mean teacher?" in str(told.exception)
    told = CliRunner().invoke(app, [*command, "--gauge", "largest"])
    assert "did you mean largest_s?" in str(told.exception) and bytes_of(folder) == before


def test_where_the_rules_that_it_was_judged_by_do_not_hold_a_line_says_so(
    tmp_path: Path, judged: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody knows what a policy that leans on one does without it."""
    monkeypatch.setattr(shipped_safety, "judge_whole", lambda instance, policies: [Verdict(worst=0.9, episodes=40)])
    trace, workloads = (judged / f"traces/{name}.parquet" for name in ("trace", "workloads"))
    table, settings = read_table(workloads, WORKLOADS)
    params = stage_params(search={"source": "shipped", "shipped": "small"})

    def taken(back_up_parked: bool) -> str:
        semantics = settings["semantics"] | {"back_up_parked": back_up_parked}
        write_table(workloads, table, WORKLOADS, settings | {"semantics": semantics})
        search.run(params, "weights", trace, workloads, tmp_path / "no tuned heuristics", tmp_path / "out")
        return capsys.readouterr().err

    shipped_safety.judge_shipped("small", judged)
    assert "judged with" not in taken(True)  # who was judged by the published rules leans on nothing
    assert PROBLEM.open(trace, workloads).rules == ["workload.corrections.back_up_parked"]
    shipped_safety.judge_shipped("small", judged)
    assert "judged with" not in taken(True)
    page = (store.FOLDER / "small/card.md").read_text()
    assert "| by rules that are not the published ones | workload.corrections.back_up_parked |" in page
    told = "weights was judged with workload.corrections.back_up_parked, and is safe there; without, nobody knows"
    assert told in taken(False)


def test_what_is_shipped_may_be_made_to_help_first(folder: Path, judged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file and the card say it, and it is judged with it."""
    asked: list[Any] = []
    verdict = Verdict(worst=0.9, episodes=40, hard=1.3)
    check = SimpleNamespace(verdict=lambda policy: asked.append(policy) or verdict)
    monkeypatch.setattr(shipped_safety, "check_of", lambda instance: check)
    monkeypatch.setattr(shipped_safety, "load_teacher", lambda path: SimpleNamespace(help_first=False))
    command = ["shipped", "judge", "small", "--results", str(judged), "--help-first"]
    before = bytes_of(folder)
    for _ in range(2):
        assert CliRunner().invoke(app, [*command, "--policy", "teacher"]).exit_code == 0
        entry, page = shipped.find("small"), (folder / "small/card.md").read_text()
        assert entry.read("weights.json") == before["small/weights.json"]
        told = json.loads(entry.read("teacher.json"))
        assert told["help_first"] and told["stress"]["worst"] == 0.9 and asked[-1].help_first
        assert page.count("By none of these it means: leave the executors idle, unless a ready stage of their own") == 1
        assert page.count("clearsched shipped judge small --results results/small --help-first --policy teacher\n") == 1
    assert CliRunner().invoke(app, command).exit_code == 0
    assert load_policy(folder / "small/weights.json").help_first
    assert (folder / "small/card.md").read_text().count("By none of these") == 2


def test_what_is_shipped_is_judged_on_its_own_streams(folder: Path, judged: Path) -> None:
    before = bytes_of(folder)
    path = judged / "params/workloads.json"
    write_json(path, json.loads(path.read_text()) | {"scenario": "other"})
    with pytest.raises(ClearschedError, match="results of the scenario 'other', not 'small'"):
        shipped_safety.judge_shipped("small", judged)
    path.unlink()
    with pytest.raises(ClearschedError, match=r"params/workloads\.json is missing: run snakemake"):
        shipped_safety.judge_shipped("small", judged)
    assert bytes_of(folder) == before


def test_every_number_of_a_verdict_has_a_row_of_the_card() -> None:
    assert set(STRESS) == set(TOLD)
