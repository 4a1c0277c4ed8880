"""Whom no mean excuses: a policy that does far worse than a plain heuristic on a single episode.

A mean over some episodes hides a policy that locks the cluster once in 300 streams: executors wait in jobs that cannot
use them, and one episode takes twenty times as long as it should. So what a search, a fit or a refinement chooses is
run on every training episode and under stress (`Instance.stressed`), and refused where it strays on one of them: by its
cost, by the time to the last job, by the time to clear a backlog, or by a measure that has a limit (`Measure.limit`),
such as how long executors waited beside work. A lock that lasts minutes of a stream of hours shows in the latter alone.

More is allowed on episodes on which luck decides (`Instance.is_hard`): there no policy is near to the baseline on each;
and until the last job of a batch ends (`Instance.is_batch`): who serves short jobs first pays for the mean by it. Where
jobs have deadlines (`Instance.due_s`), the time to the last job is held against the last of them, if that is later.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from clearsched.problems import find_problem
from clearsched.problems.episodes import Episode
from clearsched.problems.policy import Policy, heuristic
from clearsched.problems.problem import Instance
from clearsched.problems.programs import rounded
from clearsched.search.trials import CLEARED, COST, END, SCALE, WATCHED, Trials, trials

NEAR = 1.2
"""So many times what the baseline takes, on any episode that is not hard, a policy may take.

Its cost, and the times to the last job, but for batches, and until a backlog is cleared. A scenario may allow less
(`workload.safety_bound`).
"""

LIMIT = 1.5
"""So many times on any episode at all, and until the last job of a batch ends.

