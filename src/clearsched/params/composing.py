"""The model of a problem's params.yaml: its own sections, and the common ones with the names that it knows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, Union

from pydantic import Field

from clearsched.edge_cases.settings import NORMAL, EdgeCasesParams
from clearsched.errors import ClearschedError
from clearsched.evaluation.settings import EvaluationParams
from clearsched.params.models import Params
from clearsched.problems import DEFAULT, PROBLEMS, find_problem
from clearsched.problems.problem import Problem
from clearsched.scorers.settings import GuardParams
from clearsched.search.families import families_of
from clearsched.search.settings import SearchParams
from clearsched.section import Section, derived, one_of, with_defaults
from clearsched.students.kinds import STUDENTS
from clearsched.students.settings import StudentsParams
from clearsched.teacher.kind import TEACHER
from clearsched.teacher.settings import CloneParams, PublishedParams, TeacherParams


@cache
def params_model(name: str = DEFAULT) -> type[Params]:
    """The params of a problem.

    Raises:
        ClearschedError: there is no such problem, or it gives defaults that are not allowed.
    """
    problem = find_problem(name)
    common: dict[str, type[Section]] = {
        "search": _search(problem),
        "teacher": _teacher(problem),
        "students": _students(problem),
        "evaluation": _evaluation(problem),
        "edge_cases": _edge_cases(problem),
    }
    common |= {field: _type_of(Params, field) for field in ("decisions", "figures", "paper", "report", "parallel")}
    for section, values in problem.overrides.items():
        if section not in common:
            raise ClearschedError(f"problem {name}: overrides: {section} is no section that all problems have")
        common[section] = with_defaults(common[section], values, f"problem {name}: overrides: {section}")
    own = problem.sections
    return derived(
        Params,
        {
            "problem": (
                one_of(PROBLEMS),
                Field(name, description="what is scheduled; traces, workload and heuristics below are its own"),
            ),
            **own,
            **common,
        },
    )


def policies_of(problem: Problem) -> tuple[str, ...]:
    """Every policy that a problem knows: its heuristics, the searched ones, the teacher, the students."""
    return (*problem.heuristics, *families_of(problem), TEACHER.name, *STUDENTS)


def defaults(problem: str = DEFAULT) -> Params:
    """The params of an empty file of that problem."""
    model: Any = params_model(problem)
    params: Params = model()
    return params


def _search(problem: Problem) -> type[SearchParams]:
    families = tuple(families_of(problem))
    field = Field(families, min_length=1, description=SearchParams.model_fields["families"].description)
    names: Any = tuple[one_of(families), ...]  # type: ignore[misc]
    return derived(SearchParams, {"families": (names, field), "guard": _guard(problem)})


def _teacher(problem: Problem) -> type[TeacherParams]:
    known = CloneParams.model_fields["policy"]
    names: Any = Union[Literal["best"], one_of((*problem.heuristics, *families_of(problem)))]  # noqa: UP007 (no type to mypy)
    clone = derived(CloneParams, {"policy": (names, Field(known.default, description=known.description))})
    return derived(TeacherParams, {"clone": clone, "published": _published(problem), "guard": _guard(problem)})


def _published(problem: Problem) -> type[PublishedParams]:
    known, networks = PublishedParams.model_fields["name"], tuple(problem.published)
    if not networks:
        return PublishedParams
    return derived(PublishedParams, {"name": (one_of(networks), Field(networks[0], description=known.description))})


def _students(problem: Problem) -> type[StudentsParams]:
    known = StudentsParams.model_fields["names"]
    names: Any = tuple[one_of(STUDENTS), ...]  # type: ignore[misc]
    field = Field(known.default, min_length=1, description=known.description)
    sections: Mapping[str, Any] = {name: kind.settings for name, kind in STUDENTS.items()}
    return derived(StudentsParams, {"names": (names, field), **sections, "guard": _guard(problem)})


def _guard(problem: Problem) -> type[GuardParams]:
    known = GuardParams.model_fields
    names: Any = one_of(problem.heuristics) | None
    fields: dict[str, Any] = {"heuristic": (names, Field(None, description=known["heuristic"].description))}
    known_gauges = getattr(problem, "gauges", ())
    if known_gauges:
        gauges: Any = tuple[one_of(gauge.name for gauge in known_gauges), ...]  # type: ignore[misc]
        fields["gauges"] = (gauges, Field((), description=known["gauges"].description))
    return derived(GuardParams, fields)


def _evaluation(problem: Problem) -> type[EvaluationParams]:
    policies = policies_of(problem)
    known = EvaluationParams.model_fields["policies"]
    field = Field(policies, min_length=1, description=known.description)
    names: Any = tuple[one_of(policies), ...]  # type: ignore[misc]
    return derived(EvaluationParams, {"policies": (names, field)})


def _edge_cases(problem: Problem) -> type[EdgeCasesParams]:
    cases = (NORMAL, *problem.edge_cases)
    known = EdgeCasesParams.model_fields["names"]
    names: Any = tuple[one_of(cases), ...]  # type: ignore[misc]
    return derived(EdgeCasesParams, {"names": (names, Field(cases, min_length=1, description=known.description))})


def _type_of(model: type[Section], field: str) -> Any:
    return model.model_fields[field].annotation
