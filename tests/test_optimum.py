"""The optimum of small instances: toys solved by hand, nobody below it, and what cannot be solved."""

from __future__ import annotations

from pathlib import Path

import pytest

from clearsched import figures
from clearsched.errors import ClearschedError
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs import optimality, optimum
from clearsched.problems.dag_jobs.bounds import bounds
from clearsched.problems.dag_jobs.figures import optimality_gap
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.schemas import OPTIMALITY
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.schemas import conform
from toys import stage, toy_trace, toy_workload

solver = pytest.mark.skipif(not optimum.available(), reason="extra optimum (OR-Tools) is not installed")


def constant(num_tasks: int, seconds: int, *parents: int) -> dict:
    """A stage whose tasks all last as long."""
    ms = 1000 * seconds
    return stage(num_tasks, parents, first_wave=ms, rest_wave=ms, fresh=ms)


def solved(jobs: list[list[dict]], executors: int, arrivals_ms: list[int] | None = None) -> optimum.Optimum:
    profiles = compile_profiles(toy_trace(jobs), 0)
    workload = toy_workload(arrivals_ms or [0] * len(jobs), executors, moving_delay_ms=0)
    return optimum.optimum(profiles, workload)


@solver
def test_toys_by_hand() -> None:
    short_first = solved([[constant(1, 4)], [constant(1, 1)], [constant(1, 2)]], 1)
    assert short_first == optimum.Optimum(pytest.approx(11 / 3), pytest.approx(11 / 3), True)  # type: ignore[arg-type]
    chain = solved([[constant(2, 3), constant(1, 5, 0)]], 2)
    assert chain.jct_s == 8.0 and chain.proved
    narrow = solved([[constant(2, 3), constant(1, 5, 0)]], 1)
    assert narrow.jct_s == 11.0
    # The short job arrives a second after the long one starts: to wait for it (1 + 1, then 9) is worse than not to.
    waits = solved([[constant(1, 8)], [constant(1, 1)]], 1, [0, 1000])
    assert waits.jct_s == (10 + 1) / 2 and waits.proved
    # Both of A's branches at once (4 s), then its end; B fills the gap. A 4 + 1, B 2 after 4 or first: 2, then A 7.
    fork = [constant(1, 4), constant(1, 4), constant(1, 1, 0, 1)]
    assert solved([fork, [constant(1, 2)]], 2).jct_s == (2 + 7) / 2


@solver
def test_nobody_is_below_the_optimum_and_the_optimum_is_above_the_bounds() -> None:
    profiles, workloads = optimality.small_instances(4, seed=5)
    problem = find_problem("dag_jobs")
    policies = [heuristic(name) for name in problem.heuristics]
    table = optimality.optimality_table(policies, profiles, workloads, effort=0.3)
    conform(table, OPTIMALITY, "test")
    rows = table.to_pylist()
    assert sum(row["proved"] for row in rows) >= len(policies), "some instance is solved"
    for row in rows:
        assert row["jct_s"] >= row["bound_s"] - 1e-9
        assert row["bound_s"] >= bounds(profiles, workloads[row["instance"]])["jct_s"] - 1e-9 or not row["proved"]
        assert (row["gap_percent"] >= -1e-9) or not row["proved"]
    again = optimality.optimality_table(policies, profiles, workloads, effort=0.3)
    assert again.equals(table)


@solver
def test_the_figure_shows_what_is_proved(tmp_path: Path) -> None:
    policies = [heuristic(name) for name in ("fifo", "fair")]
    optimality.write_optimality(policies, tmp_path, 2, 3, 0.5, lambda solved: None)
    problem = find_problem("dag_jobs")
    drawn = figures.draw_module(optimality_gap.__name__, "gap", problem, tmp_path, tmp_path / "optimality_gap")
    assert [path.suffix for path in drawn] == [".svg", ".png", ".csv"]
    assert len(drawn[2].read_text().splitlines()) == 1 + 2 * 2
    assert Path(optimality_gap.__file__).with_suffix(".rst").is_file()
    with pytest.raises(ClearschedError, match="policy fair is given twice"):
        optimality.write_optimality([policies[1]] * 2, tmp_path, 1, 3, 0.5, lambda solved: None)


def test_instances_repeat_by_seed_and_are_small() -> None:
    (first, loads), (second, _) = (optimality.small_instances(6, seed=2) for _ in range(2))
    longer, _ = optimality.small_instances(9, seed=2)
    assert first.trace.stages.equals(second.trace.stages)
    assert longer.trace.stages.slice(0, len(first.trace.stages)).equals(first.trace.stages)
    assert all(4 <= len(load.profile) <= 8 for load in loads)
    for load in loads:
        optimum.constant_jobs(first, load)


def test_what_has_no_known_optimum_is_refused() -> None:
    plain = [constant(1, 2)]
    with pytest.raises(ClearschedError, match="stage 0: tasks last 10 to 50 ms"):
        optimum.constant_jobs(compile_profiles(toy_trace([[stage(1)]]), 0), toy_workload([0], 1, moving_delay_ms=0))
    profiles = compile_profiles(toy_trace([plain]), 0)
    with pytest.raises(ClearschedError, match="9 jobs: at most 8"):
        optimum.constant_jobs(profiles, toy_workload([0] * 9, 1, profile=[0] * 9, moving_delay_ms=0))
    with pytest.raises(ClearschedError, match="moves must be free"):
        optimum.constant_jobs(profiles, toy_workload([0], 1, moving_delay_ms=5))


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(optimum, "available", lambda: False)
    monkeypatch.setattr(optimality, "available", lambda: False)
    profiles = compile_profiles(toy_trace([[constant(1, 2)]]), 0)
    with pytest.raises(ClearschedError, match=r"pip install 'clearsched\[optimum\]'"):
        optimum.optimum(profiles, toy_workload([0], 1, moving_delay_ms=0))
    with pytest.raises(ClearschedError, match="OR-Tools"):
        optimality.write_optimality([heuristic("fair")], tmp_path, 1, 1, 1.0, lambda solved: None)
