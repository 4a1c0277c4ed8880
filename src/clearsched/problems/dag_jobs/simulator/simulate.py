"""Episodes from Python: a workload in, every job's completion time out; or one decision at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from clearsched.compiled.guard import Guarded, Record
from clearsched.compiled.jit import allocating
from clearsched.errors import ActionError, ClearschedError, FeatureError, WorkloadError
from clearsched.problems.dag_jobs.graph import Observation, observe
from clearsched.problems.dag_jobs.simulator import engine, guarded, loop
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.candidates import executors_held, survey
from clearsched.problems.dag_jobs.simulator.engine import job_time_ms as job_time_ms  # of use with what is here
from clearsched.problems.dag_jobs.simulator.estimates import EXACT, Estimates, believe, believed_task_ms
from clearsched.problems.dag_jobs.simulator.profiles import MOST_EXECUTORS, ProfileArrays, Profiles, level_table
from clearsched.problems.dag_jobs.simulator.rounds import none_allowed, something_pending
from clearsched.problems.dag_jobs.simulator.semantics import PUBLISHED, Semantics
from clearsched.problems.dag_jobs.simulator.state import NONE, State, new_state

JCT, JCT_P95, SLOWDOWN, MAKESPAN = "jct_s", "jct_p95_s", "slowdown", "makespan_s"
"""The objectives: measures that `EpisodeResult.cost_to_go` can tell of."""

TAIL = 0.95

SPARE_ROWS = 64
"""Rows of an episode's logs beyond those that it needs where nothing fails and nobody idles."""

CHUNK = 4096
"""Times that `cost_to_go` treats at once: bounds memory."""


@dataclass(frozen=True)
class Workload:
    """One episode to schedule.

    Attributes:
        profile: int64[J], profile of each job.
        arrival_ms: int64[J], time of arrival, non-decreasing.
        num_executors: executors of the cluster.
        moving_delay_ms: time an executor takes to move to another job.
        seed: seed of the task durations (64 bits).
        mean_durations: take rounded means instead of draws (the mode of the golden episodes).
        semantics: corrections and faults.
        objective: name of the measure that `EpisodeResult.cost_to_go` tells of.
        estimates: how wrong the durations are that policies see.
        interarrival_ms: mean time between arrivals that the episode was drawn with, for networks that are told it; 0 of
            a batch, or where nobody knows.
    """

    profile: np.ndarray
    arrival_ms: np.ndarray
    num_executors: int
    moving_delay_ms: int
    seed: int = 0
    mean_durations: bool = False
    semantics: Semantics = PUBLISHED
    objective: str = JCT
    estimates: Estimates = EXACT
    interarrival_ms: float = 0.0


BACKLOG, LEFT = 10, 0.1
"""Jobs that are there at time 0, at least, to be a backlog; the share of their number at which it is cleared."""


