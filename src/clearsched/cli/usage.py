"""Command lines that cannot be understood, told in one line as other errors are."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import typer

UsageFault: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""What is raised for one: click's, or that of the copy of click in newer versions of typer."""


def usage_line(fault: Any) -> str:
    """The command, what is wrong with its line, and the nearest option where one is unknown."""
    context = getattr(fault, "ctx", None)
    text = " ".join(_reason(fault, context).split()).rstrip(".")
    text = text[:1].lower() + text[1:]
    if context is None:
        return text
    _, *words = context.command_path.split()
    return f"{' '.join(words)}{': ' if words else ''}{text} (see {context.command_path} --help)"


def _reason(fault: Any, context: Any) -> str:
    if type(fault).__name__ == "NoArgsIsHelpError":  # the help itself is on standard output
        return "no command is named"
    if context is None or not hasattr(fault, "possibilities"):  # of an unknown option: click's own guesses
        return str(fault.format_message()).replace("Value error, ", "")
    known = [name for param in context.command.get_params(context) for name in (*param.opts, *param.secondary_opts)]
    near = get_close_matches(fault.option_name, [name for name in known if name.startswith("-")], 1)
    return f"no such option {fault.option_name}" + (f"; did you mean {near[0]}?" if near else "")
