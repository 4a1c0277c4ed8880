"""Mixes: each source keeps its profiles and levels, and gets its share of the jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from clearsched.errors import ClearschedError
from clearsched.params import parse
from clearsched.problems.dag_jobs.simulator.profiles import FIRST_WAVE, LENGTH, MEAN_MS, REST_WAVE, compile_profiles
from clearsched.problems.dag_jobs.traces import Trace, read_trace, storage, write_trace
from clearsched.problems.dag_jobs.traces.mixing import mix
from clearsched.problems.dag_jobs.traces.storage import check_file, read_profiles
from clearsched.problems.dag_jobs.workloads import SPLITS, build, executor_ms, load_inputs
from toys import stage, toy_trace

EMBEDDED = Path(__file__).parents[1] / "data" / "tpch-spark.parquet"


def by_level(levels: dict[int, int]) -> dict[str, Any]:
    """One task whose duration tells its level."""
    table = {level: [duration] for level, duration in levels.items()}
    return stage(1, first_wave=table, rest_wave=table, fresh=table)


@pytest.fixture
def sources(tmp_path: Path) -> list[tuple[Path, float]]:
    """Three profiles at levels 1 and 2, the third of which was measured at 1 only, and one at 5, 10 and 40."""
    low = [[by_level({1: 11, 2: 12})], [by_level({1: 21, 2: 22}), stage(2, [0])], [by_level({1: 31})]]
    write_trace(tmp_path / "low.parquet", toy_trace(low, levels=(1, 2)))
    high = [[by_level({5: 105, 10: 110, 40: 140})]]
    write_trace(tmp_path / "high.parquet", toy_trace(high, levels=(5, 10, 40)))
    return [(tmp_path / "low.parquet", 3.0), (tmp_path / "high.parquet", 1.0)]


def test_a_mix_holds_all_profiles(sources: list[tuple[Path, float]], tmp_path: Path) -> None:
    summary = mix(sources, tmp_path / "mix.parquet")
    trace = read_trace(tmp_path / "mix.parquet")
    assert (summary.jobs, summary.stages, summary.tasks) == (4, 5, 6)
    assert summary.work_executor_s == pytest.approx((11.5 + 21.5 + 20 + 31 + (105 + 110 + 140) / 3) / 1000)
    assert trace.jobs["query"].to_pylist() == ["toy/q0", "toy/q1", "toy/q2", "toy-2/q0"]
    assert [(p.source, p.weight, p.profiles, p.levels) for p in trace.parts] == [
        ("toy", 3.0, 3, (1, 2)),
        ("toy-2", 1.0, 1, (5, 10, 40)),
    ]
    assert trace.levels == (1, 2, 5, 10, 40)
    assert check_file(tmp_path / "mix.parquet") == 4
    mix(sources, tmp_path / "named.parquet", ["a", None])
    assert read_trace(tmp_path / "named.parquet").jobs["query"].to_pylist() == ["a/q0", "a/q1", "a/q2", "toy/q0"]


def test_levels_count_by_hand(sources: list[tuple[Path, float]], tmp_path: Path) -> None:
    """At 1, 2, 5, 10 and 40 executors: below a source's smallest level the smallest, above its largest the largest."""
    mix(sources, tmp_path / "mix.parquet")
    found = compile_profiles(read_trace(tmp_path / "mix.parquet")).arrays.table[:, :, REST_WAVE, MEAN_MS]
    assert found[0].tolist() == [11, 12, 12, 12, 12]
    assert found[3].tolist() == [31, 31, 31, 31, 31]  # not measured at 2: its largest, as in its own trace
    assert found[4].tolist() == [105, 105, 105, 110, 140]


def test_a_level_between_two_of_a_source_counts_as_the_nearest(tmp_path: Path) -> None:
    write_trace(tmp_path / "a.parquet", toy_trace([[by_level({2: 2, 10: 10})]], levels=(2, 10)))
    other = {level: 1000 + level for level in (3, 6, 7, 20)}
    write_trace(tmp_path / "b.parquet", toy_trace([[by_level(other)]], levels=(3, 6, 7, 20)))
    mix([(tmp_path / "a.parquet", 1), (tmp_path / "b.parquet", 1)], tmp_path / "mix.parquet")
    found = compile_profiles(read_trace(tmp_path / "mix.parquet")).arrays.table[:, :, FIRST_WAVE, MEAN_MS]
    assert found.tolist() == [[2, 2, 2, 10, 10, 10], [1003, 1003, 1006, 1007, 1007, 1020]]  # levels 2 3 6 7 10 20


def test_some_profiles_of_a_mix_keep_their_sources(sources: list[tuple[Path, float]], tmp_path: Path) -> None:
    mix(sources, tmp_path / "mix.parquet")
    whole = compile_profiles(read_trace(tmp_path / "mix.parquet"))
    for wanted in ([3], [1], [0, 3]):
        some = compile_profiles(read_profiles(tmp_path / "mix.parquet", np.array(wanted)))
        assert [part.profiles for part in some.trace.parts] == [sum(p < 3 for p in wanted), int(3 in wanted)]
        rows = [row for p in wanted for row in range(*whole.arrays.stage_start[p : p + 2])]
        means, wholes = (of.arrays.table[..., LENGTH:] for of in (some, whole))
        assert means.tolist() == wholes[rows].tolist()


SMALL = {"executors": 9, "jobs": 4000, "moving_delay_s": 0.1, "episodes": {"train": 2, "validation": 1, "test": 1}}


