"""The figures of a run on the page: each as the smaller of its SVG and PNG, with its caption."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape
from pathlib import Path

from clearsched.errors import ClearschedError
from clearsched.figures.kinds import COMPARED, caption, figures_of
from clearsched.problems.declarations import Figure
from clearsched.problems.problem import Problem
from clearsched.report.markup import from_rst, tag, void

TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


def pictures_section(folder: Path, problem: Problem) -> str:
    """The figures that a scenario has, in the order in which they are told; `folder`: of its pictures."""
    return _pictures(folder, figures_of(problem).values())


def compared_section(folder: Path) -> str:
    """The figures that several scenarios have together; empty without any."""
    return _pictures(folder, COMPARED.values())


def _pictures(folder: Path, figures: Iterable[Figure]) -> str:
    drawn = []
    for figure in figures:
        files = [folder / f"{figure.name}{suffix}" for suffix in TYPES]
        files = [file for file in files if file.is_file()]
        if files:
            drawn.append(_picture(figure, min(files, key=lambda file: file.stat().st_size)))
    return tag("div", *drawn, _class="figures") if drawn else ""


def _picture(figure: Figure, file: Path) -> str:
    try:
        content = base64.b64encode(file.read_bytes()).decode("ascii")
    except OSError as error:
        raise ClearschedError(f"{file}: {error.strerror}") from None
    source = f"data:{TYPES[file.suffix]};base64,{content}"
    about = tag("figcaption", tag("h4", escape(figure.label)), from_rst(caption(figure).read_text("utf-8")))
    image = void("img", src=source, alt=f"{figure.label}: told in the caption", loading="lazy")
    return tag("figure", tag("div", image, _class="paper"), about)
