"""Many simulations in lockstep on one thread: one call of compiled code steps them all, one graph describes them all.

A step is `advance` (to the next decision of each), `observe` (one batched graph, for one pass of a network) and `act`
(one answer a decision). What comes of an episode is what `Simulation` gives, to the bit, whatever else runs beside it.
The compiled calls release the GIL, so two threads can step two `Lockstep` objects at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from clearsched.compiled import arena
from clearsched.compiled.arena import borrow, get
from clearsched.compiled.jit import concurrent
from clearsched.errors import ActionError, ClearschedError, FeatureError
from clearsched.problems.dag_jobs.graph import Graph, empty_graph, fill, filled, room_of
from clearsched.problems.dag_jobs.simulator import engine, guarded, loop
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.candidates import candidate_at, candidates_before, executors_held
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.rounds import none_allowed, something_pending
from clearsched.problems.dag_jobs.simulator.simulate import (
    EpisodeResult,
    Workload,
    advance_to_choice,
    job_time_ms,
    result_of,
    start,
    with_room,
)
from clearsched.problems.dag_jobs.simulator.state import NONE, State
from clearsched.problems.episodes import Answers

REWARDS = ("none", "job_time", "makespan")
"""What a simulation loses between two decisions: nothing, job-seconds in the system, or seconds."""

NO_REWARD, JOB_TIME, MAKESPAN = range(3)
UNSET = -1  # of a clock that the first decision of an episode sets


class Ended(NamedTuple):
    """An episode that ended."""

    simulation: int
    episode: int  # its number, in the order in which the workloads were given
    result: EpisodeResult


class Lockstep:
    """K simulations that take their decisions together.

    >>> lockstep = Lockstep(profiles, workloads)                  # doctest: +SKIP
    >>> while lockstep.advance():
    ...     stage, limit = network(lockstep.observe())            # one answer a decision
    ...     lockstep.act(stage, limit)
    >>> lockstep.results()

    Attributes:
        num_simulations: K.
        pending: int64[B], the simulations that wait for an answer, in increasing order: `act` answers in this order.
        episode: int64[K], number of the episode that each simulation runs, in the order of the workloads.
        reward: float64[K], what each simulation lost in the last `advance` (so at most 0, in s): from its previous
            decision to this one, or to the end of its episode. What comes before the first decision of an episode does
            not count, since no job has arrived by then.
        ended: the episodes that ended in the last `advance`.
    """

    def __init__(
        self,
        profiles: Profiles,
        workloads: Iterable[Workload],
        num_simulations: int | None = None,
        *,
        reward: str = "none",
        record_tasks: bool = False,
        record_decisions: bool = False,
        keep_results: bool = True,
    ) -> None:
        """Start the first episodes.

        Args:
            profiles: compiled trace.
            workloads: the episodes, may be endless: a simulation whose episode ends goes on with the next of them.
            num_simulations: how many run at a time; without it all do.
            reward: one of `REWARDS`: minus the integral of the number of jobs in the system, or minus the time.
            record_tasks, record_decisions: see `simulate`.
            keep_results: False: `results` stays empty, for endless workloads; see `ended`.

        Raises:
            WorkloadError: a workload is malformed.
            ClearschedError: there is no workload, or the reward is unknown.
        """
        if reward not in REWARDS:
            raise ClearschedError(f"lockstep: reward is {reward!r}: it must be one of {', '.join(REWARDS)}")
        self.profiles = profiles
        self._workloads: Iterator[Workload] = iter(workloads)
        self._logs = {"record_tasks": record_tasks, "record_decisions": record_decisions}
        self._keep_results = keep_results
        self._results: dict[int, EpisodeResult] = {}
        self._next_episode = 0
        first = list(islice(self._workloads, num_simulations))
        if not first:
            raise ClearschedError("lockstep: no workload: at least one needed")
        self._states = [start(profiles, workload, **self._logs) for workload in first]
        self._objectives = [workload.objective for workload in first]
        self._arena = arena.new_arena(len(first), self._states[0])
        for k, state in enumerate(self._states):
            arena.put(self._arena, k, state, self._states[0])
        count = self.num_simulations = len(first)
        self.episode = np.arange(count)
        self._next_episode = count
        self.ended: list[Ended] = []
        self.reward = np.zeros(count)
        self._reward = REWARDS.index(reward)
        self._clock_ms = np.full(count, UNSET, np.int64)
        self._time_ms = np.zeros(count, np.int64)
        self.pending = np.empty(0, np.int64)
        self._to_run = np.arange(count)
        self._num_candidates = np.zeros(count, np.int64)
        self._room = np.zeros((count, 4), np.int64)
        self._buffers = empty_graph(count, 0, 0, 0, 0)
        self._node_of = np.empty(0, np.int64)
        self._most_stages = max(len(state.stage) for state in self._states)

    def advance(self) -> int:
        """Run each simulation to its next decision with a candidate; the number of those that wait for an answer.

        A simulation whose episode ends goes on with the next workload; 0 when all workloads are done.

        Raises:
            WorkloadError: the next workload is malformed.
        """
        self.ended, self.reward = [], np.zeros(self.num_simulations)
        self._run()
        return len(self.pending)

    def observe(self) -> Graph:
        """The decisions that wait as one graph, in the order of `pending`; its arrays last until the next `observe`."""
        needed = self._needed_room()
        if not has_room(self._buffers, needed):
            # Half as much again, so that a backlog that grows does not mean new buffers at every step.
            self._buffers = empty_graph(self.num_simulations, *(size + size // 2 for size in needed))
        if self._most_stages > len(self._node_of):
            self._node_of = np.empty(self._most_stages, np.int64)
        _observe(self._arena, self._states[0], self.pending, self._buffers, self._node_of)
        return filled(self._buffers, len(self.pending))

    def gauges(self) -> np.ndarray:
        """float64[B, G]: what a guard watches (`DagJobs.gauges`), at each decision that waits."""
        values = np.empty((len(self.pending), guarded.NUM_GAUGES))
        _gauges(self._arena, self._states[0], self.pending, values)
        return values

    def choices(self, policy: loop.Compiled) -> tuple[np.ndarray, np.ndarray]:
        """What a compiled policy answers: int64[B] stages and limits as `Simulation.reference_choice` gives them.

        Raises:
            FeatureError: a feature or a score of the policy is not finite.
        """
        return self._choices(self.pending, policy)

    def ask(self, policy: loop.Compiled) -> Answers:
        """`choices` as positions among each decision's candidates, NONE where the executors stay idle."""
        return self._ask(self.pending, policy)

    def ask_at(self, places: np.ndarray, policy: loop.Compiled) -> Answers:
        """As `ask`, of the decisions at some places of `pending` alone."""
        return self._ask(self.pending[places], policy)

    def answer(self, answers: Answers, *, by_heuristic: bool = False) -> None:
        """Answer all decisions that wait, by positions among each one's candidates and limits.

        `by_heuristic`: NONE may leave executors idle for good, which a learned policy's may not (`rounds`).

        Raises:
            ActionError: an answer is not allowed; nothing was answered then.
        """
        candidate, limit = (whole_numbers(values, len(self.pending)) for values in answers)
        stage = np.full(len(candidate), NONE, np.int64)
        counts = self._num_candidates[self.pending]
        if np.any((candidate < NONE) | (candidate >= counts)):
            wrong = int(np.argmax((candidate < NONE) | (candidate >= counts)))
            raise ActionError(f"answer: candidate {candidate[wrong]} of {counts[wrong]} does not exist")
        refused = _stages(self._arena, self._states[0], self.pending, candidate, stage)
        if refused >= 0 and not by_heuristic:
            raise self._none_refused(int(self.pending[refused]), "a learned policy may not leave executors idle here")
        self.act(stage, limit)

    def act(self, stage: np.ndarray, limit: np.ndarray) -> np.ndarray:
        """Answer all decisions that wait: each `stage` gets executors until its job holds `limit`.

        Args:
            stage: int[B] in the order of `pending`, rows of the simulations' own stages (`Graph.candidate_stage`); NONE
                leaves all executors that are decided on idle.
            limit: int[B]; of no meaning where the stage is NONE.

        Returns:
            int64[B]: executors committed.

        Raises:
            ActionError: a stage is no candidate, a limit is not above what the job holds, or nothing else is going to
                happen, so that NONE is refused; nothing was answered then.
        """
        stage, limit = (whole_numbers(values, len(self.pending)) for values in (stage, limit))
        committed = np.empty(len(self.pending), np.int64)
        refused = _act(self._arena, self._states[0], self.pending, stage, limit, committed)
        if refused >= 0:
            raise self._refusal(int(self.pending[refused]), int(stage[refused]), int(limit[refused]))
        self._to_run = np.concatenate([self._to_run, self.pending])
        self._num_candidates[self.pending] = 0
        self.pending = np.empty(0, np.int64)
        return committed

    def reset(self, simulation: int, workload: Workload) -> None:
        """Give up the episode of one simulation and start another; the next `advance` runs it to its first decision.

        Raises:
            WorkloadError: the workload is malformed; the simulation goes on as it was then.
            ClearschedError: there is no such simulation.
        """
        if not 0 <= simulation < self.num_simulations:
            raise ClearschedError(f"lockstep: simulation {simulation} of {self.num_simulations} does not exist")
        self._start(simulation, workload)

    @property
    def time_s(self) -> np.ndarray:
        """float64[B]: simulated time of each decision that waits, s."""
        return self._time_ms[self.pending] / 1000

    def results(self) -> list[EpisodeResult]:
        """The outcomes of the episodes that have ended, in the order in which their workloads were given."""
        return [self._results[episode] for episode in sorted(self._results)]

    def _run(self) -> None:
        """Run those that were answered or started, also those that start in the place of others meanwhile."""
        while len(self._to_run):
            running, self._to_run = self._to_run, np.empty(0, np.int64)
            self._make_room(running)
            _advance(
                self._arena, self._states[0], running, self._num_candidates, self._room,
                self._time_ms, self._reward, self._clock_ms, self.reward,
            )  # fmt: skip
            if not self._num_candidates[running].all():
                self._end(running[self._num_candidates[running] == 0])
        self.pending = np.flatnonzero(self._num_candidates)

    def _choices(self, asked: np.ndarray, policy: loop.Compiled) -> tuple[np.ndarray, np.ndarray]:
        """`choices` of some of the simulations that wait."""
        stage, limit = np.empty_like(asked), np.empty_like(asked)
        _choices(self._arena, self._states[0], asked, policy, stage, limit)
        if (stage == loop.INVALID).any():
            lane = asked[int(np.argmax(stage == loop.INVALID))]
            raise FeatureError(loop.fault(self._states[lane], policy))
        return stage, limit

    def _ask(self, asked: np.ndarray, policy: loop.Compiled) -> Answers:
        """`ask` of some of the simulations that wait."""
        stage, limit = self._choices(asked, policy)
        position = np.full(len(stage), NONE, np.int64)
        _positions(self._arena, self._states[0], asked, stage, position)
        return Answers(position, limit)

    def _needed_room(self) -> list[int]:
        """Nodes, jobs, candidates and edges of the decisions that wait."""
        needed: list[int] = self._room[self.pending].sum(axis=0).tolist()
        return needed

    def _make_room(self, running: np.ndarray) -> None:
        """Longer logs for simulations whose logs are half full."""
        for k in running.tolist() if any(self._logs.values()) else ():
            state = self._states[k]
            self._states[k] = with_room(state)
            if self._states[k] is not state:
                arena.put(self._arena, k, self._states[k], state)

    def _start(self, k: int, workload: Workload) -> None:
        """Put a new episode in the place of simulation k; the next `advance` runs it."""
        state = start(self.profiles, workload, **self._logs)
        arena.put(self._arena, k, state, self._states[k])
        self._states[k], self._objectives[k] = state, workload.objective
        self._most_stages = max(self._most_stages, len(state.stage))
        self._clock_ms[k] = UNSET
        self._num_candidates[k] = 0
        self.episode[k] = self._next_episode
        self._next_episode += 1
        self.pending = self.pending[self.pending != k]
        self._to_run = np.append(self._to_run[self._to_run != k], k)

    def _end(self, ended: np.ndarray) -> None:
        """Note the results of simulations whose events have run out, and start the next workloads in their place."""
        for k in ended.tolist():
            result = result_of(self._states[k], self._objectives[k])
            self.ended.append(Ended(k, int(self.episode[k]), result))
            if self._keep_results:
                self._results[int(self.episode[k])] = result
            if self._reward == MAKESPAN:  # executors may still have moved after the last completion
                self.reward[k] = self._clock_ms[k] / 1000 - result.makespan_s
            workload = next(self._workloads, None)
            if workload is not None:
                self._start(k, workload)

    def _none_refused(self, k: int, why: str) -> ActionError:
        number = int(self._states[k].scalar[st.NUM_DECISIONS])
        return ActionError(f"decision {number}: simulation {k}: none is refused: {why}")

    def _refusal(self, k: int, stage: int, limit: int) -> ActionError:
        state, held = self._states[k], None
        if stage == NONE:
            return self._none_refused(k, "nothing else is going to happen")
        if 0 <= stage < len(state.stage) and state.stage[stage, st.CANDIDATE] == 1:
            held = int(executors_held(state, state.stage[stage, st.JOB]))
        return refusal(int(state.scalar[st.NUM_DECISIONS]), k, stage, limit, held)


