"""What a recording is made with: Spark settings, splits by scale factor, software and machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from clearsched import __version__
from clearsched.errors import ClearschedError

WARMUP_FRACTION = 0.2
"""Size of the cold run's data relative to the timed runs', at the same amount of data a task."""

WARMUP_LIMIT = 0.5
"""Largest scale factor of a cold run: it is there for the first task of each core, not for its length."""

DEFAULT_REPETITIONS = {0.5: 2, 1.0: 2, 2.0: 1}
"""Timed runs of each query by scale factor; other scale factors take the value of the nearest one below."""

NOTICE = "derived from TPC-H, not comparable to published TPC-H results"

PACKAGES = ("pyspark", "tpchgen-cli")
"""The packages of the optional extra, by the names of their distributions."""

INSTALL = "install the optional extra with: pip install 'clearsched[spark]'"


def size_name(scale_factor: float) -> str:
    """The `size` column of a scale factor, for example 0.5g."""
    return f"{scale_factor:g}g"


def repetitions_for(scale_factor: float, repetitions: int | None = None) -> int:
    """Timed runs of a query at a scale factor, `repetitions` if that is given."""
    if repetitions is not None:
        return repetitions
    below = [known for known in DEFAULT_REPETITIONS if known <= scale_factor]
    return DEFAULT_REPETITIONS[max(below, default=min(DEFAULT_REPETITIONS))]


@dataclass(frozen=True)
class Splits:
    """Into how many tasks a stage is split."""

    scan_tasks: int
    shuffle_partitions: int

    def conf(self) -> dict[str, str]:
        """The Spark settings that bring it about."""
        return {
            "spark.sql.files.minPartitionNum": str(self.scan_tasks),
            "spark.sql.shuffle.partitions": str(self.shuffle_partitions),
        }


def splits_for(scale_factor: float) -> Splits:
    """Splits of the timed runs: dozens of tasks a stage, about twice as many for ten times the data."""
    growth = scale_factor**0.35
    return Splits(max(2, round(32 * growth)), max(2, round(20 * growth)))


def warmup_factor_for(scale_factor: float) -> float:
    """Scale factor of the cold run's data."""
    return round(min(scale_factor * WARMUP_FRACTION, WARMUP_LIMIT), 6)


def warmup_splits_for(scale_factor: float) -> Splits:
    """Splits of the cold run: fewer tasks in proportion to its data, each with as much as in the timed runs."""
    full, fraction = splits_for(scale_factor), warmup_factor_for(scale_factor) / scale_factor
    return Splits(max(2, round(full.scan_tasks * fraction)), max(2, round(full.shuffle_partitions * fraction)))


def row_group_bytes(scale_factor: float) -> int:
    """Size of the Parquet row groups: several a scan task, since Spark cannot split one."""
    return round(1_000_000 * max(1.0, scale_factor / 2))


def spark_conf(level: int, log_folder: Path, scratch: Path, driver_memory: str) -> dict[str, str]:
    """The settings of an application with `level` executor cores."""
    return {
        "spark.master": f"local[{level}]",
        "spark.app.name": "clearsched-record-tpch",
        "spark.driver.memory": driver_memory,
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
        "spark.local.dir": str(scratch),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": log_folder.resolve().as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        # Without these two a query falls apart into separate jobs that are planned while it runs.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        # A file is split into minPartitionNum parts, but into none smaller than this.
        "spark.sql.files.openCostInBytes": "1m",
        "spark.sql.files.maxPartitionBytes": "128m",
    }


def check_software() -> None:
    """Refuse to start without pyspark, tpchgen-cli and Java.

    Raises:
        ClearschedError: one of them is missing.
    """
    for package in PACKAGES:
        try:
            importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            raise ClearschedError(f"recording needs the package {package}, which is missing; {INSTALL}") from None
    if java_command() is None:
        raise ClearschedError("recording needs Java 17 or later: no java on the PATH and JAVA_HOME is not set")


def java_command() -> str | None:
    """The java that Spark will start, or None if there is none."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(str(Path(home) / "bin" / "java")) if home else shutil.which("java")


def generator_command() -> str:
    """The tpchgen-cli of this Python environment, or else the one on the PATH.

    Raises:
        ClearschedError: there is none.
    """
    beside = shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent))
    command = beside or shutil.which("tpchgen-cli")
    if command is None:
        raise ClearschedError(f"tpchgen-cli: command not found; {INSTALL}")
    return command


def software() -> dict[str, str]:
    """Exact versions of all that takes part in a recording."""
    java = subprocess.run([java_command() or "java", "-version"], capture_output=True, text=True, check=False)
    return {
        "clearsched": __version__,
        "spark": importlib.metadata.version("pyspark"),
        "java": " | ".join(java.stderr.strip().splitlines()),
        "tpchgen-cli": importlib.metadata.version("tpchgen-cli"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "distribution": _first_value(Path("/etc/os-release"), "PRETTY_NAME", "="),
    }


def machine() -> dict[str, str | int | float]:
    """Processor, cores and memory of this machine."""
    pages, page_bytes = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": _first_value(Path("/proc/cpuinfo"), "model name", ":"),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(pages * page_bytes / 2**30, 1),
    }


def _first_value(path: Path, key: str, separator: str) -> str:
    """The value of the first line `key<separator>value` of a text file, "unknown" if there is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    for line in lines:
        name, _, value = line.partition(separator)
        if name.strip() == key:
            return value.strip().strip('"')
    return "unknown"
