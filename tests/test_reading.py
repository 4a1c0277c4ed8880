"""Reading a student: what pieces are worth, why it answers as it does, what flips it; by hand and by brute force."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearsched import reading
from clearsched.cli import main
from clearsched.decisions.answers import rank_answers, rank_places
from clearsched.decisions.choices import Choices
from clearsched.decisions.recording import log
from clearsched.errors import ClearschedError
from clearsched.files import digest_file, write_json
from clearsched.params import read_scenarios, read_yaml, stage_values
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs import workloads
from clearsched.problems.dag_jobs.features import FEATURE_NAMES
from clearsched.problems.dag_jobs.traces import write_trace
from clearsched.problems.episodes import NONE
from clearsched.reading.flipping import DECISION, GROUP, ROW, Spread, smallest_flip, spread_of
from clearsched.reading.reasons import Reasons, _power, reached, threshold_text, valued
from clearsched.reading.verification.box import box_of
from clearsched.reading.verification.monotone import monotone
from clearsched.reading.worth import worth_of
from clearsched.schemas import COMPARISON, FIDELITY, read_table, write_table
from clearsched.scorers.conditions import parse_conditions
from clearsched.scorers.patches import Patch, read_patches
from clearsched.scorers.pieces import speakers
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.rules import Rule, RuleList
from clearsched.scorers.scorer import read_scorer
from random_trees import COLUMNS, grid_rows, random_tree
from stages import stage_params
from toys import stage, toy_trace

DAG_JOBS, DEFERRABLE = find_problem("dag_jobs"), find_problem("deferrable_jobs")
RANK = DAG_JOBS.choices[0]
PLACE = {name: place for place, name in enumerate(FEATURE_NAMES)}


def rules(*texts: tuple[str, float], ties: tuple[str, ...] = ()) -> RuleList:
    found = [Rule(parse_conditions(text, FEATURE_NAMES, "test"), value) for text, value in texts]
    return RuleList(tuple(found), FEATURE_NAMES, ties=ties)


LIST = rules(
    ("job_is_source >= 1 and job_fair_load < 2", 3), ("job_age_s < 5", 2), ("otherwise", 1), ties=("job_age_s",)
)


def policy(scorer: Any, none: bool = False) -> ScoredPolicy:
    return ScoredPolicy("hand", DAG_JOBS, {"stage": scorer, "limit": rules(("otherwise", 0.5))}, none=none)


def rows(**columns: list[float]) -> np.ndarray:
    count = len(next(iter(columns.values())))
    found = np.zeros((count, len(FEATURE_NAMES)), np.float32)
    for name, values in columns.items():
        found[:, PLACE[name]] = values
    return found


def decisions(features: np.ndarray, starts: list[int], chosen: list[int], group: list[int]) -> Choices:
    count, number = len(features), np.arange(len(chosen))
    none = np.isnan(features).all(axis=1)
    candidate = np.where(none, NONE, np.arange(count))
    zero, each = np.zeros(count), np.full(count, 0.25)
    return Choices(
        features,
        np.array(starts),
        np.array(chosen),
        candidate,
        np.array(group),
        zero,
        each,
        number,
        number,
        number + 0.5,
    )


THREE = decisions(rows(job_is_source=[1, 0, 0], job_fair_load=[1.5, 0, 0], job_age_s=[9, 4, 7]), [0, 3], [1], [0, 1, 2])


# Pieces -------------------------------------------------------------------------------------------------------------


def test_the_pieces_of_a_rule_list() -> None:
    found = LIST.pieces()
    assert [piece.name for piece in found] == ["rule 1", "rule 2", "rule 3", "tie 1: least job_age_s"]
    assert found[2].without is None, "every case needs a rule"
    assert found[0].without.rules == LIST.rules[1:]  # type: ignore[union-attr]
    assert found[3].without.ties == ()  # type: ignore[union-attr]
    assert LIST.firing(THREE.features, FEATURE_NAMES).tolist() == [0, 1, 2]  # type: ignore[union-attr]
    assert speakers(LIST) == 3


def test_the_pieces_of_other_scorers() -> None:
    steps = read_scorer(
        {
            "steps": [
                {"if": "job_is_source >= 1", "of": "job_executor_share", "below": [{"times": 0.5}], "then": 2},
                {"if": "job_age_s < 5", "then": 1, "plus": {"job_age_s": -1.0}},
                {"if": "otherwise", "then": 0},
            ]
        },
        FEATURE_NAMES,
        "test",
    )
    table = rows(job_is_source=[1, 1, 0], job_executor_share=[0.4, 0.5, 0], job_age_s=[9, 4, 9])
    assert steps.firing(table, FEATURE_NAMES).tolist() == [0, 1, 2]  # type: ignore[union-attr]
    caps = read_scorer({"cap_terms": [{"times": 2, "job_age_s": 1}, {"times": 6}]}, FEATURE_NAMES, "test")
    assert caps.firing(rows(job_age_s=[1, 4]), FEATURE_NAMES).tolist() == [0, 1]  # type: ignore[union-attr]
    weights = read_scorer({"job_age_s": 1.0, "constant": 2.0}, FEATURE_NAMES, "test")
    assert [piece.name for piece in weights.pieces()] == ["weight of job_age_s", "weight of constant"]
    assert weights.firing(table, FEATURE_NAMES) is None


def test_each_term_of_a_cap_is_a_piece() -> None:
    """A cap of one term is the step itself; without one of two the other binds."""
    two = [{"times": 0.5}, {"times": 0.1, "job_age_s": 1.0}]
    caps = read_scorer(
        {
            "steps": [
                {"if": "job_is_source >= 1", "of": "job_executor_share", "below": two},
                {"if": "job_age_s < 5", "below": two[:1]},
                {"if": "otherwise", "then": 1.0},
            ]
        },
        FEATURE_NAMES,
        "test",
    )
    found = caps.pieces()
    assert [piece.name for piece in found] == ["step 1", "step 2", "step 3", "step 1, term 1", "step 1, term 2"]
    assert speakers(caps) == 3
    table = rows(job_is_source=[1, 1], job_executor_share=[0.2, 0.2], job_age_s=[1, 9])
    told = [piece.without.scores(table, FEATURE_NAMES).tolist() for piece in found[3:]]  # type: ignore[union-attr]
    assert caps.firing(table, FEATURE_NAMES).tolist() == [1, 0]  # type: ignore[union-attr]
    assert told[1] == [0.5, 0.5], "without the second the first alone, for both"
    assert told[0] == pytest.approx([0.5, 0.9]), "without the first the second, which the young job is above"


def test_how_often_a_rule_fires_and_what_changes_without_it() -> None:
    """The first of two decisions is answered by rule 1; without it rule 2 has the say, of another candidate."""
    both = decisions(np.concatenate([THREE.features, rows(job_age_s=[4, 3])]), [0, 3, 5], [1, 3], [0, 1, 2, 0, 1])
    every = worth_of(policy(LIST), {"stage": both}, 10, None)
    found = {worth.piece: worth for worth in every if worth.choice == "stage"}
    assert [found[f"rule {n}"].fires for n in (1, 2, 3)] == [0.2, 0.6, 0.2]
    assert [found[f"rule {n}"].answers for n in (1, 2, 3)] == [0.5, 0.5, 0.0]
    assert [found[f"rule {n}"].changes for n in (1, 2, 3)] == [0.5, 0.0, None]
    assert (found["tie 1: least job_age_s"].changes, found["tie 1: least job_age_s"].fires) == (0.5, None)


def patched(*entries: dict[str, Any]) -> ScoredPolicy:
    return replace(policy(LIST), patches=read_patches(list(entries), DAG_JOBS, "test"))


LATE = {"when": "job_age_s < 5 s", "do": "avoid", "because": "let them wait"}


def test_a_patch_is_a_piece() -> None:
    """Row 1, the only one that is young, is avoided; without the patch row 0, the first, is answered as before."""
    found = {worth.piece: worth for worth in worth_of(patched(LATE), {"stage": THREE}, 10, None)}
    assert found["patch 1"].changes == 0.0
    first = patched({"when": "job_age_s < 5 s", "do": "prefer"})
    assert {worth.piece: worth for worth in worth_of(first, {"stage": THREE}, 10, None)}["patch 1"].changes == 1.0


def test_flips_see_what_only_a_patch_asks_for() -> None:
    """The list asks for no stage_rank; a patch that avoids rank 2 and more does."""
    features = rows(job_is_source=[1, 0, 0], stage_rank=[0, 1, 5], job_fair_load=[1, 1, 1])
    log_of = decisions(features, [0, 3], [0], [0, 1, 2])
    only = policy(rules(("job_is_source >= 1", 2), ("otherwise", 1)))
    avoiding = replace(only, patches=read_patches([{"when": "stage_rank >= 2", "do": "avoid"}], DAG_JOBS, "test"))
    assert smallest_flip(only, log_of, spread_of(log_of), wanted=1)[0] is None
    flip, exact = smallest_flip(avoiding, log_of, spread_of(log_of), wanted=1)
    assert exact and flip is not None
    assert FEATURE_NAMES[flip.feature] == "stage_rank"
    assert flip.rows.tolist() == [0] and flip.value == 2


def test_nothing_is_proved_past_patches(files: dict[str, Path], tmp_path: Path) -> None:
    patched(LATE).write(tmp_path / "patched.json")
    told = " ".join(reading.verify(tmp_path / "patched.json").split())
    assert "1 patch lies on top. What follows is of the scores beneath" in told
    assert "No bound of the wait is proved: patches come before the scores, and the first of them does not" in told
    text = reading.explain(tmp_path / "patched.json", files["decisions"], 1, 2).replace("\n", " ")
    assert "patch 1 (avoid, let them wait)" in text


# Flips --------------------------------------------------------------------------------------------------------------


def test_the_smallest_flip_by_hand() -> None:
    """Row 0 meets rule 1 until its load is 2, half a unit away; of a job, since all rows of a group share it."""
    log_of = decisions(
        rows(
            job_is_source=[1, 0, 0, 1, 0],
            job_fair_load=[1.5, 0, 0, 4, 1],
            job_age_s=[9, 4, 7, 2, 3],
            stage_rank=[0, 0, 0, 1, 0],
            jobs_in_system=[3, 3, 3, 9, 9],
        ),
        [0, 3, 5],
        [1, 3],
        [0, 1, 2, 0, 0],
    )
    spread = spread_of(log_of)
    assert [spread.owner[PLACE[name]] for name in ("jobs_in_system", "job_age_s")] == [DECISION, ROW]
    flip, exact = smallest_flip(policy(LIST), THREE, spread)
    assert exact and flip is not None
    assert (FEATURE_NAMES[flip.feature], flip.rows.tolist(), flip.value, flip.answer) == ("job_fair_load", [0], 2.0, 1)
    assert flip.distance == pytest.approx(0.5 / np.std([1.5, 0, 0, 4, 1]))
    wanted, _ = smallest_flip(policy(LIST), THREE, spread, wanted=2)
    assert wanted is not None and (wanted.answer, FEATURE_NAMES[wanted.feature]) == (2, "job_is_source")


def test_features_that_rows_of_a_group_share() -> None:
    shared = decisions(rows(job_age_s=[1, 1, 2, 5], stage_rank=[0, 1, 0, 0]), [0, 4], [0], [0, 0, 1, 2])
    assert spread_of(shared).owner[PLACE["job_age_s"]] == GROUP


def test_flips_in_ties_are_found_to_the_last_digit() -> None:
    """Two ties: the second one weighs a thousandth, so the first must give way by that much less."""
    two = decisions(rows(job_age_s=[3.25, 4.5], stage_rank=[2, 0], job_executors=[0, 5]), [0, 2], [0], [0, 1])
    flip, exact = smallest_flip(policy(rules(("otherwise", 1), ties=("job_age_s", "stage_rank"))), two, spread_of(two))
    assert exact and flip is not None and FEATURE_NAMES[flip.feature] == "job_age_s"
    assert flip.value == pytest.approx(4.498, abs=1e-5) or flip.value == pytest.approx(3.252, abs=1e-5)
    assert flip.distance == pytest.approx(1.248 / 0.625, rel=1e-4)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_no_smaller_flip_is_found_by_brute_force(seed: int) -> None:
    """Trees on whole numbers from 0 to 4: every value is tried one by one."""
    generator, names = np.random.default_rng(seed), FEATURE_NAMES[:COLUMNS]
    trees = [random_tree(generator, 3) for _ in range(3)]
    for tree in trees:
        tree["threshold"] = [2 * threshold for threshold in tree["threshold"]]
    scorer = read_scorer({"features": list(names), "trees": trees}, FEATURE_NAMES, "test")
    values = 2 * grid_rows(generator, 5)
    decision = decisions(
        rows(**{name: values[:, i].tolist() for i, name in enumerate(names)}), [0, 5], [0], [0, 1, 2, 3, 4]
    )
    # As they are: which feature can have such a value is not asked here.
    patches = (Patch(f"{names[0]} >= 2", "avoid"), Patch(f"{names[1]} < 3", "prefer"))
    for of in (policy(scorer), replace(policy(scorer), patches=patches)):
        spread = spread_of(decision)
        flip, exact = smallest_flip(of, decision, spread)
        assert exact
        assert (flip.distance if flip else np.inf) == pytest.approx(smallest_of_all(of, decision, spread, names))


STEPS = {
    "steps": [
        {
            "if": "job_is_source >= 1",
            "of": "job_executors",
            "below": [{"times": 1.5, "job_age_s": 0.5}, {"times": 6, "stage_rank": -1}],
            "then": 4,
            "plus": {"stage_tasks_left": -0.3, "job_age_s": 0.1},
        },
        {"if": "stage_tasks_left < 3", "then": 2, "plus": {"job_executors": -0.2}},
        {"if": "otherwise", "then": -1},
    ]
}
"""Two caps that bound one feature, weights that differ, and a step below "none of these"."""
LOGS = {
    "weights": {"job_age_s": -1.0, "stage_rank": 0.5},
    "log_weights": {"job_executors": {"weight": 2.0, "scale": 3.0}},
}
ASKED = ("job_is_source", "job_executors", "job_age_s", "stage_rank", "stage_tasks_left")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["steps", "weights"]), st.booleans())
def test_flips_of_caps_weights_groups_and_none(seed: int, kind: str, shared: bool) -> None:
    """A grid of 301 values between the least and the most of each feature finds none that is smaller."""
    generator = np.random.default_rng(seed)
    table = np.round(10 * generator.random((5, len(ASKED))), 2)
    table[:, 0] = generator.integers(0, 2, 5)
    table[:, 3:] = np.round(table[:, 3:]) + 1
    if shared:
        table[1, 1:3] = table[0, 1:3]
    columns = rows(**{name: table[:, i].tolist() for i, name in enumerate(ASKED)})
    groups = np.array([0, 0, 1, 2, 3] if shared else range(5))
    decision = decisions(columns, [0, 5], [0], groups.tolist())
    of = replace(policy(read_scorer(STEPS if kind == "steps" else LOGS, FEATURE_NAMES, "test")), none=kind == "steps")
    spread = spread_of(decision)
    flip, exact = smallest_flip(of, decision, spread)
    assert exact
    if flip is not None:
        changed = decision.features.copy()
        changed[flip.rows, flip.feature] = flip.value
        assert rank_answers(of, decision._replace(features=changed))[0] == flip.answer
        assert flip.answer != rank_answers(of, decision)[0]
    least = np.inf if flip is None else flip.distance
    for name in ASKED:
        column = PLACE[name]
        for unit in units_of(spread, column, groups):
            grid = np.linspace(spread.low[column], spread.high[column], 301, dtype=np.float32)
            for value in np.unique(np.round(grid)) if spread.whole[column] else grid:
                distance = abs(float(value) - float(columns[unit[0], column])) / max(spread.deviation[column], 1e-30)
                if distance < least * (1 - 1e-5):
                    changed = columns.copy()
                    changed[unit, column] = value
                    answer = rank_answers(of, decision._replace(features=changed))[0]
                    assert answer == rank_answers(of, decision)[0], (name, unit, value, distance, flip)


def units_of(spread: Spread, column: int, groups: np.ndarray) -> list[np.ndarray]:
    """The sets of rows that have a feature together."""
    owner = spread.owner[column]
    if owner == DECISION:
        return [np.arange(len(groups))]
    return [np.flatnonzero(groups == groups[row]) if owner == GROUP else np.array([row]) for row in range(len(groups))]


def smallest_of_all(of: ScoredPolicy, decision: Choices, spread: Spread, names: Sequence[str]) -> float:
    """The deviations of the smallest change that flips the answer, of every whole number in every row."""
    count = len(decision.features)
    tried = [
        (row, PLACE[name], value)
        for name in names
        if spread.deviation[PLACE[name]]
        for row in range(count)
        for value in np.arange(spread.low[PLACE[name]], spread.high[PLACE[name]] + 1).tolist()
    ]
    changed = np.tile(decision.features, (len(tried), 1, 1))
    for trial, (row, feature, value) in enumerate(tried):
        changed[trial, row, feature] = value
    starts = (count * np.arange(len(tried) + 1)).tolist()
    all_of_them = decisions(np.concatenate(changed), starts, starts[:-1], decision.group.tolist() * len(tried))
    flips = rank_answers(of, all_of_them) - all_of_them.starts[:-1] != rank_places(of, decision).argmin()
    distances = (
        abs(value - decision.features[row, feature]) / spread.deviation[feature] for row, feature, value in tried
    )
    return min((float(each) for each, flip in zip(distances, flips, strict=True) if flip), default=np.inf)


def test_a_flip_of_a_forest_of_pairs_changes_what_the_others_win() -> None:
    """The younger one of two is better: row 1 of 4 s is answered until it is older than 7 s, or row 2 younger."""
    asks_age = {
        "feature": [0, -1, -1],
        "threshold": [0.0, 0.0, 0.0],
        "left": [1, 0, 0],
        "right": [2, 0, 0],
        "value": [0.5, 1.0, 0.0],
    }
    pairs = {"pairs": [asks_age], "features": ["difference job_age_s"]}
    scorer = read_scorer(pairs, FEATURE_NAMES, "test")
    flip, exact = smallest_flip(policy(scorer), THREE, spread_of(THREE))
    assert not exact and flip is not None and flip.answer == 2
    assert (flip.rows.tolist(), flip.value) in (([1], 8.0), ([2], 3.0))  # whole seconds, and equals change nothing
    first, second, _ = THREE.features
    assert against(scorer, second, first) == "the first of the two is the better one with 100 % of the votes"
    assert for_it(scorer, first) == "what it wins against the others counts"
    box = box_of(THREE)
    assert monotone(scorer, PLACE["job_age_s"], -1, box, FEATURE_NAMES).holds is None, "searched, and nothing found"
    older = monotone(scorer, PLACE["job_age_s"], +1, box, FEATURE_NAMES)
    assert older.holds is False and older.scores == (1.0, -1.0), "held against itself when younger, it loses"


# Words --------------------------------------------------------------------------------------------------------------


def for_it(scorer: Any, row: np.ndarray) -> str:
    reasons = Reasons(scorer, RANK)
    return reasons.for_it(reasons.spoken(row))


def against(scorer: Any, row: np.ndarray, other: np.ndarray) -> str:
    reasons = Reasons(scorer, RANK)
    return reasons.against(reasons.spoken(row), reasons.spoken(other))


def test_reasons_have_values_and_units() -> None:
    first, second, third = THREE.features
    assert for_it(LIST, first) == "it meets rule 1 (job_is_source 1 >= 1; job_fair_load 1.5 < 2), score 3"
    assert for_it(LIST, third) == "it meets rule 3 (all others), score 1"
    assert against(LIST, first, second) == "rule 1 asks for job_is_source at least 1, and it has 0"
    assert against(LIST, second, third) == "rule 2 asks for job_age_s below 5 s, and it has 7 s"
    older = rows(job_age_s=[4.5])[0]
    assert against(LIST, second, older) == "among equals the least job_age_s wins: 4 s, not 4.5 s"
    both = replace(LIST, ties=("job_age_s", "-job_work_left_s"))
    large = rows(job_age_s=[4.5], job_work_left_s=[900.0])[0]
    told = "among equals the least job_age_s - job_work_left_s / 1000 wins: 3.6, not 4"
    assert against(both, large, second) == told, "a thousand times the second tie outweighs the first"
    weights = read_scorer({"job_age_s": -1.0, "job_fair_load": -2.0}, FEATURE_NAMES, "test")
    assert against(weights, second, third) == ("what speaks for the first is job_age_s 4 s, not 7 s (worth 3)")


def test_values_that_lie_beside_a_threshold() -> None:
    assert valued(0.0860001, "s", 0.086) == "0.0860001 s"
    below = float(np.nextafter(np.float32(0.086), np.float32(0)))
    assert (reached(below, "s"), reached(2.0, "")) == ("just below 0.086 s", "2")


@settings(max_examples=200)
@given(
    value=st.floats(width=32, allow_nan=False, allow_infinity=False), power=st.sampled_from([-3, -0.5, 0, 0.75, 1, 30])
)
def test_powers_are_those_of_numpy(value: float, power: float) -> None:
    """Those of 0 and of negative numbers, and those beyond the largest number, too; to the twelfth digit."""
    with np.errstate(all="ignore"):
        expected = float(np.float_power(value, power))
        assert _power(value, power) == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_thresholds_are_told_as_rules_are_written() -> None:
    told = [threshold_text(value) for value in (0.0, -0.0, 0.1, 0.1, 12345678.0, 1e-20)]
    assert told == ["0", "-0", "0.1", "0.1", "12345678", "1e-20"]


# The commands -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A trace, its episodes, a heuristic's log of them, and a student."""
    folder = tmp_path_factory.mktemp("reading")
    found = {name: folder / f"{name}.parquet" for name in ("trace", "workloads", "decisions")}
    params = stage_params(
        workload={"executors": 4, "jobs": 5, "episodes": {"train": 4, "validation": 3, "test": 1}},
        decisions={"episodes": 3, "held_out": 2},
    )
    write_trace(found["trace"], toy_trace([[stage(4), stage(3, [0])], [stage(9), stage(4), stage(1, [1])]]))
    workloads.build(params, found["trace"], found["workloads"])
    log(params, found["trace"], found["workloads"], None, "capped_srpt", found["decisions"])
    found["student"] = folder / "hand.json"
    policy(LIST).write(found["student"])
    return found


