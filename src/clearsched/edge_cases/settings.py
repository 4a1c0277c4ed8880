"""What a user may choose of the edge cases: the section `edge_cases` of params.yaml."""

from __future__ import annotations

from pydantic import Field

from clearsched.section import Section

NORMAL = "normal"
"""The scenario as it is, beside its edge cases."""


class EdgeCasesParams(Section):
    """All policies on episodes they were not made for: `snakemake edge_cases`, not part of the default run."""

    names: tuple[str, ...] = Field(  # those of the problem (params.composing)
        min_length=1, description="edge cases that are run; one that a scenario cannot have is left out"
    )
    episodes: int = Field(32, ge=1, le=100_000, description="test episodes of each edge case")
    dpi: int = Field(150, ge=50, le=1200, description="resolution of the picture (PNG) in dots per inch")
