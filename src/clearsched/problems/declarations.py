"""What a problem declares of itself: its choices, measures, policies, jobs and figures, as data.

Names stand in files and params, labels in tables and figures. What is done with them is `clearsched.problems.problem`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from clearsched.compiled.feature import Feature
from clearsched.registry import Look


class Choice(NamedTuple):
    """One question that a problem asks its policy."""

    name: str  # "stage", "limit", "start"
    form: Literal["rank", "level"]  # one of the candidates; or a whole number, answered by a share of the most
    question: str  # "Which stage gets executors?"
    features: tuple[Feature, ...]  # a level choice reads the row of the candidate that was chosen
    none: str = ""  # rank: what "none of these" means, in words; empty where it is no answer
    helps: str = ""  # rank: and of policies that mean "help first" by it (`means_help`); empty where none does
    unit: str = ""  # level: what is counted, "executors"
    keeps: str = ""  # rank: the feature, 0 or 1, that tells the candidate which changes nothing; empty if there is none
    kept: str = ""  # rank: what tables call choosing that one, and what it means: "name: in words"
    group: str = ""  # rank: what near ties share, "job"; empty where candidates have no groups
    fair: tuple[tuple[str, float], ...] = ()  # level: an equal share of the most, as powers of features; empty: none
    ready: str = ""  # rank: the feature, 0 or 1, of candidates that can start at once; empty where all can
    served: str = ""  # rank: the feature above 0 for candidates that work is being done on; empty where there are none
    age: str = ""  # rank: the feature that tells how long ago a candidate (its group) came; empty if there is none
    load: str = ""  # rank: the feature that tells what a candidate (its group) holds next to an equal share; or empty


def rank_choice(choices: Sequence[Choice]) -> Choice:
    """Of a problem's choices the one among candidates: every problem has it."""
    return next(choice for choice in choices if choice.form == "rank")


def level_choice(choices: Sequence[Choice]) -> Choice | None:
    """Of a problem's choices the one of a level; None where it has none."""
    return next((choice for choice in choices if choice.form == "level"), None)


class Measure(NamedTuple):
    """A number that an episode ends with."""

    name: str  # "jct_s"
    unit: str  # "s"; empty for a ratio
    label: str  # "mean job completion time"
    short: str  # "JCT"
    lower_is_better: bool = True
    compared: bool = True  # whether tables tell it beside the objective
    objective: bool = False  # whether policies may be made for it (`workload.objective`); the first always may
    beside: Literal["", "mean", "worst"] = ""  # told beside the objective: its mean over the episodes, or the worst
    limit: float | None = None  # a policy is refused above so many times the baseline's `scale_s` (`search.safety`)


class Gauge(NamedTuple):
    """A number that tells, at any decision, how much has piled up: what a guard watches (`scorers.guard`)."""

    name: str  # "backlog_s"
    unit: str
    label: str  # "backlog"
    meaning: str  # "work that no task has been started for, in seconds of the whole cluster"
    is_wait: bool = False  # a time, s, that means no harm while it is below what a job takes
    by_name: bool = False  # watched where a guard names it, and not otherwise: who should take over differs


class Heuristic(NamedTuple):
    """A hand-written policy."""

    name: str
    label: str  # "tuned ..." where it has a grid
    look: Look
    function: str  # "module:function", compiled: (state, *parameters) -> answer
    parameters: tuple[str, ...]  # in the order in which the function takes them
    defaults: tuple[float, ...]
    summary: str  # the rule in a sentence
    source: str
    section: str = ""  # of `heuristics` in params: its grid; heuristics may share one
    settings: str = ""  # "module:class", the model of that section; its `grid()` gives the settings tried
    shown: bool = True  # whether its parameters are told in tables


class Family(NamedTuple):
    """Policies of one form, whose numbers `clearsched search` finds."""

    name: str
    label: str
    look: Look
    program: str  # "module:function": of a `problems.programs.Ground` makes a `problems.programs.Program`
    summary: str


class EdgeCase(NamedTuple):
    """Episodes unlike those that policies are made for."""

    name: str  # "giant_job"
    label: str  # "one giant job"
    summary: str  # in a clause
    changes: str  # "module:function": what it changes of the params' sections traces and workload, as in params.yaml;
    # None where the scenario cannot have it


class Source(NamedTuple):
    """Where the jobs of a problem come from."""

    name: str  # "tpch-spark"
    label: str
    module: str  # with a function write(path, out, options, seed)
    summary: str  # in a clause
    settings: str = ""  # "module:class", the model of its section of `traces` in params
    needs_path: bool = False  # it has no place of its own: traces.path must be given


class Published(NamedTuple):
    """A trained network that others published: a teacher whose weights are read, not trained here."""

    name: str  # "spark-sched-sim"
    label: str
    module: str  # with the functions new(), fetch(cache_folder) and read(data, where)
    summary: str  # who trained it on what, and its licence, in a clause


class Plot(NamedTuple):
    """How the data of a picture, its CSV, is drawn by `dvc plots show`, where commits are compared."""

    x: str  # columns
    y: str
    x_label: str
    y_label: str
    template: str = ""  # of DVC; empty: a line


class Figure(NamedTuple):
    """A picture: a module with `draw(results_dir, subject) -> Drawing`, and beside it its caption, an .rst file.

    `subject` (figures.style.Subject) tells the problem, and of each policy its label, look and kind.
    """

    name: str
    label: str
    module: str
    inputs: tuple[str, ...]  # files below results/<scenario>/; {student}: a file for each student that is fitted
    sources: tuple[str, ...] = ()  # the only sources of jobs that have it; empty: all
    measure: str = ""  # "module:function" that reads a trace, once for all figures that name it (`draw_trace`)
    plot: Plot | None = None
    objective: str = ""  # the only objective that has it; empty: all

    @property
    def shows_trace(self) -> bool:
        """Whether it is drawn of any trace: the module has `draw_trace(measured)` and may have `applies(measured)`."""
        return bool(self.measure)
