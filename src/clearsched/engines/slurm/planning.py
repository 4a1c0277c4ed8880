"""What a student wants of a queue: the order of the stages, which of them wait, and how many cores each may hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from clearsched.engines.slurm.client import Queued
from clearsched.engines.slurm.features import Cluster, check_policy, used_features
from clearsched.engines.slurm.jobs import StageFacts
from clearsched.export.vectors import rule_of
from clearsched.problems.episodes import level_of
from clearsched.scorers.policy import ScoredPolicy, names_of

NO_LIMIT = 0
"""As Slurm has it: a throttle of 0 is none."""


TWO_STAGES = [
    Queued(1, StageFacts("a", 0, (), 2, 1.0, 0.0, 2.0), pending=2),
    Queued(2, StageFacts("b", 0, (), 1, 1.0, 0.5, 1.0), pending=1),
]


@dataclass
class Plan:
    """What the arrays of a queue should have.

    Attributes:
        order: arrays with tasks to start, the best first.
        rules: what spoke for each.
        idle: those of them that are to wait: the student answers "none".
        throttles: cores that an array may hold at once; `NO_LIMIT`: as many as there are.
    """

    order: list[int] = field(default_factory=list)
    rules: dict[int, str] = field(default_factory=dict)
    idle: set[int] = field(default_factory=set)
    throttles: dict[int, int] = field(default_factory=dict)


class Planner:
    """A student that is asked about a queue.

    Raises:
        ClearschedError: Slurm cannot obey it (`features.check_policy`).
    """

    def __init__(self, policy: ScoredPolicy, cores: int, limits: bool = True) -> None:
        check_policy(policy)
        self.policy, self.cores, self.limits = policy, cores, limits
        self._names = used_features(policy, limits)
        self._scores = policy.scoring()
        self.plan(TWO_STAGES, 1.0)  # compiles what scores: the first look at a queue should not wait for it

    def plan(self, queue: Sequence[Queued], now: float) -> Plan:
        """What the queue should have at a time, seconds of Unix time."""
        cluster = Cluster(queue, self.cores, now)
        stages = cluster.candidates
        if not stages:
            return Plan()
        rows = cluster.rows(stages, self._names)
        scores = self._scores(rows)
        ranked = sorted(range(len(stages)), key=lambda place: (-scores[place], place))
        ordered = [stages[place] for place in ranked]
        plan = Plan([stage.id for stage in ordered])
        plan.rules = {stages[place].id: self._rule(rows[place]) for place in ranked}
        if self.policy.may_idle:
            plan.idle = {stages[place].id for place in ranked if not scores[place] > 0}
            ready = [stage for stage in ordered if cluster.is_ready(stage)]
            if ready and cluster.free == self.cores and plan.idle >= {stage.id for stage in ready}:
                plan.idle.discard(ready[0].id)  # nothing else is going to happen: no policy can stop the cluster
        if self.limits and self.policy.level is not None:
            shares = dict(zip((stage.id for stage in stages), self.policy.level_share(rows), strict=True))
            self._grant(cluster, plan.idle)
            self._throttle(cluster, ordered, shares, plan)
        return plan

    def _grant(self, cluster: Cluster, idle: set[int]) -> None:
        """Give the free cores away as the simulator's rounds do (docs/simulator.md §5).

        Who is chosen gets one at least: no core is left idle for a limit while a stage could use it.
        """
        chosen: set[int] = set()
        while cluster.free > 0:
            able = [each for each in cluster.candidates if cluster.is_ready(each) and cluster.demand(each) > 0]
            able = [each for each in able if each.id not in idle]
            offered = [each for each in able if each.id not in chosen]
            if not offered:
                if not able:
                    return
                chosen.clear()  # the next round
                continue
            rows = cluster.rows(offered, self._names)
            best = int(np.argmax(self._scores(rows)))
            stage, held = offered[best], cluster.held(offered[best].facts.job)
            share = float(self.policy.level_share(rows[best : best + 1])[0])
            limit = self._limit(share, held + 1)
            cluster.granted[stage.id] += max(1, min(limit - held, cluster.demand(stage), cluster.free))
            chosen.add(stage.id)

    def _throttle(self, cluster: Cluster, ordered: Sequence[Queued], shares: dict[int, float], plan: Plan) -> None:
        """Divide the limit of each job over its stages, in their order; what they hold or are granted, they keep.

        A stage for which nothing is left comes after all others, and may hold one core: as in the simulator no core is
        left idle for a limit.
        """
        beyond = set()
        for job in cluster.jobs:
            own = [stage for stage in ordered if stage.facts.job == job]
            if not own:
                continue
            room = max(0, self._limit(shares[own[0].id], 1) - cluster.held(job))
            for stage in own:
                more = min(room, cluster.demand(stage))
                room -= more
                most = stage.running + cluster.granted[stage.id] + more
                plan.throttles[stage.id] = NO_LIMIT if most >= stage.running + stage.pending else max(most, 1)
                if most == 0:
                    beyond.add(stage.id)
        plan.order.sort(key=lambda array: array in beyond)

    def _limit(self, share: float, least: int) -> int:
        """Cores that a job may hold."""
        return min(level_of(share, least, self.cores, up=self.policy.rounds_up), self.cores)

    def _rule(self, row: np.ndarray) -> str:
        """The rule that gave the rank, as exported code names it; patches are told apart there, not here."""
        rank = self.policy.rank
        return rule_of(self.policy.scorers[rank.name], row[None], names_of(rank))
