"""Deferrable jobs behind the seam: sources, episodes, lockstep, tables and picture of a small scenario."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from deferrable_reference import innovation

from clearsched.compiled.features import docs_tables
from clearsched.compiled.formulae import pack_formula
from clearsched.compiled.scoring import Packed
from clearsched.errors import ClearschedError
from clearsched.figures import subject
from clearsched.problems import find_problem
from clearsched.problems.deferrable_jobs.features import FEATURE_NAMES, FEATURES, QUANTITIES
from clearsched.problems.deferrable_jobs.figures import timeline
from clearsched.problems.deferrable_jobs.instance import DeferrableJobs
from clearsched.problems.deferrable_jobs.sections import HeuristicsParams, TracesParams
from clearsched.problems.deferrable_jobs.settings import AlibabaMarginalsParams, EpisodesParams, WorkloadParams
from clearsched.problems.deferrable_jobs.simulator.loop import EVERY
from clearsched.problems.deferrable_jobs.simulator.outcome import Outcome
from clearsched.problems.deferrable_jobs.traces import alibaba_marginals
from clearsched.problems.deferrable_jobs.traces.pool import read_pool
from clearsched.problems.deferrable_jobs.workloads import capacity
from clearsched.problems.episodes import Answers
from clearsched.problems.policy import heuristic
from clearsched.registry import load
from clearsched.schemas import write_table

ROOT = Path(__file__).parents[2]
PROBLEM = find_problem("deferrable_jobs")
SMALL = EpisodesParams(train=2, validation=3, test=3)

Opened = tuple[DeferrableJobs, Path, Path]


def scenario(folder: Path, source: str = "synthetic", **workload: Any) -> Opened:
    """A scenario built through the seam."""
    chosen = WorkloadParams(**{"episodes": SMALL, "jobs": 60, "slots": 120} | workload)
    params = SimpleNamespace(seed=1, traces=TracesParams(source=source), workload=chosen)
    trace, workloads = folder / "trace.parquet", folder / "workloads.parquet"
    PROBLEM.build(params, trace)
    PROBLEM.draw(params, trace, workloads)
    return PROBLEM.open(trace, workloads), trace, workloads


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return scenario(tmp_path_factory.mktemp("deferrable"))


def learned(none: bool = True) -> Any:
    """A formula in place of a learned policy."""
    weights = {"room_safety": 1.0, "job_duration_rank": -1.0, "constant": 0.5}
    return PROBLEM.compile(Packed(pack_formula(weights, FEATURE_NAMES, "test"), none=none), None)


def same(a: Outcome, b: Outcome) -> bool:
    return np.array_equal(a.completion, b.completion) and a.log.tobytes() == b.log.tobytes()


def test_the_problem_is_light() -> None:
    """What the workflow and `--help` import pulls in neither numba nor torch nor pandas."""
    heavy = "{'numba', 'torch', 'pandas'}"
    code = f"import sys, clearsched.problems.deferrable_jobs.problem; print({heavy} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"


@pytest.mark.parametrize("source", list(PROBLEM.sources))
def test_the_same_seed_gives_the_same_bytes(source: str, tmp_path: Path) -> None:
    first = scenario(tmp_path / "a", source)
    again = scenario(tmp_path / "b", source)
    for one, other in zip(first[1:], again[1:], strict=True):
        assert one.read_bytes() == other.read_bytes()
    splits = [first[0].split(name)[0].arrival.tolist() for name in ("train", "validation", "test")]
    assert splits[0] != splits[1] != splits[2]


def test_an_episode_does_not_depend_on_how_many_there_are(tmp_path: Path, opened: Opened) -> None:
    more, *_ = scenario(tmp_path, episodes=EpisodesParams(train=1, validation=1, test=5))
    for a, b in zip(opened[0].split("test"), more.split("test", 3), strict=True):
        assert a.capacity.tolist() == b.capacity.tolist()
        assert a.deadline.tolist() == b.deadline.tolist()
        assert a.seed == b.seed


@pytest.mark.parametrize("width", [None, 1, 2])
@pytest.mark.parametrize("policy", ["learned", "threshold"])
def test_lockstep_equals_single_runs_to_the_bit(opened: Opened, policy: str, width: int | None) -> None:
    instance, episodes = opened[0], opened[0].split("test")
    compiled = learned() if policy == "learned" else PROBLEM.compile_heuristic("threshold", (0.0, 0.25))
    lockstep = instance.lockstep(episodes, width)
    while lockstep.advance():
        seen = lockstep.observe()
        assert seen.num_decisions == len(lockstep.pending) == len(lockstep.time_s)
        assert seen.candidates.shape == (seen.candidate_start[-1], len(FEATURES))
        lockstep.answer(lockstep.ask(compiled))
    results, single = lockstep.results(), instance.simulate(compiled, episodes)
    assert len(results) == len(single) == 3
    assert all(same(a, b) and a.num_decisions == b.num_decisions for a, b in zip(results, single, strict=True))
    assert same(single[1], instance.simulate(compiled, episodes[1:2])[0])


@pytest.mark.parametrize("name", ["room_least", "room_mean", "room_safety", "job_duration_rank", "room_ending"])
def test_a_policy_decides_the_same_whether_or_not_all_is_written(opened: Opened, name: str) -> None:
    """By one feature and the time that a job waited."""
    instance, episodes = opened[0], opened[0].split("test")
    formula = pack_formula({name: 1.0, "job_waited_relative": 0.1}, FEATURE_NAMES, "test")
    compiled = PROBLEM.compile(Packed(formula, none=True), None)
    assert compiled.read.sum() == 2
    some, every = (instance.simulate(each, episodes) for each in (compiled, compiled._replace(read=EVERY)))
    assert all(map(same, some, every))


def test_a_policy_that_never_answers_none_starts_whatever_fits(opened: Opened) -> None:
    instance, episodes = opened[0], opened[0].split("test")
    eager, patient = instance.simulate(learned(none=False), episodes), instance.simulate(learned(), episodes)
    assert all(outcome.num_decisions == 60 + outcome.evictions.sum() for outcome in eager)
    assert sum(outcome.num_decisions for outcome in patient) > sum(60 + outcome.evictions.sum() for outcome in patient)


def test_random_answers_end_every_episode(opened: Opened) -> None:
    instance, episodes = opened[0], opened[0].split("test")
    generator = np.random.default_rng([1])
    lockstep = instance.lockstep(episodes)
    while lockstep.advance():
        seen = lockstep.observe()
        most = np.diff(seen.candidate_start)
        first = np.where(seen.none_allowed, -1, 0)
        lockstep.answer(Answers(generator.integers(first, most), np.zeros(len(most), np.int64)))
    for outcome in lockstep.results():
        assert np.all(outcome.completion >= outcome.episode.arrival + outcome.episode.duration)
        assert set(outcome.measures) == {measure.name for measure in PROBLEM.measures}
        assert outcome.cost_to_go(np.zeros(1), np.inf)[0] == pytest.approx(-outcome.measures["cost"], abs=1e-9)


def test_observations_are_taken_and_joined(opened: Opened) -> None:
    instance = opened[0]
    lockstep = instance.lockstep(instance.split("test"))
    while True:
        lockstep.advance()
        seen = lockstep.observe()
        if np.diff(seen.candidate_start).max() > 2 and seen.num_decisions == 3:
            break
        lockstep.answer(Answers(np.where(seen.none_allowed, -1, 0), np.zeros(3, np.int64)))
    parts = [seen.take(np.array([row])) for row in (2, 0, 1)]
    joined = parts[0].and_more(parts[1:])
    again = joined.take(np.array([1, 2, 0]))
    for name in seen._fields:
        assert getattr(again, name).tolist() == getattr(seen, name).tolist(), name
    assert joined.candidate_id.tolist() == seen.take(np.array([2, 0, 1])).candidate_id.tolist()
    assert seen.levels.shape == (len(seen.candidates), 0)
    assert seen.backlog().shape == (3, 4)
    assert seen.backlog()[:, 0].tolist() == [
        seen.candidates[c, FEATURE_NAMES.index("cluster_waiting")] for c in seen.candidate_start[:-1]
    ]


def test_the_forecast_is_the_documented_one(opened: Opened) -> None:
    """Against the formula of the docs in Python's whole numbers; its error has the standard deviation that is told."""
    instance = opened[0]
    episode = instance.split("train")[0]
    sigma = 0.015 * episode.cluster
    for slot, reach in ((0, 0), (0, 1), (7, 3), (119, 35)):
        error = sigma * sum(innovation(episode.seed, slot, step) for step in range(1, reach + 1))
        expected = min(max(round(int(episode.capacity[slot]) + error), 0), episode.cluster)
        assert episode.forecast[slot, reach] == expected
    assert episode.deviation[4] == pytest.approx(2 * sigma)
    drawn = capacity.innovations(5, 4000, 17)
    assert abs(drawn[:, 1:].mean()) < 0.01
    assert drawn[:, 1:].std() == pytest.approx(1, abs=0.01)
    assert drawn.sum(axis=1).std() == pytest.approx(4, abs=0.15)
    assert np.array_equal(drawn[:50, :3], capacity.innovations(5, 50, 3))


