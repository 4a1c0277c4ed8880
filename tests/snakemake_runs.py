"""Snakemake as a user types it: what runs jobs in a process of its own, what only plans in a fork of one that is warm.

A plan takes three seconds, most of which are imports and telling which code a rule is made of. A server, one for each
process that runs tests, has done that and forks for every plan, so that each has a state of its own all the same. What
it must import a first plan tells, which it makes in a fork as well.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
TIMEOUT_S = 1800
PLANS = {"--dry-run", "-n", "--summary", "--list-rules"}
"""Options with which nothing runs."""


def environment() -> dict[str, str]:
    """That of this process, with the package's source code in front."""
    paths = [str(REPOSITORY / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The repository's workflow on a folder, which has its own params.yaml and results."""
    return typed(Path(), "--snakefile", str(REPOSITORY / "Snakefile"), "--directory", str(folder), *arguments)


def typed(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Snakemake with these arguments, typed in a folder."""
    if PLANS & set(arguments):
        return _planned(folder, arguments)
    words = [sys.executable, "-m", "snakemake", *arguments]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment())


def _planned(folder: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    words = ["snakemake", *arguments]
    with tempfile.TemporaryDirectory() as told:
        streams = [f"{told}/{name}" for name in ("stdout", "stderr")]
        asked = {"words": words, "folder": str(folder.resolve()), "environment": environment(), "streams": streams}
        server = _server()
        assert server.stdin and server.stdout
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        return subprocess.CompletedProcess(words, code, *(Path(stream).read_text("utf-8") for stream in streams))


@cache
def _server() -> subprocess.Popen[str]:
    """It ends with the process that asks, whose pipe it reads."""
    words = [sys.executable, __file__]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment())


def _serve() -> None:
    """A plan for each line of JSON; its exit status is the answer."""
    _warm()
    gc.freeze()  # what forks share stays shared
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _plan(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _warm() -> None:
    """Import what a plan imports, and read the code of its rules."""
    import snakemake.cli  # noqa: F401

    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(REPOSITORY / "params.yaml", folder)
        streams = [f"{folder}/{name}" for name in ("stdout", "stderr")]
        words = ["snakemake", "--snakefile", str(REPOSITORY / "Snakefile"), "--directory", folder, "--dry-run"]
        asked = {"words": words, "folder": folder, "environment": dict(os.environ), "streams": streams}
        child = os.fork()
        if not child:
            _plan(asked, Path(folder, "modules"))
        os.waitpid(child, 0)
        modules = Path(folder, "modules").read_text("utf-8").split()
        rules = set(re.findall(r"^(\w+) +\d+$", "".join(Path(stream).read_text("utf-8") for stream in streams), re.M))
    for module in modules:
        with contextlib.suppress(Exception):  # some are made by the plan itself
            importlib.import_module(module)
    from clearsched.params import defaults
    from clearsched.workflow import code_of_rule

    for rule in sorted(rules - {"all", "total"}):
        with contextlib.suppress(Exception):  # those that only write params run none
            code_of_rule(rule, defaults())


def _plan(asked: dict[str, Any], told: Path | None = None) -> None:
    """In the fork: what a process of its own would do, and its end; `told` gets the names of all modules by then."""
    from snakemake.cli import main

    signal.alarm(TIMEOUT_S)
    code = 1
    try:
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in enumerate(asked["streams"], 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
        sys.argv = asked["words"]
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        if told is not None:
            told.write_text("\n".join(sys.modules), "utf-8")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
