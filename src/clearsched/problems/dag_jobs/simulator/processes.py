"""Many simulations in lockstep on several processes: as `Lockstep`, to the bit, whatever the number of processes.

Each worker steps a block of the simulations and describes their decisions in shared memory; answers come back the same
way, so the pipes carry a word a step. The parent hands out workloads in the order of the simulations, checks answers
before any is carried out, and owns the shared memory.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numba import set_num_threads

from clearsched.compiled.jit import allocating
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.graph import GLOBAL_FEATURES, NODE_FEATURES, Graph, concatenate, empty_graph, filled
from clearsched.problems.dag_jobs.simulator import loop
from clearsched.problems.dag_jobs.simulator.lockstep import Ended, Lockstep, has_room, refusal, whole_numbers
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Workload
from clearsched.problems.dag_jobs.simulator.state import NUM_DECISIONS

ALIGNMENT = 64
DEMAND = [feature.name for feature in NODE_FEATURES].index("demand")
TO_DECIDE = [feature.name for feature in GLOBAL_FEATURES].index("executors_to_decide")


class Control(NamedTuple):
    """What parent and worker share besides the graph: an entry a simulation of the worker."""

    waits: np.ndarray  # int64[K]: 1 if it waits for an answer
    number: np.ndarray  # int64[K]: of the decision
    time_ms: np.ndarray  # int64[K]
    reward: np.ndarray  # float64[K]
    stage: np.ndarray  # int64[K]: the answer
    limit: np.ndarray  # int64[K]


def new_control(count: int) -> Control:
    """For `count` simulations."""
    return Control(*(np.zeros(count, np.float64 if name == "reward" else np.int64) for name in Control._fields))


class SharedArrays:
    """Arrays of the shapes and dtypes of a template in one block of shared memory, zero at first."""

    def __init__(self, template: Sequence[np.ndarray], name: str | None = None) -> None:
        """Make a block, or attach to the one of that name."""
        sizes = [-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in template]
        self._memory = SharedMemory(name, create=name is None, size=max(sum(sizes), 1))
        places = (sum(sizes[:index]) for index in range(len(sizes)))
        self.arrays = [
            np.ndarray(array.shape, array.dtype, self._memory.buf, place)
            for array, place in zip(template, places, strict=True)
        ]

    @property
    def name(self) -> str:
        """What another process attaches to."""
        return self._memory.name

    def close(self, *, unlink: bool) -> None:
        """Let go of the memory; whoever made it also removes it. No view of its arrays may be left."""
        self.arrays = []
        self._memory.close()
        if unlink:
            self._memory.unlink()


class Processes:
    """K simulations that take their decisions together, on P processes. Use it as a context manager.

    >>> with Processes(profiles, workloads, num_processes=2) as processes:   # doctest: +SKIP
    ...     while processes.advance():
    ...         stage, limit = network(processes.observe())
    ...         processes.act(stage, limit)
    ...     processes.results()

    Attributes are those of `Lockstep`. The main module must be importable without side effects, as `multiprocessing`
    asks for.
    """

    def __init__(
        self,
        profiles: Profiles,
        workloads: Iterable[Workload],
        num_simulations: int | None = None,
        *,
        num_processes: int,
        reward: str = "none",
        record_tasks: bool = False,
        keep_results: bool = True,
        start_method: str = "spawn",
    ) -> None:
        """Start the processes, at most one a simulation, and the first episodes. Arguments as those of `Lockstep`.

        Raises:
            WorkloadError: a workload is malformed.
            ClearschedError: there is no workload or no process, or the reward is unknown.
        """
        self._workloads: Iterator[Workload] = iter(workloads)
        first = list(islice(self._workloads, num_simulations))
        if not first or num_processes < 1:
            raise ClearschedError("processes: at least one workload and one process needed")
        self.num_simulations = count = len(first)
        self.num_processes = min(num_processes, count)
        self.episode = np.arange(count)
        self.reward = np.zeros(count)
        self.pending = np.empty(0, np.int64)
        self.ended: list[Ended] = []
        self._time_ms, self._number = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._next_episode = count
        self._keep_results = keep_results
        self._results: dict[int, EpisodeResult] = {}
        self._answered = False
        self._graph: Graph | None = None
        self._workers: list[_Worker] = []
        options = {"reward": reward, "record_tasks": record_tasks, "keep_results": False}
        bounds = [count * p // self.num_processes for p in range(self.num_processes + 1)]
        try:
            for begin, end in pairwise(bounds):
                self._workers.append(_Worker(profiles, first[begin:end], begin, options, start_method))
            self._replies(self._workers)
        except BaseException:
            self.close()
            raise

    def advance(self) -> int:
        """As `Lockstep.advance`.

        Raises:
            WorkloadError: the next workload is malformed.
            ClearschedError: a worker failed.
        """
        for worker in self._workers:
            worker.send(("step", self._answered))
        self._answered = False
        self._graph = None
        self.ended = []
        stepped = self._workers
        while stepped:
            ended = self._replies(stepped)
            self._read()
            stepped = self._hand_out(ended)
        return len(self.pending)

    def observe(self) -> Graph:
        """As `Lockstep.observe`; the arrays are the caller's."""
        if self._graph is None:
            parts = [worker.graph() for worker in self._workers]
            self._graph = concatenate([part for part in parts if part.num_decisions] or parts[:1])
        return self._graph

    def choices(self, policy: loop.Compiled) -> tuple[np.ndarray, np.ndarray]:
        """As `Lockstep.choices`."""
        for worker in self._workers:
            worker.send(("choices", policy))
        stages, limits = zip(*self._replies(self._workers), strict=True)
        return np.concatenate(stages), np.concatenate(limits)

    def act(self, stage: np.ndarray, limit: np.ndarray) -> np.ndarray:
        """As `Lockstep.act`; the answers are carried out by the next `advance`.

        Raises:
            ActionError: a stage is no candidate, or a limit is not above what the job holds.
        """
        count = len(self.pending) if not self._answered else 0
        stage, limit = (whole_numbers(values, count) for values in (stage, limit))
        if not count:
            return np.empty(0, np.int64)
        graph, committed, held = self.observe(), np.empty(count, np.int64), np.empty(count, np.int64)
        refused = _check(graph, stage, limit, committed, held)
        if refused >= 0:
            of_job = int(held[refused]) if committed[refused] >= 0 else None
            k = int(self.pending[refused])
            raise refusal(int(self._number[k]), k, int(stage[refused]), int(limit[refused]), of_job)
        answers = np.zeros((2, self.num_simulations), np.int64)
        answers[:, self.pending] = stage, limit
        for worker in self._workers:
            worker.control.stage[:], worker.control.limit[:] = answers[:, worker.first : worker.end]
        self._answered = True
        self.pending = np.empty(0, np.int64)
        return committed

    def reset(self, simulation: int, workload: Workload) -> None:
        """As `Lockstep.reset`.

        Raises:
            WorkloadError: the workload is malformed; the simulation goes on as it was then.
            ClearschedError: there is no such simulation, or answers have been given: advance first.
        """
        if not 0 <= simulation < self.num_simulations:
            raise ClearschedError(f"processes: simulation {simulation} of {self.num_simulations} does not exist")
        if self._answered:
            raise ClearschedError("processes: reset after act: call advance first")
        worker = next(worker for worker in self._workers if simulation < worker.end)
        worker.send(("reset", (simulation - worker.first, workload)))
        self._replies([worker])
        self._read()
        self._graph = None
        self.episode[simulation] = self._next_episode
        self._next_episode += 1

    @property
    def time_s(self) -> np.ndarray:
        """float64[B]: simulated time of each decision that waits, s."""
        return self._time_ms[self.pending] / 1000

    def results(self) -> list[EpisodeResult]:
        """The outcomes of the episodes that have ended, in the order in which their workloads were given."""
        return [self._results[episode] for episode in sorted(self._results)]

    def close(self) -> None:
        """End the processes and remove the shared memory. Nothing happens the second time."""
        while self._workers:
            self._workers.pop().close()

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _replies(self, workers: Sequence[_Worker]) -> list[Any]:
        """Wait for all of them, then raise the first error if there was one."""
        replies = [worker.reply() for worker in workers]
        for _, error in replies:
            if error is not None:
                raise error
        return [content for content, _ in replies]

    def _read(self) -> None:
        """Take over what the workers say of their simulations."""
        controls = [worker.control for worker in self._workers]
        whole = Control(*(np.concatenate(parts) for parts in zip(*controls, strict=True)))
        self.reward, self._time_ms, self._number = whole.reward, whole.time_ms, whole.number
        self.pending = np.flatnonzero(whole.waits)

    def _hand_out(self, ended: Sequence[list[tuple[int, EpisodeResult]]]) -> list[_Worker]:
        """Note results, and give the next workloads out in the order of the simulations; the workers that got one."""
        given: dict[int, list[tuple[int, Workload]]] = {}
        for worker, episodes in zip(self._workers, ended, strict=False):
            for local, result in episodes:
                k = worker.first + local
                self.ended.append(Ended(k, int(self.episode[k]), result))
                if self._keep_results:
                    self._results[int(self.episode[k])] = result
                workload = next(self._workloads, None)
                if workload is not None:
                    given.setdefault(worker.first, []).append((local, workload))
                    self.episode[k] = self._next_episode
                    self._next_episode += 1
        stepped = [worker for worker in self._workers if worker.first in given]
        for worker in stepped:
            worker.send(("start", given[worker.first]))
        return stepped


