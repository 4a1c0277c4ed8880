"""Deferrable jobs: toy episodes by hand, and the compiled simulator against the plain one on random episodes."""

from __future__ import annotations

import random

import numpy as np
import pytest
from deferrable_reference import HEURISTICS, Job, Plain, features
from deferrable_toys import NONE, play, run, run_compiled, toy
from hypothesis import given, settings
from hypothesis import strategies as st

from clearsched.compiled.formulae import pack_formula
from clearsched.compiled.scoring import Packed
from clearsched.errors import ActionError, FeatureError, WorkloadError
from clearsched.problems.deferrable_jobs.features import FEATURE_NAMES
from clearsched.problems.deferrable_jobs.problem import PROBLEM
from clearsched.problems.deferrable_jobs.settings import WeightsParams
from clearsched.problems.deferrable_jobs.simulator.lockstep import Lockstep
from clearsched.problems.deferrable_jobs.simulator.outcome import Outcome
from clearsched.problems.deferrable_jobs.simulator.state import LOG_RUNNING, Episode
from clearsched.problems.episodes import Answers


@st.composite
def episodes(draw: st.DrawFn) -> Episode:
    """1 to 9 jobs on a capacity that often drops below what could run, with a forecast that is often wrong."""
    count, slots = draw(st.integers(1, 9)), draw(st.integers(1, 12))
    arrival = sorted(draw(st.lists(st.integers(0, 15), min_size=count, max_size=count)))
    duration = draw(st.lists(st.integers(1, 6), min_size=count, max_size=count))
    cpu = draw(st.lists(st.sampled_from([1000, 2000, 3000, 3500]), min_size=count, max_size=count))
    slack = draw(st.lists(st.integers(0, 12), min_size=count, max_size=count))
    left = draw(st.lists(st.integers(max(cpu), 12_000), min_size=slots, max_size=slots))
    reach = max(duration) + draw(st.integers(0, 3))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    capacity = np.array(left, np.int64)
    error = np.concatenate([np.zeros((slots, 1)), generator.normal(0, 1500, (slots, reach - 1))], axis=1)
    foreseen = np.clip(np.rint(capacity[:, None] + np.cumsum(error, axis=1)), 0, 15_000).astype(np.int64)
    deadline = np.array(arrival) + np.array(duration) + np.array(slack)
    return Episode(
        np.array(arrival),
        np.array(duration),
        np.array(cpu),
        deadline,
        capacity,
        foreseen,
        np.maximum(1500.0 * np.sqrt(np.arange(reach)), 1.0),
        day_slots=draw(st.sampled_from([5, 24, 288])),
        day_start=draw(st.integers(0, 4)),
        cluster=15_000,
        weights=WeightsParams(wait=1.0, miss=4.0, eviction=0.5),
    )


def assert_same(outcome: Outcome, plain: Plain) -> None:
    """The same jobs in the same slots, and the same numbers at the end."""
    assert outcome.completion.tolist() == [job.completion for job in plain.jobs]
    assert outcome.evictions.tolist() == [job.evictions for job in plain.jobs]
    assert outcome.missed.tolist() == [job.completion > job.deadline for job in plain.jobs]
    assert outcome.missed.tolist() == [job.lost is not None for job in plain.jobs]
    assert outcome.log[:, [0, 1, 2, 5, 6]].tolist() == [list(map(float, row)) for row in plain.slots]
    assert outcome.num_decisions == len(plain.decisions)
    assert outcome.measures["cost"] == pytest.approx(float(plain.cost()), abs=1e-12)


@settings(max_examples=150, deadline=None)
@given(episodes(), st.sampled_from(sorted(HEURISTICS)), st.sampled_from([-2.0, 0.0, 1.0]), st.sampled_from([0.0, 0.5]))
def test_heuristics_run_as_in_the_plain_simulator(episode: Episode, name: str, safety: float, slack: float) -> None:
    parameters = (safety, slack) if name == "threshold" else ()
    plain = Plain(episode).run(HEURISTICS[name](*parameters))
    assert_same(run(episode, name, *parameters), plain)
    assert len(plain.slots) <= episode.most_slots


