"""The timing wheel against a heap on (time, number of insertion), and episodes whose tasks outlast the wheel."""

from __future__ import annotations

import heapq

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from clearsched.compiled import wheel as events
from clearsched.compiled.wheel import EMPTY, FAR, NODE_CODE, SLOT_MASK, WHEEL_SLOTS
from reference_policies import fair
from test_simulator_properties import assert_same, run
from toys import run_reference, stage, toy_trace, toy_workload


class Wheel:
    """The queue of the simulator, driven from Python."""

    def __init__(self, capacity: int) -> None:
        self.now_ms = 0
        self.bitmap = np.empty(events.BITMAP_WORDS, np.uint64)
        self.wheel = np.empty(WHEEL_SLOTS, np.int32)
        self.node = np.empty((capacity + 1, 2), np.int64)
        self.overflow = np.empty((capacity + 1, 3), np.int64)
        events.clear_queue(self.bitmap, self.node)

    def push(self, time_ms: int, code: int) -> None:
        events.push(self.bitmap, self.wheel, self.node, self.overflow, self.now_ms, time_ms, code)

    def pop(self) -> tuple[int, int] | None:
        """(time, code) of the next event, as `engine.advance` finds it; None if there is none."""
        slot = events.next_slot(self.bitmap, self.now_ms & SLOT_MASK)
        at_ms = FAR if slot == EMPTY else self.now_ms + ((slot - self.now_ms) & SLOT_MASK)
        next_ms = min(at_ms, events.overflow_ms(self.bitmap, self.overflow))
        if next_ms == FAR:
            return None
        self.now_ms = int(next_ms)
        events.promote(self.bitmap, self.wheel, self.node, self.overflow, self.now_ms)
        slot = events.next_slot(self.bitmap, self.now_ms & SLOT_MASK)
        n = events.take_first(self.bitmap, self.wheel, self.node, slot)
        code = int(self.node[n, NODE_CODE])
        events.free_node(self.node, n)
        return self.now_ms, code


delays = (
    st.integers(0, 5)
    | st.sampled_from([63, 64, 65, 4095, 4096, WHEEL_SLOTS - 1, WHEEL_SLOTS, WHEEL_SLOTS + 1, 3 * WHEEL_SLOTS])
    | st.integers(0, 4 * WHEEL_SLOTS)
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.booleans(), delays), max_size=60))
def test_events_come_out_in_order_of_time_and_then_of_insertion(steps: list[tuple[bool, int]]) -> None:
    wheel, heap, pushed = Wheel(capacity=60), [], 0
    for pops, delay_ms in steps:
        if pops:
            expected = heapq.heappop(heap) if heap else None
            assert wheel.pop() == expected
        else:
            wheel.push(wheel.now_ms + delay_ms, pushed)
            heapq.heappush(heap, (wheel.now_ms + delay_ms, pushed))
            pushed += 1
    while heap:
        assert wheel.pop() == heapq.heappop(heap)
    assert wheel.pop() is None


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    durations=st.lists(st.sampled_from([1, 1000, 32_767, 32_768, 40_000, 100_000]), min_size=1, max_size=4),
    num_executors=st.integers(1, 6),
    moving_delay_ms=st.sampled_from([0, 2000, 32_768, 70_000]),
    arrivals_ms=st.lists(st.sampled_from([0, 1000, 32_768, 65_536, 100_000]), min_size=1, max_size=4),
    seed=st.integers(0, 1000),
)
def test_tasks_that_outlast_the_wheel_run_as_in_the_reference(
    durations: list[int], num_executors: int, moving_delay_ms: int, arrivals_ms: list[int], seed: int
) -> None:
    tables = {"first_wave": {1: durations}, "rest_wave": {1: durations}, "fresh": {1: durations}}
    trace = toy_trace([[stage(3, **tables), stage(5, **tables), stage(2, [0], **tables)]])
    workload = toy_workload(
        sorted(arrivals_ms),
        num_executors,
        profile=[0] * len(arrivals_ms),
        moving_delay_ms=moving_delay_ms,
        mean_durations=False,
        seed=seed,
    )
    assert_same(run((trace, workload, 0), "fair"), run_reference(trace, workload, fair, 0))
