"""The pages of the documentation site that are generated: the reference, and files that other pages link to."""

from __future__ import annotations

from collections.abc import Callable

from site_pages import cards, claims, command_line, features, registries, tables

GENERATED: dict[str, Callable[[], str]] = {
    "reference/command-line.md": command_line.page,
    "reference/features.md": features.page,
    "reference/tables.md": tables.page,
    "reference/registries.md": registries.page,
    "reference/claims.md": claims.page,
    **{f"reference/cards/{name}.md": cards.page_of(name) for name in cards.names()},
}
"""Pages made from code, by their place in the site."""
