"""Every registered problem keeps the promises of `clearsched.problems.problem`: the stages rely on nothing else."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clearsched.compiled.formulae import pack_formula
from clearsched.compiled.scoring import NOTHING, Packed, choose, levels_of, scores_of, with_patches
from clearsched.errors import ActionError, ClearschedError
from clearsched.params import parse
from clearsched.problems import PROBLEMS, find_problem
from clearsched.problems.episodes import NONE, Answers, level_of
from clearsched.problems.policy import heuristic
from clearsched.problems.problem import SPLITS, Instance, Problem
from clearsched.registry import load
from clearsched.scorers.patches import packed_patches, read_patches
from conformance.cases import CASES

Answer = Callable[[Any, int], tuple[int, int]]
"""From the decisions of a step and the position of one among them to a candidate and a level."""


@pytest.fixture(scope="module", params=list(PROBLEMS))
def problem(request: pytest.FixtureRequest) -> Problem:
    """Each problem in turn."""
    return find_problem(request.param)


@pytest.fixture(scope="module")
def files(problem: Problem, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A small trace and its episodes."""
    return drawn(problem, tmp_path_factory.mktemp(problem.name))


@pytest.fixture(scope="module")
def instance(problem: Problem, files: tuple[Path, Path]) -> Instance:
    return problem.open(*files)


def test_a_policy_and_its_problem_go_to_other_processes(problem: Problem, instance: Instance) -> None:
    """Once everything of the problem was asked for, as it is in the process that sends them."""
    assert problem.sections and problem.choices and problem.measures
    policy, episode = heuristic(problem, problem.baseline), instance.split("train")[0]
    sent_problem, sent_policy, sent_instance, sent_episode = pickle.loads(
        pickle.dumps((problem, policy, instance, episode))
    )
    assert sent_problem.name == problem.name
    mine, theirs = policy.run(instance, [episode])[0], sent_policy.run(sent_instance, [sent_episode])[0]
    assert mine.measures == theirs.measures


def drawn(problem: Problem, folder: Path) -> tuple[Path, Path]:
    """The problem's trace and episodes, made as the workflow makes them."""
    params = parse({"problem": problem.name, "seed": 3, **CASES[problem.name].params}, "test", whole=False)
    trace, workloads = folder / "trace.parquet", folder / "workloads.parquet"
    assert all(what and how_much for what, how_much in problem.build(params, trace))
    problem.draw(params, trace, workloads)
    return trace, workloads


def play(instance: Instance, episodes: list[Any], answer: Answer, width: int | None = None) -> tuple[list[Any], list]:
    """Outcomes of episodes in lockstep, and for each the answers it was given."""
    lockstep = instance.lockstep(episodes, width)
    given: list[list[tuple[int, int]]] = [[] for _ in episodes]
    while lockstep.advance():
        seen, lanes = lockstep.observe(), lockstep.pending
        found = [answer(seen, b) for b in range(len(lanes))]
        for lane, pair in zip(lanes.tolist(), found, strict=True):
            given[int(lockstep.episode[lane])].append(pair)
        columns = np.array(found, np.int64)
        lockstep.answer(Answers(columns[:, 0], columns[:, 1]))
    return list(lockstep.results()), given


def options(seen: Any, b: int) -> tuple[int, bool]:
    """Number of candidates of a decision, and whether it may be answered none."""
    return int(seen.candidate_start[b + 1] - seen.candidate_start[b]), bool(seen.none_allowed[b])


def level_for(seen: Any, b: int, candidate: int, share: float) -> int:
    """The level of a candidate that a share of the most means; 0 where there is no level choice."""
    if candidate == NONE or not seen.levels.shape[1]:
        return 0
    return level_of(share, *seen.levels[seen.candidate_start[b] + candidate].tolist())


def random_answers(seed: int, idle: float = 0.5) -> Answer:
    """A policy that draws all it says, none with probability `idle` wherever it may."""
    generator = np.random.default_rng(seed)

    def answer(seen: Any, b: int) -> tuple[int, int]:
        count, may_idle = options(seen, b)
        candidate = NONE if may_idle and generator.random() < idle else int(generator.integers(count))
        return candidate, level_for(seen, b, candidate, generator.random())

    return answer


