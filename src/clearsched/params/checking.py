"""From YAML or JSON to `Params`; whatever is wrong with it becomes one line."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from clearsched.documents import parse_yaml, read_yaml_value
from clearsched.errors import ClearschedError
from clearsched.params.composing import params_model
from clearsched.params.models import Params
from clearsched.params.reference import allowed_values, known_keys, schema_at
from clearsched.problems import DEFAULT, PROBLEMS, find_problem

MAX_SHOWN = 60
"""Characters of a wrong value that an error line repeats."""

RENAMED: dict[str, str] = {}
"""Keys that have another place now: old path -> new path; whoever has the old one is told the new one."""


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Read a YAML mapping.

    Raises:
        ClearschedError: the file is missing, is not YAML, has a key twice, or holds something else than a mapping.
    """
    values = read_yaml_value(path)
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ClearschedError(f"{path}: expected a mapping of sections, got {_show(values)}")
    return values


def parse(values: dict[str, Any], where: str, whole: bool = True) -> Params:
    """Check `values`, a (possibly partial) params.yaml read from `where`; keys not given take their defaults.

    The key `problem` decides which sections there are. With `whole` false, only some of them are there, and
    contradictions between two of them are not looked for.

    Raises:
        ClearschedError: an unknown problem or key, a wrong type, a value out of range, a malformed patch, or two
            sections that contradict each other; the line has the key's path, the value, what is allowed and, for an
            unknown key, the nearest known one.
    """
    problem = problem_of(values, where)
    try:
        # JSON is what the strict models take lists from; a YAML date is no JSON and is shown as the text it was.
        params = params_model(problem).model_validate_json(json.dumps(values, default=str))
    except ValidationError as error:
        line = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in _one_line(error, problem))
        raise ClearschedError(f"{where}: {line}") from None
    except (TypeError, ValueError, RecursionError) as error:
        # A key that is no text, or an anchor inside itself: YAML, but not a tree of settings.
        raise ClearschedError(f"{where}: not a tree of settings: {str(error).splitlines()[0]}") from None
    wrong = params.inconsistency() if whole else None
    if wrong is not None:
        path, value, allowed = wrong
        raise ClearschedError(f"{where}: {path}: {_show(value)} is not allowed: {allowed}")
    if whole and params.students.patches:
        from clearsched.scorers.patches import read_patches  # it brings numba

        entries = [patch.model_dump(exclude_none=True) for patch in params.students.patches]
        read_patches(entries, find_problem(problem), f"{where}: students.patches")
    return params.named() if whole else params


def problem_of(values: Mapping[Any, Any], where: str) -> str:
    """The name of the problem that the params `values`, read from `where`, are of.

    Raises:
        ClearschedError: there is no such problem.
    """
    name = values.get("problem", DEFAULT)
    if not isinstance(name, str):
        raise ClearschedError(f"{where}: problem: {_show(name)} is not allowed: expected one of {', '.join(PROBLEMS)}")
    try:
        return find_problem(name).name
    except ClearschedError as error:
        raise ClearschedError(f"{where}: {error}") from None


def _one_line(error: ValidationError, problem: str) -> str:
    """The first of pydantic's errors as one line, unknown keys first, since they explain the others."""
    errors = sorted(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    first = errors[0]
    # Literals and unions put their own tags behind the key; schema_at stops at the last real key or index.
    keys, node = schema_at(first["loc"], problem)
    path = _dotted(keys)
    if first["type"] == "extra_forbidden":
        return _unknown_key(keys, problem) + more
    if first["type"] == "value_error":
        return f"{path}: {_show(first['input'])}: {str(first['msg']).removeprefix('Value error, ')}{more}"
    value = first["input"]
    return f"{path}: {_show(value)} is not allowed: expected {allowed_values(node)}{_hint(value, node)}{more}"


def _hint(value: object, node: dict[str, Any]) -> str:
    """What was probably meant by a wrong value that is text."""
    if not isinstance(value, str):
        return ""
    near = difflib.get_close_matches(value, [str(name) for name in node.get("enum", ())], n=1)
    if near:
        return f"; the nearest is {near[0]}"
    # YAML 1.1 reads 1e-3 as text.
    if "number" in allowed_values(node) and _is_number(value):
        return f" (it is text: write {float(value)!r})"
    return ""


def _dotted(keys: tuple[str | int, ...]) -> str:
    """`("capped_srpt", "p", 1)` as `capped_srpt.p[1]`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")


def _unknown_key(keys: tuple[str | int, ...], problem: str) -> str:
    """The line of a key that no section has: where it went, or whose it is, or the nearest known one.

    The nearest is looked for first beside it, then anywhere; of a key in an entry of a list, beside it alone.
    """
    *parents, key = keys
    path, name = _dotted(keys), str(key)
    if path in RENAMED:
        return f"{path}: has another place: write {RENAMED[path]}"
    for other in PROBLEMS:
        if other != problem and path in known_keys(other):
            return f"{path}: is a key of the problem {other}, and this file's problem is {problem}"
    beside = list(schema_at(tuple(parents), problem)[1].get("properties", ()))
    near = difflib.get_close_matches(name, beside, n=1)
    nearest = _dotted((*parents, near[0])) if near else ""
    if not near and not any(isinstance(parent, int) for parent in parents):
        by_name = {known.rsplit(".", 1)[-1]: known for known in reversed(known_keys(problem))}
        near = difflib.get_close_matches(name, by_name, n=1)
        nearest = by_name[near[0]] if near else ""
    hint = f"; the nearest known key is {nearest}" if nearest else ""
    return f"{path}: unknown key{hint}; known here: {', '.join(beside)}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _show(value: object) -> str:
    """A wrong value as one short piece of a line."""
    if value is None:
        return "empty (null)"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def read_overrides(config: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """`config` with the values that were `given` by Snakemake's `--config` as YAML values.

    Snakemake leaves every value inside a mapping as text: `--config workload='{load: 0.7}'` sets `load` to "0.7". Text
    that stands in a file stays text, and is refused where a number is expected.
    """
    typed = dict(config)
    for key, value in given.items():
        if isinstance(value, Mapping) and isinstance(typed.get(key), dict):
            typed[key] = read_overrides(typed[key], value)
        elif key in typed:
            typed[key] = _read_text(value)
    return typed


def _read_text(value: Any) -> Any:
    if isinstance(value, list):
        return [_read_text(item) for item in value]
    if isinstance(value, dict):
        return {key: _read_text(item) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    try:
        return parse_yaml(value, "--config")
    except ClearschedError:
        return value
