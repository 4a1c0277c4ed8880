"""Several data sets side by side: mean JCT of every policy relative to fair scheduling on the same episodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clearsched.errors import ClearschedError
from clearsched.evaluation.names import label
from clearsched.evaluation.statistics import generator
from clearsched.figures import style
from clearsched.schemas import EPISODES, read_table

REFERENCE = "fair"
RESAMPLES, CONFIDENCE = 10_000, 0.95
COLOURS = (style.BLUE, style.VERMILION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY, style.BROWN, style.BLACK)
MARKERS = "oDs^vP*X"
FAR = 2.5
"""Above this ratio between the largest and the smallest value the axis is logarithmic."""


def draw_folders(folders: Sequence[Path]) -> style.Drawing:
    """Draw one row a policy and in it one point a data set.

    Args:
        folders: `results/<scenario>` each, with `evaluation/episodes.parquet`; their names name the data sets.

    Raises:
        ClearschedError: a file is missing, a data set has no episodes of fair, or two folders have one name.
    """
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        raise ClearschedError(f"figures compare: two folders have the same name: {', '.join(names)}")
    rows: list[dict[str, Any]] = []
    for name, folder in zip(names, folders, strict=True):
        rows += [{"data_set": name} | row for row in relative(folder / "evaluation" / "episodes.parquet")]
    policies = _by_mean(rows)
    figure = style.new_figure(height_in=1.2 + 0.2 * len(policies) * (1 + 0.6 * len(names)))
    axes = figure.subplots()
    for place, name in enumerate(names):
        of = [row for row in rows if row["data_set"] == name]
        y = [policies.index(row["policy"]) + 0.7 * ((place + 0.5) / len(names) - 0.5) for row in of]
        ratio = np.array([row["ratio"] for row in of])
        ends = np.array([[row["ratio"] - row["ci_low"], row["ci_high"] - row["ratio"]] for row in of]).T
        axes.errorbar(
            ratio,
            y,
            xerr=np.nan_to_num(np.maximum(ends, 0.0)),
            linestyle="none",
            color=COLOURS[place % len(COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
            markersize=5,
            elinewidth=1.5,
            capsize=2.5,
            label=f"{name} ({of[0]['episodes']} episodes, fair {_seconds(of[0]['reference_s'])})",
        )
    for line in range(1, len(policies)):
        axes.axhline(line - 0.5, color="#E5E5E5", linewidth=0.6, zorder=0)
    axes.axvline(1.0, color=style.BLACK, linewidth=0.9, zorder=0.5)
    axes.set_yticks(range(len(policies)), [label(policy) for policy in policies])
    axes.set_ylim(len(policies) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    ratios = [row["ratio"] for row in rows]
    if max(ratios) > FAR * min(ratios):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "235" else "")
    axes.set_xlabel("mean JCT relative to fair on the same episodes, lower is better; 95 % intervals")
    style.grid(axes, "x")
    figure.legend(loc="outside upper left", ncols=1 if len(names) > 3 else len(names))
    header = ["data_set", "policy", "kind", "episodes", "ratio", "ci_low", "ci_high", "mean_jct_s", "reference_s"]
    return style.Drawing(figure, header, [[row[name] for name in header] for row in rows])


def relative(path: Path) -> list[dict[str, Any]]:
    """Of each policy the mean JCT over that of fair, with a bootstrap interval over paired episodes.

    Raises:
        ClearschedError: the file is missing, or has no episodes of fair.
    """
    table, _ = read_table(path, EPISODES)
    policy = np.array(table["policy"].to_pylist())
    episode, jct_s = table["episode"].to_numpy(), table["avg_jct_s"].to_numpy()
    kinds = dict(zip(policy.tolist(), table["kind"].to_pylist(), strict=True))
    by_policy = {}
    for name in kinds:
        of = policy == name
        by_policy[name] = jct_s[of][np.argsort(episode[of], kind="stable")]
    if REFERENCE not in by_policy:
        raise ClearschedError(f"{path}: has no policy {REFERENCE}: add it to evaluation.policies, evaluate again")
    reference = by_policy[REFERENCE]
    # The same resampled episodes for all policies: what is compared is paired.
    drawn = generator(0, "data_sets").integers(0, len(reference), (RESAMPLES, len(reference)))
    rows = []
    for name, values in by_policy.items():
        if len(values) != len(reference):
            raise ClearschedError(f"{path}: {name} met {len(values)} episodes, {REFERENCE} {len(reference)}")
        low, high = interval(values, reference, drawn)
        row = {"policy": name, "kind": kinds[name], "episodes": len(values), "ratio": values.mean() / reference.mean()}
        ends = {"ci_low": low, "ci_high": high}
        rows.append(row | ends | {"mean_jct_s": float(values.mean()), "reference_s": float(reference.mean())})
    return rows


def interval(
    values: npt.NDArray[np.float64], reference: npt.NDArray[np.float64], drawn: npt.NDArray[np.int64]
) -> tuple[float, float]:
    """Percentile interval of mean(values) / mean(reference) for resamples `drawn` int64[resamples, episodes]."""
    ratios = values[drawn].mean(axis=1) / reference[drawn].mean(axis=1)
    low, high = np.quantile(ratios, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _by_mean(rows: list[dict[str, Any]]) -> list[str]:
    """The policies, lowest mean ratio over the data sets first."""
    ratios: dict[str, list[float]] = {}
    for row in rows:
        ratios.setdefault(row["policy"], []).append(row["ratio"])
    return sorted(ratios, key=lambda name: (float(np.mean(ratios[name])), name))


def _seconds(value: float) -> str:
    """Three digits, without an exponent."""
    return f"{value:,.0f} s" if value >= 100 else f"{value:.3g} s"
