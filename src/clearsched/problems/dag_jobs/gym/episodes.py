"""K episodes stepped decision by decision: all that the Gymnasium environments ask of the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np

from clearsched.compiled.jit import allocating
from clearsched.errors import ActionError
from clearsched.problems.dag_jobs.gym.layout import Choice
from clearsched.problems.dag_jobs.gym.settings import Settings
from clearsched.problems.dag_jobs.simulator import engine
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.candidates import executors_held
from clearsched.problems.dag_jobs.simulator.rounds import none_allowed
from clearsched.problems.dag_jobs.simulator.simulate import Simulation, Workload, advance_to_choice, job_time_ms
from clearsched.problems.dag_jobs.simulator.state import NONE, State


@allocating
def run_to_choice(state: State) -> tuple[int, bool, int]:
    """Run to the next decision with a candidate: how many (0 at the end), whether none is allowed, `job_time_ms`."""
    count = advance_to_choice(state)
    return count, count > 0 and none_allowed(state), job_time_ms(state)


@allocating
def play(state: State, s: int, level: int, limit_levels: int) -> tuple[int, bool, int]:
    """Answer the pending decision with stage s and a level of the limit, or with NONE; then `run_to_choice`."""
    if s == NONE:
        engine.commit(state, NONE, 0)
        return run_to_choice(state)
    held = executors_held(state, state.stage[s, st.JOB])
    share = -(-(level + 1) * state.scalar[st.NUM_EXECUTORS] // limit_levels)  # rounded up
    engine.commit(state, s, max(held + 1, share) - held)
    return run_to_choice(state)


class Simulations:
    """K episodes, each at a decision.

    The arrays have one entry a lane. A lane whose episode is over, or has not begun, has no candidates.
    """

    def __init__(self, settings: Settings, num_lanes: int) -> None:
        self.settings = settings
        self.layout = settings.layout
        self.episodes: list[Simulation | None] = [None] * num_lanes
        self.num_candidates = np.zeros(num_lanes, np.int64)
        self._none_allowed = np.zeros(num_lanes, bool)
        self.num_steps = np.zeros(num_lanes, np.int64)
        self._spent_ms = np.zeros(num_lanes, np.int64)
        self._stages = np.full((num_lanes, self.layout.max_candidates), NONE, np.int64)

    def start(self, lane: int, workload: Workload) -> None:
        """Begin an episode and run it to its first decision.

        Raises:
            WorkloadError: it cannot be simulated; the lane is as it was.
        """
        episode = Simulation(self.settings.profiles, workload)
        self.episodes[lane] = episode
        self.num_candidates[lane], self._none_allowed[lane], _ = run_to_choice(episode.state)
        self.num_steps[lane] = self._spent_ms[lane] = 0

    def decision(self, lane: int) -> int:
        """Number of the pending decision: the answers before it, `none` included."""
        return int(self._state(lane).scalar[st.NUM_DECISIONS]) if self.episodes[lane] else 0

    def offered(self) -> np.ndarray:
        """int64[K]: the candidates that an observation shows."""
        return np.minimum(self.num_candidates, self.layout.max_candidates)

    def none_allowed(self) -> np.ndarray:
        """bool[K]: whether the executors can be left idle."""
        return self._none_allowed if self.layout.idling else np.zeros(len(self.episodes), bool)

    def masks(self) -> np.ndarray:
        """bool[K, R + L]: the rows, then the levels, that the pending decisions allow."""
        rows = np.arange(self.layout.max_candidates) < self.num_candidates[:, None]
        none = self.none_allowed()[:, None][:, : self.layout.idling]
        return np.concatenate([rows, none, np.ones((len(rows), self.layout.limit_levels), bool)], axis=1)

    def check(self, lane: int, action: Any) -> tuple[int, int]:
        """An action as (row, level), if the pending decision allows it.

        Raises:
            ActionError: it does not; nothing has happened.
        """
        number = self.decision(lane)
        if self.num_candidates[lane] == 0:
            raise ActionError(f"decision {number}: no decision is pending: call reset()")
        values = _as_array(action)
        if values.shape != (2,) or values.dtype.kind not in "iuf":
            raise ActionError(f"decision {number}: an action is two whole numbers (row, level), not {_short(action)}")
        if values.dtype.kind == "f" and not np.all(np.floor(values) == values):  # a NaN equals nothing
            raise ActionError(f"decision {number}: an action is two whole numbers (row, level), not {_short(action)}")
        row, level = values.tolist()
        rows, most = min(int(self.num_candidates[lane]), self.layout.max_candidates), self.layout.max_candidates
        if self.layout.idling and row == most:
            if not self._none_allowed[lane]:
                why = "these executors would stay idle for good"
                raise ActionError(f"decision {number}: row {most}, none, is refused: {why}")
        elif not 0 <= row < rows:
            raise ActionError(f"decision {number}: row {row} is no candidate: rows 0 to {rows - 1} are")
        if not 0 <= level < self.layout.limit_levels:
            raise ActionError(f"decision {number}: level {level} of the limit: 0 to {self.layout.limit_levels - 1}")
        return int(row), int(level)

    def check_all(self, actions: Any, ignored: np.ndarray) -> np.ndarray:
        """int64[K, 2]: an action for every lane, checked as `check` does, but for those that are ignored, bool[K].

        Raises:
            ActionError: one of them is not allowed, or there is not one for each lane; nothing has happened.
        """
        num_lanes, values = len(self.episodes), _as_array(actions)
        if values.ndim == 0 or len(values) != num_lanes:
            raise ActionError(f"decision {self.decision(0)}: {num_lanes} actions expected, one for each environment")
        if values.shape == (num_lanes, 2) and values.dtype.kind in "iu":
            row, level = values.T
            known = (row >= 0) & (row < self.offered()) | (row == self.layout.max_candidates) & self.none_allowed()
            if np.all(ignored | known & (level >= 0) & (level < self.layout.limit_levels)):
                return values
        pairs = [(0, 0) if ignored[lane] else self.check(lane, actions[lane]) for lane in range(num_lanes)]
        return np.asarray(pairs, np.int64)

    def act(self, lane: int, row: int, level: int) -> tuple[float, bool, bool]:
        """Carry out a checked action; returns (reward, terminated, truncated)."""
        most = self.settings.max_decisions
        stage = NONE if row == self.layout.max_candidates else self._stages[lane, row]
        count, allowed, spent_ms = play(self._state(lane), stage, level, self.layout.limit_levels)
        if self.settings.reward == "makespan":
            spent_ms = self._time_ms(lane, over=count == 0)
        reward = float(self._spent_ms[lane] - spent_ms) / 1000
        self._spent_ms[lane] = spent_ms
        self.num_candidates[lane], self._none_allowed[lane] = count, allowed
        self.num_steps[lane] += 1
        return reward, count == 0, count > 0 and most is not None and bool(self.num_steps[lane] >= most)

    def observe(self) -> dict[str, np.ndarray]:
        """What the environments show, in new arrays [K, ...]."""
        arrays = self.layout.empty(len(self.episodes))
        for lane, count in enumerate(self.num_candidates.tolist()):
            if count:
                choice = Choice(count, bool(self._none_allowed[lane]))
                self.layout.fill(arrays, lane, self._state(lane), choice, self._stages[lane])
        return arrays

    def time_s(self, lane: int) -> float:
        """Simulated time, s."""
        return float(self._state(lane).scalar[st.TIME_MS]) / 1000

    def outcome(self, lane: int) -> dict[str, Any]:
        """What the info tells of an episode that is over; nothing before."""
        if self.num_candidates[lane] > 0:
            return {}
        result = self._episode(lane).result()
        return {"avg_jct_s": result.avg_jct_s, "makespan_s": result.makespan_s, "num_tasks": result.num_tasks}

    def describe(self, lane: int) -> str:
        """The pending decision in a few lines of text."""
        if self.episodes[lane] is None:
            return "no episode has begun"
        state, names = self._state(lane), self.settings.profiles.names
        scalar = state.scalar
        lines = [
            f"{scalar[st.TIME_MS] / 1000:.1f} s, decision {self.decision(lane)}: {scalar[st.TO_DECIDE]} of "
            f"{scalar[st.NUM_EXECUTORS]} executors to decide on, {self.num_candidates[lane]} candidates"
        ]
        for j in state.active[: scalar[st.NUM_ACTIVE]].tolist():
            job = state.job[j]
            query, size = names[job[st.PROFILE]]
            lines.append(
                f"  query {query} at {size}, arrived at {job[st.ARRIVAL_MS] / 1000:.1f} s: holds "
                f"{executors_held(state, j)}, {job[st.TASKS_LEFT]} tasks to start, {job[st.STAGES_LEFT]} stages left"
            )
        return "\n".join(lines)

    def _episode(self, lane: int) -> Simulation:
        episode = self.episodes[lane]
        assert episode is not None
        return episode

    def _state(self, lane: int) -> State:
        return self._episode(lane).state

    def _time_ms(self, lane: int, *, over: bool) -> int:
        """Time that the makespan counts: executors may still move after the last completion."""
        return int(self._episode(lane).result().completion_ms.max() if over else self._state(lane).scalar[st.TIME_MS])


def _as_array(value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError:  # lists of different lengths
        return np.empty(0)


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
