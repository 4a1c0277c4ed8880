"""Patches: a person's conditions on a policy order its candidates, bound its levels, and never make a candidate."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearsched.compiled.features import new_rows
from clearsched.compiled.scoring import NONE, best_candidate, choose, levels_of
from clearsched.compiled.trees import BLOCK
from clearsched.errors import ClearschedError
from clearsched.problems import find_problem
from clearsched.problems.declarations import Choice
from clearsched.scorers.patch_words import condition_in_words
from clearsched.scorers.patches import ACTIONS, read_patches
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.scorers.scorer import read_scorer
from clearsched.scorers.text import render
from test_scorers import LEVEL, NAMES, RANK

KEEPS = RANK._replace(keeps="is_kept")
PROBLEM: Any = SimpleNamespace(name="shop", choices=(KEEPS, LEVEL))
VALUES = (0.0, 0.5, 1.0, 1.5)
DAG, DEFERRABLE = find_problem("dag_jobs"), find_problem("deferrable_jobs")

numbers = st.sampled_from([-0.5, 0.0, 0.5, 1.0, 1.25, 1.5])
comparisons = st.builds(
    lambda name, sign, value: f"{name} {sign} {value}",
    st.sampled_from(NAMES),
    st.sampled_from(["<", "<=", ">", ">="]),
    numbers,
)


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    """An entry; `age_s` is left to one comparison a feature so that some row may meet it."""
    written = draw(st.lists(comparisons, max_size=3, unique_by=lambda text: text.split()[0]))
    when = " and ".join(written) or "always"
    entry: dict[str, Any] = {"when": when, "priority": draw(st.integers(-1, 1))}
    action = draw(st.sampled_from([*ACTIONS, "cap"]))
    return entry | ({"cap": draw(st.sampled_from([0.1, 0.25, 0.6]))} if action == "cap" else {"do": action})


@st.composite
def cases(draw: st.DrawFn) -> tuple[ScoredPolicy, np.ndarray]:
    """A patched policy and the rows of a decision: few values, so that there are ties and thresholds are met."""
    chosen = draw(st.lists(entries(), max_size=4).filter(_can_be_met))
    weights = {name: draw(st.sampled_from([-1.0, 0.0, 1.0])) for name in NAMES[:3]}
    kind = draw(st.sampled_from(["formula", "rules", "steps"]))
    policy = policy_of(chosen, none=draw(st.booleans()), rank=scorer_of(kind, weights, draw(st.floats(-2, 1))))
    count = draw(st.integers(1, 6))
    rows = draw(st.lists(st.sampled_from(VALUES), min_size=count * len(NAMES), max_size=count * len(NAMES)))
    return policy, np.array(rows, np.float32).reshape(count, len(NAMES))


def _can_be_met(chosen: Sequence[dict[str, Any]]) -> bool:
    try:
        read_patches(chosen, PROBLEM, "x")
    except ClearschedError:
        return False
    return True


def scorer_of(kind: str, weights: dict[str, float], constant: float) -> Any:
    """A value as in a student's file."""
    if kind == "formula":
        return {**weights, "constant": constant}
    if kind == "rules":
        rules = [{"if": "size < 1", "then": 1}, {"if": "share >= 1", "then": -1}, {"if": "otherwise", "then": 0}]
        return {"rules": rules} | ({"ties": ["rank"]} if constant < 0 else {})
    return {
        "steps": [
            {"if": "size < 1", "of": "share", "below": [{"times": 2, "age_s": 1}], "then": 1, "plus": {"rank": -1.0}},
            {"if": "otherwise", "then": constant},
        ]
    }


def policy_of(patches: Sequence[dict[str, Any]], *, none: bool = False, rank: Any = None, level: Any = 0.5) -> Any:
    """A policy of the shop."""
    scorers = {
        "pick": read_scorer(rank or {"size": 1.0}, NAMES, "x"),
        "amount": read_scorer(level, NAMES, "x"),
    }
    return ScoredPolicy("shop", PROBLEM, scorers, none, patches=read_patches(patches, PROBLEM, "shop.yaml"))


def meets(when: str, row: np.ndarray) -> bool:
    """By hand, in the text's own words."""
    compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
    parts = [] if when == "always" else [part.split()[:3] for part in when.split(" and ")]
    return all(compare[sign](row[NAMES.index(name)], np.float32(value)) for name, sign, value in parts)


