"""Every command with its arguments and options, from the application that answers `clearsched --help`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from clearsched.cli import app
from site_pages.markdown import code, escaped, table

HEAD = """\
# The command line

What `clearsched COMMAND --help` says, of all commands. A mistake is told in one line, exit code 2.
"""


def page() -> str:
    """The whole page."""
    root = get_command(app)
    lines = [HEAD]
    for words, command, context in commands(root, ("clearsched",), root.context_class(root, info_name="clearsched")):
        lines += [f"## {' '.join(words)}", "", *_told(words, command, context), ""]
    return "\n".join(lines)


def commands(command: Any, words: tuple[str, ...], context: Any) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """A command and all below it: words to type, the command, its context; groups come before what they hold."""
    if words[1:]:
        yield words, command, context
    for name, below in getattr(command, "commands", {}).items():
        if not below.hidden:
            inner = below.context_class(below, info_name=name, parent=context)
            yield from commands(below, (*words, name), inner)


def _told(words: tuple[str, ...], command: Any, context: Any) -> list[str]:
    help_text = escaped(" ".join((command.help or "").split()))
    if hasattr(command, "commands"):
        return [help_text]
    usage = " ".join([" ".join(words), *command.collect_usage_pieces(context)])
    records = [parameter.get_help_record(context) for parameter in command.params if parameter.name != "help"]
    rows = [[code(name), escaped(text)] for name, text in filter(None, records)]
    return [help_text, "", "```", usage, "```", *(["", *table(["", "meaning"], rows)] if rows else [])]
