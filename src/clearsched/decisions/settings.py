"""What a user may choose of the decision log: the section `decisions` of params.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clearsched.section import Section

Count = Annotated[int, Field(ge=1, le=1_000_000)]
Mode = Literal["argmax", "sampled"]


class DecisionsParams(Section):
    """The log of the teacher's decisions."""

    episodes: Count = Field(16, description="training episodes that are logged")
    held_out: Count = Field(8, description="validation episodes that are logged as well, to measure fidelity on")
    mode: Mode = Field("argmax", description="the teacher's choice: its best candidate, or drawn by its probabilities")
