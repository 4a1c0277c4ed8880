"""The decision log: what is written is what was decided, in any number of pieces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearsched.decisions import describe, log, reader
from clearsched.decisions.choices import take
from clearsched.decisions.experts import load_expert
from clearsched.decisions.reader import count_decisions, evenly, iterate_choices, read_all, read_choices, read_metadata
from clearsched.decisions.recording import Decision, collect, record
from clearsched.decisions.schema import log_schema
from clearsched.decisions.summary import summarise
from clearsched.decisions.writer import open_log
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs import workloads
from clearsched.problems.dag_jobs.features import FEATURES
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import simulate
from clearsched.problems.dag_jobs.traces import Trace, write_trace
from clearsched.problems.episodes import Answers
from clearsched.students.dataset import read_dataset
from clearsched.teacher.policy import Weighed
from stages import stage_params
from toys import stage, toy_trace, toy_workload

CHAIN = [stage(4), stage(3, [0]), stage(2, [1])]
FORK = [stage(6), stage(2), stage(5, [0, 1]), stage(3, [0])]
WIDE = [stage(9), stage(4), stage(1, [1])]


def small_params() -> Any:
    """Four executors, episodes of five jobs."""
    return stage_params(
        workload={"executors": 4, "jobs": 5, "episodes": {"train": 4, "validation": 3, "test": 1}},
        decisions={"episodes": 3, "held_out": 2},
    )


@pytest.fixture(scope="module")
def trace() -> Trace:
    return toy_trace([CHAIN, FORK, WIDE])


@pytest.fixture(scope="module")
def instance(trace: Trace) -> DagJobsInstance:
    return DagJobsInstance(compile_profiles(trace, warmup_delay_ms=1000))


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

    def generator(self, instance, episode):
        return None

    def weigh(self, lockstep, observation, generators):
        counts, (low, high) = np.diff(observation.candidate_start), observation.levels.T
        table = np.full((len(counts), counts.max() + 1), -np.inf)
        for b, first in enumerate(observation.candidate_start[:-1]):
            table[b, : counts[b]] = observation.candidates[first : first + counts[b], 15]
        table[:, -1] = np.where(observation.none_allowed, 1.0, -np.inf)
        best = table[:, :-1].argmax(axis=1)
        chosen = observation.candidate_start[:-1] + best
        limits = np.arange(1, high.max() + 1)
        allowed = (limits >= low[chosen, None]) & (limits <= high[chosen, None])
        by_limit = np.where(allowed, -np.abs(limits - 2.5), -np.inf)
        return Weighed(Answers(best, by_limit.argmax(axis=1) + 1), table, by_limit)


@pytest.fixture(scope="module")
def wavering(instance: DagJobsInstance) -> list[Decision]:
    episodes = [toy_workload([0, 0, 100], 3), toy_workload([0, 30], 3, profile=[1, 2])]
    return list(record(Wavering(), instance, episodes, "train"))


def write(path: Path, decisions: list, rows_per_group: int = 1 << 16) -> Path:
    about = {"problem": "dag_jobs", "expert": "x", "facts": {"num_executors": 3}, "episodes": {"train": 2}}
    with open_log(path, PROBLEM, about, rows_per_group) as writer:
        for decision in decisions:
            writer.add(decision)
    return path


def test_the_log_has_the_documented_schema_with_units(files):
    schema = pq.read_schema(files[2])
    assert schema.equals(log_schema(PROBLEM))
    for feature in FEATURES:
        assert schema.field(feature.name).metadata == {
            b"unit": feature.unit.encode(),
            b"meaning": f"{feature.meaning} (NaN for none)".encode(),
            b"formula": feature.formula.encode(),
        }
    metadata = read_metadata(files[2])
    assert metadata["expert"] == "capped_srpt"
    assert (metadata["problem"], metadata["most"]) == ("dag_jobs", 4)
    assert metadata["facts"] == {"num_executors": 4}
    assert metadata["episodes"] == {"train": 3, "validation": 2}
    assert set(metadata["inputs"]) == {"trace", "workloads"}


def test_a_log_tells_what_its_expert_means_by_none(files, tmp_path, monkeypatch):
    """So whoever learns from it means the same, though the run's own params say nothing of it."""
    helping = load_expert(PROBLEM, "capped_srpt")
    helping.policy = replace(helping.policy, help_first=True)
    monkeypatch.setattr("clearsched.decisions.recording.load_expert", lambda *given: helping)
    log(small_params(), *files[:2], None, "capped_srpt", tmp_path / "log.parquet")
    told = [read_metadata(path).get("help_first") for path in (files[2], tmp_path / "log.parquet")]
    assert told == [None, True]
    for path, helps in ((files[2], False), (tmp_path / "log.parquet", True)):
        assert read_dataset(path, PROBLEM, "train", 4).help_first == helps
    table = pq.read_table(tmp_path / "log.parquet")
    about = {b"clearsched": table.schema.metadata[b"clearsched"].replace(b'"help_first": true', b'"help_first": 1')}
    pq.write_table(table.replace_schema_metadata(about), tmp_path / "odd.parquet")
    with pytest.raises(ClearschedError, match="its metadata: help_first: true or false expected"):
        read_metadata(tmp_path / "odd.parquet")


