"""The file of episodes, and what every later stage starts from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clearsched.errors import ClearschedError
from clearsched.files import digest_file
from clearsched.problems.dag_jobs.schemas import WORKLOADS
from clearsched.problems.dag_jobs.simulator.estimates import Estimates
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.semantics import Semantics
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.traces.storage import read_profiles
from clearsched.problems.dag_jobs.workloads.facts import check_facts, check_rows
from clearsched.problems.dag_jobs.workloads.giants import with_giants
from clearsched.problems.problem import too_few_episodes
from clearsched.schemas import read_table

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class Workloads:
    """The episodes of a scenario.

    Attributes:
        table: schema `WORKLOADS`.
        settings: num_executors, moving_delay_ms, warmup_delay_ms, mean_interarrival_ms, durations, semantics,
            objective; where the splits draw from different jobs or arrivals are not poisson, also `arrivals` and
            `splits`, which has the load and the mean time between arrivals of each split; where policies see wrong
            durations `estimates`, where a job of each episode is a giant `giant`, its place and its factor, and where
            the outage of a split is at another time than that of `semantics`, `outages`, by split; where edge cases are
            in the safety check `safety_cases`, what each changes of the semantics, and its estimates; with mixed rates
            `interarrivals_ms`, the mean time between arrivals that each episode was drawn with, by split.
        path: of their file, for errors; None where they come from none.
    """

    table: pa.Table
    settings: dict[str, Any]
    path: Path | None = None

    def split(self, name: str, limit: int | None = None) -> list[Workload]:
        """The first `limit` (default: all) episodes of a split.

        Raises:
            ClearschedError: the split holds fewer episodes than asked for.
        """
        rows = self.table.filter(pc.equal(self.table["split"], name))
        episode = rows["episode"].to_numpy()
        profile, arrival, seed = (rows[c].to_numpy() for c in ("profile", "arrival_ms", "duration_seed"))
        count = int(episode.max()) + 1 if len(episode) else 0
        if count < (limit or 1):
            raise too_few_episodes(self.path, name, limit or 1, count)
        bounds = np.searchsorted(episode, np.arange((limit or count) + 1))
        gaps_ms = self._gaps_ms(name, count)
        told = self.settings["semantics"] | self.settings.get("outages", {}).get(name, {})
        # No rule of the episodes: what policies that are made on them mean by none, which goes with those alone.
        semantics = Semantics(**told | {"help_first": False})
        return [
            Workload(
                profile[a:b].astype(np.int64),
                arrival[a:b],
                self.settings["num_executors"],
                self.settings["moving_delay_ms"],
                int(seed[a]),
                self.settings["durations"] == "mean",
                semantics,
                self.settings["objective"],
                Estimates(**self.settings.get("estimates", {})),
                gap_ms,
            )
            for (a, b), gap_ms in zip(pairwise(bounds), gaps_ms, strict=False)
        ]

    def _gaps_ms(self, name: str, count: int) -> list[float]:
        """The mean time between arrivals that each of the split's episodes was drawn with.

        Raises:
            ClearschedError: the settings tell another number of them.
        """
        told = self.settings.get("interarrivals_ms", {}).get(name)
        if told is None:
            own = self.settings.get("splits", {}).get(name, self.settings)
            return [float(own.get("mean_interarrival_ms", 0.0))] * count
        if len(told) != count:
            raise ClearschedError(
                f"workloads: interarrivals_ms tells of {len(told)} {name} episodes, there are {count}; build it again"
            )
        return list(told)


def read_workloads(path: str | Path) -> Workloads:
    """Read a file written by `build`.

    Raises:
        ClearschedError: missing, truncated or of another schema, or it says what cannot be.
    """
    table, settings = read_table(path, WORKLOADS)
    check_facts(settings, Path(path))
    check_rows(table, Path(path))
    return Workloads(table, settings, Path(path))


def load_inputs(trace: Path, workloads: Path) -> tuple[Profiles, Workloads]:
    """The compiled profiles that the workloads use, numbered anew, and the workloads: what every later stage starts
    from. The other profiles of the trace stay on disk.

    Raises:
        ClearschedError: a file is broken, or the workloads were drawn over another trace.
    """
    drawn = read_workloads(workloads)
    if not trace.is_file():
        raise ClearschedError(f"{trace}: no such file")
    if drawn.settings["trace"] != digest_file(trace):
        raise ClearschedError(f"{workloads}: was drawn over another trace than {trace}; build it again")
    giant = drawn.settings.get("giant")
    is_giant = drawn.table["job"].to_numpy() == (giant["job"] if giant else -1)
    key = 2 * drawn.table["profile"].to_numpy().astype(np.int64) + is_giant
    used, number = np.unique(key, return_inverse=True)
    read = read_profiles(trace, np.unique(used // 2))
    if giant:
        copied = np.unique(used // 2, return_inverse=True)[1]
        read = with_giants(read, copied, used % 2 == 1, giant["tasks"])
    profiles = compile_profiles(read, drawn.settings["warmup_delay_ms"])
    index = WORKLOADS.get_field_index("profile")
    table = drawn.table.set_column(index, WORKLOADS.field(index), pa.array(number, pa.int32()))
    return profiles, replace(drawn, table=table)
