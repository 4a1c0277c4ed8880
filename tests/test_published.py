"""A published network as teacher: its checkpoint read safely, its arithmetic, its inputs, its place in the flow."""

from __future__ import annotations

import io
import pickle
import shutil
import struct
import zipfile
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from clearsched.decisions.experts import TeacherExpert
from clearsched.decisions.recording import collect, record
from clearsched.errors import ClearschedError
from clearsched.files import read_json, write_json
from clearsched.params import Params
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.graph import Graph, graph_of
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import PROBLEM
from clearsched.problems.dag_jobs.published import PUBLISHED, spark_sched_sim
from clearsched.problems.dag_jobs.published.observation import depths, encode, steps
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Simulation, Workload
from clearsched.problems.episodes import NONE
from clearsched.registry import load
from clearsched.schemas import LEARNING_CURVE, read_table
from clearsched.teacher import files, load_policy, train
from clearsched.teacher.choices import row_of
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.published import read_network
from stages import stage_params
from toys import micro_trace, stage, toy_trace, toy_workload

SHARED = Path(__file__).parents[2] / "shared"
CHECKPOINT = SHARED / "data" / "spark-sched-sim" / "model.pt"


@pytest.fixture(scope="module")
def profiles() -> Profiles:
    """Of the embedded trace."""
    return compile_profiles(micro_trace())


@pytest.fixture(scope="module")
def weights() -> dict[str, torch.Tensor]:
    """Random ones, by the checkpoint's own names."""
    generator = torch.Generator().manual_seed(3)
    own = spark_sched_sim.new().state_dict()
    return {
        spark_sched_sim._their_name(name): torch.randn(tensor.shape, generator=generator) / 3
        for name, tensor in own.items()
    }


