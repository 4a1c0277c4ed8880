"""The Arrow schema of every table that passes between two stages of the pipeline.

Each field carries its unit and meaning in its metadata. Tables are written and read through `write_table` and
`read_table`, which check them, so a file on disk either has the schema below or is refused with one line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from clearsched.errors import ClearschedError
from clearsched.files import PROVENANCE_KEY, atomic_path


def field(name: str, kind: pa.DataType, unit: str, meaning: str, nullable: bool = False) -> pa.Field:
    """A schema field with its unit ("" if it has none) and meaning as metadata."""
    return pa.field(name, kind, nullable, {"unit": unit, "meaning": meaning})


TUNING = pa.schema(
    [
        field("policy", pa.string(), "", "name of the heuristic"),
        field("setting", pa.string(), "", "its parameters, as name=value, ..."),
        field("mean", pa.float64(), "", "mean objective over the validation episodes; its unit stands in the metadata"),
        field("chosen", pa.bool_(), "", "whether this is the best setting of the heuristic"),
    ]
)

SEARCH_CURVE = pa.schema(
    [
        field("restart", pa.int32(), "", "which restart of the search"),
        field("generation", pa.int32(), "", "index within the restart"),
        field(
            "evaluations", pa.float64(), "candidates", "run so far in the restart; one given up counts with its part"
        ),
        field("given_up", pa.int32(), "candidates", "of the generation, after a quarter of its episodes"),
        field(
            "train_objective", pa.float64(), "", "mean objective of its best candidate on its training episodes", True
        ),
        field("reference_objective", pa.float64(), "", "that of the best tuned heuristic on the same episodes"),
        field(
            "best_difference",
            pa.float64(),
            "",
            "of the best candidate so far to the heuristic, as a share of its mean; below 0: better",
            True,
        ),
        field(
            "validation_objective",
            pa.float64(),
            "",
            "mean objective on the validation episodes of what the restart chose, in its last row",
            True,
        ),
    ]
)

LEARNING_CURVE = pa.schema(
    [
        field("phase", pa.string(), "", "clone (imitation), improve (policy gradient) or published"),
        field("iteration", pa.int32(), "", "index within the phase"),
        field("episodes", pa.int64(), "episodes", "training episodes simulated so far"),
        field("loss", pa.float64(), "", "training loss of the phase"),
        field("train_objective", pa.float64(), "", "mean objective of the sampled training rollouts", True),
        field("validation_objective", pa.float64(), "", "mean objective (argmax) on the validation episodes", True),
        field("reference_objective", pa.float64(), "", "that of the cloned policy on the validation episodes"),
        field("entropy", pa.float64(), "nats", "mean entropy of the choice of a candidate", True),
    ]
)

TRAINING_TIMES = pa.schema(
    [
        field("phase", pa.string(), "", "clone or improve: of the row of the learning curve"),
        field("iteration", pa.int32(), "", "index within the phase"),
        field("cpu_s", pa.float64(), "CPU s", "of all threads since the training began, its validation included"),
    ]
)
"""A row a row of the learning curve. Timings: they differ from run to run, so they stand in a file apart from it."""


class Measured(Protocol):
    """What a column of numbers needs (`problems.declarations.Measure`)."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def label(self) -> str: ...


def episodes(measures: Iterable[Measured]) -> pa.Schema:
    """One row a policy and test episode, with a column for each measure of the problem."""
    return pa.schema(
        [
            field("policy", pa.string(), "", "name of the policy"),
            field("kind", pa.string(), "", "heuristic, searched, teacher or student"),
            field("mode", pa.string(), "", "argmax or sampled"),
            field("episode", pa.int32(), "", "index of the test episode"),
            field("num_decisions", pa.int64(), "decisions", "answers of the policy"),
            *(field(measure.name, pa.float64(), measure.unit, measure.label) for measure in measures),
        ]
    )


