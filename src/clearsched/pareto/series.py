"""The rows of a table of sizes, kind by kind, and what a kind is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def series_of(rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The rows of each kind and setting in growing size."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["kind"], row["by"]), []).append(row)
    return [sorted(own, key=lambda row: int(row["size"])) for own in found.values()]


def called(label: str, by: str) -> str:
    """A kind in words whose size is told by a setting: "boosted trees by depth"; `by` is empty for the usual one."""
    return f"{label} by {by.replace('_', ' ')}" if by else label
