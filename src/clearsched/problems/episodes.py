"""What a problem's episodes and decisions are to search, teacher, log and students: a part of the seam.

A decision is one `rank` choice (which of the candidates, or none of them) and, where the problem has one, a `level`
choice after it (how much the chosen candidate gets, a share of all there is). `problems.problem` gives episodes and
runs them; here is what a simulator asks, and what it is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from clearsched.compiled.guard import Record

NONE = -1
"""In place of a candidate: none of these."""

Episode: TypeAlias = Any
"""One episode to schedule, drawn and closed to all but its problem."""

Compiled: TypeAlias = Any
"""A policy that runs inside the problem's compiled loop."""


class Answers(NamedTuple):
    """One answer to each of B pending decisions."""

    candidate: np.ndarray  # int64[B]: position among the decision's candidates, or NONE
    level: np.ndarray  # int64[B]: answer of the level choice; 0 where there is none


class Timeline(NamedTuple):
    """Who worked for whom in an episode, and when: n spans, what a Gantt chart is drawn of."""

    row: str  # what a row of the chart is: "executor"
    rows: int
    whose: str  # what a span belongs to, by the number that `Observation.candidate_group` has: "job"
    place: np.ndarray  # int64[n]: row of each span
    group: np.ndarray  # int64[n]: whose it is
    start_s: np.ndarray  # float64[n]
    end_s: np.ndarray  # float64[n]
    waits: np.ndarray  # bool[n]: nothing is done for it then
    arrival_s: np.ndarray  # float64[G]: when each group came
    completion_s: np.ndarray  # float64[G]: and when it was complete
    note: str = ""  # what a reader must know of the picture


class Observation(Protocol):
    """B pending decisions with c candidates in all, each decision's after another's.

    A problem adds what its own network reads. Arrays last until the next `Lockstep.observe`.
    """

    @property
    def num_decisions(self) -> int:
        """B."""

    @property
    def candidates(self) -> np.ndarray:
        """float32[c, F]: the features of the rank choice."""

    @property
    def candidate_start(self) -> np.ndarray:
        """int64[B + 1]: decision b has the rows candidate_start[b] to candidate_start[b + 1]."""

    @property
    def candidate_id(self) -> np.ndarray:
        """int64[c]: what the log calls the candidate: a number that means the same all through its episode."""

    @property
    def candidate_group(self) -> np.ndarray:
        """int64[c]: candidates of one group are near ties: stages of one job."""

    @property
    def none_allowed(self) -> np.ndarray:
        """bool[B]: whether "none of these" is an answer that a learned policy may give now."""

    @property
    def levels(self) -> np.ndarray:
        """int64[c, 2]: the first and the last level that the level choice may answer; [c, 0] where there is none."""

    def take(self, rows: np.ndarray) -> Observation:
        """The decisions of the given rows, int64, in their order, in arrays of their own."""

    def and_more(self, others: Sequence[Any]) -> Observation:
        """These decisions and, after them, those of others of the same kind, in arrays of their own."""

    def backlog(self) -> np.ndarray:
        """float64[B, K]: what is waiting, in K numbers: a policy gradient does not blame a choice for it."""


class Outcome(Protocol):
    """What came of an episode."""

    @property
    def measures(self) -> Mapping[str, float]:
        """Each of the problem's measures by name."""

    @property
    def by_job(self) -> Mapping[str, np.ndarray]:
        """float64[J] by the name of a measure: what it is of each job, where the measure is the mean over them."""

    @property
    def num_decisions(self) -> int:
        """Answers of the policy, `none` included."""

    @property
    def guard(self) -> Record | None:
        """What the policy's guard saw, if it has one; a problem without gauges need not have this."""

    @property
    def scale_s(self) -> float:
        """How long a job stays, s: the unit of the horizon over which a choice is judged."""

    @property
    def end_s(self) -> float:
        """Simulated time at which the last job ended, s."""

    @property
    def cleared_s(self) -> float:
        """When the jobs that were there at once at the beginning were cleared away, s; 0 where there was no crowd.

        A problem without such episodes need not have this.
        """

    def cost_to_go(self, times_s: np.ndarray, horizon_s: float) -> np.ndarray:
        """float64[T]: what the instance's objective loses from each time on, as a negative number.

        Discounted by exp(-(s - t) / horizon_s), unless the objective is told by the end of the episode alone.
        """


class Lockstep(Protocol):
    """K episodes that take their decisions together."""

    @property
    def pending(self) -> np.ndarray:
        """int64[B]: the lanes that wait for an answer, in increasing order."""

    @property
    def episode(self) -> np.ndarray:
        """int64[K]: number of the episode that each lane runs."""

    @property
    def time_s(self) -> np.ndarray:
        """float64[B]: simulated time of each pending decision."""

    def advance(self) -> int:
        """Run each lane to its next decision with a candidate; how many wait; 0 when all episodes are over."""

    def observe(self) -> Any:
        """The pending decisions: an `Observation`."""

    def ask(self, policy: Compiled) -> Answers:
        """What a compiled policy answers; levels are not cut to what is free at this moment."""

    def gauges(self) -> np.ndarray:
        """float64[B, G]: the problem's gauges at each pending decision; a problem without need not have this."""

    def ask_at(self, places: np.ndarray, policy: Compiled) -> Answers:
        """As `ask`, of W pending decisions alone; a problem without gauges need not have this.

        `places`: int64[W], positions in `pending`.
        """

    def answer(self, answers: Answers, *, by_heuristic: bool = False) -> None:
        """Answer all pending decisions.

        `by_heuristic`: some answers may be a heuristic's, whose "none of these" is taken wherever it does not stop the
        simulator; a learned policy's is where `Observation.none_allowed` says so.

        Raises:
            ActionError: an answer is not allowed; nothing has happened.
        """

    def results(self) -> Sequence[Any]:
        """The `Outcome` of each episode that has ended, in the order of the episodes."""


def level_of(share: float, first: int, last: int, *, up: bool = False) -> int:
    """The level that a share of `last` means: rounded, or rounded up, from `first` to `last`."""
    wanted = min(max(share, 0.0), 1.0) * last
    return max(first, int(np.ceil(wanted - 1e-9) if up else np.floor(wanted + 0.5)))
