"""Stay and move: the strongest readable rule known for DAG jobs, its numbers left open; with a share, or a reserve, or
without staying.

Found by this project. A freed executor stays in its job while the job holds less than one cap; else it moves to the
smallest job that holds less than another cap and has enough work to be worth the move; else it stays where it is, or
idles, or the smallest job takes it. Smallest first is SRPT: L. Schrage, A proof of the optimality of the shortest
remaining processing time discipline, Operations Research 16, 1968.

A cap is one executor at least, so that a job with a stage to run never gives up the last one it has. That costs much
where tasks take long next to a move: there a rule without staying is better, capped SRPT with more numbers to search.

Where a few jobs are most of the work, SRPT leaves these for last, and a backlog is cleared long after fair would have
cleared it. A minimum share, as queues have in schedulers of data centres, ends that: who holds less than so much of an
equal share goes before all others.

Or executors are reserved for small jobs, as Hawk reserves servers for short ones (P. Delgado and others, Hawk: Hybrid
Datacenter Scheduling, USENIX ATC 2015, §3.4): a stage of a large job keeps its executors until its last task has begun,
and who took all that were idle makes every job that comes wait for hours. Here no servers are set aside: a large job
takes a part of those that are to be decided on, the less the fewer there are; or, where it holds many already, of
these and those together, since what it came to when the cluster was busy is no measure of what it may hold later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clearsched.problems.programs import Ground, Number, Program, rounded

Step = dict[str, Any]
"""A step of a formula, as its JSON has it (docs/formulae.md)."""

Reserves = Sequence[tuple[str, Mapping[str, float]]]
"""When a large job has which cap: a condition, "" for any, and the cap; the first that fits counts."""

SHARES = (
    {"jobs_in_system": -1},
    {"job_share_20": 1},
    {"job_share_40": 1},
    {"job_share_60": 1},
    {"job_share_80": 1},
    {"job_work_share": 1},
)
"""The share of a job that counts with its work left to the power 0, 0.2, ..., 1."""

POWER = 0.2
"""From one of them to the next. What lies between is a product of two of them."""

HELD, FREE = "job_executor_share", "executors_to_decide"
NEEDS, STAYS, MOVES, REMAINS, LAST = 4000.0, 3000.0, 2000.0, 1000.0, 500.0
"""Values of the steps: so far apart that orders within a step cannot lift a job out of it."""

WORTH = 0.1
"""Seconds of work for an executor below which any job is worth the move."""

NUMBERS = (
    Number("p", 0.55, 0.2, 0.0, 1.0, 0.05),
    Number("log_m", 0.9, 0.6, -2.0, 4.0),
    Number("q", 0.25, 0.2, 0.0, 1.0, 0.05),
    Number("log_k", 0.7, 0.6, -2.0, 4.0),
    Number("log_c", 0.9, 1.0, float(np.log(WORTH)) - 0.5, 4.0),
    Number("remains", 0.6, 0.5, 0.0, 1.0, 1.0),  # 1: where no job is below its cap, an executor stays in its own
    Number("idles", 0.5, 0.5, 0.0, 1.0, 1.0),  # 1: else it idles; 0: the smallest job takes it
    Number("ready", 2.0, 1.0, 0.0, 10.0),  # smaller jobs that a job goes before if its next stage can start at once
    Number("log_age", -6.0, 1.5, -8.0, -1.0),  # the same for each second of age
    Number("near", 0.0, 0.06, -0.4, 0.4, 0.02),  # power by which the first cap falls with `job_work_to_smallest`
    Number("many", 0.0, 0.06, -0.4, 0.4, 0.02),  # the same with `job_tasks_left`
)
"""They begin in the middle of what measured well: a search that begins elsewhere ends elsewhere (docs/search.md)."""

DISCOUNTS = {"near": "job_work_to_smallest", "many": "job_tasks_left"}
"""The features of those powers. They are taken relative to a typical value, so that the cap's other numbers keep their
meaning."""

STAGES = {"stage_rank": -0.001}
"""The order of a job's stages."""

SHARE = Number("share", 0.9, 0.05, 0.85, 1.2, 0.05)
"""The least that a job is due, next to an equal share.

Who always holds so much of what fair gives it ends after 1 / share of fair's time, as far as its work can be spread;
the safety check allows 1.2 times (`search.safety.NEAR`).
"""

BEGIN = {"p": 0.4, "log_m": -0.5, "q": 0.4, "log_k": 0.6, "log_c": 1.2, "idles": 1.0, "ready": 1.4, "log_age": -8.0}
"""Where the other numbers begin with a minimum share: below it nobody needs a cap, above it some executors are best
kept for the jobs that come (docs/alibaba.md)."""

