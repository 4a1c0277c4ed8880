"""Snakemake as a user types it: what runs jobs in a process of its own, what only plans in a fork of one that is warm.

A plan takes three seconds, two of which are imports and telling which code a rule is made of. A server, one for each
process that runs tests, has done that and forks for every plan, so that each has a state of its own all the same.
"""

from __future__ import annotations

import json
import os
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
    import snakemake.api
    import snakemake.cli
    import snakemake.dag  # noqa: F401

    import clearsched.params.reference  # noqa: F401
    from clearsched.params import defaults
    from clearsched.workflow import code_of_rule

    for rule in ("evaluation_run", "teacher_train", "students_fit_rule_list", "students_card_rule_list"):
        code_of_rule(rule, defaults())
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _plan(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _plan(asked: dict[str, Any]) -> None:
    """In the fork: what a process of its own would do, and its end."""
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
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