@dataclass(frozen=True)
class EpisodeResult:
    """What came of an episode.

    Attributes:
        arrival_ms, completion_ms: int64[J].
        ideal_ms: float64[J], what each job would take alone, see `ideal_ms`.
        num_decisions: answers of the policy, `none` included.
        num_tasks: tasks started.
        tasks: int64[num_tasks, 7] if recorded: start_ms, duration_ms, job, stage, wave, attempt, failed, in order of
            starting. An attempt is numbered within its stage; the duration of one that failed ends at the failure.
        decisions: int64[num_decisions, 8] if recorded: time_ms, source job, source stage, k, target job, target
            stage, requested, committed; -1 for none (docs/simulator.md §9).
        objective: name of the measure that `cost_to_go` tells of.
        parked_share: of the executors' time until the last completion, what they were parked in jobs.
        stall_ms: longest time that executors were parked in a job while a ready stage of it waited (parking.py).
        guard: what the policy's guard saw, if it has one.
    """

    arrival_ms: np.ndarray
    completion_ms: np.ndarray
    ideal_ms: np.ndarray
    num_decisions: int
    num_tasks: int
    tasks: np.ndarray | None = None
    decisions: np.ndarray | None = None
    objective: str = JCT
    parked_share: float = 0.0
    stall_ms: int = 0
    guard: Record | None = None

    @property
    def jct_s(self) -> np.ndarray:
        """float64[J]: job completion times, s."""
        return (self.completion_ms - self.arrival_ms) / 1000

    @property
    def avg_jct_s(self) -> float:
        """Mean job completion time, s."""
        return float(self.jct_s.mean())

    @property
    def makespan_s(self) -> float:
        """Time of the last completion, s."""
        return float(self.completion_ms.max()) / 1000

    @property
    def slowdown(self) -> np.ndarray:
        """float64[J]: job completion time over the job's ideal time (at least 1 ms)."""
        slowdown: np.ndarray = (self.completion_ms - self.arrival_ms) / np.maximum(self.ideal_ms, 1.0)
        return slowdown

    @cached_property
    def measures(self) -> dict[str, float]:
        """The problem's measures by name."""
        return {
            JCT: self.avg_jct_s,
            JCT_P95: percentile(self.jct_s, TAIL),
            SLOWDOWN: float(self.slowdown.mean()),
            MAKESPAN: self.makespan_s,
            "jct_p99_s": percentile(self.jct_s, 0.99),
            "parked_percent": 100 * self.parked_share,
            "stall_s": self.stall_ms / 1000,
            "num_tasks": float(self.num_tasks),
        }

    @property
    def by_job(self) -> dict[str, np.ndarray]:
        """Measures of each job, float64[J] by name."""
        return {JCT: self.jct_s, SLOWDOWN: self.slowdown}

    @property
    def scale_s(self) -> float:
        """How long a job stays, s."""
        return self.avg_jct_s

    @property
    def end_s(self) -> float:
        """Time of the last completion, s."""
        return self.makespan_s

    @property
    def cleared_s(self) -> float:
        """When a backlog was cleared, s: no more jobs are there than a tenth of those at time 0; 0 if these were few.

        Jobs count, not work: who serves the short ones first has most of them away while a giant is still there.
        """
        backlog = int(np.count_nonzero(self.arrival_ms == 0))
        if backlog < BACKLOG:
            return 0.0
        times_ms = np.concatenate([self.completion_ms, self.arrival_ms])
        change = np.repeat((-1, 1), len(self.arrival_ms))
        order = np.lexsort((-change, times_ms))  # at one moment a job comes before another goes
        there = np.cumsum(change[order])
        after = np.arange(len(there)) >= backlog  # once all of the backlog has come
        return float(times_ms[order][after & (there <= backlog * LEFT)][0]) / 1000

    def cost_to_go(self, times_s: np.ndarray, horizon_s: float) -> np.ndarray:
        """float64[T]: minus what the objective loses from each time on.

        * `jct_s`: the integral of the number of jobs in the system, in job-seconds: J x mean JCT from time 0 on.
        * `slowdown`: the same with each job counting 1 / its ideal time: J x mean slowdown.
        * `jct_p95_s`: the same with the tail alone counting, the jobs whose JCT is at or above the 95th percentile of
          this episode, each 1 / their number: the mean JCT of the tail. A percentile moves with one job or two; the
          mean of the tail moves with all of them, and lowering it lowers the percentile.
        * `makespan_s`: the time from t until the last completion. Only when the last job ends is anything lost, so a
          horizon shorter than the episode would hide it from all but the last decisions: it is not discounted.

        With a finite horizon h the integrand is discounted by exp(-(s - t) / h) in continuous time. It is computed from
        arrivals and completions, so it is exact at any time t: a job counts while max(arrival, t) <= s < completion.

        Args:
            times_s: float64[T].
            horizon_s: h, may be infinite.
        """
        if self.objective == MAKESPAN:
            left: np.ndarray = -np.maximum(self.makespan_s - times_s, 0.0)
            return left
        weight = self._weights
        times_ms, horizon_ms = times_s * 1000, horizon_s * 1000
        returns = np.empty(len(times_ms))
        for start in range(0, len(times_ms), CHUNK):
            now = times_ms[start : start + CHUNK, None]
            to_arrival = np.maximum(self.arrival_ms[None] - now, 0.0)
            to_completion = np.maximum(self.completion_ms[None] - now, 0.0)
            if np.isinf(horizon_ms):
                spent = to_completion - to_arrival
            else:
                spent = horizon_ms * (np.exp(-to_arrival / horizon_ms) - np.exp(-to_completion / horizon_ms))
            returns[start : start + CHUNK] = -(weight * spent).sum(axis=1) / 1000
        return returns

    @property
    def _weights(self) -> np.ndarray:
        """float64[J]: how much a second of each job counts for the objective."""
        if self.objective == SLOWDOWN:
            weights: np.ndarray = 1000 / np.maximum(self.ideal_ms, 1.0)
            return weights
        if self.objective == JCT_P95:
            tail = self.jct_s >= percentile(self.jct_s, TAIL)
            return tail / tail.sum()
        return np.ones(len(self.arrival_ms))


