"""Students for other programs: rules as code, with test vectors beside it, and the schema of their files."""

from __future__ import annotations

from pathlib import Path

from clearsched.export.kinds import FORMATS

__all__ = ["FORMATS", "export"]


def export(
    student: Path, format: str, out: Path | None = None, decisions: Path | None = None, count: int | None = None
) -> list[Path]:
    """Write a student's rules in a format, and test vectors beside them, or a network; the files.

    Args:
        student: the JSON file of a student, a searched policy or a formula, or the .safetensors file of a teacher.
        format: one of `FORMATS`.
        out: file to write; None: the student's name with the suffix of the format, beside it.
        decisions: a decision log whose first decisions the test vectors pose; None: they are drawn.
        count: decisions of the test vectors; None: the usual number.

    Raises:
        ClearschedError: an unknown format, no student, one that the format cannot hold, a log of another problem, a
            network where there are no test vectors, or a file to write that is what is read.
    """
    from clearsched.export.writing import write

    return write(student, format, out, decisions, count)
