"""The speed of this machine's simulator in one table: what `make bench` prints.

    python benchmarks/table.py [--profiles DIR_OR_TRACE] [--cpu-seconds S] [--reference EPISODES] [--json]

Each line comes from a `rows` function of another script here; a new one is added to `measure`. The last two columns
tell how many times the plain simulator in tests/ is outdone, where it does the same work.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import lockstep
import policies
import simulator
import startup
from settings import SETTINGS, TIMED, Row, command

from clearsched.problems.dag_jobs.simulator.profiles import Profiles


def measure(profiles: Profiles, path: Path | None, cpu_seconds: float, reference: int) -> list[Row]:
    """All lines of the table."""
    recorded = (simulator.rates(profiles, SETTINGS[name], cpu_seconds, record=True).task_events for name in TIMED)
    return [
        *simulator.rows(profiles, cpu_seconds, reference),
        Row("task events, all recorded", "per CPU s", *recorded),
        *policies.rows(profiles, cpu_seconds),
        *lockstep.rows(profiles, cpu_seconds),
        *startup.rows(path),
    ]


def format_table(lines: list[Row]) -> str:
    """The lines as text."""
    head = ("", "unit", "(a)", "(b)", "times plain (a)", "(b)")
    cells = [head, *((row.what, row.unit, *map(format_number, row[2:])) for row in lines)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if column < 2 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def format_number(value: float | None) -> str:
    """Three digits at least, thousands with commas; `-` for none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main(arguments: argparse.Namespace, profiles: Profiles) -> None:
    lines = measure(profiles, arguments.profiles, arguments.cpu_seconds, arguments.reference)
    if arguments.json:
        print(json.dumps([row._asdict() for row in lines]))
        return
    source = "the embedded trace" if arguments.profiles is None else arguments.profiles
    print(f"Profiles: {source}. Fair heuristic, one thread, compilation not counted.")
    for name in TIMED:
        print(SETTINGS[name])
    print()
    print(format_table(lines))


if __name__ == "__main__":
    command(
        __doc__,
        main,
        reference={"type": int, "default": 2, "metavar": "EPISODES", "help": "of the plain simulator (%(default)s)"},
        json={"action": "store_true", "help": "print JSON"},
    )