def test_show_tells_what_rules_are_worth(files: dict[str, Path]) -> None:
    text = reading.show(files["student"], files["decisions"], files["trace"], files["workloads"])
    assert text.startswith(reading.show(files["student"]))
    line = next(line for line in text.splitlines() if line.startswith("rule 1"))
    assert line.count("%") == 3 and " to " in line
    assert "mean JCT on 3 validation episodes" in text
    assert max(map(len, text.splitlines())) < 120


def test_show_needs_both_files(files: dict[str, Path]) -> None:
    with pytest.raises(ClearschedError, match="--trace and --workloads together"):
        reading.show(files["student"], None, files["trace"], None)


def test_explain_is_a_paragraph(files: dict[str, Path]) -> None:
    text = reading.explain(files["student"], files["decisions"], 1, 2)
    assert text.startswith("Episode 1, decision 2, at ") and "\n\n" not in text
    for words in ("The student answers stage", "The teacher chose", "For the stage that the teacher chose"):
        assert words in text.replace("\n", " ")


@pytest.mark.parametrize(
    ("episode", "decision", "split", "words"),
    [
        (7, 0, "validation", r"no episode 7 of the split 'validation': it has 0 to 1 there"),
        (0, 99999, "validation", r"no decision 99999 in episode 0: it has 0 to \d+"),
        (0, 0, "test", r"no decision of the split 'test': it has train, validation"),
    ],
)
def test_what_is_not_in_the_log_is_told(
    files: dict[str, Path], episode: int, decision: int, split: str, words: str
) -> None:
    with pytest.raises(ClearschedError, match=words):
        reading.explain(files["student"], files["decisions"], episode, decision, split)


