"""Who wins among candidates of the same rule: the least, or the most, of a feature or two.

"The smallest job first" is one order, and no list of a few rules can say it otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearsched.decisions.choices import Choices
from clearsched.problems.declarations import Choice
from clearsched.scorers.ties import MOST
from clearsched.students.assembly import Regret

PRICE = 0.002
"""What a tie must save in mean regret (0 to 1) to be worth its reader's time."""


def find_ties(real: Choices, choice: Choice, most: int) -> tuple[str, ...]:
    """The features that order candidates as the expert does, without rules; each the best after those before.

    Features that order none but the candidate that changes nothing (`Choice.keeps`) are left out: what was chosen
    before mostly is preferred again, so they would come first, and a rule says that better.

    Args:
        real: decisions with more than one row.
        choice: the choice that they answer.
        most: ties, at most.
    """
    names = [feature.name for feature in choice.features]
    told = [name for name, orders in zip(names, ordering(real, choice), strict=True) if orders]
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


def ordering(real: Choices, choice: Choice) -> np.ndarray:
    """bool[F]: the features in which candidates of a decision differ, beside the one that changes nothing."""
    others = ~real.is_none
    names = [feature.name for feature in choice.features]
    if choice.keeps in names:
        others &= ~(real.features[:, names.index(choice.keeps)] >= 1)
    masked = others[:, None]
    low = np.minimum.reduceat(np.where(masked, real.features, np.inf), real.starts[:-1])
    high = np.maximum.reduceat(np.where(masked, real.features, -np.inf), real.starts[:-1])
    return np.asarray((low < high).any(axis=0))


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
