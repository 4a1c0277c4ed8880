"""What a user may choose of each kind of student, and of all: parts of the section `students` of params.yaml."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clearsched.section import Section

Rate = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1)]


class RuleListParams(Section):
    """The rule list."""

    max_rules: int = Field(8, ge=1, le=100, description="rules in the list, at most")
    polish_rounds: int = Field(
        1, ge=0, le=20, description="passes that try small changes of the list on training episodes; 0: as distilled"
    )


class BoostedTreesParams(Section):
    """The boosted trees."""

    trees: int = Field(50, ge=1, le=1000, description="trees")
    depth: int = Field(3, ge=1, le=3, description="levels of questions in a tree")
    learning_rate: Rate = Field(0.3, description="share of each tree's answer that is added")
    monotone: bool = Field(
        False, description="hold the trees to the direction of each feature: for example, less work left is never worse"
    )


class LimitTreeParams(Section):
    """The tree of the level choice: how many executors a job may hold."""

    leaves: int = Field(8, ge=2, le=256, description="leaves, at most")


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
