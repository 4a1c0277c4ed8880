"""The kinds of student by name: each a module with `learn`, a registry line and a section of settings."""

from __future__ import annotations

from typing import NamedTuple

from clearsched.registry import Look, Registry
from clearsched.section import Section
from clearsched.students.settings import (
    BoostedRulesParams,
    BoostedTreesParams,
    FairLimitParams,
    FigsParams,
    GreedyRulesParams,
    IntegerScoreParams,
    PairwiseForestParams,
    PrunedTreeParams,
    RuleListParams,
    RulesFromNothingParams,
    ShrunkTreeParams,
    SkopeRulesParams,
    StudentsParams,
    SwitchParams,
)


class StudentKind(NamedTuple):
    """A kind of readable policy, fitted by a job of its own."""

    name: str
    label: str
    look: Look
    module: str  # with `learn(task: students.task.Task) -> ScoredPolicy`
    settings: type[Section]  # the model of its section of `students` in params
    summary: str
    size: str = ""  # the setting that says how much of it there is to read; empty for a kind without one
    imitates: bool = True  # whether it learns from decisions, so that those of its own rollouts are worth asking for
    control_of: str = ""  # the kind whose refinement it repeats without a teacher
    given_level: bool = False  # whether its level is what it is called by, and no refinement gives it another one


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
            size="max_rules",
        ),
        StudentKind(
            "boosted_trees",
            "boosted trees",
            Look("#E69F00", "s"),
            "clearsched.students.boosted_trees",
            BoostedTreesParams,
            "shallow trees whose sum ranks the candidates",
            size="trees",
        ),
        StudentKind(
            "rules_from_nothing",
            "rules from nothing",
            Look("#009E73", "v"),
            "clearsched.students.rules_from_nothing",
            RulesFromNothingParams,
            "the control of the rule list: its refinement without a teacher's rules to begin with",
            size="max_rules",
            imitates=False,
            control_of="rule_list",
        ),
        StudentKind(
            "switch",
            "switch",
            Look("#0072B2", "X"),
            "clearsched.students.switch",
            SwitchParams,
            "two or more of the other students, and conditions on the load that say which of them schedules now",
            imitates=False,
        ),
        StudentKind(
            "pruned_tree",
            "pruned tree",
            Look("#0072B2", "p"),
            "clearsched.students.pruned_tree",
            PrunedTreeParams,
            "one tree, pruned to a few leaves, the best first",
            size="leaves",
        ),
        StudentKind(
            "figs",
            "FIGS",
            Look("#D55E00", "p"),
            "clearsched.students.figs",
            FigsParams,
            "the sum of a few small trees that grow together",
            size="rules",
        ),
        StudentKind(
            "shrunk_tree",
            "shrunk tree",
            Look("#009E73", "h"),
            "clearsched.students.shrunk_tree",
            ShrunkTreeParams,
            "one small tree whose leaves lean on those around them",
            size="leaves",
        ),
        StudentKind(
            "greedy_rules",
            "greedy rules",
            Look("#E69F00", "h"),
            "clearsched.students.greedy_rules",
            GreedyRulesParams,
            "a list of single conditions, each the one that tells most of what is left",
            size="max_rules",
        ),
        StudentKind(
            "boosted_rules",
            "boosted rules",
            Look("#56B4E9", "<"),
            "clearsched.students.boosted_rules",
            BoostedRulesParams,
            "rules of a condition or two that add or take away points",
            size="rules",
        ),
        StudentKind(
            "skope_rules",
            "skope rules",
            Look("#7A4B12", "<"),
            "clearsched.students.skope_rules",
            SkopeRulesParams,
            "the most precise rules of many small trees, one after another",
            size="max_rules",
        ),
        StudentKind(
            "integer_score",
            "integer score",
            Look("#CC79A7", ">"),
            "clearsched.students.integer_score",
            IntegerScoreParams,
            "conditions that give a few whole points each: the most points win",
            size="conditions",
        ),
        StudentKind(
            "pairwise_forest",
            "pairwise forest",
            Look("#56B4E9", "*"),
            "clearsched.students.pairwise_forest",
            PairwiseForestParams,
            "a forest that compares two candidates at a time: the one that wins most is chosen",
            size="trees",
        ),
        StudentKind(
            "fair_limit",
            "tree and fair",
            Look("#000000", ">"),
            "clearsched.students.fair_limit",
            FairLimitParams,
            "a pruned tree chooses, and the level is an equal share, which is not learned",
            size="leaves",
            given_level=True,
        ),
    ),
)


def fitted(common: StudentsParams) -> tuple[str, ...]:
    """The kinds that a run fits: those of `names`, and their controls if they are asked for."""
    asked = common.control and common.refine.rounds > 0
    controls = (kind.name for kind in STUDENTS.values() if asked and kind.control_of in common.names)
    return tuple(dict.fromkeys((*common.names, *controls)))


def settings_of(common: StudentsParams, name: str) -> Section:
    """The section of a kind; a control has the budgets of the kind that it stands beside, if that is fitted.

    `common`: with the sections of the kinds.
    """
    own: Section = getattr(common, name)
    other = STUDENTS[name].control_of
    if other not in fitted(common):
        return own
    controlled = getattr(common, other)
    return own.model_copy(update={budget: getattr(controlled, budget) for budget in type(own).model_fields})
