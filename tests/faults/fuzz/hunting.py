"""The loop: damage a file, have it read, judge what became of it, keep what fails."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

from . import seeds, worker
from .mutating import corners, mutate
from .readers import INPUT, OUT, SEEDS, WRITTEN, Reader
from .worker import MEMORY_MB, Ended

SECONDS = 10
"""Processor time of a command."""

PATIENCE_S = 90
"""Until a command is taken for one that hangs; generous, since others may use the machine."""

LINE = 2000
"""Characters of an error's line, at most."""

EACH = 300
"""Inputs of one process."""

KEEP = 3
"""Inputs kept of those that fail in the same way."""


@dataclass
class Tally:
    """What was found of one reader."""

    inputs: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    megabytes: float = 0.0

    def count(self, ended: Ended, fault: str) -> None:
        """One more."""
        self.inputs += 1
        self.codes[ended.code] += 1
        self.seconds = max(self.seconds, ended.seconds)
        self.megabytes = max(self.megabytes, ended.megabytes)
        if fault:
            self.failures[fault] += 1


class Process:
    """A worker for some readers, started when it is needed, and again when it died or has run many inputs."""

    def __init__(self, readers: Sequence[Reader], place: Path, sound: Path) -> None:
        self.readers, self.place, self.sound = readers, place, sound
        self.connection: Connection | None = None
        self.left = 0

    def run(self, folder: Path, command: tuple[str, ...]) -> Ended:
        """What becomes of a command; code -1 if it hangs, -2 if the process dies of it."""
        if self.left == 0:
            self.start()
        assert self.connection is not None
        self.left -= 1
        try:
            self.connection.send((folder, command))
            if self.connection.poll(PATIENCE_S):
                ended: Ended = self.connection.recv()
                return ended
            self.stop()
            return Ended(-1, "", "", PATIENCE_S, 0.0)
        except (EOFError, OSError):
            self.process.join(5)
            died = f"the process ended with {self.process.exitcode}"
            self.stop()
            return Ended(-2, "", died, 0.0, 0.0)

    def start(self) -> None:
        """Have a process that has read the sound files once with each command."""
        self.stop()
        warm = []
        for reader, command in [(each, words) for each in self.readers for words in dict.fromkeys(each.commands)]:
            folder, seed = self.place / f"sound-{len(warm)}", reader.seeds[0]
            path = lay_out(reader, folder, self.sound, seed, (self.sound / seed).read_bytes())
            warm.append((folder, filled(command, path, self.sound)))
        self.connection, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("spawn").Process(target=worker.serve, args=(theirs, warm))
        self.process.start()
        theirs.close()
        if self.connection.recv() != "ready":
            raise RuntimeError("the worker did not start")
        self.left = EACH

    def stop(self) -> None:
        """End the process, if there is one."""
        if self.connection is not None:
            self.connection.close()
            self.process.kill()
            self.process.join()
        self.connection, self.left = None, 0


def lay_out(reader: Reader, folder: Path, sound: Path, name: str, data: bytes) -> Path:
    """An empty folder with the input, what lies beside it, and places for results and temporary files."""
    shutil.rmtree(folder, ignore_errors=True)
    for inner in ("in", "out", "temporary"):
        (folder / inner).mkdir(parents=True)
    for other in reader.beside:
        shutil.copy(sound / other, folder / "in" / other)
    path = folder / "in" / name
    path.write_bytes(data)
    if name.endswith(".safetensors"):  # else the digest refuses every change before the weights are read
        about = folder / "in" / reader.beside[0]
        told = json.loads(about.read_text()) | {"weights": hashlib.sha256(data).hexdigest()[:16]}
        about.write_text(json.dumps(told))
    return path


def filled(command: tuple[str, ...], path: Path, sound: Path) -> tuple[str, ...]:
    """A command with its paths."""
    places = {INPUT: str(path), OUT: str(path.parents[1] / "out"), SEEDS: str(sound), "{folder}": str(path.parent)}
    found = []
    for word in command:
        for hole, value in places.items():
            word = word.replace(hole, value)
        found.append(word)
    return tuple(found)


