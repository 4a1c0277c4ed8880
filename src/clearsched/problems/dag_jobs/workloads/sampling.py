"""Drawing the episodes: the jobs of each, and when they arrive."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.files import digest_file
from clearsched.problems.dag_jobs.edge_cases import EDGE_CASES
from clearsched.problems.dag_jobs.schemas import WORKLOADS
from clearsched.problems.dag_jobs.simulator.estimates import Estimates
from clearsched.problems.dag_jobs.simulator.semantics import Semantics
from clearsched.problems.dag_jobs.workloads import arrivals
from clearsched.problems.dag_jobs.workloads.crowds import with_surge, with_swarm
from clearsched.problems.dag_jobs.workloads.files import SPLITS, Workloads
from clearsched.problems.dag_jobs.workloads.pools import Draw, Pool, pools
from clearsched.problems.dag_jobs.workloads.survey import Load, Survey, survey
from clearsched.registry import load
from clearsched.schemas import write_table

if TYPE_CHECKING:
    from clearsched.params import Params
    from clearsched.problems.dag_jobs.settings.workload import WorkloadParams


def build(params: Params, trace: Path, out: Path) -> Workloads:
    """Draw the episodes of `params.workload` over a trace file and write them to `out`.

    Raises:
        ClearschedError: the trace is broken, or lacks what the kind of arrivals or of split needs.
    """
    options = params.workload
    load = Load(options.executors, round(options.moving_delay_s * 1000), round(options.warmup_delay_s * 1000))
    known = survey(
        trace,
        load if needs_load(options) else None,
        params.seed if options.split == "template" else None,
        options.arrivals == "replay" or options.split == "time",
    )
    sources = pools(options, known)
    plans = {split: plan(options, pool, known) for split, pool in sources.items()}
    rules = {split: semantics(params, facts["mean_interarrival_ms"]) for split, (_, facts) in plans.items()}
    settings = {
        "num_executors": load.num_executors,
        "moving_delay_ms": load.moving_delay_ms,
        "warmup_delay_ms": load.warmup_delay_ms,
        "mean_interarrival_ms": plans["train"][1]["mean_interarrival_ms"],
        "durations": options.durations,
        "semantics": _told(rules["train"]),
        "objective": options.objective,
        "seed": params.seed,
        "trace": digest_file(trace),
    }
    if options.split != "seed" or options.arrivals not in ("batch", "poisson") or len(known.parts) > 1:
        settings["arrivals"] = options.arrivals
        settings["split"] = options.split
        settings["splits"] = {split: facts for split, (_, facts) in plans.items()}
    outages = {split: _outage(own) for split, own in rules.items() if own != rules["train"]}
    if outages:
        settings["outages"] = outages
    wrong = estimates(options, known)
    if not wrong.are_exact:
        settings["estimates"] = asdict(wrong)
    if options.stress < 1:
        settings["stress"] = options.stress
    bounds = {"safety_bound": options.safety_bound, "giant_bound": options.giant_bound}
    settings |= {name: bound for name, bound in bounds.items() if bound is not None}
    cases = safety_cases(params, known, plans["train"][1]["mean_interarrival_ms"])
    if cases:
        settings["safety_cases"] = cases
    if options.giant.tasks > 1:
        # The jobs of a swarm stand before it, where they come before it.
        before = options.swarm.jobs if options.swarm.after_job <= options.giant.after_job else 0
        settings["giant"] = {"job": options.giant.after_job + before, "tasks": options.giant.tasks}
    if options.mixed_rates.are_mixed:
        settings["interarrivals_ms"] = {
            split: interarrivals_ms(params, split, facts["mean_interarrival_ms"]) for split, (_, facts) in plans.items()
        }
    table = draw_episodes(params, {split: draw for split, (draw, _) in plans.items()})
    write_table(out, table, WORKLOADS, settings)
    return Workloads(table, settings)


def needs_load(options: WorkloadParams) -> bool:
    """Whether the executor time of all jobs must be known, which takes a look at every stage."""
    if options.arrivals == "replay" or options.swarm.jobs or options.surge.jobs or options.estimates.missing:
        return True
    if "estimates_missing" in options.safety_cases:
        return True
    return options.arrivals != "batch" and options.mean_interarrival_s is None


LATER = ("spark_offers", "back_up_parked", "help_first", "offer_at_completion", "ask_each_task")
"""Rules that came after the first files of workloads were written."""


def _told(rules: Semantics) -> dict[str, Any]:
    """Semantics as the file tells them; of an outage and of the later corrections only where there are any."""
    left_out = {name for name in LATER if not getattr(rules, name)}
    if not rules.outage_executors:
        left_out |= {"outage_executors", "outage_from_ms", "outage_until_ms"}
    return {name: value for name, value in asdict(rules).items() if name not in left_out}


def _outage(rules: Semantics) -> dict[str, int]:
    """When an outage is: all that the splits of one file may differ in."""
    return {"outage_from_ms": rules.outage_from_ms, "outage_until_ms": rules.outage_until_ms}


def semantics(params: Params, gap_ms: float) -> Semantics:
    """The corrections and faults of `params.workload`; `gap_ms`: mean time between arrivals of the split, which an
    outage is timed by."""
    faults, outage = params.workload.faults, params.workload.outage
    from_ms = round(outage.after_job * gap_ms)
    return Semantics(
        **params.workload.corrections.model_dump(),
        failures_per_hour=faults.failures_per_hour,
        recovery_ms=round(faults.recovery_s * 1000),
        straggler_probability=faults.straggler_probability,
        straggler_slowdown=faults.straggler_slowdown,
        idling=params.workload.idling,
        help_first=params.workload.help_first,
        outage_executors=round(outage.share * params.workload.executors),
        outage_from_ms=from_ms,
        outage_until_ms=from_ms + round(outage.jobs * gap_ms),
    )


def estimates(options: WorkloadParams, known: Survey) -> Estimates:
    """How wrong the durations are that policies see."""
    wrong = options.estimates
    return Estimates(wrong.error, wrong.missing, known.mean_task_ms) if wrong.missing else Estimates(wrong.error)


def safety_cases(params: Params, known: Survey, gap_ms: float) -> dict[str, dict[str, Any]]:
    """What the edge cases that the safety check has besides change of an episode, by name: semantics, and estimates.

    Raises:
        ClearschedError: the scenario cannot have one of them.
    """
    options, found = params.workload, {}
    usual = _told(semantics(params, gap_ms))  # what the file tells: when an outage is, only where there is one
    for name in options.safety_cases:
        changes = load(EDGE_CASES[name].changes)(params)
        if changes is None:
            raise ClearschedError(f"workload.safety_cases: {name}: this scenario cannot have it; leave it out")
        parts = {part: getattr(options, part).model_copy(update=new) for part, new in changes["workload"].items()}
        own = params.model_copy(update={"workload": options.model_copy(update=parts)})
        told = _told(semantics(own, gap_ms))
        found[name] = {
            "semantics": {key: value for key, value in told.items() if value != usual.get(key)},
            "estimates": asdict(estimates(own.workload, known)),
        }
    return found


def draw_episodes(params: Params, draws: dict[str, Draw]) -> pa.Table:
    """All episodes as a table of schema `WORKLOADS`."""
    episodes = []
    for split in SPLITS:
        for episode in range(getattr(params.workload.episodes, split)):
            generator = episode_stream(params, split, episode)
            profile, arrival = draws[split](generator)
            seed = int(generator.integers(2**63 - 1))
            jobs = np.arange(len(profile))
            columns = (np.full(len(jobs), episode), jobs, profile, arrival, np.full(len(jobs), seed))
            episodes.append(pa.table([pa.repeat(split, len(jobs)), *columns], WORKLOADS.names).cast(WORKLOADS))
    return pa.concat_tables(episodes).combine_chunks()


def episode_stream(params: Params, split: str, episode: int) -> np.random.Generator:
    """The random numbers of an episode, from their beginning."""
    return np.random.default_rng([params.seed, SPLITS.index(split), episode])


def pace(options: WorkloadParams, generator: np.random.Generator) -> float:
    """The mean time between the arrivals of an episode, in times of that of the workload: its stream's first number,
    so that it can be told beside the episode. Without mixed rates nothing is drawn."""
    mixed = options.mixed_rates
    return float(generator.uniform(mixed.least, mixed.most)) if mixed.are_mixed else 1.0


def mean_pace(options: WorkloadParams) -> float:
    """What `pace` is on average."""
    return (options.mixed_rates.least + options.mixed_rates.most) / 2


def interarrivals_ms(params: Params, split: str, mean_ms: float) -> list[float]:
    """The mean time between arrivals of each episode of a split, `mean_ms` being that of all of them."""
    options = params.workload
    own = mean_ms / mean_pace(options)
    count = getattr(options.episodes, split)
    return [own * pace(options, episode_stream(params, split, episode)) for episode in range(count)]


def mean_interarrival_ms(options: WorkloadParams, mean_executor_ms: float) -> float:
    """Mean time between arrivals: as set, else so that jobs ask for `load` of the executors' time; 0 for a batch."""
    if options.arrivals == "batch":
        return 0.0
    if options.mean_interarrival_s is not None:
        return options.mean_interarrival_s * 1000
    return float(mean_executor_ms / (options.load * options.executors))


