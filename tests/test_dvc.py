"""DVC: raw data and built traces go to a remote and come back with the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from clearsched.params import defaults
from clearsched.params.reference import default_yaml
from clearsched.params.scenarios import merge

ROOT = Path(__file__).parents[1]
RAW = "data/downloads/jobs.parquet"
BUILT = ("results/tiny/traces/trace.parquet", "results/tiny/traces/workloads.parquet")


def run(folder: Path, *command: str) -> str:
    """Run a command of the environment in `folder` with the package that is there; return what it says on stdout."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder / "src"),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "DVC_NO_ANALYTICS": "1",
    }
    answer = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder, env=environment)
    assert answer.returncode == 0, f"{command}: {answer.stdout}{answer.stderr}"
    return answer.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository on a tiny configuration, its raw data imported by URL, its traces built by DVC."""
    folder = tmp_path_factory.mktemp("project")
    origin = tmp_path_factory.mktemp("origin") / "jobs.parquet"
    shutil.copy2(ROOT / "data/tpch-spark.parquet", origin)
    for name in ("Snakefile", "dvc.yaml", ".dvcignore", ".gitignore", ".dvc/config"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    for name in ("src", "workflow"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "profiles").symlink_to("workflow/profiles")
    (folder / "data/downloads").mkdir(parents=True)
    tiny = yaml.safe_load((ROOT / "tests/config/tiny.yaml").read_text("utf-8")) | {"traces": {"path": RAW}}
    params = merge(yaml.safe_load(default_yaml()), tiny)
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    run(folder, "git", "init", "--quiet")
    run(folder, "dvc", "import-url", str(origin), RAW)
    run(folder, "dvc", "repro", "traces")
    return folder


def listed_stages(folder: Path, params: dict) -> list[str]:
    """The stages that DVC has under some params, in a folder that it calls its own."""
    (folder / ".dvc").mkdir(exist_ok=True)
    for name in ("dvc.yaml", ".dvc/config"):
        shutil.copy2(ROOT / name, folder / name)
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    run(folder, "git", "init", "--quiet")
    return [line.split()[0] for line in run(folder, "dvc", "stage", "list").splitlines()]


@pytest.mark.parametrize("names", [["rule_list", "boosted_trees"], ["boosted_trees"]])
def test_a_student_that_is_dropped_from_params_is_no_stage(tmp_path: Path, names: list[str]) -> None:
    """Nothing else names a student, so `dvc repro` does not ask for the one that is gone."""
    params = merge(yaml.safe_load(default_yaml()), {"students": {"names": names}})
    stages = listed_stages(tmp_path, params)
    fits = [f"students@{name}" for name in names]
    cards = [f"students_cards@{name}" for name in names]
    searches = [f"search@{name}" for name in params["search"]["families"]]
    assert stages == [
        "traces",
        "heuristics",
        *searches,
        "teacher",
        "decisions",
        *fits,
        "evaluation",
        *cards,
        "figures",
        "report",
    ]
    text = (tmp_path / "dvc.yaml").read_text("utf-8")
    assert not [name for name in defaults().students.names if name in text]


@pytest.mark.workflow
def test_an_import_says_where_the_data_is_from(project: Path) -> None:
    """The origin and checksums stand in a small file that git keeps; the data itself it ignores."""
    record = yaml.safe_load((project / f"{RAW}.dvc").read_text("utf-8"))
    assert record["frozen"]
    assert record["deps"][0]["path"].endswith("jobs.parquet")
    assert len(record["outs"][0]["md5"]) == 32
    seen = run(project, "git", "status", "--porcelain", "--untracked-files=all").split()
    assert f"{RAW}.dvc" in seen
    assert RAW not in seen


@pytest.mark.workflow
def test_push_and_pull_give_the_same_bytes(project: Path, tmp_path: Path) -> None:
    """Everything is deleted but what git would keep and the remote."""
    before = {name: (project / name).read_bytes() for name in (RAW, *BUILT)}
    assert before[RAW] == (ROOT / "data/tpch-spark.parquet").read_bytes()
    run(project, "dvc", "remote", "add", "--local", "--default", "--force", "store", str(tmp_path / "store"))
    assert "pushed" in run(project, "dvc", "push", "traces", f"{RAW}.dvc")
    shutil.rmtree(project / "results")
    shutil.rmtree(project / ".dvc/cache")
    (project / RAW).unlink()
    run(project, "dvc", "pull", "traces", f"{RAW}.dvc")
    assert {name: (project / name).read_bytes() for name in before} == before
    assert "up to date" in run(project, "dvc", "status", "traces")


@pytest.mark.workflow
def test_other_raw_data_builds_the_traces_again(project: Path) -> None:
    """The folder of the data is what the stage depends on."""
    changed = project / "data/downloads/other.parquet"
    changed.write_bytes(b"new")
    assert "data" in run(project, "dvc", "status", "traces")
    changed.unlink()
    assert "up to date" in run(project, "dvc", "status", "traces")
