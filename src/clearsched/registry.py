"""Registries: what has a name stands in one place, which owns all that is said of it.

Parameters, literals, rules of the workflow, figure styles and docs are derived from the entries. An entry imports
nothing: code is told as "package.module:attribute" and imported when it is asked for, so a registry costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from clearsched.errors import ClearschedError


class Look(NamedTuple):
    """How a policy is drawn. Two of one marker have colours far apart to any vision: see `figures.style.PALETTE`."""

    colour: str  # "#RRGGBB"
    marker: str  # of matplotlib


class Entry(Protocol):
    """What every entry has."""

    @property
    def name(self) -> str:
        """Its name in files and params."""

    @property
    def label(self) -> str:
        """Its name in tables and pictures."""


E = TypeVar("E", bound=Entry)


class Registry(Mapping[str, E], Generic[E]):
    """Entries of one kind by name, in the order in which they are told.

    Raises:
        ClearschedError: an entry without a name or a label, or two with the same name.
    """

    def __init__(self, kind: str, entries: Iterable[E]) -> None:
        self.kind = kind
        self._entries: dict[str, E] = {}
        for entry in entries:
            if not entry.name or not entry.name.strip():
                raise ClearschedError(f"{kind}: an entry has no name: {entry}")
            if not entry.label or not entry.label.strip():
                raise ClearschedError(f"{kind} {entry.name}: its registry entry has no label: give it one")
            if entry.name in self._entries:
                raise ClearschedError(f"{kind} {entry.name}: stands twice in the registry")
            self._entries[entry.name] = entry

    def __getitem__(self, name: str) -> E:
        """The entry of that name.

        Raises:
            ClearschedError: there is none; the line names the nearest one.
        """
        if name not in self._entries:
            near = get_close_matches(str(name), self._entries, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ClearschedError(f"unknown {self.kind} {name!r}: known are {', '.join(self._entries)}{hint}")
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def load(path: str) -> Any:
    """What "package.module:attribute" names."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)
