"""Exported networks answer as the simulator's teacher does, decision by decision, from the raw graph alone."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from clearsched.cli import app
from clearsched.errors import ClearschedError
from clearsched.export import FORMATS, export
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.features import FEATURES, NUM_FEATURES
from clearsched.problems.dag_jobs.graph import (
    GLOBAL_FEATURES,
    JOB_FEATURES,
    NODE_FEATURES,
    Graph,
    Observation,
    graph_of,
    observation_of,
)
from clearsched.problems.dag_jobs.network.network import TeacherNetwork
from clearsched.problems.dag_jobs.published import spark_sched_sim
from clearsched.problems.dag_jobs.simulator.lockstep import Lockstep
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.episodes import NONE
from clearsched.problems.networks_onnx import NetworkGraph
from clearsched.problems.set_network import SetNetwork
from clearsched.problems.set_network_onnx import draw
from clearsched.teacher.checkpoints import load_network, save_checkpoint, save_published
from clearsched.teacher.choices import DIGITS
from clearsched.teacher.policy import TeacherPolicy
from toys import micro_trace

ROOT = Path(__file__).parents[1]
SHIPPED = ROOT / "src" / "clearsched" / "shipped"
PROBLEM, DEFERRABLE = find_problem("dag_jobs"), find_problem("deferrable_jobs")
EXECUTORS, LANES = 10, 8
LOGGED = 2000
"""Decisions on which each network must agree."""

RANDOM: dict[str, tuple[dict[str, Any], bool]] = {
    "with_rate": ({"embedding": 6, "hidden": 12, "rounds": 3, "rate": True}, True),
    "without_none": ({"embedding": 5, "hidden": 9, "rounds": 2}, False),
    "without_rounds": ({"embedding": 6, "hidden": 12, "rounds": 0}, True),
    "always_most": ({"embedding": 4, "hidden": 8, "rounds": 1, "levels": "most"}, True),
}
"""Sizes of networks with random weights, and whether they score none."""

NAMES = ("default", *RANDOM)


def episodes() -> Iterator[Workload]:
    """12 jobs that come one after another on 10 executors; what is told of their rate varies."""
    trace = micro_trace()
    for number in range(10**6):
        random = np.random.default_rng([8, number])
        arrivals = np.cumsum(random.exponential(2500.0, 12)).astype(np.int64)
        profiles = random.integers(trace.num_profiles, size=12)
        told = 1000.0 * int(random.integers(9))
        yield Workload(profiles, arrivals, EXECUTORS, 2000, number, interarrival_ms=told)


def lockstep() -> Lockstep:
    return Lockstep(compile_profiles(micro_trace()), episodes(), LANES, keep_results=False)


def scaled(network: TeacherNetwork) -> TeacherNetwork:
    """Its inputs scaled to the first decisions and held within them, and none about as good as the best candidate."""
    started = lockstep()
    started.advance()
    seen = started.observe()
    network.normalise_like(network.encode(seen))
    network.bound_like([network.encode(seen)])
    if network.none:
        scores = TeacherPolicy(network, PROBLEM).weigh(seen).candidates
        gap = np.median(scores[:, :-1].max(axis=1)) - np.median(network_none(network, seen))
        with torch.no_grad():
            network.none_net[-1].bias += float(gap)
    return network


def network_none(network: TeacherNetwork, seen: Graph) -> np.ndarray:
    """float[B]: the score of none, whether it is allowed or not."""
    with torch.no_grad():
        return network.none_net(network.embed(network.encode(seen)).total).squeeze(1).numpy()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Checkpoints by name."""
    folder = tmp_path_factory.mktemp("networks")
    found = {"default": SHIPPED / "default" / "teacher.safetensors"}
    for seed, (name, (sizes, none)) in enumerate(RANDOM.items()):
        torch.manual_seed(seed)
        found[name] = folder / f"{name}.safetensors"
        save_checkpoint(found[name], scaled(PROBLEM.network(sizes, none)), PROBLEM, sizes, {})
    return found