@pytest.fixture(scope="module")
def file(weights: dict[str, torch.Tensor], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint as torch writes it."""
    path = tmp_path_factory.mktemp("published") / "model.pt"
    torch.save(weights, path)
    return path


@pytest.fixture(scope="module")
def network(file: Path) -> Any:
    """The network of that file."""
    found, _ = read_network(PROBLEM, "spark-sched-sim", file)
    return found.double()


def episode(seed: int, jobs: int = 6) -> Workload:
    """Jobs that come close together on five executors."""
    generator = np.random.default_rng(seed)
    profile, gaps = generator.integers(110, size=jobs), generator.exponential(2000, jobs)
    return Workload(profile, np.cumsum(gaps).astype(np.int64), 5, 1000, seed)


def graphs(profiles: Profiles, count: int = 60) -> list[Graph]:
    """Decisions of a run in which odd limits are given, and now and then nobody moves."""
    generator, found = np.random.default_rng(1), []
    for seed in range(3):
        simulation = Simulation(profiles, episode(seed))
        while simulation.advance() and len(found) < count * (seed + 1) // 3:
            seen = simulation.observe()
            found.append(graph_of(seen))
            at = int(generator.integers(len(seen.candidate_stage)))
            held = int(seen.job_held[seen.node_job[seen.candidate_node[at]]])
            simulation.act(int(seen.candidate_stage[at]), held + 1 + int(generator.integers(5 - held)))
    return found


# The arithmetic of spark-sched-sim, written a second time: a decision by itself, in plain numpy, a node at a time.


def mlp(weights: dict[str, torch.Tensor], name: str, x: np.ndarray, act: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Three linear layers, two activations."""
    for layer in (0, 2, 4):
        x = weights[f"{name}.{layer}.weight"].double().numpy() @ x + weights[f"{name}.{layer}.bias"].double().numpy()
        x = act(x) if layer < 4 else x
    return x


def leaky(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, 0.2 * x)


def reference(weights: dict[str, torch.Tensor], graph: Graph) -> tuple[list[float], list[dict[int, float]]]:
    """Score of each candidate of a single decision, and for each what every number of executors has."""
    executors, to_decide = int(graph.totals[0, 2]), int(graph.totals[0, 0])
    supply = [int(held) + (to_decide if job[0] else 0) for held, job in zip(graph.job_held, graph.jobs, strict=True)]
    caps = [
        to_decide if job[0] else min(executors - has, to_decide) for has, job in zip(supply, graph.jobs, strict=True)
    ]
    x = [
        np.array(
            [
                caps[j] / executors,
                1 if graph.jobs[j, 0] else -1,
                supply[j] / executors,
                node[0] / 200,
                node[0] * (1000 * node[2]) / 1e5,
            ]
        )
        for node, j in zip(graph.nodes.astype(float), graph.node_job.tolist(), strict=True)
    ]
    dag = nx.DiGraph()
    dag.add_nodes_from(range(len(x)))
    dag.add_edges_from(graph.edges.T.tolist())
    gnn = "encoder.node_encoder"
    own = [mlp(weights, f"{gnn}.mlp_prep", row, leaky) for row in x]
    state = [np.zeros(16) for _ in x] if dag.number_of_edges() else own
    if dag.number_of_edges():
        for node in dag:
            if dag.out_degree(node) == 0:
                state[node] = mlp(weights, f"{gnn}.mlp_update", own[node], leaky)
        for level in reversed(list(nx.topological_generations(dag))[:-1]):
            among = dag.subgraph({*level, *(child for node in level for child in dag.successors(node))})
            before = list(state)
            for node in among:
                if among.out_degree(node):
                    sent = [mlp(weights, f"{gnn}.mlp_msg", before[child], leaky) for child in among.successors(node)]
                    state[node] = own[node] + mlp(weights, f"{gnn}.mlp_update", np.sum(sent, axis=0), leaky)
    job = [np.zeros(16) for _ in supply]
    for j, row, h in zip(graph.node_job.tolist(), x, state, strict=True):
        job[j] = job[j] + mlp(weights, "encoder.dag_encoder.mlp", np.concatenate([row, h]), leaky)
    total = np.sum([mlp(weights, "encoder.global_encoder.mlp", h, leaky) for h in job], axis=0)
    scores, given = [], []
    for node in graph.candidate_node.tolist():
        j = int(graph.node_job[node])
        read = np.concatenate([x[node], state[node], job[j], total])
        scores.append(float(mlp(weights, "stage_policy_network.mlp_score", read, np.tanh)[0]))
        first = x[int(np.argmax(graph.node_job == j))][:3]
        given.append(
            {
                number + 1: float(
                    mlp(
                        weights,
                        "exec_policy_network.mlp_score",
                        np.concatenate([first, job[j], total, [number / executors]]),
                        np.tanh,
                    )[0]
                )
                for number in range(caps[j])
            }
        )
    return scores, given


def test_scores_are_those_of_a_second_arithmetic(
    profiles: Profiles, weights: dict[str, torch.Tensor], network: Any
) -> None:
    """In one batch; a level l is the number l less what the job holds."""
    seen = graphs(profiles)
    batch = encode(seen[0].and_more(seen[1:]))
    embedding = network.embed(batch)
    table = network.score_candidates(batch, embedding).detach().numpy()
    assert len({len(steps(len(graph.nodes), *graph.edges)[2]) for graph in seen}) > 2
    for b, graph in enumerate(seen):
        scores, given = reference(weights, graph)
        assert table[b, : len(scores)] == pytest.approx(scores, rel=1e-5, abs=1e-6)
        assert (table[b, len(scores) :] == -np.inf).all()
        for at, expected in enumerate(given):
            rows = row_of(torch.full((len(seen),), NONE).index_fill(0, torch.tensor(b), at), batch)
            levels = network.score_levels(batch, embedding, rows)[b].detach().numpy()
            held = int(graph.job_held[graph.node_job[graph.candidate_node[at]]])
            found = {level + 1 - held: levels[level] for level in np.flatnonzero(np.isfinite(levels)).tolist()}
            assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_a_decision_without_edges_is_not_passed_through(weights: dict[str, torch.Tensor], network: Any) -> None:
    """Beside one with edges, in one batch and in one job each."""
    profiles = compile_profiles(toy_trace([[stage(3)], [stage(2), stage(2, [0])]]))
    seen = []
    for profile in (0, 1):
        simulation = Simulation(profiles, toy_workload([0], 2, profile=[profile]))
        simulation.advance()
        seen.append(graph_of(simulation.observe()))
    batch = encode(seen[0].and_more(seen[1:]))
    assert batch.is_alone.tolist() == [True, False, False]
    table = network.score_candidates(batch, network.embed(batch)).detach().numpy()
    for b, graph in enumerate(seen):
        assert table[b, 0] == pytest.approx(reference(weights, graph)[0][0], rel=1e-5)


def test_inputs_by_hand() -> None:
    """Two jobs at once on four executors: the first stage of one was given three of them; then its first task ends."""
    profiles = compile_profiles(toy_trace([[stage(3, fresh=400), stage(5, [0])], [stage(2)]]))
    simulation = Simulation(profiles, toy_workload([0, 0], 4))
    simulation.advance()
    first = simulation.observe()
    batch = encode(graph_of(first))
    task_s = first.nodes[:, 2]
    # Four to decide on, nobody holds any, no source: 4 of 4 may be given.
    assert batch.nodes[:, 0].tolist() == [1, 1, 1]
    assert batch.nodes[:, 1].tolist() == [-1, -1, -1]
    assert batch.nodes[:, 2].tolist() == [0, 0, 0]
    assert batch.nodes[:, 3].tolist() == pytest.approx([3 / 200, 5 / 200, 2 / 200])
    assert batch.nodes[:, 4].tolist() == pytest.approx((np.array([3, 5, 2]) * task_s * 1000 / 1e5).tolist())
    simulation.act(0, 3)
    simulation.advance()
    batch = encode(graph_of(simulation.observe()))
    assert batch.nodes[:, 0].tolist() == [0.25, 0.25, 0.25]
    assert batch.nodes[:, 2].tolist() == [0.75, 0.75, 0]
    assert batch.room.tolist() == [1] * len(batch.room)
    simulation.act(2, 1)
    while simulation.advance() and not simulation.observe().jobs[:, 0].any():
        seen = simulation.observe()
        simulation.act(int(seen.candidate_stage[0]), int(seen.job_held[seen.node_job[seen.candidate_node[0]]]) + 1)
    seen = simulation.observe()
    batch = encode(graph_of(seen))
    source = int(np.flatnonzero(seen.jobs[:, 0])[0])
    nodes = np.flatnonzero(seen.node_job == source)
    assert (batch.nodes[nodes, 1] == 1).all()
    # What a source has includes those that are decided on.
    held, to_decide = int(seen.job_held[source]), int(seen.totals[0])
    assert batch.nodes[nodes, 2].tolist() == [(held + to_decide) / 4] * len(nodes)
    assert batch.nodes[nodes, 0].tolist() == [to_decide / 4] * len(nodes)


def test_edges_among_children_are_part_of_a_step() -> None:
    """0 -> 1 -> 2 and 0 -> 2 -> 3: the step of depth 0 has the edge 1 -> 2 once more."""
    parent, child = np.array([0, 0, 1, 2]), np.array([1, 2, 2, 3])
    assert depths(4, parent, child).tolist() == [0, 1, 2, 3]
    parents, children, starts = steps(4, parent, child)
    found = [sorted(zip(parents[a:b].tolist(), children[a:b].tolist(), strict=True)) for a, b in pairwise(starts)]
    assert found == [[(2, 3)], [(1, 2)], [(0, 1), (0, 2), (1, 2)]]


def test_it_schedules_as_it_weighs_and_never_answers_none(profiles: Profiles, network: Any) -> None:
    teacher, instance = TeacherPolicy(network, PROBLEM), DagJobsInstance(profiles)
    alone = [teacher.run(instance, [episode(seed)])[0].avg_jct_s for seed in range(4)]
    together = [result.avg_jct_s for result in teacher.run(instance, [episode(seed) for seed in range(4)])]
    assert alone == together
    sampled = TeacherPolicy(network, PROBLEM, "sampled").run(instance, [episode(0)])[0]
    assert sampled.avg_jct_s != alone[0]
    for graph in graphs(profiles):
        assert teacher.weigh(graph).answers.candidate[0] != NONE


class _Drawn(DagJobsInstance):
    """An instance that was not drawn from files."""

    most = 5


def test_the_log_says_that_it_never_answers_none(profiles: Profiles, network: Any) -> None:
    instance, expert = _Drawn(profiles), TeacherExpert(TeacherPolicy(network, PROBLEM))
    ranks, levels = collect(record(expert, instance, [episode(0)], "train"), len(PROBLEM.choices[0].features))
    assert ranks.is_none.any() and (ranks.score[ranks.is_none] == -np.inf).all()
    assert np.isfinite(ranks.score[~ranks.is_none]).all() and np.isfinite(levels.score).all()
    assert (ranks.probability[ranks.is_none] == 0).all() and not ranks.is_none[ranks.chosen].any()
    assert np.add.reduceat(ranks.probability, ranks.starts[:-1]) == pytest.approx(1, abs=1e-5)
    assert len(levels.chosen) == len(ranks.chosen)


# Reading a stranger's file.


class _Runs:
    """A pickle that would make a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Path.touch, (self.path,)  # type: ignore[return-value]


def with_pickle(data: bytes, pickled: bytes) -> bytes:
    """A checkpoint with another index."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(out, "w") as made:
        for name in given.namelist():
            made.writestr(name, pickled if name.endswith("data.pkl") else given.read(name))
    return out.getvalue()


def saved(content: Any) -> bytes:
    out = io.BytesIO()
    torch.save(content, out)
    return out.getvalue()


def compressed(data: bytes) -> bytes:
    """Zeros that unpack to more than they say."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("model/data/0", bytes(50_000_000))
    return out.getvalue()


def later_version(data: bytes) -> bytes:
    """The zip file with a first member that only a later version of the format can take out."""
    place = data.index(b"PK\x01\x02") + 6
    return data[:place] + bytes([99, 0]) + data[place + 2 :]


ZIP64_BEFORE_THE_FILE = (
    struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, 2**64 - 1, 0)
    + struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1)
    + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 2**32 - 1, 2**32 - 1, 0)
)
"""The end of a zip file whose directory is larger than any file."""


NAME = "stage_policy_network.mlp_score.0.weight"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda data, held: data[: len(data) // 2], "no checkpoint of torch"),
        (lambda data, held: b"PK\x03\x04nothing", "no checkpoint of torch"),
        (lambda data, held: pickle.dumps({"a": 1}), "not a zip file"),
        (lambda data, held: later_version(data), "no checkpoint of torch: zip file version 9.9"),
        (lambda data, held: data + ZIP64_BEFORE_THE_FILE, "no checkpoint of torch"),
        (lambda data, held: data + bytes(2_000_000), "bytes: the network has 83,208 bytes"),
        (lambda data, held: compressed(data), "compressed"),
        (lambda data, held: saved([1, 2]), "no weights by name"),
        (lambda data, held: saved(held | {"more": torch.zeros(1)}), "another network: also holds more"),
        (lambda data, held: saved({NAME: held[NAME]}), "another network: lacks"),
        (
            lambda data, held: saved(held | {NAME: torch.zeros(64, 52)}),
            r"has the shape \(64, 52\), not \(64, 53\)",
        ),
        (lambda data, held: saved(held | {NAME: held[NAME].double()}), "float64: float32"),
        (lambda data, held: saved(held | {NAME: "text"}), "str: float32"),
        (lambda data, held: saved(held | {NAME: held[NAME] * np.inf}), "not finite"),
    ],
)
def test_a_strange_checkpoint_is_refused_in_one_line(
    file: Path, weights: dict[str, torch.Tensor], tmp_path: Path, spoil: Callable[..., bytes], said: str
) -> None:
    path = tmp_path / "other.pt"
    path.write_bytes(spoil(file.read_bytes(), weights))
    with pytest.raises(ClearschedError, match=said) as caught:
        read_network(PROBLEM, "spark-sched-sim", path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_no_code_of_a_checkpoint_is_run(file: Path, tmp_path: Path) -> None:
    made, path = tmp_path / "made", tmp_path / "hostile.pt"
    path.write_bytes(with_pickle(file.read_bytes(), pickle.dumps(_Runs(made), protocol=2)))
    with pytest.raises(ClearschedError, match="something other than weights"):
        read_network(PROBLEM, "spark-sched-sim", path)
    assert not made.exists()


def test_a_download_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import pooch

    def fails(*arguments: Any, **named: Any) -> None:
        assert named == {"progressbar": False} and arguments[1] == f"sha256:{spark_sched_sim.SHA256}"
        raise OSError("no network")

    monkeypatch.setattr(pooch, "retrieve", fails)
    with pytest.raises(ClearschedError, match=r"failed \(OSError\); fetch it by hand and set teacher\.published\.path"):
        spark_sched_sim.fetch(tmp_path)


def test_a_download_is_checked_and_kept(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By a server of this machine: what was asked for once is not asked for again; another file is none."""
    asked: list[str] = []

    class Server(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            super().do_GET()

        def log_message(self, *arguments: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=file.parent)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(spark_sched_sim, "CHECKPOINT", f"http://127.0.0.1:{server.server_port}/{file.name}")
        with pytest.raises(ClearschedError, match=r"failed \(ValueError\); fetch it by hand"):
            spark_sched_sim.fetch(tmp_path)
        assert not list(tmp_path.rglob("model.pt")), "a file of another digest is not kept"
        monkeypatch.setattr(spark_sched_sim, "SHA256", sha256(file.read_bytes()).hexdigest())
        found = spark_sched_sim.fetch(tmp_path)
        assert found.read_bytes() == file.read_bytes()
        assert spark_sched_sim.fetch(tmp_path) == found
        server.shutdown()
    assert asked == [f"/{file.name}"] * 2
    read_network(PROBLEM, "spark-sched-sim", found)


@pytest.mark.skipif(not CHECKPOINT.is_file(), reason="the published checkpoint is not here")
def test_the_published_checkpoint_is_read() -> None:
    network, digest = read_network(PROBLEM, "spark-sched-sim", CHECKPOINT)
    assert digest == spark_sched_sim.SHA256
    assert sum(weights.numel() for weights in network.parameters()) == 20_802


@pytest.mark.parametrize("entry", PUBLISHED.values(), ids=lambda entry: entry.name)
def test_every_entry_has_what_is_asked_of_it(entry: Any) -> None:
    for name in ("new", "fetch", "read"):
        assert callable(load(f"{entry.module}:{name}"))
    network = load(f"{entry.module}:new")()
    assert network.levels and set(network.inputs)


# In the flow.


def published(path: Path | None) -> Params:
    """Small episodes with a published teacher."""
    workload = {"executors": 4, "jobs": 5, "moving_delay_s": 0.5, "episodes": {"train": 4, "validation": 3, "test": 1}}
    teacher = {"source": "published", "published": {"path": None if path is None else str(path)}}
    return stage_params(seed=5, workload=workload, teacher=teacher)


@pytest.fixture(scope="module")
def taken(file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Params, list[Path], Path]:
    """Params, the data of a run, and the teacher's folder."""
    folder, params = tmp_path_factory.mktemp("taken"), published(file)
    trace, workloads, tuned = (folder / name for name in ("trace.parquet", "workloads.parquet", "tuned.json"))
    PROBLEM.build(params, trace)
    PROBLEM.draw(params, trace, workloads)
    write_json(tuned, {"problem": "dag_jobs", "best": "capped_srpt", "capped_srpt": {"p": 0.5, "m": 1.0}})
    train(params, trace, workloads, tuned, [], folder / "teacher")
    return params, [trace, workloads, tuned], folder / "teacher"


def test_what_comes_out_is_a_teacher(taken: tuple[Params, list[Path], Path], network: Any) -> None:
    _, (trace, workloads, _), folder = taken
    facts = read_json(folder / "teacher.json")
    assert facts["published"] == "spark-sched-sim" and facts["none"] is False
    teacher = load_policy(folder / "teacher.safetensors")
    instance = PROBLEM.open(trace, workloads)
    episodes = instance.split("validation")
    expected = [result.avg_jct_s for result in TeacherPolicy(network, PROBLEM).run(instance, episodes)]
    assert [result.avg_jct_s for result in teacher.run(instance, episodes)] == expected
    assert facts["validation"]["teacher"] == pytest.approx(np.mean(expected))
    assert facts["validation"]["best_heuristic"] == "capped_srpt"
    curve, about = read_table(folder / "learning_curve.parquet", LEARNING_CURVE)
    assert curve["phase"].to_pylist() == ["published"] and about["measure"] == "jct_s"


def test_twice_gives_the_same_bytes(taken: tuple[Params, list[Path], Path], tmp_path: Path) -> None:
    params, inputs, folder = taken
    train(params, *inputs, [], tmp_path)
    for path in sorted(folder.iterdir()):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.parametrize(
    ("value", "said"), [("decima", "networks known here: spark-sched-sim"), (["x"], "networks known here")]
)
def test_a_description_of_an_unknown_network_is_refused(
    taken: tuple[Params, list[Path], Path], tmp_path: Path, value: Any, said: str
) -> None:
    shutil.copytree(taken[2], tmp_path / "teacher")
    facts = read_json(tmp_path / "teacher/teacher.json")
    write_json(tmp_path / "teacher/teacher.json", facts | {"published": value})
    with pytest.raises(ClearschedError, match=said):
        load_policy(tmp_path / "teacher/teacher.safetensors")


def test_a_file_that_is_not_there_is_told_before_anything_runs(tmp_path: Path, file: Path) -> None:
    assert files(published(None).teacher) == []
    assert files(published(file).teacher) == [file]
    with pytest.raises(ClearschedError, match=r"teacher\.published\.path: .*gone\.pt: no such file"):
        files(published(tmp_path / "gone.pt").teacher)


def test_a_problem_without_a_published_network_refuses_the_source() -> None:
    from clearsched.params import parse

    assert not find_problem("deferrable_jobs").published
    with pytest.raises(ClearschedError, match="no network is published for deferrable_jobs"):
        parse({"problem": "deferrable_jobs", "teacher": {"source": "published"}}, "params.yaml")
