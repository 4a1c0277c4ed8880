"""`clearsched serve`: answers are those of the simulator's loop, faults are lines that name the field, none is lost."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearsched.cli import main
from clearsched.compiled.guard import TAKEN_OVER, new_watch, takes_over
from clearsched.compiled.reach import ROW, Spread
from clearsched.decisions.answers import rank_places
from clearsched.errors import ClearschedError
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.episodes import NONE, Answers
from clearsched.problems.policy import heuristic
from clearsched.scorers.guard import Bound, Guard
from clearsched.scorers.patches import read_patches
from clearsched.scorers.policy import ScoredPolicy, load_policy, names_of
from clearsched.scorers.scorer import read_scorer
from clearsched.serving import packages
from stages import stage_params
from toys import stage, toy_trace, toy_workload

MISSING = "no {}: pip install 'clearsched[serve]' httpx"
for needed in ("fastapi", "uvicorn", "prometheus_client"):
    pytest.importorskip(needed, reason=MISSING.format(needed))
httpx = pytest.importorskip("httpx", reason=MISSING.format("httpx"))

from clearsched.serving.deciding import Decider  # noqa: E402
from clearsched.serving.guarding import ask_guard  # noqa: E402
from clearsched.serving.reloading import Keeper  # noqa: E402
from clearsched.serving.schema import request_type  # noqa: E402
from clearsched.serving.service import create_app  # noqa: E402
from clearsched.serving.wording import telling_of  # noqa: E402

DAG, DEFERRABLE = find_problem("dag_jobs"), find_problem("deferrable_jobs")
SHIPPED = Path(__file__).parents[1] / "src/clearsched/shipped"
ROOMY = 1 << 20

LIST = {
    "rules": [
        {"if": "job_is_source >= 1 and job_fair_load < 2", "then": 3},
        {"if": "job_age_s < 5", "then": 2},
        {"if": "otherwise", "then": 0},
    ],
    "ties": ["job_work_left_s", "-stage_rank"],
}
LIMIT = {"rules": [{"if": "job_work_left_s < 8", "then": 0.4}, {"if": "otherwise", "then": 0.9}]}
SOME = {"job_is_source": 0, "job_fair_load": 1, "job_age_s": 9, "job_work_left_s": 2, "stage_rank": 0}
"""The features that the list needs."""


def policy(problem: Any, scorers: dict[str, Any], *patches: dict[str, Any], none: bool = False) -> ScoredPolicy:
    names = {choice.name: names_of(choice) for choice in problem.choices}
    read = {name: read_scorer(value, names[name], "x") for name, value in scorers.items()}
    evidence = {"most": 4} if problem is DAG else {}
    return ScoredPolicy("mine", problem, read, none, evidence, patches=read_patches(patches, problem, "x"))


def by_list(*patches: dict[str, Any], none: bool = True) -> ScoredPolicy:
    return policy(DAG, {"stage": LIST, "limit": LIMIT}, *patches, none=none)


PATCHES = (
    {"when": "stage_rank >= 1", "do": "avoid"},
    {"when": "job_age_s > 4 and job_is_source < 1", "do": "idle"},
    {"when": "job_work_left_s > 1", "cap": 0.5, "because": "short ones first"},
)
TREES = {"features": ["job_age_s", "job_work_left_s"]} | {
    "trees": [
        {
            "feature": [1, -1, -1],
            "threshold": [0.1, 0, 0],
            "left": [1, 0, 0],
            "right": [2, 0, 0],
            "value": [0, 1.5, -1],
        },
        {"feature": [0, -1, -1], "threshold": [0.05, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0], "value": [0, 0, 1]},
    ]
}
PAIRS = {
    "features": ["difference job_work_left_s"],
    "pairs": [
        {
            "feature": [0, -1, -1],
            "threshold": [0, 0, 0],
            "left": [1, 0, 0],
            "right": [2, 0, 0],
            "value": [0.5, 0.9, 0.2],
        }
    ],
}
POLICIES = {
    "shipped": load_policy(SHIPPED / "default/stay_and_move.json"),
    "never idle": load_policy(SHIPPED / "decima-c/stay_and_move.json"),
    "rules": by_list(),
    "rules, no none": by_list(none=False),
    "patches": by_list(*PATCHES),
    "weights": policy(DAG, {"stage": {"job_work_left_s": -1.0, "constant": 4}, "limit": LIMIT}, none=True),
    "caps": policy(DAG, {"stage": LIST, "limit": {"cap_terms": [{"times": 0.3, "jobs_in_system": -0.5}], "up": True}}),
    "trees": policy(DAG, {"stage": TREES, "limit": LIMIT}, none=True),
    "pairs": policy(DAG, {"stage": PAIRS, "limit": LIMIT}),
    "number": policy(DAG, {"stage": 1.0, "limit": 0.5}),
    "one choice": policy(DEFERRABLE, {"start": {"job_waited_min": 1.0, "constant": -20}}, none=True),
}


class Client:
    """Asks an application without a network."""

    def __init__(self, app: Any) -> None:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://test")
        self._loop = asyncio.new_event_loop()

    def ask(self, method: str, path: str, **options: Any) -> Any:
        return self._loop.run_until_complete(self._client.request(method, path, **options))

    def decide(self, request: Any, explain: bool = False, status: int = 200) -> Any:
        answer = self.ask("POST", "/decide", json=request, params={"explain": str(explain).lower()})
        assert answer.status_code == status, answer.text
        return answer.json()


def keeper_of(found: ScoredPolicy, folder: Path, said: list[str] | None = None, most: int = 100) -> Keeper:
    found.write(folder / "student.json")
    return Keeper(folder / "student.json", most, (said if said is not None else []).append)


def client_of(found: ScoredPolicy, folder: Path, most_bytes: int = ROOMY, most: int = 100) -> Client:
    return Client(create_app(keeper_of(found, folder, most=most), most_bytes))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    """The rule list, asked."""
    return client_of(by_list(), tmp_path_factory.mktemp("list"))


def candidate(**changed: Any) -> dict[str, Any]:
    return {"features": SOME | changed}


# The answers --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def decisions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """By problem the observations of the decisions of an episode, taken as a heuristic schedules."""
    toy = toy_trace([[stage(4), stage(3, [0])], [stage(9), stage(4), stage(1, [1])], [stage(20)]])
    workload = toy_workload([0, 0, 40, 80, 120, 150, 200], 4, profile=[0, 1, 2, 1, 0, 1, 0], moving_delay_ms=5)
    instance = DagJobsInstance(compile_profiles(toy))
    found = {"dag_jobs": taken(instance, [workload], heuristic(DAG, "fair", {}).compiled, 4)}
    folder = tmp_path_factory.mktemp("deferrable")
    size = {"jobs": 12, "slots": 40, "load": 0.8, "episodes": {"train": 1, "validation": 1, "test": 1}}
    params = stage_params("deferrable_jobs", workload=size)
    DEFERRABLE.build(params, folder / "trace.parquet")
    DEFERRABLE.draw(params, folder / "trace.parquet", folder / "workloads.parquet")
    opened = DEFERRABLE.open(folder / "trace.parquet", folder / "workloads.parquet")
    found["deferrable_jobs"] = taken(opened, opened.split("train"), heuristic(DEFERRABLE, "edf", {}).compiled, 0)
    return found


def taken(instance: Any, episodes: list[Any], actor: Any, most: int) -> list[Any]:
    """Observations, by policy what the compiled loop answers there, and how much there is of what levels count."""
    lockstep, found = instance.lockstep(episodes), []
    of_problem = {name: each.compiled for name, each in POLICIES.items() if each.problem == instance.problem}
    while lockstep.advance():
        seen = lockstep.observe()
        answers = {name: lockstep.ask(compiled) for name, compiled in of_problem.items()}
        told = {name: (int(answer.candidate[0]), int(answer.level[0])) for name, answer in answers.items()}
        found.append((seen.take(np.array([0])), told, most))
        lockstep.answer(lockstep.ask(actor))
    assert len(found) > 12
    return found


def request_of(observation: Any, names: tuple[str, ...], most: int) -> dict[str, Any]:
    """A decision as a caller would ask it."""
    rows, levels = observation.candidates.tolist(), observation.levels.tolist()
    candidates = [
        {"id": f"c{place}", "features": dict(zip(names, row, strict=True))} | ({"least": level[0]} if level else {})
        for place, (row, level) in enumerate(zip(rows, levels, strict=True))
    ]
    whole = {"most": most} if most else {}
    return {"candidates": candidates, "none_allowed": bool(observation.none_allowed[0])} | whole


@pytest.mark.parametrize("name", POLICIES)
def test_answers_are_those_of_the_compiled_loop(name: str, decisions: dict[str, list[Any]], tmp_path: Path) -> None:
    """Candidate, none, limit; and the runner-up by the order in which the evaluation counts."""
    of = POLICIES[name]
    client, decider = client_of(of, tmp_path), Decider(of, "", 100)
    answered = set()
    for observation, told, most in decisions[of.problem.name]:
        request = request_of(observation, names_of(of.rank), most)
        answer = client.decide(request)
        best, level = told[name]
        assert answer["candidate"] == (None if best == NONE else best)
        assert (answer["level"] or {"level": 0})["level"] == level
        assert answer["id"] == (None if best == NONE else f"c{best}")
        assert (answer["none"] is None) == (best != NONE)
        decided = decider.decide(decider.decode(json.dumps(request)))
        decision = telling_of(decider, decided).decision
        order = np.argsort(rank_places(of, decision)).tolist()
        second = answer["runner_up"] and answer["runner_up"]["candidate"]
        last = [row for row in order if row < len(request["candidates"]) or (of.may_idle and request["none_allowed"])]
        if len(last) > 1:
            assert second == (last[1] if last[1] < len(request["candidates"]) else None)
        else:
            assert answer["runner_up"] is None
        answered.add(answer["candidate"])
    assert len(answered) > 1 or name == "number"


def test_rule_and_runner_up_by_hand(client: Client) -> None:
    """Two of rule 2, of which less work comes first; the limit's first rule; none before rule 3, whose score is 0."""
    three = [candidate(job_age_s=2, job_work_left_s=9), candidate(job_age_s=3), candidate()]
    answer = client.decide({"candidates": three, "most": 10})
    assert (answer["candidate"], answer["rule"]) == (1, "rule 2")
    assert answer["level"] == {"name": "limit", "level": 4, "unit": "executors", "share": 0.4, "rule": "rule 1"}
    assert (answer["runner_up"]["candidate"], answer["runner_up"]["rule"]) == (0, "rule 2")
    assert "explanation" not in answer
    alone = client.decide({"candidates": [candidate()]})
    assert (alone["candidate"], alone["none"], alone["level"]) == (None, "leave the executors idle", None)
    assert (alone["runner_up"]["candidate"], alone["runner_up"]["rule"]) == (0, "rule 3")
    forced = client.decide({"candidates": [candidate()], "none_allowed": False})
    assert (forced["candidate"], forced["rule"], forced["runner_up"]) == (0, "rule 3", None)


