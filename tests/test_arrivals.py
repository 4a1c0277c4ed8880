"""Random arrivals against theory: mean rate, dispersion, rate by time of day."""

from __future__ import annotations

import numpy as np
import pytest

from clearsched.problems.dag_jobs.settings.workload import BurstyParams, DiurnalParams
from clearsched.problems.dag_jobs.workloads import arrivals

GAP_MS = 1000.0
JOBS = 200_000


def counts(times_ms: np.ndarray, window_ms: float) -> np.ndarray:
    """Arrivals in each whole window."""
    return np.bincount((times_ms // window_ms).astype(np.int64))[:-1]


def dispersion(times_ms: np.ndarray, window_ms: float) -> float:
    found = counts(times_ms, window_ms)
    return float(found.var() / found.mean())


def mmpp_dispersion(options: BurstyParams, window_ms: float) -> float:
    """Variance to mean of the arrivals in a window, Fischer and Meier-Hellstern (1993)."""
    leave_burst, leave_calm = 1 / (options.burst_s * 1000), 1 / (options.calm_s * 1000)
    total = leave_burst + leave_calm
    calm = total / (options.factor * leave_calm + leave_burst) / GAP_MS
    burst = options.factor * calm
    limit = 2 * (burst - calm) ** 2 * leave_burst * leave_calm / (total**2 * (burst * leave_calm + calm * leave_burst))
    return 1 + limit * (1 - (1 - np.exp(-total * window_ms)) / (total * window_ms))


def is_sound(times_ms: np.ndarray, jobs: int = JOBS) -> bool:
    return len(times_ms) == jobs and times_ms[0] == 0 and times_ms.dtype == np.int64 and np.diff(times_ms).min() >= 0


def test_poisson() -> None:
    """Gaps are exponential: mean and standard deviation 1 s; counts have a variance equal to their mean."""
    times = arrivals.poisson(np.random.default_rng(1), JOBS, GAP_MS)
    assert is_sound(times)
    gaps = np.diff(times)
    assert gaps.mean() == pytest.approx(GAP_MS, rel=4 / JOBS**0.5)
    assert gaps.std() == pytest.approx(GAP_MS, rel=0.02)
    assert dispersion(times, 50_000) == pytest.approx(1, abs=4 * (2 / (JOBS / 50)) ** 0.5)


@pytest.mark.parametrize(("factor", "burst_s", "calm_s"), [(5.0, 20.0, 60.0), (50.0, 5.0, 200.0), (2.0, 30.0, 30.0)])
def test_bursty(factor: float, burst_s: float, calm_s: float) -> None:
    options = BurstyParams(factor=factor, burst_s=burst_s, calm_s=calm_s)
    times = arrivals.bursty(np.random.default_rng(2), JOBS, GAP_MS, options)
    assert is_sound(times)
    limit = mmpp_dispersion(options, 1e12)
    assert limit > 1.5
    # The mean of n gaps has the relative variance IDC / n.
    assert np.diff(times).mean() == pytest.approx(GAP_MS, rel=4 * (limit / JOBS) ** 0.5)
    for window_ms in (5_000, 20_000, 100_000):
        assert dispersion(times, window_ms) == pytest.approx(mmpp_dispersion(options, window_ms), rel=0.12)


def test_bursty_gaps_do_not_depend_on_where_an_episode_begins() -> None:
    """The mean first gap of many short episodes is that of the long run."""
    options = BurstyParams(factor=20.0, burst_s=10.0, calm_s=90.0)
    generator = np.random.default_rng(3)
    first = np.array([arrivals.bursty(generator, 2, GAP_MS, options)[1] for _ in range(20_000)])
    assert first.mean() == pytest.approx(GAP_MS, abs=4 * first.std() / 20_000**0.5)


def test_diurnal() -> None:
    """Days of 2,000 s with the peak at 6 h: the rate in each of 8 parts of the day is that of the sine."""
    options = DiurnalParams(peak_to_trough=4.0, peak_hour=6.0, start_hour=0.0, day_s=2000.0)
    times = arrivals.diurnal(np.random.default_rng(4), JOBS, GAP_MS, options)
    assert is_sound(times)
    whole_days = times[-1] // 2_000_000
    assert whole_days >= 98
    times = times[times < whole_days * 2_000_000]
    assert len(times) / (whole_days * 2000) == pytest.approx(1, rel=4 / len(times) ** 0.5)
    found = np.bincount(((times % 2_000_000) // 250_000).astype(np.int64), minlength=8) / (whole_days * 250)
    edges = np.linspace(0, 1, 9)
    swing = 3 / 5  # (4 - 1) / (4 + 1)
    area = edges + swing * np.sin(2 * np.pi * (edges - 0.25)) / (2 * np.pi)
    assert found == pytest.approx(8 * np.diff(area), rel=0.06)
    assert found.argmax() in (1, 2)
    assert found.argmin() in (5, 6)


def test_diurnal_starts_at_the_hour_asked_for_or_at_random() -> None:
    """At its peak the first gaps are short: 1 / 1.8 of the mean with a ratio of 9; at random they are the mean."""
    at_peak = DiurnalParams(peak_to_trough=9.0, peak_hour=14.0, start_hour=14.0)
    generator = np.random.default_rng(5)
    first = [arrivals.diurnal(generator, 11, GAP_MS, at_peak)[-1] for _ in range(2000)]
    assert np.mean(first) == pytest.approx(10 * GAP_MS / 1.8, rel=0.03)
    flat = DiurnalParams(peak_to_trough=1.0)
    assert np.diff(arrivals.diurnal(generator, JOBS, GAP_MS, flat)).mean() == pytest.approx(GAP_MS, rel=0.01)
    rates = [
        1 / arrivals.diurnal(generator, 51, GAP_MS, at_peak.model_copy(update={"start_hour": None}))[-1]
        for _ in range(4000)
    ]
    assert np.mean(rates) * 49 * GAP_MS == pytest.approx(1, rel=0.05)


def test_one_job_arrives_at_once() -> None:
    generator = np.random.default_rng(6)
    for times in (
        arrivals.poisson(generator, 1, GAP_MS),
        arrivals.bursty(generator, 1, GAP_MS, BurstyParams()),
        arrivals.diurnal(generator, 1, GAP_MS, DiurnalParams()),
    ):
        assert times.tolist() == [0]