MOVING = {"p": 0.3, "log_m": 0.7, "ready": 0.0, "log_age": -8.0}
"""Where they begin without staying: at capped SRPT. Who prefers stages that are ready is an eighth worse there."""

RESERVED = BEGIN | {"p": 0.2, "log_m": -0.1, "q": 0.8, "log_k": 0.35, "log_c": 2.45}
"""Where they begin with a reserve: parts that are nearly equal, so that the largest jobs are not left for last."""

RESERVE = (
    Number("log_large", 0.25, 0.5, -3.0, 4.0),  # work left from which a job is large, next to the sample's mean
    Number("part", 0.95, 0.05, 0.5, 1.0, 0.05),  # share of the cluster that a large job may hold if all is idle
    Number("power", 1.5, 0.5, 0.0, 3.0, 0.25),  # by which it falls with the executors that are to be decided on
)
"""What a large job leaves to others."""

MANY_HELD = 0.2
"""Share of the cluster from which on a large job's part is one of what it holds and what is to be decided on.

Of both together, h + k: as 2 sqrt(h k), which is close to it where they are of one size, since a cap is a product of
features. From a fifth on that is never less than k, as h + k is the cluster at most.
"""

LARGE = "job_work_left_s"
"""By what a job is large. By its stage's tasks, or their length, was tried and is worse (docs/alibaba.md)."""

LAST_STEP: Step = {"if": "otherwise"}
"""The condition that each candidate fits."""

UNREADY = 0.25
"""A smaller bonus for readiness is none."""

YOUNG = -6.0
"""A smaller logarithm of the bonus for age is none."""


class StayAndMove:
    """See `problems.programs.Program`."""

    first: Program | None = None
    begin: Mapping[str, float] = {}
    """Where numbers begin, by name, if not as `NUMBERS` say."""
    further: tuple[Number, ...] = ()
    """Numbers beside `NUMBERS`."""
    without: frozenset[str] = frozenset()
    """Those of `NUMBERS` that it does not have, by name."""

    def __init__(self, ground: Ground) -> None:
        self.executors, self.none = ground.most, ground.none
        column = [feature.name for feature in ground.rank.features].index
        self._typical = {
            name: float(np.exp(np.log(np.maximum(ground.rows[:, column(feature)], 1.0)).mean()))
            for name, feature in DISCOUNTS.items()
        }

    @property
    def numbers(self) -> Sequence[Number]:
        """Without leave to idle, the smallest job takes what is left."""
        without = self.without | (set() if self.none else {"idles"})
        own = (number for number in NUMBERS if number.name not in without)
        return *(number._replace(start=self.begin.get(number.name, number.start)) for number in own), *self.further

    def start(self, generator: np.random.Generator, found: np.ndarray | None) -> np.ndarray:
        """Known caps, the middle of what measured well; restarts differ by their powers, and by all that they draw."""
        values = np.array([number.start for number in self.numbers])
        for place, number in enumerate(self.numbers):
            if number.name in ("p", "q"):
                values[place] += generator.uniform(-POWER / 2, POWER / 2)
        return values

    def scorers(self, values: np.ndarray) -> Mapping[str, Any]:
        """The same steps for both choices: where to, and up to how many."""
        told = self._told(values)
        move = [_share(told["log_m"], told["p"])]
        if told["log_c"] >= np.log(WORTH):  # one executor for each c seconds of work, as a share of all
            worth = rounded(1 / (float(np.exp(told["log_c"])) * self.executors))
            move.append({"times": worth, "job_work_left_s": 1})
        jobs, stages = _smallest_first(told), STAGES
        own, other = {"if": "job_is_source >= 1"}, LAST_STEP
        rank: list[dict[str, Any]] = []
        level: list[dict[str, Any]] = []
        if "log_k" in told:
            stay = [self._discounted(_share(told["log_k"], told["q"]), told)]
            rank.append({**own, "of": HELD, "below": stay, "then": STAYS, "plus": stages})
            level.append({**own, "of": HELD, "below": stay})
        rank.append({**other, "of": HELD, "below": move, "then": MOVES, "plus": {**jobs, **stages}})
        level.append({**other, "of": HELD, "below": move})
        if told["remains"] >= 0.5:
            rank.append({**own, "then": REMAINS, "plus": stages})
        if told.get("idles", 0.0) >= 0.5:
            rank.append({**other, "then": -1.0})
        else:
            rank.append({**other, "then": LAST, "plus": {**jobs, **stages}})
        level.append({**other, "then": 1.0})
        return {"stage": {"steps": rank}, "limit": {"steps": level}}

    def _told(self, values: np.ndarray) -> dict[str, float]:
        """The numbers by their names."""
        return dict(zip((number.name for number in self.numbers), np.asarray(values).tolist(), strict=True))

    def _discounted(self, term: dict[str, float], told: Mapping[str, float]) -> dict[str, float]:
        """The cap of the first step with its two powers."""
        times = term["times"]
        for name, feature in DISCOUNTS.items():
            power = round(told[name], 2)
            if power:
                term[feature] = -power
                times *= self._typical[name] ** power
        return term | {"times": rounded(times)}


