"""States of many simulations side by side in memory, so that one call of compiled code steps them all.

Compiled code sees a `State` as a struct of array descriptors: address, shape, strides, owner. Handing one over from
Python takes microseconds, and each copy of it counts references to the owner of each array, atomically. An arena keeps
these structs in one array, a row a simulation, with the owners left out: a row is read with one load, and from there on
no references are counted (a quarter of the time of a survey with features).

The price: whoever fills an arena keeps the states alive for as long as it is used, all states of an arena have one
numba type, and arrays of a borrowed struct must not be returned to Python.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic as numba_intrinsic

from clearsched.compiled.jit import allocating

State: TypeAlias = Any
"""The state of a problem's simulator: a NamedTuple of arrays."""

WORD_BYTES = 8


def intrinsic(function: Any) -> Any:
    """A function whose code is generated below; for compiled code it has no typing context as first argument."""
    return numba_intrinsic(function)


@allocating
def new_arena(num_states: int, like: State) -> np.ndarray:
    """int64[num_states, words]: room for states of the type of `like`."""
    return np.zeros((num_states, _words(like)), np.int64)


@allocating
def put(arena: np.ndarray, k: int, state: State, like: State) -> None:
    """Write `state` to row k. It must stay alive until the row is written again.

    Raises:
        numba.core.errors.TypingError: it has another numba type than `like`, which the arena was made for.
    """
    _store(arena, k, state, like)


@intrinsic
def get(typing_context: Any, arena: Any, k: Any, like: Any) -> Any:
    """The state of row k: `get(arena, k, like)` in compiled code; `like` is any state and tells its type."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_row(context, builder, signature.args, arguments))

    return like(arena, types.intp, like), generate


@intrinsic
def borrow(typing_context: Any, arrays: Any) -> Any:
    """The same (named) tuple of arrays without their owners: `borrow(state)` in compiled code."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_owners(context, builder, signature.return_type, arguments[0])

    return arrays(arrays), generate


@intrinsic
def _store(typing_context: Any, arena: Any, k: Any, state: Any, like: Any) -> Any:
    if state != like:
        raise TypingError("states of two types cannot share an arena")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = _without_owners(context, builder, signature.args[2], arguments[2])
        builder.store(value, _row(context, builder, signature.args, arguments))
        return context.get_dummy_value()

    return types.void(arena, types.intp, state, like), generate


@intrinsic
def _words(typing_context: Any, state: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        size = context.get_abi_sizeof(context.get_value_type(signature.args[0]))
        return context.get_constant(types.intp, -(-size // WORD_BYTES))

    return types.intp(state), generate


def _row(context: Any, builder: Any, argument_types: Any, arguments: Any) -> Any:
    """Where row k of the arena lies, as a pointer to the struct of the state's type."""
    arena_type, _, state_type = argument_types[:3]
    array = context.make_array(arena_type)(context, builder, value=arguments[0])
    place = [arguments[1], context.get_constant(types.intp, 0)]
    pointer = cgutils.get_item_pointer(context, builder, arena_type, array, place, wraparound=False)
    return builder.bitcast(pointer, context.get_value_type(state_type).as_pointer())


def _without_owners(context: Any, builder: Any, numba_type: Any, value: Any) -> Any:
    """The struct with the owner of each array, also in tuples within, set to null."""
    if isinstance(numba_type, types.Array):
        array = context.make_array(numba_type)(context, builder, value=value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(numba_type, types.BaseTuple):
        for index, field_type in enumerate(tuple(numba_type)):  # type: ignore[var-annotated, arg-type]
            field = _without_owners(context, builder, field_type, builder.extract_value(value, index))
            value = builder.insert_value(value, field, index)
    return value
