"""Simulated against real: how far off the simulator is, and whether it ranks policies as the engine does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.evaluation.statistics import Interval, bootstrap_mean, bootstrap_ratio, generator, paired_difference

SEED = 1
"""Of the resamples."""


@dataclass(frozen=True)
class Runs:
    """One policy on all episodes.

    Attributes:
        real_s, simulated_s: JCT of each job, an array of float64[jobs] an episode.
    """

    real_s: tuple[np.ndarray, ...]
    simulated_s: tuple[np.ndarray, ...]

    @property
    def real(self) -> np.ndarray:
        """float64[episodes]: mean JCT on the engine, s."""
        return np.array([jobs.mean() for jobs in self.real_s])

    @property
    def simulated(self) -> np.ndarray:
        """float64[episodes]: mean JCT in the simulator, s."""
        return np.array([jobs.mean() for jobs in self.simulated_s])

    @property
    def job_errors(self) -> np.ndarray:
        """float64[all jobs]: simulated over real JCT, less 1."""
        return np.concatenate(self.simulated_s) / np.concatenate(self.real_s) - 1


@dataclass(frozen=True)
class Compared:
    """What is told of a policy.

    Attributes:
        policy: its name.
        real, simulated: mean JCT with its interval over episodes, s.
        error: simulated over real mean JCT, less 1, with its interval over paired episodes.
        job_error: mean of the jobs' absolute errors; job_error_median, job_error_p90: their median and 90th percentile.
        to_reference: real mean JCT less that of the reference policy, paired, s; None for the reference.
        times_reference: how many times the reference's it is, paired; None for the reference.
    """

    policy: str
    real: Interval
    simulated: Interval
    error: Interval
    job_error: float
    job_error_median: float
    job_error_p90: float
    to_reference: Interval | None
    times_reference: Interval | None


@dataclass(frozen=True)
class Ranking:
    """Whether two lists of means put the policies in the same order.

    Attributes:
        tau: Kendall's tau-b: 1 for the same order, -1 for the opposite one.
        pairs: pairs of policies.
        discordant: the pairs that the two put in another order.
        shown: pairs whose real difference has an interval without 0.
        shown_alike: those of them that the simulator puts in the same order.
    """

    tau: float
    pairs: int
    discordant: tuple[tuple[str, str], ...]
    shown: int
    shown_alike: int


def compare(runs: Mapping[str, Runs], reference: str, confidence: float = 0.95) -> list[Compared]:
    """A row a policy, in the order of `runs`.

    Raises:
        ClearschedError: a policy lacks episodes or jobs that another has, or the reference was not run.
    """
    check_paired(runs)
    if reference not in runs:
        raise ClearschedError(f"{reference}: was not run: the policy that the others are compared with must be")
    return [_row(name, one, runs[reference], reference, confidence) for name, one in runs.items()]


def check_paired(runs: Mapping[str, Runs]) -> None:
    """Whether all policies ran the same jobs, on the engine and in the simulator.

    Raises:
        ClearschedError: one did not.
    """
    shapes = {
        name: [len(jobs) for jobs in each] for name, one in runs.items() for each in (one.real_s, one.simulated_s)
    }
    for name, one in runs.items():
        real, simulated = ([len(jobs) for jobs in each] for each in (one.real_s, one.simulated_s))
        first = next(iter(shapes))
        if real != simulated or real != shapes[first] or not real:
            raise ClearschedError(
                f"{name}: episodes of {real} jobs were run and {simulated} simulated, not those of {first}"
            )


def _row(name: str, one: Runs, reference: Runs, reference_name: str, confidence: float) -> Compared:
    def draws(what: str) -> np.random.Generator:
        return generator(SEED, "engine", name, what)

    ratio = bootstrap_ratio(one.simulated, one.real, draws("error"), confidence)
    error = Interval(ratio.mean - 1, ratio.low - 1, ratio.high - 1, ratio.standard_error, ratio.count)
    absolute = np.abs(one.job_errors)
    is_reference = name == reference_name
    return Compared(
        name,
        bootstrap_mean(one.real, draws("real"), confidence),
        bootstrap_mean(one.simulated, draws("simulated"), confidence),
        error,
        float(absolute.mean()),
        float(np.median(absolute)),
        float(np.quantile(absolute, 0.9)),
        None if is_reference else paired_difference(one.real, reference.real, draws("difference"), confidence),
        None if is_reference else bootstrap_ratio(one.real, reference.real, draws("ratio"), confidence),
    )


def ranking(runs: Mapping[str, Runs], confidence: float = 0.95) -> Ranking:
    """Kendall's tau between the real and the simulated means of two policies or more.

    Source: M. G. Kendall, The treatment of ties in ranking problems, Biometrika 33 (1945).
    """
    from scipy.stats import kendalltau

    real = {name: float(one.real.mean()) for name, one in runs.items()}
    simulated = {name: float(one.simulated.mean()) for name, one in runs.items()}
    tau = kendalltau(list(real.values()), list(simulated.values())).statistic
    pairs = list(combinations(runs, 2))
    alike = {pair: (real[pair[0]] - real[pair[1]]) * (simulated[pair[0]] - simulated[pair[1]]) > 0 for pair in pairs}
    shown = [pair for pair in pairs if _is_shown(runs, pair, confidence)]
    discordant = tuple(pair for pair in pairs if not alike[pair])
    return Ranking(float(tau), len(pairs), discordant, len(shown), sum(alike[pair] for pair in shown))


def _is_shown(runs: Mapping[str, Runs], pair: Sequence[str], confidence: float) -> bool:
    one, other = (runs[name].real for name in pair)
    found = paired_difference(one, other, generator(SEED, "engine", *pair), confidence)
    return found.low > 0 or found.high < 0
