"""The decision log: what is written is what was decided, in any number of pieces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from clearsched import schemas
from clearsched.decisions import (
    Answer,
    describe,
    iterate_choices,
    load_expert,
    log,
    open_log,
    read_choices,
    record,
    summarise,
)
from clearsched.decisions.reader import read_metadata
from clearsched.errors import ClearschedError
from clearsched.params import Params, parse
from clearsched.problems.dag_jobs import workloads
from clearsched.problems.dag_jobs.features import FEATURES
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import simulate
from clearsched.problems.dag_jobs.traces import Trace, write_trace
from clearsched.students.dataset import collect
from toys import stage, toy_trace, toy_workload

CHAIN = [stage(4), stage(3, [0]), stage(2, [1])]
FORK = [stage(6), stage(2), stage(5, [0, 1]), stage(3, [0])]
WIDE = [stage(9), stage(4), stage(1, [1])]


def small_params(**sections: dict) -> Params:
    """Four executors, episodes of five jobs."""
    values = {
        "workload": {"executors": 4, "jobs": 5, "episodes": {"train": 4, "validation": 3, "test": 1}},
        "decisions": {"episodes": 3, "held_out": 2},
    }
    return parse(values | sections, "test", whole=False)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return toy_trace([CHAIN, FORK, WIDE])


@pytest.fixture(scope="module")
def profiles(trace: Trace) -> Profiles:
    return compile_profiles(trace, warmup_delay_ms=1000)


@pytest.fixture(scope="module")
def files(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Trace, workloads and the log of capped SRPT on them."""
    folder = tmp_path_factory.mktemp("decisions")
    write_trace(folder / "trace.parquet", trace)
    workloads.build(small_params(), folder / "trace.parquet", folder / "workloads.parquet")
    out = folder / "decisions.parquet"
    counts = log(small_params(), folder / "trace.parquet", folder / "workloads.parquet", None, "capped_srpt", out)
    assert counts == {"train": 3, "validation": 2}
    return folder / "trace.parquet", folder / "workloads.parquet", out


class Wavering:
    """An expert with a score for everything: the number of tasks left, softly; it takes the best."""

    name = "wavering"

    def generator(self, workload):
        return None

    def decide(self, simulations, observations, generators):
        answers = []
        for simulation, seen in zip(simulations, observations, strict=True):
            score = seen.candidates[:, 15].astype(float)
            best = int(score.argmax())
            held = int(seen.job_held[seen.node_job[seen.candidate_node[best]]])
            limits = np.arange(held + 1, simulation.workload.num_executors + 1)
            by_limit = -np.abs(limits - 2.5)
            chance, by_chance = (np.exp(s) / np.exp(s).sum() for s in (score, by_limit))
            limit = int(limits[by_limit.argmax()])
            stage_row = int(seen.candidate_stage[best])
            answers.append(Answer(best, stage_row, limit, score, chance, limits, by_limit, by_chance))
        return answers


@pytest.fixture(scope="module")
def wavering(profiles: Profiles) -> list:
    episodes = [toy_workload([0, 0, 100], 3), toy_workload([0, 30], 3, profile=[1, 2])]
    return list(record(Wavering(), profiles, episodes, "train"))


def write(path: Path, decisions: list, rows_per_group: int = 1 << 16) -> Path:
    with open_log(path, {"expert": "x", "num_executors": 3, "episodes": {"train": 2}}, rows_per_group) as writer:
        for decision in decisions:
            writer.add(decision)
    return path


def test_the_log_has_the_documented_schema_with_units(files):
    schema = pq.read_schema(files[2])
    assert schema.equals(schemas.decisions())
    for feature in FEATURES:
        assert schema.field(feature.name).metadata == {
            b"unit": feature.unit.encode(),
            b"meaning": feature.meaning.encode(),
        }
    metadata = read_metadata(files[2])
    assert metadata["expert"] == "capped_srpt"
    assert set(metadata["inputs"]) == {"trace", "workloads"}


@pytest.mark.parametrize("choice", ["stage", "limit"])
def test_every_decision_has_one_choice_and_whole_probability(tmp_path, wavering, choice):
    choices = read_choices(write(tmp_path / "log.parquet", wavering), choice)
    assert len(choices.chosen) == len(wavering)
    assert np.all(choices.chosen >= choices.starts[:-1])
    assert np.all(choices.chosen < choices.starts[1:])
    np.testing.assert_allclose(np.add.reduceat(choices.probability, choices.starts[:-1]), 1.0, atol=1e-6)


def test_limits_run_from_one_more_than_held_to_all_executors(files):
    limits = read_choices(files[2], "limit", "train")
    held = limits.features[limits.starts[:-1], 1]
    np.testing.assert_array_equal(limits.candidate[limits.starts[:-1]], held + 1)
    np.testing.assert_array_equal(limits.candidate[limits.starts[1:] - 1], 4)


def test_limit_rows_repeat_the_chosen_stage(files):
    stages, limits = (read_choices(files[2], choice, "validation") for choice in ("stage", "limit"))
    np.testing.assert_array_equal(limits.features[limits.starts[:-1]], stages.features[stages.chosen])
    np.testing.assert_array_equal(limits.job[limits.starts[:-1]], stages.job[stages.chosen])


def test_a_log_in_small_pieces_equals_one_in_one_piece(tmp_path, wavering):
    pieces = write(tmp_path / "pieces.parquet", wavering, rows_per_group=5)
    whole = write(tmp_path / "whole.parquet", wavering)
    assert pq.ParquetFile(pieces).num_row_groups > 5
    assert pq.ParquetFile(whole).num_row_groups == 1
    assert pq.read_table(pieces).equals(pq.read_table(whole))


