"""The seam: what every scheduling problem gives, and all that search, teacher, log, students and figures know of it.

A problem asks its policy *choices*. A choice offers candidates, described by named features with units; the policy
scores them; the best is taken. A decision is one `rank` choice (which of the candidates, or none of them) and, where
the problem has one, a `level` choice after it (how much the chosen candidate gets, a share of all there is).

What a problem declares as data is `problems.declarations`; here is what it does, and what its episodes and decisions
are to the rest. Both are light: no numba, no torch, no file is read. `docs/new-problem.md` builds a problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.problems.declarations import (
    Choice,
    EdgeCase,
    Family,
    Figure,
    Gauge,
    Heuristic,
    Measure,
    Published,
    Source,
    rank_choice,
)
from clearsched.registry import Registry

if TYPE_CHECKING:
    import pyarrow as pa

    from clearsched.compiled.guard import Record
    from clearsched.section import Section

NONE = -1
"""In place of a candidate: none of these."""

SPLITS = ("train", "validation", "test")
"""Test episodes are for evaluation alone."""

Episode: TypeAlias = Any
"""One episode to schedule, drawn and closed to all but its problem."""

Compiled: TypeAlias = Any
"""A policy that runs inside the problem's compiled loop."""


def too_few_episodes(path: Path | None, split: str, asked: int, held: int) -> ClearschedError:
    """What to raise where a split of the workloads, in the file `path` if they come from one, is too small."""
    where, count = f"{path}: " if path else "", f"{asked} {split} episode{'s' * (asked != 1)}"
    told = f"{count} asked for, the workloads hold {held}"
    return ClearschedError(f"{where}{told}: draw more (workload.episodes.{split})")


class Answers(NamedTuple):
    """One answer to each of B pending decisions."""

    candidate: np.ndarray  # int64[B]: position among the decision's candidates, or NONE
    level: np.ndarray  # int64[B]: answer of the level choice; 0 where there is none


class Timeline(NamedTuple):
    """Who worked for whom in an episode, and when: n spans, what a Gantt chart is drawn of."""

    row: str  # what a row of the chart is: "executor"
    rows: int
    whose: str  # what a span belongs to, by the number that `Observation.candidate_group` has: "job"
    place: np.ndarray  # int64[n]: row of each span
    group: np.ndarray  # int64[n]: whose it is
    start_s: np.ndarray  # float64[n]
    end_s: np.ndarray  # float64[n]
    waits: np.ndarray  # bool[n]: nothing is done for it then
    arrival_s: np.ndarray  # float64[G]: when each group came
    completion_s: np.ndarray  # float64[G]: and when it was complete
    note: str = ""  # what a reader must know of the picture


class Observation(Protocol):
    """B pending decisions with c candidates in all, each decision's after another's.

    A problem adds what its own network reads. Arrays last until the next `Lockstep.observe`.
    """

    @property
    def num_decisions(self) -> int:
        """B."""

    @property
    def candidates(self) -> np.ndarray:
        """float32[c, F]: the features of the rank choice."""

    @property
    def candidate_start(self) -> np.ndarray:
        """int64[B + 1]: decision b has the rows candidate_start[b] to candidate_start[b + 1]."""

    @property
    def candidate_id(self) -> np.ndarray:
        """int64[c]: what the log calls the candidate: a number that means the same all through its episode."""

    @property
    def candidate_group(self) -> np.ndarray:
        """int64[c]: candidates of one group are near ties: stages of one job."""

    @property
    def none_allowed(self) -> np.ndarray:
        """bool[B]: whether "none of these" is an answer that a learned policy may give now."""

    @property
    def levels(self) -> np.ndarray:
        """int64[c, 2]: the first and the last level that the level choice may answer; [c, 0] where there is none."""

    def take(self, rows: np.ndarray) -> Observation:
        """The decisions of the given rows, int64, in their order, in arrays of their own."""

    def and_more(self, others: Sequence[Any]) -> Observation:
        """These decisions and, after them, those of others of the same kind, in arrays of their own."""

    def backlog(self) -> np.ndarray:
        """float64[B, K]: what is waiting, in K numbers: a policy gradient does not blame a choice for it."""


