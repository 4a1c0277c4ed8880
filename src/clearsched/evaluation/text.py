"""The comparison as a table of fixed width, for the terminal and for `comparison.txt`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.evaluation.effects_text import effect_lines
from clearsched.evaluation.fidelity_text import fidelity_lines
from clearsched.evaluation.policies import label
from clearsched.evaluation.seed_pairs import pair_lines
from clearsched.evaluation.seeds import Summary
from clearsched.evaluation.statistics import Bootstrap
from clearsched.evaluation.students import student_lines
from clearsched.evaluation.verdicts import Verdict
from clearsched.evaluation.worst import seed_stray_lines, stray_lines, worst_lines
from clearsched.layout import decimals, layout, with_unit
from clearsched.problems.declarations import Measure
from clearsched.problems.problem import Problem

Row = dict[str, Any]


def render(
    problem: Problem,
    comparison: pa.Table,
    found: Sequence[Verdict],
    fidelity: pa.Table,
    setting: str,
    bootstrap: Bootstrap,
    seeds: Sequence[Summary] = (),
    students: pa.Table | None = None,
    controls: Sequence[str] = (),
    guards: Sequence[str] = (),
    pairs: pa.Table | None = None,
    ran: str = "",
    unsafe: Sequence[str] = (),
) -> str:
    """The whole text: what was run, the table, what it says in sentences, training seeds, other measures, fidelity.

    Args:
        problem: what was scheduled.
        comparison: of schema COMPARISON, the rows of the objective first.
        found: told in sentences.
        fidelity: of schema FIDELITY.
        setting: what the episodes are (`Instance.describe`).
        bootstrap: how intervals were drawn.
        seeds: what the training seeds of each learned policy say together.
        students: of schema STUDENTS.
        controls: what the teacher added, in sentences.
        guards: what the guards of policies did, in sentences.
        pairs: of schema SEED_PAIRS.
        ran: how many episodes it took, where a width of intervals was asked for.
        unsafe: who is not safe by its own check, in sentences.
    """
    rows = comparison.to_pylist()
    objective = next(measure for measure in problem.measures if measure.name == rows[0]["measure"])
    of_objective = [row for row in rows if row["measure"] == objective.name]
    lines = [
        f"{_sentence(objective.label)} ({objective.short}) over {setting}; {_better(objective)}.",
        f"CI: {100 * bootstrap.confidence:g} % bootstrap interval over episodes. "
        f"Difference: same episodes, paired, to {label(problem, rows[0]['reference'])},",
        "the strongest heuristic on the validation episodes.",
        *_bound_lines(objective, of_objective[0]),
        *([ran] if ran else []),
        "",
        "Over episodes: each policy as it is",
        "",
        *_comparison_lines(problem, of_objective, objective),
        "",
        *effect_lines(problem, of_objective, bootstrap.confidence),
        "",
        *worst_lines(problem, rows, objective),
        "",
        *(f"* {item}" for item in found if item.policy != item.reference),
        *controls,
        *unsafe,
        *stray_lines(problem, of_objective),
        *seed_stray_lines(problem, of_objective, seeds),
        *guards,
        *_seed_lines(problem, seeds, rows[0]["reference"], float(_mean_of_reference(of_objective)), objective),
        *(pair_lines(problem, pairs, objective) if pairs is not None else ()),
        *_other_measures(problem, rows, objective),
    ]
    if students is not None and len(students):
        lines += ["", *student_lines(problem, students.to_pylist(), objective)]
    if len(fidelity):
        lines += ["", *fidelity_lines(problem, fidelity.to_pylist())]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _better(measure: Measure) -> str:
    return f"{'lower' if measure.lower_is_better else 'higher'} is better"


def _bound_lines(measure: Measure, row: Row) -> list[str]:
    """What no policy's mean can be better than, where that is proved."""
    if row["bound"] is None:
        return []
    told = with_unit_of(f"{row['bound']:.{decimals(abs(row['bound']))}f}", measure.unit)
    side = "below" if measure.lower_is_better else "above"
    return [
        f"Bound: no policy's mean can be {side} {told} on these episodes, whatever it knows (docs/evaluation.md);",
        f"bound (%): how far {'above' if measure.lower_is_better else 'below'} it the mean is.",
    ]