def answer_by_hand(policy: ScoredPolicy, rows: np.ndarray, none_allowed: bool, whens: Sequence[str]) -> int:
    """Filter after filter, as docs/patches.md tells it."""
    plain = replace(policy, patches=())
    scores = plain.scores(rows)
    running = list(range(len(rows)))
    orders = [(patch, when) for patch, when in zip(policy.patches, whens, strict=True) if patch.cap is None]

    def keep(wanted: list[int]) -> None:
        running[:] = wanted or running

    worth = [
        i
        for i in running
        if (not policy.none or scores[i] > 0)
        and not any(patch.do == "idle" and meets(when, rows[i]) for patch, when in orders)
    ]
    if not worth and none_allowed and policy.may_idle:
        return NONE
    keep(worth)
    for patch, when in orders:
        met = [i for i in running if meets(when, rows[i])]
        if patch.do == "prefer":
            keep(met)
        elif patch.do == "keep_local":
            keep([i for i in met if rows[i, NAMES.index("is_kept")] >= 1])
        else:
            keep([i for i in running if i not in met])
    return max(running, key=lambda i: (scores[i], -i))


def in_loop(policy: ScoredPolicy, rows: np.ndarray, none_allowed: bool) -> int:
    """The answer of the compiled loop."""
    table = new_rows(len(rows), len(NAMES))
    table[: len(rows)] = rows
    rank = policy.packed(policy.rank)
    return int(best_candidate(rank, table, len(rows), np.empty(len(rows) + BLOCK), none_allowed))


@settings(max_examples=800, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(), st.booleans())
def test_loop_scores_json_and_text_agree(case: tuple[ScoredPolicy, np.ndarray], none_allowed: bool) -> None:
    policy, rows = case
    whens = [patch.when for patch in policy.patches]
    answer = in_loop(policy, rows, none_allowed)
    assert answer == NONE or 0 <= answer < len(rows), "never what is no candidate"
    assert answer == answer_by_hand(policy, rows, none_allowed, whens)
    assert answer == choose(policy.packed(policy.rank), rows, none_allowed)
    # Outside the loop: the highest score, or none where that is above it.
    scores = policy.scores(np.vstack([rows, np.full((1, len(NAMES)), np.nan)]).astype(np.float32))
    outside = int(scores[:-1].argmax())
    assert answer == (NONE if none_allowed and scores[-1] >= scores[outside] else outside)
    # Back from JSON.
    written = json.loads(json.dumps([patch.to_json() for patch in policy.patches]))
    again = replace(policy, patches=read_patches(written, PROBLEM, "x"))
    assert again.patches == policy.patches
    assert in_loop(again, rows, none_allowed) == answer
    # Back from the words, whose units the parser reads.
    told = [condition_in_words(patch, KEEPS if patch.cap is None else LEVEL) for patch in policy.patches]
    words = [text.removeprefix("if ") for text in told]
    assert answer_by_hand(policy, rows, none_allowed, words) == answer
    read = [entry | {"when": when} for entry, when in zip(written, words, strict=True)]
    assert in_loop(replace(policy, patches=read_patches(read, PROBLEM, "x")), rows, none_allowed) == answer
    # Levels: the least of the policy's own and of all caps that hold.
    caps = [[p.cap for p in policy.patches if p.cap is not None and meets(p.when, row)] for row in rows]
    shares = [min([0.5, *own]) for own in caps]
    assert policy.level_share(rows).tolist() == shares
    assert levels_of(policy.packed(LEVEL), rows).tolist() == shares


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(), st.booleans(), st.sampled_from(["prefer", "avoid"]))
def test_what_holds_of_all_changes_nothing(case: tuple[ScoredPolicy, np.ndarray], allowed: bool, do: str) -> None:
    policy, rows = case
    plain = replace(policy, patches=())
    always = replace(policy, patches=read_patches([{"when": "always", "do": do}] * 2, PROBLEM, "x"))
    assert in_loop(always, rows, allowed) == in_loop(plain, rows, allowed)
    assert always.level_share(rows).tolist() == plain.level_share(rows).tolist()


