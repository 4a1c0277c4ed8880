"""The command that lays patches on a policy: before and after on each load, then its files.

Apart from what a fit asks of patches (`patching`): edge cases are nothing that a fit depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from clearsched.edge_cases.patch_loads import Load, drawn_loads, given_loads
from clearsched.files import check_inputs, provenance, told
from clearsched.problems.policy import heuristic
from clearsched.schemas import PATCH_CHANGES, write_table
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.text import write_policy
from clearsched.students.patch_changes import Changes
from clearsched.students.patch_report import report
from clearsched.students.patch_trial import compare
from clearsched.students.patching import checked, load_patchable, read_file, refuse_worse
from clearsched.temporary import temporary_folder


def patch_file(
    path: Path,
    patches: Path,
    traces: Sequence[Path],
    workloads: Sequence[Path],
    split: str,
    out_dir: Path,
    tell: Callable[[str], None] = print,
    edge_cases: Path | None = None,
    edge_episodes: int = 8,
) -> list[Path]:
    """Lay the patches of a file on a policy in place of those it has; tell before and after; write what came of it.

    Written are the policy's JSON and text, and every decision that changes (`schemas.PATCH_CHANGES`).

    Args:
        path: a student, a searched policy or a formula, JSON.
        patches: YAML or JSON.
        traces: one for all workloads, or one for each.
        workloads: the normal load first, then edge cases.
        split: whose episodes are compared.
        out_dir: of the patched policy, which keeps its file's name.
        tell: called with each load's comparison as soon as it is there.
        edge_cases: params of the stage `edge_cases`: the edge cases of the scenario come after the workloads, with
            episodes that are drawn for this alone, by another seed than those that policies are evaluated on.
        edge_episodes: how many of each edge case.

    Returns:
        The files written.

    Raises:
        ClearschedError: an input is missing or broken, or the patched policy strays from the baseline
            (`search.safety`); then nothing is written.
    """
    before = load_patchable(path)
    changes = out_dir / f"{path.stem}_changes.parquet"
    inputs = [path, patches, *traces, *workloads, *([edge_cases] if edge_cases else [])]
    for file in (out_dir / f"{path.stem}.json", out_dir / f"{path.stem}.txt", changes):
        check_inputs(file, inputs)
    after = replace(before, patches=read_file(patches, before.problem))
    after.compiled  # noqa: B018 (so that a scorer that does not run in the loop is told first)
    loads = given_loads(before.problem, traces, workloads, split)
    if edge_cases is None:
        tried = _tried(before, after, loads, path, tell)
    else:
        with told(out_dir), temporary_folder(out_dir) as folder:
            loads += drawn_loads(before.problem, edge_cases, traces[0], edge_episodes, folder)
            tried = _tried(before, after, loads, path, tell)
    _write_changes(changes, tried, {"policy": path, "patches": patches})
    return [*write_policy(tried.policy, out_dir, path.stem), changes]


class Tried(NamedTuple):
    """What came of a patched policy."""

    policy: ScoredPolicy  # with its evidence
    changes: list[tuple[str, Changes]]  # by the name of the load


def _tried(
    before: ScoredPolicy, after: ScoredPolicy, loads: Sequence[Load], path: Path, tell: Callable[[str], None]
) -> Tried:
    """Compare on all loads, of which the first is the normal one.

    Raises:
        ClearschedError: the patched policy strays.
    """
    baseline = heuristic(before.problem, before.problem.baseline)
    found = []
    for load in loads:
        found.append(compare(before, after, baseline, load.instance, load.episodes, load.told))
        tell(report(found[-1], after))
    if after.patches:
        after = checked(after, loads[0].instance)
        for compared in found[1:]:
            refuse_worse(compared, str(path))
    else:  # what was measured with other patches says nothing of it
        after = replace(after, evidence={name: told for name, told in after.evidence.items() if name != "stress"})
    return Tried(after, [(load.name, compared.changes) for load, compared in zip(loads, found, strict=True)])


def _write_changes(path: Path, tried: Tried, inputs: Mapping[str, Path]) -> None:
    """Every decision that the patches change, of all loads."""
    tables = [
        changes.table.add_column(0, PATCH_CHANGES.field("load"), [pa.repeat(name, len(changes.table))])
        for name, changes in tried.changes
    ]
    told = {"problem": tried.policy.problem.name, "patches": [patch.to_json() for patch in tried.policy.patches]}
    write_table(path, pa.concat_tables(tables), PATCH_CHANGES, provenance({}, inputs) | told)
