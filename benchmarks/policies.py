"""What a policy costs inside the simulator's loop: the feature matrix, and the scores of trees, rules and formulae.

    python benchmarks/policies.py [--profiles DIR_OR_TRACE] [--cpu-seconds S] [--json]

Settings (a) and (b), fair heuristic. First decisions per CPU second of whole episodes, without and with
the feature matrix filled at every decision, and of episodes that a rule list and a cap decide, from features to answer;
then, on the matrices of the fair ones, evaluations per CPU second of an ensemble of 50 trees of depth 3, of a
rule list and of a formula; for comparison of the trees walked node by node, and of the list asked row by row. CPU
seconds of one thread; compilation is not counted.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from numba import njit
from numba.typed import List
from settings import SETTINGS, TIMED, Row, Setting, command, print_by_setting

from clearsched.compiled.features import new_rows
from clearsched.compiled.formulae import pack_formula
from clearsched.compiled.scoring import Packed
from clearsched.compiled.steps import add_steps
from clearsched.compiled.trees import BLOCK, LEAF, add_walk, pack
from clearsched.problems.dag_jobs.features import FEATURE_NAMES, NUM_FEATURES
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.candidates import survey
from clearsched.problems.dag_jobs.simulator.engine import advance, commit
from clearsched.problems.dag_jobs.simulator.loop import choose, new_scratch, write_scores
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.rows import describe_candidates, fill_features
from clearsched.problems.dag_jobs.simulator.simulate import start
from clearsched.scorers.conditions import Condition, Rule
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.rules import RuleList
from clearsched.scorers.steps import Step, StepList

RULES = (
    {"stage_rank": 1, "job_executors": 2},
    {"job_work_to_smallest": 1.004, "job_sqrt_load": 0.92, "stage_rank": 1},
    {"job_age_s": 4.8, "job_work_rank": 3, "job_sqrt_load": 0.98},
    {"job_work_rank": 4, "job_sqrt_load": 0.98},
    {"job_sqrt_load": 0.97, "stage_rank": 1},
    {"job_sqrt_load": 1.1},
    {},
)
"""A rule list, first match: each feature below its bound; the last rule holds for all."""

CAP = {"times": 2.0, "job_share_40": 1.0}
"""Twice its share of the executors is what a job may hold at most."""

WEIGHTS = {"job_work_left_s": -1.0, "job_is_source": 100.0, "stage_is_ready": 10.0, "stage_levels_below": 1.0}


@njit(cache=True, _nrt=False)
def run(state: Any, policy: Any, scratch: Any, fill: bool) -> tuple[int, int]:
    """An episode; the number of its decisions, and of their candidates if the matrix is filled."""
    decisions = candidates = 0
    while advance(state):
        survey(state)
        if fill:
            found, _ = describe_candidates(state, scratch.rows, scratch.stages, scratch.numbers, policy.read)
            candidates += found
        stage, requested = choose(state, policy, scratch)
        commit(state, stage, requested)
        decisions += 1
    return decisions, candidates


def timed(profiles: Profiles, setting: Setting, index: int, policy: Any, fill: bool = False) -> np.ndarray:
    """float64[3]: decisions, their candidates (`run`) and CPU s of an episode; all 0 of -1, which compiles."""
    state = start(profiles, setting.episode(profiles.trace.num_profiles, 0, max(index, 0)))
    scratch = new_scratch(state)
    begin = time.process_time()
    decisions, candidates = run(state, policy, scratch, fill)
    return (index >= 0) * np.array([decisions, candidates, time.process_time() - begin])


def loop_rates(profiles: Profiles, setting: Setting, cpu_seconds: float) -> dict[str, float]:
    """Decisions per CPU second of whole episodes, without and with the feature matrix; what a matrix takes."""
    policy = heuristic("fair").compiled
    plain, filled = np.zeros(3), np.zeros(3)
    for index in range(-1, 10**9):
        plain += timed(profiles, setting, index, policy)
        filled += timed(profiles, setting, index, policy, fill=True)
        if plain[2] + filled[2] > 2 * cpu_seconds:
            break
    decisions, candidates, spent = filled.tolist()
    return {
        "candidates_per_decision": candidates / decisions,
        "decisions_per_cpu_second": decisions / float(plain[2]),
        "decisions_with_matrix_per_cpu_second": decisions / spent,
        "matrix_us": 1e6 * (spent - float(plain[2])) / decisions,
    }


def as_list() -> RuleList:
    """`RULES`."""
    at = {name: place for place, name in enumerate(FEATURE_NAMES)}
    rules = [
        Rule(tuple(Condition(at[name], True, bound) for name, bound in rule.items()), float(len(RULES) - place))
        for place, rule in enumerate(RULES)
    ]
    return RuleList(tuple(rules), FEATURE_NAMES)


def rules_rate(profiles: Profiles, setting: Setting, cpu_seconds: float) -> dict[str, float]:
    """Decisions per CPU second of whole episodes that a rule list and a cap decide."""
    stage, limit = PROBLEM.choices
    cap = StepList((Step((), below=(CAP,)),), names_of(limit))
    policy = ScoredPolicy("benchmark", PROBLEM, {stage.name: as_list(), limit.name: cap})
    found = np.zeros(3)
    for index in range(-1, 10**9):
        found += timed(profiles, setting, index, policy.compiled)
        if found[2] > cpu_seconds:
            break
    return {"decisions_by_rules_per_cpu_second": float(found[0] / found[2])}


def matrices(profiles: Profiles, setting: Setting) -> list[np.ndarray]:
    """The feature matrices of the decisions of one episode, float32[candidates, F]."""
    state = start(profiles, setting.episode(profiles.trace.num_profiles, 0, 0))
    policy, found = heuristic("fair"), []
    scratch = new_scratch(state)
    while advance(state):
        if survey(state):
            found.append(scratch.rows[: fill_features(state, scratch.rows, scratch.stages)].copy())
        commit(state, *choose(state, policy.compiled, scratch))
    return found


def fit_like(rng: np.random.Generator, rows: np.ndarray, depth: int) -> dict[str, list]:
    """A tree of `depth` levels whose thresholds are values that occur, so that rows go either way."""
    inner = 2**depth - 1
    feature = rng.integers(NUM_FEATURES, size=inner)
    threshold = rows[rng.integers(len(rows), size=inner), feature]
    pad = [0] * (inner + 1)
    return {
        "feature": [*feature.tolist(), *[LEAF] * (inner + 1)],
        "threshold": [*threshold.tolist(), *pad],
        "left": [*(2 * q + 1 for q in range(inner)), *pad],
        "right": [*(2 * q + 2 for q in range(inner)), *pad],
        "value": [*[0.0] * inner, *rng.normal(size=inner + 1).tolist()],
    }


@njit(cache=True)
def evaluate(scorer: Any, matrices: Any, counts: np.ndarray, values: np.ndarray, repeats: int) -> float:
    """Score every decision `repeats` times, as the loop does."""
    total = 0.0
    for _ in range(repeats):
        for d in range(len(counts)):
            write_scores(scorer, matrices[d], counts[d], values)
            total += values[0]
    return total


@njit(cache=True)
def evaluate_walking(scorer: Any, matrices: Any, counts: np.ndarray, values: np.ndarray, repeats: int) -> float:
    """The same by walking each tree node by node."""
    t, total = scorer.trees, 0.0
    for _ in range(repeats):
        for d in range(len(counts)):
            values[: counts[d]] = 0.0
            rows = matrices[d]
            add_walk(t.root, t.feature, t.threshold, t.left, t.right, t.value, rows, counts[d], values)
            total += values[0]
    return total


@njit(cache=True)
def evaluate_row_by_row(scorer: Any, matrices: Any, counts: np.ndarray, values: np.ndarray, repeats: int) -> float:
    """The same of a rule list, the first rule that fits each row in turn."""
    total = 0.0
    for _ in range(repeats):
        for d in range(len(counts)):
            values[: counts[d]] = 0.0
            add_steps(scorer.steps, matrices[d], counts[d], values, len(scorer.steps.of))
            total += values[0]
    return total


def score_rates(profiles: Profiles, setting: Setting, cpu_seconds: float) -> dict[str, float]:
    """Decisions per CPU second whose candidates are scored."""
    found = matrices(profiles, setting)
    counts = np.array([len(part) for part in found])
    laid_out = List()
    for part in found:
        rows = new_rows(len(part), NUM_FEATURES)
        rows[:] = 0
        rows[: len(part)] = part
        laid_out.append(rows)
    rng = np.random.default_rng(0)
    seen = np.concatenate(found)
    trees = pack([fit_like(rng, seen, 3) for _ in range(50)], NUM_FEATURES, "benchmark")
    listed = as_list().pack(FEATURE_NAMES)
    values = np.zeros(counts.max() + BLOCK)

    def rate(run: Any, scorer: Packed) -> float:
        run(scorer, laid_out, counts, values, 1)
        decisions, begin = 0, time.process_time()
        while decisions == 0 or time.process_time() - begin < cpu_seconds:
            run(scorer, laid_out, counts, values, 20)
            decisions += 20 * len(found)
        return decisions / (time.process_time() - begin)

    answer: dict[str, float] = {"scored_candidates_per_decision": float(counts.mean())}
    answer["trees_50x3_per_cpu_second"] = rate(evaluate, Packed(trees=trees))
    answer["trees_50x3_walked_per_cpu_second"] = rate(evaluate_walking, Packed(trees=trees))
    answer["trees_50x3_ratio"] = answer["trees_50x3_per_cpu_second"] / answer["trees_50x3_walked_per_cpu_second"]
    answer["rule_list_per_cpu_second"] = rate(evaluate, listed)
    answer["rule_list_row_by_row_per_cpu_second"] = rate(evaluate_row_by_row, listed)
    answer["rule_list_ratio"] = answer["rule_list_per_cpu_second"] / answer["rule_list_row_by_row_per_cpu_second"]
    answer["formula_per_cpu_second"] = rate(evaluate, Packed(pack_formula(WEIGHTS, FEATURE_NAMES, "benchmark")))
    return answer


def measure(profiles: Profiles, cpu_seconds: float) -> dict[str, dict[str, float]]:
    """What is measured, by quantity and setting."""
    answer: dict[str, dict[str, float]] = {}
    for name in TIMED:
        setting = SETTINGS[name]
        found = loop_rates(profiles, setting, cpu_seconds) | rules_rate(profiles, setting, cpu_seconds)
        found |= score_rates(profiles, setting, cpu_seconds)
        for what, value in found.items():
            answer.setdefault(what, {})[name] = value
    return answer


def rows(profiles: Profiles, cpu_seconds: float) -> list[Row]:
    """Lines of the table (table.py)."""
    found = measure(profiles, cpu_seconds)
    shown = {
        "decisions_with_matrix_per_cpu_second": ("decisions, feature matrix filled", "per CPU s"),
        "matrix_us": ("feature matrix", "CPU us a decision"),
        "decisions_by_rules_per_cpu_second": ("decisions, by a rule list from features to answer", "per CPU s"),
        "trees_50x3_per_cpu_second": ("decisions scored by 50 trees of depth 3", "per CPU s"),
        "rule_list_per_cpu_second": ("decisions scored by a rule list", "per CPU s"),
        "formula_per_cpu_second": ("decisions scored by a formula", "per CPU s"),
    }
    return [Row(what, unit, *(found[key][name] for name in TIMED)) for key, (what, unit) in shown.items()]


def main(arguments: argparse.Namespace, profiles: Profiles) -> None:
    answer = measure(profiles, arguments.cpu_seconds)
    if arguments.json:
        print(json.dumps(answer))
        return
    print_by_setting(answer)


if __name__ == "__main__":
    command(__doc__, main, json={"action": "store_true", "help": "print JSON"})