@pytest.mark.parametrize(("least", "most", "level"), [(1, 10, 4), (6, 10, 6), (1, 1, 1), (9, 3, 3), (1, None, 2)])
def test_levels_are_rounded_and_bounded(client: Client, least: int, most: int | None, level: int) -> None:
    """0.4 of the most, at least so many, at most all; without a number the file's 4 executors are all."""
    request = {"candidates": [candidate(job_age_s=1) | {"least": least}]} | ({"most": most} if most else {})
    assert client.decide(request)["level"]["level"] == level


# The words ----------------------------------------------------------------------------------------------------------


def test_the_words_by_hand(client: Client) -> None:
    three = [candidate(job_age_s=2, job_work_left_s=9), candidate(job_age_s=3) | {"id": "b", "group": "j"}, candidate()]
    told = client.decide({"candidates": three, "most": 10}, explain=True)["explanation"]
    assert told["why"] == "The answer is b (j): it meets rule 2 (job_age_s 3 s < 5 s), score 2."
    assert told["level"] == "Of 1 to 10 executors it gets 4: rule 1 (job_work_left_s 2 s < 8 s): 40 % of the executors."
    assert told["runner_up"] == (
        "Not candidate 0: it meets rule 2 (job_age_s 2 s < 5 s), score 2; among equals the least job_work_left_s wins: "
        "2 s, not 9 s."
    )
    change = told["change"]
    assert change["exact"] and change["answer"] == 0 and change["words"].endswith("the answer is candidate 0.")


