"""The papers' figures by name, and the table of their claims, from our own runs (docs/paper.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearsched.params import Params


def episodes(
    params: Params,
    experiments: Sequence[str],
    trace: Path,
    tuned: Path,
    teacher: Path,
    students: Sequence[Path],
    out_dir: Path,
    searched: Sequence[Path] = (),
    teacher_seeds: Sequence[Path] = (),
) -> None:
    """Run every policy of a base on the episodes of experiments; write what came of each job to `out_dir`/<experiment>.

    Where an experiment asks for it, all training seeds of its learned policies too.

    Raises:
        ClearschedError: there is no such experiment, it is of another base, or an input is missing or broken.
    """
    from clearsched.paper.running import run_experiment

    for name in experiments:
        run_experiment(params, name, trace, tuned, teacher, students, out_dir / name, searched, teacher_seeds)


def figure(params: Params, name: str, results: Path, out_dir: Path) -> list[Path]:
    """Draw a figure of the papers from what was run.

    Raises:
        ClearschedError: there is no such figure, or what it is made of was not made.
    """
    from clearsched.paper.drawing import draw_figure

    return draw_figure(params, name, results, out_dir)


def fidelity(
    params: Params, trace: Path, workloads: Path, decisions: Path, students: Sequence[Path], out: Path
) -> None:
    """Ask students what the teacher was asked, and write how often they agree (schema FIDELITY).

    Raises:
        ClearschedError: an input is missing or broken.
    """
    from clearsched.paper.asking import ask_students

    ask_students(params, trace, workloads, decisions, students, out)


def optimum(
    params: Params, tuned: Path, teacher: Path, students: Sequence[Path], out: Path, searched: Sequence[Path] = ()
) -> None:
    """Hold the policies of a base against the optimum of small instances (schema OPTIMALITY).

    Without OR-Tools the table is empty, and its metadata say what is missing.

    Raises:
        ClearschedError: an input is missing or broken.
    """
    from clearsched.paper.optima import hold_against_optimum

    hold_against_optimum(params, tuned, teacher, students, out, searched)


def latency(
    params: Params,
    trace: Path,
    workloads: Path,
    tuned: Path,
    teacher: Path,
    students: Sequence[Path],
    out: Path,
) -> None:
    """Time the decisions of network, students and a heuristic, one at a time (schema LATENCY).

    Raises:
        ClearschedError: an input is missing or broken.
    """
    from clearsched.paper.timing import time_decisions

    time_decisions(params, trace, workloads, tuned, teacher, students, out)


def claims(params: Params, figures_dir: Path, out_dir: Path) -> str:
    """Judge each claim of the papers by what the figures' CSVs say; write `claims.md` and `claims.csv`; the table.

    Raises:
        ClearschedError: a figure that a claim is read from was not made.
    """
    from clearsched.paper.judging import judge_all

    return judge_all(params, figures_dir, out_dir)
