"""What followed each decision: the reward until the next one, and the return, known when its episode has ended."""

from __future__ import annotations

from typing import Any

import numpy as np


class Returns:
    """The times of the decisions of each episode, then what its outcome says of them."""

    def __init__(self) -> None:
        self._times: dict[tuple[str, int], list[float]] = {}
        self._ended: dict[tuple[str, int], np.ndarray] = {}

    def add(self, split: str, episode: int, time_s: float) -> None:
        """A decision; those of an episode come in their order."""
        self._times.setdefault((split, episode), []).append(time_s)

    def end(self, split: str, episode: int, outcome: Any) -> None:
        """An episode is over: what its objective lost from each decision on (`Outcome.cost_to_go`), not discounted."""
        times_s = np.array(self._times.pop((split, episode), []))
        returns = outcome.cost_to_go(times_s, np.inf)
        self._ended[split, episode] = np.stack([returns - np.append(returns[1:], 0.0), returns])

    def of(self, split: np.ndarray, episode: np.ndarray, decision: np.ndarray) -> np.ndarray:
        """float64[2, n]: reward and return of the decisions of n rows; NaN where the episode has not ended.

        Args:
            split: text[n].
            episode: int[n].
            decision: int[n], index in its episode.
        """
        found = np.full((2, len(episode)), np.nan)
        starts = np.flatnonzero(np.append(True, (episode[1:] != episode[:-1]) | (split[1:] != split[:-1])))
        for begin, end in zip(starts, np.append(starts[1:], len(episode)), strict=True):
            ended = self._ended.get((str(split[begin]), int(episode[begin])))
            if ended is not None:
                found[:, begin:end] = ended[:, decision[begin:end]]
        return found
