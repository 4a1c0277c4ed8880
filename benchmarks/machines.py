"""Which files are equal on other processors: every command of a small workflow again, as other processors would.

`python benchmarks/machines.py`: runs the commands of the workflow once, then each of them on the same inputs where
libraries run the code that they have for other processors, and compares the files byte by byte. The workflow is that of
tests/config/killed.yaml; `--config tests/config/tiny.yaml` has a search and boosted trees besides, and takes several
times as long. With
`--run-with "qemu-x86_64-static -cpu Haswell-noTSX"` another processor is emulated instead (qemu 7.2 or newer; some
minutes a command). With CLEARSCHED_ARITHMETIC=portable the libraries are set as `clearsched.arithmetic` says.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from clearsched.arithmetic import LIBM, PORTABLE, SWITCH, variables
from clearsched.layout import layout

ROOT = Path(__file__).parents[1]
SMALL = ROOT / "tests" / "config" / "killed.yaml"
NO_FMA = "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX512F,-AVX512VL"

PROCESSORS: Mapping[str, Mapping[str, str]] = {
    "again": {},
    "torch without AVX-512": {"ATEN_CPU_CAPABILITY": "avx2"},
    "torch without AVX2": {"ATEN_CPU_CAPABILITY": "default"},
    "MKL for all": {"MKL_CBWR": "COMPATIBLE"},
    "OpenBLAS for AVX-512": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "OpenBLAS for SSE3": {"OPENBLAS_CORETYPE": "Prescott"},
    "numpy without AVX-512": {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"},
    "C library without FMA": {LIBM: NO_FMA},
    "numba for any x86-64": {"NUMBA_CPU_NAME": "generic"},
    "all without AVX2": {**PORTABLE, LIBM: NO_FMA},
}
"""By name what makes libraries run the code of another processor, one library each, and all together."""


def commands(folder: Path, config: Path) -> list[list[str]]:
    """The commands of the workflow, in order, that Snakemake would run in a folder; without where their output goes."""
    shutil.copy(ROOT / "params.yaml", folder)
    snakemake = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder)]
    asked = [*snakemake, "-n", "-p", "--cores", "1", "--configfile", str(config)]
    answer = subprocess.run(asked, capture_output=True, text=True, check=True)
    found = re.findall(r"^Shell command: clearsched (.*) > \S+ 2>&1$", answer.stdout + answer.stderr, re.MULTILINE)
    return [shlex.split(line) for line in found]


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder's `results`, by path."""
    results = folder / "results"
    return {path.relative_to(results).as_posix(): path.read_bytes() for path in results.rglob("*") if path.is_file()}


def run_all(folder: Path, known: Path | None) -> Iterator[tuple[str, list[str]]]:
    """Run commands (JSON on stdin) in this process; with `known` each finds the files there, and tells which differ."""
    from clearsched.cli import app

    os.chdir(folder)
    same = contents(known) if known else {}
    for command in json.load(sys.stdin):
        with contextlib.redirect_stdout(io.StringIO()):
            app(command, standalone_mode=False)
        found = contents(folder) if known else {}
        changed = sorted(path for path, content in found.items() if same.get(path) != content)
        for path in changed:
            if path in same:
                (folder / "results" / path).write_bytes(same[path])
        yield " ".join(part for part in command[:3] if not part.startswith(("-", "results"))), changed


def start(folder: Path, plan: Sequence[list[str]], known: Path | None, more: Mapping[str, str], emulator: str) -> dict:
    """Run commands in a process of its own; what differs, by command."""
    own = {name: value for name, value in os.environ.items() if name not in PORTABLE}
    environment = {**own, **variables({SWITCH: os.environ.get(SWITCH, "")}), **more, "PYTHONHASHSEED": "0"}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    python = [str(Path(sys.executable).resolve())] if emulator else [sys.executable]
    # Under an emulator the interpreter is told by which name it was called, so that it finds its environment.
    line = [
        *shlex.split(emulator),
        *(["-0", sys.executable] if emulator else []),
        *python,
        __file__,
        "--in",
        str(folder),
    ]
    line += ["--known", str(known)] if known else []
    answer = subprocess.run(line, input=json.dumps(plan), capture_output=True, text=True, env=environment)
    if answer.returncode:
        sys.exit(answer.stderr[-2000:])
    return json.loads(answer.stdout.splitlines()[-1])


def table(differ: Mapping[str, Mapping[str, Sequence[str]]], files: Sequence[str]) -> list[str]:
    """A row a processor: how many files differ, and which, by command."""
    body = []
    for name, told in differ.items():
        changed = [path for paths in told.values() for path in paths]
        body.append([name, f"{len(set(changed))} of {len(files)}", ", ".join(dict.fromkeys(changed)) or "none"])
    return layout(["processor", "files", "which"], body, left=3)


def main() -> None:
    """Run and print, or run commands that another process asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=SMALL)
    parser.add_argument("--only", nargs="*", choices=list(PROCESSORS), default=list(PROCESSORS))
    parser.add_argument("--run-with", default="", help="an emulator of another processor, with its arguments")
    parser.add_argument("--stages", nargs="*", default=[], help="of these alone the commands are run again")
    parser.add_argument("--in", dest="folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--known", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder:
        found = [list(item) for item in run_all(options.folder, options.known)]
        print(json.dumps(found))
        return
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder, "base")
        base.mkdir()
        plan = commands(base, options.config)
        start(base, plan, None, {}, "")
        again = [command for command in plan if not options.stages or command[0] in options.stages]
        processors = {options.run_with: {}} if options.run_with else {name: PROCESSORS[name] for name in options.only}
        differ = {}
        for name, more in processors.items():
            place = shutil.copytree(base, Path(folder, "other"))
            differ[name] = dict(start(place, again, base, more, options.run_with))
            shutil.rmtree(place)
            print(*table({name: differ[name]}, list(contents(base)))[2:], sep="\n", flush=True)


if __name__ == "__main__":
    main()