def test_rewards_add_up_to_what_the_episode_lost(files):
    """From its first decision, at time 0, an episode loses the sum of its completion times."""
    table = pq.read_table(files[2], filters=[("choice", "==", "stage")]).to_pandas()
    decisions = table.drop_duplicates(["split", "episode", "decision"])
    instance = PROBLEM.open(*files[:2])
    ran = instance.simulate(heuristic("capped_srpt").compiled, instance.split("train", 3))
    for episode, outcome in enumerate(ran):
        rows = decisions[(decisions.split == "train") & (decisions.episode == episode)]
        lost = outcome.cost_to_go(rows.time_s.to_numpy(), np.inf)
        np.testing.assert_array_equal(rows["return"], lost)
        np.testing.assert_allclose(rows.reward[::-1].cumsum()[::-1], lost)
        assert rows["return"].iloc[0] == pytest.approx(-sum(outcome.completion_ms - outcome.arrival_ms) / 1000)
    assert decisions["return"].notna().all() and (decisions.reward <= 0).all()


def test_a_part_of_a_log_is_evenly_taken_whatever_the_batches(files, monkeypatch):
    whole = read_choices(files[2], PROBLEM, "stage", "train")
    count = count_decisions(files[2], PROBLEM, "stage", "train")
    assert count == len(whole.chosen) > 20
    part = take(whole, np.flatnonzero(evenly(np.arange(count), 0.3)))
    both = read_all(files[2], PROBLEM, ["limit", "stage"], "train", 0.3)
    limits = take(whole_limits := read_choices(files[2], PROBLEM, "limit", "train"),
                  np.flatnonzero(evenly(np.arange(len(whole_limits.chosen)), 0.3)))  # fmt: skip
    for rows in (reader.BATCH_ROWS, 7, 1):
        monkeypatch.setattr(reader, "BATCH_ROWS", rows)
        found = read_choices(files[2], PROBLEM, "stage", "train", 0.3)
        for name in whole._fields:
            np.testing.assert_array_equal(getattr(found, name), getattr(part, name))
            np.testing.assert_array_equal(getattr(both["stage"], name), getattr(part, name))
            np.testing.assert_array_equal(getattr(both["limit"], name), getattr(limits, name))


@pytest.mark.parametrize("choice", ["stage", "limit"])
def test_every_decision_has_one_choice_and_whole_probability(tmp_path, wavering, choice):
    choices = read_choices(write(tmp_path / "log.parquet", wavering), PROBLEM, choice)
    assert len(choices.chosen) == len(wavering)
    assert np.all(choices.chosen >= choices.starts[:-1])
    assert np.all(choices.chosen < choices.starts[1:])
    np.testing.assert_allclose(np.add.reduceat(choices.probability, choices.starts[:-1]), 1.0, atol=1e-6)


