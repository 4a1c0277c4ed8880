"""The seam: what every scheduling problem gives, and all that search, teacher, log, students and figures know of it.

A problem asks its policy *choices*. A choice offers candidates, described by named features with units; the policy
scores them; the best is taken.

What a problem declares as data is `problems.declarations`, what its episodes and decisions are to the rest
`problems.episodes`; here is what it does. All three are light: no numba, no torch, no file is read.
`docs/new-problem.md` builds a problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

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
from clearsched.problems.episodes import Compiled, Episode, Lockstep, Timeline
from clearsched.registry import Registry

if TYPE_CHECKING:
    import pyarrow as pa

    from clearsched.section import Section


SPLITS = ("train", "validation", "test")
"""Test episodes are for evaluation alone."""


def too_few_episodes(path: Path | None, split: str, asked: int, held: int) -> ClearschedError:
    """What to raise where a split of the workloads, in the file `path` if they come from one, is too small."""
    where, count = f"{path}: " if path else "", f"{asked} {split} episode{'s' * (asked != 1)}"
    told = f"{count} asked for, the workloads hold {held}"
    return ClearschedError(f"{where}{told}: draw more (workload.episodes.{split})")


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