COMPARISON = pa.schema(
    [
        field("policy", pa.string(), "", "name of the policy"),
        field("kind", pa.string(), "", "heuristic, searched, teacher or student"),
        field("mode", pa.string(), "", "argmax or sampled"),
        field("settings", pa.string(), "", "tuned parameters, as name=value, ..."),
        field("episodes", pa.int32(), "episodes", "number of paired test episodes"),
        field("measure", pa.string(), "", "what the numbers of the row measure; the objective's rows come first"),
        field("unit", pa.string(), "", "unit of the numbers; empty for a ratio"),
        field("mean", pa.float64(), "the row's", "mean over the episodes"),
        field("ci_low", pa.float64(), "the row's", "lower end of the bootstrap confidence interval of the mean"),
        field("ci_high", pa.float64(), "the row's", "upper end of the bootstrap confidence interval of the mean"),
        field("worst", pa.float64(), "the row's", "the worst episode"),
        field(
            "worst_to_baseline",
            pa.float64(),
            "",
            "largest ratio to the problem's baseline heuristic on one episode, where that was run and is above 0",
            True,
        ),
        field("reference", pa.string(), "", "policy that the paired differences are taken against"),
        field("difference", pa.float64(), "the row's", "mean paired difference to the reference"),
        field("difference_low", pa.float64(), "the row's", "lower end of its bootstrap confidence interval"),
        field("difference_high", pa.float64(), "the row's", "upper end of its bootstrap confidence interval"),
        field(
            "difference_percent", pa.float64(), "%", "difference relative to the reference's mean, unless it is 0", True
        ),
        field("p", pa.float64(), "", "of the paired sign-flip test of the difference; none of the reference", True),
        field("p_holm", pa.float64(), "", "adjusted by Holm over the policies that have the measure", True),
        field("better_share", pa.float64(), "", "share of episodes better than the reference, equal ones half", True),
        field("better_low", pa.float64(), "", "lower end of its Wilson interval", True),
        field("better_high", pa.float64(), "", "upper end of its Wilson interval", True),
        field("effect", pa.float64(), "", "difference over the standard deviation of the episodes' differences", True),
        field("seeds", pa.int64(), "", "training seeds, of the objective and where there are several", True),
        field("seeds_difference", pa.float64(), "the row's", "mean difference over training seeds and episodes", True),
        field("seeds_low", pa.float64(), "the row's", "lower end of its interval over both", True),
        field("seeds_high", pa.float64(), "the row's", "upper end of its interval over both", True),
        field("bound", pa.float64(), "the row's", "what no mean can be better than, if that is proved", True),
        field("from_bound_percent", pa.float64(), "%", "how much worse than the bound the mean is", True),
    ]
)
"""The metadata names the `problem` and the `confidence` of the intervals."""

TAKE_OVERS = pa.schema(
    [
        field("policy", pa.string(), "", "name of the policy"),
        field("episode", pa.int32(), "", "index of the test episode"),
        field("from_s", pa.float64(), "s", "simulated time of the first decision of the heuristic"),
        field(
            "until_s", pa.float64(), "s", "of the policy's first decision after it; none: it went on to the end", True
        ),
        field("heuristic", pa.string(), "", "who decided meanwhile"),
        field("gauge", pa.string(), "", "what was above its bound, the first of several"),
        field("unit", pa.string(), "", "of value and bound"),
        field("value", pa.float64(), "the row's", "the gauge at that time"),
        field("bound", pa.float64(), "the row's", "above which the heuristic takes over"),
    ]
)
"""A row a time that the guard of a policy took over."""

EDGE_CASES = pa.schema(
    [
        field("edge_case", pa.string(), "", "name of the edge case"),
        field("label", pa.string(), "", "what it is called"),
        *(COMPARISON.field(name) for name in COMPARISON.names if "bound" not in name and "seeds" not in name),
    ]
)
"""A row an edge case, measure and policy."""

STUDENTS = pa.schema(
    [
        field("policy", pa.string(), "", "name of the student"),
        field("complexity", pa.int64(), "", "conditions, rules, terms and nodes that a person must read"),
        field("mean", pa.float64(), "the objective's", "mean over the test episodes"),
        field("difference_percent", pa.float64(), "%", "paired difference to the teacher"),
        field("difference_low", pa.float64(), "%", "lower end of its interval"),
        field("difference_high", pa.float64(), "%", "upper end"),
        field("p", pa.float64(), "", "of the paired sign-flip test of the difference"),
        field("p_holm", pa.float64(), "", "adjusted by Holm over all rows of the table"),
        field("worst", pa.float64(), "the objective's", "the worst test episode"),
        field("worst_to_baseline", pa.float64(), "", "see the comparison", True),
        field("beside", pa.map_(pa.string(), pa.float64()), "the measure's", "what belongs beside a mean, by measure"),
        field("top1", pa.float64(), "", "share of the real choices in which its first choice is the teacher's", True),
    ]
)
"""A row a student. The metadata names the `objective` and the `confidence` of the intervals."""

