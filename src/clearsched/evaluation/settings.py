"""What a user may choose of the comparison: the section `evaluation` of params.yaml."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clearsched.section import Section

Mode = Literal["argmax", "sampled"]


class EvaluationParams(Section):
    """The comparison on the test episodes."""

    policies: tuple[str, ...] = Field(  # the problem's heuristics, the teacher, the students (params.composing)
        min_length=1,
        description="policies compared; a student that students.names does not fit is left out; the best heuristic "
        "and the problem's baseline are compared in any case",
    )
    mode: Mode = Field("argmax", description="the teacher's choice: its best candidate, or drawn by its probabilities")
    bootstrap: int = Field(10_000, ge=100, le=10_000_000, description="bootstrap samples of an interval")
    confidence: float = Field(0.95, gt=0.5, lt=1, description="level of the confidence intervals")
    width: float | None = Field(
        None,
        gt=0,
        le=100,
        description="run test episodes, in their order, until the paired interval of every learned policy to the "
        "reference is at most so wide, in % of the reference's mean; empty: run all of workload.episodes.test",
    )
    part_costs: bool = Field(
        False,
        description="also run the teacher with a student's answers to one part of the decisions at a time, to see what "
        "they cost; some seconds a part and student",
    )
