"""Patches that a person writes on a policy: conditions on features, what follows where they hold, and why.

The text is what runs: it is kept as it was written, parsed without `eval`, and compiled for the simulator's loop
(`compiled.patches`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np

from clearsched.compiled.patches import CAP, FIRST, IDLE, LAST, MOST, pack_patches
from clearsched.compiled.steps import Steps
from clearsched.documents import is_number
from clearsched.errors import ClearschedError
from clearsched.problems.declarations import Choice, level_choice, rank_choice
from clearsched.problems.problem import Problem
from clearsched.scorers.conditions import Comparison, Condition, holds, parse_comparisons, tighten
from clearsched.scorers.ranges import never
from clearsched.scorers.scorer import known_column

ALWAYS = "always"
"""In place of conditions: every row meets them."""

PREFER, AVOID, KEEP_LOCAL, STAY_IDLE = ACTIONS = ("prefer", "avoid", "keep_local", "idle")
"""What `do` may be; each orders the candidates of the rank choice. The other action is `cap`, of the level choice."""

CODES = {PREFER: FIRST, AVOID: LAST, KEEP_LOCAL: FIRST, STAY_IDLE: IDLE}

JOINED = re.compile(r"[<>]=?\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)([^\W\d]\S*)")
"""A number that its unit stands at."""

KEYS = ("when", "do", "cap", "because", "priority")
"""What an entry may have."""


@dataclass(frozen=True)
class Patch:
    """One patch.

    Attributes:
        when: comparisons joined by `and`, or `always`.
        do: one of `ACTIONS`, or empty where there is a cap.
        cap: of the most, the share that the level is at most; None where there is `do`.
        because: why, in the words of who wrote it.
        priority: the higher comes before the lower, equal ones in the order in which they are written.
    """

    when: str
    do: str = ""
    cap: float | None = None
    because: str = ""
    priority: int = 0

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """The conditions as they are written: parsed once, since `meets` is asked at every decision that changes."""
        return [] if self.when == ALWAYS else parse_comparisons(self.when, "when")

    def to_json(self) -> dict[str, Any]:
        """The entry, what it lacks left out."""
        entry: dict[str, Any] = {"when": self.when}
        entry |= {"do": self.do} if self.cap is None else {"cap": self.cap}
        entry |= {"because": self.because} if self.because else {}
        return entry | ({"priority": self.priority} if self.priority else {})


def read_patches(entries: Any, problem: Problem, where: str) -> tuple[Patch, ...]:
    """The patches of a list of entries as in params.yaml, in the order in which they count.

    Raises:
        ClearschedError: an entry is malformed, asks for an unknown feature or tells a wrong unit, no candidate can meet
            it, or the problem has no such thing; the line tells which entry, counted from 1.
    """
    if not isinstance(entries, list | tuple):
        raise ClearschedError(f"{where}: a list of patches expected, each with `when` and `do` or `cap`")
    patches = [_patch(entry, problem, f"{where}: patch {place}") for place, entry in enumerate(entries, 1)]
    if sum(patch.cap is None for patch in patches) > MOST:
        raise ClearschedError(f"{where}: at most {MOST} patches that order candidates")
    return tuple(sorted(patches, key=lambda patch: -patch.priority))


def packed_patches(patches: Sequence[Patch], choice: Choice) -> Steps:
    """Those of a choice as flat arrays for the loop."""
    caps = choice.form == "level"
    own = [patch for patch in patches if (patch.cap is not None) == caps]
    return pack_patches([(conditions_of(p, choice), CODES.get(p.do, CAP), p.cap or 0.0) for p in own])


def conditions_of(patch: Patch, choice: Choice) -> list[Condition]:
    """What a row must meet; `keep_local` asks for the candidate that changes nothing besides."""
    names = [feature.name for feature in choice.features]
    conditions = [written.condition(names.index(written.feature)) for written in patch.comparisons]
    if patch.do == KEEP_LOCAL:
        conditions.append(Condition(names.index(choice.keeps), False, 1.0))
    return conditions


def meets(patch: Patch, choice: Choice, row: np.ndarray | None) -> bool:
    """Whether a candidate, float32[F], meets a patch's conditions; None, "none of these", meets none."""
    return row is not None and all(holds(condition, row[None]).all() for condition in conditions_of(patch, choice))


