"""What a user may choose of the interactive page: the section `report` of params.yaml."""

from __future__ import annotations

from pydantic import Field

from clearsched.section import Section


class ReportParams(Section):
    """The interactive page, results/report/index.html."""

    episode: int = Field(0, ge=0, le=999_999, description="test episode whose decisions the page steps through, from 0")
    decisions: int = Field(
        300, ge=0, le=100_000, description="its decisions that are shown, from the start, of each policy; 0: none"
    )
    explained: int = Field(
        300,
        ge=0,
        le=100_000,
        description="of them, along each policy's schedule, those that are accounted for in words, with the smallest "
        "change that flips the answer of each policy that scores: those in which a student and the teacher differ "
        "first; at most 10 where such a change is found by trial only",
    )
