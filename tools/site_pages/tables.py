"""Every table on disk: the Arrow schemas that files are written and read by, found where they are defined."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

import pyarrow as pa

from clearsched.decisions.schema import log_schema
from clearsched.imports import PACKAGE
from clearsched.problems import PROBLEMS, find_problem
from clearsched.schemas import episodes
from site_pages.markdown import code, escaped, sentence, table

HEAD = """\
# Tables

Every Parquet file that passes between two stages, by the module of `clearsched` that defines its schema. Unit and
meaning of a column stand in the file's own metadata too; the key `clearsched` of the metadata of a file tells settings
and digests of what it was made from. A file of another schema is refused in one line. Folders are below
`results/<scenario>/`.
"""

PLACES = {
    "clearsched.schemas.TUNING": "heuristics/tuning.parquet",
    "clearsched.schemas.SEARCH_CURVE": "search/<family>_curve.parquet",
    "clearsched.schemas.LEARNING_CURVE": "teacher/learning_curve.parquet",
    "clearsched.schemas.TRAINING_TIMES": "benchmarks/teacher_train_<training seed>_times.parquet",
    "clearsched.schemas.COMPARISON": "evaluation/comparison.parquet",
    "clearsched.schemas.TAKE_OVERS": "evaluation/take_overs.parquet",
    "clearsched.schemas.EDGE_CASES": "edge_cases/edge_cases.parquet",
    "clearsched.schemas.STUDENTS": "evaluation/students.parquet",
    "clearsched.schemas.STUDENTS_PARETO": "students_pareto/students_pareto.parquet",
    "clearsched.schemas.BOUNDS": "evaluation/bounds.parquet",
    "clearsched.schemas.SEEDS": "evaluation/seeds.parquet",
    "clearsched.schemas.SEED_PAIRS": "evaluation/seed_pairs.parquet",
    "clearsched.schemas.FIDELITY": "evaluation/fidelity.parquet",
    "clearsched.paper.tables.JOBS": "paper/<experiment>/jobs.parquet",
    "clearsched.paper.tables.BY_SEED": "paper/<experiment>/seeds.parquet",
    "clearsched.paper.tables.LATENCY": "paper/latency.parquet",
    "clearsched.problems.dag_jobs.schemas.TRACE": "traces/trace.parquet",
    "clearsched.problems.dag_jobs.schemas.WORKLOADS": "traces/workloads.parquet",
    "clearsched.problems.dag_jobs.schemas.JOBS": "evaluation/jobs.parquet",
    "clearsched.problems.dag_jobs.schemas.TASKS": "evaluation/tasks.parquet",
    "clearsched.problems.deferrable_jobs.schemas.TRACE": "traces/trace.parquet",
    "clearsched.problems.deferrable_jobs.schemas.WORKLOADS": "traces/workloads.parquet",
    "clearsched.problems.deferrable_jobs.schemas.JOBS": "evaluation/jobs.parquet",
    "clearsched.problems.deferrable_jobs.schemas.SLOTS": "evaluation/slots.parquet",
}
"""Where the workflow writes a table; the others are written by commands of their own, where they are told to."""


class Table(NamedTuple):
    """A schema with what stands beside it."""

    name: str  # "package.module.NAME"
    schema: pa.Schema
    note: str


def page() -> str:
    """The whole page."""
    lines, module = [HEAD], ""
    for each in (*defined(), *made()):
        room, _, name = each.name.rpartition(".")
        if room != module:
            lines += [f"## {room.removeprefix('clearsched.')}", ""]
            module = room
        place = f"`{PLACES[each.name]}`. " if each.name in PLACES else ""
        lines += [f"### {name}", "", (place + (escaped(sentence(each.note)) if each.note else "")).strip(), ""]
        lines += [*table(["column", "type", "unit", "meaning", "may be empty"], map(_row, each.schema)), ""]
    return "\n".join(lines)


def defined() -> Iterator[Table]:
    """The schemas that stand as constants in modules, in the order of the modules' names."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text("utf-8")
        if "pa.schema(" not in text:
            continue
        module = ".".join(["clearsched", *path.relative_to(PACKAGE).with_suffix("").parts])
        values = vars(import_module(module))
        for name, note in constants(text):
            if isinstance(values.get(name), pa.Schema):
                yield Table(f"{module}.{name}", values[name], note)


def constants(text: str) -> Iterator[tuple[str, str]]:
    """The names that a module assigns at its top, each with the text that stands after it."""
    body = ast.parse(text).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            note = after.value if isinstance(after, ast.Expr) else None
            yield node.targets[0].id, str(note.value) if isinstance(note, ast.Constant) else ""


def made() -> Iterator[Table]:
    """The schemas that depend on the problem."""
    for name in PROBLEMS:
        problem = find_problem(name)
        yield Table(f"tables of problem {name}.episodes", episodes(problem.measures), _EPISODES)
        yield Table(f"tables of problem {name}.decisions", log_schema(problem), _LOG)


_EPISODES = "`evaluation/episodes.parquet`: a row a policy and episode"
_LOG = "`decisions/decisions.parquet`: a row a candidate"


def _row(field: pa.Field) -> list[str]:
    told = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    unit, meaning = escaped(told.get("unit", "")), escaped(told.get("meaning", ""))
    return [code(field.name), escaped(str(field.type)), unit, meaning, "yes" if field.nullable else ""]
