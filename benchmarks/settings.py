"""What all benchmarks share: the settings, the profiles, CPU time, the options of the command line."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.semantics import PUBLISHED, Semantics
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.traces import Trace, load_profiles, tpch_spark

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "benchmarks"
MOVING_DELAY_MS = 2000
WARMUP_DELAY_MS = 1000


@dataclass(frozen=True)
class Setting:
    """A cluster and the jobs that arrive at it, drawn uniformly from the profiles."""

    name: str
    jobs: int
    num_executors: int
    mean_interarrival_ms: int  # 0: all at time 0

    def __str__(self) -> str:
        every = self.mean_interarrival_ms / 1000
        arrivals = f"Poisson, one every {every:g} s" if every else "all at time 0"
        return f"({self.name}) {self.jobs} jobs, {arrivals}, {self.num_executors} executors"

    def episode(self, num_profiles: int, seed: int, index: int, rules: Semantics = PUBLISHED) -> Workload:
        """Episode number `index` of a seed: the same whatever else was drawn."""
        generator = np.random.default_rng([seed, ord(self.name), index])
        profile = generator.integers(num_profiles, size=self.jobs)
        gaps = generator.exponential(self.mean_interarrival_ms, self.jobs)
        gaps[0] = 0
        arrival_ms = np.cumsum(gaps).astype(np.int64)
        duration_seed = int(generator.integers(2**63 - 1))
        return Workload(profile, arrival_ms, self.num_executors, MOVING_DELAY_MS, duration_seed, semantics=rules)


SETTINGS = {
    "a": Setting("a", 20, 50, 0),
    "b": Setting("b", 200, 50, 25_000),
    "c": Setting("c", 10, 10, 0),
}
"""Those on which published results exist."""

TIMED = ("a", "b")
"""Those in which the published simulators were timed."""


class Row(NamedTuple):
    """A line of the table: a quantity in each of the settings `TIMED`, None where it was not measured."""

    what: str
    unit: str
    a: float | None
    b: float | None
    # How many times better than the plain simulator, where that does the same.
    ratio_a: float | None = None
    ratio_b: float | None = None


def load(path: Path | None) -> Trace:
    """A trace file, a folder of the `tpch-decima` layout, or the embedded trace."""
    return load_profiles(path if path is not None else ROOT / tpch_spark.EMBEDDED)


def mean_jct_s(profiles: Profiles, episodes: list[Workload], name: str, **parameters: float) -> np.ndarray:
    """float64[episodes]: the mean job completion time of each episode under a heuristic, s."""
    results = heuristic(name, **parameters).run(DagJobsInstance(profiles), episodes)
    return np.array([result.avg_jct_s for result in results])


def episodes(profiles: Profiles, setting: Setting) -> Iterator[Workload]:
    """The episodes that are timed, in order, without end."""
    index = 0
    while True:
        yield setting.episode(profiles.trace.num_profiles, 0, index)
        index += 1


class Stopwatch:
    """CPU seconds of this process, added up over the blocks that are timed."""

    def __init__(self) -> None:
        self.cpu_s = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time a block."""
        begin = time.process_time()
        yield
        self.cpu_s += time.process_time() - begin


def command(
    description: str | None,
    run: Callable[[argparse.Namespace, Profiles], None],
    *,
    cpu_seconds: float = 2.0,
    **more: dict,
) -> None:
    """Parse the options --profiles, --cpu-seconds and those in `more` (name: arguments of `add_argument`), and run."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", type=Path, help="trace file or tpch-decima folder (default: the embedded trace)")
    parser.add_argument(
        "--cpu-seconds", type=float, default=cpu_seconds, help="least CPU time of each measurement, s (%(default)s)"
    )
    for name, arguments in more.items():
        parser.add_argument("--" + name.replace("_", "-"), **arguments)
    chosen = parser.parse_args()
    try:
        run(chosen, compile_profiles(load(chosen.profiles), WARMUP_DELAY_MS))
    except ClearschedError as error:
        parser.error(str(error))


def print_by_setting(answer: dict[str, dict[str, float]]) -> None:
    """Print {quantity: {setting: value}} as a table."""
    print(f"{'':<42}" + "".join(f"{f'({name})':>14}" for name in TIMED))
    for what, values in answer.items():
        print(f"{what.replace('_', ' '):<42}" + "".join(f"{values[name]:>14,.2f}" for name in TIMED))