@pytest.mark.parametrize(("kept", "words"), [("train", "it has train"), ("none", "it has none at all")])
def test_what_a_log_has_is_told_by_its_rows(files: dict[str, Path], tmp_path: Path, kept: str, words: str) -> None:
    """Not by its metadata, which tell what was to be logged."""
    logged = pq.read_table(files["decisions"])
    pq.write_table(logged.filter(pc.equal(logged["split"], kept)), tmp_path / "part.parquet")
    with pytest.raises(ClearschedError, match=rf"part\.parquet: no decision of the split 'validation': {words}$"):
        reading.show(files["student"], tmp_path / "part.parquet")


def test_a_log_of_another_version_and_an_unknown_feature(files: dict[str, Path], tmp_path: Path) -> None:
    table = pq.read_table(files["decisions"])
    older = tmp_path / "older.parquet"
    pq.write_table(table.drop_columns(["job_age_s"]), older)
    with pytest.raises(ClearschedError, match=r"no decision log of this version \(column job_age_s\)"):
        reading.explain(files["student"], older, 0, 0)
    content = json.loads(files["student"].read_text())
    content["stage"]["rules"][0]["if"] = "job_is_sauce >= 1"
    (tmp_path / "typo.json").write_text(json.dumps(content))
    with pytest.raises(ClearschedError, match="unknown feature 'job_is_sauce'; did you mean job_is_source"):
        reading.explain(tmp_path / "typo.json", files["decisions"], 0, 0)


