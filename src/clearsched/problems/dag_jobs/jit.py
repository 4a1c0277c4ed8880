"""How the functions of the event loop are compiled.

They read and write arrays that their caller holds and allocate none, so numba's reference counts are switched off: a
count is an atomic operation, and the loop would spend more than half its time on the twenty arrays of a state. A
function that allocates an array is compiled with `numba.njit` as usual; it may call these.
"""

from __future__ import annotations

from numba import njit

compiled = njit(cache=True, _nrt=False)
"""A function of the event loop."""

inlined = njit(cache=True, _nrt=False, forceinline=True)
"""A small function of the event loop that is called often: a call would cost more than what it does."""