def test_groups_are_told_apart_whatever_they_are_called(tmp_path: Path) -> None:
    """By the first of each; who has none is alone, and none of these comes last with no group."""
    decider = Decider(by_list(), "", 100)
    groups = ["b", None, "a", "b", None, ""]
    asked = [candidate() | ({} if group is None else {"group": group}) for group in groups]
    decision = telling_of(decider, decider.decide(decider.decode(json.dumps({"candidates": asked})))).decision
    assert decision.group.tolist() == [0, 7, 2, 0, 10, 5, NONE]
    assert decision.candidate.tolist() == [0, 1, 2, 3, 4, 5, NONE]
    assert np.isnan(decision.features[-1]).all() and np.isfinite(decision.features[:-1]).all()


def test_a_cap_of_0_is_crossed_nowhere(tmp_path: Path) -> None:
    """Of the shipped caps some are products of shares, which may be 0."""
    client = client_of(POLICIES["shipped"], tmp_path)
    row = dict.fromkeys(names_of(DAG.choices[0]), 0.0) | {"job_executor_share": 0.5, "jobs_in_system": 2.0}
    answer = client.decide({"candidates": [{"features": row}, {"features": row | {"stage_rank": 1.0}}]}, explain=True)
    assert answer["explanation"]["change"] is not None


def test_none_in_words(client: Client) -> None:
    told = client.decide({"candidates": [candidate()]}, explain=True)["explanation"]
    assert (
        told["why"] == "The answer is none of these (leave the executors idle), since no candidate has a score above 0."
    )
    assert told["runner_up"] == "Not candidate 0: it meets rule 3 (all others), score 0."
    assert told["change"] == {
        "feature": "job_age_s",
        "unit": "s",
        "candidates": [0],
        "before": 9.0,
        "after": 4.0,
        "answer": 0,
        "exact": True,
        "words": "With job_age_s of candidate 0 from 9 s to 4 s, 0.56 of its deviations, the answer is candidate 0.",
    }


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6), name=st.sampled_from(["shipped", "rules", "patches", "trees", "pairs", "one choice"])
)
def test_what_is_said_to_change_an_answer_changes_it(seed: int, name: str, tmp_path_factory: Any) -> None:
    """The request with that one number changed is answered as it says."""
    of, rng = POLICIES[name], np.random.default_rng(seed)
    client = client_of(of, tmp_path_factory.getbasetemp(), most=9)
    rows = rng.integers(1, 9, (int(rng.integers(1, 7)), len(names_of(of.rank)))).astype(float)
    candidates = [{"features": dict(zip(names_of(of.rank), row, strict=True))} for row in rows.tolist()]
    before = client.decide({"candidates": candidates}, explain=True)
    change = before["explanation"]["change"]
    if change is None:
        return
    for row in change["candidates"]:
        assert candidates[row]["features"][change["feature"]] == change["before"]
        candidates[row]["features"][change["feature"]] = change["after"]
    after = client.decide({"candidates": candidates})
    assert after["candidate"] == change["answer"] != before["candidate"]


def test_of_many_candidates_no_change_is_searched(client: Client) -> None:
    """It would take minutes; the other words are there."""
    many = [candidate(job_age_s=place / 100) for place in range(90)]
    told = client.decide({"candidates": many}, explain=True)["explanation"]
    assert told["change"] is None and told["why"] and told["runner_up"]