def never(seen: Any, b: int) -> tuple[int, int]:
    """None wherever it may, else the first candidate with as little as it can get."""
    candidate = NONE if options(seen, b)[1] else 0
    return candidate, level_for(seen, b, candidate, 0.0)


def measures(outcomes: list[Any]) -> list[dict[str, float]]:
    return [dict(outcome.measures) for outcome in outcomes]


# What it says of itself ---------------------------------------------------------------------------------------------


def test_it_has_a_case_here(problem: Problem) -> None:
    assert problem.name in CASES, "a new problem needs an entry in tests/conformance/cases.py"


def test_it_asks_one_rank_choice_and_at_most_one_level_choice_after_it(problem: Problem) -> None:
    assert [choice.form for choice in problem.choices] in (["rank"], ["rank", "level"])
    assert all(choice.question.endswith("?") for choice in problem.choices)
    assert len({choice.name for choice in problem.choices}) == len(problem.choices)
    rank = problem.choices[0]
    assert not rank.keeps or rank.keeps in [feature.name for feature in rank.features]
    for feature in (rank.ready, rank.served, rank.age):
        assert not feature or feature in [known.name for known in rank.features]
    for choice in problem.choices[1:]:
        assert choice.features == rank.features
        assert choice.unit
        assert not choice.none


def test_features_have_names_units_meanings_and_formulas(problem: Problem) -> None:
    features = problem.choices[0].features
    assert len({feature.name for feature in features}) == len(features)
    for feature in features:
        assert feature.name.isidentifier()
        assert feature.unit == feature.unit.strip()
        assert feature.meaning
        assert feature.formula
        assert feature.monotone in (-1, 0, 1)


def test_measures_have_names_and_labels(problem: Problem) -> None:
    assert len({measure.name for measure in problem.measures}) == len(problem.measures) >= 1
    assert all(measure.label and measure.short for measure in problem.measures)


def test_what_is_registered_is_there(problem: Problem) -> None:
    """Code that an entry names can be imported; a figure has its caption beside it."""
    for entry in problem.heuristics.values():
        assert callable(load(entry.function))
        assert len(entry.parameters) == len(entry.defaults)
        assert not entry.settings or callable(load(entry.settings).grid)
        assert bool(entry.settings) == bool(entry.section)
        assert entry.summary and entry.source
    for source in problem.sources.values():
        assert callable(load(f"{source.module}:write"))
        assert source.summary
    for figure in problem.figures.values():
        assert callable(load(f"{figure.module}:draw"))
        assert Path(load(f"{figure.module}:__file__")).with_suffix(".rst").read_text("utf-8").strip()
    assert {*problem.yardsticks, problem.baseline} <= set(problem.heuristics)
    assert problem.default_source in problem.sources
    assert {"traces", "workload", "heuristics"} <= set(problem.sections)


# Episodes -----------------------------------------------------------------------------------------------------------


def test_episodes_repeat_by_seed(problem: Problem, files: tuple[Path, Path], tmp_path: Path) -> None:
    for path, again in zip(files, drawn(problem, tmp_path), strict=True):
        assert path.read_bytes() == again.read_bytes()


def test_splits_hold_what_was_asked_for(problem: Problem, instance: Instance) -> None:
    counts = CASES[problem.name].params["workload"]["episodes"]
    for split in SPLITS:
        assert len(instance.split(split)) == counts[split]
        assert len(instance.split(split, 1)) == 1
        assert str(counts[split]) in instance.describe(split, instance.split(split))
    with pytest.raises(ClearschedError):
        instance.split("train", counts["train"] + 1)


def test_an_outcome_tells_all_measures(problem: Problem, instance: Instance) -> None:
    outcome = instance.simulate(heuristic(problem, next(iter(problem.heuristics))).compiled, instance.split("train"))[0]
    assert list(outcome.measures) == [measure.name for measure in problem.measures]
    assert np.isfinite(list(outcome.measures.values())).all()
    for name, values in outcome.by_job.items():
        np.testing.assert_allclose(values.mean(), outcome.measures[name])
    assert outcome.by_job
    assert outcome.num_decisions > 0
    assert outcome.scale_s > 0
    assert outcome.end_s > 0
    assert outcome.cost_to_go(np.array([outcome.end_s + 1.0]), np.inf)[0] == 0