def test_limits_run_from_one_more_than_held_to_all_executors(files):
    limits = read_choices(files[2], PROBLEM, "limit", "train")
    held = limits.features[limits.starts[:-1], 1]
    np.testing.assert_array_equal(limits.candidate[limits.starts[:-1]], held + 1)
    np.testing.assert_array_equal(limits.candidate[limits.starts[1:] - 1], 4)


def test_limit_rows_repeat_the_chosen_stage(files):
    stages, limits = (read_choices(files[2], PROBLEM, choice, "validation") for choice in ("stage", "limit"))
    np.testing.assert_array_equal(limits.features[limits.starts[:-1]], stages.features[stages.chosen])
    np.testing.assert_array_equal(limits.group[limits.starts[:-1]], stages.group[stages.chosen])


def test_a_log_in_small_pieces_equals_one_in_one_piece(tmp_path, wavering):
    pieces = write(tmp_path / "pieces.parquet", wavering, rows_per_group=5)
    whole = write(tmp_path / "whole.parquet", wavering)
    assert pq.ParquetFile(pieces).num_row_groups > 5
    assert pq.ParquetFile(whole).num_row_groups == 1
    first, second = pq.read_table(pieces), pq.read_table(whole)
    assert first.schema == second.schema
    for name in first.column_names:  # the rows of none hold NaN, which equals nothing
        np.testing.assert_array_equal(first[name].to_numpy(), second[name].to_numpy(), err_msg=name)


@pytest.mark.parametrize("batch_rows", [1, 7, 1000])
def test_reading_in_batches_gives_whole_decisions(files, batch_rows):
    whole = read_choices(files[2], PROBLEM, "stage", "train")
    parts = list(iterate_choices(files[2], PROBLEM, "stage", "train", batch_rows))
    np.testing.assert_array_equal(np.concatenate([part.features for part in parts]), whole.features)
    np.testing.assert_array_equal(np.concatenate([part.sizes for part in parts]), whole.sizes)
    assert sum(len(part.chosen) for part in parts) == len(whole.chosen)


def test_what_is_read_is_what_was_decided(tmp_path, wavering):
    path = write(tmp_path / "log.parquet", wavering)
    for choice, expected in zip(("stage", "limit"), collect(wavering, len(FEATURES)), strict=True):
        for name, found in read_choices(path, PROBLEM, choice)._asdict().items():
            np.testing.assert_array_equal(found, getattr(expected, name), err_msg=f"{choice} {name}")