@settings(max_examples=150, deadline=None)
@given(episodes(), st.integers(0, 2**32), st.sampled_from([0.0, 0.3, 1.0]))
def test_random_choices_run_as_in_the_plain_simulator(episode: Episode, seed: int, none: float) -> None:
    """Every decision has the same candidates, features and leave to answer none; `none` 1: always where allowed."""
    stream, answers, rows = random.Random(seed), [], []

    def policy(plain: Plain) -> Job | None:
        candidates = plain.candidates()
        rows.append([features(plain, job) for job in candidates])
        wait = plain.may_wait() and stream.random() < none
        answers.append(NONE if wait else stream.randrange(len(candidates)))
        return None if wait else candidates[answers[-1]]

    plain = Plain(episode).run(policy)
    lockstep = Lockstep([episode])
    for (slot, candidates, may_wait), answer, described in zip(plain.decisions, answers, rows, strict=True):
        assert lockstep.advance() == 1
        seen = lockstep.observe()
        assert lockstep.time_s.tolist() == [slot * 300.0]
        assert seen.candidate_id.tolist() == candidates
        assert seen.none_allowed.tolist() == [may_wait]
        expected = np.array([[row[name] for name in FEATURE_NAMES] for row in described], np.float32)
        np.testing.assert_allclose(seen.candidates, expected, rtol=1e-6, atol=1e-6)
        lockstep.answer(Answers(np.array([answer]), np.zeros(1, np.int64)))
    assert lockstep.advance() == 0
    assert_same(lockstep.results()[0], plain)


@settings(max_examples=80, deadline=None)
@given(episodes())
def test_a_policy_that_never_starts_a_job_ends_too(episode: Episode) -> None:
    """Every job still completes, within the bound, and each start was one where none is refused."""
    plain = Plain(episode).run(lambda plain: None)
    nothing = Packed(pack_formula({"job_cpu": -1.0}, FEATURE_NAMES, "test"), none=True)
    formula = run_compiled(episode, PROBLEM.compile(nothing, None))
    assert len(plain.slots) <= episode.most_slots
    assert len(formula.log) <= episode.most_slots
    assert formula.evictions.sum() == 0  # one job at a time
    assert formula.log[:, LOG_RUNNING].max() == 1


def test_what_starts_too_early_is_evicted_and_starts_anew() -> None:
    """Two jobs of 2 cores run; then 3 cores are left, and the one that started last loses its slot of work."""
    episode = toy([(0, 3, 2000, 3), (0, 3, 2000, 9)], [4000, 3000, 3000, 4000, 4000, 4000])
    outcome = run(episode, "fifo")
    assert outcome.completion.tolist() == [3, 6]
    assert outcome.evictions.tolist() == [0, 1]
    assert outcome.missed.tolist() == [False, False]
    assert outcome.measures["relative_wait"] == pytest.approx((0 + 1) / 2)
    assert outcome.measures["cost"] == pytest.approx(0.5 + 1.0 * 0.5)
    assert outcome.measures["utilisation"] == pytest.approx(12 / 22)


def test_starting_nothing_now_can_be_optimal() -> None:
    """A long job would block the short one that comes a slot later, so it is best to let it come."""
    episode = toy([(0, 8, 2000, 40), (1, 1, 2000, 2)], [2000] * 40)
    greedy, patient = play(episode, [0, 1]), play(episode, [NONE, 1, 0])
    assert greedy.measures["cost"] == pytest.approx((0 + 7 + 4) / 2)  # the short one waits 7 slots and is late
    assert patient.measures["cost"] == pytest.approx(2 / 8 / 2)  # the long one waits 2 slots of its 8
    best = min(search(episode, []))
    assert best == pytest.approx(patient.measures["cost"])


def test_to_wait_out_a_dip_is_optimal_and_what_the_threshold_rule_does() -> None:
    """In slot 2 only 2 of 3 cores are left: a job of 2 that starts in slot 1, beside another, is evicted there."""
    episode = toy([(0, 3, 1000, 9), (1, 3, 2000, 8)], [3000, 3000, 2000, 3000, 3000, 3000])
    assert run(episode, "fifo").evictions.tolist() == [0, 1]
    outcome = run(episode, "threshold", 0.0, 0.0)
    assert outcome.completion.tolist() == [3, 6]
    assert outcome.evictions.tolist() == [0, 0]
    assert outcome.measures["cost"] == pytest.approx(min(search(episode, [])))


def search(episode: Episode, answers: list[int]) -> list[float]:
    """The cost of every sequence of answers that begins with these."""
    lockstep, left = Lockstep([episode]), list(answers)
    while lockstep.advance():
        seen = lockstep.observe()
        if not left:
            options = [*range(len(seen.candidate_id)), *([NONE] if seen.none_allowed[0] else [])]
            if len(answers) > 8:  # deep enough for these toys: from here on start whatever there is
                options = options[:1]
            return [cost for option in options for cost in search(episode, [*answers, option])]
        lockstep.answer(Answers(np.array([left.pop(0)]), np.zeros(1, np.int64)))
    return [lockstep.results()[0].measures["cost"]]


