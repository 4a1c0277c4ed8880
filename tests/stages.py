"""Params of one stage, for tests that run stages without a params.yaml."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from clearsched.decisions.settings import DecisionsParams
from clearsched.params import parse
from clearsched.problems import find_problem
from clearsched.teacher.settings import TeacherParams


def stage_params(problem: str = "dag_jobs", *, seed: int = 1, idling: bool = True, **sections: dict[str, Any]) -> Any:
    """Checked params of a problem: the given values of its sections, defaults for the rest.

    `idling`: for dag_jobs, whether learned policies may leave executors idle.
    """
    stages = {
        "teacher": TeacherParams(**sections.pop("teacher", {})),
        "decisions": DecisionsParams(**sections.pop("decisions", {})),
    }
    models = getattr(find_problem(problem), "sections", None)
    if models is None:
        found = parse(sections, "test", whole=False)
        own = {name: getattr(found, name) for name in ("traces", "workload", "heuristics")}
        own["workload"] = own["workload"].model_copy(update={"idling": idling})
    else:
        if "idling" in models["workload"].model_fields:
            sections["workload"] = {"idling": idling} | sections.get("workload", {})
        own = {name: model(**sections.get(name, {})) for name, model in models.items()}
    return SimpleNamespace(problem=problem, scenario="test", seed=seed, **own, **stages)
