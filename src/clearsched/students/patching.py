"""Lay the patches of a person on a policy; what strays from the baseline with them is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from clearsched.documents import read_yaml_value
from clearsched.errors import ClearschedError
from clearsched.files import check_inputs, provenance, told
from clearsched.problems.policy import Policy, heuristic
from clearsched.problems.problem import Instance, Problem
from clearsched.schemas import PATCH_CHANGES, write_table
from clearsched.scorers.patches import Patch, read_patches
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.scorers.text import write_policy
from clearsched.search.safety import ALLOWED, Verdict, bounds, evidence, judge
from clearsched.search.trials import trials
from clearsched.students.patch_changes import Changes
from clearsched.students.patch_loads import Load, drawn_loads, given_loads
from clearsched.students.patch_report import report
from clearsched.students.patch_trial import Compared, compare
from clearsched.temporary import temporary_folder

WORSE = {
    "worst": "an episode takes {:.2f} times the baseline's",
    "end": "the last job ends after {:.2f} times the baseline's time",
    "cleared": "a backlog is cleared after {:.2f} times its time",
    "of_limit": "a measure is {:.2f} times its limit",
    "hard": "an episode of the hardest kind takes {:.2f} times the baseline's",
    "batch_end": "the last job of a batch ends after {:.2f} times the baseline's time",
}
"""What patches made worse on another load, by the number of a verdict."""


class RefusedError(ClearschedError):
    """A policy whose patches let it stray from the baseline."""

    def __init__(self, policy: ScoredPolicy, why: str) -> None:
        super().__init__(_refusal(policy.where, "nothing was written", why))
        self.policy, self.why = policy, why


def patch_file(
    path: Path,
    patches: Path,
    traces: Sequence[Path],
    workloads: Sequence[Path],
    split: str,
    out_dir: Path,
    tell: Callable[[str], None],
    edge_cases: Path | None,
    edge_episodes: int,
) -> list[Path]:
    """See `clearsched.students.patch`."""
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


def read_file(path: Path, problem: Problem) -> tuple[Patch, ...]:
    """The patches of a YAML or JSON file: a list, or one under the key `patches`.

    Raises:
        ClearschedError: the file is missing or broken, or a patch is (`scorers.patches.read_patches`).
    """
    content = read_yaml_value(path)
    if isinstance(content, dict) and list(content) == ["patches"]:
        content = content["patches"]
    return read_patches([] if content is None else content, problem, str(path))


def load_patchable(path: Path) -> ScoredPolicy:
    """The policy of a file.

    Raises:
        ClearschedError: it is none that scores: the teacher's network and heuristics take no patches.
    """
    if path.suffix != ".json":
        raise ClearschedError(
            f"{path}: patches go on the JSON of a student, a searched policy or a formula: a teacher or a heuristic "
            "takes none"
        )
    return load_policy(path)


def checked(policy: ScoredPolicy, instance: Instance, threads: int | None = None) -> ScoredPolicy:
    """A patched policy that keeps near to the baseline on every validation and training episode, and under stress.

    Raises:
        RefusedError: it does not.
    """
    baseline = heuristic(instance.problem, instance.problem.baseline)
    train = instance.split("train")
    episodes = [*instance.split("validation"), *train, *instance.stressed(train)]
    with trials(instance, instance.objective, threads) as runs:
        verdict, *without = judge(runs, [policy, replace(policy, patches=())], baseline, episodes)
    if verdict.strays:
        raise RefusedError(policy, _why(f"{verdict}; {_without(*without)}", baseline))
    return replace(policy, evidence={**policy.evidence, **evidence(verdict, baseline, instance.stress_share)})


def refuse_worse(compared: Compared, where: str) -> None:
    """Of a load beside the normal one, an edge case on which the policy may have strayed before.

    Raises:
        ClearschedError: it strays with the patches, and further than without them.
    """
    for name, bound in bounds().items():
        was, now = (getattr(each.verdict, name) for each in (compared.before, compared.after))
        if not now <= max(bound, was):
            told = f"on {compared.load} {WORSE[name].format(now)} ({was:.2f} without them)"
            raise ClearschedError(_refusal(where, "nothing was written", _why(told, compared.baseline)))


def _without(verdict: Verdict) -> str:
    """What a policy that is refused was without its patches: whose fault it is."""
    return f"without them it is not safe either: {verdict}" if verdict.strays else "without them it is safe"


def _refusal(where: str, written: str, why: str) -> str:
    return f"{where}: the patches are refused, {written}: with them, {why}"


def _why(told: str, baseline: Policy) -> str:
    return f"{told} (the baseline is {baseline.name}); {ALLOWED}"


@contextmanager
def kept_if_refused(folder: Path, kind: str) -> Iterator[None]:
    """Within it patches are laid on a fitted student: if they are refused, it is kept without them in a folder.

    The patches are wrong then, and not the fit, which takes long. What an earlier fit kept is removed once one is done.

    Raises:
        ClearschedError: the patches are refused; the line tells the folder.
    """
    try:
        yield
    except RefusedError as refused:
        write_policy(replace(refused.policy, patches=()), folder, kind)
        written = f"what was fitted is kept without them in {folder}"
        raise ClearschedError(_refusal(refused.policy.name, written, refused.why)) from None
    shutil.rmtree(folder, ignore_errors=True)


def laid_on(settings: Any, policy: ScoredPolicy, instance: Instance) -> ScoredPolicy:
    """The policy with the patches of the section `students` of params, checked; without any as it is.

    Raises:
        ClearschedError: one is malformed.
        RefusedError: the policy strays with them.
    """
    patches = of_params(settings, policy.problem)
    return checked(replace(policy, patches=patches), instance) if patches else policy


def of_params(settings: Any, problem: Problem) -> tuple[Patch, ...]:
    """The patches of the section `students` of params.

    Raises:
        ClearschedError: one is malformed.
    """
    entries = [patch.model_dump(exclude_none=True) for patch in settings.patches]
    return read_patches(entries, problem, "params: students.patches")
