"""Decisions in parts, and how two orders agree: by hand, and against scipy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from clearsched.compiled.feature import Feature
from clearsched.decisions.choices import Choices
from clearsched.decisions.ordering import kendall_tau, least_of, most_of, places, regret
from clearsched.decisions.parts import Part, parts, question, varying, whole
from clearsched.evaluation import fidelity
from clearsched.evaluation.fidelity_text import fidelity_lines
from clearsched.problems import find_problem
from clearsched.problems.declarations import Choice
from clearsched.problems.episodes import NONE
from clearsched.schemas import FIDELITY, conform
from clearsched.scorers.conditions import Condition, Rule
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import read_scorer

FEATURES = (Feature("shop", "", "of the shop"), Feature("stays", "", "it is there"), Feature("oven", "", "of the oven"))
RANK = Choice("oven", "rank", "Which?", FEATURES, none="rest", keeps="stays", kept="stays: so", group="shop")

NAN = [np.nan] * 3


def choices(
    features: list[list[float]],
    starts: list[int],
    chosen: list[int],
    group: list[int],
    score: list[float] | None = None,
) -> Choices:
    """Decisions whose candidates are counted up; a row of NaN is none of these."""
    rows, number = np.array(features, np.float32), np.arange(len(chosen))
    scores = np.zeros(len(rows)) if score is None else np.array(score, float)
    none = np.isnan(rows).all(axis=1)
    return Choices(
        rows,
        np.array(starts),
        np.array(chosen),
        np.where(none, NONE, np.arange(len(rows))),
        np.array(group),
        scores,
        np.exp(scores),
        number,
        number,
        1.0 * number,
    )


# Two ovens of the shop that keeps (group 0), two of shop 1, one of shop 2, none; then one oven, and none.
BAKERY = choices(
    [[5, 1, 1], [5, 1, 2], [7, 0, 1], [7, 0, 3], [9, 0, 1], NAN, [5, 1, 1], NAN],
    [0, 6, 8],
    [3, 7],
    [0, 0, 1, 1, 2, NONE, 0, NONE],
    [1, 0, 2, 3, 0, -1, 0, 1],
)


def found(of: Choices) -> dict[str, Part]:
    return {part.name: part for part in parts(RANK, of)}


def test_a_decision_falls_into_parts() -> None:
    split = found(BAKERY)
    assert list(split) == ["none", "keep", "group", "one"]
    assert split["none"].starts.tolist() == [0, 2, 4]
    assert split["none"].chosen.tolist() == [0, 3]  # an oven, then none
    # The second decision was answered by none: nothing further is asked of it.
    assert [split[name].decision.tolist() for name in ("keep", "group", "one")] == [[0]] * 3
    assert split["keep"].of.tolist() == [1, 1, 0, 0, 0, -1, -1, -1]
    assert split["group"].of.tolist() == [-1, -1, 0, 0, 1, -1, -1, -1]
    assert split["one"].of.tolist() == [-1, -1, 0, 1, -1, -1, -1, -1]
    assert [split[name].trivial for name in split] == [0, 0, 0, 0]


def test_a_part_with_one_answer_is_trivial() -> None:
    kept = BAKERY._replace(chosen=np.array([0, 6]))
    split = found(kept)
    assert (split["group"].decision.tolist(), split["group"].trivial) == ([], 2)  # there is one shop that keeps
    assert (split["one"].decision.tolist(), split["one"].trivial) == ([0], 1)
    assert (split["keep"].decision.tolist(), split["keep"].trivial) == ([0], 1)


def test_the_features_that_tell_the_answers_apart() -> None:
    split = found(BAKERY)
    assert varying(split["none"], BAKERY).tolist() == [True] * 3
    assert varying(split["group"], BAKERY).tolist() == [True, False, True]
    assert varying(split["one"], BAKERY).tolist() == [False, False, True]
    everything = whole(BAKERY, np.ones(2, bool))
    assert everything.of.tolist() == list(range(8))


def test_parts_have_the_problems_words() -> None:
    told = [question(part, RANK) for part in ("none", "keep", "group", "one")]
    assert told == ["none or not", "stays or not", "which shop", "which oven of it"]
    assert question("one", RANK._replace(group="")) == "which one"


def student(scores: list[float], none: bool = True) -> Any:
    rules = RuleList((Rule((Condition(2, True, 2.0),), 2.0), Rule((), 1.0)), ("shop", "stays", "oven"), ties=("-shop",))
    return SimpleNamespace(
        name="half", may_idle=none, scores=lambda features, starts: np.array(scores, float), scorers={"oven": rules}
    )


def test_fidelity_of_parts_by_hand() -> None:
    # The student keeps oven 1; of those that move it likes shop 2 best, then shop 1, there oven 2 before 3.
    rows = fidelity.rank_rows(student([1, 9, 5, 4, 7, 0, -1, 0]), RANK, BAKERY)
    by = {row["part"]: row for row in rows if row["part"] != "whole"}
    assert [by[name]["top1"] for name in ("none", "keep", "group", "one")] == [1.0, 0.0, 0.0, 0.0]
    assert [by[name]["mean_rank"] for name in ("none", "group", "one")] == [None, 2.0, 2.0]
    assert by["group"]["kendall_tau"] == by["one"]["kendall_tau"] == -1.0
    assert by["one"]["regret"] == pytest.approx(1 - np.exp(-1))
    assert by["keep"]["regret"] == pytest.approx(1 - np.exp(-2))  # the best row of each answer
    # A condition and a tie in all; between the ovens of a shop only the condition can tell.
    assert [by[name]["complexity"] for name in ("none", "keep", "group", "one")] == [2, 2, 2, 1]
    (everything,) = [row for row in rows if row["part"] == "whole" and row["decisions_of"] == "all"]
    assert everything["complexity"] == 4  # two rules besides
    # Rows of the first decision by score: 9, 7, 5, 4 (the teacher's), 1, none; the second is answered alike.
    assert (everything["mean_rank"], everything["top3"], everything["top1"]) == (2.5, 0.5, 0.5)
    conform(FIDELITY.empty_table().from_pylist(rows, schema=FIDELITY), FIDELITY, "test")


def test_none_must_be_beaten() -> None:
    assert places(np.array([0.0, 1.0, 0.0]), np.array([0, 3]), np.array([False, False, True])).tolist() == [2, 0, 1]


def test_the_first_of_equals_comes_first() -> None:
    assert places(np.array([1.0, 2.0, 2.0, 5.0, 0.0, 0.0]), np.array([0, 3, 4, 6])).tolist() == [2, 0, 1, 0, 0, 1]


def test_regret_is_a_share_of_the_best() -> None:
    probability, starts = np.array([0.2, 0.5, 0.3, 0.0, 0.0]), np.array([0, 3, 5])
    assert regret(probability, np.array([2, 3]), starts).tolist() == [pytest.approx(0.4), 0.0]


def test_least_and_most_of_alternatives() -> None:
    of = np.array([0, 1, 0, -1])
    assert least_of(np.array([3.0, 1.0, 2.0, 0.0]), of, 2).tolist() == [2.0, 1.0]
    assert most_of(np.array([3.0, 1.0, 2.0, 9.0]), of, 2).tolist() == [3.0, 1.0]


@given(
    st.lists(
        st.lists(st.tuples(*[st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0, 3.0])] * 2), min_size=1, max_size=9),
        min_size=1,
        max_size=6,
    )
)
def test_tau_is_that_of_scipy(decisions: list[list[tuple[float, float]]]) -> None:
    first, second = np.array([pair for decision in decisions for pair in decision]).T
    starts = np.cumsum([0, *(len(decision) for decision in decisions)])
    own = kendall_tau(first, second, starts)
    for place, decision in enumerate(decisions):
        # scipy takes ranks, so that infinities do not matter
        ranks = [np.unique(values, return_inverse=True)[1] for values in zip(*decision, strict=True)]
        expected = kendalltau(*ranks).statistic if len(decision) > 1 else np.nan
        assert own[place] == pytest.approx(expected, nan_ok=True)


def test_places_that_ask_for_a_feature() -> None:
    assert student([]).scorers["oven"].places() == {"oven": 1, "shop": 1}


def test_a_weight_of_a_step_asks_once_whatever_it_is() -> None:
    text = [
        {
            "if": "load < 2 and age >= 1",
            "of": "age",
            "below": [{"times": 2, "load": 1}],
            "then": 2,
            "plus": {"age": -1.0},
        },
        {"if": "otherwise", "then": 1, "plus": {"load": 0.001, "age": 250}},
    ]
    steps = read_scorer({"steps": text}, ("age", "load", "other"), "test")
    assert steps.places() == {"age": 4, "load": 3}
    assert steps.used == ("age", "load")


def test_the_tables_are_narrow_and_told_in_the_problems_words() -> None:
    rows = fidelity.rank_rows(student([1, 9, 5, 4, 7, 0, -1, 0]), RANK, BAKERY)
    problem: Any = SimpleNamespace(choices=(RANK,), heuristics={}, families={}, name="bakery")
    lines = fidelity_lines(problem, [dict.fromkeys(FIDELITY.names) | row for row in rows])
    assert max(map(len, lines)) < 120
    assert any("which oven of it" in line for line in lines)
    assert not any("error" in line for line in lines)  # there is no level


def test_a_problem_without_groups_has_two_parts() -> None:
    """Deferrable jobs: none or not, and which one."""
    start = find_problem("deferrable_jobs").choices[0]
    rows = np.full((3, len(start.features)), np.nan, np.float32)
    rows[:2] = [[0.0], [1.0]]
    waiting = choices(rows.tolist(), [0, 3], [1], [0, 1, NONE])
    assert [(part.name, part.trivial) for part in parts(start, waiting)] == [("none", 0), ("one", 0)]