class Asked(NamedTuple):
    """Answers of a graph."""

    candidate: int
    limit: int
    scores: np.ndarray
    none_score: float
    limit_scores: np.ndarray


class Session:
    """An exported network in onnxruntime, on one thread."""

    def __init__(self, model: Path | bytes) -> None:
        pytest.importorskip("onnx", reason="no onnx")
        runtime = pytest.importorskip("onnxruntime", reason="no onnxruntime")
        settings = runtime.SessionOptions()
        settings.intra_op_num_threads = 1
        self.session = runtime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
        self.names = [entry.name for entry in self.session.get_inputs()]
        self.told = [entry.name for entry in self.session.get_outputs()]

    def ask(self, seen: Any) -> Asked:
        """The answer to a decision, whose arrays have the names of the inputs."""
        answers = self.session.run(self.told, {name: getattr(seen, name) for name in self.names})
        found = dict(zip(self.told, answers, strict=True))
        none = float(found["none_score"][0]) if "none_score" in found else -np.inf
        limits = found.get("limit_scores", np.zeros(0))
        return Asked(int(found["candidate"]), int(found.get("limit", 0)), found["scores"], none, limits)


def exported(path: Path, folder: Path) -> Session:
    pytest.importorskip("onnx", reason="no onnx")
    (out,) = export(path, "onnx", folder / f"{path.stem}.onnx")
    return Session(out)


