"""Fixtures that several test files share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.traces import Trace, tpch_decima

ROOT = Path(__file__).parents[1]

# No test tells how fast the machine is that it runs on: hypothesis would fail an example that takes 200 ms.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that run whole workflows first: begun last, one of them runs on alone while the other process idles."""
    long = {item.path for item in items if item.get_closest_marker("workflow")}
    items.sort(key=lambda item: item.path not in long)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference material beside the repository; without it the test is skipped."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no folder `shared` beside the repository")
    return folder


@pytest.fixture(scope="session")
def decima_trace(shared: Path) -> Trace:
    """The TPC-H profiles published with Decima."""
    return tpch_decima.load(shared / "data" / "tpch-decima")


@pytest.fixture(scope="session")
def decima_profiles(decima_trace: Trace) -> Profiles:
    """These profiles compiled, with the warm-up delay of the golden episodes."""
    return compile_profiles(decima_trace, warmup_delay_ms=1000)
