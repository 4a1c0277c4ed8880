"""The same bytes on every x86-64 processor: libraries are told to leave out what only some processors have.

Compiled code of this package rounds alike everywhere: it is compiled without `fastmath`, so nothing is fused and no sum
is reordered. Libraries are not like that: they look at the processor and take the fastest code it can run, in which
sums have another order (wider registers) and products are fused with sums (FMA). All of them can be told not to, by
variables that they read as they are loaded (docs/machines.md). This is what a process must start with.

Nothing heavy may be imported here: the command line calls it before numpy is loaded. A program that uses the package
as a library sets them itself, before it starts, if it wants them.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping

from clearsched.errors import ClearschedError

SWITCH = "CLEARSCHED_ARITHMETIC"
"""`native` (the default): as fast as the processor can; `portable`: alike on every processor, a network's steps twice
as long."""

LIBM = "GLIBC_TUNABLES"

PORTABLE: Mapping[str, str] = {
    # torch's own kernels: no AVX2 or AVX-512 code, which has FMA in it.
    "ATEN_CPU_CAPABILITY": "default",
    # Matrix products of torch: one branch for all processors of all makers.
    "MKL_CBWR": "COMPATIBLE",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    # Linear algebra of numpy and scipy.
    "OPENBLAS_CORETYPE": "Prescott",
    # exp, log and powers of arrays in numpy.
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    # exp, log and powers of single numbers, also those in compiled code; names of before and after glibc 2.33.
    LIBM: "glibc.cpu.hwcaps=-FMA,-FMA4,-FMA_Usable,-FMA4_Usable",
}
"""By variable the value with which a library rounds alike on every x86-64 processor."""

AMD64 = ("x86_64", "AMD64")


def is_portable(given: Mapping[str, str]) -> bool:
    """Whether an environment asks for the same bytes everywhere.

    Raises:
        ClearschedError: the switch has another value.
    """
    wanted = given.get(SWITCH) or "native"
    if wanted not in ("portable", "native"):
        raise ClearschedError(f"{SWITCH}: portable or native expected, not {wanted!r}")
    return wanted == "portable"


def variables(given: Mapping[str, str], machine: str | None = None) -> dict[str, str]:
    """What is to be added to an environment; nothing where it is native or the processor is no x86-64.

    Args:
        given: the environment; what the user set there stays, but for the C library's tunables, which are joined.
        machine: as `platform.machine` names it; this one.

    Raises:
        ClearschedError: the switch has another value.
    """
    if not is_portable(given) or (machine or platform.machine()) not in AMD64:
        return {}
    found = {name: value for name, value in PORTABLE.items() if name not in given}
    if "NPY_ENABLE_CPU_FEATURES" in given:
        found.pop("NPY_DISABLE_CPU_FEATURES", None)  # numpy refuses both
    tunables = given.get(LIBM, "")
    if tunables and "glibc.cpu.hwcaps" not in tunables:
        found[LIBM] = f"{tunables}:{PORTABLE[LIBM]}"
    return found


def settle() -> None:
    """Let this process compute as `variables` says; where it must begin anew for that, it does.

    The C library reads its variable as a process starts, long before Python, so a process on Linux that lacks it is
    replaced by one that has it. The workflow sets it for its rules beforehand. A process that has loaded numpy already
    is a program of its own, and stays as it is.

    Raises:
        ClearschedError: the switch has another value.
    """
    added = variables(os.environ)
    if "numpy" in sys.modules:
        return
    os.environ.update(added)
    if LIBM in added and sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
