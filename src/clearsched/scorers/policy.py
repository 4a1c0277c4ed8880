"""A policy that scores: a student, a searched policy, or one that somebody wrote. JSON in, compiled policy out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.compiled.patches import patched
from clearsched.compiled.scoring import NOTHING, Packed, with_patches
from clearsched.documents import is_number
from clearsched.errors import ClearschedError
from clearsched.files import read_json, write_json
from clearsched.problems import DEFAULT, find_problem
from clearsched.problems.declarations import Choice, level_choice, rank_choice
from clearsched.problems.episodes import Compiled, Episode
from clearsched.problems.policy import as_meant
from clearsched.problems.problem import Instance, Problem
from clearsched.scorers.guard import Guard, read_guard
from clearsched.scorers.older import renewed
from clearsched.scorers.patches import STAY_IDLE, Patch, packed_patches, read_patches
from clearsched.scorers.scorer import Scorer, Scoring, read_scorer

KINDS = ("student", "searched", "formula")
"""What the key `kind` of a file may say: a formula is a student that somebody wrote."""


@dataclass(frozen=True)
class ScoredPolicy:
    """What answers each choice of its problem.

    Attributes:
        name: what tables call it.
        problem: whose choices it answers.
        scorers: by the name of the choice.
        none: whether "none of these" is an answer: its score is 0, so a candidate must have more.
        help_first: whether whom that leaves idle helps its own first (`Choice.helps`), wherever the policy schedules.
        evidence: what the file says beside the policy: the most that a level can be, how its fit went, provenance.
        where: begins an error.
        kind: student, or searched: found by `clearsched search`.
        patches: of a person, on top of the scorers, in the order in which they count.
        guard: a heuristic that takes over when too much has piled up; None: none does.
    """

    name: str
    problem: Problem
    scorers: Mapping[str, Scorer]
    none: bool = False
    evidence: Mapping[str, Any] = field(default_factory=dict)
    where: str = "student"
    kind: str = "student"
    patches: tuple[Patch, ...] = ()
    guard: Guard | None = None
    help_first: bool = False

    mode = "argmax"

    @property
    def settings(self) -> dict[str, float]:
        """Its numbers are its own: none is told beside its name."""
        return {}

    @cached_property
    def rank(self) -> Choice:
        """The choice among candidates."""
        return rank_choice(self.problem.choices)

    @cached_property
    def level(self) -> Choice | None:
        """The choice of a level, where the problem has one."""
        return level_choice(self.problem.choices)

    @property
    def idles(self) -> str:
        """What "none of these" means, in words."""
        return self.rank.helps if self.help_first else self.rank.none

    @property
    def may_idle(self) -> bool:
        """Whether "none of these" is an answer of the scorers or of a patch."""
        return self.none or any(patch.do == STAY_IDLE for patch in self.patches)

    @cached_property
    def compiled(self) -> Compiled:
        """What runs inside the simulator's loop, without the guard: the policy's own decisions.

        Raises:
            ClearschedError: a scorer that does not run there.
        """
        return self.problem.compile(self.packed(self.rank), self.packed(self.level) if self.level else NOTHING)

    @cached_property
    def guarded(self) -> Compiled:
        """What schedules whole episodes: `compiled`, with the guard if there is one."""
        return self.guard.compiled(self.problem, self.compiled) if self.guard else self.compiled

    def run(self, instance: Instance, episodes: Sequence[Episode], *, record: bool = False) -> list[Any]:
        """Schedule each episode."""
        return instance.simulate(self.guarded, as_meant(self, instance, episodes), record=record)

    def scores(self, features: np.ndarray, starts: np.ndarray | None = None) -> np.ndarray:
        """float64[n]: score of each candidate, features float32[n, F]; the first best of a decision is chosen.

        A row of NaN is "none of these": 0, or -inf for a student that never answers so. Under patches scores are whole
        numbers that tell the order (`compiled.patches.patched`). `starts`: int64[d + 1], the first row of each
        decision, which some scorers ask for (`Scorer.relative`); None: all rows are of one.
        """
        return self.scoring()(features, starts)

    def scoring(self) -> Scoring:
        """`scores` for who asks often: scorer and patches are packed once."""
        rank, none = self.rank, 0.0 if self.may_idle else -np.inf
        scores, patches = self.scorers[rank.name].scoring(names_of(rank)), packed_patches(self.patches, rank)

        def scored(features: np.ndarray, starts: np.ndarray | None = None) -> np.ndarray:
            is_none = np.isnan(features).all(axis=1)
            rows = np.where(is_none[:, None], np.float32(0), features)
            begins = None if starts is None else np.append(0, np.cumsum(~is_none))[starts]
            found = np.zeros(len(rows))
            found[~is_none] = scores(rows[~is_none], begins)
            answer: np.ndarray = np.where(is_none, none, patched(patches, self.none, rows, found))
            return answer

        return scored

    def level_share(self, features: np.ndarray) -> np.ndarray:
        """float64[n]: the share of the most that each row gets if it is chosen; features float32[n, F].

        Raises:
            ClearschedError: the problem has no level.
        """
        return self.sharing()(features)

    def sharing(self) -> Callable[[np.ndarray], np.ndarray]:
        """`level_share` for who asks often: scorer and patches are packed once.

        Raises:
            ClearschedError: the problem has no level.
        """
        if self.level is None:
            raise ClearschedError(f"{self.where}: {self.problem.name} has no choice of a level")
        shares = self.scorers[self.level.name].scoring(names_of(self.level))
        patches = packed_patches(self.patches, self.level)
        return lambda features: patched(patches, False, features, shares(features))

    @property
    def rounds_up(self) -> bool:
        """Whether a level is rounded up; else to the nearest."""
        return self.level is not None and self.packed(self.level).up

    def write(self, path: str | Path) -> None:
        """Write the policy's JSON, atomically."""
        content: dict[str, Any] = {"name": self.name, "kind": self.kind, "problem": self.problem.name}
        content["none"] = self.none
        if self.help_first:
            content["help_first"] = True
        if self.patches:
            content["patches"] = [patch.to_json() for patch in self.patches]
        if self.guard:
            content["guard"] = self.guard.to_json()
        units: dict[str, str] = {}
        for choice in self.problem.choices:
            content[choice.name] = self.scorers[choice.name].to_json()
            units |= {feature.name: feature.unit for feature in choice.features if feature.unit}
        write_json(path, content | {"units": units} | dict(self.evidence))

    def packed(self, choice: Choice) -> Packed:
        """Flat arrays for the loop of what answers a choice, patches on top.

        Raises:
            ClearschedError: a scorer that does not run there.
        """
        packed = self.scorers[choice.name].pack(names_of(choice), f"{self.where}: {choice.name}")
        none = self.none and choice.form == "rank"
        packed = with_patches(packed._replace(none=none), packed_patches(self.patches, choice))
        return packed._replace(none=self.may_idle) if choice.form == "rank" else packed


