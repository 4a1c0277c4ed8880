"""The comparison on the page: a row a policy, with what the evaluation says of it in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from clearsched.evaluation import TABLE
from clearsched.evaluation.significance import direction_of
from clearsched.figures.style import Subject
from clearsched.layout import decimals, with_unit
from clearsched.problems.declarations import Measure
from clearsched.report.markup import NOTHING, Cell, dot, table, tag, void
from clearsched.schemas import COMPARISON, STUDENTS, read_table

Row = dict[str, Any]

EMPTY = Cell(NOTHING)

PLOT = 120
"""Width of the small plot of a difference, CSS pixels."""


def comparison_section(folder: Path, subject: Subject, objective: Measure, setting: str) -> str:
    """The table of all policies and its sentences.

    Args:
        folder: of the scenario.
        subject: how policies are shown.
        objective: what they are compared by.
        setting: what the test episodes are.

    Raises:
        ClearschedError: a table is missing or broken.
    """
    compared, about = read_table(folder / "evaluation" / "comparison.parquet", COMPARISON)
    students = read_table(folder / "evaluation" / "students.parquet", STUDENTS)[0].to_pylist()
    text = (folder / "evaluation" / TABLE).read_text("utf-8", errors="replace")
    rows = compared.to_pylist()
    own = [row for row in rows if row["measure"] == objective.name]
    further = [name for name in dict.fromkeys(row["measure"] for row in rows) if name != objective.name]
    others = {(row["measure"], row["policy"]): row for row in rows}
    labels = {measure.name: measure for measure in subject.problem.measures}
    reading = {row["policy"]: row for row in students}
    base = next((row for row in own if row["policy"] == row["reference"]), own[0])
    factor, unit = (100.0 / abs(base["mean"]), "%") if base["mean"] else (1.0, objective.unit)
    reach = _reach(own, factor)
    confidence = float(about["confidence"])
    level = f"{100 * confidence:g} %"
    header = [
        ("Policy", ""),
        ("Kind", ""),
        (with_unit(objective.short, objective.unit), f"{objective.label}, with its {level} interval over episodes"),
        (with_unit("Difference", unit), f"paired, to {_label(subject, base)}; the bar is its {level} interval"),
        (
            "Shown",
            "by the paired test, adjusted by Holm, and every interval, over training seeds too where there are some",
        ),
        (with_unit("Worst", objective.unit), "the worst test episode"),
        (f"Next to {subject.shown(subject.problem.baseline).label}", "the most on any one episode, as a multiple"),
        ("From bound (%)", "how far the mean is from what no policy can be better than"),
        *((with_unit(_short(labels, name), others[name, base["policy"]]["unit"]), "mean") for name in further),
        ("To read", "conditions and numbers that a person must read"),
        ("As the teacher", "share of the real choices in which the first choice is the teacher's"),
    ]
    body = []
    for row in own:
        cells = [
            Cell(_named(subject, row), _label(subject, row).lower()),
            Cell(escape(row["kind"]), row["kind"]),
            _mean(row, own),
            _difference(row, factor, reach),
            _shown(row, objective, confidence),
            _number(row["worst"], decimals(abs(row["worst"]))),
            _number(row["worst_to_baseline"], 2),
            _number(row["from_bound_percent"], 1),
            *(_number(others[name, row["policy"]]["mean"], 2) for name in further),
            _number(reading.get(row["policy"], {}).get("complexity"), 0),
            _share(reading.get(row["policy"], {}).get("top1")),
        ]
        body.append(cells)
    filled = [any(cells[place].sort is not None for cells in body) for place in range(len(header))]
    kept = [place for place, some in enumerate(filled) if some]
    caption = f"{objective.label[:1].upper()}{objective.label[1:]} of every policy over {setting}"
    attributes = [{"data_kind": row["kind"], "data_name": _label(subject, row).lower()} for row in own]
    drawn = table(caption, [header[p] for p in kept], [[cells[p] for p in kept] for cells in body], attributes)
    return "".join(
        [
            tag("p", _meaning(own, subject, objective, setting, confidence), _class="lead"),
            _filters(own),
            drawn,
            tag("p", "", _class="count", aria_live="polite"),
            _verdicts(text),
            tag(
                "details",
                tag("summary", "The evaluation's own text, with all tables"),
                tag("pre", escape(text), tabindex=0),
            ),
        ]
    )


def _meaning(rows: Sequence[Row], subject: Subject, objective: Measure, setting: str, confidence: float) -> str:
    """What the table says, in sentences; as careful as the evaluation's own."""
    best, base = rows[0], next((row for row in rows if row["policy"] == row["reference"]), rows[0])
    unit = f" {objective.unit}" if objective.unit else ""
    places = decimals(max(abs(row["mean"]) for row in rows))
    side = "lower" if objective.lower_is_better else "higher"
    told = (
        f"Over {escape(setting)}, {tag('strong', escape(_label(subject, best)))} has the best "
        f"{escape(objective.label)}, {best['mean']:.{places}f}{escape(unit)} ({side} is better)"
    )
    if best is not base:
        says = {
            "better": "better, as its test and intervals show",
            "worse": "worse, as its test and intervals show",
            "not shown": "a difference that is not shown",
        }[_outcome(best, objective, confidence)]
        percent = best["difference_percent"]
        by = f", {abs(percent):.1f} % {'below' if percent < 0 else 'above'}" if percent is not None else ", next to"
        told += f"{by} {escape(_label(subject, base))}, the strongest heuristic on the validation episodes: {says}"
    return (
        f"{told}. All policies meet the same episodes, so it is the paired difference that tells two of them apart, "
        "not whether their own intervals overlap. Trained anew, a policy is another one: where it comes with several "
        "training seeds, what is shown holds over these too."
    )