def test_the_cluster_is_as_large_as_the_load_says(tmp_path: Path) -> None:
    """CPU time asked for to CPU time left, over many episodes, is the load but for what overlapping bursts spare."""
    instance, *_ = scenario(tmp_path, load=0.6, jobs=100, slots=288, episodes=EpisodesParams(train=60))
    episodes = instance.split("train")
    asked = sum((episode.cpu * episode.duration).sum() for episode in episodes)
    left = sum(episode.capacity.sum() for episode in episodes)
    assert asked / left == pytest.approx(0.6, rel=0.06)
    fixed, *_ = scenario(tmp_path / "fixed", cores=50.0)
    assert fixed.facts["cores"] == 50.0


def test_the_marginals_are_those_published(tmp_path: Path) -> None:
    """Quantiles of what is drawn without bounds against the file; with bounds, nothing lies outside."""
    generator = np.random.default_rng([3])
    for quantity, quantile, published in (
        ("stage_s", 0.75, 22),
        ("stage_s", 0.95, 227),
        ("tasks", 0.9, 47),
        ("cpu", 0.5, 100),
    ):
        drawn = alibaba_marginals.draw(generator, quantity, 200_000)
        assert np.quantile(drawn, quantile) == pytest.approx(published, rel=0.05), quantity
    out = tmp_path / "trace.parquet"
    alibaba_marginals.write(None, out, AlibabaMarginalsParams(jobs=3000), 1)
    pool = read_pool(out)
    assert 600 <= pool.duration_s.min() < 620 and pool.duration_s.max() <= 10_800
    assert pool.cpu.min() == 0.5 and pool.cpu.max() <= 4 * 8
    assert pool.interval_s is not None and pool.interval_s.min() == 0


