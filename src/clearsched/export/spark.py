"""A student as the rules that `clearsched-spark` reads: its program as JSON, so that Java runs a few kinds of nodes.

The file brings the formula of each feature, as a tree over quantities: what Spark has to know is the quantities alone,
and a feature that is added to the problem needs no change of the jar while it is made of them.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from clearsched import __version__
from clearsched.compiled.feature import Feature
from clearsched.errors import ClearschedError
from clearsched.export.program import (
    Amount,
    Case,
    Cases,
    Least,
    Node,
    Part,
    Points,
    Product,
    Switched,
    Test,
    Tree,
    Trees,
    Value,
)
from clearsched.export.source import Source

FORMAT, VERSION = "clearsched-rules", 1
"""What the file calls itself; the jar refuses another version."""

PROBLEM = "dag_jobs"
"""What Spark schedules."""

QUANTITIES = {
    "is_source": "exact: the slot's last task was of the job, which is still in the system",
    "held": "exact: tasks that run or are about to be launched, and idle slots that were the job's last",
    "parked": "exact: idle slots that were the job's last, less those decided on",
    "work_left_ms": "tasks not started x mean duration: of the template's profile, else of tasks that have finished",
    "work_ms": "the same over all its tasks",
    "tasks_left": "exact, of the stages that Spark or the profile knows",
    "stages_left": "exact, of the stages that Spark or the profile knows",
    "time_ms": "exact: the driver's clock since the application started",
    "arrival_ms": "when the job's first stage was submitted",
    "critical_path_left_ms": "as its work, over the DAG that Spark or the profile knows",
    "smaller_jobs": "as its work",
    "weight": "as its work",
    "smallest_weight": "as its work",
    "sum_weight": "as its work",
    "sqrt_weight": "as its work",
    "sum_sqrt_weight": "as its work",
    "root": "as its work",
    "sum_power_20": "as its work",
    "sum_power_40": "as its work",
    "sum_power_60": "as its work",
    "sum_power_80": "as its work",
    "jobs": "exact: jobs of the application with a stage to run",
    "executors": "exact: task slots of the application's executors",
    "moving_delay_ms": "the setting spark.clearsched.movingDelay, else the profile's: Spark itself moves at no cost",
    "waiting_parents": "exact, and always 0: Spark submits a stage when its parents are complete",
    "unstarted": "exact",
    "running": "exact",
    "moving": "exact, and always 0: a task starts as soon as it has a slot",
    "promised": "exact: slots that it is given in the same round",
    "task_ms": "of the template's profile, else of tasks that have finished",
    "levels_below": "exact, over the DAG that Spark or the profile knows",
    "critical_path_ms": "as its work, over the DAG that Spark or the profile knows",
    "earlier_candidates": "exact",
    "to_decide": "exact: idle slots that were the same job's last, or nobody's",
    "parked_in_all": "exact",
}
"""The quantities of the formulas that a running Spark knows, and how; the same names stand in the jar's `Quantities`.
"""

SIGNS: dict[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Eq: "=="}


def write(source: Source) -> bytes:
    """The file.

    Raises:
        ClearschedError: it is no student of DAG jobs, or asks for a feature that Spark cannot know.
    """
    problem = source.policy.problem
    if problem.name != PROBLEM:
        raise ClearschedError(
            f"{source.path}: a student of {problem.name}; Spark schedules {PROBLEM}: export it to another format"
        )
    program = source.unguarded
    document = {
        "format": FORMAT,
        "version": VERSION,
        "clearsched": __version__,
        "title": program.title,
        "student": source.path.name,
        "sha256": hashlib.sha256(source.path.read_bytes()).hexdigest(),
        "problem": problem.name,
        "header": [*source.header(), "", *source.features()],
        "question": program.question,
        "idle": program.idle,
        "unit": program.unit,
        "most": program.most,
        "features": [_feature(feature, f"{source.path}") for feature in program.features],
        "none": program.none,
        "may_idle": program.may_idle,
        "orders": [
            {"name": _name(order.told), "told": order.told, "tests": _tests(order.tests), "action": order.action}
            for order in program.orders
        ],
        "rank": part_of(program.rank),
        "level": part_of(program.level) if program.level else None,
        "up": program.up,
        "bounds": [
            {"name": _name(bound.told), "told": bound.told, "tests": _tests(bound.tests), "share": bound.share}
            for bound in program.bounds
        ],
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def _feature(feature: Feature, where: str) -> dict[str, Any]:
    """A feature with its formula, and how Spark knows what is in it.

    Raises:
        ClearschedError: it is made of something that Spark cannot know.
    """
    formula = formula_of(feature.formula)
    asked = list(dict.fromkeys(_quantities(formula)))
    unknown = [name for name in asked if name not in QUANTITIES]
    if unknown:
        raise ClearschedError(
            f"{where}: Spark cannot know the feature {feature.name}: it is computed of {', '.join(unknown)}: fit a "
            "student without it"
        )
    known = {name: QUANTITIES[name] for name in asked}
    return {"name": feature.name, "unit": feature.unit, "meaning": feature.meaning, "formula": formula, "known": known}


def formula_of(text: str) -> Any:
    """A formula as numbers, names and `[sign, left, right]`.

    Raises:
        ClearschedError: it has something else than + - * / == between names and numbers.
    """
    return _expression(ast.parse(text, mode="eval").body, text)


def _expression(node: ast.AST, text: str) -> Any:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        return [SIGNS[type(node.op)], _expression(node.left, text), _expression(node.right, text)]
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SIGNS:
        return [SIGNS[type(node.ops[0])], _expression(node.left, text), _expression(node.comparators[0], text)]
    raise ClearschedError(f"export: the formula {text!r} has what the format spark does not: {ast.unparse(node)}")


def _quantities(formula: Any) -> list[str]:
    """The names in a formula, from left to right."""
    if isinstance(formula, list):
        return [name for side in formula[1:] for name in _quantities(side)]
    return [formula] if isinstance(formula, str) else []


def part_of(part: Part) -> dict[str, Any]:
    """What scores, as nodes."""
    if isinstance(part, Cases):
        return {"kind": "cases", "told": part.told, "cases": [_case(case) for case in part.cases]}
    if isinstance(part, Points):
        entries = [{"told": e.told, "tests": _tests(e.tests), "add": e.add} for e in part.entries]
        order = {"order": _value(part.order)} if part.order else {}
        return {"kind": "points", "told": part.told, "name": part.name, "entries": entries, **order}
    if isinstance(part, Trees):
        return {"kind": "trees", "told": part.told, "name": part.name, "trees": [_nodes(tree) for tree in part.trees]}
    if isinstance(part, Least):
        told = {"told": part.told, "texts": part.texts, "names": part.names}
        return {"kind": "least", **told, "terms": _products(part.terms)}
    assert isinstance(part, Switched)
    ways = [
        {"told": way.told, **({"test": _test(way.test)} if way.test else {}), "part": part_of(way.part)}
        for way in part.ways
    ]
    return {"kind": "switch", "told": part.told, "ways": ways}


def _case(case: Case) -> dict[str, Any]:
    cap = {"cap": {"of": case.cap.of, "least": _products(case.cap.terms)}} if case.cap else {}
    return {"name": case.name, "told": case.told, "tests": _tests(case.tests), **cap, "value": _value(case.value)}


def _value(value: Value) -> dict[str, Any]:
    start = {"least": _products(value.start)} if isinstance(value.start, tuple) else {"start": value.start}
    return start | ({"plus": [_amount(amount) for amount in value.plus]} if value.plus else {})


def _amount(amount: Amount) -> dict[str, Any]:
    found = {"feature": amount.name, "weight": amount.weight}
    return found | ({"scale": amount.scale} if amount.scale else {})


def _products(terms: Sequence[Product]) -> list[dict[str, Any]]:
    return [
        {"times": term.times, "powers": [{"feature": name, "power": power} for name, power in term.powers]}
        for term in terms
    ]


def _nodes(tree: Tree) -> list[Any]:
    """A tree as its nodes, the root first, each before those below it: a number is a leaf."""
    if not isinstance(tree, Node):
        return [tree]
    low, high = _nodes(tree.low), _nodes(tree.high)
    root = {"test": _test(tree.test), "low": 1, "high": 1 + len(low)}
    return [root, *_moved(low, 1), *_moved(high, 1 + len(low))]


def _moved(nodes: Sequence[Any], by: int) -> list[Any]:
    """Nodes that begin at another place."""
    return [
        node if not isinstance(node, dict) else {**node, "low": node["low"] + by, "high": node["high"] + by}
        for node in nodes
    ]


def _tests(tests: Sequence[Test]) -> list[list[Any]]:
    return [_test(test) for test in tests]


def _test(test: Test) -> list[Any]:
    return [test.name, "<" if test.below else ">=", test.threshold]


def _name(told: Sequence[str]) -> str:
    """`patch 1`, as the code of other formats names it."""
    return told[0].partition(".")[0]
