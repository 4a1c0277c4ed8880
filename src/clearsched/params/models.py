"""What params.yaml holds, whatever the problem: the sections that all problems have, and how they fit together.

To add a choice, add a field to the model of its section (default, bounds, a description with its unit) and run
`make params`: params.yaml, its JSON schema and the tables in docs/params.md are written from the models. A section's
docstring is its heading there. A problem brings its own sections; `composing.params_model` puts them in here.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from clearsched.decisions.settings import DecisionsParams
from clearsched.edge_cases.settings import EdgeCasesParams
from clearsched.errors import ClearschedError
from clearsched.evaluation.settings import EvaluationParams
from clearsched.figures.settings import FiguresParams
from clearsched.paper.settings import PaperParams
from clearsched.parallel.settings import ParallelParams
from clearsched.problems import DEFAULT, find_problem
from clearsched.report.settings import ReportParams
from clearsched.search.settings import SearchParams
from clearsched.section import Section
from clearsched.students.settings import StudentsParams
from clearsched.students.sizes import fronts
from clearsched.teacher.settings import TeacherParams

DEFAULT_SCENARIO = "default"


class Params(Section):
    """All of params.yaml, or the sections of it that one stage may read. The model of a problem is derived from it."""

    problem: str
    scenario: str = Field(
        DEFAULT_SCENARIO,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        max_length=64,
        description="name of the run; its files are in results/<scenario>/; default stands for the name of the "
        "problem or of the source of jobs where that is another than the default",
        json_schema_extra={"allowed": "letters, digits, _ . -, at most 64 characters, a letter or digit first"},
    )
    seed: int = Field(1, ge=0, lt=2**32, description="seed of every random number")
    traces: Any  # these three are the problem's own: models of another type each
    workload: Any
    heuristics: Any
    search: SearchParams
    teacher: TeacherParams
    decisions: DecisionsParams
    students: StudentsParams
    evaluation: EvaluationParams
    edge_cases: EdgeCasesParams
    figures: FiguresParams
    paper: PaperParams
    report: ReportParams
    parallel: ParallelParams

    def __getattr__(self, name: str) -> object:
        """Called for what is not there: a section that the stage did not declare in `STAGES`.

        Raises:
            ClearschedError: `name` is a section that this stage's file does not hold.
        """
        if name in type(self).model_fields:
            raise ClearschedError(
                f"params: this stage reads the section {name!r}, which STAGES in clearsched.params does not list for it"
            )
        return super().__getattr__(name)  # type: ignore[misc]

    def limited_to(self, sections: tuple[str, ...]) -> Params:
        """A copy that holds only `sections`; touching another raises ClearschedError."""
        held = {name: getattr(self, name) for name in type(self).model_fields if name in sections}
        limited = type(self).model_construct(**held)
        for name in type(self).model_fields:
            if name not in held:
                limited.__dict__.pop(name, None)
        return limited

    def named(self) -> Params:
        """A copy in which the scenario has its final name, so that no two problems or data sets share a folder."""
        if self.scenario != DEFAULT_SCENARIO:
            return self
        parts = [self.problem] if self.problem != DEFAULT else []
        if self.traces.source != find_problem(self.problem).default_source:
            parts.append(self.traces.source)
        return self.model_copy(update={"scenario": "-".join(parts)}) if parts else self

    def inconsistency(self) -> tuple[str, object, str] | None:
        """What two sections contradict each other in: the key's path, its value, what is allowed."""
        for path, episodes, split in (
            ("teacher.clone.episodes", self.teacher.clone.episodes, "train"),
            ("teacher.improve.sequences", self.teacher.improve.sequences, "train"),
            ("decisions.episodes", self.decisions.episodes, "train"),
            ("decisions.held_out", self.decisions.held_out, "validation"),
            ("students.dagger_episodes", self.students.dagger_episodes, "train"),
        ):
            most = getattr(self.workload.episodes, split)
            if episodes > most:
                return path, episodes, f"at most workload.episodes.{split}, which is {most}"
        if self.teacher.source == "published" and self.teacher.published.name is None:
            return "teacher.source", "published", f"train or shipped: no network is published for {self.problem}"
        if self.report.episode >= self.workload.episodes.test:
            most = self.workload.episodes.test
            return "report.episode", self.report.episode, f"below workload.episodes.test, which is {most}"
        try:
            fronts(self.students)
        except ClearschedError as error:
            return "students.pareto", self.students.pareto.model_dump(mode="json"), str(error)
        for section in ("search", "teacher", "students"):
            guard = getattr(self, section).guard
            known = find_problem(self.problem).heuristics[guard.heuristic].parameters if guard.heuristic else None
            if known is not None and not set(guard.settings) <= set(known):
                allowed = f"parameters of {guard.heuristic}: {', '.join(known) or 'it has none: write {}'}"
                return f"{section}.guard.settings", guard.settings, allowed
        for path, names in (
            ("search.families", self.search.families),
            ("students.names", self.students.names),
            ("evaluation.policies", self.evaluation.policies),
            ("edge_cases.names", self.edge_cases.names),
        ):
            if len(set(names)) < len(names):
                return path, list(names), "each name once"
        return None
