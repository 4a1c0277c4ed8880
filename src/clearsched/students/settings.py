"""What a user may choose of each kind of student, and of all: parts of the section `students` of params.yaml."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clearsched.section import Section

Rate = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1)]


class RankingParams(Section):
    """Boosted trees that rank the candidates of a decision."""

    trees: int = Field(50, ge=1, le=1000, description="trees")
    depth: int = Field(3, ge=1, le=3, description="levels of questions in a tree")
    learning_rate: Rate = Field(0.3, description="share of each tree's answer that is added")


class RuleListParams(Section):
    """The rule list."""

    max_rules: int = Field(8, ge=1, le=100, description="rules in the list, at most")
    ties: int = Field(
        2, ge=0, le=10, description="features, at most, by which the best of the candidates of one rule is told"
    )
    rescoring: RankingParams = Field(
        RankingParams(), description="boosted trees whose scores say how good a candidate is next to the best"
    )


class RulesFromNothingParams(Section):
    """The control of the rule list: the same refinement, with no teacher's rules to begin with."""

    max_rules: int = Field(8, ge=1, le=100, description="rules in the list, at most")


class BoostedTreesParams(RankingParams):
    """The boosted trees."""

    monotone: bool = Field(
        False, description="hold the trees to the direction of each feature: for example, less work left is never worse"
    )


class LimitTreeParams(Section):
    """The tree that answers the choice of a level, where the problem has one."""

    leaves: int = Field(8, ge=2, le=256, description="leaves, at most")


class LimitCapsParams(Section):
    """Caps that answer the choice of a level in place of the tree, where they schedule as well."""

    terms: int = Field(3, ge=0, le=8, description="terms, at most; 0: the tree only")


class RefineParams(Section):
    """What schedules better than the distilled student, found in closed loop: other numbers, other rules."""

    rounds: int = Field(
        5,
        ge=0,
        le=20,
        description="searches for better numbers, a change of a rule list's rules before each but the first; 0: none",
    )
    evaluations: int = Field(
        300,
        ge=1,
        le=10_000_000,
        description="variants that a round may try on `episodes`; one that is given up early counts with its part",
    )
    episodes: int = Field(16, ge=1, description="training episodes that each variant of a generation runs")
    population: int = Field(12, ge=4, le=10_000, description="variants of a generation")

    @property
    def restarts(self) -> int:
        """Every search begins with the student as it is."""
        return 1


class PatchParams(Section):
    """What a person lays down on top of the students."""

    when: str = Field(description="comparisons such as `job_age_s > 600 s`, joined by `and`, or `always`")
    do: str | None = Field(None, description="prefer, avoid, keep_local or idle; empty where there is a cap")
    cap: float | None = Field(None, gt=0, le=1, description="share of the most that the level may be")
    because: str = Field("", description="why")
    priority: int = Field(0, description="the higher counts before the lower")


class StudentsParams(Section):
    """The policies that a person can read."""

    names: tuple[str, ...] = Field(  # of the registry; a section each follows (params.composing)
        ("rule_list", "boosted_trees"), min_length=1, description="students to fit"
    )
    dagger_rounds: int = Field(
        1, ge=0, le=20, description="rounds in which students run, the teacher answers, and they are fitted again"
    )
    dagger_episodes: Count = Field(8, description="training episodes of a round")
    limit_tree: LimitTreeParams = LimitTreeParams()
    limit_caps: LimitCapsParams = LimitCapsParams()
    refine: RefineParams = RefineParams()
    patches: tuple[PatchParams, ...] = Field(
        (), description="laid on every student after its fit, docs/patches.md: a list of `when` and `do` or `cap`"
    )
