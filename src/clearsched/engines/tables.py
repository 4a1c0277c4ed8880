"""What is told of policies on an engine and in the simulator, for people: the same columns for every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clearsched.engines.comparing import Compared, Ranking
from clearsched.evaluation.statistics import Interval
from clearsched.layout import layout


def table(compared: Sequence[Compared], reference: str, shown: Callable[[str], str] = str) -> list[str]:
    """A row a policy, and before them what the columns mean.

    Args:
        compared: the policies.
        reference: the written name of the one that the others are compared with.
        shown: gives the written name of a policy.
    """
    header = ["policy", "real JCT (s)", "95 % CI", f"to {reference} (s)", "95 % CI", "times", "95 % CI"]
    header += ["simulated (s)", "error (%)", "95 % CI", "jobs' error (%)", "median"]
    return [
        "Intervals over episodes, the same ones under every policy. Error: simulated over real, less 1; jobs' error:",
        "mean and median of its size over single jobs.",
        "",
        *layout(header, [_line(row, shown) for row in compared], left=1),
    ]


def order(ranked: Ranking, shown: Callable[[str], str] = str) -> list[str]:
    """Whether engine and simulator put the policies in the same order, in two lines."""
    same = ", ".join(f"{shown(one)} / {shown(other)}" for one, other in ranked.discordant) or "none"
    return [
        f"Kendall's tau of real and simulated means: {ranked.tau:.2f}, {ranked.pairs} pairs; in another order: {same}.",
        f"Pairs whose real difference has an interval without 0: {ranked.shown}, of them {ranked.shown_alike} alike.",
    ]


def _line(row: Compared, shown: Callable[[str], str]) -> list[str]:
    return [
        shown(row.policy),
        *_cells(row.real, ".2f"),
        *_cells(row.to_reference, "+.2f"),
        *_cells(row.times_reference, ".2f"),
        f"{row.simulated.mean:.2f}",
        *_cells(row.error, "+.1f", 100),
        f"{100 * row.job_error:.1f}",
        f"{100 * row.job_error_median:.1f}",
    ]


def _cells(found: Interval | None, form: str, times: float = 1) -> tuple[str, str]:
    """A value and its interval."""
    if found is None:
        return "-", "-"
    return f"{times * found.mean:{form}}", f"{times * found.low:{form}} to {times * found.high:{form}}"
