"""JSON and YAML of a user: read within limits, so that no document costs minutes, gigabytes or a traceback.

What is refused: a document that is too large, nested too deeply, or has a key twice; a whole number that fits in no
register; YAML whose anchors stand for more than could be written out.
"""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Hashable
from pathlib import Path
from typing import Any, TypeGuard

import yaml

from clearsched.errors import ClearschedError

MOST_JSON_BYTES = 64 * 2**20
MOST_YAML_BYTES = 256 * 2**10
"""Of a file; PyYAML reads some 100 kB a second."""

MOST_NODES = 100_000
"""Values of a YAML document, each anchor counted as often as it is used."""

DEEPEST = 64
"""Mappings and lists inside each other."""

WHOLE_NUMBERS = range(-(2**63), 2**64)
"""What fits in 64 bits, with or without a sign."""

MOST_DIGITS = 32
"""Of a whole number as text, sign and separators included; `WHOLE_NUMBERS` have 20."""


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value of a document is a finite number, and neither true nor false."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def read_json(path: str | Path) -> Any:
    """Read JSON.

    Raises:
        ClearschedError: the file is missing, cannot be read, or is not JSON within the limits (`parse_json`).
    """
    return parse_json(_text(Path(path), MOST_JSON_BYTES), str(path))


def read_yaml_value(path: str | Path) -> Any:
    """Read YAML, whatever it holds; None of an empty file.

    Raises:
        ClearschedError: the file is missing, cannot be read, or is not YAML within the limits (`parse_yaml`).
    """
    return parse_yaml(_text(Path(path), MOST_YAML_BYTES), str(path))


def parse_json(text: str, where: str) -> Any:
    """JSON from text.

    Raises:
        ClearschedError: it is none, is nested too deeply, has a key twice or a whole number beyond 64 bits.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise ClearschedError(f"{where}: line {error.lineno}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise ClearschedError(f"{where}: {_too_deep()}") from None
    except ClearschedError as error:
        raise ClearschedError(f"{where}: {error}") from None
    if _depth(value) > DEEPEST:
        raise ClearschedError(f"{where}: {_too_deep()}")
    return value


def parse_yaml(text: str, where: str) -> Any:
    """YAML from text; None of an empty one. Dates stay text, since no setting is one.

    Raises:
        ClearschedError: it is none, is nested too deeply, too large with its anchors written out, has a key twice or a
            whole number beyond 64 bits.
    """
    if len(text.encode("utf-8", "replace")) > MOST_YAML_BYTES:
        raise ClearschedError(f"{where}: over {MOST_YAML_BYTES // 1024} kB of YAML")
    try:
        # The loader is a SafeLoader: it builds plain values only.
        return yaml.load(text, Loader=Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise ClearschedError(f"{where}: {place}not valid YAML: {problem}") from None
    except (ValueError, TypeError, OverflowError, AttributeError, LookupError) as error:
        # What a tag promises and its text does not hold, such as `!!int x`.
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ClearschedError(f"{where}: not valid YAML: {reason}") from None


class Loader(yaml.SafeLoader):
    """PyYAML's safe loader within the limits; a key that stands twice is an error, not the last one's win."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._level = self._nodes = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Called by the base class for each value: count it, all of it again where an anchor is used again."""
        self._level += 1
        if self._level > DEEPEST:
            raise yaml.constructor.ConstructorError(None, None, _too_deep(), self.peek_event().start_mark)
        before, is_alias = self._nodes, self.check_event(yaml.AliasEvent)
        mark = self.peek_event().start_mark
        node = super().compose_node(parent, index)
        if is_alias and id(node) not in self._sizes:
            problem = "not a tree of settings: an anchor stands inside itself"
            raise yaml.constructor.ConstructorError(None, None, problem, mark)
        self._nodes += self._sizes[id(node)] if is_alias else 1
        if self._nodes > MOST_NODES:
            problem = f"over {MOST_NODES:,} values, each anchor counted as often as it is used"
            raise yaml.constructor.ConstructorError(None, None, problem, mark)
        if not is_alias:
            self._sizes[id(node)] = self._nodes - before
        self._level -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Called by the base class for each mapping."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {_cut(key)} stands twice", key_node.start_mark
                )
            seen.add(key if isinstance(key, Hashable) else str(key))
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """Called for each whole number."""
        if len(node.value) > MOST_DIGITS:
            raise yaml.constructor.ConstructorError(None, None, _too_large(node.value), node.start_mark)
        value = int(super().construct_yaml_int(node))
        if value not in WHOLE_NUMBERS:
            raise yaml.constructor.ConstructorError(None, None, _too_large(node.value), node.start_mark)
        return value


Loader.add_constructor("tag:yaml.org,2002:int", Loader.construct_yaml_int)
Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _text(path: Path, most_bytes: int) -> str:
    """A file's text, which is not read if it is too long.

    Raises:
        ClearschedError: it is missing, no file, too large, cannot be read or is not UTF-8.
    """
    try:
        found = path.stat()
        if stat.S_ISREG(found.st_mode) and found.st_size > most_bytes:
            raise ClearschedError(f"{path}: {found.st_size:,} bytes: at most {most_bytes:,} are read")
        with path.open("rb") as stream:  # a pipe or a device has no size
            data = stream.read(most_bytes + 1)
        if len(data) > most_bytes:
            raise ClearschedError(f"{path}: over {most_bytes:,} bytes")
        return data.decode("utf-8")
    except FileNotFoundError:
        raise ClearschedError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise ClearschedError(f"{path}: cannot be read: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ClearschedError(f"key {_cut(next(key for key in keys if keys.count(key) > 1))} stands twice")
    return made


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS or int(text) not in WHOLE_NUMBERS:
        raise ClearschedError(_too_large(text))
    return int(text)


def _depth(value: Any) -> int:
    """How many mappings and lists lie inside each other, counted as far as it matters."""
    deepest, level = 0, [value]
    while level and deepest <= DEEPEST:
        level = [value for value in level if isinstance(value, dict | list)]
        deepest += bool(level)
        level = [inner for value in level for inner in (value.values() if isinstance(value, dict) else value)]
    return deepest


def _too_deep() -> str:
    return f"nested over {DEEPEST} levels deep"


def _too_large(text: str) -> str:
    return f"{_cut(text)} is too large a number: 64 bits at most"


def _cut(value: Any) -> str:
    text = repr(value) if not isinstance(value, str) or not value.lstrip("-").isdigit() else value
    return text if len(text) <= 40 else f"{text[:37]}..."