# Policies -----------------------------------------------------------------------------------------------------------


def test_every_heuristic_ends_every_episode_and_answers_alike_in_lockstep(problem: Problem, instance: Instance) -> None:
    episodes = instance.split("train")
    for name in problem.heuristics:
        policy = heuristic(problem, name).compiled
        alone = measures(instance.simulate(policy, episodes))
        for width in (1, None):
            lockstep = instance.lockstep(episodes, width)
            while lockstep.advance():
                lockstep.answer(lockstep.ask(policy), by_heuristic=True)
            assert measures(list(lockstep.results())) == alone, (name, width)


@pytest.mark.parametrize("idle", [0.0, 0.5, 0.95])
def test_whatever_is_answered_every_episode_ends(instance: Instance, idle: float) -> None:
    episodes = instance.split("train")
    outcomes, _ = play(instance, episodes, random_answers(5, idle))
    assert len(outcomes) == len(episodes)


def test_a_policy_that_does_nothing_wherever_it_may_ends_every_episode(problem: Problem, instance: Instance) -> None:
    """Outside the loop, and inside it: a formula whose scores are all below 0."""
    episodes = instance.split("train")
    outcomes, given = play(instance, episodes, never)
    assert len(outcomes) == len(episodes)
    if problem.choices[0].none:
        assert any(candidate == NONE for answers in given for candidate, _ in answers)
    names = [feature.name for feature in problem.choices[0].features]
    idler = problem.compile(Packed(pack_formula({"constant": -1.0}, names, "test"), none=True), NOTHING)
    assert len(instance.simulate(idler, episodes)) == len(episodes)


def test_recorded_decisions_replay_to_the_same_outcome(instance: Instance) -> None:
    episodes = instance.split("train")
    outcomes, given = play(instance, episodes, random_answers(11))
    for episode, answers, outcome in zip(episodes, given, outcomes, strict=True):
        waiting = iter(answers)
        again, _ = play(instance, [episode], lambda seen, b, waiting=waiting: next(waiting))
        assert measures(again) == measures([outcome])
        assert next(waiting, None) is None


def test_features_are_finite_and_observations_fit(problem: Problem, instance: Instance) -> None:
    width, has_level = len(problem.choices[0].features), len(problem.choices) > 1
    answer, steps = random_answers(7), 0
    lockstep = instance.lockstep(instance.split("train"))
    while lockstep.advance():
        seen, steps = lockstep.observe(), steps + 1
        total = int(seen.candidate_start[-1])
        assert seen.candidates.shape == (total, width)
        assert seen.candidates.dtype == np.float32
        assert np.isfinite(seen.candidates).all()
        assert (np.diff(seen.candidate_start) > 0).all()
        assert len(seen.candidate_id) == len(seen.candidate_group) == total
        assert seen.levels.shape == (total, 2 if has_level else 0)
        if has_level:
            assert (seen.levels[:, 0] >= 1).all() and (seen.levels[:, 0] <= seen.levels[:, 1]).all()
            assert (seen.levels[:, 1] <= instance.most).all()
        assert seen.none_allowed.shape == (seen.num_decisions,) == lockstep.time_s.shape
        assert np.isfinite(seen.backlog()).all() and len(seen.backlog()) == seen.num_decisions
        if not problem.choices[0].none:
            assert not seen.none_allowed.any()
        _check_take(seen)
        pairs = np.array([answer(seen, b) for b in range(seen.num_decisions)])
        lockstep.answer(Answers(pairs[:, 0], pairs[:, 1]))
    assert steps > 3


