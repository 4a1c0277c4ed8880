"""The sources of DAG jobs: one entry each. What is said of a source anywhere (params, command line, docs) is read here.

Another source is a module with one function and a line below:

    write(path: Path | None, out: Path, options: Section | None, seed: int) -> Summary

It reads `path` (None: its own place, or nothing), writes the trace `out` (schema `TRACE`) and tells what it read. Its
options, if it has any, are a model in `settings/sources.py`: the section `section_of(name)` of `traces` in params.yaml.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from clearsched.errors import ClearschedError
from clearsched.problems.declarations import Source
from clearsched.registry import Registry

_ROOM = "clearsched.problems.dag_jobs.traces"
_SETTINGS = "clearsched.problems.dag_jobs.settings.sources"

SOURCES: Registry[Source] = Registry(
    "source",
    (
        Source(
            "tpch-spark",
            "TPC-H on Spark",
            f"{_ROOM}.tpch_spark",
            "the 22 TPC-H queries at 7 input sizes, recorded on Apache Spark by this project; embedded",
            f"{_SETTINGS}:TpchSparkParams",
        ),
        Source(
            "tpch-decima",
            "TPC-H of Decima",
            f"{_ROOM}.tpch_decima",
            "the profiles published with Decima, 22 TPC-H queries at 7 input sizes; read from path or fetched",
        ),
        Source(
            "spark-eventlog",
            "Spark event logs",
            f"{_ROOM}.spark_eventlog",
            "the event logs of a Spark cluster, read from path",
            f"{_SETTINGS}:SparkEventlogParams",
            needs_path=True,
        ),
        Source(
            "alibaba-2018",
            "Alibaba 2018",
            f"{_ROOM}.alibaba_2018",
            "the batch jobs of Alibaba's cluster-trace-v2018; read from path or fetched",
            f"{_SETTINGS}:Alibaba2018Params",
        ),
        Source(
            "alibaba-like",
            "like Alibaba 2018",
            f"{_ROOM}.alibaba_like",
            "generated jobs with the published marginals of cluster-trace-v2018",
            f"{_SETTINGS}:AlibabaLikeParams",
        ),
        Source(
            "synthetic",
            "synthetic",
            f"{_ROOM}.synthetic",
            "random DAGs of a chosen shape with heavy-tailed work, generated",
            f"{_SETTINGS}:SyntheticParams",
        ),
        Source(
            "tpch-replay",
            "TPC-H, replayed",
            f"{_ROOM}.tpch_replay",
            "recorded jobs with fewer tasks, for a real Spark whose tasks sleep; embedded, or read from path",
            f"{_SETTINGS}:TpchReplayParams",
        ),
    ),
)

DEFAULT = "tpch-spark"


def section_of(source: str) -> str:
    """The name of a source's section in `traces` of params.yaml: a key of YAML has no hyphen."""
    return SOURCES[source].name.replace("-", "_")


EMBEDDED = Path("data/tpch-spark.parquet")
"""The recorded profiles, from the repository's folder."""

EMBEDDED_IN = (DEFAULT, "tpch-replay")
"""The sources that read them where no path is given."""


def embedded() -> Path | None:
    """The recorded profiles, in the current folder or in that of the repository; None if they are in neither."""
    candidates = [EMBEDDED, Path(os.path.relpath(Path(__file__).parents[4])) / EMBEDDED]
    return next((path for path in candidates if path.is_file()), None)


def files_of(traces: Any) -> list[Path]:
    """The files that the section `traces` of params names, those of all parts of a mix, as far as they are here.

    Raises:
        ClearschedError: a path of the user's own is not there.
    """
    parts = traces.mix if traces.source == "mix" else [traces]
    return sorted({file for part in parts for file in _files(part.source, part.path)})


def _files(source: str, path: str | None) -> list[Path]:
    if path is None:
        own = embedded() if source in EMBEDDED_IN else None
        return [own] if own is not None else []
    found = matches(path) if is_pattern(path) and not exists(path) else [Path(path)]
    for there in found or [Path(path)]:
        if not exists(there):
            raise ClearschedError(f"traces.path: {there}: no such file or folder")
    return [file for there in found for file in (there.rglob("*") if there.is_dir() else [there]) if file.is_file()]


def exists(path: str | Path) -> bool:
    """Whether there is such a file or folder; there is none of a name that no file can have."""
    try:
        return Path(path).exists()
    except OSError:
        return False


def matches(pattern: str | Path) -> list[Path]:
    """The files and folders that a pattern with `*`, `?` or `[...]` names, by name.

    As in a shell, hidden ones are not meant. `**` stands for any depth; it does not go through links to folders, which
    may lead in a circle.

    Raises:
        ClearschedError: the pattern has `**` beside other letters.
    """
    parts = Path(pattern).parts
    fixed = next(place for place, part in enumerate(parts) if is_pattern(part))
    base = Path(*parts[:fixed])
    wanted = Path(*parts[fixed:])
    try:
        found = sorted(set(base.glob(str(wanted))))
    except OSError as error:
        raise ClearschedError(f"{pattern}: {error.strerror}") from None
    except ValueError as error:
        raise ClearschedError(f"{pattern}: {str(error)[:1].lower()}{str(error)[1:]}") from None
    hidden = any(part.startswith(".") for part in wanted.parts)
    return [path for path in found if hidden or not any(part.startswith(".") for part in path.relative_to(base).parts)]


def is_pattern(path: str | Path) -> bool:
    """Whether a path names files by `*`, `?` or `[...]`."""
    return any(sign in str(path) for sign in "*?[")