def test_the_same_work_gives_the_same_bytes(files, tmp_path):
    log(small_params(), files[0], files[1], None, "capped_srpt", tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == files[2].read_bytes()


def test_an_interrupted_log_leaves_no_file(tmp_path, wavering):
    with (
        pytest.raises(KeyboardInterrupt),
        open_log(tmp_path / "log.parquet", PROBLEM, {}, rows_per_group=5) as writer,
    ):
        for decision in wavering:
            writer.add(decision)
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_chain_alone_has_trivial_decisions_only(tmp_path, instance):
    # One job whose stages follow each other: until all tasks of a stage have executors its child is no candidate.
    expert = load_expert(PROBLEM, "capped_srpt")
    episode = toy_workload([0], 2, idling=False)
    path = write(tmp_path / "log.parquet", list(record(expert, instance, [episode], "train")))
    found = summarise(path)["splits"]["train"]
    assert found["decisions"] > 0
    assert found["trivial"] == 1.0
    assert found["candidates"] == found["decisions"]


def test_the_share_of_trivial_decisions(tmp_path, instance):
    # WIDE opens with two candidates, of 9 and 4 tasks; 2 executors take the deeper one (4 tasks, one level below it).
    # Only when that has one candidate left, the decisions are trivial.
    expert = load_expert(PROBLEM, "capped_srpt")
    decisions = list(record(expert, instance, [toy_workload([0], 2, profile=[2], idling=False)], "train"))
    assert [len(decision.rank.features) for decision in decisions[:1]] == [2]
    path = write(tmp_path / "log.parquet", decisions)
    by_hand = np.mean([len(decision.rank.features) == 1 for decision in decisions])
    assert 0 < summarise(path)["splits"]["train"]["trivial"] == by_hand < 1


@pytest.mark.parametrize("name", ["capped_srpt", "wsjf", "fair", "fifo"])
def test_a_logged_heuristic_decides_as_inside_the_loop(instance, name):
    workload = toy_workload([0, 0, 60, 90], 3, profile=[0, 1, 2, 1], idling=False)
    result = simulate(instance.profiles, workload, heuristic(name).compiled, record_decisions=True)
    targets = result.decisions[:, 4:6]
    decided = list(record(load_expert(PROBLEM, name), instance, [workload], "train"))
    chosen = [int(d.rank.group[d.rank.chosen]) for d in decided]
    assert chosen == targets[targets[:, 0] >= 0, 0].tolist()
    assert [d.decision for d in decided] == list(range(len(decided)))


def test_an_actor_decides_where_the_episode_goes(instance):
    workload = toy_workload([0, 0, 60, 90], 3, profile=[0, 1, 2, 1])
    actor = heuristic("fifo").compiled
    visited = list(record(load_expert(PROBLEM, "capped_srpt"), instance, [workload], "train", actor=actor))
    own = list(record(load_expert(PROBLEM, "fifo"), instance, [workload], "train"))
    assert [d.time_s for d in visited] == [d.time_s for d in own]


def test_episodes_do_not_depend_on_their_neighbours(instance):
    episodes = [toy_workload([0, 0, 100], 3), toy_workload([0, 30], 3, profile=[1, 2])]
    together = list(record(Wavering(), instance, episodes, "train"))
    alone = list(record(Wavering(), instance, episodes[1:], "train", first_episode=1))
    second = [decision for decision in together if decision.episode == 1]
    assert len(second) == len(alone)
    for a, b in zip(second, alone, strict=True):
        assert (a.time_s, a.decision, a.rank.chosen) == (b.time_s, b.decision, b.rank.chosen)
        np.testing.assert_array_equal(a.rank.features, b.rank.features)
        np.testing.assert_array_equal(a.level.candidate, b.level.candidate)


def test_describe_shows_counts_and_units(files):
    text = describe(files[2])
    assert "Decisions of capped_srpt on dag_jobs (executors 4)" in text
    assert "validation" in text
    line = next(line for line in text.splitlines() if line.strip().startswith("job_work_left_s"))
    assert line.split()[1] == "s"


def test_bad_logs_are_told_in_one_line(files, tmp_path):
    with pytest.raises(ClearschedError, match="no such file"):
        read_choices(tmp_path / "none.parquet", PROBLEM, "stage")
    with pytest.raises(ClearschedError, match="no decision log"):
        read_choices(files[0], PROBLEM, "stage")
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(files[2].read_bytes()[:-100])
    with pytest.raises(ClearschedError, match="truncated"):
        describe(cut)
    data = bytearray(files[2].read_bytes())
    data[100:2000] = bytes(1900)
    cut.write_bytes(data)
    with pytest.raises(ClearschedError, match=r"damaged|truncated"):
        read_choices(cut, PROBLEM, "stage")


def test_students_and_unknown_names_are_no_experts():
    with pytest.raises(ClearschedError, match="no expert"):
        load_expert(PROBLEM, "rule_list.json")
    with pytest.raises(ClearschedError, match="did you mean capped_srpt"):
        load_expert(PROBLEM, "capped_srp")


@given(count=st.integers(1, 500), budget=st.integers(1, 500))
def test_a_share_of_decisions_is_spread_evenly(count: int, budget: int) -> None:
    """As many as were asked for, the first among them, none further from the next than one more than the others."""
    kept = np.flatnonzero(evenly(np.arange(count), min(1.0, budget / count)))
    assert abs(len(kept) - min(count, budget)) <= 1 and kept[0] == 0
    assert np.ptp(np.diff(kept)) <= 1 if len(kept) > 1 else True
