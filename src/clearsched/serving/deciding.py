"""A student made ready to answer requests, with the code that answers in the simulator's loop."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np

from clearsched.compiled.asking import LEVEL, NOBODY, PIECES, RANK, Answer, Asked, Held, ask, hold, scores_held
from clearsched.compiled.scoring import INVALID, NONE, NOTHING
from clearsched.errors import ClearschedError
from clearsched.problems.declarations import Choice
from clearsched.problems.episodes import level_of
from clearsched.reading.flipping import asked_features, marks_of
from clearsched.reading.reasons import Ready, Reasons
from clearsched.scorers.patches import conditions_of
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.serving.guarding import ask_guard
from clearsched.serving.schema import Decision, Guarding, Level, RunnerUp, request_type


class Unanswerable(ClearschedError):
    """A request to which the rules have no answer: with its numbers a score is not a finite number."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


class Decided(NamedTuple):
    """A request and its answer."""

    request: Any  # of `Decider.request_type`
    given: np.ndarray  # float64[n, k]: the features that are needed
    answer: Answer
    level: int  # 0: none was asked for


@dataclass(frozen=True)
class Pieces:
    """The pieces of the scorer of a choice, of which one speaks for a row."""

    names: tuple[str, ...]  # empty where all count at once
    choice: Choice
    policy: ScoredPolicy
    is_numbered: bool

    def spoken(self, number: float, row: np.ndarray) -> str | None:
        """What speaks for a row: by the number that compiled code found, or asked of the scorer, of float32[1, F]."""
        if not self.names:
            return None
        if not self.is_numbered:
            place = self.policy.scorers[self.choice.name].firing(row, names_of(self.choice))
            return None if place is None else self.names[int(place[0])]
        return self.names[int(number)]