def _patch(entry: Any, problem: Problem, where: str) -> Patch:
    """An entry, checked."""
    if not isinstance(entry, Mapping):
        raise ClearschedError(f"{where}: an entry with `when` and `do` or `cap` expected")
    for key in entry:
        if key not in KEYS:
            near = [f"do: {key}"] if key in ACTIONS else get_close_matches(str(key), KEYS, 1)
            told = f"; did you mean {near[0]}?" if near else f": an entry has {', '.join(KEYS)}"
            raise ClearschedError(f"{where}: unknown key {key!r}{told}")
    do, cap, because, priority = (entry.get(key) for key in KEYS[1:])
    if (do is None) == (cap is None):
        raise ClearschedError(f"{where}: exactly one of `do` ({', '.join(ACTIONS)}) and `cap` expected")
    if cap is not None and not (is_number(cap) and 0 < cap <= 1):
        raise ClearschedError(f"{where}: cap: a share above 0 and up to 1 expected, not {cap!r}")
    if do is not None and do not in ACTIONS:
        near = get_close_matches(str(do), ACTIONS, 1)
        raise ClearschedError(
            f"{where}: do: {do!r}: expected one of {', '.join(ACTIONS)}"
            + (f"; did you mean {near[0]}?" if near else "")
        )
    if not isinstance(because or "", str):
        raise ClearschedError(f"{where}: because: a text expected")
    if isinstance(priority, bool) or not isinstance(priority or 0, int):
        raise ClearschedError(f"{where}: priority: a whole number expected, not {priority!r}")
    choice = _choice(problem, do, where)
    when = _when(entry.get("when"), choice, where)
    patch = Patch(when, do or "", None if cap is None else float(cap), because or "", priority or 0)
    conditions = conditions_of(patch, choice)
    if tighten(conditions) is None:
        raise ClearschedError(f"{where}: when: {when!r}: no candidate can meet this")
    why = never(conditions, choice, problem.choices)
    if why:
        raise ClearschedError(f"{where}: when: {when!r}: no candidate can meet this: {why}")
    return patch


def _choice(problem: Problem, do: str | None, where: str) -> Choice:
    """The choice that an action is about; `do` is None for a cap."""
    rank = rank_choice(problem.choices)
    level = level_choice(problem.choices)
    if do is None and level is None:
        raise ClearschedError(f"{where}: cap: {problem.name} has no choice of a level: nothing to bound")
    if do == KEEP_LOCAL and not rank.keeps:
        raise ClearschedError(f"{where}: do: {problem.name} has no candidate that changes nothing: nothing is local")
    if do == STAY_IDLE and not rank.none:
        raise ClearschedError(f"{where}: do: {problem.name} has no answer `none of these`: it never idles")
    return rank if do is not None or level is None else level


def _when(text: Any, choice: Choice, where: str) -> str:
    """The conditions of an entry, with their names and units checked."""
    if not isinstance(text, str) or not text.strip():
        raise ClearschedError(f"{where}: when: a text such as `feature > number` expected, or `{ALWAYS}`")
    if text.strip() == ALWAYS:
        return ALWAYS
    units = {feature.name: feature.unit for feature in choice.features}
    for written in _comparisons(text, f"{where}: when"):
        known_column(written.feature, list(units), f"{where}: when")
        unit = units[written.feature]
        if written.unit and written.unit != unit:
            told = f"is in {unit}" if unit else "has no unit"
            raise ClearschedError(f"{where}: when: {written.feature} {told}, not in {written.unit!r}")
    return " ".join(text.split())


def _comparisons(text: str, where: str) -> list[Comparison]:
    """As `parse_comparisons`; the line of what is none has a hint where it is plain what was meant."""
    try:
        return parse_comparisons(text, where)
    except ClearschedError as error:
        raise ClearschedError(f"{error}{_hint(text)}") from None


def _hint(text: str) -> str:
    """What was probably meant by conditions that cannot be read."""
    if text.strip().lower() == ALWAYS:
        return f"; did you mean {ALWAYS}?"
    if re.search(r"\band\b", text, re.IGNORECASE) and not re.search(r"\band\b", text):
        return "; `and` is written in small letters"
    joined = JOINED.search(text)
    return f"; a unit stands after a space: {joined[1]} {joined[2]}" if joined else ""
