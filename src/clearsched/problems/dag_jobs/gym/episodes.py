"""Episodes for the Gymnasium environments: how they are drawn, and K of them stepped decision by decision."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.compiled.jit import allocating
from clearsched.errors import ActionError, ClearschedError, TraceError, WorkloadError
from clearsched.problems.dag_jobs import traces
from clearsched.problems.dag_jobs.gym.layout import Layout, make_layout
from clearsched.problems.dag_jobs.simulator import engine
from clearsched.problems.dag_jobs.simulator.candidates import executors_held
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import (
    Semantics,
    Simulation,
    Workload,
    advance_to_choice,
    job_time_ms,
)
from clearsched.problems.dag_jobs.simulator.state import (
    ARRIVAL_MS,
    JOB,
    NONE,
    NUM_ACTIVE,
    NUM_DECISIONS,
    NUM_EXECUTORS,
    PROFILE,
    STAGES_LEFT,
    TASKS_LEFT,
    TIME_MS,
    TO_DECIDE,
    State,
)
from clearsched.problems.dag_jobs.traces import Trace
from clearsched.problems.dag_jobs.workloads import executor_ms

REWARDS = ("jct", "makespan")
ARRIVALS = ("poisson", "batch")
SOURCES = ("tpch-spark", "tpch-decima")
OBSERVATIONS = ("candidates", "graph")


@dataclass(frozen=True)
class Settings:
    """The keyword arguments of `gymnasium.make` and `make_vec`.

    Attributes:
        trace: where job profiles come from: `tpch-spark` (embedded), `tpch-decima`, a Parquet file, a folder of the
            `tpch-decima` layout, a `Trace`, or compiled `Profiles`.
        num_executors: executors of the cluster, N.
        jobs: jobs of an episode, each of a profile drawn evenly.
        arrivals: `poisson`: the first job at time 0, then one after another at random; `batch`: all at time 0.
        load: executor time that Poisson arrivals ask for, relative to what there is.
        mean_interarrival_s: mean time between Poisson arrivals, s, instead of `load`.
        moving_delay_s: time an executor takes to change jobs, s.
        warmup_delay_s: time a first task lasts longer where none was measured on a fresh executor, s; of no effect if
            `trace` is compiled already.
        semantics: corrections and faults (docs/simulator.md §10, §11); the published rules by default.
        reward: `jct` or `makespan`.
        observation: `candidates`, or `graph` for the DAGs too.
        limit_levels: levels that the limit of an action can take, L.
        max_candidates: candidates that an observation can show, C; by default as many as there can be.
        max_decisions: truncate an episode after so many steps.

    Raises:
        TraceError: the trace has no profile.
        WorkloadError: there is no executor, no job, or a number is out of range.
        ClearschedError: an unknown name, or a size below 1.
    """

    trace: str | Path | Trace | Profiles = "tpch-spark"
    num_executors: int = 10
    jobs: int = 20
    arrivals: str = "poisson"
    load: float = 0.85
    mean_interarrival_s: float | None = None
    moving_delay_s: float = 2.0
    warmup_delay_s: float = 1.0
    semantics: Semantics | None = None
    reward: str = "jct"
    observation: str = "candidates"
    limit_levels: int = 10
    max_candidates: int | None = None
    max_decisions: int | None = None

    def __post_init__(self) -> None:
        for name, known in (("arrivals", ARRIVALS), ("reward", REWARDS), ("observation", OBSERVATIONS)):
            if getattr(self, name) not in known:
                raise ClearschedError(f"{name}: unknown value {getattr(self, name)!r}: known are {', '.join(known)}")
        for name in ("num_executors", "jobs"):
            check_at_least_1(name, getattr(self, name), WorkloadError)
        for name in ("limit_levels", "max_candidates", "max_decisions"):
            if name == "limit_levels" or getattr(self, name) is not None:
                check_at_least_1(name, getattr(self, name), ClearschedError)
        for name in ("load", "mean_interarrival_s"):
            value = getattr(self, name)
            if value is not None and not 0 < value < np.inf:
                raise WorkloadError(f"{name} is {value}: a number above 0 expected")
        for name in ("moving_delay_s", "warmup_delay_s"):
            if not 0 <= getattr(self, name) < np.inf:
                raise WorkloadError(f"{name} is {getattr(self, name)}: a number of at least 0 expected")

    @cached_property
    def profiles(self) -> Profiles:
        """The compiled trace."""
        if isinstance(self.trace, Profiles):
            return self.trace
        trace = self.trace if isinstance(self.trace, Trace) else _load(self.trace)
        if len(trace.stages) == 0:
            raise TraceError("the trace is empty: it has no profile to draw jobs from")
        return compile_profiles(trace, round(self.warmup_delay_s * 1000))

    @cached_property
    def layout(self) -> Layout:
        """Sizes of observations and actions."""
        return make_layout(
            self.profiles,
            self.jobs,
            max_candidates=self.max_candidates,
            limit_levels=self.limit_levels,
            graph=self.observation == "graph",
        )

    @cached_property
    def moving_delay_ms(self) -> int:
        """Time an executor takes to change jobs, ms."""
        return round(self.moving_delay_s * 1000)

    @cached_property
    def mean_interarrival_ms(self) -> float:
        """Mean time between Poisson arrivals, ms."""
        if self.mean_interarrival_s is not None:
            return self.mean_interarrival_s * 1000
        occupied = executor_ms(self.profiles, self.num_executors, self.moving_delay_ms)
        return float(occupied.mean() / (self.load * self.num_executors))

    def draw(self, generator: np.random.Generator) -> Workload:
        """An episode from a random stream."""
        profile = generator.integers(self.profiles.trace.num_profiles, size=self.jobs)
        arrival_ms = np.zeros(self.jobs, np.int64)
        if self.arrivals == "poisson":
            gaps = generator.exponential(self.mean_interarrival_ms, self.jobs - 1)
            arrival_ms[1:] = np.floor(np.cumsum(gaps)).astype(np.int64)
        return Workload(
            profile,
            arrival_ms,
            self.num_executors,
            self.moving_delay_ms,
            seed=int(generator.integers(2**63 - 1)),
            semantics=self.semantics or Semantics(),
        )

    def given(self, workload: Any) -> Workload:
        """A workload from the options of `reset`, if it fits."""
        if not isinstance(workload, Workload):
            raise WorkloadError(f"options['workload']: a Workload expected, not {type(workload).__name__}")
        if self.layout.has_graph and len(workload.profile) > self.layout.max_jobs:
            raise WorkloadError(
                f"workload: {len(workload.profile)} jobs, the graph was made for {self.layout.max_jobs}: "
                f"make the environment with jobs={len(workload.profile)}"
            )
        return workload


def check_at_least_1(name: str, value: Any, error: type[ClearschedError]) -> None:
    """Raise `error` unless `value` is a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise error(f"{name} is {value!r}: a whole number of at least 1 expected")


