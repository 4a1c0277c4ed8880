"""What a user may choose of where jobs come from: the section `traces` of params.yaml."""

from __future__ import annotations

from pydantic import Field, model_validator

from clearsched.section import Section


class MixPart(Section):
    """One source of a mix."""

    source: str = Field(description="data set")  # one of the registry (sections.py)
    path: str | None = Field(None, description="file or folder of the data set; empty: the source's own place")
    weight: float = Field(1.0, gt=0, le=1e9, description="share of the jobs, relative to the other sources")
    name: str | None = Field(None, min_length=1, max_length=64, description="its name in the mix; empty: the source's")


class TracesParams(Section):
    """Which job profiles are scheduled."""

    source: str = Field(description="data set")  # one of the registry, or mix; a section each follows (sections.py)
    path: str | None = Field(None, description="file or folder of the data set; empty: the source's own place")
    seed: int = Field(1, ge=0, lt=2**32, description="seed of what a source draws at random: samples, generated jobs")
    mix: tuple[MixPart, ...] = Field((), description="sources of a mix, used if `source` is mix, with their weights")

    @model_validator(mode="after")
    def _mixed(self) -> TracesParams:
        if (self.source == "mix") != bool(self.mix):
            raise ValueError("mix lists the sources of a mix: give some if source is mix, and none if it is not")
        return self