def test_quantiles_are_those_of_the_shared_file(shared: Path) -> None:
    published = json.loads((shared / "data" / "alibaba-2018" / "marginals.json").read_text())
    numbers = set(_numbers(published))
    for quantity in alibaba_marginals.STEP:
        probability, value = alibaba_marginals.curve(quantity)
        inner = value[(probability >= 0.01) & (probability <= 0.999)]
        missing = [number for number in inner.tolist() if round(number, 4) not in numbers]
        assert not missing, quantity


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for inner in value.values() for number in _numbers(inner)]
    return [round(float(value), 4)] if isinstance(value, int | float) else []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"cores": 1.0}, "the largest job asks for"),
        ({"arrivals": "trace"}, "this source knows no arrivals"),
        ({"capacity": {"on_demand": 0.9, "burst_height": 0.9}}, "take all cores"),
    ],
)
def test_what_does_not_fit_is_told_in_a_line(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    with pytest.raises(ClearschedError, match=told) as error:
        scenario(tmp_path, **change)
    assert "\n" not in str(error.value)


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path, opened: Opened) -> None:
    other, trace, workloads = scenario(tmp_path, source="alibaba-marginals")
    with pytest.raises(ClearschedError, match="another trace"):
        PROBLEM.open(trace, opened[2])
    with pytest.raises(ClearschedError, match="no such file"):
        PROBLEM.open(tmp_path / "none.parquet", workloads)
    with pytest.raises(ClearschedError, match=r"workloads\.parquet: 4 test episodes asked for"):
        other.split("test", 4)
    with pytest.raises(ClearschedError, match="reads no file"):
        PROBLEM.files(TracesParams(path="somewhere"))
    with pytest.raises(ClearschedError, match="takes 2"):
        PROBLEM.compile_heuristic("threshold", ())


def test_tables_and_picture_tell_an_evaluation(tmp_path: Path, opened: Opened) -> None:
    instance, episodes = opened[0], opened[0].split("test")
    runs = [
        SimpleNamespace(name=name, results=instance.simulate(PROBLEM.compile_heuristic(name, parameters), episodes))
        for name, parameters in (("edf", ()), ("fifo", ()), ("threshold", (0.0, 0.25)))
    ]
    tables = instance.details(runs, episodes)
    assert set(tables) == set(PROBLEM.details)
    for name, (table, schema) in tables.items():
        write_table(tmp_path / "evaluation" / f"{name}.parquet", table, schema, {})
    jobs = tables["jobs"][0].to_pandas()
    for run in runs:
        means = [outcome.measures["cost"] for outcome in run.results]
        found = jobs[jobs.policy == run.name].groupby("episode").cost.mean()
        np.testing.assert_allclose(found, means)
    slots = tables["slots"][0].to_pandas()
    assert (slots.used <= slots.capacity).all()
    drawing = timeline.draw(tmp_path, subject(PROBLEM))
    best = min(runs, key=lambda run: np.mean([outcome.measures["cost"] for outcome in run.results])).name
    assert list(dict.fromkeys(row[0] for row in drawing.rows)) == ["fifo", best]
    assert Path(timeline.__file__).with_suffix(".rst").is_file()
    assert [entry.module for entry in PROBLEM.figures.values()] == [timeline.__name__]