def names_of(choice: Choice) -> tuple[str, ...]:
    """The names of a choice's features, in the order of the columns."""
    return tuple(feature.name for feature in choice.features)


def load_policy(path: str | Path, problem: Problem | None = None) -> ScoredPolicy:
    """Read and check the JSON of a student or formula; conditions, thresholds and weights count as they stand there.

    Without `name` the file's name stands in, without `problem` the first problem, without `none` the policy never
    answers "none of these". Files of older versions are read as well.

    Args:
        path: the file.
        problem: what the student must be for; without one, any problem.

    Raises:
        ClearschedError: the file is missing or no JSON, is for another problem, asks for an unknown feature, or a
            scorer is malformed.
    """
    path = Path(path)
    content = read_json(path)
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind not in KINDS:
        raise ClearschedError(f'{path}: no policy: an object with "kind": "student", "searched" or "formula" expected')
    name = content.get("name", path.stem)
    if not isinstance(name, str) or not name:
        raise ClearschedError(f"{path}: name: a text expected")
    problem = _problem(content.get("problem", DEFAULT), problem, path)
    content = renewed(content, problem.choices, path)
    scorers = {}
    for choice in problem.choices:
        if choice.name not in content:
            raise ClearschedError(f"{path}: {choice.name}: missing: {problem.name} asks {choice.question!r}")
        scorers[choice.name] = read_scorer(content[choice.name], names_of(choice), f"{path}: {choice.name}")
        scorers[choice.name].check(choice, f"{path}: {choice.name}")
    most = content.get("most", 0)
    if not is_number(most) or most < 0:
        raise ClearschedError(f"{path}: most: a number of at least 0 expected")
    patches = read_patches(content.get("patches", []), problem, f"{path}: patches")
    guard = read_guard(content["guard"], problem, f"{path}: guard") if "guard" in content else None
    known = {"name", "kind", "problem", "none", "help_first", "units", "patches", "guard", *scorers}
    evidence = {key: value for key, value in content.items() if key not in known}
    check_stress(evidence.get("stress", {}), path)
    told = "searched" if kind == "searched" else "student"
    student = ScoredPolicy(
        name,
        problem,
        scorers,
        content.get("none", False),
        evidence,
        str(path),
        told,
        patches,
        guard,
        read_help_first(content, problem, path),
    )
    if not isinstance(student.none, bool) or (student.none and not student.rank.none):
        raise ClearschedError(
            f"{path}: none: true or false expected, and true only where {student.rank.name!r} has such an answer"
        )
    return student


def read_help_first(content: Mapping[str, Any], problem: Problem, where: Path) -> bool:
    """What a policy's file says of `help_first`; no unless told.

    Raises:
        ClearschedError: it is neither true nor false, or true of a problem without that meaning.
    """
    told = content.get("help_first", False)
    if not isinstance(told, bool) or (told and not rank_choice(problem.choices).helps):
        allowed = "true or false" if rank_choice(problem.choices).helps else f"no policy of {problem.name} can: false"
        raise ClearschedError(f"{where}: help_first: {allowed} expected")
    return told


def check_stress(told: Any, path: Path) -> None:
    """What a policy's file says of its safety check (`search.safety.evidence`), which is asked before it is used.

    Raises:
        ClearschedError: it cannot be that.
    """
    if not isinstance(told, dict):
        raise ClearschedError(f"{path}: stress: an object expected: what the safety check said")
    for name, value in told.items():
        if name == "heuristic":
            is_right, what = isinstance(value, str), "a text"
        elif name in ("cases", "rules"):
            is_right, what = isinstance(value, list) and all(isinstance(each, str) for each in value), "a list of texts"
        else:  # infinite where a run never ended
            is_right, what = isinstance(value, int | float) and not isinstance(value, bool), "a number"
        if not is_right:
            raise ClearschedError(f"{path}: stress: {name}: {what} expected")


def _problem(name: Any, wanted: Problem | None, path: Path) -> Problem:
    if not isinstance(name, str):
        raise ClearschedError(f"{path}: problem: a text expected")
    if wanted is not None and wanted.name == name:
        return wanted
    if wanted is not None:
        raise ClearschedError(f"{path}: a student of the problem {name!r}, not of {wanted.name!r}: fit one for it")
    try:
        return find_problem(name)
    except ClearschedError as error:
        raise ClearschedError(f"{path}: {error}") from None
