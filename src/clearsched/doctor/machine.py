"""Cores, memory, GPU and disk, as this process may use them: a container may have less than the machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from clearsched.doctor.findings import Finding

CGROUP, PROC = Path("/sys/fs/cgroup"), Path("/proc")
NEEDED_GB = 2.0
"""Memory of the hungriest rule of the default run, the fit of a student, in GB, with room."""
FREE_MB = 500.0
"""Room on disk below which a run is not begun, in MB."""


def usable_cores(cgroup: Path = CGROUP) -> float:
    """Cores that this process may use: its affinity, or less where a container has a quota."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(float(affinity), _quota(cgroup))


def _quota(cgroup: Path) -> float:
    """Cores of the quota of the control group (both versions); infinite without one."""
    with contextlib.suppress(OSError, ValueError):
        quota, period = (cgroup / "cpu.max").read_text().split()
        return float("inf") if quota == "max" else int(quota) / int(period)
    with contextlib.suppress(OSError, ValueError):
        quota_us = int((cgroup / "cpu/cpu.cfs_quota_us").read_text())
        if quota_us > 0:
            return quota_us / int((cgroup / "cpu/cpu.cfs_period_us").read_text())
    return float("inf")


def cores(cgroup: Path = CGROUP) -> list[Finding]:
    """How many there are, how many may be used, and how busy they are."""
    there, usable = os.cpu_count() or 1, usable_cores(cgroup)
    told = f"{usable:g} usable of {there}"
    with contextlib.suppress(OSError):
        waiting = os.getloadavg()[0]
        if waiting > 1.5 * there:
            return [Finding("cores", "note", f"{told}, load {waiting:.1f}", "others compute here: a run takes longer")]
    if usable < there:
        return [Finding("cores", "note", f"{told} (affinity or quota)", f"snakemake --cores {max(1, int(usable))}")]
    return [Finding("cores", "ok", told)]


def memory(proc: Path = PROC, cgroup: Path = CGROUP) -> list[Finding]:
    """What is free now, or less where a container has a limit."""
    free = _free_gb(proc, cgroup)
    if free is None:
        return [Finding("memory", "note", "cannot be read on this system", f"a run takes up to {NEEDED_GB:g} GB")]
    told = f"{free:.1f} GB free"
    if free < NEEDED_GB:
        return [Finding("memory", "problem", told, f"a run takes up to {NEEDED_GB:g} GB: free some, or --cores 1")]
    return [Finding("memory", "ok", told)]


def _free_gb(proc: Path, cgroup: Path) -> float | None:
    found = []
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = dict(line.split(":", 1) for line in (proc / "meminfo").read_text().splitlines())
        found.append(int(lines["MemAvailable"].split()[0]) * 1024 / 1e9)
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        with contextlib.suppress(OSError, ValueError):  # "max" is no number: no limit
            found.append((int((cgroup / limit).read_text()) - int((cgroup / used).read_text())) / 1e9)
    return min(found) if found else None


def gpu() -> list[Finding]:
    """Whether there is one, and whether PyTorch can use it; nothing needs one."""
    if shutil.which("nvidia-smi") is None:
        return [Finding("GPU", "ok", "none seen; none is needed: the networks are small and train on the CPU")]
    listed = _said(["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"])
    if not listed:
        return [Finding("GPU", "note", "nvidia-smi fails", "look at the driver; a run takes the CPU meanwhile")]
    name = listed.splitlines()[0]
    usable = _said([sys.executable, "-c", "import torch; print(torch.cuda.is_available())"], 60) == "True"
    if not usable:
        with contextlib.suppress(metadata.PackageNotFoundError):
            name += f", PyTorch {metadata.version('torch')}"
        return [Finding("GPU", "note", f"{name}: PyTorch does not use it", "a run takes the CPU, as it does anyway")]
    return [Finding("GPU", "ok", name)]


def _said(command: list[str], timeout_s: float = 10) -> str:
    """What a command prints; nothing where it fails."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        answer = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=True)
        return answer.stdout.strip()
    return ""


def disk(results: Path, needed_mb: float) -> list[Finding]:
    """Whether results can be written, and whether there is room for a run's."""
    place = next(folder for folder in (results.absolute(), *results.absolute().parents) if folder.exists())
    if not place.is_dir():
        return [Finding("disk", "problem", f"{place} is no folder", "move it away")]
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        return [Finding("disk", "problem", f"{place}: {error.strerror}", "free room there, or run elsewhere")]
    free_mb = shutil.disk_usage(place).free / 1e6
    told = f"{free_mb / 1000:.1f} GB free for {results}"
    least = max(FREE_MB, 2 * needed_mb)
    if free_mb < least:
        return [Finding("disk", "problem", told, f"a run wants {least / 1000:.1f} GB: free some, or run elsewhere")]
    return [Finding("disk", "ok", told)]
