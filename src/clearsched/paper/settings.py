"""What a user may choose of the papers' figures: the section `paper` of params.yaml."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clearsched.section import Section


class PaperParams(Section):
    """The papers' figures and claims: `snakemake paper`, not part of the default run."""

    scale: Literal["smoke", "paper"] = Field(
        "smoke",
        description="smoke: tiny episodes of the embedded jobs, minutes, its numbers say nothing of any policy; paper: "
        "the published settings, a night on 2 cores",
    )
    episodes: int | None = Field(
        None, ge=2, le=100_000, description="test episodes of each setting, at most; empty: as many as the scale has"
    )
    training_seeds: int | None = Field(
        None,
        ge=1,
        le=100,
        description="trainings of each network and fits of each student that intervals over training seeds cover; "
        "empty: 1 at the scale smoke, 3 at the scale paper; with 1 the networks of batches and streams are those that "
        "come with the package",
    )
    profiles: str | None = Field(
        None,
        min_length=1,
        description="folder of the job profiles published with Decima, for the scale paper; empty: they are downloaded",
    )