class Decider:
    """The rules of one file, ready to answer; nothing in it changes.

    Attributes:
        policy: what the file says.
        digest: of the file.
        needed: the features that a request must give.
        request_type: what it is read as.
        held: the scorers, handed over to compiled code.
        asked: the features of the rank choice that are needed, with what they are compared with.
        is_straight: whether compiled code finds the smallest change of any of them.
        shared: bool[F]: the feature belongs to the decision.
        gauges: of the problem.
        watched: the names of those that the guard needs; none without one.
        reasons: by the name of a choice, why it is answered as it is.
    """

    def __init__(self, policy: ScoredPolicy, digest: str, most_candidates: int) -> None:
        """Make it ready.

        Raises:
            ClearschedError: a scorer that does not run in the simulator's loop.
        """
        self.policy, self.digest = policy, digest
        self.rank, self.level = policy.rank, policy.level
        self.names = names_of(self.rank)
        self.needed = needed_of(policy)
        self.columns = np.array([self.names.index(name) for name in self.needed], np.int64)
        self.most = int(policy.evidence.get("most", 0)) if self.level else 0
        self.gauges, self.watched = policy.problem.gauges, tuple(policy.guard.when) if policy.guard else ()
        self.request_type = request_type(
            self.rank, self.needed, self.level, self.most, most_candidates, self.gauges, self.watched
        )
        self.decode = msgspec.json.Decoder(self.request_type).decode
        self._features = _reader(self.needed)
        self._pieces = {choice.name: _pieces(policy, choice) for choice in policy.problem.choices}
        self._up = policy.rounds_up
        level = policy.packed(self.level) if self.level else NOTHING
        asked = Asked(policy.packed(self.rank), self._numbers(self.rank), level, self._numbers(self.level))
        self.held = hold(asked)
        self.shared = np.array([feature.per_decision for feature in self.rank.features])
        straight, others = asked_features(policy)
        self.asked, self.is_straight = marks_of(policy, sorted(straight + others)), not others
        self.reasons = {
            choice.name: Reasons(policy.scorers[choice.name], choice, _ready(self.held, which, pieces is not NOTHING))
            for choice, which, pieces in ((self.rank, RANK, asked.rank_pieces), (self.level, LEVEL, asked.level_pieces))
            if choice is not None
        }
        ask(self.held, np.zeros((1, len(self.columns))), self.columns, len(self.names), True)  # compiled, or read

    def _numbers(self, choice: Choice | None) -> Any:
        numbered = None if choice is None else self.policy.scorers[choice.name].numbered()
        return NOTHING if numbered is None or choice is None else numbered.pack(names_of(choice))

    def decide(self, request: Any) -> Decided:
        """Answer a request of `request_type`.

        Raises:
            Unanswerable: a score is not a finite number.
        """
        read = self._features
        given = np.array([read(candidate.features) for candidate in request.candidates], np.float64)
        given = given.reshape(len(request.candidates), len(self.columns))
        allowed = bool(self.rank.none) and request.none_allowed
        answer = ask(self.held, given, self.columns, len(self.names), allowed)
        if answer.best == INVALID:
            raise self._fault(given)
        if answer.best == NONE or self.level is None:
            return Decided(request, given, answer, 0)
        if not math.isfinite(answer.share):
            where = f"candidates[{answer.best}].features"
            raise Unanswerable(where, f"with these the {self.level.name} is not a finite number")
        least, most = int(request.candidates[answer.best].least), int(request.most)
        return Decided(request, given, answer, min(level_of(answer.share, least, most, up=self._up), most))

    def told(self, decided: Decided) -> Decision:
        """The answer as it is sent, without words."""
        best, answer = decided.answer.best, decided.answer
        chosen = None if best == NONE else best
        return Decision(
            chosen,
            None if chosen is None else decided.request.candidates[chosen].id,
            self.policy.idles if chosen is None else None,
            answer.score,
            None if chosen is None else self._rule(self.rank, decided, chosen, answer.piece),
            None if chosen is None or self.level is None else self._told_level(self.level, decided),
            None if answer.second == NOBODY else self._told_second(decided),
            self.policy.name,
            self.digest,
            self._told_guard(decided.request),
        )

    def rows(self, decided: Decided, more: int = 0) -> np.ndarray:
        """float32[n + more, F]: the candidates with all features, those that are not needed 0; `more` rows of 0."""
        count = len(decided.given)
        rows = np.zeros((count + more, len(self.names)), np.float32)
        rows[:count, self.columns] = decided.given
        return rows

    def _told_guard(self, request: Any) -> Guarding | None:
        """What the guard says; None: there is none, or it is not asked."""
        policy = self.policy
        if policy.guard is None or request.gauges is None:
            return None
        return ask_guard(policy.guard, policy.problem, request.gauges, request.taken_over)

    def _told_level(self, level: Choice, decided: Decided) -> Level:
        answer = decided.answer
        rule = self._rule(level, decided, answer.best, answer.level_piece)
        return Level(level.name, decided.level, level.unit, answer.share, rule)

    def _told_second(self, decided: Decided) -> RunnerUp:
        answer = decided.answer
        if answer.second == NONE:
            return RunnerUp(None, None, 0.0, None)
        rule = self._rule(self.rank, decided, answer.second, answer.second_piece)
        return RunnerUp(answer.second, decided.request.candidates[answer.second].id, answer.second_score, rule)

    def _rule(self, choice: Choice, decided: Decided, row: int, number: float) -> str | None:
        pieces = self._pieces[choice.name]
        if pieces.is_numbered or not pieces.names:
            return pieces.spoken(number, decided.given)
        only = decided._replace(given=decided.given[row : row + 1])
        return pieces.spoken(number, self.rows(only))

    def _fault(self, given: np.ndarray) -> Unanswerable:
        """Which candidate has a score that is not finite."""
        rows = np.zeros((len(given), len(self.names)), np.float32)
        rows[:, self.columns] = given
        scores = self.policy.scorers[self.rank.name].scores(rows, self.names)
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        return Unanswerable(f"candidates[{row}].features", "with these its score is not a finite number")


def needed_of(policy: ScoredPolicy) -> tuple[str, ...]:
    """The features that the scorers and patches of a policy ask for, in the order of the columns."""
    found: set[str] = set()
    for choice in policy.problem.choices:
        found |= set(policy.scorers[choice.name].used)
        own = [patch for patch in policy.patches if (patch.cap is not None) == (choice.form == "level")]
        found |= {choice.features[c.feature].name for patch in own for c in conditions_of(patch, choice)}
    return tuple(name for name in names_of(policy.rank) if name in found)


def _ready(held: Held, choice: int, is_numbered: bool) -> Ready:
    """Scores and pieces of rows, by one quick call each."""
    numbered = partial(scores_held, held, choice + PIECES) if is_numbered else None
    return Ready(partial(scores_held, held, choice), numbered)


def _reader(names: tuple[str, ...]) -> Any:
    """A function that takes the values of some attributes of an object, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda features: (getattr(features, names[0]),)) if names else (lambda features: ())


def _pieces(policy: ScoredPolicy, choice: Choice) -> Pieces:
    scorer = policy.scorers[choice.name]
    names = names_of(choice)
    speaks = scorer.firing(np.zeros((1, len(names)), np.float32), names) is not None
    told = tuple(piece.name for piece in scorer.pieces() if piece.speaks) if speaks else ()
    return Pieces(told, choice, policy, scorer.numbered() is not None)
