"""How much of a student there is to read: the sizes that are fitted, and settings with another size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from clearsched.errors import ClearschedError
from clearsched.students.kinds import STUDENTS
from clearsched.students.settings import StudentsParams


class Front(NamedTuple):
    """A kind in several sizes."""

    kind: str
    by: str  # the setting that says how large it is; empty: the usual one of the kind
    sizes: tuple[int, ...]  # in growing order

    @property
    def name(self) -> str:
        """Of its folder, and of its line in figures and tables."""
        return name_of(self.kind, self.by)


def name_of(kind: str, by: str) -> str:
    """What a kind is called whose size is told by a setting; `by` is empty for the usual one."""
    return f"{kind}_by_{by}" if by else kind


def fronts(common: StudentsParams) -> list[Front]:
    """What `students_pareto` fits: the kinds of `pareto.kinds`, then the further ones.

    Raises:
        ClearschedError: no such kind, one without a size, no such setting, a size that it can't have, or a front twice.
    """
    told = common.pareto
    asked = [(kind, "", told.sizes) for kind in told.kinds]
    asked += [(front.kind, front.by, front.sizes or told.sizes) for front in told.further]
    found = [Front(kind, by, tuple(sorted(set(sizes)))) for kind, by, sizes in asked]
    for front in found:
        if front.kind not in STUDENTS:
            raise ClearschedError(f"{front.kind}: no kind of student: known are {', '.join(STUDENTS)}")
        if [other.name for other in found].count(front.name) > 1:
            raise ClearschedError(f"{front.name}: each front once")
        for size in front.sizes:
            resized(front.kind, getattr(common, front.kind), size, front.by)
    return found


def sizes_of(common: StudentsParams, kind: str) -> Sequence[int | None]:
    """The sizes to fit, in growing order; None: that of the kind's section."""
    if common.pick == "own" or not STUDENTS[kind].size:
        return [None]
    return sorted(set(common.pareto.sizes))


def resized(kind: str, settings: Any, size: int | None, by: str = "") -> Any:
    """The settings of a kind with another size; None: as they are.

    Args:
        kind: of the registry.
        settings: its section.
        size: to be had.
        by: the setting that says it; empty: the usual one of the kind.

    Raises:
        ClearschedError: the kind has no size, no such setting, or not this size.
    """
    if size is None:
        return settings
    name = by or STUDENTS[kind].size
    if not name:
        raise ClearschedError(f"{kind}: this kind of student has no size")
    numbers = [key for key, value in settings.model_dump().items() if type(value) is int]
    if name not in numbers:
        raise ClearschedError(f"{kind}: {name} says no size of it: known are {', '.join(numbers)}")
    try:
        return type(settings).model_validate(settings.model_dump() | {name: size})
    except ValidationError as error:
        raise ClearschedError(f"{kind}: {name}: {size}: {error.errors()[0]['msg']}") from None