On episodes that are hard a scenario may allow less (`workload.giant_bound`).
"""

TOLD = {
    "worst": "on its worst episode it takes {:.2f} times {}'s",
    "end": "on an episode its last job ends after {:.2f} times {}'s time",
    "cleared": "on an episode a backlog is cleared after {:.2f} times {}'s time",
    "of_limit": "on an episode a measure is {:.2f} times its limit",
    "hard": "on an episode of the hardest kind it takes {:.2f} times {}'s",
    "batch_end": "the last job of a batch ends after {:.2f} times {}'s time",
}
"""What is told of each number of a verdict that is beyond its bound; the second gap is the baseline."""

PART = 16
"""Episodes that are run before the next ones are: who strays on short ones may take for ever on long ones."""


class Verdict(NamedTuple):
    """How a policy did next to the baseline on its worst episode."""

    worst: float  # times the baseline's cost, on episodes that are not hard; so `end` and `cleared`
    episodes: int  # of which that is the worst: none is run after one on which it strays
    of_limit: float = 0.0  # the largest of the measures with a limit: over it, and over the baseline's `scale_s`
    end: float = 0.0  # times the baseline's time to the last job, or the last deadline, on episodes that are no batch
    cleared: float = 0.0  # times the baseline's time to clear a backlog, where an episode begins with one
    hard: float = 0.0  # the most of these three on an episode that is hard
    batch_end: float = 0.0  # times the baseline's time to the last job, on batches that are not hard
    safety_bound: float | None = None  # of `worst`, `end` and `cleared`, where less than `NEAR` is allowed
    hard_bound: float | None = None  # of `hard`, where less than `LIMIT` is allowed

    @property
    def near(self) -> float:
        """So many times what the baseline takes was allowed on episodes that are not hard."""
        return NEAR if self.safety_bound is None else min(NEAR, self.safety_bound)

    @property
    def limit(self) -> float:
        """So many times what the baseline takes was allowed on episodes that are hard."""
        return LIMIT if self.hard_bound is None else min(LIMIT, self.hard_bound)

    @property
    def bounds(self) -> dict[str, float]:
        """The most that each number may come to, in the order in which they are told."""
        return dict.fromkeys(TOLD, self.near) | {"of_limit": 1.0, "hard": self.limit, "batch_end": LIMIT}

    @property
    def beyond(self) -> list[str]:
        """The names of its numbers that are beyond their bounds."""
        return [name for name, bound in self.bounds.items() if not getattr(self, name) <= bound]

    @property
    def strays(self) -> bool:
        """Whether it must not be used."""
        return bool(self.beyond)

    @property
    def excess(self) -> float:
        """How far beyond its bounds it is, as shares of them, summed; 0 where it does not stray."""
        return sum(max(0.0, getattr(self, name) / bound - 1) for name, bound in self.bounds.items())

    def __str__(self) -> str:
        """For example "on its worst episode it takes 18.84 times the baseline's"."""
        return self.told((*self.beyond, "worst")[0])

    def told(self, name: str, baseline: str = "the baseline") -> str:
        """One of its numbers in words."""
        return TOLD[name].format(getattr(self, name), baseline)

    @property
    def allowed(self) -> str:
        """What is told where a policy is refused: what would have been safe."""
        hard, batch = "on an episode of the hardest kind", "until the last job of a batch ends"
        more = f"{LIMIT:g} {hard}, and {batch}" if self.limit == LIMIT else f"{self.limit:g} {hard}, {LIMIT:g} {batch}"
        return f"at most {self.near:g} times its cost and times ({more}), and no measure above its limit, are safe"

    def with_more(self, other: Verdict) -> Verdict:
        """On the episodes of both."""
        return Verdict(
            max(self.worst, other.worst),
            self.episodes + other.episodes,
            max(self.of_limit, other.of_limit),
            max(self.end, other.end),
            max(self.cleared, other.cleared),
            max(self.hard, other.hard),
            max(self.batch_end, other.batch_end),
            self.safety_bound,
            self.hard_bound,
        )


class Chosen(NamedTuple):
    """Which of several policies may be used."""

    place: int  # of the first that does not stray, or what was told instead
    verdicts: list[Verdict]  # on the policies in turn, up to the first that does not stray

    @property
    def verdict(self) -> Verdict:
        """On the one that was chosen."""
        return self.verdicts[self.place]

    @property
    def refused(self) -> list[Verdict]:
        """On those that stray."""
        return [verdict for verdict in self.verdicts if verdict.strays]


def first_safe(verdict: Callable[[Policy], Verdict], policies: Sequence[Policy], otherwise: int = 0) -> Chosen:
    """The first policy that does not stray, or the one at `otherwise` where all do; `verdict`: of a check."""
    verdicts = _up_to_safe(verdict, policies)
    return Chosen(otherwise if verdicts[-1].strays else len(verdicts) - 1, verdicts)


def judge(runs: Trials, policies: Iterable[Policy], baseline: Policy, episodes: Sequence[Episode]) -> list[Verdict]:
    """The verdicts on the policies in turn, up to the first that does not stray; `episodes`: short ones first."""
    return _up_to_safe(Check(runs, baseline, episodes).verdict, policies)


def judge_whole(
    instance: Instance, policies: Iterable[Policy], threads: int | None = None, rare: Sequence[Episode] = ()
) -> list[Verdict]:
    """`judge` next to the problem's baseline, on the validation and training episodes, `rare` ones and under stress."""
    train = instance.split("train")
    episodes = [*instance.split("validation"), *train, *rare, *instance.stressed(train)]
    with trials(instance, instance.objective, threads) as runs:
        return judge(runs, policies, heuristic(instance.problem, instance.problem.baseline), episodes)


def _up_to_safe(verdict: Callable[[Policy], Verdict], policies: Iterable[Policy]) -> list[Verdict]:
    found: list[Verdict] = []
    for policy in policies:
        found.append(verdict(policy))
        if not found[-1].strays:
            break
    return found


class Runs(Protocol):
    """What runs policies for a check: `Trials`, or what does for policies outside the compiled loop."""

    instance: Instance

    def outcomes(self, policies: Sequence[Policy], episodes: Sequence[Episode]) -> np.ndarray:
        """float64[ROWS, policies, episodes]: as `Trials.outcomes`."""