class Outcome(Protocol):
    """What came of an episode."""

    @property
    def measures(self) -> Mapping[str, float]:
        """Each of the problem's measures by name."""

    @property
    def by_job(self) -> Mapping[str, np.ndarray]:
        """float64[J] by the name of a measure: what it is of each job, where the measure is the mean over them."""

    @property
    def num_decisions(self) -> int:
        """Answers of the policy, `none` included."""

    @property
    def guard(self) -> Record | None:
        """What the policy's guard saw, if it has one; a problem without gauges need not have this."""

    @property
    def scale_s(self) -> float:
        """How long a job stays, s: the unit of the horizon over which a choice is judged."""

    @property
    def end_s(self) -> float:
        """Simulated time at which the last job ended, s."""

    @property
    def cleared_s(self) -> float:
        """When the jobs that were there at once at the beginning were cleared away, s; 0 where there was no crowd.

        A problem without such episodes need not have this.
        """

    def cost_to_go(self, times_s: np.ndarray, horizon_s: float) -> np.ndarray:
        """float64[T]: what the instance's objective loses from each time on, as a negative number.

        Discounted by exp(-(s - t) / horizon_s), unless the objective is told by the end of the episode alone.
        """


class Lockstep(Protocol):
    """K episodes that take their decisions together."""

    @property
    def pending(self) -> np.ndarray:
        """int64[B]: the lanes that wait for an answer, in increasing order."""

    @property
    def episode(self) -> np.ndarray:
        """int64[K]: number of the episode that each lane runs."""

    @property
    def time_s(self) -> np.ndarray:
        """float64[B]: simulated time of each pending decision."""

    def advance(self) -> int:
        """Run each lane to its next decision with a candidate; how many wait; 0 when all episodes are over."""

    def observe(self) -> Any:
        """The pending decisions: an `Observation`."""

    def ask(self, policy: Compiled) -> Answers:
        """What a compiled policy answers; levels are not cut to what is free at this moment."""

    def gauges(self) -> np.ndarray:
        """float64[B, G]: the problem's gauges at each pending decision; a problem without need not have this."""

    def ask_at(self, places: np.ndarray, policy: Compiled) -> Answers:
        """As `ask`, of W pending decisions alone; a problem without gauges need not have this.

        `places`: int64[W], positions in `pending`.
        """

    def answer(self, answers: Answers, *, by_heuristic: bool = False) -> None:
        """Answer all pending decisions.

        `by_heuristic`: some answers may be a heuristic's, whose "none of these" is taken wherever it does not stop the
        simulator; a learned policy's is where `Observation.none_allowed` says so.

        Raises:
            ActionError: an answer is not allowed; nothing has happened.
        """

    def results(self) -> Sequence[Any]:
        """The `Outcome` of each episode that has ended, in the order of the episodes."""