def test_ten_thousand_decisions_in_the_loop_and_outside() -> None:
    """Policies whose patches were drawn at random, on rows of many values."""
    generator, answered = np.random.default_rng(1), []
    for number in range(50):
        drawn = [_drawn(generator) for _ in range(int(generator.integers(1, 5)))]
        drawn = [entry for entry in drawn if _can_be_met([entry])]
        weights = {name: float(generator.normal()) for name in NAMES} | {"constant": float(generator.normal(0, 3))}
        policy = policy_of(drawn, none=bool(number % 2), rank=weights)
        rank = policy.packed(policy.rank)
        starts = np.cumsum([0, *generator.integers(1, 9, size=200)])
        rows = generator.normal(0, 2, size=(starts[-1], len(NAMES))).astype(np.float32)
        scores = policy.scores(rows)
        for start, stop in pairwise(starts.tolist()):
            table, values = new_rows(stop - start, len(NAMES)), np.empty(stop - start + BLOCK)
            table[: stop - start] = rows[start:stop]
            best = int(scores[start:stop].argmax())
            assert best_candidate(rank, table, stop - start, values, False) == best
            expected = NONE if policy.may_idle and scores[start + best] <= 0 else best
            assert best_candidate(rank, table, stop - start, values, True) == expected
            answered.append(expected)
    assert len(answered) == 10_000
    assert set(answered) == set(range(NONE, 8))


def _drawn(generator: np.random.Generator) -> dict[str, Any]:
    """A random patch that orders candidates."""
    names = generator.permutation(NAMES)[: generator.integers(1, 3)]
    signs = generator.choice(["<", "<=", ">", ">="], size=len(names))
    when = " and ".join(
        f"{name} {sign} {value:.3f}" for name, sign, value in zip(names, signs, generator.normal(size=9), strict=False)
    )
    do = "prefer" if "is_kept" in names else str(generator.choice(list(ACTIONS)))
    return {"when": when, "do": do}


def rows_of(**columns: Sequence[float]) -> np.ndarray:
    """Rows by feature, 0 elsewhere."""
    rows = np.zeros((len(next(iter(columns.values()))), len(NAMES)), np.float32)
    for name, values in columns.items():
        rows[:, NAMES.index(name)] = values
    return rows


@pytest.mark.parametrize(
    ("patches", "answer"),
    [
        ([], 2),  # the largest
        ([{"when": "age_s > 5 s", "do": "prefer"}], 1),  # the largest of the first two
        ([{"when": "age_s <= 5", "do": "prefer"}], 2),
        ([{"when": "size >= 2", "do": "avoid"}], 0),
        ([{"when": "share >= 1", "do": "keep_local"}], 2),  # nothing is kept that has a share: as it was
        ([{"when": "always", "do": "keep_local"}], 0),
        ([{"when": "size > 2", "do": "idle"}], 1),
        ([{"when": "size > 0", "do": "idle"}], NONE),
        # The higher priority counts first; then the order in which they are written.
        ([{"when": "size > 2", "do": "prefer"}, {"when": "always", "do": "keep_local", "priority": 1}], 0),
        ([{"when": "size > 2", "do": "prefer"}, {"when": "always", "do": "keep_local"}], 2),
    ],
)
def test_each_action_by_hand(patches: list[dict[str, Any]], answer: int) -> None:
    rows = rows_of(size=[1, 2, 3], age_s=[10, 10, 0], is_kept=[1, 0, 0])
    assert in_loop(policy_of(patches), rows, True) == answer


def test_idle_is_refused_where_none_is() -> None:
    """What is not worth it comes last then."""
    rows = rows_of(size=[1, 3])
    policy = policy_of([{"when": "size > 2", "do": "idle"}, {"when": "size < 2", "do": "idle", "priority": 1}])
    assert in_loop(policy, rows, True) == NONE
    assert in_loop(policy, rows, False) == 1, "the patch of higher priority counts first"


def test_a_policy_that_idles_still_does() -> None:
    """A patch orders the candidates that the policy finds worth it; `none` is not the rest's to win."""
    rows = rows_of(size=[-1, 2, 1])
    assert in_loop(policy_of([{"when": "size < 0", "do": "prefer"}], none=True), rows, True) == 1
    assert in_loop(policy_of([{"when": "size < 0", "do": "prefer"}]), rows, True) == 0
    assert in_loop(policy_of([{"when": "size > 0", "do": "avoid"}], none=True), rows, True) == 1
    assert in_loop(policy_of([{"when": "always", "do": "prefer"}], none=True), rows[:1], True) == NONE