def percentile(values: np.ndarray, share: float) -> float:
    """The value that a share of float64[J] lies below, interpolated as by `np.quantile`, which takes much longer."""
    ordered, place = np.sort(values), share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return float(ordered[low] + (place - low) * (ordered[high] - ordered[low]))


def ideal_ms(profiles: ProfileArrays, num_executors: int, profile: np.ndarray) -> np.ndarray:
    """float64[J]: what jobs would take alone on the cluster, at mean task durations and without a wait or a move.

    The longest path of one task of each stage, or the work over the executors, whichever is larger.
    """
    ideal: np.ndarray = np.maximum(profiles.path_ms[profile], profiles.work_ms[profile] / num_executors)
    return ideal


def simulate(
    profiles: Profiles,
    workload: Workload,
    policy: loop.Compiled | Guarded,
    *,
    record_tasks: bool = False,
    record_decisions: bool = False,
) -> EpisodeResult:
    """Run one episode inside the compiled loop.

    Raises:
        WorkloadError: the workload is malformed.
        FeatureError: a feature or a score of the policy is not finite.
    """
    state = start(profiles, workload, record_tasks=record_tasks, record_decisions=record_decisions)
    guard = _run(state, policy)
    if not is_recorded(state):
        # Lost tasks and idle answers have no bound. An episode runs the same a second time, with logs of its size.
        rows = len(state.task_log) and int(state.scalar[st.NUM_STARTED])
        state = _begin(profiles, workload, rows, len(state.decision_log) and int(state.scalar[st.NUM_DECISIONS]))
        guard = _run(state, policy)
    result = result_of(state, workload.objective)
    return result if guard is None else replace(result, guard=guard)


def _run(state: State, policy: loop.Compiled | Guarded) -> Record | None:
    """Run the episode to its end; what the policy's guard saw, if it has one."""
    if isinstance(policy, Guarded):
        return guarded.run_or_raise(state, policy)
    loop.run_or_raise(state, policy)
    return None


