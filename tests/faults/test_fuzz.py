"""A short hunt of the fuzzer, the same inputs each time, and what the fuzzer must do. The long one: `make fuzz`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from fuzz import worker
from fuzz.hunting import Process, attempt, hunt, judge
from fuzz.mutating import SHAPES, mutate
from fuzz.readers import READERS
from fuzz.worker import Ended

INPUTS = 15


@pytest.fixture(scope="module")
def process(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """One worker for all readers."""
    process = Process(list(READERS.values()), tmp_path_factory.mktemp("fuzz") / "work", sound)
    yield process
    process.stop()


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_read_or_refused_in_a_line(name: str, process: Process, tmp_path: Path) -> None:
    found = hunt(READERS[name], process, seed=1, seconds=300, inputs=INPUTS, keep=tmp_path)
    assert found.inputs == INPUTS
    assert not found.failures


@pytest.mark.parametrize("name", READERS)
def test_sound_files_are_read(name: str, process: Process) -> None:
    reader = READERS[name]
    for seed in set(reader.seeds):
        ended, fault = attempt(process, reader, seed, (process.sound / seed).read_bytes(), reader.commands[0])
        assert (ended.code, fault) == (0, ""), ended


def test_a_seed_gives_the_same_inputs(process: Process) -> None:
    for reader in READERS.values():
        data = (process.sound / reader.seeds[0]).read_bytes()
        first, second = (mutate(data, reader.seeds[0], reader.shape, Random(3)) for _ in range(2))
        assert first == second


def test_every_reader_has_a_known_shape() -> None:
    assert {reader.shape for reader in READERS.values()} <= set(SHAPES)


@pytest.mark.parametrize(
    ("ended", "left", "fault"),
    [
        (Ended(0, "", "", 1, 100), ["out/trace.parquet"], ""),
        (Ended(0, "", "", 1, 100), ["out/.trace-x.parquet"], "leaves temporary files"),
        (Ended(0, "", "", 1, 100), ["temporary/x"], "leaves x"),
        (Ended(2, "clearsched: no\n", "", 1, 100), [], ""),
        (Ended(2, "clearsched: no\n", "", 1, 100), ["out/trace.parquet"], "leaves trace.parquet"),
        (Ended(2, "clearsched: no\nat all\n", "", 1, 100), [], "exit code 2 with 2 lines"),
        (Ended(2, "", "", 1, 100), [], "exit code 2 with 0 lines"),
        (Ended(2, "clearsched: " + "x" * 5000, "", 1, 100), [], "a line of more than 2000 characters"),
        (Ended(1, "", "", 1, 100), [], "exit code 1"),
        (Ended(70, "", 'Traceback\n  File "a", line 1, in f\nKeyError: 3', 1, 100), [], "traceback: KeyError at "),
        (Ended(-1, "", "", 1, 100), [], "hangs"),
        (Ended(0, "", "", 11, 100), [], "more than 10 s"),
        (Ended(0, "", "", 1, 1100), [], "more than 1024 MB"),
    ],
)
def test_the_verdict(tmp_path: Path, ended: Ended, left: list[str], fault: str) -> None:
    for name in ("in/input", *left):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert judge(ended, tmp_path, {"in/input"}) == fault


def test_a_worker_that_dies_is_told_of_and_replaced(process: Process) -> None:
    """As one is that the system kills for its memory."""
    process.start()
    process.process.kill()
    folder = process.place / "case"
    folder.mkdir(exist_ok=True)
    assert process.run(folder, ("problems",)).code == -2
    assert process.run(folder, ("problems",)).code == 0


def test_the_peak_of_memory_is_that_of_one_input() -> None:
    """What one input took is not held against the next."""
    worker._forget_peak()
    held = bytearray(200 * 2**20)
    most = worker._status("VmHWM")
    assert most >= len(held)
    del held
    worker._forget_peak()
    assert worker._status("VmHWM") < most - 150 * 2**20