def test_registered_code_is_there_and_takes_its_parameters() -> None:
    looks = [entry.look for entry in PROBLEM.heuristics.values()]
    assert len(set(looks)) == len(looks)
    for entry in PROBLEM.heuristics.values():
        function = load(entry.function).py_func
        assert function.__code__.co_varnames[: function.__code__.co_argcount] == ("state", *entry.parameters)
        assert len(entry.defaults) == len(entry.parameters)
    grid = list(HeuristicsParams().threshold.grid())
    assert {"safety": 0.0, "slack": 0.25} in grid
    assert len(grid) == 54
    for source in PROBLEM.sources.values():
        assert callable(load(f"{source.module}:write"))


def test_the_docs_have_the_features_and_the_heuristics() -> None:
    page = (ROOT / "docs" / "deferrable-jobs.md").read_text()
    assert docs_tables(FEATURES, {"": QUANTITIES}) in page
    for entry in PROBLEM.heuristics.values():
        assert f"| `{entry.name}` | {entry.summary} |" in page


def test_the_docs_tell_what_the_heuristics_reach(tmp_path: Path) -> None:
    """The table of results on the validation episodes of the default settings."""
    instance, *_ = scenario(tmp_path, jobs=150, slots=288, episodes=EpisodesParams())
    episodes = instance.split("validation")
    page = (ROOT / "docs" / "deferrable-jobs.md").read_text()
    for name, entry in PROBLEM.heuristics.items():
        results = instance.simulate(PROBLEM.compile_heuristic(name, entry.defaults), episodes)
        row = re.search(rf"^\| `{name}` (?:\(.*\) )?\| \**([\d.]+)\** \| ([\d.| ]+) \|$", page, re.MULTILINE)
        assert row, name
        told = [float(row[1]), *map(float, row[2].split(" | "))]
        measures = ("cost", "relative_wait", "missed_share", "evictions_per_job", "utilisation")
        found = [np.mean([result.measures[measure] for result in results]) for measure in measures]
        assert told == pytest.approx(found, abs=6e-4), name


def test_under_stress_forecasts_are_worse_and_nothing_else(opened: Opened, tmp_path: Path) -> None:
    """By the same random numbers, and told so; as wrong at most as in the edge case."""
    instance, *_ = opened
    episodes = instance.split("train")
    stressed = instance.stressed(episodes)
    assert len(stressed) == 2 * len(episodes)
    for times, worse in zip((2, 4), (stressed[: len(episodes)], stressed[len(episodes) :]), strict=True):
        for plain, episode in zip(episodes, worse, strict=True):
            assert episode.deviation[1:] == pytest.approx(times * plain.deviation[1:])
            inside = (episode.forecast > 0) & (episode.forecast < plain.cluster)
            inside &= (plain.forecast > 0) & (plain.forecast < plain.cluster)
            error = plain.forecast - plain.capacity[:, None]
            assert np.abs(episode.forecast - plain.capacity[:, None] - times * error)[inside].max() <= (times + 1) / 2
            assert inside.mean() > 0.5
            for name in ("arrival", "duration", "cpu", "deadline", "capacity"):
                assert np.array_equal(getattr(episode, name), getattr(plain, name))
            assert episode.seed == plain.seed and instance.due_s(episode) == instance.due_s(plain)
    foreseen, *_ = scenario(tmp_path, capacity={"forecast_error": 0.0})
    assert foreseen.stressed(foreseen.split("train")) == [], "what is never wrong is not wrong four times"


def test_an_episode_that_ends_after_the_last_deadline_missed_it(opened: Opened) -> None:
    """Deadlines and ends are told in seconds of one clock: whoever met all deadlines ended by the last of them."""
    instance, *_ = opened
    loose = instance.split("test")
    tight = [replace(episode, deadline=episode.arrival + episode.duration) for episode in loose]
    ends_late = {}
    for kind, episodes in (("loose", loose), ("tight", tight)):
        late = []
        for name in PROBLEM.heuristics:
            for episode, outcome in zip(episodes, heuristic(PROBLEM, name).run(instance, episodes), strict=True):
                late.append(outcome.end_s > instance.due_s(episode))
                assert not late[-1] or outcome.missed.any()
        ends_late[kind] = {*late}
    assert ends_late == {"loose": {False}, "tight": {False, True}}