def test_a_student_of_another_problem(files: dict[str, Path], tmp_path: Path) -> None:
    start = read_scorer({"job_waited_min": 1.0}, [f.name for f in DEFERRABLE.choices[0].features], "test")
    ScoredPolicy("other", DEFERRABLE, {"start": start}).write(tmp_path / "other.json")
    with pytest.raises(ClearschedError, match="decisions of the problem dag_jobs, not of deferrable_jobs"):
        reading.explain(tmp_path / "other.json", files["decisions"], 0, 0)


# The card -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def results(files: dict[str, Path], tmp_path: Path) -> Path:
    """Results as a run leaves them, as far as a card asks: data, log, a student of them, and its evaluation."""
    folder = tmp_path / "results" / "small"
    for name, place in (("trace", "traces"), ("workloads", "traces"), ("decisions", "decisions")):
        (folder / place).mkdir(parents=True, exist_ok=True)
        shutil.copy(files[name], folder / place / f"{name}.parquet")
    inputs = {name: digest_file(files[name]) for name in ("trace", "workloads", "decisions")}
    origin = {"version": "1", "params": {"refine": {"rounds": 2}}, "inputs": inputs, "expert": "capped_srpt"}
    stress = {
        "heuristic": "fair",
        "episodes": 9,
        "worst": 1.7,
        "of_limit": 1.25,
        "end": 1.6,
        "hard": 1.8,
        "share": 0.02,
        "cases": ["stragglers", "executors_lost"],
    }
    known = replace(policy(LIST), name="rule_list", evidence={"provenance": origin, "stress": stress, "most": 4})
    known.write(folder / "students" / "rule_list.json")
    write_json(folder / "params" / "students.json", {"scenario": "small", "seed": 7})
    zero = {pa.string(): "", pa.bool_(): False}
    row = {field.name: zero.get(field.type, 0) for field in COMPARISON} | {"policy": "rule_list", "measure": "jct_s"}
    row |= {"unit": "s", "mean": 5.0, "reference": "fair", "difference_high": 0.5, "worst_to_baseline": 1.25}
    stall = row | {"measure": "stall_s", "mean": 1.0, "worst": 75.0}
    about = {"objective": "jct_s"}
    about |= {"inputs": {"students/rule_list.json": digest_file(folder / "students" / "rule_list.json")}}
    write_table(
        folder / "evaluation/comparison.parquet", pa.Table.from_pylist([row, stall], COMPARISON), COMPARISON, about
    )
    told = {"policy": "rule_list", "choice": "stage", "decisions_of": "real", "part": "whole", "decisions": 9}
    faithful = pa.Table.from_pylist([told | {"trivial": 0, "top1": 0.625}], FIDELITY)
    write_table(folder / "evaluation/fidelity.parquet", faithful, FIDELITY, {})
    return folder