def test_a_log_says_how_far_features_reach(tmp_path: Path) -> None:
    """In a log whose ages reach from 6 to 20 s no age below 5 is found, so that another feature must change."""
    width = len(names_of(DAG.choices[0]))
    low, high, ones = np.zeros(width), np.full(width, 20.0), np.ones(width)
    low[names_of(DAG.choices[0]).index("job_age_s")] = 6.0
    spread = Spread(low, high, ones, np.zeros(width, bool), np.full(width, ROW))
    client = Client(create_app(keeper_of(by_list(), tmp_path), ROOMY, spread))
    change = client.decide({"candidates": [candidate()]}, explain=True)["explanation"]["change"]
    assert (change["feature"], change["after"]) == ("job_is_source", 1.0)


# The guard ----------------------------------------------------------------------------------------------------------


def guarded(above: float = 10.0, until: float = 5.0, *, none: bool = True) -> ScoredPolicy:
    return replace(by_list(none=none), guard=Guard("fair", {"backlog_s": Bound(above, until)}))


def test_a_guard_is_asked_of_the_gauges_of_a_request(client: Client, tmp_path: Path) -> None:
    """Above its bound the heuristic is to decide, until the gauge is down to the other bound; the rules answer too."""
    said: list[str] = []
    keeper = keeper_of(guarded(), tmp_path, said)
    asked = Client(create_app(keeper, ROOMY))
    request = {"candidates": [candidate(job_age_s=1)]}

    def guard(backlog_s: float, was: bool) -> Any:
        answer = asked.decide(request | {"gauges": {"backlog_s": backlog_s}, "taken_over": was})
        assert (answer["candidate"], answer["rule"]) == (0, "rule 2")
        return answer["guard"]

    below = {"taken_over": False, "heuristic": "fair", "settings": {}, "why": None}
    assert guard(10.0, False) == below
    assert guard(10.5, False) == below | {"taken_over": True, "why": "the backlog, 10.5 s, is above 10 s"}
    assert guard(5.25, True) == below | {"taken_over": True, "why": "the backlog, 5.25 s, is not yet down to 5 s"}
    assert guard(5.0, True) == below
    assert said[0] == "mine has a guard, asked where a request tells backlog_s"
    assert said[1:] == ["fair is to schedule: the backlog, 10.5 s, is above 10 s", "the rules schedule again"]
    assert asked.decide(request)["guard"] is None, "not asked"
    assert asked.decide(request | {"gauges": None})["guard"] is None
    text = asked.ask("GET", "/metrics").text
    assert 'clearsched_guarded_total{by="rules"} 2.0' in text
    assert 'clearsched_guarded_total{by="heuristic"} 2.0' in text
    assert client.decide(request | {"gauges": {"backlog_s": 99.0}})["guard"] is None, "these rules have none"


@pytest.mark.parametrize(
    ("told", "field", "words"),
    [
        ({"gauges": {}}, "gauges.backlog_s", "missing: work not yet started"),
        ({"gauges": {"backlog_s": 1, "stall": 1}}, "gauges.stall", "unknown; did you mean stall_s?"),
        ({"gauges": {"backlog_s": None}}, "gauges.backlog_s", "a number expected, not null"),
        ({"gauges": 3}, "gauges", "an object or null expected"),
        ({"taken_over": 1}, "taken_over", "true or false expected"),
        ({"guages": {}}, "guages", "unknown; did you mean gauges?"),
    ],
)
def test_what_is_wrong_with_gauges_is_told(told: Any, field: str, words: str, tmp_path: Path) -> None:
    answer = client_of(guarded(), tmp_path).decide({"candidates": [candidate()]} | told, status=422)
    assert answer["field"] == field and answer["error"].startswith(words)


@settings(max_examples=300, deadline=None)
@given(
    values=st.tuples(*[st.sampled_from([0.0, 5.0, np.nextafter(5.0, 9.0), 7.5, 10.0, np.nextafter(10.0, 99.0)])] * 3),
    watched=st.sets(st.sampled_from([gauge.name for gauge in DAG.gauges]), min_size=1),
    was=st.booleans(),
)
def test_a_guard_says_what_it_says_in_the_loop(values: tuple[float, ...], watched: set[str], was: bool) -> None:
    guard = Guard("fair", {name: Bound(10.0, 5.0) for name in watched})
    bounds = guard.compiled(DAG, None).bounds
    watch = new_watch(bounds)
    watch.values[:], watch.status[TAKEN_OVER] = values, was
    gauges = SimpleNamespace(**{gauge.name: value for gauge, value in zip(DAG.gauges, values, strict=True)})
    said = ask_guard(guard, DAG, gauges, was)
    assert said.taken_over == takes_over(bounds, watch, 0.0)
    assert (said.why is not None) == said.taken_over


def test_a_problem_without_gauges_asks_for_none() -> None:
    made = request_type(DAG.choices[0], ("job_age_s",), None, 0, 10)
    assert {"gauges", "taken_over"}.isdisjoint(made.__struct_fields__)


