"""What a user may choose of where jobs come from: the section `traces` of params.yaml."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, model_validator

from clearsched.section import Section


def check_path(source: str, path: str | None, needed: frozenset[str]) -> None:
    """Refuse a source that has no place of its own and is given none.

    Raises:
        ValueError: it is one.
    """
    if path is None and source in needed:
        raise ValueError(f"source {source} needs a path: give that of its files")


class MixPart(Section):
    """One source of a mix."""

    needs_path: ClassVar[frozenset[str]] = frozenset()  # sources without a place of their own (sections.py)

    source: str = Field(description="data set")  # one of the registry (sections.py)
    path: str | None = Field(None, description="file or folder of the data set; empty: the source's own place")
    weight: float = Field(1.0, gt=0, le=1e9, description="share of the jobs, relative to the other sources")
    name: str | None = Field(None, min_length=1, max_length=64, description="its name in the mix; empty: the source's")

    @model_validator(mode="after")
    def _found(self) -> MixPart:
        check_path(self.source, self.path, self.needs_path)
        return self


class TracesParams(Section):
    """Which job profiles are scheduled."""

    needs_path: ClassVar[frozenset[str]] = frozenset()  # as for a mix

    source: str = Field(description="data set")  # one of the registry, or mix; a section each follows (sections.py)
    path: str | None = Field(None, description="file or folder of the data set; empty: the source's own place")
    seed: int = Field(1, ge=0, lt=2**32, description="seed of what a source draws at random: samples, generated jobs")
    mix: tuple[MixPart, ...] = Field((), description="sources of a mix, used if `source` is mix, with their weights")

    @model_validator(mode="after")
    def _mixed(self) -> TracesParams:
        if (self.source == "mix") != bool(self.mix):
            raise ValueError("mix lists the sources of a mix: give some if source is mix, and none if it is not")
        check_path(self.source, self.path, self.needs_path)
        return self