def check(asked: Asked, weighed: Any, b: int) -> None:
    """The same answer as the teacher's to decision b, and the same scores but for the last digit of a float32."""
    assert (asked.candidate, asked.limit) == (weighed.answers.candidate[b], weighed.answers.level[b])
    count = len(asked.scores)
    np.testing.assert_allclose(asked.scores, weighed.candidates[b, :count], rtol=1e-6, atol=1e-5)
    assert np.isneginf(weighed.candidates[b, count:-1]).all()
    np.testing.assert_allclose(asked.none_score, weighed.candidates[b, -1], rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(asked.limit_scores, weighed.levels[b], rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_network_answers_as_the_teacher(name: str, files: dict[str, Path], tmp_path: Path) -> None:
    """On the decisions of its own episodes, one by one, whatever other decisions the teacher had in its batch."""
    session, policy = exported(files[name], tmp_path), TeacherPolicy(load_network(files[name])[0], PROBLEM)
    running, count, candidates, limits, edges = lockstep(), 0, set(), set(), set()
    while count < LOGGED:
        running.advance()
        seen = running.observe()
        weighed = policy.weigh(seen)
        for b in range(seen.num_decisions):
            decision = observation_of(seen, b)
            check(session.ask(decision), weighed, b)
            candidates.add(int(weighed.answers.candidate[b]))
            limits.add(int(weighed.answers.level[b]))
            edges.add(decision.edges.shape[1])
        count += seen.num_decisions
        running.answer(weighed.answers)
    assert len(candidates) > 3 and len(edges) > 3 and 0 in edges
    if name in RANDOM:  # whose scores of none are made to lie about those of the candidates
        assert (NONE in candidates) == policy.network.none
    assert limits - {0} == {EXECUTORS} if name == "always_most" else len(limits) > 3


def one_stage() -> Observation:
    """A job with one stage of three tasks and nobody else: the smallest decision there is."""
    rows = np.zeros((1, NUM_FEATURES), np.float32)
    rows[0, [feature.name for feature in FEATURES].index("stage_demand")] = 3
    return Observation(
        nodes=np.array([[3, 3, 2, 6, 0, 1, 1, 0, 6]], np.float32),
        node_job=np.zeros(1, np.int64),
        edges=np.zeros((2, 0), np.int64),
        jobs=np.array([[0, 0, 6, 3, 1, 0.5, 6]], np.float32),
        job_held=np.zeros(1, np.int64),
        totals=np.array([4, 1, 4, 0], np.float32),
        candidates=rows,
        candidate_node=np.zeros(1, np.int64),
        candidate_stage=np.zeros(1, np.int64),
        candidate_group=np.zeros(1, np.int64),
        none_allowed=np.zeros(1, np.bool_),
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_smallest_decision(name: str, files: dict[str, Path], tmp_path: Path) -> None:
    policy, seen = TeacherPolicy(load_network(files[name])[0], PROBLEM), one_stage()
    asked = exported(files[name], tmp_path).ask(seen)
    check(asked, policy.weigh(graph_of(seen)), 0)
    assert asked.candidate == 0 and 1 <= asked.limit <= 4 and len(asked.limit_scores) == 4


def test_a_shape_that_does_not_fit_is_refused(files: dict[str, Path], tmp_path: Path) -> None:
    session, seen = exported(files["default"], tmp_path), one_stage()
    for name, value in (("nodes", seen.nodes[:, :8]), ("candidate_node", np.array([7])), ("totals", seen.totals[:3])):
        with pytest.raises(Exception, match=r"dimension|out of data bounds|[Ii]nvalid"):
            session.ask(seen._replace(**{name: value}))


def set_decision(random: np.random.Generator, features: int, count: int) -> Any:
    """A decision of no problem in particular; a candidate's levels run from one of 1 to 3 to one of 4 to 6."""
    levels = np.stack([random.integers(1, 4, count), random.integers(4, 7, count)], axis=1)
    return SimpleNamespace(
        candidates=(random.exponential(10, (count, features)) * random.choice([-1, 1], features)).astype(np.float32),
        candidate_start=np.array([0, count]),
        none_allowed=np.array([random.random() < 0.5]),
        levels=levels,
        num_decisions=1,
    )


@pytest.mark.parametrize(("none", "levels", "most"), [(True, True, False), (False, True, True), (True, False, False)])
def test_a_set_network_answers_as_the_teacher(none: bool, levels: bool, most: bool) -> None:
    pytest.importorskip("onnx", reason="no onnx")
    torch.manual_seed(1)
    network = SetNetwork(tuple(feature.name for feature in FEATURES), 5, 9, none, levels, most)
    policy, graph, random = TeacherPolicy(network, PROBLEM), NetworkGraph(DIGITS), np.random.default_rng(2)
    draw(graph, policy.network, PROBLEM)
    session = Session(graph.model("teacher", [], {}))
    for number in range(150):
        seen = set_decision(random, NUM_FEATURES, 1 + number % 9)
        check(session.ask(seen), policy.weigh(seen), 0)


def test_a_teacher_of_deferrable_jobs(tmp_path: Path) -> None:
    """It has no levels: the graph asks for none and tells none."""
    torch.manual_seed(3)
    path, sizes = tmp_path / "teacher.safetensors", {"embedding": 4, "hidden": 8, "rounds": 0}
    save_checkpoint(path, DEFERRABLE.network(sizes, True), DEFERRABLE, sizes, {})
    session, policy = exported(path, tmp_path), TeacherPolicy(load_network(path)[0], DEFERRABLE)
    features, random = [feature.name for feature in DEFERRABLE.choices[0].features], np.random.default_rng(4)
    assert session.names == ["candidates", "none_allowed"]
    assert session.told == ["candidate", "scores", "none_score"]
    for number in range(100):
        seen = set_decision(random, len(features), 1 + number % 9)
        check(session.ask(seen), policy.weigh(seen), 0)
    told = session.session.get_modelmeta().custom_metadata_map
    assert json.loads(told["features"]) == {"candidates": features} and told["problem"] == "deferrable_jobs"


def test_the_file_tells_what_it_is(files: dict[str, Path], tmp_path: Path) -> None:
    session = exported(files["default"], tmp_path)
    about = session.session.get_modelmeta()
    told = about.custom_metadata_map
    columns = {"nodes": NODE_FEATURES, "jobs": JOB_FEATURES, "totals": GLOBAL_FEATURES, "candidates": FEATURES}
    assert json.loads(told["features"]) == {name: [one.name for one in found] for name, found in columns.items()}
    assert json.loads(told["units"])["jobs"]["work_left_s"] == "s"
    assert told["checkpoint"] == hashlib.sha256(files["default"].read_bytes()).hexdigest()
    assert told["problem"] == "dag_jobs" and "Apache-2.0" in told["licence"]
    text = " ".join(about.description.split())
    for words in (
        f"From: teacher.safetensors, sha256 {told['checkpoint']}",
        "Result: mean job completion time 20.0550828125 s on 32 validation episodes",
        "levels_below stages on the longest path below it [stages]",
    ):
        assert words in text
    assert set(session.names) == set(Observation._fields) - {"candidate_stage", "candidate_group"}


def test_the_example_of_the_page_runs(files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime", reason="no onnxruntime")
    exported(files["default"], tmp_path)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/export.md").read_text("utf-8"), re.S | re.M)
    found: dict[str, Any] = {"seen": one_stage()}
    exec(next(block for block in blocks if "teacher.onnx" in block), found)
    assert (int(found["candidate"]), 1 <= int(found["limit"]) <= 4) == (0, True)


@pytest.fixture
def mine(tmp_path: Path, files: dict[str, Path]) -> Path:
    """A checkpoint in a folder of its own."""
    for suffix in (".safetensors", ".json"):
        content = files["without_none"].with_suffix(suffix).read_bytes()
        (tmp_path / f"mine{suffix}").write_bytes(content)
    return tmp_path / "mine.safetensors"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        *(
            (("--format", name), f"a network cannot be exported to {entry.label}: take --format onnx")
            for name, entry in FORMATS.items()
            if name != "onnx"
        ),
        (("--format", "onx"), "unknown format 'onx'"),
        (("--format", "onnx", "--out", "SELF"), "is what is read: write to another place"),
        (("--format", "onnx", "--out", "FOLDER/mine.json"), "is what is read: write to another place"),
        (("--format", "onnx", "--decisions", "log.parquet"), "without test vectors: leave out --decisions log.parquet"),
    ],
)
def test_what_cannot_be_is_told_in_a_line(arguments: tuple[str, ...], told: str, mine: Path) -> None:
    given = [word.replace("SELF", str(mine)).replace("FOLDER", str(mine.parent)) for word in arguments]
    assert told in refused(mine, given)


def refused(path: Path, given: list[str]) -> str:
    """The line that the command ends with; nothing has been written."""
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    found = CliRunner().invoke(app, ["export", str(path), *given])
    assert isinstance(found.exception, ClearschedError), found.output
    assert "\n" not in str(found.exception)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before
    return str(found.exception)


def test_broken_files_are_told_in_a_line(mine: Path) -> None:
    to_onnx = ["--format", "onnx"]
    assert "other.json: no such file" in refused(mine.with_name("other.safetensors"), to_onnx)
    told = "mine.json: describes a network: name mine.safetensors beside it"
    assert told in refused(mine.with_suffix(".json"), to_onnx)
    mine.write_bytes(mine.read_bytes()[:-4])
    assert "truncated or changed since mine.json was written" in refused(mine, to_onnx)
    mine.with_suffix(".json").write_text("[]")
    assert "mine.json: does not describe a teacher" in refused(mine, to_onnx)


def test_a_published_network_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "teacher.safetensors"
    save_published(path, spark_sched_sim.new(), PROBLEM, "spark-sched-sim", {})
    assert "the network spark-sched-sim cannot be exported" in refused(path, ["--format", "onnx"])


def test_without_the_package_a_line_says_how_to_get_it(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "pip install 'clearsched[onnx]'" in refused(mine, ["--format", "onnx"])


def test_a_guarded_network_is_refused(mine: Path) -> None:
    """What a graph cannot hold is not left out in silence."""
    told = json.loads(mine.with_suffix(".json").read_text())
    guard = {"heuristic": "fair", "when": {"backlog_s": {"above": 2.0, "until": 1.0}}}
    mine.with_suffix(".json").write_text(json.dumps(told | {"guard": guard}))
    assert "mine.json: its guard watches the cluster" in refused(mine, ["--format", "onnx"])