def test_a_card_tells_what_a_user_should_know(results: Path) -> None:
    path = reading.card(results / "students" / "rule_list.json", results)
    assert path == results / "students" / "rule_list.md"
    text, why = path.read_text(), ": find out why before it schedules anything."
    for words in (
        "# Student rule_list of small",
        "Distilled from capped_srpt's decisions, refined in closed loop by clearsched 1, seed 7.",
        "1. if job_is_source >= 1 and job_fair_load < 2  ->  score 3",
        "| mean jct_s | 5 s [0, 0] |",
        "| most next to fair on any episode | 1.25 times |",
        "a ready stage of it waited, worst episode | 75 s |",
        "| safety check: training and stressed episodes | 9 |",
        "| safety check: edge cases among them | stragglers, executors_lost |",
        "| safety check: objective | 1.7 times fair |",
        "| safety check: any of these on an episode of the hardest kind | 1.8 times fair |",
        "| safety check: largest measure that has a limit | 1.25 times its limit |",
        f"* Under stress, on its worst episode it takes 1.70 times fair's{why}",
        f"* Under stress, on an episode its last job ends after 1.60 times fair's time{why}",
        f"* Under stress, on an episode a measure is 1.25 times its limit{why}",
        f"* Under stress, on an episode of the hardest kind it takes 1.80 times fair's{why}",
        "* It was checked under 2 % of the stress (workload.stress): do not deploy it.",
        "* No gain over fair is shown by test and intervals of the evaluation (docs/evaluation.md).",
        "* Of the real choices of stage it answers 62 % as its teacher.",
        f"| trace | {digest_file(results / 'traces/trace.parquet')} |",
        "snakemake --cores 2 --config scenarios='[scenarios/small.yaml]'",
        "clearsched students card results/small/students/rule_list.json --results results/small",
        "dead rules: none",
    ):
        assert words in text
    assert str(results) not in text
    again = reading.card(results / "students" / "rule_list.json", results, results / "again.md")
    assert again.read_text() == text, "the same files give the same bytes"