def test_who_follows_the_service_schedules_as_the_guard_in_the_loop(tmp_path: Path) -> None:
    """An episode, decision by decision: rules and guard by the service, the heuristic by the caller."""
    toy = toy_trace([[stage(4), stage(3, [0])], [stage(9), stage(4), stage(1, [1])], [stage(20)]])
    workload = toy_workload([0, 0, 40, 80, 600, 600, 610], 4, profile=[0, 1, 2, 1, 0, 1, 2], moving_delay_ms=5)
    instance = DagJobsInstance(compile_profiles(toy))
    mine, fair = guarded(0.05, 0.02), heuristic(DAG, "fair", {}).compiled
    (expected,) = mine.run(instance, [workload])
    assert expected.guard is not None and len(expected.guard.take_overs) > 1
    client, lockstep, was, taken_overs = client_of(mine, tmp_path), instance.lockstep([workload]), False, []
    gauges = [gauge.name for gauge in DAG.gauges]
    while lockstep.advance():
        request = request_of(lockstep.observe().take(np.array([0])), names_of(mine.rank), 4)
        told = {"gauges": dict(zip(gauges, lockstep.gauges()[0].tolist(), strict=True)), "taken_over": was}
        answer = client.decide(request | told)
        if answer["guard"]["taken_over"] and not was:
            taken_overs.append(float(lockstep.time_s[0]))
        was = answer["guard"]["taken_over"]
        best = NONE if answer["candidate"] is None else answer["candidate"]
        level = answer["level"]["level"] if answer["level"] else 0
        own = Answers(np.array([best]), np.array([level]))
        lockstep.answer(lockstep.ask(fair) if was else own, by_heuristic=True)
    (outcome,) = lockstep.results()
    assert taken_overs == [each.from_s for each in expected.guard.take_overs]
    assert outcome.measures == expected.measures


# What is refused ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "field", "words"),
    [
        ([], "body", "an object expected, not a list"),
        ({}, "candidates", "missing"),
        ({"candidates": []}, "candidates", "a list of at least 1 expected"),
        ({"candidates": [candidate()] * 101}, "candidates", "a list of at most 100 expected"),
        ({"candidates": [[1, 2]]}, "candidates[0]", "an object expected, not a list"),
        ({"candidates": [{"features": {}}]}, "candidates[0].features.job_is_source", "missing: 1 if the executors"),
        ({"candidates": [candidate(), {"id": "b"}]}, "candidates[1].features", "missing"),
        ({"candidates": [candidate(job_age=1)]}, "candidates[0].features.job_age", "unknown; did you mean job_age_s?"),
        ({"candidates": [candidate(zzz=1)]}, "candidates[0].features.zzz", "unknown: known are job_is_source, "),
        (
            {"candidates": [candidate(job_age_s="1")]},
            "candidates[0].features.job_age_s",
            "a number expected, not a text",
        ),
        (
            {"candidates": [candidate(job_age_s=[1])]},
            "candidates[0].features.job_age_s",
            "a number expected, not a list",
        ),
        ({"candidates": [candidate(job_age_s=True)]}, "candidates[0].features.job_age_s", "not true or false"),
        (
            {"candidates": [candidate(job_age_s=None)]},
            "candidates[0].features.job_age_s",
            "a number expected, not null",
        ),
        ({"candidates": [candidate(job_age_s=1e39)]}, "candidates[0].features.job_age_s", "at most 3.402823466e+38"),
        ({"candidates": [candidate() | {"id": 7}]}, "candidates[0].id", "a text or null expected, not a whole number"),
        ({"candidates": [candidate() | {"id": "x" * 201}]}, "candidates[0].id", "at most 200 characters"),
        ({"candidates": [candidate() | {"lest": 1}]}, "candidates[0].lest", "unknown; did you mean least?"),
        ({"candidates": [candidate() | {"least": 0}]}, "candidates[0].least", "at least 1 expected"),
        ({"candidates": [candidate() | {"least": 1.5}]}, "candidates[0].least", "a whole number expected"),
        ({"candidates": [candidate()], "most": 1e30}, "most", "at most 2147483648 expected"),
        ({"candidates": [candidate()], "none_alowed": True}, "none_alowed", "unknown; did you mean none_allowed?"),
        ({"candidates": [candidate()], "x" * 5000: 1}, "x" * 77 + "...", "unknown: known are candidates, "),
    ],
    ids=lambda value: str(value)[:40] if not isinstance(value, dict | list) else "",
)
def test_a_fault_names_its_field(client: Client, request_: Any, field: str, words: str) -> None:
    answer = client.decide(request_, status=422)
    assert answer["field"] == field
    assert words in answer["error"] and "\n" not in answer["error"]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"", 400, "body"),
        (b"{", 400, "body"),
        (b"\xff\xfe", 400, "body"),
        (b"[" * 100_000, 422, "body"),
        (b'{"candidates": ' + b"[" * 100_000, 422, "candidates[0]"),
        (b'{"candidates": [{"features": {"job_age_s": NaN}}]}', 422, "candidates[0].features.job_age_s"),
        (b'{"candidates": [{"features": {"job_age_s": -Infinity}}]}', 422, "candidates[0].features.job_age_s"),
        (b'{"candidates": [{"features": {"job_age_s": 1e999}}]}', 422, "candidates[0].features.job_age_s"),
        (b'{"candidates": [{"id": "\\ud800"}]}', 400, "body"),
    ],
    ids=range(9),
)
def test_a_body_that_is_no_request(client: Client, body: bytes, status: int, field: str) -> None:
    answer = client.ask("POST", "/decide", content=body)
    assert (answer.status_code, answer.json()["field"]) == (status, field), answer.text


