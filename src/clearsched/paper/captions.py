"""The caption beside a figure (`<figure>.txt`): what it answers, what each of its runs says of itself, scale and seeds.

The claims read from it at which setting our numbers were measured.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from clearsched.errors import ClearschedError
from clearsched.paper.experiments import EXPERIMENTS
from clearsched.paper.kinds import PaperFigure, runs_of
from clearsched.paper.material import setting_in
from clearsched.schemas import provenance

if TYPE_CHECKING:
    from clearsched.paper.material import Material
    from clearsched.params import Params

SMOKE = "Made at the scale smoke, of tiny episodes: a trial of the rules; its numbers say nothing of any policy."

TESTED = (
    "p_holm in the CSV: of the paired test, adjusted by Holm over all that are held against the same policy in the "
    "same experiment. Faint and in brackets, where single comparisons are drawn: by it and the intervals no difference "
    "is shown."
)

SCALE = "Scale "
"""How the line begins that follows those of the runs."""


def caption_of(figure: PaperFigure, material: Material, params: Params) -> str:
    """What it answers, what the paper shows, and our settings and seeds, a line a run."""
    parts = [figure.caption, ""]
    parts += [f"{run}: {setting}." if setting else run for run, setting in settings_of(figure, material).items()]
    parts.append(
        f"{SCALE}{params.paper.scale}, seed {params.seed}; {100 * params.evaluation.confidence:g} % intervals over "
        f"test episodes; thin and pale, where shown: over training seeds and episodes. {_networks(material)}"
    )
    parts.append(TESTED)
    if params.paper.scale == "smoke":
        parts.append(SMOKE)
    return "\n".join(parts) + "\n"


def settings_of(figure: PaperFigure, material: Material) -> dict[str, str]:
    """What each run of a figure says of itself, by its name (`kinds.runs_of`); empty where its file says nothing."""
    told = dict.fromkeys(runs_of(figure, material.scale), "")
    told |= {name: material.runs(name).setting for name in material.experiments}
    for base, file in figure.files:
        if file.endswith(".parquet") and "{seed}" not in file:
            told[f"{base}, {file}"] = setting_in(provenance(pq.read_metadata(material.file(base, file)).metadata))
    return told


def read_settings(path: Path) -> dict[str, str]:
    """What the runs of a figure say of themselves, by name, from its caption.

    Raises:
        ClearschedError: it is not there, or no caption.
    """
    if not path.is_file():
        raise ClearschedError(f"{path}: was not made: draw the figure again, clearsched paper figure {path.stem}")
    lines = path.read_text("utf-8").splitlines()
    end = next((place for place, line in enumerate(lines) if line.startswith(SCALE)), None)
    if end is None:
        raise ClearschedError(f"{path}: no caption of a figure of the papers: draw it again")
    told = (line.partition(": ") for line in lines[2:end])
    return {run: setting.removesuffix(".") for run, _, setting in told}


def _networks(material: Material) -> str:
    """How many training seeds the networks of the figure's bases have."""
    bases = dict.fromkeys([EXPERIMENTS[name].base for name in material.experiments])
    bases |= dict.fromkeys(base for base, _ in material.figure.files)
    told = ", ".join(f"{material.networks.get(base, 1)} ({base})" for base in bases)
    return f"Training seeds of the networks: {told}."
