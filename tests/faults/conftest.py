"""What several tests of faults begin with."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz.hunting import prepare


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of sound files of every format, from event logs to students (`fuzz/seeds.py`)."""
    folder = tmp_path_factory.mktemp("sound") / "files"
    prepare(folder, "students")
    return folder
