"""One figure of the papers: drawn, with its data and its caption."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clearsched.errors import ClearschedError
from clearsched.evaluation.statistics import Bootstrap
from clearsched.figures import style, subject
from clearsched.files import write_text
from clearsched.paper.bases import PROBLEM, SCALES, network_seeds
from clearsched.paper.captions import caption_of
from clearsched.paper.kinds import PAPER_FIGURES
from clearsched.paper.material import Material
from clearsched.params import defaults, load_stage, parse
from clearsched.params import load as load_params
from clearsched.params.scenarios import merge
from clearsched.problems import find_problem
from clearsched.registry import load

if TYPE_CHECKING:
    from clearsched.params import Params


def params_for(path: Path | None, scale: str | None) -> Params:
    """The params of a drawing: those of a base as the workflow wrote them, or params.yaml, or defaults without.

    Raises:
        ClearschedError: the file is missing or broken, or there is no such scale.
    """
    if scale is not None and scale not in SCALES:
        raise ClearschedError(f"unknown scale {scale!r}: known are {', '.join(SCALES)}")
    own = Path("params.yaml")
    if path is not None and path.suffix == ".json":
        params = load_stage(path, "paper")
    elif path is not None or own.is_file():
        params = load_params(path or own)
    else:
        params = defaults(PROBLEM)
    if scale is None or scale == params.paper.scale:
        return params
    values = {"problem": PROBLEM, "paper": merge(params.paper.model_dump(mode="json"), {"scale": scale})}
    return params.model_copy(update={"paper": parse(values, "paper", whole=False).paper})


def draw_figure(params: Params, name: str, results: Path, out_dir: Path) -> list[Path]:
    """Write `<name>.svg`, `.png`, `.csv` and the caption `.txt` to `out_dir`; the four paths.

    Raises:
        ClearschedError: there is no such figure, or a file that it is made of is missing; the line says what makes it.
    """
    figure = PAPER_FIGURES[name]
    bootstrap = Bootstrap(params.seed, params.evaluation.confidence, params.evaluation.bootstrap)
    shown = subject(find_problem(PROBLEM))
    material = Material(Path(results), figure, params.paper.scale, shown, bootstrap, network_seeds(params))
    written = style.draw_or_say(
        figure.label, lambda: load(figure.draws)(material), Path(out_dir) / name, params.figures.dpi
    )
    text = written[0].with_suffix(".txt")
    write_text(text, caption_of(figure, material, params))
    return [*written, text]
