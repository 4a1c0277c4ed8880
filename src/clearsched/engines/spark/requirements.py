"""What a real Spark needs on this machine, told in a line each where it is missing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import socket
import zipfile
from dataclasses import dataclass
from pathlib import Path

from clearsched.engines.spark import JAR
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.traces.recorder.settings import java_command

INSTALL = "pip install 'clearsched[spark]'"
BUILD = "make spark-jar"
REPLAY_CLASS = "org/clearsched/spark/replay/Replay.class"
MANAGER_FILE = "META-INF/services/org.apache.spark.scheduler.ExternalClusterManager"
BUILT_FOR = "org/clearsched/spark/built-for.properties"


@dataclass(frozen=True)
class Software:
    """What was found.

    Attributes:
        home: folder of Spark, which the package pyspark holds.
        version: of Spark.
        jar: the jar of this project.
        rules: whether the jar can make a policy the scheduler.
    """

    home: Path
    version: str
    jar: Path
    rules: bool


def find_software(jar: Path = JAR) -> Software:
    """What a run needs.

    Raises:
        ClearschedError: Java, pyspark or the jar is missing, or the jar is for another minor version of Spark.
    """
    if java_command() is None:
        raise ClearschedError("a real Spark needs Java 17 or later: no java on the PATH and JAVA_HOME is not set")
    home = spark_home()
    version = importlib.metadata.version("pyspark")
    if not jar.is_file():
        raise ClearschedError(f"{jar}: no such file; build it: {BUILD}")
    try:
        with zipfile.ZipFile(jar) as archive:
            names = set(archive.namelist())
            told = archive.read(BUILT_FOR).decode("utf-8", "replace") if BUILT_FOR in names else ""
    except (OSError, zipfile.BadZipFile) as error:
        raise ClearschedError(f"{jar}: no jar that can be read ({error}); build it again: {BUILD}") from None
    if REPLAY_CLASS not in names:
        raise ClearschedError(f"{jar}: does not hold {REPLAY_CLASS}; build it again: {BUILD}")
    made_for = told.partition("spark=")[2].strip()
    if minor(made_for) != minor(version):
        told = f"made for Spark {made_for}" if made_for else "does not say which Spark it is for"
        raise ClearschedError(f"{jar}: {told}, here is {version}; build it again: {BUILD}")
    return Software(home, version, jar.resolve(), MANAGER_FILE in names)


def lacking() -> str:
    """What is not there of Java, its compiler and pyspark, in a line; empty if all is there."""
    if java_command() is None or shutil.which("javac") is None:
        return "no Java 17 or later with its compiler javac (Debian: openjdk-17-jdk-headless)"
    try:
        spark_home()
    except ClearschedError as error:
        return str(error)
    return ""


def spark_home() -> Path:
    """The folder of the package pyspark.

    Raises:
        ClearschedError: it is not installed.
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise ClearschedError(f"a real Spark needs the package pyspark, which is missing; {INSTALL}")
    home = Path(found.origin).parent
    if not (home / "bin" / "spark-class").is_file():
        raise ClearschedError(f"{home}: holds no bin/spark-class: install the whole package; {INSTALL}")
    return home


def minor(version: str) -> tuple[str, ...]:
    """("4", "3") of "4.3.0"."""
    return tuple(version.split(".")[:2])


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def check_port(port: int) -> None:
    """Refuse a port that is taken.

    Raises:
        ClearschedError: somebody listens on it, or it may not be used.
    """
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError as error:
            raise ClearschedError(
                f"port {port}: {os.strerror(error.errno or 0)}: give another one, or none, with --port"
            ) from None