def judge(ended: Ended, folder: Path, inputs: set[str]) -> str:
    """What is wrong with how a command ended, in words that are the same for the same fault; empty if nothing is."""
    lines = ended.error.strip().splitlines()
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    left = [name for name in left if not name.startswith("streams/") and name not in inputs]
    stray = [name for name in left if ended.code != 0 or not (name.startswith("out/") and Path(name).name in WRITTEN)]
    if ended.code == -1:
        return "hangs"
    if ended.code == -2:
        return ended.trace
    if ended.code == 70:
        return f"traceback: {_signature(ended.trace)}"
    if ended.code not in (0, 2):
        return f"exit code {ended.code}"
    if ended.code == 2 and (len(lines) != 1 or not lines[0].startswith("clearsched: ")):
        return f"exit code 2 with {len(lines)} lines"
    if ended.code == 2 and len(lines[0]) > LINE:
        return f"a line of more than {LINE} characters"
    if stray:
        return f"leaves {'temporary files' if Path(stray[0]).name.startswith('.') else Path(stray[0]).name}"
    if ended.megabytes > MEMORY_MB:
        return f"more than {MEMORY_MB} MB"
    return f"more than {SECONDS} s" if ended.seconds > SECONDS else ""


def _signature(trace: str) -> str:
    """The exception's name and the last line of the package's own code, without what differs by input."""
    rows = trace.strip().splitlines()
    own = [row.strip().split(", in ")[0] for row in rows if row.strip().startswith("File ") and "clearsched" in row]
    place = own[-1].split("clearsched/")[-1].replace('", line ', ":") if own else ""
    kinds = [row.split(":")[0] for row in rows if row and not row.startswith((" ", "Traceback"))]
    return f"{kinds[-1][:80] if kinds else rows[-1][:80]} at {place}"


def hunt(reader: Reader, process: Process, seed: int, seconds: float, inputs: int, keep: Path) -> Tally:
    """Damaged files for one reader until the time is over, or so many are done.

    Args:
        reader: which.
        process: that runs it.
        seed: same seed, same inputs.
        seconds: time to go on for.
        inputs: at most so many.
        keep: folder for what fails, one each.
    """
    tally, rng, end = Tally(), Random(f"{reader.name} {seed}"), time.monotonic() + seconds
    first = corners() if inputs >= len(corners()) else []
    while time.monotonic() < end and tally.inputs < inputs:
        name = rng.choice(reader.seeds)
        command = rng.choice(reader.commands)
        data = first.pop() if first else mutate((process.sound / name).read_bytes(), name, reader.shape, rng)
        ended, fault = attempt(process, reader, name, data, command)
        tally.count(ended, fault)
        if fault and tally.failures[fault] <= KEEP:
            told = {"reader": reader.name, "input": name, "command": command, "fault": fault} | ended._asdict()
            _keep(keep, data, told)
    return tally


def attempt(process: Process, reader: Reader, name: str, data: bytes, command: tuple[str, ...]) -> tuple[Ended, str]:
    """Have one input read; what became of it, and what is wrong with that."""
    folder, sound = process.place / "case", process.sound
    path = lay_out(reader, folder, sound, name, data)
    given = {str(file.relative_to(folder)) for file in (folder / "in").iterdir()}
    ended = process.run(folder, filled(command, path, sound))
    fault = judge(ended, folder, given)
    built = folder / "out/trace.parquet"
    if not fault and ended.code == 0 and built.is_file():
        checked = process.run(folder, ("traces", "validate", str(built)))
        if checked.code != 0:
            fault = f"writes what it refuses: {checked.error.strip().split(': ', 2)[-1][:60]}"
    return ended, fault


def _keep(keep: Path, data: bytes, told: dict[str, Any]) -> None:
    """Write an input and what became of it to a folder of its own."""
    digest = hashlib.sha256(data + repr(told["command"]).encode()).hexdigest()[:8]
    folder = keep / f"{told['reader']}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / told["input"]).write_bytes(data)
    (folder / "what.json").write_text(json.dumps(told, indent=2))


def replay(kept: Path, place: Path) -> tuple[Ended, str]:
    """Run what was kept once more."""
    from .readers import READERS

    told = json.loads((kept / "what.json").read_text())
    reader, sound = READERS[told["reader"]], place / "sound"
    prepare(sound, reader.need)
    process = Process([reader], place / "work", sound)
    try:
        return attempt(process, reader, told["input"], (kept / told["input"]).read_bytes(), tuple(told["command"]))
    finally:
        process.stop()


def prepare(sound: Path, need: str) -> None:
    """Make the sound files, in a process of its own: this one stays light."""
    process = multiprocessing.get_context("spawn").Process(target=seeds.make, args=(sound, need))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError("the sound files could not be made")
