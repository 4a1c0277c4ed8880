"""DAG jobs on a pool of executors: the problem of the Decima paper, under the rules of its published simulator.

A decision asks twice: which stage gets executors (`stage`), and how many its job may then hold (`limit`).
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

CACHES_CODE = False
"""Whether compiled code is kept for the next process. It is not where no folder can be written."""


def _choose_numba_cache() -> None:
    """Keep compiled code in a folder named by the sources it was compiled from.

    numba's cache looks at the file of the cached function alone, but the functions of the other files are compiled
    into it: after a change there it would go on running the old code. A user's own NUMBA_CACHE_DIR comes first and is
    left as it is; then the package's own folder, the user's cache, the machine's temporary folder.
    """
    from clearsched.files import digest_bytes

    global CACHES_CODE
    folder = Path(__file__).parent
    sources = b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))
    name = f"numba-{digest_bytes(sources)}"
    # expanduser of os.path leaves "~" where there is no home; that of Path raises.
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111
    temporary = f"clearsched-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    chosen = [Path(os.environ["NUMBA_CACHE_DIR"])] if os.environ.get("NUMBA_CACHE_DIR") else []
    places = [folder / "__pycache__", user_cache / "clearsched", Path(tempfile.gettempdir()) / temporary]
    for cache in [*chosen, *(place / name for place in places)]:
        if _is_writable(cache):
            CACHES_CODE = True
            os.environ["NUMBA_CACHE_DIR"] = str(cache)
            if "numba" in sys.modules:
                sys.modules["numba"].config.CACHE_DIR = str(cache)  # numba has read its environment already
            return


def _is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


_choose_numba_cache()
