"""The files in scenarios/: all are right, and hold the settings that results were told of."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from clearsched.files import digest_bytes
from clearsched.params import Params, load, read_scenarios, read_yaml
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.students.kinds import fitted

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "scenarios").glob("*.yaml"))


def scenario(name: str) -> Params:
    """A scenario as a run of it has it: over params.yaml."""
    return read_scenarios(
        [read_yaml(ROOT / "params.yaml")], {"scenarios": f"[{ROOT / 'scenarios' / name}.yaml]"}, "test"
    )[name]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_is_right_and_names_its_folder(path: Path) -> None:
    assert scenario(path.stem).scenario == path.stem
    load(path)  # alone as well


WITHOUT = ("changing-load", "spark", "alibaba-like")
"""Scenarios without a control: for benchmarks/switch.py, which fits its own; for runs on a real Spark, of which each
policy takes six minutes; where it passes the safety check and is far above 1.2 times fair elsewhere."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_scenario_fits_the_control_of_its_rule_list(path: Path) -> None:
    students = scenario(path.stem).students
    if path.stem in WITHOUT:
        assert fitted(students) == students.names
        return
    assert fitted(students) == (*students.names, "rules_from_nothing")
    unrefined = students.model_copy(update={"refine": students.refine.model_copy(update={"rounds": 0})})
    assert fitted(unrefined) == students.names, "where nothing is refined a control says nothing"
    assert "rules_from_nothing" not in fitted(load(ROOT / "params.yaml").students), "make stays within its time"


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_the_settings_of_decima_are_those_of_the_benchmarks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    settings = import_module("settings")
    wanted, params = settings.SETTINGS[name], scenario(f"decima-{name}")
    workload = params.workload
    assert (workload.jobs, workload.executors) == (wanted.jobs, wanted.num_executors)
    assert (workload.arrivals == "batch") == (wanted.mean_interarrival_ms == 0)
    assert (workload.mean_interarrival_s or 0) * 1000 == wanted.mean_interarrival_ms
    assert workload.moving_delay_s * 1000 == settings.MOVING_DELAY_MS
    assert workload.warmup_delay_s * 1000 == settings.WARMUP_DELAY_MS
    assert params.traces.source == "tpch-decima"
    assert workload.episodes.test == {"a": 100, "b": 40, "c": 100}[name]
    # The rest is as published: nothing corrected, nothing that fails.
    assert not any(workload.corrections.model_dump().values())
    assert workload.faults.failures_per_hour == workload.faults.straggler_probability == 0


MICRO = {"fair": (9.631934375, "66410513b0dc5112"), "local_srpt": (8.273303125, "ada3345f8d81a609")}
"""Mean JCT (s) of the 64 test episodes, and the digest of the 64 numbers, when this was the default scenario."""


@pytest.mark.parametrize("policy", MICRO)
def test_micro_is_the_default_of_before(policy: str, tmp_path: Path) -> None:
    """The same jobs at the same times to the bit, whatever other sizes the embedded file has got."""
    params = scenario("micro")
    problem = find_problem(params.problem)
    trace, workloads = tmp_path / "trace.parquet", tmp_path / "workloads.parquet"
    problem.build(params, trace)
    problem.draw(params, trace, workloads)
    instance = problem.open(trace, workloads)
    outcomes = heuristic(policy).run(instance, instance.split("test"))
    jct_s = np.array([outcome.avg_jct_s for outcome in outcomes])
    mean_s, digest = MICRO[policy]
    assert jct_s.mean() == pytest.approx(mean_s, abs=1e-9)
    assert digest_bytes(jct_s.tobytes()) == digest