class Instance(Protocol):
    """A problem with its data: episodes, and the simulator that runs them."""

    @property
    def problem(self) -> Problem: ...
    @property
    def objective(self) -> Measure:
        """What policies are made for and compared by: the one of the problem's objectives that params chose."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the log and the tables say of it, JSON values: {"num_executors": 10}."""

    @property
    def most(self) -> int:
        """The largest level that the level choice can answer: the whole that its shares are of; 0 without one."""

    def split(self, name: str, limit: int | None = None) -> list[Episode]:
        """The episodes of a split, or the first `limit` of them."""

    @property
    def none(self) -> bool:
        """Whether "none of these" is an answer to the rank choice in these episodes."""

    @property
    def help_first(self) -> bool:
        """Whether policies that are made here mean "help first" by "none of these" (`Choice.helps`).

        A problem without that meaning need have neither this nor `helping`.
        """

    def helping(self, episodes: Sequence[Episode]) -> list[Episode]:
        """The same episodes, for a policy that means it: whom it leaves idle helps its own first."""

    def simulate(self, policy: Compiled, episodes: Sequence[Episode], *, record: bool = False) -> list[Any]:
        """Run a compiled policy: an `Outcome` an episode, the same whatever other episodes are given.

        Where the problem has gauges, also a `compiled.guard.Guarded`, and outcomes tell what the guard saw.
        """

    def lockstep(self, episodes: Sequence[Episode], width: int | None = None, *, record: bool = False) -> Lockstep:
        """At most `width` episodes at a time, all of them without it; `record`: outcomes tell what `details` need."""

    def seed(self, episode: Episode) -> int:
        """What names the random stream of a policy that draws its choices."""

    def joined(self, episodes: Sequence[Episode], count: int) -> list[Episode]:
        """Each `count` episodes after one another as one that is so many times as long, for what single ones hide.

        The episodes as they are where joining them would make another kind of episode. All are used.
        """

    def parted(self, episodes: Sequence[Episode]) -> list[Episode]:
        """Long episodes as several short ones each, for a first look at many policies: the plainly worse show there.

        The episodes as they are where parting them would make another kind of episode, or where they are short.
        """

    @property
    def stress_share(self) -> float:
        """The share of its stress that `stressed` makes, in (0, 1]: what passes less than all is not fit to deploy."""

    @property
    def safety_bound(self) -> float | None:
        """So many times what the baseline takes a policy may take; None: as many as the safety check allows."""

    @property
    def hard_bound(self) -> float | None:
        """The same on episodes on which luck decides (`is_hard`)."""

    @property
    def safety_cases(self) -> Sequence[str]:
        """Edge cases that `stressed` has besides, by name; none unless the params ask for them."""

    @property
    def rules(self) -> Sequence[str]:
        """The params, by name, that change the rules of the game in a way that a policy may lean on; none by default.

        Who was judged by them was not judged where they do not hold, and a policy's file tells them.
        """

    def stressed(self, episodes: Sequence[Episode]) -> list[Episode]:
        """Episodes made of the jobs of others for what short ones hide: long, with more load, with a backlog to clear.

        A policy that is chosen must not stray from the baseline on any of them. May be empty.
        """

    def redrawn(self, episodes: Sequence[Episode], count: int, seed: int) -> list[Episode]:
        """`count` further episodes like these, of their jobs, for what is so rare that these need not show it.

        The same for the same episodes and seed. May be empty.
        """

    def redrawn_of_all(self, episodes: Sequence[Episode], count: int, seed: int) -> list[Episode]:
        """`count` of them or a few more, in equal parts: like these, and of each kind of short ones in `stressed`."""

    def is_hard(self, episode: Episode) -> bool:
        """Whether luck decides how near a policy is to the baseline in an episode, so that more is allowed there."""

    def is_batch(self, episode: Episode) -> bool:
        """Whether all jobs are there from the start, so that the last one to end tells who was served first alone."""

    def due_s(self, episode: Episode) -> float:
        """When the last of the jobs' deadlines is, s since the episode began; 0: they have none."""

    def describe(self, split: str, episodes: Sequence[Episode]) -> str:
        """For example "64 test episodes of 40 jobs on 10 executors"."""

    def bounds(self, episode: Episode) -> Mapping[str, float]:
        """What no policy can do better than in an episode, by the name of the measure: a proved bound, or no entry.

        The episode's jobs and luck are known to it, so that it holds for every policy, one that sees ahead included.
        """

    def details(self, runs: Sequence[Any], episodes: Sequence[Episode]) -> Mapping[str, tuple[pa.Table, pa.Schema]]:
        """The problem's own result tables of an evaluation, by name (`Problem.details`); `runs`: evaluation.Rollout."""

    def timeline(self, outcome: Any, episode: Episode) -> Timeline:
        """Who worked for whom in an episode that was recorded; a problem without such a picture need not have this."""


