"""Every policy that a problem has: what it is called, and how it is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from clearsched.errors import ClearschedError
from clearsched.problems.policy import Policy, heuristic
from clearsched.problems.problem import Problem
from clearsched.registry import Look, Registry
from clearsched.search.families import families_of
from clearsched.students.kinds import STUDENTS
from clearsched.teacher.kind import TEACHER

if TYPE_CHECKING:
    from clearsched.evaluation.settings import EvaluationParams


class Known(NamedTuple):
    """A policy as the registries tell of it."""

    name: str
    label: str
    look: Look
    kind: str  # one of `problems.policy.KINDS`


def policies_of(problem: Problem) -> Registry[Known]:
    """The heuristics of a problem, searched policies, the teacher, students, in the order in which they are told.

    Raises:
        ClearschedError: two of them have one name.
    """

    def known() -> Iterator[Known]:
        for entry in problem.heuristics.values():
            yield Known(entry.name, entry.label, entry.look, "heuristic")
        for family in families_of(problem).values():
            yield Known(family.name, family.label, family.look, "searched")
        yield Known(TEACHER.name, TEACHER.label, TEACHER.look, "teacher")
        for kind in STUDENTS.values():
            yield Known(kind.name, kind.label, kind.look, "student")

    return Registry("policy", known())


def label(problem: Problem, policy: str) -> str:
    """The written name of a policy; of one that stands in no registry its own name with spaces."""
    known = policies_of(problem)
    return known[policy].label if policy in known else policy.replace("_", " ")


def format_settings(settings: Mapping[str, float]) -> str:
    """Parameters as "name=value, ..."; empty when there are none."""
    return ", ".join(f"{name}={value:g}" for name, value in settings.items())


def load_policy(
    problem: Problem, name: str | Path, tuned: Mapping[str, Any] | None = None, mode: str = "argmax"
) -> Policy:
    """A policy of a problem.

    Args:
        problem: what is scheduled.
        name: a heuristic's name, a teacher's `.safetensors`, or the `.json` of a student or searched policy.
        tuned: parameters by heuristic, as `clearsched heuristics tune` writes them; defaults without.
        mode: argmax or sampled, for a teacher.

    Raises:
        ClearschedError: no such file or heuristic, or a teacher or student of another problem.
    """
    suffix = Path(name).suffix
    if suffix == ".safetensors":
        from clearsched.teacher import load_policy as load_teacher

        teacher: Any = load_teacher(name, mode)
        return _of(problem, teacher, name)
    if suffix == ".json":
        from clearsched.scorers.policy import load_policy as load_scored

        return _of(problem, load_scored(name), name)
    found = (tuned or {}).get(str(name))
    return heuristic(problem, str(name), found if isinstance(found, Mapping) else {})


def _of(problem: Problem, policy: Any, path: str | Path) -> Policy:
    if policy.problem.name != problem.name:
        raise ClearschedError(f"{path}: schedules {policy.problem.name}, not {problem.name}: give a policy made for it")
    found: Policy = policy
    return found


def files_of(students: Sequence[Path], searched: Sequence[Path] = ()) -> dict[str, Path]:
    """The files of policies by the names that they have in a result's provenance."""
    return {
        f"{folder}/{path.name}": path
        for folder, paths in (("students", students), ("search", searched))
        for path in paths
    }


def load_policies(
    problem: Problem,
    settings: EvaluationParams,
    tuned: Mapping[str, Any],
    teacher: Path,
    students: Sequence[Path],
    searched: Sequence[Path] = (),
) -> list[Policy]:
    """The policies that `settings` list, and what they are held against: the reference, and the problem's baseline.

    A student that was not fitted, or a family that was not searched, is left out; a control that was comes along.

    Raises:
        ClearschedError: one is unknown, or its file is broken.
    """
    known, files = policies_of(problem), {path.stem: path for path in (*searched, *students)}
    policies = []
    controls = [kind.name for kind in STUDENTS.values() if kind.control_of and kind.name in files]
    against = reference_policy(problem, tuned), problem.baseline
    for name in dict.fromkeys((*(settings.policies or known), *against, *controls)):
        kind = "student" if name in files else known[name].kind
        if kind == "teacher":
            policies.append(load_policy(problem, teacher, mode=settings.mode))
        elif name in files:
            policies.append(load_policy(problem, files[name]))
        elif kind == "heuristic":
            policies.append(load_policy(problem, name, tuned))
    return policies


def reference_policy(problem: Problem, tuned: Mapping[str, Any]) -> str:
    """The heuristic that was best on the validation episodes, as tuning wrote it; the last yardstick without.

    The test episodes have no say in it: a reference chosen on them would be flattered by its own luck.
    """
    best = tuned.get("best")
    return best if isinstance(best, str) else problem.yardsticks[-1]
