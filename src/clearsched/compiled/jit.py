"""How functions are compiled.

Those of the event loop read and write arrays that their caller holds and allocate none, so numba's reference counts
are switched off for them: a count is an atomic operation, and the loop would spend more than half its time on the
twenty arrays of a state. They may call each other, and `allocating` functions may call them, not the other way round.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from clearsched.compiled.cache import choose_numba_cache

CACHES_CODE = choose_numba_cache()
"""Whether compiled code is kept for the next process."""

# `_nrt` is numba's switch for its run-time of reference counts; its type hints do not know it.
uncounted: dict[str, Any] = {"cache": CACHES_CODE, "_nrt": False}

compiled = njit(**uncounted)
"""A function of the event loop."""

inlined = njit(**uncounted, forceinline=True)
"""A function of the event loop where a call, which copies the state's twenty descriptors, would cost more than it does
itself."""

allocating = njit(cache=CACHES_CODE)
"""A function that makes arrays."""

concurrent = njit(cache=CACHES_CODE, nogil=True)
"""A function that makes arrays and runs for long, so that other Python threads run meanwhile."""
