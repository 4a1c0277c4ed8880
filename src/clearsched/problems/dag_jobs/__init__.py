"""DAG jobs on a pool of executors: the problem of the Decima paper, under the rules of its published simulator.

A decision asks twice: which stage gets executors (`stage`), and how many its job may then hold (`limit`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def _name_numba_cache() -> None:
    """Keep compiled code in a folder named by the sources it was compiled from.

    numba's cache looks at the file of the cached function alone, but the functions of the other files are compiled
    into it: after a change there it would go on running the old code. A user's own NUMBA_CACHE_DIR is left as it is.
    """
    from clearsched.files import digest_bytes

    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    folder = Path(__file__).parent
    sources = b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))
    cache = str(folder / "__pycache__" / f"numba-{digest_bytes(sources)}")
    os.environ["NUMBA_CACHE_DIR"] = cache
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = cache  # numba has read its environment already


_name_numba_cache()