class Problem(Protocol):
    """A scheduling problem: a folder below clearsched/problems and a line in `PROBLEMS`."""

    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def summary(self) -> str:
        """What is scheduled, in a sentence."""

    @property
    def sections(self) -> Mapping[str, type[Section]]:
        """Its own sections of params: traces, workload, heuristics."""

    @property
    def overrides(self) -> Mapping[str, Any]:
        """Other defaults of the sections that all problems have, as in params.yaml."""

    @property
    def choices(self) -> tuple[Choice, ...]:
        """One rank choice and at most one level choice after it."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The first is the objective unless params choose another (`objectives`)."""

    @property
    def heuristics(self) -> Registry[Heuristic]: ...
    @property
    def yardsticks(self) -> tuple[str, ...]:
        """Heuristics that learned policies are held against in words, beside the best one."""

    @property
    def baseline(self) -> str:
        """The heuristic to which all others are put in proportion where several data sets stand side by side."""

    @property
    def families(self) -> Registry[Family]:
        """Families of its own, searched beside those that any problem gets from its features (`search.families`)."""

    @property
    def sources(self) -> Registry[Source]: ...
    @property
    def default_source(self) -> str:
        """The source whose results need no name of their own."""

    @property
    def figures(self) -> Registry[Figure]: ...
    @property
    def edge_cases(self) -> Registry[EdgeCase]:
        """What its policies are tried on beside the episodes that they are made for (`edge_cases`); may be empty."""

    @property
    def published(self) -> Registry[Published]:
        """Networks that others published for its decisions (`teacher.source`); may be empty."""

    @property
    def gauges(self) -> tuple[Gauge, ...]:
        """What a guard of a policy may watch; empty: its policies have no guard."""

    @property
    def details(self) -> tuple[str, ...]:
        """Names of its own tables that an evaluation writes."""

    def files(self, traces: Any) -> list[Path]:
        """The files that the source of its section `traces` reads, as far as they are here.

        Raises:
            ClearschedError: one that the user named is not there.
        """

    def build(self, params: Any, out: Path) -> list[tuple[str, str]]:
        """Read the source, write the trace; what was read and what was left out, in lines (what, how much)."""

    def draw(self, params: Any, trace: Path, out: Path) -> None:
        """Draw the episodes of every split and write them."""

    def open(self, trace: Path, workloads: Path) -> Instance:
        """The instance of a trace and its episodes."""

    def compile(self, rank: Any, level: Any) -> Compiled:
        """A policy that runs in the loop, of the packed scorers (`compiled.scoring.Packed`) of its choices."""

    def compile_heuristic(self, name: str, parameters: Sequence[float]) -> Compiled:
        """A heuristic that runs in the loop."""

    def network(self, sizes: Mapping[str, Any], none: bool) -> Any:
        """A network for its decisions (`teacher.network.Network`); `none`: it scores "none of these" too."""


def means_help(instance: Instance) -> bool:
    """Whether policies that are made here mean "help first" by "none of these"."""
    return bool(rank_choice(instance.problem.choices).helps) and instance.help_first


def as_made(instance: Instance, episodes: Sequence[Episode]) -> list[Episode]:
    """Episodes for policies in the making, which mean by "none of these" what `means_help` says."""
    return instance.helping(episodes) if means_help(instance) else list(episodes)


def told_measures(problem: Problem, objective: Measure) -> list[Measure]:
    """The measures that a comparison has rows of: the objective first, those compared, those told beside it."""
    others = [measure for measure in problem.measures if measure != objective]
    return [objective, *(m for m in others if m.compared), *(m for m in others if m.beside and not m.compared)]


def level_of(share: float, first: int, last: int, *, up: bool = False) -> int:
    """The level that a share of `last` means: rounded, or rounded up, from `first` to `last`."""
    wanted = min(max(share, 0.0), 1.0) * last
    return max(first, int(np.ceil(wanted - 1e-9) if up else np.floor(wanted + 0.5)))


def objectives(problem: Problem) -> tuple[Measure, ...]:
    """The measures that policies may be trained, tuned and compared by; the first is the default."""
    first, *others = problem.measures
    return (first, *(measure for measure in others if measure.objective))


def find_objective(problem: Problem, name: object, where: object) -> Measure:
    """The objective of a name that a file tells.

    Raises:
        ClearschedError: the problem has no such objective.
    """
    for measure in objectives(problem):
        if measure.name == name:
            return measure
    known = ", ".join(measure.name for measure in objectives(problem))
    raise ClearschedError(f"{where}: {name!r} is no objective of {problem.name} ({known}); build it again")