def _smallest_first(told: Mapping[str, float]) -> dict[str, float]:
    """The order of jobs: who has least work left, unless another one can start at once, or waits for long."""
    jobs = {"job_work_rank": -1.0}
    if told["ready"] >= UNREADY:
        jobs["stage_is_ready"] = rounded(told["ready"])
    if told["log_age"] >= YOUNG:
        jobs["job_age_s"] = rounded(float(np.exp(told["log_age"])))
    return jobs


def _share(log_times: float, power: float) -> dict[str, float]:
    """So many times the share by a power of the work left, or by the product of the two powers next to it."""
    low = min(int(power / POWER + 1e-9), len(SHARES) - 2)
    upper = round(power / POWER - low, 2)
    term = {"times": rounded(float(np.exp(log_times)))}
    for shares, weight in ((SHARES[low], round(1 - upper, 2)), (SHARES[low + 1], upper)):
        term |= {name: sign * weight for name, sign in shares.items() if weight}
    return term


class MinimumShare(StayAndMove):
    """Stay and move, after every job that has a stage to start holds its minimum share; the smallest gets it first."""

    begin, further = BEGIN, (SHARE,)

    def scorers(self, values: np.ndarray) -> Mapping[str, Any]:
        """One step more, before the others."""
        found, told = super().scorers(values), self._told(values)
        share = {"times": round(told["share"], 2), "jobs_in_system": -1}
        due = {"if": "stage_is_ready >= 1", "of": HELD, "below": [share]}
        first = {**due, "then": NEEDS, "plus": {**_smallest_first(told), **STAGES}}
        return {
            "stage": {"steps": [first, *found["stage"]["steps"]]},
            "limit": {"steps": [due, *found["limit"]["steps"]]},
        }


class SmallestFirst(StayAndMove):
    """Stay and move without its first step: executors go to the smallest job below its cap, wherever they sit."""

    begin, without = MOVING, frozenset({"log_k", "q", *DISCOUNTS})


class Reserve(StayAndMove):
    """Stay and move, where a large job leaves a part of the executors that are to be decided on to smaller ones."""

    begin, further = RESERVED, RESERVE

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        column = [feature.name for feature in ground.rank.features].index(LARGE)
        self._mean_work_s = max(float(ground.rows[:, column].mean(dtype=np.float64)), 1.0)

    def scorers(self, values: np.ndarray) -> Mapping[str, Any]:
        """Each step but the last for large jobs, with one cap more, and as it is for the others."""
        found, told = super().scorers(values), self._told(values)
        large = rounded(float(np.exp(told["log_large"])) * self._mean_work_s)
        reserves = self._reserves(told)
        *rank, last = found["stage"]["steps"]
        *level, whole = found["limit"]["steps"]
        rank, level = ([each for step in steps for each in _by_size(step, large, reserves)] for steps in (rank, level))
        return {
            "stage": {"steps": [*rank, last]},
            "limit": {"steps": [*level, *_for_large(LAST_STEP, large, reserves), whole]},
        }

    def _reserves(self, told: Mapping[str, float]) -> Reserves:
        """The caps of large jobs."""
        part, power = round(told["part"], 2), round(told["power"], 2)
        if not power:
            return [("", {"times": part})]
        of_free = {"times": rounded(part / self.executors**power), FREE: power}
        half = power / 2
        of_both = {"times": rounded(part * (4 / self.executors) ** half), HELD: half, FREE: half}
        return [(f"{HELD} >= {MANY_HELD:g}", of_both), ("", of_free)]


def _by_size(step: Step, large: float, reserves: Reserves) -> list[Step]:
    """A step for large jobs, and for the others."""
    return [*_for_large(step, large, reserves), {**step, "if": _all_of(step["if"], f"{LARGE} < {large:g}")}]


def _for_large(step: Step, large: float, reserves: Reserves) -> list[Step]:
    """A step for large jobs, with a cap more: once for each."""
    return [
        {
            **step,
            "if": _all_of(step["if"], f"{LARGE} >= {large:g}", when),
            "of": HELD,
            "below": [*step.get("below", ()), cap],
        }
        for when, cap in reserves
    ]


def _all_of(*conditions: str) -> str:
    """A condition for all of these; none is told by nothing, or by what each candidate fits."""
    return " and ".join(told for told in conditions if told not in ("", LAST_STEP["if"]))
