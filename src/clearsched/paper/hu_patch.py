"""Hu et al.: the rules before and after a patch of a person, and what it does on two loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clearsched.figures import style
from clearsched.paper.experiments import EXPERIMENTS
from clearsched.paper.marks import dots
from clearsched.paper.material import HEADER, YARDSTICK, Material, row
from clearsched.paper.running import PATCHED, with_patches
from clearsched.scorers.policy import load_policy
from clearsched.scorers.text import render

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STUDENT = "rule_list"
TEACHER = "teacher"
LINES = 34
"""Of the rules, that are shown; all of them stand in the student's own text."""


def draw(material: Material) -> style.Drawing:
    """The rules, and the patch below them; beside them a panel a load: the student without and with it, the network."""
    experiments = material.experiments
    rules, patch = rules_of(material.file("stream", f"students/{STUDENT}.json"), material)
    figure = style.new_figure(height_in=max(2.6, 1.1 + 0.1 * (len(rules) + len(patch))))
    grid = figure.add_gridspec(len(experiments), 2, width_ratios=[1.5, 1.0])
    text = figure.add_subplot(grid[:, 0])
    text.set_axis_off()
    _write(text, rules, 1.0, style.BLACK)
    _write(text, patch, 0.0, style.VERMILION)
    first, rows = None, []
    for place, experiment in enumerate(experiments):
        runs = material.runs(experiment)
        first = axes = figure.add_subplot(grid[place, 1], sharex=first)
        names = (STUDENT, STUDENT + PATCHED)
        looks = {
            name: material.subject.shown(STUDENT, "student")._replace(label=label)
            for name, label in zip(names, ("without", "with"), strict=True)
        } | {TEACHER: material.subject.shown(TEACHER)}
        told = {name: runs.difference(name, YARDSTICK, (*names, TEACHER)) for name in (*names, TEACHER)}
        subject = style.Subject(material.subject.problem, looks)
        dots(axes, told, runs.kinds, subject, "{:+.1f} %")
        axes.axvline(0.0, color=style.BLACK, linewidth=0.9)
        axes.set_title(EXPERIMENTS[experiment].label, loc="left")
        rows += [row("mean_jct_s", name, runs.kinds[name], experiment, runs.mean(name)) for name in told]
        rows += [row("difference_percent", name, runs.kinds[name], experiment, told[name]) for name in told]
        to_network = {name: runs.difference(name, TEACHER, names) for name in names}
        rows += [row("to_network_percent", name, "student", experiment, to_network[name]) for name in names]
        change = runs.difference(names[1], names[0], names[1:])
        rows.append(row("patch_percent", names[1], "student", experiment, change))
    assert first is not None
    first.set_xlabel(f"mean JCT, to {material.subject.shown(YARDSTICK).label} (%)")
    return style.Drawing(figure, HEADER, rows)


def rules_of(path: Path, material: Material) -> tuple[list[str], list[str]]:
    """The lines of the rules and those of the patch, as the patched student prints itself, without its features."""
    policy = load_policy(path, material.subject.problem)
    patches = EXPERIMENTS[material.experiments[0]].patches
    text = render(with_patches(policy, patches))  # type: ignore[arg-type]
    told, _, patched = text.partition("What the features are")[0].partition("Patches, ")
    rules = told.rstrip().splitlines()[3:]  # without its title
    if len(rules) > LINES:
        rules = [*rules[:LINES], f"... {len(rules) - LINES} lines more"]
    return rules, f"Patches, {patched}".rstrip().splitlines()


def _write(axes: Axes, lines: list[str], place: float, colour: str) -> None:
    """Lines of text from the top of the axes (1), or to their bottom (0)."""
    axes.text(
        0.0,
        place,
        style.plain("\n".join(lines)),
        family="DejaVu Sans Mono",
        fontsize=5.4,
        color=colour,
        va="top" if place else "bottom",
        transform=axes.transAxes,
        parse_math=False,
    )