class _Worker:
    """A process as the parent sees it: simulations `first` to `end` of all."""

    def __init__(
        self, profiles: Profiles, workloads: Sequence[Workload], first: int, options: dict[str, Any], start_method: str
    ) -> None:
        context: Any = get_context(start_method)
        self.first, self.end = first, first + len(workloads)
        self.connection: Connection
        self.connection, theirs = context.Pipe()
        template = new_control(len(workloads))
        self._shared_control = SharedArrays(template)
        self._shared_graph: SharedArrays | None = None
        self.control = Control(*self._shared_control.arrays)
        arguments = (theirs, profiles, workloads, options, self._shared_control.name)
        self._process = context.Process(target=work, args=arguments, daemon=True)
        self._process.start()
        theirs.close()

    def graph(self) -> Graph:
        """Views of the decisions of this worker."""
        assert self._shared_graph is not None
        return filled(Graph(*self._shared_graph.arrays), int(self.control.waits.sum()))

    def send(self, message: tuple[str, Any]) -> None:
        """Give a command. That the worker is dead is for `reply` to say."""
        with suppress(OSError):
            self.connection.send(message)

    def reply(self) -> tuple[Any, BaseException | None]:
        """What the worker answers, or the exception that it met."""
        try:
            while True:
                kind, content = self.connection.recv()
                if kind == "error":
                    return None, content
                if kind == "done":
                    return content, None
                self._grow(content)
        except (EOFError, OSError):
            self._process.join(1)
            code = self._process.exitcode
            return None, ClearschedError(f"processes: the worker of simulation {self.first} died (exit code {code})")

    def close(self) -> None:
        """End the process and remove its memory."""
        self.send(("close", None))
        self._process.join(5)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join()
        self.connection.close()
        del self.control
        self._shared_control.close(unlink=True)
        if self._shared_graph is not None:
            self._shared_graph.close(unlink=True)

    def _grow(self, needed: Sequence[int]) -> None:
        """Give the worker room for half as much again as it needs."""
        room = [size + size // 2 for size in needed]
        shared = SharedArrays(empty_graph(self.end - self.first, *room))
        self.connection.send((shared.name, room))
        if self._shared_graph is not None:
            self._shared_graph.close(unlink=True)
        self._shared_graph = shared


@allocating
def _check(graph: Graph, stage: np.ndarray, limit: np.ndarray, committed: np.ndarray, held: np.ndarray) -> int:
    """What each answer commits; the first that is not allowed, or -1: its `committed` is then 0, or -1 (no candidate).

    The same as `lockstep._act` and `engine.commit` find in the states, from the graph alone.
    """
    for b in range(len(stage)):
        committed[b] = -1
        for c in range(graph.candidate_start[b], graph.candidate_start[b + 1]):
            if graph.candidate_stage[c] == stage[b]:
                node = graph.candidate_node[c]
                held[b] = graph.job_held[graph.node_job[node]]
                wanted = min(graph.nodes[node, DEMAND], graph.totals[b, TO_DECIDE])
                committed[b] = max(0, min(limit[b] - held[b], wanted))
        if committed[b] <= 0:
            return b
    return -1


def work(
    connection: Connection, profiles: Profiles, workloads: Sequence[Workload], options: dict[str, Any], control: str
) -> None:
    """What a worker process does: carry out commands until it is told to close or its parent is gone."""
    set_num_threads(1)
    if "torch" in sys.modules:  # because the main module imports it
        sys.modules["torch"].set_num_threads(1)
    shared = SharedArrays(new_control(len(workloads)), control)
    simulations = None
    with suppress(EOFError, OSError, KeyboardInterrupt):
        try:
            simulations = _Simulations(Lockstep(profiles, workloads, **options), Control(*shared.arrays), connection)
            connection.send(("done", None))
        except Exception as error:
            connection.send(("error", _to_send(error)))
        while simulations is not None:
            command, argument = connection.recv()
            if command == "close":
                break
            try:
                connection.send(("done", getattr(simulations, command)(argument)))
            except Exception as error:
                connection.send(("error", _to_send(error)))
    if simulations is not None:
        simulations.close()
    shared.close(unlink=False)


def _to_send(error: Exception) -> Exception:
    """The exception with the worker's traceback, if it is not one of those that explain themselves in one line."""
    if isinstance(error, (EOFError, OSError)):
        raise error
    if isinstance(error, ClearschedError):
        return error
    return RuntimeError("".join(traceback.format_exception(error)))


class _Simulations:
    """The simulations of a worker; its public methods are the commands."""

    def __init__(self, lockstep: Lockstep, control: Control, connection: Connection) -> None:
        self._lockstep = lockstep
        self._control: Control | None = control
        self._connection = connection
        self._graph: SharedArrays | None = None

    def step(self, answered: bool) -> list[tuple[int, EpisodeResult]]:
        """Carry out the answers, run to the next decisions, describe them; the episodes that ended."""
        control = self._shared_control()
        if answered:
            pending = self._lockstep.pending
            self._lockstep.act(control.stage[pending], control.limit[pending])
        self._lockstep.advance()
        return self._ended()

    def start(self, given: Sequence[tuple[int, Workload]]) -> list[tuple[int, EpisodeResult]]:
        """Start episodes in the place of those that ended, and run them to their first decision."""
        for simulation, workload in given:
            self._lockstep._start(simulation, workload)
        self._lockstep.ended = []
        self._lockstep._run()  # `advance` would forget the rewards of the step
        return self._ended()

    def reset(self, given: tuple[int, Workload]) -> None:
        """Give up an episode and start another."""
        self._lockstep.reset(*given)
        self._describe()

    def choices(self, policy: loop.Compiled) -> tuple[np.ndarray, np.ndarray]:
        """See `Lockstep.choices`."""
        return self._lockstep.choices(policy)

    def close(self) -> None:
        """Let go of the shared memory."""
        self._control = None
        self._lockstep._buffers = empty_graph(0, 0, 0, 0, 0)
        if self._graph is not None:
            self._graph.close(unlink=False)
            self._graph = None

    def _ended(self) -> list[tuple[int, EpisodeResult]]:
        self._describe()
        return [(ended.simulation, ended.result) for ended in self._lockstep.ended]

    def _describe(self) -> None:
        """Write what the parent reads of the decisions that wait."""
        lockstep, control = self._lockstep, self._shared_control()
        needed = lockstep._needed_room()
        if self._graph is None or not has_room(lockstep._buffers, needed):
            self._connection.send(("room", needed))
            name, room = self._connection.recv()
            template = empty_graph(lockstep.num_simulations, *room)
            lockstep._buffers = template
            if self._graph is not None:
                self._graph.close(unlink=False)
            self._graph = SharedArrays(template, name)
            lockstep._buffers = Graph(*self._graph.arrays)
        lockstep.observe()
        control.waits[:] = 0
        control.waits[lockstep.pending] = 1
        control.time_ms[:] = lockstep._time_ms
        control.number[:] = [state.scalar[NUM_DECISIONS] for state in lockstep._states]
        control.reward[:] = lockstep.reward

    def _shared_control(self) -> Control:
        assert self._control is not None
        return self._control
