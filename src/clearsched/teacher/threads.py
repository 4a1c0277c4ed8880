"""One thread for the network's arithmetic: its matrices are small, so more threads only cost time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread and deterministic kernels: sums in one order, so the same bytes whatever the number of cores.

    The debug mode sets what `torch.use_deterministic_algorithms` sets of the kernels, but does not import torch's
    compiler for its share of it: that takes two seconds, and nothing is compiled here.
    """
    threads, deterministic = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    torch.set_num_threads(1)
    torch.set_deterministic_debug_mode("error")
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_deterministic_debug_mode(deterministic)
