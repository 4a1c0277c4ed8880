"""Hu et al. and Metis: what a student costs, and how faithful it is, by how much of it there is."""

from __future__ import annotations

import numpy as np

from clearsched.figures import style
from clearsched.figures.marks import spread
from clearsched.paper.marks import strength
from clearsched.paper.material import HEADER, Levels, Material, row
from clearsched.schemas import STUDENTS_PARETO, read_table

FILE = "students_pareto/students_pareto.parquet"


def draw_rules(material: Material) -> style.Drawing:
    """Rule lists of several sizes."""
    return _draw(material, "rule_list", "rules, at most")


def draw_leaves(material: Material) -> style.Drawing:
    """Pruned trees of several sizes."""
    return _draw(material, "pruned_tree", "leaves, at most")


def _draw(material: Material, kind: str, axis: str) -> style.Drawing:
    """Two panels by size: the paired difference to the teacher, and the share of real choices that are its own.

    Both of students as refined: what refinement makes of one imitates nobody, so the share need not grow with the size.
    """
    table, _ = read_table(material.file("batch", FILE), STUDENTS_PARETO)
    told = sorted((each for each in table.to_pylist() if each["kind"] == kind), key=lambda each: each["size"])
    if not told:
        raise style.NothingToDraw(f"no {kind} was fitted in several sizes")
    shown = material.subject.shown(kind, "student")
    figure = style.new_figure(height_in=3.2)
    left, right = figure.subplots(1, 2)
    rows = []
    for each in told:
        percent, low, high = (each[f"difference_{end}"] for end in ("percent", "low", "high"))
        tests = {"p": each["p"], "p_holm": each["p_holm"], "confidence": material.bootstrap.confidence}
        cost = Levels(percent, low, high, np.nan, 0, **tests)
        look = style.points(shown) | strength(cost)
        left.errorbar([each["size"]], [cost.mean], yerr=spread(cost.mean, cost.low, cost.high), capsize=2.5, **look)
        rows.append(row("difference_percent", kind, "student", each["size"], cost))
        if each["top1"] is not None:
            right.plot([each["size"]], [each["top1"]], **style.points(shown))
            rows.append(row("top1_real", kind, "student", each["size"], each["top1"]))
        rows.append(row("complexity", kind, "student", each["size"], float(each["complexity"])))
    left.axhline(0.0, color=style.BLACK, linewidth=0.9)
    left.set_ylabel("mean JCT, to the network (%)")
    right.set_ylabel("real choices as the network (refined)")
    right.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel(axis)
        style.grid(axes, "both")
    figure.suptitle(f"{shown.label}: one fit each, intervals over episodes", x=0.01, ha="left", fontsize=9)
    return style.Drawing(figure, HEADER, rows)
