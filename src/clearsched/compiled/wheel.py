"""The queue of events, at most one an actor: a timing wheel (Varghese and Lauck, SOSP 1987), constant time an event.

Time is in whole milliseconds and nearly every event lies less than WHEEL_SLOTS of them ahead, so the queue is one slot
a millisecond, and a bitmap of two levels tells the next slot in use. A slot is a list in order of insertion, which is
the order among events of the same time: no insertion numbers, no comparisons, and a cost that does not depend on the
number of actors. An event further ahead waits in a heap, `overflow`, until the wheel reaches so far.

Invariants: with `now` the time of the last event, all events of the wheel lie in [now, now + WHEEL_SLOTS), those of
the heap beyond. So two events that share a slot share their time, and an event that comes out of the heap is older
than any that is put into its slot afterwards.

`node` holds (next node, code) of each event and one row more, the head of the list of unused nodes: an actor has at
most one event, so N nodes suffice for N actors. `wheel[slot]` is the last node of the slot's list, which is circular.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from clearsched.compiled.jit import compiled, inlined

WHEEL_SLOTS = 1 << 15
SLOT_MASK = WHEEL_SLOTS - 1
FIRST_WORD = WHEEL_SLOTS // 64  # words that tell which of the words before are not 0
SUMMARY_WORDS = FIRST_WORD // 64
BITMAP_WORDS = FIRST_WORD + SUMMARY_WORDS + 1  # the last one: number of events in the heap

EMPTY = -1
FAR = np.iinfo(np.int64).max

NODE_NEXT, NODE_CODE = range(2)
OVERFLOW_MS, OVERFLOW_NUMBER, OVERFLOW_CODE = range(3)

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
ONE = np.uint64(1)
ZERO = np.uint64(0)


def _lowest_bit(_context: Any, _word: Any) -> Any:
    """int64: the position of the lowest bit that is set in a uint64, which must not be 0."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


lowest_bit: Any = intrinsic(_lowest_bit)


@compiled
def clear_queue(bitmap: np.ndarray, node: np.ndarray) -> None:
    """No event, all nodes unused."""
    bitmap[:] = ZERO
    last = len(node) - 1
    node[last, NODE_NEXT] = 0 if last > 0 else EMPTY
    for n in range(last):
        node[n, NODE_NEXT] = n + 1 if n + 1 < last else EMPTY


@inlined
def next_slot(bitmap: np.ndarray, start: int) -> int:
    """The first slot in use from `start` on, round the wheel; EMPTY if there is none."""
    word = start >> 6
    bits = bitmap[word] & (ALL << np.uint64(start & 63))
    if bits != ZERO:
        return (word << 6) + lowest_bit(bits)
    summary = word >> 6
    bits = bitmap[FIRST_WORD + summary] & ((ALL << np.uint64(word & 63)) << ONE)
    if bits == ZERO:
        for step in range(1, SUMMARY_WORDS + 1):
            summary = ((word >> 6) + step) & (SUMMARY_WORDS - 1)
            bits = bitmap[FIRST_WORD + summary]
            if bits != ZERO:
                break
        if bits == ZERO:
            return EMPTY
    word = (summary << 6) + lowest_bit(bits)
    return (word << 6) + lowest_bit(bitmap[word])


@inlined
def append(bitmap: np.ndarray, wheel: np.ndarray, node: np.ndarray, slot: int, n: int) -> None:
    """Put node n at the end of a slot's list."""
    word, bit = slot >> 6, ONE << np.uint64(slot & 63)
    if bitmap[word] & bit != ZERO:
        tail = wheel[slot]
        node[n, NODE_NEXT] = node[tail, NODE_NEXT]
        node[tail, NODE_NEXT] = n
    else:
        node[n, NODE_NEXT] = n
        bitmap[word] |= bit
        bitmap[FIRST_WORD + (word >> 6)] |= ONE << np.uint64(word & 63)
    wheel[slot] = n


@inlined
def take_first(bitmap: np.ndarray, wheel: np.ndarray, node: np.ndarray, slot: int) -> int:
    """Take the first node out of the list of a slot in use."""
    tail = np.int64(wheel[slot])
    first = node[tail, NODE_NEXT]
    if first != tail:
        node[tail, NODE_NEXT] = node[first, NODE_NEXT]
        return first
    word = slot >> 6
    bitmap[word] ^= ONE << np.uint64(slot & 63)
    if bitmap[word] == ZERO:
        bitmap[FIRST_WORD + (word >> 6)] ^= ONE << np.uint64(word & 63)
    return first


