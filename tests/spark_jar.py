"""The jar for tests: built once a session, where there are a compiler and a Spark."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
JAVA = shutil.which("javac") and shutil.which("java")
_SPEC = importlib.util.find_spec("pyspark")
HOME = Path(_SPEC.origin).parent if _SPEC and _SPEC.origin else None
"""Folder of the Spark that pip installed."""


@cache
def build(folder: Path) -> Path:
    """The jar, built by the script that users run."""
    out = folder / "clearsched-spark.jar"
    environment = os.environ | {"SPARK_HOME": str(HOME)}
    done = subprocess.run(
        ["bash", ROOT / "engines" / "spark" / "build.sh", out], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == [out], "nothing is left beside it"
    return out


def check(jar: Path, *words: str | Path, text: str = "") -> str:
    """What the jar's own check prints."""
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{jar}:{HOME}/jars/*", "org.clearsched.rules.Check", *words]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
