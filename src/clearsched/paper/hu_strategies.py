"""Hu et al., §5: strategies that compete, and a switch between them, where the load changes."""

from __future__ import annotations

from clearsched.figures import style
from clearsched.paper.marks import dots, shown_of
from clearsched.paper.material import HEADER, YARDSTICK, Material, row

SWITCH = "switch"


def draw(material: Material) -> style.Drawing:
    """How far policies are from tuned weighted fair, and the students from the switch between them, both paired."""
    runs, subject = material.runs("changing"), material.subject
    if SWITCH not in runs.kinds:
        raise style.NothingToDraw("no switch was fitted")
    students = [name for name, kind in runs.kinds.items() if kind == "student"]
    names = [name for name in shown_of(runs.kinds, students=len(students)) if name != YARDSTICK]
    to_fair = {name: runs.difference(name, YARDSTICK) for name in names}
    to_switch = {name: runs.difference(name, SWITCH) for name in (*students, "teacher") if name != SWITCH}
    figure = style.new_figure(height_in=1.5 + 0.26 * len(names))
    left, right = figure.subplots(1, 2)
    dots(left, {name: told for name, told in to_fair.items() if name != "fifo"}, runs.kinds, subject, "{:+.1f} %")
    left.set_xlabel(f"mean JCT, to {subject.shown(YARDSTICK).label} (%)")
    dots(right, to_switch, runs.kinds, subject, "{:+.1f} %")
    right.set_xlabel("mean JCT, to the switch (%)")
    for axes in (left, right):
        axes.axvline(0.0, color=style.BLACK, linewidth=0.9)
    rows = [row("mean_jct_s", name, kind, "", runs.mean(name)) for name, kind in runs.kinds.items()]
    rows += [row("difference_percent", name, runs.kinds[name], YARDSTICK, told) for name, told in to_fair.items()]
    rows += [row("difference_percent", name, runs.kinds[name], SWITCH, told) for name, told in to_switch.items()]
    return style.Drawing(figure, HEADER, rows)
