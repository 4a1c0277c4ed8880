"""The kinds of student by name: each a module with `learn`, a registry line and a section of settings."""

from __future__ import annotations

from typing import NamedTuple

from clearsched.registry import Look, Registry
from clearsched.section import Section
from clearsched.students.settings import BoostedTreesParams, RuleListParams, RulesFromNothingParams, SwitchParams


class StudentKind(NamedTuple):
    """A kind of readable policy, fitted by a job of its own."""

    name: str
    label: str
    look: Look
    module: str  # with `learn(task: students.task.Task) -> ScoredPolicy`
    settings: type[Section]  # the model of its section of `students` in params
    summary: str
    imitates: bool = True  # whether it learns from decisions, so that those of its own rollouts are worth asking for


STUDENTS = Registry(
    "student",
    (
        StudentKind(
            "rule_list",
            "rule list",
            Look("#009E73", "s"),
            "clearsched.students.rule_list",
            RuleListParams,
            "rules read from the top: the first that fits gives a candidate its score",
        ),
        StudentKind(
            "boosted_trees",
            "boosted trees",
            Look("#E69F00", "s"),
            "clearsched.students.boosted_trees",
            BoostedTreesParams,
            "shallow trees whose sum ranks the candidates",
        ),
        StudentKind(
            "rules_from_nothing",
            "rules from nothing",
            Look("#009E73", "v"),
            "clearsched.students.rules_from_nothing",
            RulesFromNothingParams,
            "the control of the rule list: its refinement without a teacher's rules to begin with",
            imitates=False,
        ),
        StudentKind(
            "switch",
            "switch",
            Look("#009E73", "D"),
            "clearsched.students.switch",
            SwitchParams,
            "two of the other students, and a condition on the load that says which of them schedules now",
            imitates=False,
        ),
    ),
)