class Check:
    """Policies next to a baseline, episode by episode; what the baseline came to is kept."""

    def __init__(self, runs: Runs, baseline: Policy, episodes: Sequence[Episode], part: int = PART) -> None:
        """Prepare a check on these episodes, short ones first, so many of them at a time."""
        self._runs, self._baseline, self._part = runs, baseline, part
        self._parts = [episodes[begin : begin + part] for begin in range(0, len(episodes), part)]
        self._theirs: list[tuple[np.ndarray, Leeway]] = []  # of each part: its table, and where more is allowed

    def verdict(self, policy: Policy) -> Verdict:
        """On all episodes, or up to the part in which it strays."""
        return self.verdicts([policy])[0]

    def verdicts(self, policies: Sequence[Policy]) -> list[Verdict]:
        """Of each policy: on all episodes, or up to the part in which it strays."""
        instance = self._runs.instance
        start = Verdict(0.0, 0, safety_bound=instance.safety_bound, hard_bound=instance.hard_bound)
        found = [start] * len(policies)
        for place, part in enumerate(self._parts):
            left = [number for number, verdict in enumerate(found) if not verdict.strays]
            if not left:
                break
            tables = self._runs.outcomes([policies[number] for number in left], part)
            for column, number in enumerate(left):
                more = verdict_of(tables[:, column], *self._theirs_on(place))
                found[number] = found[number].with_more(more)
        return found

    def strayed(self, policy: Policy) -> list[int]:
        """The places of the episodes on which it strays, of the first part in which it does; none: it is safe."""
        return next((strayed for strayed in self._strayed(policy) if strayed), [])

    def strayed_of_all(self, policy: Policy) -> list[int]:
        """The places of all episodes on which it strays."""
        return [place for part in self._strayed(policy) for place in part]

    def is_safe(self, policy: Policy) -> bool:
        """Whether it does not stray."""
        return not self.verdict(policy).strays

    def _strayed(self, policy: Policy) -> Iterator[list[int]]:
        """Of each part in turn: the places of the episodes on which it strays."""
        for place, part in enumerate(self._parts):
            own, (theirs, leeway) = self._runs.outcomes([policy], part)[:, 0], self._theirs_on(place)
            each = np.split(np.arange(own.shape[1]), own.shape[1])
            alone = [verdict_of(own[:, i], theirs[:, i], leeway.on(i)) for i in each]
            yield [place * self._part + i for i, verdict in enumerate(alone) if verdict.strays]

    def _theirs_on(self, place: int) -> tuple[np.ndarray, Leeway]:
        """Of a part, after all those before it: what the baseline comes to, which is run once, and the leeway."""
        if place == len(self._theirs):
            part = self._parts[place]
            theirs = self._runs.outcomes([self._baseline], part)[:, 0]
            self._theirs.append((theirs, leeway_on(self._runs.instance, part)))
        return self._theirs[place]


class Leeway(NamedTuple):
    """On which of some episodes more is allowed, and of what; and what is allowed elsewhere."""

    hard: np.ndarray  # bool[episodes]: of all
    batch: np.ndarray  # bool[episodes]: until the last job ends
    due_s: np.ndarray  # float64[episodes]: s; until then the last job may end in any case, and be late from there on
    safety_bound: float | None = None  # None: `NEAR`
    hard_bound: float | None = None  # None: `LIMIT`

    def on(self, places: np.ndarray) -> Leeway:
        """That on some of the episodes."""
        return self._replace(hard=self.hard[places], batch=self.batch[places], due_s=self.due_s[places])


def leeway_on(instance: Instance, episodes: Sequence[Episode]) -> Leeway:
    """Where it is given among these."""
    hard, batch = (np.array(list(map(told, episodes)), bool) for told in (instance.is_hard, instance.is_batch))
    due_s = np.array(list(map(instance.due_s, episodes)), float)
    return Leeway(hard, batch, due_s, instance.safety_bound, instance.hard_bound)


def verdict_of(own: np.ndarray, baseline: np.ndarray, leeway: Leeway) -> Verdict:
    """Of what `trials.table_of` tells of a policy and of the baseline, float64[ROWS, episodes] each."""
    hard, theirs = leeway.hard, baseline.copy()
    theirs[END] = np.maximum(baseline[END], leeway.due_s)
    other, batch, stream = ~hard, ~hard & leeway.batch, ~hard & ~leeway.batch
    return Verdict(
        worst_ratio(own[COST, other], theirs[COST, other]),
        own.shape[1],
        worst_ratio(own[WATCHED], theirs[SCALE]),
        worst_ratio(own[END, stream], theirs[END, stream]),
        worst_ratio(own[CLEARED, other], theirs[CLEARED, other]),
        max(worst_ratio(own[row, hard], theirs[row, hard]) for row in (COST, END, CLEARED)),
        worst_ratio(own[END, batch], theirs[END, batch]),
        leeway.safety_bound,
        leeway.hard_bound,
    )


