"""What a user may choose of a guard: the sections `guard` of search, teacher and students in params.yaml."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clearsched.section import Section

LARGEST = 1e6
"""No parameter of a heuristic is larger, nor its negative."""


class GuardParams(Section):
    """Who takes over from a policy when more has piled up than it ever saw in training; nobody by default."""

    heuristic: str | None = Field(  # of the problem (params.composing)
        None, description="heuristic that takes over, as tuned; empty: none does"
    )
    settings: dict[str, Annotated[float, Field(ge=-LARGEST, le=LARGEST)]] = Field(
        {}, description="parameters of that heuristic, by name, for example {p: 0.3}; those not named are as tuned"
    )
    gauges: tuple[str, ...] = Field(
        (), description="gauges of the problem that are watched; empty: all but those that must be named"
    )
    margin: float = Field(
        1.5, ge=1, le=1000, description="how many times the most that the policy's own training episodes came to"
    )
    clear: float = Field(
        0.5, gt=0, le=1, description="share of the bound below which the policy schedules again, for every gauge"
    )
    only_if_unsafe: bool = Field(
        False, description="whether only a policy that the safety check refuses without a guard is given one"
    )