@settings(max_examples=200)
@given(body=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_bytes_are_a_fault_of_the_service(client: Client, body: bytes) -> None:
    assert client.ask("POST", "/decide", content=body).status_code in (400, 422)


def test_too_many_bytes(tmp_path: Path) -> None:
    """Told by the header before anything is read, and while it is read where there is none."""
    client = client_of(by_list(), tmp_path, most_bytes=1000)

    async def parts() -> Any:
        for _ in range(20):
            yield b" " * 100

    for content in (b" " * 1001, parts()):
        answer = client.ask("POST", "/decide", content=content)
        assert (answer.status_code, answer.json()["field"]) == (413, "body")
        assert answer.headers["connection"] == "close"
    answer = client.ask("POST", "/decide", content=b" " * (1000 - 200) + json.dumps({"candidates": []}).encode())
    assert answer.status_code == 422


def test_a_body_that_does_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clearsched.serving import answering

    monkeypatch.setattr(answering, "PATIENCE_S", 0.01)

    async def slow() -> Any:
        yield b"{"
        await asyncio.sleep(5)

    answer = client_of(by_list(), tmp_path).ask("POST", "/decide", content=slow())
    assert (answer.status_code, answer.json()["error"]) == (408, "not there after 0.01 s")


def test_a_score_that_is_no_number(tmp_path: Path) -> None:
    """A formula's power of a huge number: the simulator stops there, the service says which candidate."""
    weights = {"stage": {"job_age_s": 1e30}, "limit": {"cap_terms": [{"times": 1.0, "job_age_s": -3}]}}
    client = client_of(policy(DAG, weights), tmp_path)
    answer = client.decide({"candidates": [{"features": {"job_age_s": 0}}]}, status=409)
    assert answer["field"] == "candidates[0].features" and "limit is not a finite number" in answer["error"]


@pytest.mark.parametrize(
    ("method", "path", "status", "words"),
    [
        ("GET", "/decide", 405, "GET is not allowed here: known are POST /decide"),
        ("POST", "/rules", 405, "POST is not allowed here"),
        ("GET", "/nowhere", 404, "no such path: known are POST /decide"),
        ("POST", "/decide?explain=maybe", 422, "true or false expected"),
        ("POST", "/decide?explian=true", 422, "unknown: known is explain"),
    ],
)
def test_paths_and_methods(client: Client, method: str, path: str, status: int, words: str) -> None:
    answer = client.ask(method, path, content=b"{}" if method == "POST" else None)
    assert answer.status_code == status and words in answer.json()["error"]


def test_a_fault_of_the_service_is_told_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decisions, which go past the framework, and what it answers end alike."""
    client = client_of(by_list(), tmp_path)
    monkeypatch.setattr(Decider, "decide", lambda self, request: 1 / 0)
    monkeypatch.setattr("clearsched.serving.service.told_rules", lambda keeper, most_bytes: 1 / 0)
    decided = client.ask("POST", "/decide", json={"candidates": [candidate()]})
    for answer in (decided, client.ask("GET", "/rules")):
        assert answer.status_code == 500
        assert answer.json()["error"] == "a fault of the service: ZeroDivisionError; its log says more"
    assert 'clearsched_errors_total{status="500"} 2.0' in client.ask("GET", "/metrics").text


def test_the_page_shows_what_is_answered(tmp_path: Path) -> None:
    """docs/serve.md has the answer to examples/decide.json, word by word."""
    root = Path(__file__).parents[1]
    request = json.loads((root / "examples/decide.json").read_text())
    shown = re.search(r"```json\n(.*?)```", (root / "docs/serve.md").read_text("utf-8"), re.DOTALL)
    assert shown is not None
    keeper = Keeper(SHIPPED / "default/stay_and_move.json", 10)
    answer = Client(create_app(keeper, ROOMY)).decide(request, explain=True)
    told = json.loads(shown.group(1))
    assert answer.pop("digest") == keeper.now.digest and told.pop("digest")
    for each in (answer, told):  # other processors may round powers otherwise
        each["level"]["share"], each["runner_up"]["score"] = (
            round(each["level"]["share"], 9),
            round(each["runner_up"]["score"], 6),
        )
    assert answer == told


# What it says of itself ---------------------------------------------------------------------------------------------


def test_the_rules(client: Client) -> None:
    told = client.ask("GET", "/rules").json()
    assert "1. if job_is_source >= 1 and job_fair_load < 2  ->  score 3" in told["text"]
    needed = {feature["name"]: feature["unit"] for feature in told["features"] if feature["needed"]}
    assert set(needed) == set(SOME) and needed["job_work_left_s"] == "s"
    assert (told["most"], told["none"], told["guard"]) == (4, "leave the executors idle", None)


def test_the_rules_tell_what_their_guard_watches(client: Client, tmp_path: Path) -> None:
    told = client_of(guarded(), tmp_path).ask("GET", "/rules").json()
    assert told["guard"].startswith("when the backlog is above 10 s, fair schedules until the backlog is at most 5 s")
    assert {gauge["name"]: gauge["needed"] for gauge in told["gauges"]} == {
        "backlog_s": True,
        "stall_s": False,
        "largest_s": False,
    }
    assert not any(gauge["needed"] for gauge in client.ask("GET", "/rules").json()["gauges"])


def test_who_serves_rules_that_are_not_safe_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    keeper_of(by_list(), tmp_path, said)
    assert said == []
    unsafe = replace(by_list(), evidence={"most": 4, "stress": {"worst": 2.5, "episodes": 576}})
    keeper_of(unsafe, tmp_path, said)
    (line,) = said
    assert line.startswith(f"{unsafe.name} is not safe: on its worst episode it takes 2.50 times the baseline's; ")


def test_metrics_count_what_was_asked(tmp_path: Path) -> None:
    client = client_of(by_list(), tmp_path)
    for _ in range(3):
        client.decide({"candidates": [candidate(job_age_s=1)]})
    client.decide({"candidates": [candidate()]}, explain=True)
    client.decide({}, status=422)
    from prometheus_client.parser import text_string_to_metric_families

    answer = client.ask("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert found[("clearsched_decisions_total", "candidate")] == 3
    assert found[("clearsched_decisions_total", "none")] == 1
    assert found[("clearsched_errors_total", "422")] == 1
    assert found[("clearsched_decide_seconds_count", "false")] == 3
    assert found[("clearsched_decide_seconds_count", "true")] == 1
    assert found[("clearsched_reloads_total", "loaded")] == 0
    assert sum(value for key, value in found.items() if key[0] == "clearsched_student_info") == 1


def test_the_document_is_that_of_the_rules_that_answer(tmp_path: Path) -> None:
    keeper = keeper_of(by_list(), tmp_path)
    client = Client(create_app(keeper, ROOMY))
    schemas = client.ask("GET", "/openapi.json").json()["components"]["schemas"]
    assert set(schemas["Features"]["required"]) == set(SOME)
    assert "least" in schemas["Candidate"]["properties"] and "most" not in schemas["Request"]["required"]
    policy(DAG, {"stage": {"job_age_s": 1.0}, "limit": LIMIT}).write(keeper.path)
    keeper.look_again()
    document = client.ask("GET", "/openapi.json").json()
    assert set(document["components"]["schemas"]["Features"]["required"]) == {"job_age_s", "job_work_left_s"}
    assert set(document["paths"]) == {"/decide", "/rules", "/healthz", "/metrics"}


def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="no schemathesis: pip install schemathesis")
    from hypothesis import HealthCheck, Phase

    schema = schemathesis.openapi.from_asgi("/openapi.json", create_app(keeper_of(guarded(), tmp_path), ROOMY))
    asked = []
    for operation in schema.get_all_operations():

        @settings(max_examples=10, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
        @given(case=operation.ok().as_strategy())
        def check(case: Any) -> None:
            asked.append(case.call_and_validate())

        check()
    assert len(asked) > 12


# Rules that change --------------------------------------------------------------------------------------------------


def test_a_file_that_changes_is_read_again_and_a_broken_one_is_not_taken(tmp_path: Path) -> None:
    said: list[str] = []
    keeper = keeper_of(by_list(), tmp_path, said)
    client, first = Client(create_app(keeper, ROOMY)), keeper.now.digest
    keeper.look_again()
    assert said == [], "nothing changed"
    keeper.path.write_text('{"kind": "student"')
    keeper.look_again()
    keeper.look_again()
    assert said == [f"the rules stay those of {first}: {keeper.path}: line 1: not valid JSON: Expecting ',' delimiter"]
    health = client.ask("GET", "/healthz").json()
    assert health["status"] == "ok" and health["digest"] == first and "not valid JSON" in health["refused"]
    assert client.decide({"candidates": [candidate(job_age_s=1)]})["digest"] == first
    by_list(none=False).write(keeper.path)
    keeper.look_again()
    assert len(said) == 2 and said[1].startswith(f"read {keeper.path} again: mine, ")
    assert client.ask("GET", "/healthz").json()["refused"] is None
    assert client.decide({"candidates": [candidate()]})["digest"] == keeper.now.digest != first
    assert 'clearsched_reloads_total{result="refused"} 1.0' in client.ask("GET", "/metrics").text


def test_a_file_that_changes_while_it_is_read_is_judged_by_what_it_becomes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    keeper = keeper_of(by_list(), tmp_path, said)

    def overtaken() -> Any:
        by_list(none=False).write(keeper.path)
        raise ClearschedError("half of the old file, half of the new one")

    keeper.path.write_text("{")
    with monkeypatch.context() as patched:
        patched.setattr(keeper, "_read", overtaken)
        keeper.look_again()
    assert said == [] and keeper.refused is None
    keeper.look_again()
    assert len(said) == 1 and "again: mine" in said[0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "student.json: no such file"),
        ({"problem": "deferrable_jobs", "start": 1.0}, "a student of the problem 'deferrable_jobs', not of 'dag_jobs'"),
        ({"stage": {"job_agee_s": 1.0}, "limit": 1.0}, "unknown feature 'job_agee_s'; did you mean job_age_s?"),
        ({"stage": 1.0, "limit": 2.0}, "limit: 2: a share from 0 to 1 expected"),
    ],
)
def test_what_is_not_taken_in_place_of_rules(tmp_path: Path, content: Any, words: str) -> None:
    said: list[str] = []
    keeper = keeper_of(by_list(), tmp_path, said)
    now = keeper.now
    keeper.path.unlink()
    if content is not None:
        keeper.path.write_text(json.dumps({"kind": "formula"} | content))
    keeper.look_again()
    keeper.look_again()
    assert len(said) == 1 and words in said[0] and keeper.now is now


def test_a_network_that_the_loop_does_not_run_is_refused(tmp_path: Path) -> None:
    layer = {"weights": [[1.0]], "bias": [0.0]}
    deep = {"features": ["job_age_s"], "network": [layer, layer, layer]}
    with pytest.raises(ClearschedError, match="in the simulator's loop runs a network of one hidden layer"):
        keeper_of(policy(DAG, {"stage": deep, "limit": LIMIT}), tmp_path)


# The process --------------------------------------------------------------------------------------------------------


def failing(monkeypatch: pytest.MonkeyPatch, capsys: Any, *arguments: str) -> str:
    """The line that the command ends with."""
    before = signal.getsignal(signal.SIGHUP)
    monkeypatch.setattr(sys, "argv", ["clearsched", "serve", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    signal.signal(signal.SIGHUP, before)
    told = capsys.readouterr()
    assert stopped.value.code == 2 and told.out == "" and told.err.count("\n") == 1
    return str(told.err)


def test_what_keeps_it_from_starting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    by_list().write(tmp_path / "good.json")
    good = str(tmp_path / "good.json")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"--port {port}: in use on 127.0.0.1" in failing(monkeypatch, capsys, good, "--port", port)
    assert "none.json: no such file" in failing(monkeypatch, capsys, str(tmp_path / "none.json"), "--port", "0")
    assert "--host 203.0.113.1" in failing(monkeypatch, capsys, good, "--host", "203.0.113.1")
    other = ("--problem", "deferrable_jobs", "--port", "0")
    assert "a student of the problem 'dag_jobs', not of" in failing(monkeypatch, capsys, good, *other)
    assert "good.json" in failing(monkeypatch, capsys, good, "--port", "0", "--decisions", good)
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    assert "serving needs the package fastapi, which is missing: pip install 'clearsched[serve]'" in failing(
        monkeypatch, capsys, good
    )


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.Popen[str], str, Path, list[str]]]:
    """A process that serves the rule list with a guard on a free port, and the lines it has said."""
    path = tmp_path_factory.mktemp("running") / "student.json"
    guarded().write(path)
    code = "from clearsched.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", str(path), "--port", "0", "--every", "0.05"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = [process.stderr.readline(), process.stderr.readline()]
    found = re.search(r"answers at (http://127\.0\.0\.1:\d+)$", said[1].strip())
    assert found, said
    assert said[0].endswith("mine has a guard, asked where a request tells backlog_s\n")
    yield process, found.group(1), path, said
    process.kill()
    process.wait()
    process.stderr.close()


def test_the_process_keeps_its_limits(running: Any) -> None:
    """Over a real connection: a body that is too large is refused before it is sent, and what is no HTTP too."""
    process, url, *_ = running
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 5) as connection:
        connection.sendall(b"POST /decide HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 413")
    with socket.create_connection((host, int(port)), 5) as connection:
        connection.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 400")
    assert httpx.get(f"{url}/healthz").json()["status"] == "ok"
    assert process.poll() is None


def test_it_is_bound_to_this_machine_alone(running: Any) -> None:
    """Other addresses of the machine do not answer."""
    port = int(running[1].rsplit(":", 1)[1])
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port), 2):
        pass


def test_no_request_is_lost_while_rules_change(running: Any) -> None:
    """Four callers without a pause, while the file takes another form a dozen times and the process is asked to reload;
    the answers are those of the rules that they name. Then it ends, and those who wait are answered."""
    process, url, path, _ = running
    texts = {}
    for none in (True, False):
        guarded(none=none).write(path)
        texts[none] = path.read_bytes()
    answers = asyncio.run(asked_meanwhile(process, url, path, list(texts.values())))
    digests = {digest for digest, _ in answers}
    assert len(digests) == 2 and len({*answers}) == 2, "each rules give their own answer"
    process.send_signal(signal.SIGTERM)
    process.wait(10)
    said = process.stderr.read().splitlines()
    told = sum("the rules stay" in line for line in said)
    assert told in (1, 2), f"once by itself, once more if the signal came late: {said}"
    assert sum("again: mine" in line for line in said) >= 3, said


async def asked_meanwhile(process: Any, url: str, path: Path, texts: list[bytes]) -> list[tuple[str, int | None]]:
    """Digest and candidate of every answer."""
    request, found, done = {"candidates": [candidate()]}, [], False

    async def caller(client: Any) -> None:
        while not done:
            answer = await client.post(f"{url}/decide?explain=false", json=request)
            assert answer.status_code == 200, answer.text
            told = answer.json()
            found.append((told["digest"], told["candidate"]))

    async with httpx.AsyncClient() as client:
        callers = [asyncio.create_task(caller(client)) for _ in range(4)]
        for turn in range(12):
            path.with_suffix(".new").write_bytes(texts[turn % 2])
            path.with_suffix(".new").replace(path)
            await asyncio.sleep(0.1)
            if turn == 5:
                path.with_suffix(".new").write_bytes(b"{")
                path.with_suffix(".new").replace(path)
                await asyncio.sleep(0.3)
            if turn % 4 == 0:
                os.kill(process.pid, signal.SIGHUP)
        done = True
        await asyncio.gather(*callers)
    return found
