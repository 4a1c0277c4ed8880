"""Several data sets side by side: the objective of every policy relative to one heuristic on the same episodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clearsched import schemas
from clearsched.errors import ClearschedError
from clearsched.evaluation.policies import label
from clearsched.evaluation.statistics import generator
from clearsched.figures import style
from clearsched.problems import find_problem
from clearsched.problems.declarations import Measure
from clearsched.problems.objectives import find_objective
from clearsched.problems.problem import Problem
from clearsched.schemas import COMPARISON, read_table

RESAMPLES, CONFIDENCE = 10_000, 0.95
LOOKS = (*style.PALETTE[::2], *style.PALETTE[1::2])
"""Of the data sets: eight markers before one comes again."""

FAR = 2.5
"""Above this ratio between the largest and the smallest value the axis is logarithmic."""


def draw_folders(folders: Sequence[Path]) -> style.Drawing:
    """Draw one row a policy and in it one point a data set.

    Args:
        folders: `results/<scenario>` each, with `evaluation/comparison.parquet` and `evaluation/episodes.parquet`;
            their names name the data sets.

    Raises:
        ClearschedError: a file is missing, a data set has no episodes of the problem's baseline, two folders have one
            name, or they are of different problems.
    """
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        raise ClearschedError(f"figures compare: two folders have the same name: {', '.join(names)}")
    problem = problem_of(folders)
    rows: list[dict[str, Any]] = []
    measures: dict[str, Measure] = {}
    for name, folder in zip(names, folders, strict=True):
        measures[name], found = relative(problem, folder / "evaluation" / "episodes.parquet")
        rows += [{"data_set": name} | row for row in found]
    objective = measures[names[0]]
    policies = _by_mean(rows, objective.lower_is_better)
    baseline = label(problem, problem.baseline)
    figure = style.new_figure(height_in=1.2 + 0.2 * len(policies) * (1 + 0.6 * len(names)))
    axes = figure.subplots()
    for place, name in enumerate(names):
        of = [row for row in rows if row["data_set"] == name]
        against = f"{baseline} {_number(of[0]['reference'], measures[name].unit)}"
        y = [policies.index(row["policy"]) + 0.7 * ((place + 0.5) / len(names) - 0.5) for row in of]
        ratio = np.array([row["ratio"] for row in of])
        ends = np.array([[row["ratio"] - row["ci_low"], row["ci_high"] - row["ratio"]] for row in of]).T
        axes.errorbar(
            ratio,
            y,
            xerr=np.nan_to_num(np.maximum(ends, 0.0)),
            linestyle="none",
            color=LOOKS[place % len(LOOKS)].colour,
            marker=LOOKS[place % len(LOOKS)].marker,
            markersize=5,
            elinewidth=1.5,
            capsize=2.5,
            label=f"{name} ({of[0]['episodes']} episodes, {against})",
        )
    for line in range(1, len(policies)):
        axes.axhline(line - 0.5, color="#E5E5E5", linewidth=0.6, zorder=0)
    axes.axvline(1.0, color=style.BLACK, linewidth=0.9, zorder=0.5)
    axes.set_yticks(range(len(policies)), [label(problem, policy) for policy in policies])
    axes.set_ylim(len(policies) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    ratios = [row["ratio"] for row in rows]
    if 0 < FAR * min(ratios) < max(ratios):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "235" else "")
    better = "lower is better" if objective.lower_is_better else "higher is better"
    intervals = f"{100 * CONFIDENCE:g} % intervals"
    short = objective.short if len(set(measures.values())) == 1 else "objective"
    axes.set_xlabel(f"mean {short} relative to {baseline} on the same episodes, {better}; {intervals}")
    style.grid(axes, "x")
    figure.legend(loc="outside upper left", ncols=1 if len(names) > 3 else len(names))
    header = ["data_set", "policy", "kind", "episodes", "ratio", "ci_low", "ci_high", "mean", "reference"]
    return style.Drawing(figure, header, [[row[name] for name in header] for row in rows])


def problem_of(folders: Sequence[Path]) -> Problem:
    """The problem that all folders are results of.

    Raises:
        ClearschedError: a folder has no evaluation, or they are of different problems.
    """
    found = []
    for folder in folders:
        path = folder / "evaluation" / "comparison.parquet"
        found.append(read_table(path, COMPARISON)[1].get("problem"))
        if not isinstance(found[-1], str):
            raise ClearschedError(f"{path}: does not tell its problem: evaluate again")
        if found[-1] != found[0]:
            raise ClearschedError(f"{path}: is of {found[-1]}, {folders[0]} of {found[0]}: compare one problem")
    return find_problem(str(found[0]))


def relative(problem: Problem, path: Path) -> tuple[Measure, list[dict[str, Any]]]:
    """The objective, and of each policy its mean over that of the baseline, with an interval over paired episodes.

    Raises:
        ClearschedError: the file is missing, or has no episodes of the baseline, or it has a mean of 0.
    """
    baseline = problem.baseline
    table, metadata = read_table(path, schemas.episodes(problem.measures))
    objective = find_objective(problem, metadata.get("objective"), f"{path}: objective")
    policy = np.array(table["policy"].to_pylist())
    episode, all_values = table["episode"].to_numpy(), table[objective.name].to_numpy()
    kinds = dict(zip(policy.tolist(), table["kind"].to_pylist(), strict=True))
    by_policy = {}
    for name in kinds:
        of = policy == name
        by_policy[name] = all_values[of][np.argsort(episode[of], kind="stable")]
    if baseline not in by_policy:
        raise ClearschedError(f"{path}: has no policy {baseline}: add it to evaluation.policies, evaluate again")
    reference = by_policy[baseline]
    if not reference.mean():
        raise ClearschedError(f"{path}: {objective.name} of {baseline} is 0 on average: nothing is in proportion to it")
    # The same resampled episodes for all policies: what is compared is paired.
    drawn = generator(0, "data_sets").integers(0, len(reference), (RESAMPLES, len(reference)))
    rows = []
    for name, values in by_policy.items():
        if len(values) != len(reference):
            raise ClearschedError(f"{path}: {name} met {len(values)} episodes, {baseline} {len(reference)}")
        low, high = interval(values, reference, drawn)
        row = {"policy": name, "kind": kinds[name], "episodes": len(values), "ratio": values.mean() / reference.mean()}
        ends = {"ci_low": low, "ci_high": high}
        rows.append(row | ends | {"mean": float(values.mean()), "reference": float(reference.mean())})
    return objective, rows


def interval(
    values: npt.NDArray[np.float64], reference: npt.NDArray[np.float64], drawn: npt.NDArray[np.int64]
) -> tuple[float, float]:
    """Percentile interval of mean(values) / mean(reference) for resamples `drawn` int64[resamples, episodes]."""
    ratios = values[drawn].mean(axis=1) / reference[drawn].mean(axis=1)
    low, high = np.quantile(ratios, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _by_mean(rows: list[dict[str, Any]], lower_is_better: bool) -> list[str]:
    """The policies, the best mean ratio over the data sets first."""
    ratios: dict[str, list[float]] = {}
    for row in rows:
        ratios.setdefault(row["policy"], []).append(row["ratio"])
    sign = 1.0 if lower_is_better else -1.0
    return sorted(ratios, key=lambda name: (sign * float(np.mean(ratios[name])), name))


def _number(value: float, unit: str) -> str:
    """Three digits, without an exponent."""
    return f"{value:,.0f} {unit}".rstrip() if value >= 100 else f"{value:.3g} {unit}".rstrip()
