"""What a user may choose of the pictures: the section `figures` of params.yaml."""

from __future__ import annotations

from pydantic import Field

from clearsched.section import Section

DEFAULT_DPI = 150
"""Resolution of PNG files, dots an inch, where nothing else is asked for."""


class FiguresParams(Section):
    """The pictures (SVG and PNG)."""

    dpi: int = Field(DEFAULT_DPI, ge=50, le=1200, description="resolution of PNG files in dots per inch")
