"""What every scorer can do, and how one is read from a student's file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from clearsched.compiled.feature import Feature
from clearsched.compiled.scoring import Packed, scores_of
from clearsched.errors import ClearschedError
from clearsched.registry import load
from clearsched.scorers.kinds import SCORERS

LARGEST = 1e30
"""Of the numbers of a scorer; features are float32, which ends at 3e38."""

Facts = Mapping[str, Any]
"""What a text may tell beside the scorer: `most`, the most that a level can be, and `unit`, what it is a number of;
`none`, whether "none of these" is an answer; `help_first`, whether that means to help first. Each may be missing."""


class Scoring(Protocol):
    """Scores of rows whose features have the names that were told before."""

    def __call__(self, features: np.ndarray, starts: np.ndarray | None = None) -> np.ndarray:
        """As `Scorer.scores`."""


class Question(Protocol):
    """The choice that a scorer answers, as far as it needs it: a `problems.declarations.Choice`."""

    @property
    def name(self) -> str: ...
    @property
    def form(self) -> str:
        """rank: the candidate of the highest score is chosen; level: the score is a share of the most."""

    @property
    def question(self) -> str:
        """For example "Which stage gets executors?"."""

    @property
    def features(self) -> tuple[Feature, ...]: ...
    @property
    def none(self) -> str:
        """What "none of these" means, in words."""

    @property
    def helps(self) -> str:
        """And of policies that mean "help first" by it."""

    @property
    def unit(self) -> str:
        """What a level counts: "executors"."""


LEVEL = "level"
"""The form of a choice of how much."""


class Clause(NamedTuple):
    """One of the ordered clauses of a scorer: the first that a row fits gives it its score.

    Attributes:
        conditions: that it must meet, by the columns of the scorer.
        capped: whether a cap decides besides.
    """

    conditions: tuple[Any, ...]  # of `scorers.conditions.Condition`
    capped: bool = False


class Piece(NamedTuple):
    """A part of a scorer that a person reads as one.

    Attributes:
        name: "rule 2", "tie 1: least job_age_s".
        without: the scorer without it; None where it cannot be left out, as the last rule.
        speaks: whether `Scorer.firing` tells the rows for which it speaks, where that tells anything: a tie has none.
    """

    name: str
    without: Scorer | None
    speaks: bool = True


class Scorer(Protocol):
    """A number for each row of features: the score of a candidate, or the share of the most that a level is.

    A kind derives from it and says what it knows beyond the first methods; what it leaves out is nothing.
    """

    relative: ClassVar[bool] = False
    """Whether the score of a row depends on the other rows of its decision."""

    clause: ClassVar[str] = ""
    """What its clauses are called: "rule", "step"; empty where it has none."""

    def pack(self, names: Sequence[str], where: str = "scorer") -> Packed:
        """Flat arrays for the compiled loop, whose rows have the features `names`; `where` begins an error.

        Raises:
            ClearschedError: a feature that is none of `names`, or a kind that answers outside the loop only.
        """

    def scores(self, features: np.ndarray, names: Sequence[str], starts: np.ndarray | None = None) -> np.ndarray:
        """float64[n]: the score of each row of float32[n, F] with the features `names`, to the bit as in the loop.

        `starts`: int64[d + 1], the first row of each decision; None: all rows are of one. Asked where `relative`.
        """
        return self.scoring(names)(features, starts)

    def scoring(self, names: Sequence[str]) -> Scoring:
        """`scores` for who asks often: what can be made ready is made once."""
        packed = self.pack(names)
        return lambda features, starts=None: scores_of(packed, features, starts)

    def to_json(self) -> Any:
        """The value that a student's file has of it; `from_json` gives the same scorer back."""

    @classmethod
    def from_json(cls, value: Any, names: Sequence[str], where: str) -> Scorer:
        """Read and check what a file has.

        Args:
            value: a value as `to_json` gives.
            names: the features that the choice has.
            where: file and key, for errors.

        Raises:
            ClearschedError: it is malformed, or asks for an unknown feature.
        """

    def render(self, choice: Question, facts: Facts) -> list[str]:
        """Its text in lines, with units: first the question and how it is answered."""

    def complexity(self) -> int:
        """How many numbers and conditions a person must read."""

    @property
    def used(self) -> tuple[str, ...]:
        """The features that it asks for, each once."""

    def check(self, choice: Question, where: str) -> None:
        """Whether it can answer a choice: some have parts that only one form of choice can have.

        Raises:
            ClearschedError: it cannot; for a choice of a level: it is always the same number, which is no share.
        """
        if choice.form == LEVEL and not self.used:
            names = [feature.name for feature in choice.features]
            check_share(float(self.scores(np.zeros((1, len(names)), np.float32), names)[0]), where)

    def pieces(self) -> list[Piece]:
        """Its pieces in the order in which they are printed; those that `firing` tells apart come first."""
        return []

    def clauses(self) -> list[Clause]:
        """Its clauses in their order, which `firing` tells apart."""
        return []

    def shorter(self) -> Iterator[Scorer]:
        """It with a part less that a search may have left idle; the larger parts first, the last of them first."""
        return iter(())

    def numbered(self) -> Scorer | None:
        """The scorer whose score of a row is the place of the piece that speaks for it; None where there is none."""
        return None

    def firing(self, features: np.ndarray, names: Sequence[str]) -> np.ndarray | None:
        """int64[n]: the piece that speaks for each row of float32[n, F], by its place; None where all do at once."""
        numbered = self.numbered()
        return None if numbered is None else numbered.scores(features, names).astype(np.int64)

    def is_piecewise(self, name: str, together: int = 1) -> bool:
        """Whether, between `thresholds` and caps, the values of a feature at which a row stays the best lie together.

        So it is where the score is a straight line there, or rises or falls by the same for every row.

        `together`: 1: this must hold of the row that is the best now; more: of any, where several rows change at once.
        """
        return False

    def thresholds(self, name: str) -> np.ndarray:
        """float32, sorted: what a feature is compared with; a row goes the one way below it, the other from it on."""
        return np.zeros(0, np.float32)

    def places(self) -> Counter[str]:
        """How many conditions, ties, nodes, powers and weights ask for each feature."""
        return Counter(self.used)


