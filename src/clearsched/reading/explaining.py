"""One logged decision in words: why the student answers A and not B, what the teacher did, what would flip it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from clearsched.decisions.answers import level_answers, rank_places
from clearsched.decisions.choices import Choices
from clearsched.errors import ClearschedError
from clearsched.problems.declarations import Choice
from clearsched.reading.files import read_log
from clearsched.reading.flipping import DECISION, GROUP, Flip, Searched, Spread, smallest_flip, spread_of
from clearsched.reading.reasons import Ready, Reasons, Spoken, reached, valued
from clearsched.scorers import words
from clearsched.scorers.patches import meets
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.students.dataset import subset

WIDTH = 100


def explain(policy: ScoredPolicy, decisions: Path, split: str, episode: int, decision: int) -> str:
    """See `clearsched.reading.explain`."""
    logged, most = read_log(policy, decisions, split)
    choices = logged[policy.rank.name]
    place = find(choices, split, episode, decision, decisions)
    spread = spread_of(choices)
    prepared = Prepared(policy)
    told = Telling(prepared, _only(choices, place), most).sentences(spread)
    if policy.level is not None:
        levels = logged[policy.level.name]
        same = np.flatnonzero((levels.episode == episode) & (levels.decision == decision))
        told += level_account(prepared, _only(levels, int(same[0])), most) if len(same) else []
    if policy.guard:
        told.append(f"Its guard has no say in this: {policy.guard.sentence(policy.problem)}")
    return textwrap.fill(" ".join(told), WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def find(choices: Choices, split: str, episode: int, decision: int, where: Path) -> int:
    """The position of a decision.

    Raises:
        ClearschedError: it is not in the log; the line says what is.
    """
    of_episode = choices.episode == episode
    if not of_episode.any():
        known = np.unique(choices.episode)
        raise ClearschedError(
            f"{where}: no episode {episode} of the split {split!r}: it has {known[0]} to {known[-1]} there"
        )
    found = np.flatnonzero(of_episode & (choices.decision == decision))
    if not len(found):
        known = choices.decision[of_episode]
        raise ClearschedError(
            f"{where}: no decision {decision} in episode {episode}: it has {known.min()} to {known.max()}"
        )
    return int(found[0])


def _only(choices: Choices, place: int) -> Choices:
    return subset(choices, np.arange(len(choices.chosen)) == place)


@dataclass(frozen=True)
class Prepared:
    """A policy made ready to account for many decisions: what each account asks of it is packed once."""

    policy: ScoredPolicy

    @property
    def name(self) -> str:
        """What tables call the policy."""
        return self.policy.name

    @property
    def may_idle(self) -> bool:
        """Whether "none of these" is an answer."""
        return self.policy.may_idle

    @cached_property
    def rounds_up(self) -> bool:
        """Whether a level is rounded up."""
        return self.policy.rounds_up

    def scores(self, features: np.ndarray, starts: np.ndarray | None = None) -> np.ndarray:
        """float64[n]: as the policy has it."""
        return self.searched.scoring(features, starts)

    def level_share(self, features: np.ndarray) -> np.ndarray:
        """float64[n]: as the policy has it."""
        return self._sharing(features)

    @cached_property
    def searched(self) -> Searched:
        """The policy, for who searches its decisions for flips."""
        return Searched(self.policy)

    @cached_property
    def rank_reasons(self) -> Reasons:
        """Why the rank choice is answered as it is."""
        return self._reasons(self.policy.rank)

    @cached_property
    def level_reasons(self) -> Reasons:
        """Why the choice of a level is answered as it is; the problem must have one."""
        assert self.policy.level is not None
        return self._reasons(self.policy.level)

    @cached_property
    def _sharing(self) -> Callable[[np.ndarray], np.ndarray]:
        return self.policy.sharing()

    def _reasons(self, choice: Choice) -> Reasons:
        scorer, names = self.policy.scorers[choice.name], names_of(choice)
        numbered = scorer.numbered()
        places = None if numbered is None else numbered.scoring(names)
        return Reasons(scorer, choice, Ready(scorer.scoring(names), places))


@dataclass(frozen=True)
class Telling:
    """A decision of the rank choice, who answers it, and the most of a level."""

    prepared: Prepared
    decision: Choices
    most: int

    @property
    def policy(self) -> ScoredPolicy:
        """Who answers."""
        return self.prepared.policy

    @cached_property
    def none(self) -> np.ndarray:
        """bool[n]: the row is "none of these"."""
        return self.decision.is_none

    def is_none(self, row: int) -> bool:
        """Whether a row is "none of these"."""
        return bool(self.none[row])

    def spoken(self, row: int) -> Spoken:
        """What comes of a row."""
        return self.reasons.spoken(self.decision.features[row])

    def sentences(self, spread: Spread) -> list[str]:
        """The whole account but for the level, what is asked first; `spread`: of the log's features."""
        return [self._setting(), *self.account(spread)]

    def account(self, spread: Spread) -> list[str]:
        """What the student answers and why, what the teacher did, what would flip it."""
        order = np.argsort(rank_places(self.prepared, self.decision))
        answer, teachers = int(order[0]), int(self.decision.chosen[0])
        opening = f"The student answers {self.name(answer)}{self.because(answer)}."
        if len(order) == 1:
            return [opening, "There is no other answer."]
        other = teachers if teachers != answer else int(order[1])
        return [opening, *self.comparison(answer, other), self._teacher(answer), *self._flips(spread, answer, teachers)]

    def name(self, row: int) -> str:
        """What a row is called: "stage 57 (job 12)"."""
        rank = self.policy.rank
        if self.is_none(row):
            return f"none of these ({self.policy.idles})"
        told = f"{rank.name} {self.decision.candidate[row]}"
        return f"{told} ({self.group_name(row)})" if rank.group else told

    def group_name(self, row: int) -> str:
        """What the group of a row is called: "job 12"."""
        return f"{self.policy.rank.group} {self.decision.group[row]}"

    def _setting(self) -> str:
        rank, decision = self.policy.rank, self.decision
        real = ~self.none
        groups = len(np.unique(decision.group[real]))
        count = int(real.sum())
        among = f"{count} candidate{'s' * (count != 1)}"
        among += f" of {groups} {rank.group}{'s' * (groups != 1)}" if rank.group else ""
        among += " and none of these" if not real.all() else ""
        return (
            f"Episode {decision.episode[0]}, decision {decision.decision[0]}, at {decision.time_s[0]:,.1f} s. "
            f"{rank.question} There {'is' if count == 1 else 'are'} {among}."
        )

    @cached_property
    def reasons(self) -> Reasons:
        """Why the rank choice is answered as it is."""
        return self.prepared.rank_reasons

    def because(self, row: int) -> str:
        """What speaks for an answer, to follow its name."""
        if self.is_none(row):
            why = "is worth it" if self.policy.patches else "has a score above 0"
            return f", since no candidate {why}"
        return f": {self.reasons.for_it(self.spoken(row))}{self._patched(row)}"

    def _patched(self, row: int) -> str:
        """The patches that a candidate meets; they come before its score."""
        rank = self.policy.rank
        told = [
            f"patch {place} ({patch.do}{f', {patch.because}' if patch.because else ''})"
            for place, patch in enumerate(self.policy.patches, 1)
            if patch.cap is None and meets(patch, rank, self.decision.features[row])
        ]
        return f"; before that comes {' and '.join(told)}" if told else ""

    def comparison(self, answer: int, other: int) -> list[str]:
        """Why another row is not the answer."""
        if self.is_none(other):
            never = "It never answers none of these."
            return ["None of these has the score 0, which is less." if self.policy.may_idle else never]
        what = f"Not {self.name(other)}: {self.reasons.for_it(self.spoken(other))}{self._patched(other)}"
        if self.is_none(answer):
            return [f"{what}."]
        why = self.reasons.against(self.spoken(answer), self.spoken(other))
        return [f"{what}; {why}." if why else f"{what}."]

    def _teacher(self, answer: int) -> str:
        teachers, probability = int(self.decision.chosen[0]), self.decision.probability
        if teachers == answer:
            return f"The teacher chose the same (probability {probability[answer]:.2f})."
        return (
            f"The teacher chose {self.name(teachers)} (probability {probability[teachers]:.2f}; "
            f"what the student answers: {probability[answer]:.2f})."
        )

    def _flips(self, spread: Spread, answer: int, teachers: int) -> list[str]:
        flip, exact = smallest_flip(self.prepared.searched, self.decision, spread)
        if flip is None:
            return ["No change of a single feature within what the log has seen gives another answer."]
        how = "" if exact else " (found by search)"
        told = [
            f"The smallest change that flips it{how}: {self.change(flip)}, and {self.name(flip.answer)} is answered."
        ]
        if teachers not in (answer, flip.answer):
            own, exact = smallest_flip(self.prepared.searched, self.decision, spread, teachers)
            how = "" if exact else " (found by search)"
            told.append(
                f"For the teacher's choice{how}: {self.change(own)}."
                if own
                else "No single feature leads to the teacher's choice."
            )
        return told

    def change(self, flip: Flip) -> str:
        """What would have to change, and by how much."""
        feature = self.policy.rank.features[flip.feature]
        whose = self.name(int(flip.rows[0]))
        if flip.owner == GROUP and self.policy.rank.group:
            whose = self.group_name(int(flip.rows[0]))
        elif flip.owner == DECISION:
            whose = "all candidates"
        was = float(self.decision.features[flip.rows[0], flip.feature])
        return (
            f"{feature.name} of {whose} from {valued(was, feature.unit)} to {reached(flip.value, feature.unit)}, "
            f"{flip.distance:.2g} of its deviations"
        )


def level_account(prepared: Prepared, decision: Choices, most: int) -> list[str]:
    """What the student answers the choice of a level for the candidate that the teacher chose."""
    policy, level = prepared.policy, prepared.policy.level
    assert level is not None
    answer, teachers = int(level_answers(prepared, decision, most)[0]), int(decision.candidate[decision.chosen[0]])
    least, last = int(decision.candidate[0]), int(decision.candidate[-1])
    unit = f" {level.unit}" if level.unit else ""
    reasons = prepared.level_reasons
    reason = reasons.level(reasons.spoken(decision.features[0]))
    capped = [
        f"patch {place} lowers it to {words.amount(patch.cap, level, {})}"
        for place, patch in enumerate(policy.patches, 1)
        if patch.cap is not None and meets(patch, level, decision.features[0])
    ]
    reason = "; ".join([reason, *capped])
    told = f"For the {policy.rank.name} that the teacher chose, of {least} to {last}{unit} the student gives {answer}"
    same = "as the teacher does" if answer == teachers else f"the teacher {teachers}"
    return [f"{told}{f' ({reason})' if reason else ''}, {same}."]