def start(
    profiles: Profiles, workload: Workload, *, record_tasks: bool = False, record_decisions: bool = False
) -> State:
    """The state of a workload at time 0.

    Raises:
        WorkloadError: no job, no executor, a negative or decreasing arrival, or an unknown profile.
    """
    profile = np.asarray(workload.profile, np.int64)
    arrival_ms = np.asarray(workload.arrival_ms, np.int64)
    if len(profile) == 0 or len(profile) != len(arrival_ms):
        raise WorkloadError(f"workload: {len(profile)} jobs and {len(arrival_ms)} arrivals: at least one job needed")
    if not 1 <= workload.num_executors <= MOST_EXECUTORS:
        raise WorkloadError(f"workload: num_executors is {workload.num_executors}: 1 to {MOST_EXECUTORS:,} expected")
    if workload.moving_delay_ms < 0:
        raise WorkloadError(f"workload: moving_delay_ms is {workload.moving_delay_ms}: it must not be negative")
    if arrival_ms[0] < 0 or np.any(np.diff(arrival_ms) < 0):
        raise WorkloadError("workload: arrival times must be at least 0 and in increasing order")
    if profile.min() < 0 or profile.max() >= profiles.trace.num_profiles:
        raise WorkloadError(f"workload: profiles must lie in 0 to {profiles.trace.num_profiles - 1}")
    task_rows = decision_rows = 0
    if record_tasks or record_decisions:
        starts = int(profiles.num_tasks[profile].sum()) * (2 if workload.semantics.has_faults else 1)
        task_rows = (starts + SPARE_ROWS) * record_tasks
        decision_rows = (2 * starts + SPARE_ROWS) * record_decisions
    return _begin(profiles, workload, task_rows, decision_rows)


def _begin(profiles: Profiles, workload: Workload, task_rows: int, decision_rows: int) -> State:
    profile = np.asarray(workload.profile, np.int64)
    state = new_state(
        profiles.arrays,
        _level_table(profiles.trace.levels, workload.num_executors, workload.semantics.right_interpolation),
        profile,
        np.asarray(workload.arrival_ms, np.int64),
        workload.moving_delay_ms,
        workload.seed,
        mean_durations=workload.mean_durations,
        semantics=workload.semantics,
        task_rows=task_rows,
        decision_rows=decision_rows,
    )
    state.scalar[st.INTERARRIVAL_MS] = round(workload.interarrival_ms)
    if not workload.estimates.are_exact:
        believe(state, believed_task_ms(profiles.arrays, profile, workload.estimates, workload.seed))
    return state


def is_recorded(state: State) -> bool:
    """Whether every row that was to be recorded found a place."""
    tasks, decisions = len(state.task_log), len(state.decision_log)
    return (not tasks or state.scalar[st.NUM_STARTED] <= tasks) and (
        not decisions or state.scalar[st.NUM_DECISIONS] <= decisions
    )


_level_table = lru_cache(maxsize=64)(level_table)


def result_of(state: State, objective: str = JCT) -> EpisodeResult:
    """The outcome of a state whose events have run out.

    Raises:
        ClearschedError: the episode is not over.
    """
    completion_ms = state.job[:, st.COMPLETION_MS].copy()
    unfinished = np.flatnonzero(completion_ms == NONE)
    decisions, tasks = int(state.scalar[st.NUM_DECISIONS]), int(state.scalar[st.NUM_STARTED])
    if len(unfinished):
        raise ClearschedError(
            f"{len(unfinished)} jobs unfinished after decision {decisions}, job {unfinished[0]} first: "
            "there is no result before the episode is over"
        )
    if not is_recorded(state):
        raise WorkloadError(f"episode of {tasks} task starts and {decisions} decisions: its record is full")
    return EpisodeResult(
        state.job[:, st.ARRIVAL_MS].copy(),
        completion_ms,
        ideal_ms(state.profiles, len(state.levels) - 1, state.job[:, st.PROFILE]),
        decisions,
        tasks,
        state.task_log[:tasks] if len(state.task_log) else None,
        state.decision_log[:decisions] if len(state.decision_log) else None,
        objective,
        parked_share(state),
        int(state.scalar[st.LONGEST_STALL_MS]),
    )


def parked_share(state: State) -> float:
    """Executor time parked in jobs over all executor time, until the last completion of an episode that is over."""
    end_ms = max(1, int(state.job[:, st.COMPLETION_MS].max()))
    return int(state.scalar[st.PARKED_TIME_MS]) / (end_ms * int(state.scalar[st.NUM_EXECUTORS]))