def test_a_card_tells_what_was_laid_over_the_scenario(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its command makes another student."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text("seed: 7\n")
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios/small.yaml").write_text("workload: {jobs: 9}\n")
    typed = {"scenarios": "[scenarios/small.yaml]", "workload": {"load": "0.5"}, "students": {"dagger_rounds": "2"}}
    ran = read_scenarios([read_yaml(tmp_path / "params.yaml")], typed, "params.yaml")["small"]
    for name in ("workloads", "students"):
        write_json(results / "params" / f"{name}.json", stage_values(ran, name))
    command = "--config scenarios='[scenarios/small.yaml]' workload='{load: 0.5}' students='{dagger_rounds: 2}'"
    assert command in reading.card(results / "students" / "rule_list.json", results).read_text()


def test_a_card_needs_what_belongs_together(results: Path) -> None:
    path = results / "students" / "rule_list.json"
    (results / "traces/trace.parquet").write_bytes(b"others")
    with pytest.raises(ClearschedError, match="made from another trace than lies in"):
        reading.card(path, results)
    policy(LIST).write(path)
    with pytest.raises(ClearschedError, match="does not say what it was made from"):
        reading.card(path, results)
    assert not path.with_suffix(".md").exists()


def test_a_card_of_a_student_that_was_not_evaluated(results: Path) -> None:
    """`evaluation.policies` may leave out one that is fitted."""
    path = results / "evaluation/comparison.parquet"
    table, about = read_table(path, COMPARISON)
    others = table.set_column(0, COMPARISON.field(0), [["fair"] * len(table)])
    write_table(path, others, COMPARISON, about)
    text = reading.card(results / "students" / "rule_list.json", results).read_text()
    assert "Not evaluated: it is none of `evaluation.policies`." in text
    assert "* It was not evaluated: what it costs on test episodes is not known." in text
    assert "No gain over" not in text and "On a test episode" not in text


def test_a_card_of_another_evaluation(results: Path) -> None:
    path = results / "students" / "rule_list.json"
    path.write_text(path.read_text() + "\n")
    with pytest.raises(ClearschedError, match=r"evaluated another rule_list.json than"):
        reading.card(path, results)


@pytest.mark.parametrize("command", ["explain", "verify", "show", "card"])
def test_a_users_mistake_is_a_line_and_exit_code_2(
    command: str, files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    options = {
        "explain": ["--decisions", str(files["decisions"]), "--episode", "5", "--decision", "0"],
        "verify": ["--decisions", str(files["trace"])],
        "show": ["--decisions", str(files["decisions"]), "--trace", str(files["trace"])],
        "card": ["--results", str(tmp_path)],
    }
    monkeypatch.setattr(sys, "argv", ["clearsched", "students", command, str(files["student"]), *options[command]])
    with pytest.raises(SystemExit) as stopped:
        main()
    told = capsys.readouterr()
    assert stopped.value.code == 2 and told.out == ""
    assert told.err.startswith("clearsched: ") and told.err.count("\n") == 1
