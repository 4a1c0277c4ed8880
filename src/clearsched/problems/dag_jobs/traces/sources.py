"""From the name of a source to its trace: the code that an entry of `dag_jobs.sources.SOURCES` names, imported late.

A module is imported when its source is asked for: some bring readers of many formats.
"""

from __future__ import annotations

import json
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearsched.documents import parse_yaml
from clearsched.errors import ClearschedError
from clearsched.files import check_file, check_inputs, told
from clearsched.problems.dag_jobs.sources import SOURCES, exists, is_pattern, section_of
from clearsched.problems.dag_jobs.traces.mixing import mix
from clearsched.problems.dag_jobs.traces.storage import TraceFile, convert, read_trace
from clearsched.problems.dag_jobs.traces.summary import Summary
from clearsched.problems.dag_jobs.traces.trace import Trace
from clearsched.registry import load as load_named
from clearsched.temporary import temporary_folder

if TYPE_CHECKING:
    from clearsched.section import Section

MAX_SETTING = 10_000
"""Characters of a value of --set."""

MAX_SHOWN = 60
"""Characters of a wrong setting that an error repeats."""


def load(source: str, path: str | Path | None = None) -> Trace:
    """The trace of a source with its default options, in memory.

    Args:
        source: one of `SOURCES`.
        path: its file or folder; None for the source's own place: embedded, downloaded or generated.

    Raises:
        ClearschedError: unknown source, or its files are missing or broken.
    """
    module = _module(source)
    if hasattr(module, "load"):  # of sources that are small: without a file between
        trace: Trace = module.load(path)
        return trace
    with tempfile.TemporaryDirectory(prefix="clearsched-") as folder:
        built = Path(folder, "trace.parquet")
        write(source, None if path is None else Path(path), built, None, seed=1)
        return read_trace(built)


def load_profiles(path: str | Path) -> Trace:
    """The trace in a file, or in a folder of the `tpch-decima` layout.

    Raises:
        ClearschedError: neither is there.
    """
    return load("tpch-decima", path) if Path(path).is_dir() else read_trace(path)


def write(source: str, path: Path | None, out: Path, options: Section | None, seed: int) -> Summary:
    """Read a source and write its trace to `out`.

    Args:
        source: one of `SOURCES`.
        path: its file or folder; None for the source's own place.
        out: file of schema `TRACE`: Arrow if its name ends in `.arrow`, else Parquet.
        options: its section of params, None for the defaults.
        seed: of what is drawn at random.

    Raises:
        ClearschedError: unknown source, or its files are missing or broken.
    """
    if path is not None and not exists(path) and not is_pattern(path):
        raise ClearschedError(f"{path}: no such file or folder (the path of source {source})")
    check_inputs(out, [path] if path is not None else [])
    options = options if options is not None else options_of(source, {})
    summary: Summary = _module(source).write(path, out, options, seed)
    if out.suffix == ".arrow" and not TraceFile(out).is_arrow:  # of a source that writes Parquet, piece by piece
        convert(out, out)
    return summary


def _module(source: str) -> Any:
    return import_module(SOURCES[source].module)


def write_from_params(params: Any, out: Path) -> Summary:
    """Build the trace, or the mix of traces, that the section `traces` of params names.

    Raises:
        ClearschedError: as `write`.
    """
    traces = params.traces
    if traces.source == "mix":
        return _write_mix(traces, out)
    path = None if traces.path is None else Path(traces.path)
    return write(traces.source, path, out, _options(traces, traces.source), traces.seed)


def _options(traces: Any, source: str) -> Section | None:
    options: Section | None = getattr(traces, section_of(source), None)
    return options


def _write_mix(traces: Any, out: Path) -> Summary:
    """Each source into a file of its own, and these into one."""
    check_file(out)
    check_inputs(out, [part.path for part in traces.mix if part.path is not None])
    with told(out), temporary_folder(out) as folder:
        parts = []
        for index, part in enumerate(traces.mix):
            file = folder / f"{index}.parquet"
            path = None if part.path is None else Path(part.path)
            write(part.source, path, file, _options(traces, part.source), traces.seed)
            parts.append((file, part.weight))
        return mix(parts, out, [part.name for part in traces.mix])


def options_of(source: str, values: dict[str, Any]) -> Section | None:
    """The options of a source, checked; None for a source that has none.

    Raises:
        ClearschedError: an unknown option, or a value that does not fit.
    """
    if not SOURCES[source].settings:
        if values:
            raise ClearschedError(f"source {source} has no options: {', '.join(values)} given")
        return None
    from pydantic import ValidationError

    section: type[Section] = load_named(SOURCES[source].settings)
    try:
        text = json.dumps(values, default=str)  # as JSON: a list may be given for a tuple
    except TypeError:
        raise ClearschedError(
            f"source {source}: a key that is no text (options: {', '.join(section.model_fields)})"
        ) from None
    try:
        return section.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        option = ".".join(str(part) for part in first["loc"])
        known = ", ".join(section.model_fields)
        raise ClearschedError(f"source {source}: {option}: {first['msg']} (options: {known})") from None


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """Options given as NAME=VALUE, the value in YAML, as in params.yaml; NAME may be nested: window.start_s=0.

    Raises:
        ClearschedError: no `=`, the value is no YAML, or a name is that of a value and of a section.
    """
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        shown = setting if len(setting) <= MAX_SHOWN else f"{setting[:MAX_SHOWN]}..."
        if not equals or not name:
            raise ClearschedError(f"--set {shown}: expected NAME=VALUE")
        if len(text) > MAX_SETTING:
            raise ClearschedError(f"--set {shown}: {len(text)} characters; a value has at most {MAX_SETTING}")
        try:
            value = parse_yaml(text, f"--set {shown}")
        except ClearschedError:
            raise ClearschedError(f"--set {shown}: no YAML value") from None
        *outer, last = name.split(".")
        inner = values
        for part in outer:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise ClearschedError(f"--set {shown}: {part} is a value and a section")
        inner[last] = value
    return values