def plan(options: WorkloadParams, pool: Pool, known: Survey) -> tuple[Draw, dict[str, Any]]:
    """How the episodes of a split are drawn, and what is to be told of them: the one way, for files and environments.

    Raises:
        ClearschedError: no job arrives in the window of a replay, or all at once where a load is asked for.
    """
    count = sum(map(len, pool.profiles))
    if options.arrivals == "replay":
        draw, facts = _replay(options, pool, known)
        return with_swarm(draw, options.swarm, pool, known), {"profiles": count} | facts
    mean_ms = pool.mean(known.executor_ms) if len(known.executor_ms) else float("nan")
    own = mean_interarrival_ms(options, mean_ms)

    def draw_random(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        times = pace(options, generator)
        profile = pool.draw(generator, options.jobs)
        return profile, _arrivals(options, generator, own * times)

    gap = own * mean_pace(options)
    load = mean_ms / (gap * options.executors) if gap and mean_ms == mean_ms else None
    draw = with_swarm(with_surge(draw_random, options.surge, load), options.swarm, pool, known)
    return draw, {"profiles": count, "mean_interarrival_ms": gap, "offered_load": load}


def _arrivals(options: WorkloadParams, generator: np.random.Generator, gap: float) -> np.ndarray:
    match options.arrivals:
        case "batch":
            return np.zeros(options.jobs, np.int64)
        case "bursty":
            return arrivals.bursty(generator, options.jobs, gap, options.bursty)
        case "diurnal":
            return arrivals.diurnal(generator, options.jobs, gap, options.diurnal)
    return arrivals.poisson(generator, options.jobs, gap)


def _replay(options: WorkloadParams, pool: Pool, known: Survey) -> tuple[Draw, dict[str, Any]]:
    """Jobs as they followed each other in the trace's window; an episode begins with one of them, drawn at random."""
    start_ms = options.replay.start_s * 1000
    stop_ms = np.inf if options.replay.window_s is None else start_ms + options.replay.window_s * 1000
    jobs = np.concatenate(pool.profiles)
    when = known.arrival_ms[jobs]
    jobs = jobs[(when >= start_ms) & (when < stop_ms)]
    jobs = jobs[np.argsort(known.arrival_ms[jobs], kind="stable")]
    when = known.arrival_ms[jobs]
    if not len(jobs):
        last = known.arrival_ms.max() / 1000
        raise ClearschedError(
            f"workload.replay: no job of a split arrives in the window; the trace's last job arrives after {last:.0f} s"
        )
    # The span from the first arrival to the last holds one job less than there are gaps; all jobs count but one.
    gap = float(when[-1] - when[0]) / max(len(jobs) - 1, 1)
    offered = float(known.executor_ms[jobs].mean() / (gap * options.executors)) if gap else float("inf")
    speed = options.replay.speed
    if speed is None:
        if not gap:
            raise ClearschedError("workload.replay.speed: all jobs arrive at once, no speed gives a load: set it to 1")
        speed = options.load / offered
    length = min(options.jobs, len(jobs))

    def draw(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        first = int(generator.integers(len(jobs) - length + 1))
        chosen = slice(first, first + length)
        later = when[chosen] - when[first]
        return jobs[chosen], later if speed == 1 else np.floor(later / speed).astype(np.int64)

    facts = {
        "mean_interarrival_ms": gap / speed,
        "offered_load": offered * speed if gap else None,
        "speed": speed,
        "jobs_in_window": len(jobs),
    }
    return draw, facts