def refusal(number: int, simulation: int, stage: int, limit: int, held: int | None) -> ActionError:
    """Why an answer to decision `number` is not allowed; `held` by the stage's job, None if it is no candidate."""
    decision = f"decision {number}: simulation {simulation}"
    if held is None:
        return ActionError(f"{decision}: stage {stage} is no candidate")
    return ActionError(f"{decision}: limit {limit} is not above the {held} executors that the job holds")


def has_room(buffers: Graph, needed: Sequence[int]) -> bool:
    """Whether buffers can hold so many nodes, jobs, candidates and edges."""
    room = (len(buffers.nodes), len(buffers.jobs), len(buffers.candidates), buffers.edges.shape[1])
    return all(need <= has for need, has in zip(needed, room, strict=True))


def whole_numbers(values: np.ndarray, count: int) -> np.ndarray:
    """`values` as int64[count].

    Raises:
        ActionError: they are something else.
    """
    values = np.asarray(values)
    if values.shape != (count,):
        raise ActionError(f"act: answers of shape {values.shape} to the {count} decisions that wait: one each needed")
    if values.dtype.kind not in "iu" and count:
        raise ActionError(f"act: answers of type {values.dtype}: whole numbers needed")
    return values.astype(np.int64, copy=False)


@concurrent
def _advance(
    states: np.ndarray,
    like: State,
    which: np.ndarray,
    num_candidates: np.ndarray,
    room: np.ndarray,
    time_ms: np.ndarray,
    reward_kind: int,
    clock_ms: np.ndarray,
    reward: np.ndarray,
) -> None:
    """Run some simulations to their next choice; 0 candidates at the end of an episode."""
    for k in which:
        state = get(states, k, like)
        num_candidates[k] = advance_to_choice(state)
        time_ms[k] = state.scalar[st.TIME_MS]
        room[k, 0], room[k, 1], room[k, 2], room[k, 3] = room_of(state)
        if reward_kind != NO_REWARD:
            now = job_time_ms(state) if reward_kind == JOB_TIME else time_ms[k]
            if clock_ms[k] != UNSET:
                reward[k] = (clock_ms[k] - now) / 1000
            if num_candidates[k] > 0:
                clock_ms[k] = now


