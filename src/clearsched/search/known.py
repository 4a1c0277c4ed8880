"""What policies came to on episodes, so that none runs on one twice: the same policy always comes to the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from clearsched.problems.episodes import Episode
from clearsched.problems.policy import Policy
from clearsched.scorers.policy import ScoredPolicy


class Known:
    """Columns of `Trials.outcomes` by policy and episode.

    Policies are told by what decides, episodes by being the same. Heuristics, networks and other policies that are no
    `ScoredPolicy` are not told apart, and not kept.
    """

    def __init__(self) -> None:
        """Nothing is known."""
        self._places: dict[int, int] = {}
        self._episodes: list[Episode] = []  # kept, so that no other one gets the identity of one that is gone
        self._found: dict[bytes, dict[int, np.ndarray]] = {}

    def places(self, episodes: Sequence[Episode]) -> list[int]:
        """The number of each episode."""
        for episode in episodes:
            if id(episode) not in self._places:
                self._places[id(episode)] = len(self._episodes)
                self._episodes.append(episode)
        return [self._places[id(episode)] for episode in episodes]

    def of(self, policy: Policy) -> dict[int, np.ndarray]:
        """float64[4] by the number of the episode: what is known of a policy, to be added to."""
        key = key_of(policy)
        return {} if key is None else self._found.setdefault(key, {})


def key_of(policy: Policy) -> bytes | None:
    """The same for policies that decide the same because they say the same; None where nothing tells."""
    if not isinstance(policy, ScoredPolicy):
        return None
    told = {
        "none": policy.none,
        "help_first": policy.help_first,
        "scorers": {name: scorer.to_json() for name, scorer in policy.scorers.items()},
        "patches": [patch.to_json() for patch in policy.patches],
        "guard": policy.guard.to_json() if policy.guard else None,
    }
    return blake2b(json.dumps(told).encode(), digest_size=16).digest()
