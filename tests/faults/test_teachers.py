"""A teacher's description that claims more than its weights hold."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import clearsched
from clearsched.errors import ClearschedError
from clearsched.teacher.checkpoints import load_network

SHIPPED = Path(clearsched.__file__).parent / "shipped/micro"


@pytest.fixture
def teacher(tmp_path: Path) -> Path:
    """A copy of a shipped one."""
    for name in ("teacher.json", "teacher.safetensors"):
        shutil.copy(SHIPPED / name, tmp_path / name)
    return tmp_path / "teacher.safetensors"


def claim(teacher: Path, **sizes: int) -> None:
    """Change the sizes of the network that the description tells."""
    path = teacher.with_suffix(".json")
    told = json.loads(path.read_text())
    path.write_text(json.dumps(told | {"network": told["network"] | sizes}))


def test_a_network_larger_than_its_file_is_refused_before_it_is_made(teacher: Path) -> None:
    """It would take 1.5 GB and 15 s."""
    claim(teacher, embedding=4096, hidden=4096)
    with pytest.raises(ClearschedError, match="bytes claimed"):
        load_network(teacher)


def test_one_that_is_a_little_larger_is_refused_as_well(teacher: Path) -> None:
    claim(teacher, hidden=64)
    with pytest.raises(ClearschedError, match="does not hold the weights"):
        load_network(teacher)


def test_the_description_as_it_is_gives_the_network(teacher: Path) -> None:
    assert load_network(teacher)[1]["kind"] == "teacher"
