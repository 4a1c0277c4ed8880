"""Many episodes in lockstep on one thread: one call of compiled code steps them all.

What comes of an episode is what `loop.run_episode` gives, to the bit, whatever else runs beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearsched.compiled.arena import get, new_arena, put
from clearsched.compiled.jit import concurrent
from clearsched.compiled.scoring import INVALID
from clearsched.errors import ActionError, ClearschedError
from clearsched.problems.deferrable_jobs.features import NUM_FEATURES
from clearsched.problems.deferrable_jobs.simulator import engine, loop
from clearsched.problems.deferrable_jobs.simulator.guarded import NUM_GAUGES, read_gauges
from clearsched.problems.deferrable_jobs.simulator.observation import BACKLOG, Observation
from clearsched.problems.deferrable_jobs.simulator.outcome import Outcome, outcome_of
from clearsched.problems.deferrable_jobs.simulator.rows import fill_rows
from clearsched.problems.deferrable_jobs.simulator.state import (
    CPU,
    DURATION,
    NONE,
    NUM_CANDIDATES,
    NUM_DECISIONS,
    NUM_WAITING,
    SLOT,
    SLOT_S,
    USED,
    Episode,
    State,
    new_state,
)
from clearsched.problems.episodes import Answers


class Lockstep:
    """K episodes that take their decisions together (`problem.Lockstep`).

    Attributes:
        pending: int64[B], the lanes that wait for an answer, in increasing order.
        episode: int64[K], number of the episode that each lane runs.
    """

    def __init__(self, episodes: Sequence[Episode], width: int | None = None) -> None:
        """Start the first episodes, at most `width` of them.

        Raises:
            ClearschedError: there is no episode, or no lane.
        """
        if not episodes or (width is not None and width < 1):
            raise ClearschedError(f"lockstep: {len(episodes)} episodes, width {width}: at least one of each needed")
        self._episodes = list(episodes)
        lanes = min(width or len(episodes), len(episodes))
        self._states: list[State] = [new_state(episode) for episode in self._episodes[:lanes]]
        self._like = self._states[0]
        self._arena = new_arena(lanes, self._like)
        for k, state in enumerate(self._states):
            put(self._arena, k, state, self._like)
        self._outcomes: dict[int, Outcome] = {}
        self._next = lanes
        self.episode = np.arange(lanes)
        self.pending = np.empty(0, np.int64)
        self._to_run = np.arange(lanes)
        self._num_candidates = np.zeros(lanes, np.int64)
        self._numbers = np.empty(4 * max(episode.num_jobs for episode in self._episodes))

    @property
    def time_s(self) -> np.ndarray:
        """float64[B]: simulated time of each pending decision."""
        times = [self._states[k].scalar[SLOT] * self._states[k].scalar[SLOT_S] for k in self.pending.tolist()]
        return np.array(times, np.float64)

    def advance(self) -> int:
        """Run each lane to its next decision with a candidate; how many wait; 0 when all episodes are over."""
        while len(self._to_run):
            running, self._to_run = self._to_run, np.empty(0, np.int64)
            _advance(self._arena, self._like, running, self._num_candidates)
            for k in running[self._num_candidates[running] == 0].tolist():
                self._end(k)
        self.pending = np.flatnonzero(self._num_candidates)
        return len(self.pending)

    def observe(self) -> Observation:
        """The pending decisions, in the order of `pending`, in arrays of their own."""
        start = np.concatenate([[0], np.cumsum(self._num_candidates[self.pending])])
        total, count = int(start[-1]), len(self.pending)
        found = Observation(
            np.empty((total, NUM_FEATURES), np.float32),
            start,
            np.empty(total, np.int64),
            np.empty(count, np.bool_),
            np.empty((count, len(BACKLOG))),
        )
        _observe(
            self._arena, self._like, self.pending, self._numbers,
            found.candidates, start, found.candidate_id, found.none_allowed, found.waiting,
        )  # fmt: skip
        return found

    def gauges(self) -> np.ndarray:
        """float64[B, NUM_GAUGES]: what a guard watches, at each pending decision."""
        values = np.empty((len(self.pending), NUM_GAUGES))
        _gauges(self._arena, self._like, self.pending, values)
        return values

    def ask(self, policy: loop.Compiled) -> Answers:
        """What a compiled policy answers.

        Raises:
            FeatureError: a score of the policy is not finite.
        """
        return self._ask(self.pending, policy)

    def ask_at(self, places: np.ndarray, policy: loop.Compiled) -> Answers:
        """As `ask`, of the decisions at some places of `pending` alone."""
        return self._ask(self.pending[places], policy)

    def answer(self, answers: Answers, *, by_heuristic: bool = False) -> None:
        """Answer all pending decisions. Nobody may wait where nothing would ever happen, heuristic or not.

        Raises:
            ActionError: an answer is not allowed; nothing has happened.
        """
        candidate = np.asarray(answers.candidate)
        if candidate.shape != self.pending.shape or (candidate.dtype.kind not in "iu" and len(candidate)):
            raise ActionError(f"answers: {len(self.pending)} whole numbers needed, one a pending decision")
        candidate = candidate.astype(np.int64, copy=False)
        refused = _answer(self._arena, self._like, self.pending, candidate)
        if refused >= 0:
            raise self._refusal(int(self.pending[refused]), int(candidate[refused]))
        self._to_run = np.concatenate([self._to_run, self.pending])
        self._num_candidates[self.pending] = 0
        self.pending = np.empty(0, np.int64)

    def results(self) -> list[Outcome]:
        """The outcome of each episode that has ended, in the order of the episodes."""
        return [self._outcomes[number] for number in sorted(self._outcomes)]

    def _ask(self, asked: np.ndarray, policy: loop.Compiled) -> Answers:
        """`ask` of some of the lanes that wait."""
        candidate = np.empty(len(asked), np.int64)
        _ask(self._arena, self._like, asked, policy, len(self._numbers) // 4, candidate)
        wrong = np.flatnonzero(candidate == INVALID)
        if len(wrong):
            raise loop.fault(self._states[int(asked[wrong[0]])])
        return Answers(candidate, np.zeros_like(candidate))

    def _end(self, k: int) -> None:
        """Keep the outcome of lane k and start the next episode there."""
        number = int(self.episode[k])
        self._outcomes[number] = outcome_of(self._episodes[number], self._states[k])
        if self._next < len(self._episodes):
            self._states[k] = new_state(self._episodes[self._next])
            put(self._arena, k, self._states[k], self._like)
            self.episode[k] = self._next
            self._next += 1
            self._to_run = np.append(self._to_run, k)

    def _refusal(self, k: int, candidate: int) -> ActionError:
        scalar = self._states[k].scalar
        where = f"decision {scalar[NUM_DECISIONS]}: lane {k}"
        if candidate == NONE:
            return ActionError(f"{where}: nothing runs and nothing will arrive: a job must start")
        return ActionError(f"{where}: candidate {candidate} is none of the {scalar[NUM_CANDIDATES]} there are")


@concurrent
def _advance(states: np.ndarray, like: State, which: np.ndarray, num_candidates: np.ndarray) -> None:
    for k in which:
        num_candidates[k] = engine.advance(get(states, k, like))


@concurrent
def _observe(
    states: np.ndarray,
    like: State,
    pending: np.ndarray,
    numbers: np.ndarray,
    rows: np.ndarray,
    start: np.ndarray,
    job: np.ndarray,
    none_allowed: np.ndarray,
    waiting: np.ndarray,
) -> None:
    read = np.ones(NUM_FEATURES, np.bool_)
    for b in range(len(pending)):
        state = get(states, pending[b], like)
        count = fill_rows(state, rows, start[b], numbers, read)
        for c in range(count):
            job[start[b] + c] = state.candidates[c]
        none_allowed[b] = engine.none_allowed(state)
        waiting[b, :] = 0.0
        waiting[b, 0] = state.scalar[NUM_WAITING]
        for i in range(state.scalar[NUM_WAITING]):
            j = state.waiting[i]
            waiting[b, 1] += 1.0 / state.job[j, DURATION]
            waiting[b, 2] += state.job[j, CPU] * state.job[j, DURATION]
        waiting[b, 3] = state.scalar[USED]


@concurrent
def _gauges(states: np.ndarray, like: State, pending: np.ndarray, values: np.ndarray) -> None:
    for b in range(len(pending)):
        read_gauges(get(states, pending[b], like), values[b])


@concurrent
def _ask(
    states: np.ndarray, like: State, pending: np.ndarray, policy: loop.Compiled, jobs: int, candidate: np.ndarray
) -> None:
    scratch = loop.new_scratch(jobs)
    for b in range(len(pending)):
        state = get(states, pending[b], like)
        chosen = loop.choose(state, policy, scratch)
        candidate[b] = chosen
        for c in range(state.scalar[NUM_CANDIDATES]):
            if chosen >= 0 and state.candidates[c] == chosen:
                candidate[b] = c


@concurrent
def _answer(states: np.ndarray, like: State, pending: np.ndarray, candidate: np.ndarray) -> int:
    """Check all answers, then carry them out; the first that is not allowed (then none was carried out), or -1."""
    for b in range(len(pending)):
        state = get(states, pending[b], like)
        if candidate[b] == NONE:
            if not engine.none_allowed(state):
                return b
        elif candidate[b] < 0 or candidate[b] >= state.scalar[NUM_CANDIDATES]:
            return b
    for b in range(len(pending)):
        state = get(states, pending[b], like)
        engine.answer(state, NONE if candidate[b] == NONE else state.candidates[candidate[b]])
    return -1
