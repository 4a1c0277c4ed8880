"""Fuzz every reader, or some: `python -m tests.faults.fuzz [--seconds 600] [--reader NAME]... [--replay FOLDER]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from .hunting import Process, Tally, hunt, prepare, replay
from .readers import READERS
from .seeds import NEEDS


def main() -> int:
    """0 if every input of every reader ended as it should."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="for each reader")
    parser.add_argument("--inputs", type=int, default=10**9, help="for each reader, at most")
    parser.add_argument("--reader", action="append", choices=list(READERS), help="repeat for more; default: all")
    parser.add_argument("--seed", type=int, default=None, help="default: another one each day")
    parser.add_argument("--keep", type=Path, default=Path("results/fuzz"), help="folder for what fails")
    parser.add_argument("--replay", type=Path, help="a folder below --keep: run it once more")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="clearsched-fuzz-") as folder:
        if arguments.replay:
            ended, fault = replay(arguments.replay, Path(folder))
            print(
                f"exit code {ended.code}, {ended.seconds:.1f} s, {ended.megabytes:.0f} MB\n{ended.error}{ended.trace}"
            )
            print(fault or "as it should")
            return bool(fault)
        return _hunt(arguments, Path(folder))


def _hunt(arguments: argparse.Namespace, place: Path) -> int:
    readers = [READERS[name] for name in arguments.reader or READERS]
    seed = int(time.time() // 86_400) if arguments.seed is None else arguments.seed
    prepare(place / "sound", max((reader.need for reader in readers), key=NEEDS.index))
    print(f"seed {seed}; what fails is kept in {arguments.keep}")
    print(f"{'reader':<22}{'inputs':>8}{'exit 0':>8}{'exit 2':>8}{'failed':>8}{'most s':>8}{'most MB':>9}", flush=True)
    failed = 0
    for reader in readers:
        process = Process([reader], place / "work", place / "sound")
        try:
            found = hunt(reader, process, seed, arguments.seconds, arguments.inputs, arguments.keep)
        finally:
            process.stop()
        _tell(reader.name, found)
        failed += found.failures.total()
    return int(failed > 0)


def _tell(name: str, found: Tally) -> None:
    counts = (found.inputs, found.codes[0], found.codes[2], found.failures.total())
    print(f"{name:<22}" + "".join(f"{count:>8}" for count in counts) + f"{found.seconds:>8.1f}{found.megabytes:>9.0f}")
    for fault, count in found.failures.most_common():
        print(f"    {count} x {fault}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
