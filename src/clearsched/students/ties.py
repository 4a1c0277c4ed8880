"""Who wins among candidates of the same rule: the least, or the most, of a feature or two.

"The smallest job first" is one order, and no list of a few rules can say it otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearsched.decisions.choices import Choices
from clearsched.problems.problem import Choice
from clearsched.scorers.rules import MOST
from clearsched.students.assembly import Regret
from clearsched.students.dataset import best_rows, subset, without

PRICE = 0.002
"""What a tie must save in mean regret (0 to 1) to be worth its reader's time."""


def proposals(real: Choices, choice: Choice, most: int) -> list[tuple[str, ...]]:
    """The ties of all decisions, and those of the decisions that changed something, where they differ.

    What was chosen before mostly is preferred again, so a feature that goes with it (`Choice.keeps`) may come first in
    all decisions, where a rule says that better. In those that changed something other features may mislead: which of
    the two schedules better is for the simulator to say.
    """
    asked = [real, changes(real, choice)]
    return list(dict.fromkeys(find_ties(decisions, choice, most) for decisions in asked if len(decisions.chosen)))


def find_ties(real: Choices, choice: Choice, most: int) -> tuple[str, ...]:
    """The features that order candidates as the expert does, if there were no rules; each the best after those before.

    Args:
        real: decisions with more than one row.
        choice: the choice that they answer.
        most: ties, at most.
    """
    names = [feature.name for feature in choice.features]
    told = [feature.name for feature in choice.features if not feature.per_decision]
    ties: tuple[str, ...] = ()

    def cost(ties: Sequence[str]) -> float:
        order = order_of(real, ties, names)
        return Regret(real, order).of(np.zeros(len(order), np.int64)).regret

    lowest = cost(ties)
    while len(ties) < most:
        options = [
            (cost((*ties, sign + name)), place, sign + name) for place, name in enumerate(told) for sign in ("", MOST)
        ]
        found, _, tie = min(options)
        if found > lowest - PRICE:
            break
        lowest, ties = found, (*ties, tie)
    return ties


def changes(real: Choices, choice: Choice) -> Choices:
    """The decisions whose best row is not the candidate that changes nothing, without that candidate."""
    names = [feature.name for feature in choice.features]
    if choice.keeps not in names:
        return real
    keeps = real.features[:, names.index(choice.keeps)] >= 1  # never so for "none of these", whose features are nan
    moving = ~keeps[best_rows(real)]
    rows = np.repeat(moving, real.sizes)
    return without(subset(real, moving), keeps[rows]) if moving.any() else subset(real, moving)


def order_of(choices: Choices, ties: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """int64[n]: the place of each candidate among all by the ties, then by its row."""
    features = choices.features[~choices.is_none]
    keys = [
        -features[:, names.index(tie.removeprefix(MOST))] if tie.startswith(MOST) else features[:, names.index(tie)]
        for tie in ties
    ]
    places = np.empty(len(features), np.int64)
    places[np.lexsort((np.arange(len(features)), *reversed(keys)))] = np.arange(len(features))
    return places
