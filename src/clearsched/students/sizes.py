"""How much of a student there is to read: the sizes that are fitted, and settings with another size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from clearsched.errors import ClearschedError
from clearsched.students.kinds import STUDENTS
from clearsched.students.settings import StudentsParams


def sizes_of(common: StudentsParams, kind: str) -> Sequence[int | None]:
    """The sizes to fit, in growing order; None: that of the kind's section."""
    if common.pick == "own" or not STUDENTS[kind].size:
        return [None]
    return sorted(set(common.pareto.sizes))


def resized(kind: str, settings: Any, size: int | None) -> Any:
    """The settings of a kind with another size; None: as they are.

    Raises:
        ClearschedError: the kind has no size, or not this one.
    """
    if size is None:
        return settings
    name = STUDENTS[kind].size
    if not name:
        raise ClearschedError(f"{kind}: this kind of student has no size")
    try:
        return type(settings).model_validate(settings.model_dump() | {name: size})
    except ValidationError as error:
        raise ClearschedError(f"{kind}: {name}: {size}: {error.errors()[0]['msg']}") from None