@concurrent
def _observe(states: np.ndarray, like: State, pending: np.ndarray, out: Graph, node_of: np.ndarray) -> None:
    out = borrow(out)
    for b in range(len(pending)):
        fill(get(states, pending[b], like), out, node_of, b)


@concurrent
def _gauges(states: np.ndarray, like: State, pending: np.ndarray, values: np.ndarray) -> None:
    for b in range(len(pending)):
        guarded.read_gauges(get(states, pending[b], like), values[b])


@concurrent
def _choices(
    states: np.ndarray, like: State, pending: np.ndarray, policy: loop.Compiled, stage: np.ndarray, limit: np.ndarray
) -> None:
    for b in range(len(pending)):
        stage[b], limit[b] = loop.choose_limit(get(states, pending[b], like), policy)


@concurrent
def _positions(states: np.ndarray, like: State, pending: np.ndarray, stage: np.ndarray, position: np.ndarray) -> None:
    """Where among its decision's candidates, in the order of the feature matrix, each stage stands."""
    for b in range(len(pending)):
        state, s = get(states, pending[b], like), stage[b]
        if s != NONE:
            position[b] = candidates_before(state, s)


@concurrent
def _stages(states: np.ndarray, like: State, pending: np.ndarray, position: np.ndarray, stage: np.ndarray) -> int:
    """The stage that stands at each position; the first NONE that a learned policy may not answer, or -1."""
    refused = -1
    for b in range(len(pending)):
        state = get(states, pending[b], like)
        if position[b] != NONE:
            stage[b] = candidate_at(state, position[b])
        elif refused < 0 and not none_allowed(state):
            refused = b
    return refused


@concurrent
def _act(
    states: np.ndarray, like: State, pending: np.ndarray, stage: np.ndarray, limit: np.ndarray, committed: np.ndarray
) -> int:
    """Check all answers, then carry them out; the first that is not allowed (then none was carried out), or -1."""
    for b in range(len(pending)):
        state, s = get(states, pending[b], like), stage[b]
        if s == NONE:
            committed[b] = 0
            if not something_pending(state):
                return b
            continue
        if s < 0 or s >= len(state.stage) or state.stage[s, st.CANDIDATE] == 0:
            return b
        committed[b] = limit[b] - executors_held(state, state.stage[s, st.JOB])
        if committed[b] <= 0:
            return b
    for b in range(len(pending)):
        committed[b] = engine.commit(get(states, pending[b], like), stage[b], committed[b])
    return -1
