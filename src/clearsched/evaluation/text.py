"""The comparison as a table of fixed width, for the terminal and for `comparison.txt`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.evaluation.comparison import Bootstrap, Verdict
from clearsched.evaluation.fidelity import kept_name
from clearsched.evaluation.policies import label
from clearsched.problems.problem import Measure, Problem

Row = dict[str, Any]


def render(
    problem: Problem,
    comparison: pa.Table,
    found: Sequence[Verdict],
    fidelity: pa.Table,
    setting: str,
    bootstrap: Bootstrap,
) -> str:
    """The whole text: what was run, the table, what it says in sentences, other measures, fidelity of the students.

    Args:
        problem: what was scheduled.
        comparison: of schema COMPARISON, the rows of the objective first.
        found: told in sentences.
        fidelity: of schema FIDELITY.
        setting: what the episodes are (`Instance.describe`).
        bootstrap: how intervals were drawn.
    """
    rows = comparison.to_pylist()
    objective = next(measure for measure in problem.measures if measure.name == rows[0]["measure"])
    of_objective = [row for row in rows if row["measure"] == objective.name]
    lines = [
        f"{_sentence(objective.label)} ({objective.short}) over {setting}; {_better(objective)}.",
        f"CI: {100 * bootstrap.confidence:g} % bootstrap interval over episodes. "
        f"Difference: same episodes, paired, to {label(problem, rows[0]['reference'])},",
        "the strongest heuristic on the validation episodes.",
        "",
        *_comparison_lines(problem, of_objective, objective),
        "",
        *(f"* {item}" for item in found if item.policy != item.reference),
        *_other_measures(problem, rows, objective),
    ]
    if len(fidelity):
        lines += ["", *_fidelity_lines(problem, fidelity.to_pylist())]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _better(measure: Measure) -> str:
    return f"{'lower' if measure.lower_is_better else 'higher'} is better"


def with_unit(text: str, unit: str) -> str:
    """The text with the unit behind it, if there is one: "JCT (s)"."""
    return f"{text} ({unit})" if unit else text


def decimals(largest: float) -> int:
    """Three or four digits that matter, the same number of decimals in the whole column."""
    if largest >= 100:
        return 1
    if largest >= 1 or largest == 0:
        return 2
    return min(2 - int(np.floor(np.log10(largest))), 9)


def _comparison_lines(problem: Problem, rows: list[Row], objective: Measure) -> list[str]:
    ends = with_unit("CI", objective.unit)
    difference = with_unit("difference", objective.unit)
    header = ["policy", "kind", "settings", "choice", with_unit(objective.short, objective.unit), ends]
    places = decimals(max(abs(row["mean"]) for row in rows))
    body = []
    for row in rows:
        is_reference = row["policy"] == row["reference"]
        mean = [f"{row['mean']:.{places}f}", _ends(row["ci_low"], row["ci_high"], f"{{:.{places}f}}")]
        told = ["reference", "", ""] if is_reference else _difference_cells(row, max(places, 2))
        body.append([label(problem, row["policy"]), row["kind"], row["settings"], row["mode"], *mean, *told])
    return layout([*header, difference, ends, "(%)"], body, left=4)


def _difference_cells(row: Row, places: int) -> list[str]:
    form = f"{{:+.{places}f}}"
    percent = row["difference_percent"]
    ends = _ends(row["difference_low"], row["difference_high"], form)
    return [form.format(row["difference"]), ends, "-" if percent is None else f"{percent:+.1f}"]


def _other_measures(problem: Problem, rows: list[Row], objective: Measure) -> Iterator[str]:
    """A table a further measure, after one with the worst episode of the objective; nothing without such a measure."""
    others = [measure for measure in problem.measures if measure.compared and measure != objective]
    if not others:
        return
    yield from ("", "Other measures")
    for measure in (objective, *others):
        of = [row for row in rows if row["measure"] == measure.name]
        places = decimals(max(abs(row[name]) for row in of for name in ("mean", "worst")))
        header = ["policy", "worst episode"]
        body = [[label(problem, row["policy"]), f"{row['worst']:.{places}f}"] for row in of]
        if measure is not objective:
            header[1:1] = [measure.short, "CI"]
            for cells, row in zip(body, of, strict=True):
                ends = _ends(row["ci_low"], row["ci_high"], f"{{:.{places}f}}")
                cells[1:1] = [f"{row['mean']:.{places}f}", ends]
        yield from ("", f"{with_unit(_sentence(measure.label), measure.unit)}; {_better(measure)}", "")
        yield from layout(header, body, left=1)


def _fidelity_lines(problem: Problem, rows: list[Row]) -> list[str]:
    """Columns of what the problem has no word for are left out."""
    rank = problem.choices[0]
    level = next((choice for choice in problem.choices if choice.form == "level"), None)
    header = ["student", "choice", "decisions of", "decisions", "first choice"]
    header.append(f"same {rank.group}" if rank.group else "")
    header.append(with_unit(f"{level.name} error", level.unit) if level else "")
    body = []
    for row in rows:
        shares = ["-" if row[name] is None else f"{100 * row[name]:.1f} %" for name in ("top1", "same_group")]
        error = "-" if row["level_error"] is None else f"{row['level_error']:.2f}"
        cells = [label(problem, row["policy"]), row["choice"], row["decisions_of"].replace("_", " ")]
        cells += [f"{row['decisions']:,}", shares[0], shares[1] if rank.group else "", error if level else ""]
        body.append(cells)
    subsets = {row["decisions_of"] for row in rows}
    words = [rank.kept] if kept_name(rank) in subsets and rank.kept else []
    words += [f"none: {rank.none}"] if "none" in subsets else []
    return [
        "Fidelity to the teacher on its logged held-out decisions with two candidates or more"
        + (f" ({'; '.join(words)}):" if words else ":"),
        "",
        *layout(header, body, left=3),
    ]


def _ends(low: float, high: float, form: str) -> str:
    return f"{form.format(low)} to {form.format(high)}" if np.isfinite(low + high) else "-"


def layout(header: Sequence[str], body: Sequence[Sequence[str]], left: int) -> list[str]:
    """Columns padded to their widest cell, the first `left` of them left-aligned, with a rule below the header.

    A column without any entry is left out.
    """
    keep = [column for column in range(len(header)) if any(row[column] for row in body)]
    widths = {column: max(len(row[column]) for row in [header, *body]) for column in keep}

    def line(row: Sequence[str]) -> str:
        cells = [f"{row[c]:<{widths[c]}}" if c < left else f"{row[c]:>{widths[c]}}" for c in keep]
        return "  ".join(cells).rstrip()

    return [line(header), "  ".join("-" * widths[c] for c in keep), *(line(row) for row in body)]
