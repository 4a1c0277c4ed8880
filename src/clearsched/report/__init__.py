"""The interactive page of a run's results: comparison, figures, rules, and decisions to step through.

`collect` asks the policies of a scenario, once, what they do in one test episode; `build` makes the page of what it
wrote and of the other results. Neither trains, tunes or chooses anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearsched.params import Params

__all__ = ["build", "collect"]


def collect(
    params: Params,
    trace: Path,
    workloads: Path,
    tuned: Path,
    teacher: Path,
    students: Sequence[Path],
    decisions: Path,
    out: Path,
    searched: Sequence[Path] = (),
) -> None:
    """Write what the page tells of a scenario beyond its result files: rules with their worth, one episode's decisions.

    Args:
        params: settings of the stage.
        trace, workloads: the data.
        tuned: parameters by heuristic.
        teacher: the network.
        students: their files.
        decisions: the log, which tells what features can be and how often rules fire.
        out: JSON file to write.
        searched: files of searched policies.

    Raises:
        ClearschedError: a file is missing or broken, or of another problem.
    """
    from clearsched.report.collecting import collect as write

    write(params, trace, workloads, tuned, teacher, students, decisions, out, searched)


def build(folders: Sequence[str | Path], out: str | Path) -> None:
    """Write the page of some scenarios, one HTML file that needs no other.

    Args:
        folders: `results/<scenario>` each, complete with the file of `collect`.
        out: file to write.

    Raises:
        ClearschedError: a file is missing or broken.
    """
    from clearsched.report.page import write_page

    write_page([Path(folder) for folder in folders], Path(out))
