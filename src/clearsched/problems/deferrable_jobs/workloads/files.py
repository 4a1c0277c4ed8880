"""The file of episodes, read with its trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.files import digest_file
from clearsched.problems.deferrable_jobs.schemas import WORKLOADS
from clearsched.problems.deferrable_jobs.settings import WeightsParams
from clearsched.problems.deferrable_jobs.simulator.state import Episode
from clearsched.problems.deferrable_jobs.traces.pool import Pool, read_pool
from clearsched.problems.deferrable_jobs.workloads.capacity import forecast
from clearsched.problems.deferrable_jobs.workloads.sampling import millicores_of, slots_of
from clearsched.problems.problem import too_few_episodes
from clearsched.schemas import read_table

Row = dict[str, Any]


class Workloads:
    """The episodes of a scenario over its trace; one is built when it is asked for."""

    def __init__(self, trace: Path, workloads: Path) -> None:
        """Read both files.

        Raises:
            ClearschedError: a file is broken, or the episodes were drawn over another trace.
        """
        self._path = workloads
        table, self.settings = read_table(workloads, WORKLOADS)
        lacking = {"slot_s", "day_slots", "cluster", "reach", "forecast_error", "weights", "objective", "trace"} - set(
            self.settings
        )
        if lacking:
            raise ClearschedError(f"{workloads}: its metadata lacks {min(lacking)}; build it again")
        if not Path(trace).is_file():
            raise ClearschedError(f"{trace}: no such file")
        if self.settings["trace"] != digest_file(trace):
            raise ClearschedError(f"{workloads}: was drawn over another trace than {trace}; build it again")
        self.pool: Pool = read_pool(trace)
        self._rows: dict[str, list[Row]] = {}
        for row in table.to_pylist():
            self._rows.setdefault(row["split"], []).append(row)

    def split(self, name: str, limit: int | None = None) -> list[Episode]:
        """The first `limit` (default: all) episodes of a split.

        Raises:
            ClearschedError: the split holds fewer episodes than asked for.
        """
        rows = self._rows.get(name, [])
        if len(rows) < (limit or 1):
            raise too_few_episodes(self._path, name, limit or 1, len(rows))
        return [self._episode(row) for row in rows[: limit or len(rows)]]

    def with_worse_forecast(self, episode: Episode, times: float) -> Episode:
        """The same episode with forecasts so many times as wrong: drawn by the same random numbers, and told so."""
        settings = self.settings
        error = min(times * settings["forecast_error"], settings["cluster"])
        foreseen, deviation = forecast(episode.capacity, episode.seed, settings["reach"], error, settings["cluster"])
        return replace(episode, forecast=foreseen, deviation=deviation)

    def _episode(self, row: Row) -> Episode:
        settings = self.settings
        job = np.array(row["job"], np.int64)
        capacity = np.array(row["capacity"], np.int64)
        foreseen, deviation = forecast(
            capacity, row["seed"], settings["reach"], settings["forecast_error"], settings["cluster"]
        )
        return Episode(
            np.array(row["arrival"], np.int64),
            slots_of(self.pool.duration_s, settings["slot_s"])[job],
            millicores_of(self.pool.cpu)[job],
            np.array(row["deadline"], np.int64),
            capacity,
            foreseen,
            deviation,
            slot_s=settings["slot_s"],
            day_slots=settings["day_slots"],
            day_start=row["day_start"],
            cluster=settings["cluster"],
            weights=WeightsParams(**settings["weights"]),
            objective=settings["objective"],
            seed=row["seed"],
        )
