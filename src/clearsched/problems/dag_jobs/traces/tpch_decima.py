"""The TPC-H profiles published with Decima: 22 queries at 7 input sizes, measured on a Spark cluster.

Source: Mao et al., "Learning Scheduling Algorithms for Data Processing Clusters", SIGCOMM 2019, and its public
repository hongzimao/decima-sim. No licence is stated there, so the files are read from a local folder or fetched
by the user, never shipped; `tpch_decima.sha256` holds the checksum of each of them.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.files import DOWNLOADS, write_bytes
from clearsched.problems.dag_jobs.traces.summary import Summary, write_whole
from clearsched.problems.dag_jobs.traces.trace import Trace, make_trace

SIZES = ("2g", "5g", "10g", "20g", "50g", "80g", "100g")
QUERIES = tuple(range(1, 23))
LEVELS = (5, 10, 20, 40, 50, 60, 80, 100)
"""The levels that the published simulator looks up; some stages hold others, which count only as their largest."""

COMMIT = "c010dd74ff4b7566bd0ac989c90a32cfbc630d84"
ARCHIVE = f"https://github.com/hongzimao/decima-sim/archive/{COMMIT}.zip"
ARCHIVE_FOLDER = f"decima-sim-{COMMIT}/spark_env/tpch"

_ADMITTED = {
    (module, name)
    for module in ("numpy.core.multiarray", "numpy._core.multiarray", "numpy")
    for name in ("_reconstruct", "ndarray", "dtype")
}


class _ArrayUnpickler(pickle.Unpickler):
    """Reads pickled numpy arrays of plain values and nothing else: a pickle from the internet can run code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no profile needs")
        if name == "_reconstruct":
            return np.zeros(()).__reduce__()[0]  # the same function under every numpy, wherever it keeps it
        return getattr(np, name)


def write(path: Path | None, out: Path, options: None, seed: int) -> Summary:
    """Read the profiles, downloaded if there is no path, and write them to `out` (see `traces.sources`).

    Raises:
        ClearschedError: as `load`.
    """
    return write_whole(out, load(path), "tpch-decima")


def load(path: str | Path | None = None) -> Trace:
    """Read the profiles from a local folder that holds `<size>/adj_mat_<query>.npy` and `task_duration_<query>.npy`.

    `path`: that folder; None: the profiles are downloaded (`fetch`).

    Raises:
        ClearschedError: a file is missing, its checksum is wrong, its content is no profile, or the download failed.
    """
    folder = Path(path) if path is not None else fetch(DOWNLOADS)
    if not folder.is_dir():
        raise ClearschedError(
            f"{folder}: no such folder; traces.path must name the folder with the sizes {', '.join(SIZES)}, "
            "or be null to download the profiles"
        )
    rows: list[dict[str, Any]] = []
    for size in SIZES:
        for query in QUERIES:
            adjacency = _read(folder, f"{size}/adj_mat_{query}.npy", pickled=False)
            stages = _read(folder, f"{size}/task_duration_{query}.npy", pickled=True)
            rows += _profile(len(rows) and rows[-1]["profile"] + 1, query, size, adjacency, stages)
    metadata = {"source": "tpch-decima", "levels": LEVELS, "commit": COMMIT, "reference": "Mao et al., SIGCOMM 2019"}
    return make_trace(rows, metadata, str(folder))


def fetch(cache_folder: str | Path) -> Path:
    """Download the published archive (about 40 MB) with pooch, unpack the profiles, return their folder.

    The checksums of the single files are verified by `load`. A finished download is used again.

    Raises:
        ClearschedError: the download failed.
    """
    import pooch

    target = Path(cache_folder) / "tpch-decima"
    if all((target / name).is_file() for name in _checksums()):
        return target
    try:
        archive = pooch.retrieve(ARCHIVE, known_hash=None, fname="decima-sim.zip", path=cache_folder, progressbar=False)
        with zipfile.ZipFile(archive) as members:
            for name in _checksums():
                write_bytes(target / name, members.read(f"{ARCHIVE_FOLDER}/{name}"))
    except ClearschedError:
        raise
    except Exception as error:
        raise ClearschedError(
            f"traces.source tpch-decima: the download of {ARCHIVE} failed ({type(error).__name__}); "
            "fetch it by hand and set traces.path to its folder spark_env/tpch"
        ) from None
    return target


@cache
def _checksums() -> dict[str, str]:
    text = Path(__file__).with_suffix(".sha256").read_text(encoding="ascii")
    return {name: digest for digest, name in (line.split() for line in text.splitlines())}


def _read(folder: Path, name: str, *, pickled: bool) -> Any:
    path = folder / name
    try:
        data = path.read_bytes()
    except OSError:
        raise ClearschedError(f"{path}: no such file; the trace needs 22 queries at {len(SIZES)} sizes") from None
    if hashlib.sha256(data).hexdigest() != _checksums()[name]:
        raise ClearschedError(f"{path}: checksum mismatch: truncated or changed; fetch it again")
    stream = io.BytesIO(data)
    if not pickled:
        return np.load(stream, allow_pickle=False)
    return read_pickled(stream, str(path))


def read_pickled(stream: io.BytesIO, where: str) -> Any:
    """The one object in a pickled `.npy` stream, read by an unpickler that admits only plain numpy arrays.

    Raises:
        ClearschedError: the stream is no such file, or its pickle asks for anything else.
    """
    try:
        np.lib.format.read_magic(stream)
        np.lib.format.read_array_header_1_0(stream)
        return _ArrayUnpickler(stream, encoding="latin1").load().item()
    except Exception as error:  # whatever a spoiled header or pickle leads to
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ClearschedError(f"{where}: not a task-duration file: {reason}") from None


def _profile(
    profile: int, query: int, size: str, adjacency: np.ndarray, stages: dict[int, dict[str, Any]]
) -> list[dict[str, Any]]:
    """The rows of one profile; number of tasks before cleaning, durations after (docs/simulator.md §1)."""
    rows = []
    for stage in range(len(adjacency)):
        tables = stages[stage]
        first_level = next(iter(tables["first_wave"]))
        num_tasks = len(tables["first_wave"][first_level]) + len(tables["rest_wave"][first_level])
        waves = {
            "first_wave": clean_first_wave(tables["first_wave"], tables["fresh_durations"]),
            "rest_wave": tables["rest_wave"],
            "fresh": tables["fresh_durations"],
        }
        rows.append(
            {
                "profile": profile,
                "query": str(query),
                "size": size,
                "stage": stage,
                "num_tasks": num_tasks,
                "parents": np.flatnonzero(adjacency[:, stage]).tolist(),
                "durations": [
                    {"wave": wave, "level": int(level), "duration_ms": [int(value) for value in durations]}
                    for wave, table in waves.items()
                    for level, durations in sorted(table.items())
                ],
            }
        )
    return rows


def clean_first_wave(first_wave: dict[int, list[int]], fresh: dict[int, list[int]]) -> dict[int, list[int]]:
    """First-wave durations (ms) by level, less those that also stand in `fresh` (as multisets).

    A level that is empty then takes the list of the level before it, if there is one.
    """
    cleaned: dict[int, list[int]] = {}
    before: list[int] = []
    for level in sorted(first_wave):
        surplus = Counter(fresh.get(level, []))
        kept = []
        for duration in first_wave[level]:
            if surplus[duration] > 0:
                surplus[duration] -= 1
            else:
                kept.append(duration)
        cleaned[level] = before = kept or before
    return cleaned