def test_jobs_are_drawn_by_weight(
    sources: list[tuple[Path, float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three in four from the first source, all its profiles alike; the load is that of what is drawn."""
    monkeypatch.setattr(storage, "ROWS", 2)  # pieces that hold one source, or both
    mix(sources, tmp_path / "mix.parquet")
    drawn = build(
        parse({"workload": SMALL | {"load": 0.5}}, "test", whole=False),
        tmp_path / "mix.parquet",
        tmp_path / "w.parquet",
    )
    occupied = executor_ms(compile_profiles(read_trace(tmp_path / "mix.parquet")), 9, 100)
    for episode in drawn.split("train"):
        shares = np.bincount(episode.profile, minlength=4) / 4000
        assert shares == pytest.approx([0.25] * 4, abs=4 * (0.25 * 0.75 / 4000) ** 0.5)
        load = occupied[episode.profile].sum() / (9 * episode.arrival_ms[-1])
        assert load == pytest.approx(0.5, rel=0.08)
    profiles, again = load_inputs(tmp_path / "mix.parquet", tmp_path / "w.parquet")
    assert again.table.equals(drawn.table)
    assert profiles.trace.num_profiles == 4


def test_every_source_is_split_by_template(tmp_path: Path) -> None:
    """Every split has the weights asked for, and no template of another."""
    write_trace(tmp_path / "toy.parquet", toy_trace([[stage(i + 1)] for i in range(5)]))
    mix([(EMBEDDED, 1.0), (tmp_path / "toy.parquet", 4.0)], tmp_path / "mix.parquet")
    params = parse({"workload": SMALL | {"split": "template"}}, "test", whole=False)
    drawn = build(params, tmp_path / "mix.parquet", tmp_path / "w.parquet")
    names = read_trace(tmp_path / "mix.parquet").jobs["query"].to_pylist()
    found = []
    for split in SPLITS:
        queries = [names[p] for p in drawn.split(split)[0].profile]
        assert np.mean([query.startswith("toy/") for query in queries]) == pytest.approx(0.8, abs=4 * 0.4 / 4000**0.5)
        found.append(set(queries))
    assert sum(map(len, found)) == len(set.union(*found)) == 22 + 5


def test_what_cannot_be_mixed(sources: list[tuple[Path, float]], tmp_path: Path) -> None:
    mix(sources, tmp_path / "mix.parquet")
    for wrong, told in (
        ([], "names no source"),
        ([(sources[0][0], 0.0)], "weight 0.0: a number above 0"),
        ([(sources[0][0], float("nan"))], "weight nan"),
        ([(tmp_path / "mix.parquet", 1.0)], "is a mix itself"),
        ([(tmp_path / "gone.parquet", 1.0)], "no such file"),
    ):
        with pytest.raises(ClearschedError, match=told):
            mix(wrong, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()
    params = parse({"workload": SMALL | {"arrivals": "replay"}}, "test", whole=False)
    with pytest.raises(ClearschedError, match="has no arrival times"):
        build(params, tmp_path / "mix.parquet", tmp_path / "w.parquet")


def test_a_mix_in_params() -> None:
    parts = [{"source": "synthetic", "weight": 2.0}, {"source": "tpch-spark", "name": "tpch"}]
    params = parse({"traces": {"source": "mix", "mix": parts}}, "test")
    assert [(part.source, part.weight, part.name) for part in params.traces.mix] == [
        ("synthetic", 2.0, None),
        ("tpch-spark", 1.0, "tpch"),
    ]
    with pytest.raises(ClearschedError, match=r"traces\.mix\[0\]\.weight: 0 is not allowed: expected a number > 0"):
        parse({"traces": {"mix": [{"source": "synthetic", "weight": 0}]}}, "test", whole=False)


def test_a_mix_in_pieces_is_the_mix(sources: list[tuple[Path, float]], tmp_path: Path) -> None:
    """Each piece tells how many profiles of each source it holds; together they are all of them."""
    mix(sources, tmp_path / "mix.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "ROWS", 1)
        pieces = list(storage.TraceFile(tmp_path / "mix.parquet").traces())
    assert [[part.profiles for part in piece.parts] for piece in pieces] == [[1, 0], [1, 0], [1, 0], [0, 1]]
    assert [piece.stages["profile"][0].as_py() for piece in pieces] == [0, 1, 2, 3]


def test_a_mix_whose_metadata_counts_other_profiles_is_refused(
    sources: list[tuple[Path, float]], tmp_path: Path
) -> None:
    mix(sources, tmp_path / "mix.parquet")
    trace = read_trace(tmp_path / "mix.parquet")
    trace.metadata["mix"][0]["profiles"] += 1
    write_trace(tmp_path / "mix.parquet", trace)
    with pytest.raises(ClearschedError, match="differ in the number of profiles"):
        check_file(tmp_path / "mix.parquet")


def test_a_source_that_is_not_sound_is_not_mixed(sources: list[tuple[Path, float]], tmp_path: Path) -> None:
    trace = read_trace(sources[0][0])
    tasks = trace.stages.schema.get_field_index("num_tasks")
    bad = trace.stages.set_column(tasks, trace.stages.schema.field(tasks), pa.array([1, 1, 0, 1], pa.int32()))
    write_trace(sources[0][0], Trace(bad, trace.levels, trace.metadata))
    with pytest.raises(ClearschedError, match=r"row 2 .*a stage without tasks"):
        mix(sources, tmp_path / "mix.parquet")
    assert not (tmp_path / "mix.parquet").exists()
