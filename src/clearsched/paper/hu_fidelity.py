"""Hu et al.: how often each student answers as the network, by kind of choice."""

from __future__ import annotations

from clearsched.figures import style
from clearsched.paper.material import HEADER, Material, row
from clearsched.schemas import FIDELITY, read_table

WORDS = {
    ("all", "whole"): "stage, all decisions",
    ("real", "whole"): "stage, real choices",
    ("all", "none"): "none or not",
    ("all", "keep"): "kept local or not",
    ("all", "group"): "which job",
    ("all", "one"): "which stage of it",
}
"""Subsets and parts of the rank choice, as `evaluation.fidelity` names them."""

LEVEL = "how many executors"


def draw(material: Material) -> style.Drawing:
    """A group of marks for each kind of choice, a mark a student: the share that is the teacher's first choice."""
    table, _ = read_table(material.file("stream", "paper/fidelity.parquet"), FIDELITY)
    rank = material.subject.problem.choices[0].name
    found: dict[str, dict[str, tuple[float, int]]] = {}
    for told in table.to_pylist():
        word = WORDS.get((told["decisions_of"], told["part"]))
        if told["choice"] != rank:
            word = LEVEL if (told["decisions_of"], told["part"]) == ("all", "whole") else None
        if word and told["top1"] is not None:
            found.setdefault(word, {})[told["policy"]] = (told["top1"], told["decisions"])
    if not found:
        raise style.NothingToDraw("the log holds no decision of two answers or more")
    order = [word for word in (*WORDS.values(), LEVEL) if word in found]
    students = list(dict.fromkeys(table["policy"].to_pylist()))
    figure = style.new_figure(height_in=1.4 + 0.5 * len(order))
    axes = figure.subplots()
    rows = []
    for place, name in enumerate(students):
        shown = material.subject.shown(name, "student")
        at = [line + 0.14 * (place - (len(students) - 1) / 2) for line in range(len(order))]
        values = [found[word].get(name, (float("nan"), 0))[0] for word in order]
        axes.plot(values, at, linestyle="none", label=shown.label, **style.points(shown, 6))
        rows += [row("top1", name, "student", word, value) for word, value in zip(order, values, strict=True)]
    counts = [max(count for _, count in found[word].values()) for word in order]
    rows += [row("decisions", "", "", word, float(count)) for word, count in zip(order, counts, strict=True)]
    told = [f"{word} ({count:,})" for word, count in zip(order, counts, strict=True)]
    axes.set_yticks(range(len(order)), told)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_xlim(right=1.01)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    axes.set_xlabel("decisions of the held-out log in which the student's first choice is the network's")
    axes.tick_params(axis="y", length=0)
    style.grid(axes, "x")
    figure.legend(loc="outside lower center", ncols=4)
    return style.Drawing(figure, HEADER, rows)