@inlined
def push(
    bitmap: np.ndarray, wheel: np.ndarray, node: np.ndarray, overflow: np.ndarray, now_ms: int, time_ms: int, code: int
) -> None:
    """Schedule an event at `time_ms`, `now_ms` being the time now."""
    if time_ms - now_ms >= WHEEL_SLOTS:
        push_overflow(bitmap, overflow, time_ms, code)
        return
    last = len(node) - 1
    n = node[last, NODE_NEXT]
    node[last, NODE_NEXT] = node[n, NODE_NEXT]
    node[n, NODE_CODE] = code
    append(bitmap, wheel, node, time_ms & SLOT_MASK, n)


@inlined
def free_node(node: np.ndarray, n: int) -> None:
    """Give back a node that is in no list."""
    last = len(node) - 1
    node[n, NODE_NEXT] = node[last, NODE_NEXT]
    node[last, NODE_NEXT] = n


@inlined
def overflow_ms(bitmap: np.ndarray, overflow: np.ndarray) -> int:
    """Time of the earliest event beyond the wheel; FAR if there is none."""
    return overflow[0, OVERFLOW_MS] if bitmap[BITMAP_WORDS - 1] != ZERO else FAR


@compiled
def push_overflow(bitmap: np.ndarray, overflow: np.ndarray, time_ms: int, code: int) -> None:
    """Add an event to the heap on (time, number). The last row of `overflow` counts the numbers up."""
    size, last = np.int64(bitmap[BITMAP_WORDS - 1]), len(overflow) - 1
    number = overflow[last, OVERFLOW_NUMBER] + 1 if size > 0 else 0
    overflow[last, OVERFLOW_NUMBER] = number
    hole = size
    while hole > 0 and overflow[(hole - 1) // 2, OVERFLOW_MS] > time_ms:  # its number is the largest so far
        copy_event(overflow, (hole - 1) // 2, hole)
        hole = (hole - 1) // 2
    overflow[hole, OVERFLOW_MS], overflow[hole, OVERFLOW_NUMBER], overflow[hole, OVERFLOW_CODE] = time_ms, number, code
    bitmap[BITMAP_WORDS - 1] = np.uint64(size + 1)


@compiled
def promote(bitmap: np.ndarray, wheel: np.ndarray, node: np.ndarray, overflow: np.ndarray, now_ms: int) -> None:
    """Move the events that the wheel now reaches from the heap to the wheel, in order."""
    while overflow_ms(bitmap, overflow) - WHEEL_SLOTS < now_ms:
        time_ms, code = overflow[0, OVERFLOW_MS], overflow[0, OVERFLOW_CODE]
        size = np.int64(bitmap[BITMAP_WORDS - 1]) - 1
        bitmap[BITMAP_WORDS - 1] = np.uint64(size)
        moved_ms, moved_number = overflow[size, OVERFLOW_MS], overflow[size, OVERFLOW_NUMBER]
        moved_code = overflow[size, OVERFLOW_CODE]
        hole = 0
        while 2 * hole + 1 < size:
            child = 2 * hole + 1
            if child + 1 < size and earlier(
                overflow, child + 1, overflow[child, OVERFLOW_MS], overflow[child, OVERFLOW_NUMBER]
            ):
                child += 1
            if not earlier(overflow, child, moved_ms, moved_number):
                break
            copy_event(overflow, child, hole)
            hole = child
        if size > 0:
            overflow[hole, OVERFLOW_MS], overflow[hole, OVERFLOW_NUMBER] = moved_ms, moved_number
            overflow[hole, OVERFLOW_CODE] = moved_code
        push(bitmap, wheel, node, overflow, now_ms, time_ms, code)


@compiled
def copy_event(overflow: np.ndarray, origin: int, target: int) -> None:
    """Copy a row of the heap."""
    for column in range(3):
        overflow[target, column] = overflow[origin, column]


@compiled
def earlier(overflow: np.ndarray, e: int, time_ms: int, number: int) -> bool:
    """Whether event e of the heap comes before (time_ms, number)."""
    e_ms = overflow[e, OVERFLOW_MS]
    return e_ms < time_ms or (e_ms == time_ms and overflow[e, OVERFLOW_NUMBER] < number)
