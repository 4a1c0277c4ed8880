"""params.yaml described: its JSON schema, the table in docs/params.md, and the commented default file.

All three are written from the models; a test fails when a file in the repository differs from what they give.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from functools import cache
from typing import Any

from clearsched.params.models import Params

LINE = 110
"""Width of a comment line in params.yaml, in characters."""


@cache
def json_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of params.yaml."""
    schema = Params.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "params.yaml of clearsched",
        "description": "Every choice that a user of clearsched makes.",
    }


def resolve(node: dict[str, Any]) -> dict[str, Any]:
    """The schema that `node` stands for: references followed, its own entries (default, description) on top."""
    if "$ref" not in node:
        return node
    target = json_schema()["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    return {**target, **{key: value for key, value in node.items() if key != "$ref"}}


def schema_at(location: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], dict[str, Any]]:
    """The keys of a pydantic error location, and the schema of the value there.

    Stops where the location goes on with pydantic's own tags (which branch of a union failed); an unknown key is kept.
    """
    node = json_schema()
    keys: list[str | int] = []
    for key in location:
        if isinstance(key, int):
            items = _branch(node, "items")
            if items is None:
                break
            node = resolve(items["items"])
        elif "properties" in node:
            keys.append(key)
            if key not in node["properties"]:
                return tuple(keys), {}
            node = resolve(node["properties"][key])
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
    node = resolve(node)
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


def fields(
    node: dict[str, Any] | None = None, prefix: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every key of params.yaml in order: its path and its schema; a section comes before its keys."""
    node = json_schema() if node is None else node
    for name, entry in node["properties"].items():
        entry = resolve(entry)
        yield (*prefix, name), entry
        if "properties" in entry:
            yield from fields(entry, (*prefix, name))


def known_keys() -> list[str]:
    """The dotted path of every section and key."""
    return [".".join(path) for path, _ in fields()]


def yaml_value(value: object) -> str:
    """A default as it is written in params.yaml, on one line."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(yaml_value(item) for item in value)}]"
    if isinstance(value, float) and "e" in repr(value):
        # YAML 1.1 reads 1e-05 as text; a number needs the point.
        mantissa, exponent = repr(value).split("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"
    return "" if value is None else str(value) if isinstance(value, str) else json.dumps(value)


def default_yaml() -> str:
    """params.yaml with every default, each key under its description."""
    lines = [
        "# Every choice that a user makes, with its default; docs/params.md has the same as a table.",
        "# It is checked before anything runs; `clearsched params check` does that alone.",
        "",
    ]
    for path, entry in fields():
        indent = "  " * (len(path) - 1)
        if "properties" in entry:
            lines += [""] * (len(path) == 1) + [f"{indent}# {_heading(entry)}", f"{indent}{path[-1]}:"]
            continue
        lines += [f"{indent}# {comment}" for comment in _wrapped(entry, LINE - len(indent) - 2)]
        lines.append(f"{indent}{path[-1]}: {yaml_value(entry['default'])}".rstrip())
    return "\n".join(lines) + "\n"


def _wrapped(entry: dict[str, Any], width: int) -> list[str]:
    return textwrap.wrap(f"{entry['description']} [{allowed_values(entry)}]", width)


def _heading(entry: dict[str, Any]) -> str:
    """A section's docstring up to its first empty line, on one line."""
    return " ".join(entry["description"].split("\n\n")[0].split())


def docs_table() -> str:
    """docs/params.md: for each section, a table of its keys with meaning, allowed values and default."""
    lines = [
        "# params.yaml",
        "",
        "<!-- Written by `make params` from src/clearsched/params/models.py; edits here are lost. -->",
        "",
        "Every choice that a user makes. The file is checked before anything runs; `clearsched params check` does it",
        "alone. Change a value in `params.yaml`, or for one run on the command line:",
        "",
        "```",
        "snakemake --cores 2 --config seed=2 workload='{executors: 20, load: 0.7}'",
        "```",
        "",
        *_table([(path, entry) for path, entry in fields() if len(path) == 1 and "properties" not in entry]),
    ]
    for section, entry in fields():
        if len(section) > 1 or "properties" not in entry:
            continue
        keys = [(path, field) for path, field in fields(entry, section) if "properties" not in field]
        lines += ["", f"## {section[0]}", "", _heading(entry), "", *_table(keys)]
    return "\n".join(lines) + "\n"


def _table(keys: list[tuple[tuple[str, ...], dict[str, Any]]]) -> list[str]:
    """Markdown rows of `keys`; a bar inside a cell would end it, so it is escaped."""
    rows = ["| key | meaning | allowed | default |", "|---|---|---|---|"]
    for path, entry in keys:
        default = yaml_value(entry["default"])
        cells = [f"`{'.'.join(path)}`", entry["description"], allowed_values(entry), f"`{default}`" if default else ""]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return rows
