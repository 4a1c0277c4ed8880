"""Damage that knows the format: text by tokens and lines, JSON by its values, YAML, CSV, HTTP."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

from .absurd import CELLS, HTTP_FIELDS, HTTP_REQUESTS, YAML_LINES, absurd_json

TOKEN = re.compile(rb'-?\d+(?:\.\d+)?(?:e-?\d+)?|"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b')
HOLE = "@@absurd@@"
"""Stands for a value while JSON is written, since the value need not be valid JSON."""


def token(data: bytes, rng: Random) -> bytes:
    """A number, text or word of any text format by an absurd one."""
    places = list(TOKEN.finditer(data[:200_000]))
    if not places:
        return data
    place = rng.choice(places)
    return data[: place.start()] + absurd_json(rng).encode(errors="surrogatepass") + data[place.end() :]


def lines(data: bytes, rng: Random) -> bytes:
    """A line left out, doubled, moved, cut, joined with the next, or many times over."""
    rows = data.split(b"\n")
    at, other = rng.randrange(len(rows)), rng.randrange(len(rows))
    action = rng.randrange(6)
    if action == 0:
        del rows[at]
    elif action == 1:
        rows.insert(other, rows[at])
    elif action == 2:
        rows[at], rows[other] = rows[other], rows[at]
    elif action == 3:
        rows[at] = rows[at][: rng.randrange(len(rows[at]) + 1)]
    elif action == 4:
        rows[at : at + 2] = [b"".join(rows[at : at + 2])]
    else:
        rows[at:at] = [rows[at]] * rng.choice((10, 300))
    return b"\n".join(rows)


def json_value(data: bytes, rng: Random) -> bytes:
    """A value, key or entry anywhere in a JSON text."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return token(data, rng)
    holder = [tree]
    container, key = _place(holder, rng)
    action = rng.randrange(5)
    if action == 0:
        del container[key]
    elif action == 1 and isinstance(container, list):
        container.insert(key, container[key])
    elif action == 2 and isinstance(container, dict):
        container[rng.choice(("", "x", "Event", str(key) * 2))] = container.pop(key)
    else:
        container[key] = HOLE
    if not holder:
        return b""
    try:
        # The indent also keeps the lines of files that people read; logs are one value a line.
        text = json.dumps(holder[0], indent=2 if b"\n" in data.strip() else None)
    except RecursionError:
        return data
    return text.replace(f'"{HOLE}"', absurd_json(rng)).encode(errors="surrogatepass")


def _place(holder: list[Any], rng: Random) -> tuple[Any, Any]:
    """A container inside the value, and a key or index in it; deeper ones as often as those above."""
    container, key = holder, 0
    while isinstance(container[key], dict | list) and container[key] and rng.random() < 0.85:
        container = container[key]
        key = rng.choice(list(container)) if isinstance(container, dict) else rng.randrange(len(container))
    return container, key


def json_line(data: bytes, rng: Random) -> bytes:
    """A value in one line of JSON lines."""
    rows = data.split(b"\n")
    at = rng.randrange(len(rows))
    rows[at] = json_value(rows[at], rng)
    return b"\n".join(rows)


def yaml_line(data: bytes, rng: Random) -> bytes:
    """A scalar, an indent or a key of a YAML text, or a line that YAML reads in its own way."""
    rows = data.decode("utf-8", "replace").split("\n")
    at = rng.randrange(len(rows))
    key, colon, _ = rows[at].partition(":")
    action = rng.randrange(4)
    if action == 0:
        rows.insert(at, rng.choice(YAML_LINES))
    elif action == 1:
        rows[at] = rng.choice(("", " ", "  ", "\t", "- ")) + rows[at]
    elif action == 2 and colon:
        rows[at] = f"{key}: {absurd_json(rng)}"
    else:
        rows[at] = f"{key}{colon} {rng.choice(('&a x', '*a', '!!int x', '{', '[', '@', '%', '`', '>', '|', '1:30:00'))}"
    return "\n".join(rows).encode(errors="surrogatepass")


def cell(data: bytes, rng: Random) -> bytes:
    """A cell of a CSV file, or a row of more or fewer."""
    rows = data.split(b"\n")
    at = rng.randrange(len(rows))
    cells = rows[at].split(b",")
    action = rng.randrange(6)
    if action == 0:
        cells.pop(rng.randrange(len(cells)))
    elif action == 1:
        cells.insert(rng.randrange(len(cells) + 1), b"")
    else:
        cells[rng.randrange(len(cells))] = rng.choice(CELLS).encode()
    rows[at] = b",".join(cells)
    return b"\n".join(rows)


def http_body(data: bytes, rng: Random) -> bytes:
    """A value of a request's JSON body, most often with the length that it then has."""
    head, end, body = data.partition(b"\r\n\r\n")
    body = json_value(body, rng)
    if rng.random() < 0.95:
        head = re.sub(rb"(?i)(content-length:)[^\r\n]*", rb"\1 %d" % len(body), head)
    return head + end + body


def http_head(data: bytes, rng: Random) -> bytes:
    """The lines of a request's head, or another of those that a server must not fall for."""
    head, end, body = data.partition(b"\r\n\r\n")
    if rng.random() < 0.5:
        return lines(head, rng) + end + body
    first, _, fields = head.partition(b"\r\n")
    if rng.random() < 0.5:
        return rng.choice(HTTP_REQUESTS) + b"\r\n" + fields + end + body
    return first + b"\r\n" + rng.choice(HTTP_FIELDS) + b"\r\n" + fields + end + body