class ByColumns(Scorer, Protocol):
    """A scorer whose conditions count features by the columns of names of its own."""

    names: tuple[str, ...]

    @property
    def used(self) -> tuple[str, ...]:
        """The features of `places`, in the order of the columns."""
        asked = self.places()
        return tuple(name for name in self.names if asked[name])


def read_scorer(value: Any, names: Sequence[str], where: str) -> Scorer:
    """The scorer of a value in a student's file: its kind is told by its key; weights or a number are a formula.

    Raises:
        ClearschedError: no kind of scorer, two at once, or one that is malformed.
    """
    keys = [kind.key for kind in SCORERS.values()]
    given = [key for key in keys if isinstance(value, dict) and key in value]
    if len(given) > 1:
        raise ClearschedError(f"{where}: give either {given[0]!r} or {given[1]!r}, and not both")
    if not (isinstance(value, int | float) or (isinstance(value, dict) and value)):
        raise ClearschedError(f"{where}: weights by feature, a number, or an object with {' or '.join(keys)} expected")
    _check_size(value, where)
    kind = next((kind for kind in SCORERS.values() if kind.key in given), SCORERS["formula"])
    scorer: Scorer = load(kind.scorer).from_json(value, names, where)
    return scorer


def _check_size(value: Any, where: str) -> None:
    """Features are compared as float32, so no number of a scorer may be beyond it; what is no number the kinds tell.

    Raises:
        ClearschedError: a number is too large.
    """
    level = [(value, "")]
    while level:
        for found, path in level:
            # Compared as it is: a whole number may be too large for a float.
            if isinstance(found, int | float) and LARGEST < abs(found) < float("inf"):
                raise ClearschedError(f"{where}{path}: {found:.3g} is too large: at most {LARGEST:g}")
        level = [
            (inner, f"{path}[{key}]" if isinstance(found, list) else f"{path}.{key}")
            for found, path in level
            if isinstance(found, list | dict)
            for key, inner in (found.items() if isinstance(found, dict) else enumerate(found))
        ]


def check_share(value: float | None, where: str) -> None:
    """What a level is told by is a share of the most.

    Raises:
        ClearschedError: it is below 0 or above 1.
    """
    if value is not None and not 0 <= value <= 1:
        raise ClearschedError(f"{where}: {value:g}: a share from 0 to 1 expected")


def sorted_marks(marks: Iterable[float]) -> np.ndarray:
    """float32, each once: thresholds as rows are compared with them."""
    return np.unique(np.array(list(marks), np.float32))


def known_column(name: str, names: Sequence[str], where: str) -> int:
    """The position of a feature in `names`.

    Raises:
        ClearschedError: it is none of them; the line names the nearest one.
    """
    if name not in names:
        near = get_close_matches(name, names, 1)
        raise ClearschedError(f"{where}: unknown feature {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
    return list(names).index(name)


def name_list(value: Any, names: Sequence[str], where: str) -> tuple[str, ...]:
    """A file's own list of features, by which its numbers count.

    Raises:
        ClearschedError: no list of texts, an unknown feature, or one that stands there twice.
    """
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ClearschedError(f"{where}: features: a list of names expected")
    for place, name in enumerate(value):
        known_column(name, names, where)
        if name in value[:place]:
            raise ClearschedError(f"{where}: features: {name} stands there twice")
    return tuple(value)
