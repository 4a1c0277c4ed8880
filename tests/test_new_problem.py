"""docs/new-problem.md: the problem that the page builds keeps the seam's promises and runs through all stages."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import conformance.test_conformance as conformance
from clearsched import decisions, evaluation, heuristics, search, students, teacher
from clearsched.params import parse
from clearsched.problems import PROBLEMS, find_problem
from conformance.cases import CASES, Case

PAGE = (Path(__file__).parents[1] / "docs" / "new-problem.md").read_text("utf-8")
SMALL = {
    "workload": {"jobs": 8, "episodes": {"train": 3, "validation": 2, "test": 3}},
    "search": {"evaluations": 8, "restarts": 1, "episodes": 2, "population": 4},
    "teacher": {
        "network": {"embedding": 4, "hidden": 8},
        "clone": {"episodes": 2, "epochs": 1},
        "improve": {"iterations": 1, "sequences": 2, "rollouts": 2, "validate_every": 1},
    },
    "decisions": {"episodes": 3, "held_out": 2},
    "students": {
        "names": ["rule_list", "boosted_trees", "integer_score"],
        "dagger_episodes": 2,
        "boosted_trees": {"trees": 4},
    },
    "evaluation": {"bootstrap": 200},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The page's code blocks as the files that their first lines name, registered for this module."""
    root = tmp_path_factory.mktemp("page")
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        name = block.split("\n", 1)[0].removeprefix("# ").strip()
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(block)
    (root / "one_machine" / "__init__.py").write_text("")
    sys.path.insert(0, str(root))
    PROBLEMS["one_machine"] = "one_machine.problem:PROBLEM"
    CASES["one_machine"] = Case({"workload": SMALL["workload"]}, toy, 6.0, {})
    yield root
    del PROBLEMS["one_machine"], CASES["one_machine"]
    sys.path.remove(str(root))


def toy() -> tuple[Any, Any]:
    """A job of 6 min and weight 1 before one of 2 min and weight 2, both there from the start.

    The short one first: it ends at 2, the other at 8; (2 x 2 + 1 x 8) / 2 = 6.
    """
    from one_machine.simulator import Episode

    return find_problem("one_machine").instance(), Episode(np.zeros(2), np.array([6.0, 2.0]), np.array([1.0, 2.0]), 0)


def test_the_page_keeps_the_promises_of_the_seam(folder: Path, tmp_path: Path) -> None:
    problem = find_problem("one_machine")
    files = conformance.drawn(problem, tmp_path)
    instance = problem.open(*files)
    for check in (
        conformance.test_it_asks_one_rank_choice_and_at_most_one_level_choice_after_it,
        conformance.test_features_have_names_units_meanings_and_formulas,
        conformance.test_measures_have_names_and_labels,
        conformance.test_what_is_registered_is_there,
        conformance.test_heuristics_beat_nothing_at_all_where_the_optimum_is_known,
    ):
        check(problem)
    (tmp_path / "again").mkdir()
    conformance.test_episodes_repeat_by_seed(problem, files, tmp_path / "again")
    for check in (
        conformance.test_splits_hold_what_was_asked_for,
        conformance.test_an_outcome_tells_all_measures,
        conformance.test_every_heuristic_ends_every_episode_and_answers_alike_in_lockstep,
        conformance.test_a_policy_that_does_nothing_wherever_it_may_ends_every_episode,
        conformance.test_features_are_finite_and_observations_fit,
        conformance.test_what_is_lost_from_the_start_is_the_objective,
        conformance.test_less_is_lost_from_later_on_and_with_a_short_horizon,
    ):
        check(problem, instance)
    for idle in (0.0, 0.95):
        conformance.test_whatever_is_answered_every_episode_ends(instance, idle)
    conformance.test_recorded_decisions_replay_to_the_same_outcome(instance)
    conformance.test_none_is_refused_where_it_is_not_allowed(instance)
    conformance.test_patches_hold_in_its_loop(problem, instance)
    for none in (False, True):
        conformance.test_the_best_candidate_is_taken_and_none_has_the_score_0(problem, instance, none)
        conformance.test_its_network_scores_candidates_none_and_levels(problem, instance, none)


def test_the_page_runs_through_all_stages(folder: Path, tmp_path: Path) -> None:
    """From its trace to the comparison, by the functions that the commands call."""
    params = parse({"problem": "one_machine", **SMALL}, "test")
    problem = find_problem("one_machine")
    trace, workloads, tuned = (tmp_path / name for name in ("trace.parquet", "workloads.parquet", "tuned.json"))
    log, network = tmp_path / "decisions.parquet", tmp_path / "teacher.safetensors"
    problem.build(params, trace)
    problem.draw(params, trace, workloads)
    heuristics.tune(params, trace, workloads, tmp_path / "tuning.parquet", tuned)
    for family in params.search.families:
        search.run(params, family, trace, workloads, tuned, tmp_path / "search")
    found = [tmp_path / "search" / f"{family}.json" for family in params.search.families]
    teacher.train(params, trace, workloads, tuned, found, tmp_path)
    decisions.log(params, trace, workloads, tuned, network, log)
    for kind in params.students.names:
        students.fit(params, kind, trace, workloads, tuned, network, log, tmp_path)
    fitted = [tmp_path / f"{kind}.json" for kind in params.students.names]
    evaluation.run(params, trace, workloads, tuned, network, fitted, log, tmp_path / "evaluation", found)
    told = evaluation.show(tmp_path / "evaluation")
    for name in (
        "FIFO",
        "Smith's rule",
        "tuned ageing",
        "searched weights",
        "searched network",
        "teacher",
        "rule list",
        "boosted trees",
        "integer score",
    ):
        assert name in told
    metrics = json.loads((tmp_path / "evaluation" / "metrics.json").read_text())
    assert metrics["wspt"]["cost"] < metrics["fifo"]["cost"]
