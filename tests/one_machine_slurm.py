"""A Slurm on this machine for a test, by engines/slurm/cluster.sh; where there can be none, the test is skipped.

Nothing is installed here: Slurm is there, or it is not; `make install-engines` installs it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "engines/slurm/cluster.sh"


def cluster(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run the script."""
    environment = {**os.environ, **settings}
    return subprocess.run([str(SCRIPT), *words], capture_output=True, text=True, timeout=120, env=environment)


def is_up() -> bool:
    """Whether a Slurm of the script runs."""
    return cluster("status").returncode == 0


@contextmanager
def slurm(**settings: str) -> Iterator[None]:
    """A Slurm with the settings of the script; one that runs already belongs to somebody: the test is skipped."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    missing = [name for name in ("slurmctld", "slurmd", "sbatch", "munged") if not shutil.which(name, path=path)]
    if missing:
        pytest.skip(f"no Slurm on this machine: {', '.join(missing)} not found")
    if os.geteuid() != 0:
        pytest.skip("starting Slurm needs root")
    if is_up():
        pytest.skip("a Slurm of engines/slurm/cluster.sh is up already: take it down first")
    started = cluster("up", **settings)
    if started.returncode:
        pytest.skip(f"Slurm does not start here: {started.stderr.strip().splitlines()[-1]}")
    try:
        yield
    finally:
        cluster("down")