def _filters(rows: Sequence[Row]) -> str:
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    boxes = [tag("label", void("input", type="checkbox", checked="", value=kind), f" {escape(kind)}") for kind in kinds]
    search = tag("label", "Part of a policy's name ", void("input", type="search", autocomplete="off"))
    group = tag("fieldset", tag("legend", "Kinds"), *boxes)
    return tag("form", search, group, _class="filters", role="search", aria_label="Filter the comparison")


def _verdicts(text: str) -> str:
    """The sentences of the evaluation: its lines that begin with a star."""
    told = [line[2:] for line in text.splitlines() if line.startswith("* ")]
    if not told:
        return ""
    return tag("h4", "In words") + tag("ul", *(tag("li", escape(line)) for line in told), _class="verdicts")


def _label(subject: Subject, row: Row) -> str:
    return subject.shown(row["policy"], row["kind"]).label


def _short(labels: Mapping[str, Measure], name: str) -> str:
    short = labels[name].short if name in labels else name.replace("_", " ")
    return short[:1].upper() + short[1:]


def _named(subject: Subject, row: Row) -> str:
    shown = subject.shown(row["policy"], row["kind"])
    settings = tag("small", escape(row["settings"])) if row["settings"] else ""
    return f"{dot(row['kind'], shown.look.colour)}{escape(shown.label)}{settings}"


def _mean(row: Row, rows: Sequence[Row]) -> Cell:
    places = decimals(max(abs(each["mean"]) for each in rows))
    ends = f"{row['ci_low']:.{places}f} to {row['ci_high']:.{places}f}" if row["ci_low"] == row["ci_low"] else ""
    return Cell(f"{row['mean']:.{places}f}{tag('small', ends)}", row["mean"], True)


def _outcome(row: Row, objective: Measure, confidence: float) -> str:
    """As the evaluation's sentences have it: by the paired test and all intervals, over training seeds too."""
    side = direction_of(row, confidence)
    if not side:
        return "not shown"
    return "better" if (side < 0) == objective.lower_is_better else "worse"


def _shown(row: Row, objective: Measure, confidence: float) -> Cell:
    if row["policy"] == row["reference"]:
        return Cell("reference", "reference")
    outcome = _outcome(row, objective, confidence)
    return Cell(tag("span", outcome, _class=f"outcome {outcome.replace(' ', '-')}"), outcome)


def _reach(rows: Sequence[Row], factor: float) -> float:
    """The end of the scale of the small plots: half of the intervals lie within it; the others end in an arrow."""
    ends = sorted(factor * max(abs(row["difference_low"]), abs(row["difference_high"]), 0.0) for row in rows)
    finite = [end for end in ends if end == end and end > 0] or [1.0]
    return min(finite[-1], 1.25 * finite[(len(finite) - 1) // 2])


def _difference(row: Row, factor: float, reach: float) -> Cell:
    if row["policy"] == row["reference"]:
        return Cell('<span class="none">0</span>', 0.0, True)
    mean, low, high = (factor * row[name] for name in ("difference", "difference_low", "difference_high"))
    plot = _plot(mean, low, high, reach) if low == low else ""
    ends = f"{low:+.1f} to {high:+.1f}" if low == low else "one episode"
    return Cell(f"{plot}<span>{mean:+.1f}{tag('small', ends)}</span>", mean, True)


def _plot(mean: float, low: float, high: float, reach: float) -> str:
    """An interval on a scale around 0, for the eye alone: the numbers stand beside it."""

    def at(value: float) -> float:
        return round(PLOT / 2 * (1 + min(max(value / reach, -1.0), 1.0)), 1)

    beyond, middle = abs(mean) > reach, at(mean)
    tip = 5 if mean > 0 else -5
    mark = (
        f'<path d="M{middle - 2 * tip:g} 3L{middle:g} 8L{middle - 2 * tip:g} 13z"/>'
        if beyond
        else f'<circle cx="{middle:g}" cy="8" r="3.5"/>'
    )
    return (
        f'<svg class="interval" width="{PLOT}" height="16" viewBox="0 0 {PLOT} 16" aria-hidden="true">'
        f'<line class="zero" x1="{PLOT / 2:g}" x2="{PLOT / 2:g}" y1="0" y2="16"/>'
        f'<line x1="{at(low):g}" x2="{at(high):g}" y1="8" y2="8"/>{mark}</svg>'
    )


def _number(value: float | None, places: int) -> Cell:
    return EMPTY if value is None or value != value else Cell(f"{value:,.{places}f}", float(value), True)


def _share(value: float | None) -> Cell:
    return EMPTY if value is None else Cell(f"{100 * value:.0f} %", float(value), True)
