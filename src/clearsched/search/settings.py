"""What a user may choose of the search: the section `search` of params.yaml."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clearsched.scorers.settings import GuardParams
from clearsched.section import Section


class SearchParams(Section):
    """Policies of a few numbers, found by trying them in the simulator."""

    families: tuple[str, ...] = Field(  # of the registry (params.composing)
        min_length=1, description="forms of policy whose numbers are searched for"
    )
    evaluations: int = Field(
        1000,
        ge=1,
        le=10_000_000,
        description="candidates that each family may try on `episodes`, over all restarts; one that is given up "
        "early counts with its part",
    )
    restarts: int = Field(5, ge=1, le=100, description="searches from other starts, with other training seeds")
    episodes: int = Field(
        8,
        ge=1,
        le=1_000_000,
        description="training episodes that each candidate of a generation runs, or all there are; the next generation "
        "takes the next ones; a long one counts as several short ones",
    )
    population: int = Field(16, ge=4, le=10_000, description="candidates of a generation")
    source: Literal["search", "shipped"] = Field(
        "search", description="search: the numbers are searched for; shipped: policies that come with the package"
    )
    shipped: str | None = Field(
        None, min_length=1, max_length=64, description="scenario whose shipped policies are taken; empty: the run's own"
    )
    guard: GuardParams = GuardParams()