def test_caps_by_hand() -> None:
    policy = policy_of([{"when": "size > 1", "cap": 0.3}, {"when": "size > 2", "cap": 0.1}])
    assert policy.level_share(rows_of(size=[1, 2, 3])).tolist() == [0.5, 0.3, 0.1]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("prefer", "an entry with `when` and `do` or `cap` expected"),
        ({"when": "size > 1"}, "exactly one of `do` (prefer, avoid, keep_local, idle) and `cap` expected"),
        ({"when": "size > 1", "do": "avoid", "cap": 0.3}, "exactly one of `do`"),
        (
            {"when": "size > 1", "do": "prefr"},
            "do: 'prefr': expected one of prefer, avoid, keep_local, idle; did",
        ),
        ({"wehn": "size > 1", "do": "avoid"}, "unknown key 'wehn'; did you mean when?"),
        ({"when": "size > 1", "prefer": True}, "unknown key 'prefer'; did you mean do: prefer?"),
        ({"when": "size > 1", "keep_local": None}, "unknown key 'keep_local'; did you mean do: keep_local?"),
        ({"when": "size > 1", "cap": 3}, "cap: a share above 0 and up to 1 expected, not 3"),
        ({"when": "size > 1", "cap": "0.3"}, "cap: a share above 0 and up to 1 expected, not '0.3'"),
        ({"when": "size > 1", "cap": True}, "cap: a share above 0 and up to 1 expected, not True"),
        ({"when": "size > 1", "cap": 0.0}, "cap: a share above 0"),
        ({"do": "avoid"}, "when: a text such as `feature > number` expected, or `always`"),
        ({"when": "sise > 1", "do": "avoid"}, "when: unknown feature 'sise'; did you mean size?"),
        ({"when": "age_s > 600 min", "do": "avoid"}, "when: age_s is in s, not in 'min'"),
        ({"when": "size > 1 s", "do": "avoid"}, "when: size has no unit, not in 's'"),
        ({"when": "size == 1", "do": "avoid"}, "when: 'size == 1': expected `feature < number`"),
        ({"when": "size > 1 or age_s > 2", "do": "avoid"}, "when: 'size > 1 or age_s > 2': expected"),
        ({"when": "size > age_s", "do": "avoid"}, "when: 'size > age_s': expected"),
        ({"when": "1 < size", "do": "avoid"}, "when: '1 < size': expected"),
        (
            {"when": "size > 1 and age_s > 600s", "do": "avoid"},
            "'age_s > 600s': expected `feature < number`, with one of < <= > >=; a unit stands after a space: 600 s",
        ),
        ({"when": "age_s>=1e3s", "do": "avoid"}, "< <= > >=; a unit stands after a space: 1e3 s"),
        ({"when": "size > 1 AND age_s > 2", "do": "avoid"}, ">=; `and` is written in small letters"),
        (
            {"when": "Always", "do": "avoid"},
            "'Always': expected `feature < number`, with one of < <= > >=; did you mean",
        ),
        ({"when": "ALWAYS ", "cap": 0.5}, "; did you mean always?"),
        ({"when": "is_kept > 1", "do": "avoid"}, "'is_kept > 1': no candidate can meet this: is_kept is 0 or 1"),
        ({"when": "size > 1 and is_kept < 0", "cap": 0.5}, "no candidate can meet this: is_kept is 0 or 1"),
        ({"when": "size > 1e99", "do": "avoid"}, "when: 'size > 1e99': expected"),
        ({"when": "__import__('os')", "do": "avoid"}, "expected `feature < number`"),
        ({"when": "size > 2 and size < 1", "do": "avoid"}, "when: 'size > 2 and size < 1': no candidate can meet this"),
        ({"when": "is_kept < 1", "do": "keep_local"}, "no candidate can meet this"),
        ({"when": "size > 1", "do": "avoid", "priority": "high"}, "priority: a whole number expected, not 'high'"),
        ({"when": "size > 1", "do": "avoid", "because": 3}, "because: a text expected"),
    ],
)
def test_a_broken_entry_is_one_line(entry: Any, told: str) -> None:
    good = {"when": "size > 1", "do": "prefer"}
    with pytest.raises(ClearschedError) as caught:
        read_patches([good, entry], PROBLEM, "mine.yaml")
    assert str(caught.value).startswith("mine.yaml: patch 2: ")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("problem", "when", "why"),
    [
        (DAG, "job_is_source >= 2", "job_is_source is 0 or 1"),
        (DAG, "stage_is_ready < 0", "stage_is_ready is 0 or 1"),
        (DAG, "stage_tasks_left < 0 tasks", "stage_tasks_left is never below 0"),
        (DAG, "jobs_in_system <= -1", "jobs_in_system is never below 0"),
        (DAG, "job_work_rank < 0 and job_age_s > 3", "job_work_rank is never below 0"),
        (DEFERRABLE, "job_is_late > 1", "job_is_late is 0 or 1"),
        (DEFERRABLE, "job_evictions < 0", "job_evictions is never below 0"),
        (DAG, "job_is_source > 0 and stage_is_ready <= 0", ""),
        (DAG, "stage_tasks_left <= 0", ""),
        (DAG, "stage_demand < 0", ""),  # a difference
        (DEFERRABLE, "room_now < 0 cores", ""),
        (DEFERRABLE, "job_slack_min < 0 min", ""),
        (DEFERRABLE, "room_safety < -1", ""),
    ],
)
def test_what_a_feature_never_is_is_refused(problem: Any, when: str, why: str) -> None:
    if not why:
        assert read_patches([{"when": when, "do": "avoid"}], problem, "x")
        return
    with pytest.raises(ClearschedError, match=f"^x: patch 1: when: .* no candidate can meet this: {why}$"):
        read_patches([{"when": when, "do": "avoid"}], problem, "x")


