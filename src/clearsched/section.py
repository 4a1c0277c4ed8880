"""What all sections of params.yaml have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A section: immutable, no unknown keys, no silent conversion (the text "3" is not the number 3)."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