def test_the_youngest_goes_first_and_the_oldest_stays() -> None:
    episode = toy([(0, 4, 1000, 20), (0, 4, 1000, 20), (1, 4, 1000, 20)], [3000, 3000, 1000, 3000])
    outcome = run(episode, "fifo")
    assert outcome.evictions.tolist()[0] == 0
    assert outcome.log[2, 5] == 2  # both others, in slot 2
    assert outcome.completion[0] == 4


def test_none_is_refused_when_nothing_else_is_going_to_happen() -> None:
    lockstep = Lockstep([toy([(2, 1, 1000, 9)], [1000])])
    lockstep.advance()
    assert lockstep.time_s.tolist() == [600.0]
    assert not lockstep.observe().none_allowed[0]
    with pytest.raises(ActionError, match="decision 0: lane 0: nothing runs"):
        lockstep.answer(Answers(np.array([NONE]), np.zeros(1, np.int64)))
    with pytest.raises(ActionError, match="candidate 1 is none of the 1 there are"):
        lockstep.answer(Answers(np.array([1]), np.zeros(1, np.int64)))
    with pytest.raises(ActionError, match="1 whole numbers needed"):
        lockstep.answer(Answers(np.array([0.0]), np.zeros(1, np.int64)))
    lockstep.answer(Answers(np.array([0]), np.zeros(1, np.int64)))
    assert lockstep.advance() == 0
    assert lockstep.results()[0].completion.tolist() == [3]


@pytest.mark.parametrize(
    ("jobs", "capacity", "told"),
    [
        ([(1, 1, 1, 5), (0, 1, 1, 5)], [5], "increasing order"),
        ([(0, 0, 1, 5)], [5], "durations must lie in 1 to"),
        ([(0, 1, 6, 5)], [9, 5], "fit alone"),
        ([(0, 3, 1, 2)], [5], "no time to run"),
    ],
)
def test_an_episode_that_cannot_be_simulated_is_refused(jobs: list, capacity: list[int], told: str) -> None:
    with pytest.raises(WorkloadError, match=told):
        toy(jobs, capacity)


@settings(max_examples=60, deadline=None)
@given(episodes(), st.floats(0, 6000), st.floats(200, 1e5))
def test_cost_to_go_sums_what_the_objective_loses(episode: Episode, time_s: float, horizon_s: float) -> None:
    outcome = run(episode, "shortest")
    from_start = outcome.cost_to_go(np.array([0.0]), np.inf)
    assert from_start[0] == pytest.approx(-outcome.measures["cost"], abs=1e-9)
    after_end = outcome.cost_to_go(np.array([len(outcome.log) * 300.0 + 1e6]), horizon_s)
    assert after_end[0] == pytest.approx(0, abs=1e-9)
    value = outcome.cost_to_go(np.array([time_s]), horizon_s)[0]
    assert value == pytest.approx(_integrated(outcome, time_s, horizon_s), rel=2e-3, abs=1e-4)


def _integrated(outcome: Outcome, time_s: float, horizon_s: float) -> float:
    """The same by a sum over seconds and events."""
    weights, total = outcome.episode.weights, 0.0
    for slot, (_, _, _, rate, lost, evicted, missed) in enumerate(outcome.log.tolist()):
        begin = slot * 300.0
        if begin > time_s:
            event = weights.wait * lost + weights.eviction * evicted + weights.miss * missed
            total += event * np.exp(-(begin - time_s) / horizon_s)
        seconds = np.maximum(begin + np.arange(301.0), time_s)
        lengths, middles = np.diff(seconds), (seconds[1:] + seconds[:-1]) / 2
        total += weights.wait * rate / 300 * (lengths * np.exp(-(middles - time_s) / horizon_s)).sum()
    return -total / outcome.episode.num_jobs


def test_a_score_that_is_no_number_is_told() -> None:
    formula = pack_formula({"job_duration_min": 1e308, "job_slack_min": 1e308}, FEATURE_NAMES, "test")
    episode = toy([(0, 5, 1000, 90)], [1000])
    with pytest.raises(FeatureError, match="decision 0: the score of a job is not a finite number"):
        run_compiled(episode, PROBLEM.compile(Packed(formula), None))
