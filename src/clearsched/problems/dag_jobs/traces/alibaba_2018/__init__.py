"""The batch jobs of Alibaba's cluster-trace-v2018: `batch_task.csv` to a trace (docs/alibaba.md).

A task of the file becomes a stage, its instances the stage's tasks. Source: Alibaba cluster trace program; the data may
be used for research or study, so the user fetches it, the project never ships it.
"""

from __future__ import annotations

import lzma
import tarfile
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.files import check_file, check_inputs, digest_file, told
from clearsched.problems.dag_jobs.settings.sources import Alibaba2018Params
from clearsched.problems.dag_jobs.traces.alibaba_2018.names import resolve
from clearsched.problems.dag_jobs.traces.alibaba_2018.rows import Batch, trace_rows
from clearsched.problems.dag_jobs.traces.summary import Summary
from clearsched.temporary import temporary_folder

__all__ = ["fetch", "write"]

ARCHIVE = "http://aliopentrace.oss-cn-beijing.aliyuncs.com/v2018Traces/batch_task.tar.gz"
SHA256 = "7c4b32361bd1ec2083647a8f52a6854a03bc125ca5c202652316c499fbf978c6"
CSV, TAR = "batch_task.csv", "batch_task.tar.gz"
ARCHIVES = (".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tar.xz")


def write(path: Path | None, out: Path, options: Alibaba2018Params, seed: int) -> Summary:
    """Read `batch_task.csv` (the file, its folder, its archive, or None: downloaded) and write the trace `out`.

    Raises:
        ClearschedError: nothing is there, it is no such file, or no job is left by the options.
    """
    _check(options)
    source = locate(path)
    summary = Summary("alibaba-2018")
    check_file(out)
    check_inputs(out, [source])
    with told(out), temporary_folder(out) as work:
        csv = _unpack(source, work) if source.name.endswith(ARCHIVES) else source
        _write(csv, out, options, seed, summary, work, {"inputs": {source.name: digest_file(source)}})
    return summary


def fetch(cache_folder: str | Path) -> Path:
    """Download the archive (125 MB) with pooch, verify its checksum, return it; a finished download is used again.

    Raises:
        ClearschedError: the download failed.
    """
    import pooch

    try:
        name = pooch.retrieve(ARCHIVE, f"sha256:{SHA256}", fname=TAR, path=cache_folder, progressbar=False)
    except Exception as error:
        raise ClearschedError(
            f"traces.source alibaba-2018: the download of {ARCHIVE} failed ({type(error).__name__}); "
            f"fetch it by hand and set traces.path to it"
        ) from None
    return Path(name)


def locate(path: Path | None) -> Path:
    """The CSV file or the archive that a user's path means.

    Raises:
        ClearschedError: there is none.
    """
    if path is None:
        from clearsched.files import DOWNLOADS

        return fetch(DOWNLOADS)
    path = Path(path)
    if path.is_dir():
        for name in (CSV, TAR):
            if (path / name).is_file():
                return path / name
        raise ClearschedError(f"{path}: holds neither {CSV} nor {TAR}; traces.path must name one of them or its folder")
    if not path.is_file():
        raise ClearschedError(f"{path}: no such file; leave traces.path empty to download {TAR} (125 MB)")
    return path


def _check(options: Alibaba2018Params) -> None:
    if options.end_h is not None and options.end_h <= options.start_h:
        raise ClearschedError(
            f"traces.alibaba_2018: end_h {options.end_h} must be larger than start_h {options.start_h}"
        )
    if options.max_stages is not None and options.max_stages < options.min_stages:
        raise ClearschedError(
            f"traces.alibaba_2018: max_stages {options.max_stages} is smaller than min_stages {options.min_stages}"
        )