def _check_take(seen: Any) -> None:
    """The last decision before the first, and joined with all: rows, ids and permissions go along."""
    rows = np.array([seen.num_decisions - 1, 0])
    joined = seen.take(rows).and_more([seen])
    last = slice(seen.candidate_start[-2], seen.candidate_start[-1])
    count = last.stop - last.start
    assert joined.num_decisions == seen.num_decisions + 2
    np.testing.assert_array_equal(joined.candidates[:count], seen.candidates[last])
    np.testing.assert_array_equal(joined.candidate_id[:count], seen.candidate_id[last])
    np.testing.assert_array_equal(joined.levels[-count:], seen.levels[last])
    np.testing.assert_array_equal(joined.none_allowed, [*seen.none_allowed[rows], *seen.none_allowed])


@pytest.mark.parametrize("none", [False, True])
def test_the_best_candidate_is_taken_and_none_has_the_score_0(problem: Problem, instance: Instance, none: bool) -> None:
    """A policy by scores does in the loop what its scores say outside it."""
    names = [feature.name for feature in problem.choices[0].features]
    generator, answered = np.random.default_rng(2), []
    for _ in range(4):
        weights = {name: float(weight) for name, weight in zip(names, generator.normal(size=len(names)), strict=True)}
        rank = Packed(pack_formula({**weights, "constant": 10 * generator.normal()}, names, "test"), none=none)
        level = Packed(pack_formula({"constant": float(generator.random())}, names, "test"))

        def answer(seen: Any, b: int, rank: Packed = rank, level: Packed = level) -> tuple[int, int]:
            rows = seen.candidates[seen.candidate_start[b] : seen.candidate_start[b + 1]]
            scores = scores_of(rank, rows)
            best = int(np.argmax(scores))
            if none and options(seen, b)[1] and scores[best] <= 0:
                best = NONE
            answered.append(best)
            return best, level_for(seen, b, best, float(scores_of(level, rows[:1])[0]))

        episodes = instance.split("train")
        outside, _ = play(instance, episodes, answer)
        assert measures(instance.simulate(problem.compile(rank, level), episodes)) == measures(outside)
    assert (NONE in answered) == (none and bool(problem.choices[0].none))


def test_patches_hold_in_its_loop(problem: Problem, instance: Instance) -> None:
    """With the patches of a person a policy does in the loop what it does outside it, and idles as they say."""
    rank_choice, *level_choices = problem.choices
    names = [feature.name for feature in rank_choice.features]
    generator, idled = np.random.default_rng(4), 0
    for number in range(3):
        weights = {name: float(weight) for name, weight in zip(names, generator.normal(size=len(names)), strict=True)}
        first, second = generator.permutation(names)[:2]
        entries: list[dict[str, Any]] = [{"when": f"{first} > {generator.random():.3f}", "do": "avoid"}]
        entries += [{"when": f"{second} <= 1", "do": "prefer", "priority": number}]
        entries += [{"when": f"{first} <= 0.5", "do": "idle"}] if number and rank_choice.none else []
        entries += [{"when": f"{second} <= 2", "cap": 0.3}] if level_choices else []
        patches = read_patches(entries, problem, "test")
        packed = Packed(pack_formula(weights, names, "test"))
        rank = with_patches(packed, packed_patches(patches, rank_choice))._replace(none=len(patches) > 2)
        level = Packed(pack_formula({"constant": 0.7}, names, "test"))
        if level_choices:
            level = with_patches(level, packed_patches(patches, level_choices[0]))
        answered = []

        def answer(
            seen: Any, b: int, rank: Packed = rank, level: Packed = level, said: Any = answered
        ) -> tuple[int, int]:
            rows = seen.candidates[seen.candidate_start[b] : seen.candidate_start[b + 1]]
            best = choose(rank, rows, options(seen, b)[1])
            said.append(best)
            return best, level_for(seen, b, best, float(levels_of(level, rows[[best]])[0]))

        episodes = instance.split("train")
        outside, _ = play(instance, episodes, answer)
        assert measures(instance.simulate(problem.compile(rank, level), episodes)) == measures(outside)
        idled += answered.count(NONE)
    assert bool(idled) == bool(rank_choice.none)


