"""The sources of jobs by name. Each is a module with one function, `write`, which gives the same kind of file.

    write(path: Path | None, out: Path, options: Section | None, seed: int) -> Summary

A module is imported when its source is asked for: some bring readers of many formats.
"""

from __future__ import annotations

import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import ValidationError

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.traces.summary import Summary

if TYPE_CHECKING:
    from clearsched.params import Params
    from clearsched.problems.dag_jobs.settings.traces import TracesParams
    from clearsched.section import Section

Source = Literal["tpch-spark", "tpch-decima", "spark-eventlog", "alibaba-2018", "alibaba-like", "synthetic"]
SOURCES: tuple[str, ...] = get_args(Source)


def section_of(source: str) -> str:
    """The name of a source's module, and of its section in `traces` of params.yaml."""
    if source not in SOURCES:
        raise ClearschedError(f"traces.source: unknown source {source!r}: known are {', '.join(SOURCES)}")
    return source.replace("-", "_")


def write(source: str, path: Path | None, out: Path, options: Section | None, seed: int) -> Summary:
    """Read a source and write its trace to `out`.

    Args:
        source: one of `SOURCES`.
        path: its file or folder; None for the source's own place.
        out: Parquet file of schema `TRACE`.
        options: its section of params, None for the defaults.
        seed: of what is drawn at random.

    Raises:
        ClearschedError: unknown source, or its files are missing or broken.
    """
    if path is not None and not path.exists() and not any(sign in str(path) for sign in "*?["):
        raise ClearschedError(f"{path}: no such file or folder (the path of source {source})")
    module: Any = import_module(f"clearsched.problems.dag_jobs.traces.{section_of(source)}")
    summary: Summary = module.write(path, out, options if options is not None else options_of(source, {}), seed)
    return summary


def write_from_params(params: Params, out: Path) -> Summary:
    """Build the trace, or the mix of traces, that `params.traces` names."""
    traces = params.traces
    if traces.source == "mix":
        return _write_mix(traces, out)
    path = None if traces.path is None else Path(traces.path)
    return write(traces.source, path, out, _options(traces, traces.source), traces.seed)


def _options(traces: TracesParams, source: str) -> Section | None:
    options: Section | None = getattr(traces, section_of(source), None)
    return options


def _write_mix(traces: TracesParams, out: Path) -> Summary:
    """Each source into a file of its own, and these into one."""
    from clearsched.problems.dag_jobs.traces.mixing import mix

    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".mix-") as folder:
        parts = []
        for index, part in enumerate(traces.mix):
            file = Path(folder) / f"{index}.parquet"
            path = None if part.path is None else Path(part.path)
            write(part.source, path, file, _options(traces, part.source), traces.seed)
            parts.append((file, part.weight))
        return mix(parts, out, [part.name for part in traces.mix])


def options_of(source: str, values: dict[str, Any]) -> Section | None:
    """The options of a source, checked; None for a source that has none.

    Raises:
        ClearschedError: an unknown option, or a value that does not fit.
    """
    from clearsched.problems.dag_jobs.sections import TracesParams

    name = section_of(source)
    if name not in TracesParams.model_fields:
        if values:
            raise ClearschedError(f"source {source} has no options: {', '.join(values)} given")
        return None
    section: Any = TracesParams.model_fields[name].annotation
    try:
        options: Section = section.model_validate(values)
        return options
    except ValidationError as error:
        first = error.errors()[0]
        option = ".".join(str(part) for part in first["loc"])
        known = ", ".join(section.model_fields)
        raise ClearschedError(f"source {source}: {option}: {first['msg']} (options: {known})") from None


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """Options given as NAME=VALUE, the value in YAML, as in params.yaml; NAME may be nested: window.start_s=0.

    Raises:
        ClearschedError: no `=`, or the value is no YAML.
    """
    import yaml

    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise ClearschedError(f"--set {setting}: expected NAME=VALUE")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            raise ClearschedError(f"--set {setting}: {text} is no YAML value") from None
        *outer, last = name.split(".")
        inner = values
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return values