@pytest.mark.parametrize("batch_rows", [1, 7, 1000])
def test_reading_in_batches_gives_whole_decisions(files, batch_rows):
    whole = read_choices(files[2], "stage", "train")
    parts = list(iterate_choices(files[2], "stage", "train", batch_rows))
    np.testing.assert_array_equal(np.concatenate([part.features for part in parts]), whole.features)
    np.testing.assert_array_equal(np.concatenate([part.sizes for part in parts]), whole.sizes)
    assert sum(len(part.chosen) for part in parts) == len(whole.chosen)


def test_what_is_read_is_what_was_decided(tmp_path, wavering):
    path = write(tmp_path / "log.parquet", wavering)
    for choice, expected in zip(("stage", "limit"), collect(wavering), strict=True):
        for name, found in read_choices(path, choice)._asdict().items():
            np.testing.assert_array_equal(found, getattr(expected, name), err_msg=f"{choice} {name}")


def test_the_same_work_gives_the_same_bytes(files, tmp_path):
    log(small_params(), files[0], files[1], None, "capped_srpt", tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == files[2].read_bytes()


def test_an_interrupted_log_leaves_no_file(tmp_path, wavering):
    with (
        pytest.raises(KeyboardInterrupt),
        open_log(tmp_path / "log.parquet", {}, rows_per_group=5) as writer,
    ):
        for decision in wavering:
            writer.add(decision)
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_chain_alone_has_trivial_decisions_only(tmp_path, profiles):
    # One job whose stages follow each other: until all tasks of a stage have executors its child is no candidate.
    expert = load_expert("capped_srpt")
    path = write(tmp_path / "log.parquet", list(record(expert, profiles, [toy_workload([0], 2)], "train")))
    found = summarise(path)["splits"]["train"]
    assert found["decisions"] > 0
    assert found["trivial"] == 1.0
    assert found["candidates"] == found["decisions"]


def test_the_share_of_trivial_decisions(tmp_path, profiles):
    # WIDE opens with two candidates, of 9 and 4 tasks; 2 executors take the deeper one (4 tasks, one level below it).
    # Only when that has one candidate left, the decisions are trivial.
    expert = load_expert("capped_srpt")
    decisions = list(record(expert, profiles, [toy_workload([0], 2, profile=[2])], "train"))
    assert [len(decision.features) for decision in decisions[:1]] == [2]
    path = write(tmp_path / "log.parquet", decisions)
    by_hand = np.mean([len(decision.features) == 1 for decision in decisions])
    assert 0 < summarise(path)["splits"]["train"]["trivial"] == by_hand < 1


@pytest.mark.parametrize("name", ["capped_srpt", "wsjf", "fair", "fifo"])
def test_a_logged_heuristic_decides_as_inside_the_loop(profiles, name):
    workload = toy_workload([0, 0, 60, 90], 3, profile=[0, 1, 2, 1])
    result = simulate(profiles, workload, heuristic(name).compiled, record_decisions=True)
    targets = result.decisions[:, 4:6]
    decided = list(record(load_expert(name), profiles, [workload], "train"))
    chosen = [(int(d.jobs[d.answer.candidate])) for d in decided]
    assert chosen == targets[targets[:, 0] >= 0, 0].tolist()
    assert [d.decision for d in decided] == list(range(len(decided)))


def test_an_actor_decides_where_the_episode_goes(profiles):
    workload = toy_workload([0, 0, 60, 90], 3, profile=[0, 1, 2, 1])
    actor = heuristic("fifo").compiled
    visited = list(record(load_expert("capped_srpt"), profiles, [workload], "train", actor=actor))
    own = list(record(load_expert("fifo"), profiles, [workload], "train"))
    assert [d.time_s for d in visited] == [d.time_s for d in own]


def test_episodes_do_not_depend_on_their_neighbours(profiles):
    episodes = [toy_workload([0, 0, 100], 3), toy_workload([0, 30], 3, profile=[1, 2])]
    together = list(record(Wavering(), profiles, episodes, "train"))
    alone = list(record(Wavering(), profiles, episodes[1:], "train", first_episode=1))
    second = [decision for decision in together if decision.episode == 1]
    assert len(second) == len(alone)
    for a, b in zip(second, alone, strict=True):
        assert (a.time_s, a.decision, a.answer.stage) == (b.time_s, b.decision, b.answer.stage)
        np.testing.assert_array_equal(a.features, b.features)


def test_describe_shows_counts_and_units(files):
    text = describe(files[2])
    assert "capped_srpt on 4 executors" in text
    assert "validation" in text
    line = next(line for line in text.splitlines() if line.strip().startswith("job_work_left_s"))
    assert line.split()[1] == "s"


def test_bad_logs_are_told_in_one_line(files, tmp_path):
    with pytest.raises(ClearschedError, match="no such file"):
        read_choices(tmp_path / "none.parquet", "stage")
    with pytest.raises(ClearschedError, match="no decision log"):
        read_choices(files[0], "stage")
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(files[2].read_bytes()[:-100])
    with pytest.raises(ClearschedError, match="truncated"):
        describe(cut)
    data = bytearray(files[2].read_bytes())
    data[100:2000] = bytes(1900)
    cut.write_bytes(data)
    with pytest.raises(ClearschedError, match=r"damaged|truncated"):
        read_choices(cut, "stage")


def test_students_and_unknown_names_are_no_experts():
    with pytest.raises(ClearschedError, match="no expert"):
        load_expert("rule_list.json")
    with pytest.raises(ClearschedError, match="did you mean capped_srpt"):
        load_expert("capped_srp")