def test_a_problem_without_such_a_thing_says_so() -> None:
    def told(entry: dict[str, Any]) -> str:
        with pytest.raises(ClearschedError) as caught:
            read_patches([{"when": "always"} | entry], DEFERRABLE, "x")
        return str(caught.value)

    assert told({"cap": 0.3}) == "x: patch 1: cap: deferrable_jobs has no choice of a level: nothing to bound"
    assert "deferrable_jobs has no candidate that changes nothing" in told({"do": "keep_local"})
    busy: Any = SimpleNamespace(name="busy", choices=(KEEPS._replace(none=""), LEVEL))
    with pytest.raises(ClearschedError, match="busy has no answer `none of these`"):
        read_patches([{"when": "always", "do": "idle"}], busy, "x")
    with pytest.raises(ClearschedError, match="a list of patches expected"):
        read_patches({"when": "always"}, PROBLEM, "x")
    with pytest.raises(ClearschedError, match="at most 32 patches"):
        read_patches([{"when": "always", "do": "avoid"}] * 33, PROBLEM, "x")


@pytest.mark.parametrize("problem", [DAG, DEFERRABLE], ids=lambda problem: problem.name)
def test_a_file_keeps_its_patches(problem: Any, tmp_path: Path) -> None:
    rank: Choice = problem.choices[0]
    entries = [
        {"when": f"{rank.features[0].name} > 0.5", "do": "avoid", "because": "it is full"},
        {"when": "always", "do": "idle", "priority": 2},
    ]
    scorers = {choice.name: read_scorer(0.5, [f.name for f in choice.features], "x") for choice in problem.choices}
    policy = ScoredPolicy("mine", problem, scorers)
    policy.write(tmp_path / "plain.json")
    assert "patches" not in json.loads((tmp_path / "plain.json").read_text())
    patched = replace(policy, patches=read_patches(entries, problem, "x"))
    patched.write(tmp_path / "mine.json")
    again = load_policy(tmp_path / "mine.json")
    assert again.patches == patched.patches
    assert [patch.priority for patch in again.patches] == [2, 0]
    assert "patches" not in again.evidence
    text = render(again)
    assert render(patched) == text
    assert re.search(r"because it is full", text)
    assert rank.features[0].meaning.split()[0] in text
    assert f"always  ->  idle: rather than take such a candidate, {rank.none}" in text
    content = json.loads((tmp_path / "mine.json").read_text())
    content["patches"][0]["when"] = "nonsense > 1"
    (tmp_path / "mine.json").write_text(json.dumps(content))
    with pytest.raises(ClearschedError, match=r"mine\.json: patches: patch 1: when: unknown feature 'nonsense'"):
        load_policy(tmp_path / "mine.json")
