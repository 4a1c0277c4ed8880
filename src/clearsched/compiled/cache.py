"""Where compiled code is kept for the next process: a folder named by all sources that are compiled.

numba's cache looks at the file of the cached function alone, but the functions of the other files are compiled into it:
after a change there it would go on running the old code. So the folder's name is a digest of every file of the package
that is compiled, or that such a file imports, wherever it lies: a file that moves changes the name too.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from clearsched.files import digest_bytes
from clearsched.imports import PACKAGE, PARAMS, closure, read_texts

COMPILES = (b"clearsched.compiled.jit", b"njit")
"""What a file says whose functions are compiled: it names the decorators, or numba's own."""


def compiled_sources(package: Path = PACKAGE) -> list[Path]:
    """The files of a package that compiled code is made of: the kernel, those that compile, and all that these import.

    What only calls compiled code is none of them: a change there compiles nothing anew. Nor are models of params, which
    no file that compiles may import: a setting more, in any room, would compile everything anew.
    """
    return _compiled_sources(read_texts(package), package)


def _compiled_sources(texts: Mapping[Path, bytes], package: Path) -> list[Path]:
    users = [
        path for path, text in texts.items() if _is_kernel(path, package) or any(word in text for word in COMPILES)
    ]
    return closure(users, texts, package, PARAMS)


def cache_key(package: Path = PACKAGE) -> str:
    """The digest of names and bytes of `compiled_sources`."""
    texts = read_texts(package)
    sources = _compiled_sources(texts, package)
    return digest_bytes(
        b"\0".join(path.relative_to(package).as_posix().encode() + b"\n" + texts[path] for path in sources)
    )


def choose_numba_cache() -> bool:
    """Name numba's cache folder; whether there is one: there is none where no folder can be written.

    A user's own NUMBA_CACHE_DIR comes first and is left as it is; then the package's own folder, the user's cache, the
    machine's temporary folder.
    """
    name = f"numba-{cache_key()}"
    # expanduser of os.path leaves "~" where there is no home; that of Path raises.
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111
    temporary = f"clearsched-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    chosen = [Path(os.environ["NUMBA_CACHE_DIR"])] if os.environ.get("NUMBA_CACHE_DIR") else []
    places = [PACKAGE / "compiled" / "__pycache__", user_cache / "clearsched", Path(tempfile.gettempdir()) / temporary]
    for cache in [*chosen, *(place / name for place in places)]:
        if _is_writable(cache):
            os.environ["NUMBA_CACHE_DIR"] = str(cache)
            if "numba" in sys.modules:
                sys.modules["numba"].config.CACHE_DIR = str(cache)  # numba has read its environment already
            return True
    return False


def _is_kernel(path: Path, package: Path) -> bool:
    return path.is_relative_to(package / "compiled")


def _is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
