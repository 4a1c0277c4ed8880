"""How many places know a name: what it takes to add a problem, a student, a source, a heuristic, a figure, a feature.

    python benchmarks/seam.py [--root CHECKOUT] [--json]

For one example of each kind it lists the files, written by hand, that name it: in the package, the workflow and the
files of DVC. Files that a command writes from the registries (params.yaml, docs/params.*, and dvc.yaml, where its first
line says so) do not count, nor do tests and documentation pages. A folder or module of the thing's own counts as one.
For a problem the count is of modules outside its folder that import from it, or name it.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Example(NamedTuple):
    """One thing of a kind: how it is told in code, and where its own code lies."""

    kind: str
    name: str
    pattern: str  # what counts as naming it
    own: str  # what a path of its own contains; counts once


EXAMPLES = (
    Example("problem", "dag_jobs", r"dag_jobs", "problems/dag_jobs/"),
    Example("problem", "deferrable_jobs", r"deferrable_jobs", "problems/deferrable_jobs/"),
    Example("student", "boosted_trees", r"\bboosted_trees\b|BoostedTreesParams", "students/boosted_trees"),
    Example(
        "source",
        "spark-eventlog",
        r"spark-eventlog|\bspark_eventlog\b|SparkEventlogParams",
        "traces/spark_eventlog/",
    ),
    Example("heuristic", "local_srpt", r"\blocal_srpt\b", "no file of its own"),
    Example("figure", "jct_cdf", r"\bjct_cdf\b", "figures/jct_cdf"),
    Example("feature", "job_sqrt_load", r"\bjob_sqrt_load\b", "no file of its own"),
)


def hand_written(root: Path) -> list[Path]:
    """The files that a person edits: package, workflow, dvc.yaml unless a command writes it."""
    found = [path for path in (root / "src").rglob("*") if path.suffix in (".py", ".rst", ".csv")]
    found += [path for path in (root / "workflow").rglob("*") if path.suffix in (".smk", ".rst")]
    pipeline = root / "dvc.yaml"
    if pipeline.is_file() and "written by" not in pipeline.read_text("utf-8").lower()[:400]:
        found.append(pipeline)
    return [path for path in sorted(found) if "__pycache__" not in path.parts]


def places(root: Path, example: Example) -> list[str]:
    """The files that name an example, its own ones told as one."""
    pattern, names = re.compile(example.pattern), []
    for path in hand_written(root):
        name = path.relative_to(root).as_posix()
        if example.own in name:
            names.append(f"{name.partition(example.own)[0]}{example.own}*")
        elif pattern.search(path.read_text("utf-8")):
            names.append(name)
    return list(dict.fromkeys(names))


def count(root: Path) -> dict[str, list[str]]:
    """The places of every example, by "kind name"."""
    return {f"{example.kind} {example.name}": places(root, example) for example in EXAMPLES}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the counts, and the places."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to look at; default: this one")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    found = count(given.root)
    if given.json:
        print(json.dumps(found, indent=2))
        return
    for what, where in found.items():
        print(f"{what:<26} {len(where):>3}  {', '.join(where[:6])}{' ...' if len(where) > 6 else ''}")


if __name__ == "__main__":
    main()
