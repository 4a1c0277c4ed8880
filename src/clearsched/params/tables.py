"""docs/params.md: tables of the sections that all problems have, and of each problem's own."""

from __future__ import annotations

from typing import Any

from clearsched.params.reference import allowed_values, fields, heading, yaml_value
from clearsched.problems import DEFAULT, PROBLEMS, find_problem

Key = tuple[tuple[str, ...], dict[str, Any]]
"""The path of a key, and its schema."""

INTRODUCTION = """\
# params.yaml

<!-- Written by `make params` from the models of the sections; edits here are lost. -->

Every choice that a user makes. The file is checked before anything runs; `clearsched params check` does it
alone. Change a value in `params.yaml`, or for one run on the command line:

```
snakemake --cores 2 --config seed=2 workload='{executors: 20, load: 0.7}'
```

`problem` says what is scheduled, and so which sections `traces`, `workload` and `heuristics` the file has: those of
each problem follow the sections that all problems have. `clearsched params default --problem NAME` prints a file for
another problem. How to try one without writing a file: [workflow.md](workflow.md#problems).
"""


def docs_table(problem: str | None = None) -> str:
    """The tables of all problems, or of one: for each section its keys with meaning, allowed values and default."""
    first = problem or DEFAULT
    lines = [INTRODUCTION, *_table([key for key in fields(first) if len(key[0]) == 1 and not _is_section(key)])]
    own = find_problem(first).sections
    common = [key for key in fields(first) if _is_section(key) and len(key[0]) == 1 and key[0][0] not in own]
    for key in common:
        lines += _section(first, key, "##")
    for name in [problem] if problem else PROBLEMS:
        lines += _problem(name, first)
    return "\n".join(lines) + "\n"


def _problem(name: str, first: str) -> list[str]:
    """The sections of a problem, and what the common ones have otherwise than under the problem `first`."""
    problem = find_problem(name)
    lines = ["", f"## Problem {name}", "", f"{problem.summary[:1].upper()}{problem.summary[1:]}."]
    for key in fields(name):
        if _is_section(key) and len(key[0]) == 1 and key[0][0] in problem.sections:
            lines += _section(name, key, "###")
    known = {path: _cells((path, entry)) for path, entry in fields(first)}
    common = [key for key in fields(name) if key[0][0] not in (*problem.sections, "problem")]
    others = [key for key in common if not _is_section(key) and known.get(key[0]) != _cells(key)]
    if others:
        lines += ["", "### Other values of the common sections", "", *_table(others)]
    return lines


def _section(problem: str, section: Key, level: str) -> list[str]:
    name = section[0][0]
    keys = [key for key in fields(problem) if key[0][0] == name and len(key[0]) > 1 and not _is_section(key)]
    return ["", f"{level} {name}", "", heading(section[1]), "", *_table(keys)]


def _is_section(key: Key) -> bool:
    return "properties" in key[1]


def _cells(key: Key) -> list[str]:
    path, entry = key
    default = yaml_value(entry["default"])
    return [f"`{'.'.join(path)}`", entry["description"], allowed_values(entry), f"`{default}`" if default else ""]


def _table(keys: list[Key]) -> list[str]:
    """Markdown rows of `keys`; a bar inside a cell would end it, so it is escaped."""
    rows = ["| key | meaning | allowed | default |", "|---|---|---|---|"]
    rows += ["| " + " | ".join(cell.replace("|", "\\|") for cell in _cells(key)) + " |" for key in keys]
    return rows
