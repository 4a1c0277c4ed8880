"""When jobs arrive: random processes of a given mean rate. The first job always arrives at 0."""

from __future__ import annotations

import numpy as np

from clearsched.problems.dag_jobs.settings.workload import BurstyParams, DiurnalParams


def poisson(generator: np.random.Generator, jobs: int, interarrival_ms: float) -> np.ndarray:
    """int64[jobs]: arrivals (ms) of a Poisson process."""
    return _whole(np.cumsum(generator.exponential(interarrival_ms, jobs - 1)))


def bursty(generator: np.random.Generator, jobs: int, interarrival_ms: float, options: BurstyParams) -> np.ndarray:
    """int64[jobs]: arrivals (ms) of a Markov-modulated Poisson process of two states, calm and burst.

    The lengths of bursts and calms are exponential; the rate is `factor` times higher in a burst, and on average one
    job in `interarrival_ms`. The first arrival finds the state that an arrival of the stationary process finds, so the
    mean gap is exact from the start. See Fischer and Meier-Hellstern, "The Markov-modulated Poisson process (MMPP)
    cookbook", Performance Evaluation 18 (1993).
    """
    burst_ms, calm_ms = options.burst_s * 1000, options.calm_s * 1000
    calm_rate = (burst_ms + calm_ms) / (calm_ms + options.factor * burst_ms) / interarrival_ms
    rates = np.array([calm_rate, options.factor * calm_rate])
    work = np.cumsum(generator.exponential(1.0, jobs - 1))  # arrivals where the rate is 1, to be stretched
    in_burst = options.factor * burst_ms / (calm_ms + options.factor * burst_ms)
    state = int(generator.random() < in_burst)
    means = np.array([calm_ms, burst_ms])[[state, 1 - state]]
    rates = rates[[state, 1 - state]]
    time, done = [np.zeros(1)], [np.zeros(1)]
    while len(work) and done[-1][-1] < work[-1]:
        lengths = generator.exponential(means, (64, 2)).ravel()
        time.append(time[-1][-1] + np.cumsum(lengths))
        done.append(done[-1][-1] + np.cumsum(lengths * np.tile(rates, 64)))
    return _whole(np.interp(work, np.concatenate(done), np.concatenate(time)))


def diurnal(generator: np.random.Generator, jobs: int, interarrival_ms: float, options: DiurnalParams) -> np.ndarray:
    """int64[jobs]: arrivals (ms) of a Poisson process whose rate follows the time of day as a sine.

    Over a whole day one job arrives in `interarrival_ms` on average. By thinning: candidates come at the highest
    rate, each is kept with the probability of the rate at its time (Lewis and Shedler 1979).
    """
    swing = (options.peak_to_trough - 1) / (options.peak_to_trough + 1)
    day_ms = options.day_s * 1000
    start = generator.random() if options.start_hour is None else options.start_hour / 24
    found, last, missing = [np.zeros(0)], 0.0, jobs - 1
    while missing > 0:
        candidates = last + np.cumsum(generator.exponential(interarrival_ms / (1 + swing), 2 * missing + 16))
        phase = candidates / day_ms + start - options.peak_hour / 24
        rate = 1 + swing * np.cos(2 * np.pi * phase)
        kept = candidates[generator.random(len(candidates)) * (1 + swing) < rate]
        found.append(kept[:missing])
        missing -= len(found[-1])
        last = candidates[-1]
    return _whole(np.concatenate(found))


def _whole(later_ms: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.floor(later_ms).astype(np.int64)])