STUDENTS_PARETO = pa.schema(
    [
        field("kind", pa.string(), "", "kind of student"),
        field("by", pa.string(), "", "the setting that says its size; empty: the usual one of the kind"),
        field("size", pa.int64(), "", "rules, leaves or trees, as the kind counts, or what `by` says"),
        field("unseen", pa.float64(), "the objective's", "mean over the episodes that sizes are chosen on", True),
        field("safe", pa.bool_(), "", "whether its fit found no episode on which it strays from the baseline"),
        field("picked", pa.bool_(), "", "whether it is the smallest safe one that is nearly as good as the best there"),
        *(STUDENTS.field(name) for name in STUDENTS.names if name != "policy"),
    ]
)
"""A row a kind, setting and size. The metadata names the `objective` and the `confidence` of the intervals."""

BOUNDS = pa.schema(
    [
        field("measure", pa.string(), "", "name of the measure"),
        field("episode", pa.int32(), "", "index of the test episode"),
        field("bound", pa.float64(), "the measure's", "what no policy can do better than on the episode"),
    ]
)

SEEDS = pa.schema(
    [
        field("policy", pa.string(), "", "name of the policy"),
        field("kind", pa.string(), "", "searched, teacher or student"),
        field("seed", pa.int64(), "", "training seed"),
        field("chosen", pa.bool_(), "", "whether it is the one that the other tables tell of"),
        field("mean", pa.float64(), "the objective's", "mean objective over the test episodes"),
        field("difference_percent", pa.float64(), "%", "difference to the reference, unless its mean is 0", True),
        field("worst", pa.float64(), "the objective's", "the worst test episode"),
        field("worst_to_baseline", pa.float64(), "", "see the comparison", True),
    ]
)
"""The metadata names the `reference`."""

SEED_PAIRS = pa.schema(
    [
        field("policy", pa.string(), "", "name of the student"),
        field("reference", pa.string(), "", "name of the teacher or searched policy that it is held against"),
        field("policy_seeds", pa.int64(), "", "training seeds of the student"),
        field("reference_seeds", pa.int64(), "", "training seeds of the other"),
        field("difference_percent", pa.float64(), "%", "of the means over seeds and episodes, of the other's"),
        field("difference_low", pa.float64(), "%", "lower end of its interval over the seeds of both and episodes"),
        field("difference_high", pa.float64(), "%", "upper end"),
    ]
)
"""A row a student of several training seeds and policy; none where every student has one."""

FIDELITY = pa.schema(
    [
        field("policy", pa.string(), "", "name of the student"),
        field("choice", pa.string(), "", "name of the choice"),
        field(
            "decisions_of",
            pa.string(),
            "",
            "all; those that kept what there was, by the problem's name for it; real (the others); none (of these)",
        ),
        field(
            "part",
            pa.string(),
            "",
            "whole; none (or not), keep (or change), group, one (of it), each with the teacher's answers before it",
        ),
        field("decisions", pa.int64(), "decisions", "non-trivial decisions counted (two answers or more)"),
        field("trivial", pa.int64(), "decisions", "decisions of the same kind with one answer, which are left out"),
        field("top1", pa.float64(), "", "share in which the student's first choice is the teacher's", True),
        field("top1_low", pa.float64(), "", "lower end of its interval over held-out episodes", True),
        field("top1_high", pa.float64(), "", "upper end of its interval over held-out episodes", True),
        field("top3", pa.float64(), "", "share in which the teacher's choice is among the student's first three", True),
        field("same_group", pa.float64(), "", "share in which both choose from the same group of near ties", True),
        field("mean_rank", pa.float64(), "", "mean place of the teacher's choice in the student's order, from 1", True),
        field("kendall_tau", pa.float64(), "", "mean over decisions of Kendall's tau-b of both scores, -1 to 1", True),
        field(
            "regret", pa.float64(), "", "mean of 1 - teacher's probability of the answer over that of its best", True
        ),
        field("level_error", pa.float64(), "the choice's", "mean absolute difference of the levels", True),
        field(
            "complexity", pa.int64(), "", "conditions and numbers to read; of a part: that can tell its answers", True
        ),
        field("cost_percent", pa.float64(), "%", "of the teacher's objective more with the student's answers", True),
        field("cost_low", pa.float64(), "%", "lower end of its paired interval", True),
        field("cost_high", pa.float64(), "%", "upper end of its paired interval", True),
    ]
)

