"""params.yaml described: its JSON schema, and the commented default file.

Both are written from the models of a problem; a test fails when a file in the repository differs from what they give.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from functools import cache
from typing import Any

from clearsched.params.composing import params_model
from clearsched.problems import DEFAULT

LINE = 110
"""Width of a comment line in params.yaml, in characters."""


@cache
def json_schema(problem: str = DEFAULT) -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a problem's params.yaml."""
    schema = params_model(problem).model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": f"params.yaml of clearsched, problem {problem}",
        "description": "Every choice that a user of clearsched makes.",
    }


@cache
def tree(problem: str = DEFAULT) -> dict[str, Any]:
    """The same with all references followed, the entries that stand beside one (default, description) on top."""
    models = json_schema(problem)["$defs"]

    def follow(node: Any) -> Any:
        if isinstance(node, list):
            return [follow(item) for item in node]
        if not isinstance(node, dict):
            return node
        own = {key: follow(value) for key, value in node.items() if key not in ("$ref", "$defs")}
        return {**follow(models[node["$ref"].rsplit("/", 1)[-1]]), **own} if "$ref" in node else own

    whole: dict[str, Any] = follow(json_schema(problem))
    return whole


def schema_at(location: tuple[str | int, ...], problem: str) -> tuple[tuple[str | int, ...], dict[str, Any]]:
    """The keys of a pydantic error location, and the schema of the value there.

    Stops where the location goes on with pydantic's own tags (which branch of a union failed); an unknown key is kept.
    """
    node = tree(problem)
    keys: list[str | int] = []
    for key in location:
        if isinstance(key, int):
            items = _branch(node, "items")
            if items is None:
                break
            node = items["items"]
        elif "properties" in node:
            keys.append(key)
            if key not in node["properties"]:
                return tuple(keys), {}
            node = node["properties"][key]
            continue
        else:
            break
        keys.append(key)
    return tuple(keys), node


def _branch(node: dict[str, Any], key: str) -> dict[str, Any] | None:
    """`node`, or the branch of its union, that has `key`."""
    return next((branch for branch in (node, *node.get("anyOf", ())) if key in branch), None)


def allowed_values(node: dict[str, Any]) -> str:
    """What a value of this schema may be, in words: "number > 0, <= 1", "one of poisson, batch", ..."""
    if "anyOf" in node:
        return " or ".join(allowed_values(branch) for branch in node["anyOf"])
    if "enum" in node:
        return f"one of {', '.join(map(str, node['enum']))}"
    if "const" in node:
        return str(node["const"])
    kind = node.get("type")
    if kind == "null":
        return "empty"
    if kind == "array":
        return f"a list, each {allowed_values(node['items'])}"
    if kind == "object" and "properties" not in node:
        return f"a mapping, to each name {allowed_values(node['additionalProperties'])}"
    if kind == "object":
        return f"a section with the keys {', '.join(node.get('properties', {}))}"
    if kind == "string":
        return str(node.get("allowed", "text"))
    signs = (("exclusiveMinimum", ">"), ("minimum", ">="), ("exclusiveMaximum", "<"), ("maximum", "<="))
    bounds = ", ".join(f"{sign} {_number(node[key])}" for key, sign in signs if key in node)
    name = {"integer": "a whole number", "number": "a number", "boolean": "true or false"}.get(str(kind), str(kind))
    return f"{name} {bounds}".rstrip()


def _number(value: float) -> str:
    return f"{int(value)}" if value == int(value) else f"{value:g}"


def fields(problem: str = DEFAULT) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every key of params.yaml in order: its path and its schema; a section comes before its keys."""
    return _below(tree(problem), ())


def _below(node: dict[str, Any], prefix: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    for name, entry in node["properties"].items():
        yield (*prefix, name), entry
        if "properties" in entry:
            yield from _below(entry, (*prefix, name))


def known_keys(problem: str = DEFAULT) -> list[str]:
    """The dotted path of every section and key."""
    return [".".join(path) for path, _ in fields(problem)]


def yaml_value(value: object) -> str:
    """A default as it is written in params.yaml, on one line."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(yaml_value(item) for item in value)}]"
    if isinstance(value, float) and "e" in repr(value):
        # YAML 1.1 reads 1e-05 as text; a number needs the point.
        mantissa, exponent = repr(value).split("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"
    return "" if value is None else str(value) if isinstance(value, str) else json.dumps(value)


def default_yaml(problem: str = DEFAULT) -> str:
    """params.yaml with every default, each key under its description."""
    lines = [
        "# Every choice that a user makes, with its default; docs/params.md has the same as a table.",
        "# It is checked before anything runs; `clearsched params check` does that alone.",
        "",
    ]
    for path, entry in fields(problem):
        indent = "  " * (len(path) - 1)
        if "properties" in entry:
            lines += [""] * (len(path) == 1) + [f"{indent}# {heading(entry)}", f"{indent}{path[-1]}:"]
            continue
        lines += [f"{indent}# {comment}" for comment in _wrapped(entry, LINE - len(indent) - 2)]
        lines.append(f"{indent}{path[-1]}: {yaml_value(entry['default'])}".rstrip())
    return "\n".join(lines) + "\n"


def _wrapped(entry: dict[str, Any], width: int) -> list[str]:
    return textwrap.wrap(f"{entry['description']} [{allowed_values(entry)}]", width)


def heading(entry: dict[str, Any]) -> str:
    """A section's docstring up to its first empty line, on one line."""
    return " ".join(entry["description"].split("\n\n")[0].split())
