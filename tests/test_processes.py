"""Simulations on several processes: the same as on one, errors that arrive, memory that does not stay behind."""

from __future__ import annotations

import itertools
import os
import signal
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np
import pytest

from clearsched.errors import ActionError, ClearschedError, WorkloadError
from clearsched.policies import heuristic
from clearsched.problems.dag_jobs.graph import observation_of
from clearsched.problems.dag_jobs.simulator.lockstep import Lockstep
from clearsched.problems.dag_jobs.simulator.processes import Processes, SharedArrays
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from test_lockstep import TOYS, drawn, hashed_choice
from toys import toy_workload


@pytest.fixture(scope="module")
def toys() -> Profiles:
    return compile_profiles(TOYS)


def trail(runner: Lockstep | Processes) -> list[list[bytes | list[int]]]:
    """All that can be seen of a run, step by step, under a policy that depends on it."""
    steps = []
    while runner.advance():
        graph = runner.observe()
        answers = np.array([hashed_choice(observation_of(graph, b), 4) for b in range(graph.num_decisions)])
        seen = [array.tobytes() for array in (*graph, runner.time_s, runner.reward)]
        steps.append([*seen, runner.pending.tolist(), runner.episode.tolist()])
        steps[-1].append(runner.act(*answers.T).tolist())
        steps[-1] += [ended[:2] for ended in runner.ended]
    return steps


@pytest.mark.parametrize("num_processes", [1, 2, 3])
def test_the_number_of_processes_changes_nothing(toys: Profiles, num_processes: int) -> None:
    """Nine episodes in four places, so that places get new episodes on the way and buffers must grow."""
    episodes = drawn(toys, 9)
    lockstep = Lockstep(toys, episodes, 4, reward="job_time", record_tasks=True)
    expected = trail(lockstep)
    with Processes(toys, episodes, 4, num_processes=num_processes, reward="job_time", record_tasks=True) as processes:
        assert processes.num_processes == num_processes
        assert trail(processes) == expected
        for ours, theirs in zip(lockstep.results(), processes.results(), strict=True):
            assert ours.tasks is not None
            assert ours.tasks.tolist() == theirs.tasks.tolist()
            assert ours.completion_ms.tolist() == theirs.completion_ms.tolist()


def test_errors_arrive_and_leave_it_usable(toys: Profiles) -> None:
    """Wrong answers and workloads are told as by `Lockstep`, and nothing is left in shared memory."""
    policy = heuristic("capped_srpt").compiled
    with Processes(toys, [toy_workload([0], 2)] * 3, num_processes=2) as processes:
        names = [worker._shared_control.name for worker in processes._workers]
        assert processes.advance() == 3
        with pytest.raises(ActionError, match=r"^decision 0: simulation 2: stage 1 is no candidate$"):
            processes.act([0, 0, 1], [1, 1, 1])
        with pytest.raises(ActionError, match=r"^decision 0: simulation 1: limit 0 is not above the 0 executors"):
            processes.act([0, 0, 0], [1, 0, 1])
        with pytest.raises(WorkloadError, match="num_executors is 0"):
            processes.reset(2, toy_workload([0], 0))
        with pytest.raises(ClearschedError, match="simulation 3 of 3 does not exist"):
            processes.reset(3, toy_workload([0], 2))
        processes.reset(2, toy_workload([70], 2))
        assert processes.pending.tolist() == [0, 1]
        assert processes.advance() == 3
        assert processes.time_s.tolist() == [0, 0, 0.07]
        while processes.advance():
            processes.act(*processes.choices(policy))
            with pytest.raises(ActionError, match="to the 0 decisions"):
                processes.act([0, 0, 0], [2, 2, 2])
        assert len(processes.results()) == 3
        names += [worker._shared_graph.name for worker in processes._workers]
    for name in names:
        with pytest.raises(FileNotFoundError):
            SharedMemory(name)
    processes.close()


def test_a_bad_workload_at_the_start_and_a_killed_worker(toys: Profiles) -> None:
    before = set(Path("/dev/shm").glob("psm_*")) if Path("/dev/shm").is_dir() else set()
    with pytest.raises(WorkloadError, match="moving_delay_ms is -1"):
        Processes(toys, [toy_workload([0], 2), toy_workload([0], 2, moving_delay_ms=-1)], num_processes=2)
    with Processes(toys, (toy_workload([0], 2) for _ in itertools.count()), 2, num_processes=2) as processes:
        processes.advance()
        os.kill(processes._workers[1]._process.pid, signal.SIGKILL)
        processes._workers[1]._process.join()
        with pytest.raises(ClearschedError, match=r"worker of simulation 1 died \(exit code -9\)"):
            processes.advance()
    if Path("/dev/shm").is_dir():
        assert set(Path("/dev/shm").glob("psm_*")) <= before


def test_shared_arrays_are_shared() -> None:
    template = [np.empty((2, 3)), np.empty(5, np.int64)]
    mine = SharedArrays(template)
    theirs = SharedArrays(template, mine.name)
    mine.arrays[0][:] = 1.5
    theirs.arrays[1][:] = 7
    assert theirs.arrays[0].tolist() == [[1.5] * 3] * 2
    assert mine.arrays[1].tolist() == [7] * 5
    theirs.close(unlink=False)
    mine.close(unlink=True)