def _unpack(archive: Path, work: Path) -> Path:
    """`batch_task.csv` of the archive, in the folder `work`; only a file of its own counts, no link.

    Raises:
        ClearschedError: it holds none, or is damaged.
    """
    try:
        with tarfile.open(archive) as members:
            for member in members:
                if Path(member.name).name == CSV and member.isreg():
                    _copy(members, member, work / CSV)
                    return work / CSV
    except (tarfile.TarError, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, OverflowError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(":")
        raise ClearschedError(f"{archive}: truncated or no .tar.gz ({reason}); fetch it again") from None
    raise ClearschedError(f"{archive}: holds no {CSV}")


def _copy(members: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    """Unpack a member; what the disk refuses is no fault of the archive.

    Raises:
        ClearschedError: it cannot be written.
    """
    content = members.extractfile(member)
    with told(target):
        stream = target.open("wb")
    with stream:
        while piece := content.read(2**20) if content else b"":
            with told(target):
                stream.write(piece)
    while members.fileobj is not None and members.fileobj.read(2**20):  # to the checksum at its end
        pass


def _write(
    csv: Path,
    out: Path,
    options: Alibaba2018Params,
    seed: int,
    summary: Summary,
    work: Path,
    origin: dict[str, dict[str, str]],
) -> None:
    import duckdb

    from clearsched.problems.dag_jobs.traces.alibaba_2018.query import BatchTasks

    metadata = {"seed": seed, **origin, "reference": "Alibaba cluster-trace-v2018"}
    try:
        with (
            closing(BatchTasks(csv, work, options, seed, summary)) as tasks,
            trace_rows(out, summary, options.spread, options.model_dump(), metadata) as rows,
        ):
            for table in tasks.batches():
                rows.write(convert(table, options.after_parents, summary))
    except duckdb.Error as error:  # its own temporary files, or its memory
        raise ClearschedError(f"{csv}: cannot be read: {str(error).splitlines()[0]}") from None


def convert(table: pa.Table, after_parents: bool, summary: Summary) -> Batch:
    """Rows of whole jobs, as `BatchTasks.batches` gives them, as a batch; what had to be mended is counted."""
    profile = table["profile"].to_numpy()
    dag = resolve(profile, table["name"].combine_chunks())
    summary.survive("jobs with a cycle (edges to an equal or smaller number left out)", dag.cyclic)
    summary.survive("edges from a missing parent (left out)", dag.missing)
    summary.survive("tasks with a number that the job has already (both kept)", dag.repeated)
    columns = {name: _floats(table[name])[dag.order] for name in ("instances", "start_s", "end_s", "cpu", "memory")}
    for name, meaning in (("cpu", "plan_cpu"), ("memory", "plan_mem")):
        summary.survive(f"tasks with empty {meaning} (kept empty)", int(np.isnan(columns[name]).sum()))
    none = ~(columns["instances"] >= 1)
    summary.survive("tasks without instances (1 taken)", int(none.sum()))
    job_start = np.concatenate([np.flatnonzero(np.r_[True, profile[1:] != profile[:-1]]), [len(profile)]])
    job = np.repeat(np.arange(len(job_start) - 1), np.diff(job_start))
    child = np.repeat(np.arange(len(profile)), np.diff(dag.parent_start))
    mean_s = _mean_s(columns["start_s"], columns["end_s"], job, child, dag.parents, after_parents, summary)
    return Batch(
        job_start=job_start,
        parent_start=dag.parent_start,
        parents=(dag.parents - job_start[job[child]]).astype(np.int32),
        num_tasks=np.where(none, 1, columns["instances"]).astype(np.int32),
        mean_s=mean_s,
        arrival_s=_floats(table["arrival_s"])[job_start[:-1]],
        cpu=(columns["cpu"] / 100).astype(np.float32),
        memory=columns["memory"].astype(np.float32),
    )


def _mean_s(
    start_s: np.ndarray,
    end_s: np.ndarray,
    job: np.ndarray,
    child: np.ndarray,
    parent: np.ndarray,
    after_parents: bool,
    summary: Summary,
) -> np.ndarray:
    """float64[G]: duration of the task row, at least 1 s (the file counts in whole seconds).

    A row without a usable start and end gets the mean of the job's other rows; 1 s if there is none.
    """
    usable = (start_s > 0) & (end_s >= start_s)
    duration = np.where(usable, end_s - start_s, 0.0)
    early = usable[child] & usable[parent] & (start_s[child] < end_s[parent])
    mended = " (duration counted from the parent's end)" if after_parents else " (duration left as it is)"
    summary.survive("tasks that start before a parent ends" + mended, len(np.unique(child[early])))
    if after_parents:
        begin = start_s.copy()
        np.maximum.at(begin, child[early], end_s[parent[early]])
        duration = np.where(usable, np.maximum(end_s - begin, 0.0), 0.0)
    total, count = np.bincount(job, duration), np.bincount(job, usable)
    mean = np.where(count > 0, total / np.maximum(count, 1), 1.0)
    summary.survive(
        "tasks whose end_time is 0, missing or before start_time (the job's mean duration taken)", int((~usable).sum())
    )
    duration = np.where(usable, duration, mean[job])
    summary.survive("tasks shorter than 1 s (1 s taken)", int((usable & (duration < 1)).sum()))
    return np.maximum(duration, 1.0)


def _floats(column: pa.ChunkedArray) -> np.ndarray:
    """float64; NaN where there is no value."""
    return np.asarray(column.to_numpy().astype(np.float64))
