"""What a piece of code is made of: imports at the top and late, of whole modules and of single functions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clearsched.errors import ClearschedError
from clearsched.files import digest_file
from clearsched.imports import PACKAGE, closure, code_of, read_texts
from clearsched.workflow.code import keep_code


def package(folder: Path, **texts: str) -> Path:
    """A package of the given modules; `__` in a name is a folder."""
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def names(start: str, folder: Path, without: str | None = None) -> list[str]:
    found = closure([folder / start], read_texts(folder), folder, without)
    return [path.relative_to(folder).as_posix() for path in found]


def test_imports_are_followed_wherever_they_stand(tmp_path: Path) -> None:
    folder = package(
        tmp_path,
        a="from clearsched.b import x\n",
        b="def f():\n    from clearsched.room import (\n        c,\n        d as e,\n    )\n",
        room__c="import clearsched.e\n",
        room__d="if TYPE_CHECKING:\n    from clearsched.a import y\n",
        e="",
        lonely="from clearsched.a import x\n",
    )
    assert names("a.py", folder) == ["a.py", "b.py", "e.py", "room/c.py", "room/d.py"]
    assert names("b.py", folder, without="clearsched.room") == ["b.py"]


def test_a_function_is_made_of_less_than_its_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = package(
        tmp_path,
        a="from clearsched.b import x\nfrom clearsched.c import y\n\n"
        "TABLE = y\n\n"
        "def f():\n    return helper()\n\n"
        "def helper():\n    from clearsched.d import z\n    return x\n\n"
        "class K:\n    def m(self):\n        return self.n()\n    def n(self):\n        return TABLE\n",
        b="",
        c="",
        d="from clearsched.e import w\n",
        e="",
        f="def g():\n    from clearsched.a import TABLE\n    from clearsched.params.models import m\n",
        params__models="",
    )
    texts = {PACKAGE / path.relative_to(folder): text for path, text in read_texts(folder).items()}
    monkeypatch.setattr("clearsched.imports._texts", lambda: texts)

    def made_of(*entries: str) -> list[str]:
        return [path.relative_to(PACKAGE).as_posix() for path in code_of(entries)]

    assert made_of("clearsched.a:f") == ["a.py", "b.py", "d.py", "e.py"]
    assert made_of("clearsched.a:K.m") == ["a.py", "c.py"]
    assert made_of("clearsched.a:y", "elsewhere.module") == ["a.py", "c.py"]
    assert made_of("clearsched.a") == ["a.py", "b.py", "c.py", "d.py", "e.py"]
    assert made_of("clearsched.f:g") == ["a.py", "b.py", "c.py", "d.py", "e.py", "f.py"]
    narrow = [path.relative_to(PACKAGE).as_posix() for path in code_of(["clearsched.f:g"], narrow=True)]
    assert narrow == ["a.py", "c.py", "f.py"], "of a only what TABLE names"
    for wrong in ("clearsched.a:g", "clearsched.q"):
        with pytest.raises(ClearschedError, match="there is no"):
            code_of([wrong])


def test_params_are_no_code_of_a_stage() -> None:
    """A stage gets its settings from its own file; what describes them may change freely."""
    found = code_of(["clearsched.teacher:train", "clearsched.evaluation:run"])
    assert not [path for path in found if path.is_relative_to(PACKAGE / "params")]
    assert PACKAGE / "teacher/training.py" in found


def test_a_trace_is_made_of_how_durations_are_reckoned_and_not_of_how_they_are_scheduled() -> None:
    """A mix tells the work of its parts; it went on telling the old one after a change of what reckons it."""
    room = PACKAGE / "problems/dag_jobs"
    found = code_of(["clearsched.problems.dag_jobs.problem:DagJobs.build"])
    assert {room / "traces/mixing.py", room / "traces/durations.py", room / "traces/storage.py"} <= set(found)
    assert room / "heuristics.py" not in found
    assert not [path for path in found if path.is_relative_to(room / "simulator")]


def test_a_list_of_source_files_changes_as_they_do_and_not_as_their_times(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is there is not made again after a checkout, which gives all files new times."""
    monkeypatch.setattr("clearsched.workflow.code.PACKAGE", tmp_path)
    monkeypatch.setattr("clearsched.workflow.code.DIGEST", digest_file)
    files = [tmp_path / "b.py", tmp_path / "a.py"]
    for age, file in enumerate(files, 1):
        file.write_text(file.name)
        os.utime(file, (1000 * age, 1000 * age))
    listed = tmp_path / "list"
    keep_code(listed, files)
    assert [line.split()[1] for line in listed.read_text().splitlines()] == ["a.py", "b.py"]
    assert listed.stat().st_mtime == 2000, "results that are newer than the code stay"
    for file in files:
        file.touch()
    keep_code(listed, files)
    assert listed.stat().st_mtime == 2000
    files[0].write_text("other")
    os.utime(files[0], (1, 1))
    keep_code(listed, files)
    assert listed.stat().st_mtime > 1e9, "an older text is a change as well"
    keep_code(listed, files[:1])
    assert len(listed.read_text().splitlines()) == 1