PATCH_CHANGES = pa.schema(
    [
        field("load", pa.string(), "", "the file of workloads, or the name of the edge case"),
        field("episode", pa.int32(), "", "index of the episode of that load"),
        field("decision", pa.int32(), "", "index of the decision in its episode, of those with a candidate"),
        field("time_s", pa.float64(), "s", "simulated time of the decision"),
        field("candidates", pa.int32(), "candidates", "how many there were"),
        field(
            "before", pa.int32(), "", "without the patches: the candidate's number in its episode, -1 for none of these"
        ),
        field(
            "before_level", pa.int32(), "the choice's", "the level that it would get; empty where there is none", True
        ),
        field("after", pa.int32(), "", "with the patches"),
        field("after_level", pa.int32(), "the choice's", "the level that it gets, before what is free bounds it", True),
        field(
            "patch", pa.int32(), "", "that decides, from 1 in the order in which they count; empty: no single one", True
        ),
    ]
)
"""`<policy>_changes.parquet` of `clearsched students patch`: a row a decision that the patches change.

The metadata names the `problem`, and the `patches` in the order in which they count."""


def write_table(path: str | Path, table: pa.Table, schema: pa.Schema, metadata: dict[str, Any]) -> None:
    """Write `table` as Parquet (zstd), atomically, with `metadata` (JSON) in the file's own metadata.

    Raises:
        ClearschedError: the table does not have the schema.
    """
    table = conform(table, schema, str(path))
    encoded = {PROVENANCE_KEY: json.dumps(metadata, sort_keys=True).encode()}
    with atomic_path(path) as temporary:
        pq.write_table(
            table.replace_schema_metadata(encoded),
            temporary,
            compression="zstd",
            compression_level=9,
            write_page_checksum=True,
        )


def read_table(path: str | Path, schema: pa.Schema) -> tuple[pa.Table, dict[str, Any]]:
    """Read a Parquet file of `schema`; return the table and the metadata it was written with.

    Raises:
        ClearschedError: the file is missing, is no Parquet file, is truncated, or has another schema.
    """
    path = Path(path)
    if not path.is_file():
        raise ClearschedError(f"{path}: no such file")
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        table.validate(full=True)  # finds text that is not UTF-8
        metadata = provenance(pq.read_metadata(path).metadata)
        return conform(table, schema, str(path)), metadata
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ClearschedError(f"{path}: truncated or not a Parquet file ({reason}); build it again") from None


def _few(names: list[str]) -> list[str]:
    """The first of some names that a file has, of which each may be long."""
    return [*(name[:40] for name in names[:5]), *["..."][: len(names) > 5]]


def provenance(metadata: dict[bytes, bytes] | None) -> dict[str, Any]:
    """What a file tells of how it was made, out of the key-value metadata of the file (Parquet) or schema (Arrow).

    Raises:
        ValueError: it is no JSON mapping.
    """
    try:
        found = json.loads((metadata or {}).get(PROVENANCE_KEY, b"{}"))
    except RecursionError:
        raise ValueError("its metadata are nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("its metadata is no mapping")
    return found


def conform(table: pa.Table, schema: pa.Schema, where: str, first_row: int = 0) -> pa.Table:
    """Return `table` with exactly the fields of `schema`, in its order; nullable ones that are missing are empty.

    `first_row`: number of the table's first row where it is a piece of a larger one, for the errors.

    Raises:
        ClearschedError: a column is missing, superfluous, there twice, of a wrong type, or null where it must not be.
    """
    for name in schema.names:
        if table.schema.names.count(name) > 1:
            raise ClearschedError(f"{where}: the column {name} stands in it more than once")
        if schema.field(name).nullable and name not in table.schema.names:
            table = table.append_column(name, pa.nulls(len(table), schema.field(name).type))
    missing = [name for name in schema.names if name not in table.schema.names]
    unknown = [name for name in table.schema.names if name not in schema.names]
    if missing or unknown:
        raise ClearschedError(
            f"{where}: columns do not fit the schema: missing {missing or 'none'}, unknown {_few(unknown) or 'none'}"
        )
    columns = []
    for expected in schema:
        column = table.column(expected.name)
        try:
            column = column.cast(expected.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise ClearschedError(
                f"{where}: column {expected.name}: expected {expected.type}, got {column.type} "
                f"({str(error).splitlines()[0]})"
            ) from None
        if not expected.nullable and _has_null(column.combine_chunks()):
            row = next(i for i in range(len(column)) if _has_null(column.slice(i, 1).combine_chunks()))
            raise ClearschedError(f"{where}: row {first_row + row}, column {expected.name}: no value")
        columns.append(column)
    return pa.table(columns, schema=schema)


def _has_null(values: pa.Array) -> bool:
    """Whether a value, or a value inside its lists and structs, is missing."""
    if values.null_count:
        return True
    if pa.types.is_list(values.type):
        return _has_null(values.flatten())
    return pa.types.is_struct(values.type) and any(_has_null(field) for field in values.flatten())
