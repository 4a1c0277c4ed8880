"""The teacher's line in tables and pictures."""

from __future__ import annotations

from typing import NamedTuple

from clearsched.registry import Look


class TeacherKind(NamedTuple):
    """What is said of the teacher beside its settings."""

    name: str
    label: str
    look: Look


TEACHER = TeacherKind("teacher", "teacher", Look("#D55E00", "D"))
