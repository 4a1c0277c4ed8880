"""What every command does: look at its outputs before anything runs, and answer on a standard output that may fail."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from clearsched.errors import ClearschedError
from clearsched.files import check_file, check_folder, check_inputs

STDOUT = 1


class OutputFile(type(Path())):  # type: ignore[misc]  # before Python 3.12 only the system's own kind has subclasses
    """A file that an option asks to write."""


class OutputFolder(type(Path())):  # type: ignore[misc]
    """A folder that an option asks to write to."""


OUTPUT = OutputFile | OutputFolder


def output_file(text: str) -> Path:
    """The parser of an option that names a file to write.

    Raises:
        ClearschedError: the text is empty, or has a line break or another control character.
    """
    return OutputFile(_checked(text, "file to write"))


def output_folder(text: str | Path) -> Path:
    """The parser of an option that names a folder to write to; a path is the option's default.

    Raises:
        ClearschedError: the text is empty, or has a line break or another control character.
    """
    return OutputFolder(_checked(str(text), "folder to write to"))


def _checked(text: str, what: str) -> str:
    if not text.strip() or any(ord(char) < 32 for char in text):
        raise ClearschedError(f"{text!r} names no {what}")
    return text


class Command(TyperCommand):
    """A command whose outputs are checked before it runs: nothing is computed that could not be written."""

    def invoke(self, ctx: Any) -> Any:
        """Check what the options name, then run."""
        check_outputs(ctx.params)
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # whoever read the answer has enough (`| head`)
            raise typer.Exit from None


def check_outputs(params: Mapping[str, Any]) -> None:
    """Look at the outputs among the parameters of a command.

    Raises:
        ClearschedError: one cannot be written, is another one, or is what another parameter names.
    """
    values = [(f"--{name.replace('_', '-')}", each) for name, value in params.items() for each in _listed(value)]
    outputs = [(option, path) for option, path in values if isinstance(path, OUTPUT)]
    others = [each for _, each in values if isinstance(each, Path | str) and not isinstance(each, OUTPUT)]
    for option, path in outputs:
        try:
            (check_file if isinstance(path, OutputFile) else check_folder)(path)
            check_inputs(path, others)
        except ClearschedError as error:
            raise ClearschedError(f"{option} {error}") from None
    for (option, path), (other, same) in combinations(outputs, 2):
        if os.path.realpath(path) == os.path.realpath(same):
            raise ClearschedError(f"{option} {path}: is {other} too: name two places")


class App(typer.Typer):
    """A group whose commands are `Command`s."""

    def command(self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **options: Any) -> Any:
        """As typer's."""
        return super().command(name, cls=cls or Command, **options)


def _listed(value: Any) -> Iterable[Any]:
    """The values of a parameter; none where it is empty: as a path that would be the folder the command runs in."""
    return value if isinstance(value, list | tuple) else [value] if value != "" else []


def open_streams() -> None:
    """Give the process the standard streams that its caller closed, so that no file it opens takes their place.

    Writing to a closed standard output fails as on a full disk; what is said to a closed standard error is lost.
    What a stream's encoding cannot say is said in escapes.
    """
    for number, how in ((0, os.O_RDONLY), (STDOUT, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            with contextlib.suppress(OSError):
                os.open(os.devnull, how)  # the lowest number that is free
    if sys.stdout is None:
        sys.stdout = open(STDOUT, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (as long as the process)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def unwritten() -> OSError | None:
    """Why standard output does not take what is left for it; then it is silenced, so that the end is quiet."""
    try:
        sys.stdout.flush()
    except OSError as error:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, STDOUT)
        os.close(silence)
        return error
    return None


LONGEST_LINE = 1200
"""Characters of an error."""


def one_line(text: str) -> str:
    """The text without line breaks and control characters, which the name of a file may have, and not too long to read.

    A value of a broken file may be quoted in it: what comes first and last is kept.
    """
    shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text[: 2 * LONGEST_LINE])
    if len(shown) <= LONGEST_LINE and len(text) <= 2 * LONGEST_LINE:
        return shown
    end = "".join(char for char in text[-LONGEST_LINE // 4 :] if char.isprintable())
    return f"{shown[: LONGEST_LINE // 2]} ... {end}"