def worst_ratio(own: np.ndarray, baseline: np.ndarray) -> float:
    """The largest ratio of two tables of costs; infinite where one's own is no number.

    Where the baseline costs nothing, or less (a measure of which more is better), a ratio says nothing.
    """
    if not np.isfinite(own).all():
        return float("inf")
    told = baseline > 0
    return float((own[told] / baseline[told]).max(initial=0.0))


def in_words(chosen: Chosen, otherwise: str) -> list[str]:
    """A line for each that was refused, and one where all were; `otherwise`: what is kept then."""
    lines = [f"refused: {verdict}" for verdict in chosen.refused]
    if chosen.verdict.strays:
        lines.append(f"none is safe: {otherwise} is kept; do not deploy it")
    return lines


def verdict_in(evidence: Mapping[str, Any]) -> Verdict:
    """What a policy's file tells of it; nothing that is against it where it was never judged."""
    stress = evidence.get("stress", {})
    told = {name: stress[name] for name in Verdict._fields if name in stress}
    verdict = Verdict(**{"worst": 0, "episodes": 0} | told)
    most = max(verdict.worst, verdict.end, verdict.cleared)
    if "hard" in stress or most > LIMIT:
        return verdict
    return verdict._replace(worst=0, end=0, cleared=0, hard=most)  # from before any were hard: each may have been


def told_safe(evidence: Mapping[str, Any]) -> bool:
    """Whether a policy's file tells of nothing that it must not be used for; so one that was never judged."""
    return not verdict_in(evidence).strays


def warnings_of(name: str, evidence: Mapping[str, Any], rules: Collection[str] = ()) -> list[str]:
    """Lines for who is about to use a policy that its file tells is not safe, was judged by less, or by other rules.

    Args:
        name: what the policy is called.
        evidence: its file.
        rules: of the game where it is to be used (`Instance.rules`); none unless told, as on a real cluster.
    """
    verdict, stress = verdict_in(evidence), evidence.get("stress", {})
    if verdict.strays:
        return [f"{name} is not safe: {verdict}; do not deploy it (docs/students.md)"]
    told = []
    if stress and "hard" not in stress:
        told.append(f"{name} passed an older safety check, which asked less: fit or search it anew (docs/students.md)")
    missing = sorted({*stress.get("rules", ())} - {*rules})
    if missing:
        told.append(
            f"{name} was judged with {' and '.join(missing)}, and is safe there; without, nobody knows: fit or search "
            "it anew by the rules that hold where it is to schedule (docs/students.md)"
        )
    return told


def warn(name: str, evidence: Mapping[str, Any], problem: str, trace: Path, workloads: Path) -> None:
    """`warnings_of` on stderr, for who uses a policy on these workloads; they are opened only where that counts."""
    leans = "rules" in evidence.get("stress", {})
    rules = find_problem(problem).open(trace, workloads).rules if leans else ()
    for line in warnings_of(name, evidence, rules):
        print(f"clearsched: warning: {line}", file=sys.stderr)


def evidence(verdict: Verdict, baseline: Policy, instance: Instance) -> dict[str, Any]:
    """What a policy's file tells of it; `instance`: where it was judged, by what stress and by which rules."""
    part: dict[str, Any] = {"share": instance.stress_share} if instance.stress_share < 1 else {}
    if instance.safety_cases:
        part["cases"] = list(instance.safety_cases)
    if instance.rules:
        part["rules"] = list(instance.rules)
    bounds = {"safety_bound": verdict.safety_bound, "hard_bound": verdict.hard_bound}
    part |= {name: bound for name, bound in bounds.items() if bound is not None}
    return {
        "stress": {
            "heuristic": baseline.name,
            "episodes": verdict.episodes,
            "worst": rounded(verdict.worst, 4),
            "of_limit": rounded(verdict.of_limit, 4),
            "end": rounded(verdict.end, 4),
            "cleared": rounded(verdict.cleared, 4),
            "hard": rounded(verdict.hard, 4),
            "batch_end": rounded(verdict.batch_end, 4),
            **part,
        }
    }