def _load(source: str | Path) -> Trace:
    if isinstance(source, str) and source in SOURCES:
        return traces.load(source)
    return traces.load_profiles(source)


@allocating
def play(state: State, s: int, level: int, limit_levels: int) -> tuple[int, int]:
    """Answer the pending decision with stage s and a level of the limit, run to the next decision with a candidate.

    Returns the number of its candidates, 0 at the end of the episode, and `job_time_ms`.
    """
    held = executors_held(state, state.stage[s, JOB])
    share = -(-(level + 1) * state.scalar[NUM_EXECUTORS] // limit_levels)  # rounded up
    engine.commit(state, s, max(held + 1, share) - held)
    return advance_to_choice(state), job_time_ms(state)


class Simulations:
    """K episodes, each at a decision: all that the environments ask of the simulator goes through here.

    The arrays have one entry a lane. A lane whose episode is over, or has not begun, has no candidates.
    """

    def __init__(self, settings: Settings, num_lanes: int) -> None:
        self.settings = settings
        self.layout = settings.layout
        self.episodes: list[Simulation | None] = [None] * num_lanes
        self.num_candidates = np.zeros(num_lanes, np.int64)
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
        self.num_candidates[lane] = advance_to_choice(episode.state)
        self.num_steps[lane] = self._spent_ms[lane] = 0

    def decision(self, lane: int) -> int:
        """Number of the pending decision: the answers before it, `none` included."""
        return int(self._state(lane).scalar[NUM_DECISIONS]) if self.episodes[lane] else 0

    def offered(self) -> np.ndarray:
        """int64[K]: the candidates that an observation shows."""
        return np.minimum(self.num_candidates, self.layout.max_candidates)

    def masks(self) -> np.ndarray:
        """bool[K, C + L]: the rows, then the levels, that the pending decisions allow."""
        rows = np.arange(self.layout.max_candidates) < self.num_candidates[:, None]
        return np.concatenate([rows, np.ones((len(rows), self.layout.limit_levels), bool)], axis=1)

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
        rows = min(int(self.num_candidates[lane]), self.layout.max_candidates)
        if not 0 <= row < rows:
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
            below = np.stack([self.offered(), np.full(num_lanes, self.layout.limit_levels)], axis=1)
            if np.all(ignored[:, None] | (values >= 0) & (values < below)):
                return values
        pairs = [(0, 0) if ignored[lane] else self.check(lane, actions[lane]) for lane in range(num_lanes)]
        return np.asarray(pairs, np.int64)

    def act(self, lane: int, row: int, level: int) -> tuple[float, bool, bool]:
        """Carry out a checked action; returns (reward, terminated, truncated)."""
        most = self.settings.max_decisions
        count, spent_ms = play(self._state(lane), self._stages[lane, row], level, self.layout.limit_levels)
        if self.settings.reward == "makespan":
            spent_ms = self._time_ms(lane, over=count == 0)
        reward = float(self._spent_ms[lane] - spent_ms) / 1000
        self._spent_ms[lane] = spent_ms
        self.num_candidates[lane] = count
        self.num_steps[lane] += 1
        return reward, count == 0, count > 0 and most is not None and bool(self.num_steps[lane] >= most)

    def observe(self) -> dict[str, np.ndarray]:
        """What the environments show, in new arrays [K, ...]."""
        arrays = self.layout.empty(len(self.episodes))
        for lane, count in enumerate(self.num_candidates.tolist()):
            if count:
                self.layout.fill(arrays, lane, self._state(lane), count, self._stages[lane])
        return arrays

    def time_s(self, lane: int) -> float:
        """Simulated time, s."""
        return float(self._state(lane).scalar[TIME_MS]) / 1000

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
            f"{scalar[TIME_MS] / 1000:.1f} s, decision {self.decision(lane)}: {scalar[TO_DECIDE]} of "
            f"{scalar[NUM_EXECUTORS]} executors to decide on, {self.num_candidates[lane]} candidates"
        ]
        for j in state.active[: scalar[NUM_ACTIVE]].tolist():
            job = state.job[j]
            query, size = names[job[PROFILE]]
            lines.append(
                f"  query {query} at {size}, arrived at {job[ARRIVAL_MS] / 1000:.1f} s: holds "
                f"{executors_held(state, j)}, {job[TASKS_LEFT]} tasks to start, {job[STAGES_LEFT]} stages left"
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
        return int(self._episode(lane).result().completion_ms.max() if over else self._state(lane).scalar[TIME_MS])


def _as_array(value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError:  # lists of different lengths
        return np.empty(0)


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