class Simulation:
    """One episode, one decision at a time: for policies that run outside the compiled loop.

    >>> simulation = Simulation(profiles, workload)                # doctest: +SKIP
    >>> while simulation.advance():
    ...     simulation.act(stage, limit)
    >>> simulation.result()
    """

    def __init__(
        self, profiles: Profiles, workload: Workload, *, record_tasks: bool = False, record_decisions: bool = False
    ) -> None:
        self.profiles = profiles
        self.workload = workload
        self.state = start(profiles, workload, record_tasks=record_tasks, record_decisions=record_decisions)
        self.num_candidates = 0

    def advance(self) -> bool:
        """Run to the next decision that has a candidate; False at the end of the episode."""
        self.state = with_room(self.state)
        self.num_candidates = advance_to_choice(self.state)
        return self.num_candidates > 0

    @property
    def time_s(self) -> float:
        """Simulated time, s."""
        return float(self.state.scalar[st.TIME_MS]) / 1000

    def observe(self) -> Observation:
        """The pending decision as arrays for a network."""
        return observe(self.state)

    def reference_choice(self, policy: loop.Compiled) -> tuple[int, int]:
        """What a compiled policy answers to the pending decision: (stage, limit on its job, not cut to k).

        Raises:
            FeatureError: a feature or a score is not finite.
        """
        stage, limit = loop.choose_limit(self.state, policy)
        if stage == loop.INVALID:
            raise FeatureError(loop.fault(self.state, policy))
        return stage, limit

    def none_allowed(self) -> bool:
        """Whether a learned policy may answer `none` to the pending decision (§5)."""
        return bool(none_allowed(self.state))

    def act(self, stage: int, limit: int = 0) -> int:
        """Answer the pending decision: `stage` (row of the state) gets executors until its job holds `limit`.

        With the stage NONE (-1) all executors that are decided on stay idle. Returns the number committed.

        Raises:
            ActionError: the stage is no candidate, the limit is not above what the job holds, or `none` is refused.
        """
        state, number = self.state, int(self.state.scalar[st.NUM_DECISIONS])
        if stage == NONE and self.num_candidates:
            if not something_pending(self.state):
                raise ActionError(f"decision {number}: none is refused: nothing else is going to happen")
            self.num_candidates = 0
            return int(engine.commit(state, NONE, 0))
        if not 0 <= stage < len(state.stage) or state.stage[stage, st.CANDIDATE] == 0 or self.num_candidates == 0:
            raise ActionError(f"decision {number}: stage {stage} is no candidate")
        held = int(executors_held(state, state.stage[stage, st.JOB]))
        if limit <= held:
            raise ActionError(f"decision {number}: limit {limit} is not above the {held} executors that the job holds")
        self.num_candidates = 0
        return int(engine.commit(state, stage, limit - held))

    def result(self) -> EpisodeResult:
        """The outcome, after `advance` returned False."""
        return result_of(self.state, self.workload.objective)


def with_room(state: State) -> State:
    """The state with longer logs if one of them is half full: lost tasks and idle answers have no bound."""
    if 2 * state.scalar[st.NUM_STARTED] > len(state.task_log) > 0:
        state = state._replace(task_log=np.concatenate([state.task_log, np.zeros_like(state.task_log)]))
    if 2 * state.scalar[st.NUM_DECISIONS] > len(state.decision_log) > 0:
        state = state._replace(decision_log=np.concatenate([state.decision_log, np.zeros_like(state.decision_log)]))
    return state


@allocating
def advance_to_choice(state: State) -> int:
    """Run to the next decision with a candidate, answering `none` where there is none; 0 at the end."""
    while engine.advance(state) == engine.DECIDE:
        if state.scalar[st.TOTAL_CANDIDATES] > 0:
            return survey(state)
        engine.commit(state, NONE, 0)
    return 0
