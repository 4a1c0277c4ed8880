"""Grids of the heuristics: the settings that are tried on the validation episodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, model_validator

from clearsched.section import Section

Exponent = Annotated[float, Field(ge=-4, le=4)]
Factor = Annotated[float, Field(gt=0, le=100)]


class WeightedFairParams(Section):
    """Grid of weighted fair's exponent: a job's share goes with its work to the power of alpha."""

    alpha_min: Exponent = Field(-2.0, description="smallest alpha tried")
    alpha_max: Exponent = Field(2.0, description="largest alpha tried")
    alpha_step: float = Field(0.1, ge=0.001, le=4, description="step from one alpha to the next")

    @model_validator(mode="after")
    def _ordered(self) -> WeightedFairParams:
        if self.alpha_min > self.alpha_max:
            raise ValueError("alpha_min must not be above alpha_max")
        return self

    def grid(self) -> Iterator[dict[str, float]]:
        """The settings to try, in order."""
        steps = round((self.alpha_max - self.alpha_min) / self.alpha_step)
        return ({"alpha": round(self.alpha_min + i * self.alpha_step, 6)} for i in range(steps + 1))


class CappedSrptParams(Section):
    """Grid of the two settings of capped SRPT and of local SRPT."""

    p: tuple[Exponent, ...] = Field(
        (0.2, 0.3, 0.4, 0.5, 0.6, 0.8),
        min_length=1,
        description="exponents tried: a job's cap goes with its remaining work to the power of p",
    )
    m: tuple[Factor, ...] = Field(
        (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0),
        min_length=1,
        description="factors tried: the caps of all jobs together are m times the executors",
    )

    def grid(self) -> Iterator[dict[str, float]]:
        """The settings to try, in order."""
        return ({"p": p, "m": m} for p in self.p for m in self.m)


class HeuristicsParams(Section):
    """Settings that are tried on the validation episodes; the best of each heuristic is kept."""  # sections.py
