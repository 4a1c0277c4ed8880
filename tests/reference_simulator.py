"""A plain, slow simulator of the DAG-job cluster, written from the reference semantics alone.

It exists to check the compiled simulator against something that was written independently and that a person can read
beside the rules: executors are objects, free pools are lists, commitments are dicts of dicts, the queue is a `heapq`,
and every count (demand, moving, committed) is counted anew each time it is asked for. Nothing here is fast on purpose.

Section numbers (§1 to §11) refer to docs/simulator.md, the page of the reference semantics. All times are whole
milliseconds.
The rules are those of the simulator published with Decima (Mao et al., SIGCOMM 2019); the corrections of §10 and the
faults of §11 are off unless asked for.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from reference_cluster import Durations, Executor, Faults, Job, MeanDurations, NoFaults, Stage, StageProfile

GLOBAL = "the global pool"
Key = Stage | Job | str
Answer = tuple[Stage, int] | None
Policy = Callable[["ReferenceSimulator"], Answer]


class ReferenceSimulator:
    """One episode.

    Args:
        profiles: for each job, its stages.
        arrivals_ms: for each job, when it arrives; ascending.
        policy: is given the simulator and answers (stage, requested executors) or None.
        durations: how the random choices of §2 are made.
        levels: the executor-count levels of the trace, ascending.
        work_conserving, right_interpolation, spark_fifo, offer_parked, spark_offers, back_up_parked,
            offer_at_completion, ask_each_task: the corrections of §10. `spark_fifo` holds for a policy that has the
            attribute `is_fifo`; it is then up to that policy too.
        help_first: what `none` means under a policy that has the attribute `is_learned` (§5).
        faults, recovery_ms: faults of §11, and how long an executor that failed is down. A policy that has a method
            `executor_fails` is told of the job that loses one, and of a job that was promised one that will not come.

    A policy that has a method `none_refused` is told of the job that gets executors in place of its `none` (§5), and of
    how many.

    After `run`: `decisions`, rows of §9; `tasks`, rows (start_ms, duration_ms, job, stage, wave, attempt, failed);
    `completions_ms`; `parked_time_ms`, what all executors spent in the pools of jobs; `longest_stall_ms`, the longest
    time that a job had both executors in its pool and a stage in its frontier with demand.
    """

    def __init__(
        self,
        profiles: Sequence[Sequence[StageProfile]],
        arrivals_ms: Sequence[int],
        policy: Policy,
        *,
        num_executors: int,
        moving_delay_ms: int = 2000,
        warmup_delay_ms: int = 1000,
        durations: Durations | None = None,
        levels: Sequence[int] = (5, 10, 20, 40, 50, 60, 80, 100),
        work_conserving: bool = False,
        right_interpolation: bool = False,
        spark_fifo: bool = False,
        offer_parked: bool = False,
        spark_offers: bool = False,
        back_up_parked: bool = False,
        help_first: bool = False,
        offer_at_completion: bool = False,
        ask_each_task: bool = False,
        faults: Faults | None = None,
        recovery_ms: int = 10_000,
        outage: tuple[int, int, int] = (0, 0, 0),
    ) -> None:
        self.policy = policy
        self.num_executors = num_executors
        self.moving_delay_ms = moving_delay_ms
        self.warmup_delay_ms = warmup_delay_ms
        self.durations = durations or MeanDurations()
        self.levels = list(levels)
        self.right_interpolation = right_interpolation
        self.jobs_hold = spark_fifo and getattr(policy, "is_fifo", False)
        self.work_conserving = work_conserving or self.jobs_hold or spark_offers
        self.offer_at_completion = offer_at_completion
        self.offer_parked = offer_parked or spark_offers
        self.spark_offers = spark_offers
        self.back_up_parked = back_up_parked
        self.ask_each_task = ask_each_task
        self.help_first = help_first and getattr(policy, "is_learned", False)
        self.ended: list[Stage] = []  # stages that open after the round of the executor whose task was the last
        self.faults = faults or NoFaults()
        self.recovery_ms = recovery_ms
        self.outage_executors, self.outage_from_ms, self.outage_until_ms = outage
        self.has_outage = self.outage_executors > 0  # at any time: who was lost comes back, and is asked about

        self.now = 0
        self.jobs = [self.make_job(i, *pair) for i, pair in enumerate(zip(profiles, arrivals_ms, strict=True))]
        self.active: list[Job] = []
        self.executors = [Executor(i) for i in range(num_executors)]
        self.global_pool = list(self.executors)
        self.commitments: dict[Key, dict[Stage | None, int]] = {}
        self.events: list[tuple[int, int, str, object]] = []
        self.num_pushed = 0

        self.ready: list[Executor] = []
        self.k = 0
        self.source: Job | None = None
        self.selected: set[Stage] = set()

        self.decisions: list[list[object]] = []
        self.tasks: list[tuple[int, int, int, int, str, int, int]] = []
        self.parked_time_ms = 0
        self.longest_stall_ms = 0
        self.stalled_since: dict[Job, int] = {}

    @staticmethod
    def make_job(index: int, profile: Sequence[StageProfile], arrival_ms: int) -> Job:
        job = Job(index, arrival_ms)
        job.stages = [Stage(job, i, stage) for i, stage in enumerate(profile)]
        return job

    # --- counts (§3, §4) ---------------------------------------------------------------------------------------------

    def moving(self, stage: Stage) -> int:
        return sum(e.in_transit and e.destination is stage for e in self.executors)

    def committed(self, stage: Stage) -> int:
        return sum(promises.get(stage, 0) for promises in self.commitments.values())

    def demand(self, stage: Stage) -> int:
        return stage.not_started - self.moving(stage) - self.committed(stage)

    def attached(self, job: Job) -> int:
        return sum(e.job is job for e in self.executors)

    def is_candidate(self, stage: Stage) -> bool:
        return (
            not stage.complete
            and stage not in self.selected
            and self.demand(stage) > 0
            and all(self.demand(parent) <= 0 for parent in stage.parents)
            and (not self.spark_offers or (stage.runnable and stage not in self.ended))
        )

    def candidates_of(self, job: Job) -> list[Stage]:
        return [stage for stage in job.stages if self.is_candidate(stage)]

    def candidates(self) -> list[Stage]:
        return [stage for job in self.active for stage in self.candidates_of(job)]

    def held(self, job: Job) -> int:
        """Attached, in transit, and promised from keys outside the job: the count of the fair heuristic (§7)."""
        in_transit = sum(self.moving(stage) for stage in job.stages)
        promised = sum(
            count
            for key, promises in self.commitments.items()
            if self.job_of(key) is not job
            for destination, count in promises.items()
            if destination is not None and destination.job is job
        )
        return self.attached(job) + in_transit + promised

    def held_before(self, job: Job) -> int:
        """The count from which a learned policy's limit is counted (§8)."""
        return self.held(job) - (self.k if job is self.source else 0)

    @staticmethod
    def job_of(key: Key) -> Job | None:
        if isinstance(key, Stage):
            return key.job
        return key if isinstance(key, Job) else None

    # --- durations (§2) ----------------------------------------------------------------------------------------------

    def level(self, stage: Stage, n: int) -> int:
        if n <= self.levels[0]:
            level = self.levels[0]
        elif n >= self.levels[-1]:
            level = self.levels[-1]
        elif n in self.levels:
            level = n
        else:
            left = max(x for x in self.levels if x < n)
            right = min(x for x in self.levels if x > n)
            share = (n - left) / (right - left)
            level = self.durations.level(stage, left, right, share if self.right_interpolation else 1 - share)
        keys = stage.profile.first_wave
        return level if level in keys else max(keys)

    @staticmethod
    def wave(executor: Executor, stage: Stage) -> str:
        if executor.last is None:
            return "fresh"
        return "rest_wave" if executor.last is stage else "first_wave"

    def duration(self, executor: Executor, stage: Stage) -> int:
        level = self.level(stage, self.attached(stage.job))
        tables, wave = stage.profile, self.wave(executor, stage)
        warmup = 0
        if wave == "fresh":
            values = tables.fresh[level]
            if not values:
                values, warmup = tables.first_wave[level], self.warmup_delay_ms
        elif wave == "rest_wave" and tables.rest_wave[level]:
            values = tables.rest_wave[level]
        else:
            values = tables.first_wave[level] or tables.fresh[level]
        return self.durations.value(stage, values) + warmup

    # --- what executors do (§3, §5) ----------------------------------------------------------------------------------

    def push(self, time: int, kind: str, subject: object) -> None:
        heapq.heappush(self.events, (time, self.num_pushed, kind, subject))
        self.num_pushed += 1

    def start(self, executor: Executor, stage: Stage) -> None:
        wave = self.wave(executor, stage)
        runs_ms, fails = self.faults.run(stage, self.duration(executor, stage))
        if self.outage and self.outage_executors > 0:
            self.outage_executors -= 1
            runs_ms, fails = 0, True
        self.tasks.append((self.now, runs_ms, stage.job.id, stage.index, wave, stage.attempts, int(fails)))
        executor.stage = executor.last = stage
        stage.attempts += 1
        stage.started += 1
        self.push(self.now + runs_ms, "executor fails" if fails else "task finishes", executor)

    def move(self, executor: Executor, stage: Stage) -> None:
        self.detach(executor)
        executor.in_transit, executor.destination = True, stage
        self.push(self.now + self.moving_delay_ms, "executor arrives", executor)

    @staticmethod
    def detach(executor: Executor) -> None:
        executor.job = executor.stage = executor.last = None

    def park(self, executor: Executor, job: Job | None) -> None:
        if job is None:
            self.detach(executor)
            self.global_pool.append(executor)
        else:
            executor.stage = executor.last = None
            job.pool.append(executor)

    def back_up(self, executor: Executor) -> None:
        own = executor.job.frontier if executor.job else []
        stage = next((s for s in own if self.demand(s) > 0), None)
        if stage is not None:
            self.start(executor, stage)
            return
        if self.jobs_hold and executor.job and executor.job.has_tasks_to_start:
            self.park(executor, executor.job)
            return
        elsewhere = self.candidates()
        if elsewhere:
            self.move(executor, elsewhere[0])
        else:
            self.park(executor, executor.job)

    def go(self, executor: Executor, destination: Stage | None) -> None:
        """What an executor does about the promise it takes up."""
        job = executor.job
        if destination is None:
            if job and job.has_tasks_to_start:
                self.wait(executor, job, helps=self.help_first)
            else:
                self.park(executor, None)
        elif not destination.not_started:
            self.back_up(executor)
        elif destination.job is not job:
            self.move(executor, destination)
        elif destination in job.frontier:
            self.start(executor, destination)
        else:
            self.wait(executor, job)

    def wait(self, executor: Executor, job: Job, helps: bool = False) -> None:
        """Park in the job, or if he helps, as everybody does under the correction (§10), start its ready work."""
        if (helps or self.back_up_parked) and any(self.demand(stage) > 0 for stage in job.frontier):
            self.back_up(executor)
        else:
            self.park(executor, job)

    # --- decision rounds (§5) ----------------------------------------------------------------------------------------

    def key(self) -> Key:
        first = self.ready[0]
        return first.stage or first.job or GLOBAL

    def promise(self, key: Key, destination: Stage | None, count: int) -> None:
        promises = self.commitments.setdefault(key, {})
        promises[destination] = promises.get(destination, 0) + count

    def take_promise(self, key: Key) -> Stage | None:
        promises = self.commitments[key]
        destination = next(iter(promises))
        promises[destination] -= 1
        if promises[destination] == 0:
            del promises[destination]
        if not promises:
            del self.commitments[key]
        return destination

    def dispatch(self) -> None:
        if not self.ready:
            return
        key = self.key()
        while key in self.commitments and self.ready:
            destination = self.take_promise(key)
            executor = self.ready.pop(0)
            for pool in [self.global_pool, executor.job.pool if executor.job else []]:
                if executor in pool:
                    pool.remove(executor)
            self.go(executor, destination)

    def something_pending(self) -> bool:
        """Whether anything will happen after a `none`: an event, or what a promise of this round brings about."""
        promises = self.commitments.get(self.key(), {})
        return bool(self.events) or any(destination is not None for destination in promises)

    def asked_again(self) -> bool:
        """Whether executors that are left idle now are decided on again: else a learned policy may not (§5).

        Where executors may fail it is for the caller to say so: what befalls them is not known here.
        """
        if any(kind == "job arrives" for _, _, kind, _ in self.events) or self.work_conserving or self.offer_parked:
            return True
        opens = self.source is not None and any(not all(p.complete for p in s.parents) for s in self.source.stages)
        return opens or self.has_outage

    def answer(self) -> Answer:
        """What the policy answers; where its `none` is refused, the first candidate with all k."""
        answer, candidates = self.policy(self), self.candidates()
        if answer is not None or not candidates or self.something_pending():
            return answer
        stage = candidates[0]
        if stage.job is not self.source and hasattr(self.policy, "none_refused"):
            self.policy.none_refused(stage.job, min(self.k, self.demand(stage)))
        return stage, self.k

    def decide(self) -> None:
        """One round: ask the policy until every executor of the round has a promise, then dispatch."""
        while self.k > 0:
            key = self.key()
            stage, requested = self.answer() or (None, self.k)
            committed = min(requested, self.k) if stage is None else min(requested, self.demand(stage), self.k)
            assert committed > 0, "the policy asked for nothing, or for a stage without demand"
            source = [self.source.id if self.source else None, key.index if isinstance(key, Stage) else None]
            target = [stage.job.id, stage.index] if stage else None
            self.decisions.append([self.now, source, self.k, target, requested, committed])
            self.promise(key, stage, committed)
            if stage is not None:
                self.selected.add(stage)
            self.k -= committed
        self.selected.clear()
        self.dispatch()
        self.ready = []

    # --- events (§6) -------------------------------------------------------------------------------------------------

    def run(self) -> list[int]:
        """Run to the end; the completion time of each job in ms."""
        for job in self.jobs:
            if job.arrival_ms == 0:
                self.enter(job)
            else:
                self.push(job.arrival_ms, "job arrives", job)
        if self.active:
            self.open_round(self.global_pool, None)
            self.decide()
        handlers = {
            "job arrives": self.job_arrives,
            "executor arrives": self.executor_arrives,
            "task finishes": self.task_finishes,
            "executor fails": self.executor_fails,
            "executor recovers": self.executor_recovers,
        }
        while self.events or self.offer_idle():
            if not self.events:
                continue
            self.watch_until(self.events[0][0])
            self.now, _, kind, subject = heapq.heappop(self.events)
            asked, active = None, len(self.active)
            goes_on = kind == "task finishes" and subject.stage.not_started and not self.ask_each_task
            handlers[kind](subject)
            if self.k > 0:
                asked = self.source if self.ready[0].stage is None else None
                self.decide()
            for stage in self.ended:
                stage.job.opened.append(stage)
            self.ended = []
            due = self.work_conserving and kind not in ("job arrives", "executor recovers")
            due |= self.offer_at_completion and (len(self.active) < active or kind == "executor fails")
            if due and self.candidates():
                self.offer_global_pool()
            if self.offer_parked and not goes_on:
                self.offer_pools_of_jobs(asked)
        assert all(job.completion_ms is not None for job in self.jobs), "jobs are unfinished"
        return self.completions_ms

    def offer_idle(self) -> bool:
        """The queue has run empty: where a stage waits, a round on executors that were left idle (§5)."""
        if not self.candidates():
            return False
        job = None if self.global_pool else next(job for job in self.active if job.pool)
        self.open_round(job.pool if job else self.global_pool, job)
        self.decide()
        return True

    @property
    def completions_ms(self) -> list[int]:
        return [job.completion_ms for job in self.jobs]

    def open_round(self, ready: list[Executor], source: Job | None, k: int | None = None) -> None:
        """Decide on k executors, by default on those that are ready; nothing happens if there are none."""
        self.ready, self.source, self.k = list(ready), source, len(ready) if k is None else k

    def offer_global_pool(self) -> None:
        """The round of the corrections `work_conserving` and `offer_at_completion` (§10)."""
        self.open_round(self.global_pool, None)
        self.decide()

    def is_stalled(self, job: Job) -> bool:
        """Executors are parked in the job while a stage of it is ready and has tasks that nobody is meant for."""
        return bool(job.pool) and any(self.demand(stage) > 0 for stage in job.frontier)

    def offer_pools_of_jobs(self, asked: Job | None) -> None:
        """The rounds of the correction `offer_parked` (§10): all jobs but the one whose pool was asked already."""
        for job in list(self.active):
            anywhere = self.spark_offers and job.pool and self.candidates()
            if job is not asked and (self.is_stalled(job) or anywhere):
                self.open_round(job.pool, job)
                self.decide()

    def watch_until(self, time_ms: int) -> None:
        """Nothing happens until then: count what is parked, and since when jobs are stalled."""
        if time_ms == self.now:
            return
        self.parked_time_ms += (time_ms - self.now) * sum(len(job.pool) for job in self.active)
        stalled = {job for job in self.active if self.is_stalled(job)}
        for job in stalled:
            since = self.stalled_since.setdefault(job, self.now)
            self.longest_stall_ms = max(self.longest_stall_ms, time_ms - since)
        self.stalled_since = {job: since for job, since in self.stalled_since.items() if job in stalled}

    def enter(self, job: Job) -> None:
        self.active.append(job)
        job.opened = [stage for stage in job.stages if stage.runnable]

    def job_arrives(self, job: Job) -> None:
        self.enter(job)
        self.open_round(self.global_pool, None)

    def executor_arrives(self, executor: Executor) -> None:
        stage = executor.destination
        executor.in_transit, executor.destination = False, None
        if stage is None:
            self.back_up(executor)
            return
        executor.job = stage.job
        if not stage.not_started:
            self.back_up(executor)
        elif stage in stage.job.frontier:
            self.start(executor, stage)
        else:
            self.wait(executor, stage.job)

    def task_finishes(self, executor: Executor) -> None:
        stage = executor.stage
        job = stage.job
        stage.finished += 1
        opened = [s for s in job.stages if stage.complete and stage in s.parents and s.runnable]
        if self.spark_offers:
            self.ended, opened = opened, []
        job.opened.extend(opened)
        if stage.not_started and not self.ask_each_task:
            self.start(executor, stage)
        elif opened:
            if stage in self.commitments:
                self.ready = [executor]
                self.dispatch()
            else:
                self.park(executor, job)
            self.open_round(job.pool, job)
        elif stage in self.commitments:
            self.ready = [executor]
            self.dispatch()
        else:
            on_stage = sum(e.stage is stage for e in self.executors)
            alone = self.spark_offers or stage.not_started
            self.open_round([executor], job, 1 if alone else on_stage)
        if job.completion_ms is None and all(s.complete for s in job.stages):
            self.complete(job)

    def complete(self, job: Job) -> None:
        job.completion_ms = self.now
        self.active.remove(job)
        self.global_pool.extend(job.pool)
        job.pool.clear()
        for executor in self.executors:
            if executor.job is job:
                self.detach(executor)
            if executor.destination is not None and executor.destination.job is job:
                executor.destination = None
        for key, promises in list(self.commitments.items()):
            for destination in [d for d in promises if d is not None and d.job is job]:
                del promises[destination]
            if not promises:
                del self.commitments[key]

    # --- faults (§11) ------------------------------------------------------------------------------------------------

    @property
    def outage(self) -> bool:
        return self.outage_from_ms <= self.now < self.outage_until_ms

    def executor_fails(self, executor: Executor) -> None:
        stage, job = executor.stage, executor.job
        stage.started -= 1
        self.detach(executor)
        executor.down = True
        self.withdraw_promise(stage)
        if hasattr(self.policy, "executor_fails"):
            self.policy.executor_fails(job)
        back_ms = self.now + self.recovery_ms
        self.push(max(back_ms, self.outage_until_ms) if self.outage else back_ms, "executor recovers", executor)
        self.open_round(job.pool, job)

    def withdraw_promise(self, stage: Stage) -> None:
        """The last promise of a stage that has more of them than executors to follow them."""
        promises = self.commitments.get(stage, {})
        if sum(promises.values()) <= sum(e.stage is stage for e in self.executors):
            return
        last = next(reversed(promises))
        promises[last] -= 1
        if promises[last] == 0:
            del promises[last]
        if not promises:
            del self.commitments[stage]
        if last and last.job is not stage.job and hasattr(self.policy, "executor_fails"):
            self.policy.executor_fails(last.job)

    def executor_recovers(self, executor: Executor) -> None:
        executor.down = False
        self.global_pool.append(executor)
        self.open_round(self.global_pool, None)