def test_none_is_refused_where_it_is_not_allowed(instance: Instance) -> None:
    """The simulator takes no answer that could stop it; nothing has happened then."""
    lockstep = instance.lockstep(instance.split("train", 1))
    refused = 0
    while lockstep.advance():
        seen = lockstep.observe()
        if not seen.none_allowed[0]:
            refused += 1
            with pytest.raises(ActionError):
                lockstep.answer(Answers(np.array([NONE]), np.zeros(1, np.int64)))
        with pytest.raises(ActionError):
            lockstep.answer(Answers(np.array([options(seen, 0)[0]]), np.ones(1, np.int64)))
        pair = never(seen, 0)
        lockstep.answer(Answers(np.array([pair[0]]), np.array([pair[1]])))
    assert refused > 0


# The objective ------------------------------------------------------------------------------------------------------


def test_what_is_lost_from_the_start_is_the_objective(problem: Problem, instance: Instance) -> None:
    """Undiscounted: a policy that is better by the objective loses less from time 0 on, in the same proportion."""
    episode = instance.split("train", 1)
    found = [instance.simulate(heuristic(problem, name).compiled, episode)[0] for name in problem.heuristics]
    sign = 1 if instance.objective.lower_is_better else -1
    costs = np.array([sign * outcome.measures[instance.objective.name] for outcome in found])
    lost = np.array([-outcome.cost_to_go(np.zeros(1), np.inf)[0] for outcome in found])
    assert (lost >= 0).all()
    ratio = lost / costs
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)


def test_less_is_lost_from_later_on_and_with_a_short_horizon(problem: Problem, instance: Instance) -> None:
    outcome = instance.simulate(heuristic(problem, next(iter(problem.heuristics))).compiled, instance.split("train"))[0]
    times = np.linspace(0.0, 4 * outcome.scale_s, 20)
    whole, near = outcome.cost_to_go(times, np.inf), outcome.cost_to_go(times, outcome.scale_s)
    assert (np.diff(whole) >= -1e-9).all()
    assert (near >= whole - 1e-9).all()


def test_heuristics_beat_nothing_at_all_where_the_optimum_is_known(problem: Problem) -> None:
    case = CASES[problem.name]
    instance, episode = case.toy()
    name = problem.measures[0].name
    sign = 1 if problem.measures[0].lower_is_better else -1

    def cost(outcome: Any) -> float:
        return sign * float(outcome.measures[name])

    found = {
        key: cost(instance.simulate(heuristic(problem, key, case.settings.get(key)).compiled, [episode])[0])
        for key in problem.heuristics
    }
    nothing, _ = play(instance, [episode], never)
    assert min(found.values()) == pytest.approx(sign * case.optimum)
    assert min(found.values()) < cost(nothing[0])
    for seed in range(20):
        random, _ = play(instance, [episode], random_answers(seed))
        assert cost(random[0]) >= sign * case.optimum - 1e-9


# The network --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("none", [False, True])
def test_its_network_scores_candidates_none_and_levels(problem: Problem, instance: Instance, none: bool) -> None:
    import torch

    if none and not problem.choices[0].none:
        pytest.skip("none is no answer here")
    torch.manual_seed(0)
    network = problem.network({"embedding": 4, "hidden": 8, "rounds": 2}, none)
    lockstep = instance.lockstep(instance.split("train"))
    lockstep.advance()
    seen = lockstep.observe()
    batch = network.encode(seen)
    network.normalise_like(batch)
    with torch.inference_mode():
        embedding = network.embed(batch)
        scores = network.score_candidates(batch, embedding).numpy()
        counts = np.diff(seen.candidate_start)
        assert scores.shape == (seen.num_decisions, counts.max() + none)
        np.testing.assert_array_equal(np.isfinite(scores[:, : counts.max()]).sum(axis=1), counts)
        if none:
            np.testing.assert_array_equal(np.isfinite(scores[:, -1]), seen.none_allowed)
        assert network.levels == (len(problem.choices) > 1)
        if network.levels:
            table = network.score_levels(batch, embedding, batch.first_candidate).numpy()
            first, last = seen.levels[seen.candidate_start[:-1]].T
            level = np.arange(1, table.shape[1] + 1)
            allowed = (level >= first[:, None]) & (level <= last[:, None])
            np.testing.assert_array_equal(np.isfinite(table), allowed)
        network.bound_like([batch])
        np.testing.assert_array_equal(network.score_candidates(batch, network.embed(batch)).numpy(), scores)