def with_unit_of(number: str, unit: str) -> str:
    """A number with its unit, if it has one: "9.91 s"."""
    return f"{number} {unit}" if unit else number


def _comparison_lines(problem: Problem, rows: list[Row], objective: Measure) -> list[str]:
    ends = with_unit("CI", objective.unit)
    difference = with_unit("difference", objective.unit)
    header = ["policy", "kind", "settings", "choice", with_unit(objective.short, objective.unit), ends]
    places = decimals(max(abs(row["mean"]) for row in rows))
    any_sampled = any(row["mode"] != "argmax" for row in rows)
    body = []
    for row in rows:
        is_reference = row["policy"] == row["reference"]
        mean = [f"{row['mean']:.{places}f}", _ends(row["ci_low"], row["ci_high"], f"{{:.{places}f}}")]
        told = ["reference", "", ""] if is_reference else _difference_cells(row, max(places, 2))
        away = "" if row["from_bound_percent"] is None else f"{row['from_bound_percent']:.1f}"
        mode = row["mode"] if any_sampled else ""
        body.append([label(problem, row["policy"]), row["kind"], row["settings"], mode, *mean, *told, away])
    return layout([*header, difference, ends, "(%)", "bound (%)"], body, left=4)


def _difference_cells(row: Row, places: int) -> list[str]:
    form = f"{{:+.{places}f}}"
    percent = row["difference_percent"]
    ends = _ends(row["difference_low"], row["difference_high"], form)
    return [form.format(row["difference"]), ends, "-" if percent is None else f"{percent:+.1f}"]


def _mean_of_reference(rows: list[Row]) -> float:
    return next((row["mean"] for row in rows if row["policy"] == row["reference"]), float("nan"))


def _seed_lines(
    problem: Problem, seeds: Sequence[Summary], reference: str, base: float, objective: Measure
) -> Iterator[str]:
    """A table of the policies that come with several training seeds, and who does not; nothing without any policy."""
    if not seeds:
        return
    yield ""
    several = [summary for summary in seeds if summary.seeds > 1]
    single = [label(problem, summary.name) for summary in seeds if summary.seeds == 1]
    if several:
        unit, factor = ("%", 100.0 / abs(base)) if base else (objective.unit, 1.0)
        places = decimals(max(abs(summary.mean) for summary in several))
        header = ["policy", "seeds", with_unit(f"mean {objective.short}", objective.unit), "lowest to highest seed"]
        header += [with_unit("deviation", objective.unit), with_unit("difference", unit), with_unit("CI", unit)]
        plain = label(problem, problem.baseline)
        header += [with_unit("worst", objective.unit), f"x {plain}"]
        body = []
        for summary in several:
            told = summary.difference.scaled(factor)
            spread = f"{summary.lowest:.{places}f} to {summary.highest:.{places}f}"
            cells = [label(problem, summary.name), str(summary.seeds), f"{summary.mean:.{places}f}", spread]
            ends = _ends(told.low, told.high, "{:+.1f}" if unit == "%" else f"{{:+.{places}f}}")
            mean = f"{told.mean:+.1f}" if unit == "%" else f"{told.mean:+.{places}f}"
            most = "" if summary.most is None else f"{summary.most:.2f}"
            worst = f"{summary.worst:.{places}f}"
            body.append([*cells, f"{summary.deviation:.{places + 1}f}", mean, ends, worst, most])
        yield "Over training seeds and episodes: each policy as training makes it"
        yield ""
        yield f"Means over the seeds of a policy. CI: of the difference to {label(problem, reference)}, over seeds and"
        yield "episodes: both are drawn anew. Worst: with any seed on any episode."
        yield f"x {plain}: the most next to {plain}, with any seed on any episode."
        yield ""
        yield from layout(header, body, left=1)
    if single:
        yield from [""] if several else []
        yield f"One training seed, spread not measured: {', '.join(single)}."


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
        bound = of[0]["bound"] if measure is not objective else None
        limit = "" if bound is None else f"; bound {bound:.{places}f}"
        yield from ("", f"{with_unit(_sentence(measure.label), measure.unit)}; {_better(measure)}{limit}", "")
        yield from layout(header, body, left=1)


def _ends(low: float, high: float, form: str) -> str:
    return f"{form.format(low)} to {form.format(high)}" if np.isfinite(low + high) else "-"
