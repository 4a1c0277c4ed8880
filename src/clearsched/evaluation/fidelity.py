"""Fidelity: how often a student, asked in the teacher's place, answers as the teacher did.

It is measured on logged held-out decisions and is another axis than quality: candidates of one group are near ties, so
*same group* is reported beside *first choice*, and trivial decisions (one answer) are left out, since everybody gets
them right. Each choice is told as a whole and in parts (`decisions.parts`).

The share of equal first choices has an interval over the held-out episodes of the log: decisions of one episode follow
from each other, episodes are drawn anew.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from clearsched.decisions.answers import Scoring, level_answers, rank_scores
from clearsched.decisions.ordering import kendall_tau, least_of, most_of, places, regret
from clearsched.decisions.parts import BINARY, WHOLE, Part, parts, varying, whole
from clearsched.evaluation.statistics import Bootstrap, bootstrap_ratio, generator
from clearsched.problems.declarations import Choice
from clearsched.problems.problem import Problem
from clearsched.schemas import FIDELITY

if TYPE_CHECKING:
    from clearsched.decisions.choices import Choices

TOP = 3
"""Of the student's order, in which the teacher's choice is looked for."""

LEAST = 3
"""Episodes with a decision from which on a share has an interval."""

Row = dict[str, Any]
Share = Callable[[np.ndarray, np.ndarray, str], Row]
"""What tells a share of first choices: of bool[d] whether they agree, int64[d] their episodes, and the part's name."""


def fidelity_table(
    problem: Problem,
    students: Sequence[Any],
    decisions: Path,
    split: str,
    most: int,
    bootstrap: Bootstrap | None = None,
) -> pa.Table:
    """One row a student, choice, subset of the decisions of `split`, and part of a choice, of schema FIDELITY.

    Where the log has no decision of the split there is no row, which a line on stderr says.

    Args:
        problem: what is scheduled.
        students: each a `decisions.answers.Scoring`.
        decisions: the decision log.
        split: of the log.
        most: the largest level, the whole that shares are of.
        bootstrap: how the intervals of `top1` are drawn; None: there are none.
    """
    from clearsched.decisions.reader import read_choices

    logged = [(choice, read_choices(decisions, problem, choice.name, split)) for choice in problem.choices]
    rank = problem.choices[0]
    if students and not len(logged[0][1].chosen):
        why = f"no decision of the split {split!r}: how often students choose as the teacher is not told"
        print(f"clearsched: {decisions}: {why}; log some (decisions.held_out)", file=sys.stderr, flush=True)
    rows = []
    for student in students:
        for choice, choices in logged:
            if not len(choices.chosen):
                continue
            if choice.form == "rank":
                rows += rank_rows(student, rank, choices, bootstrap)
            else:
                rows += level_rows(student, rank, choice, choices, most, bootstrap)
    return pa.Table.from_pylist(rows, schema=FIDELITY)


def subsets(rank: Choice, choice: Choice, choices: Choices) -> dict[str, np.ndarray]:
    """bool[d] of the decisions: all, and where the problem has such ones those that kept what there was, those that
    took none of the candidates, and the real choices, which are the others. Trivial ones are among them.
    """
    everything = np.ones(len(choices.chosen), bool)
    none = choices.is_none[choices.chosen] if choice.form == "rank" else ~everything
    found = {"all": everything}
    names = [feature.name for feature in choice.features]
    if rank.keeps in names:
        kept = choices.features[choices.chosen, names.index(rank.keeps)] > 0
        found |= {kept_name(rank): kept, "real": ~kept & ~none}
    return found | ({"none": none} if (none & ~choices.trivial).any() else {})


def kept_name(rank: Choice) -> str:
    """What the table calls decisions that kept what there was: the name before the colon of `Choice.kept`."""
    return (rank.kept.partition(":")[0] or "kept").replace(" ", "_")


def share_of(
    agree: np.ndarray, episode: np.ndarray, part: str, bootstrap: Bootstrap | None, names: Sequence[str]
) -> Row:
    """The share of bool[d] `agree`, and its interval over the episodes int64[d], where `LEAST` have a decision.

    Args:
        agree: whether both chose the same, d > 0 decisions.
        episode: of each decision.
        part: of the choice.
        bootstrap: how the interval is drawn; None: there is none.
        names: of student, choice and subset: they tell the random numbers of this share from those of others.
    """
    told: Row = {"top1": float(agree.mean())}
    of = np.unique(episode, return_inverse=True)[1].reshape(-1)
    decisions = np.bincount(of).astype(float)
    if bootstrap is None or len(decisions) < LEAST:
        return told
    agreeing = np.bincount(of, weights=agree).astype(float)
    rng = generator(bootstrap.seed, "fidelity", *names, part)
    found = bootstrap_ratio(agreeing, decisions, rng, bootstrap.confidence, bootstrap.resamples)
    return told | {"top1_low": found.low, "top1_high": found.high}


def rank_rows(student: Scoring, rank: Choice, choices: Choices, bootstrap: Bootstrap | None = None) -> list[Row]:
    """The rows of a rank choice: a subset each, then a part each; `bootstrap` as of `share_of`."""
    scores = rank_scores(student, choices)
    place = places(scores, choices.starts, choices.is_none)
    scorer = getattr(student, "scorers", {}).get(rank.name)
    read = None if scorer is None else scorer.places()
    rows = []

    def share(subset: str) -> Share:
        return partial(share_of, bootstrap=bootstrap, names=(student.name, rank.name, subset))

    for name, of in subsets(rank, rank, choices).items():
        told = _order(whole(choices, of), choices, scores, place, share(name), grouped=bool(rank.group))
        told["complexity"] = None if scorer is None else scorer.complexity()
        rows.append(_row(student, rank.name, name, told))
    for part in parts(rank, choices):
        told = _order(part, choices, scores, place, share("all"))
        if read is not None:
            names = [feature.name for feature in rank.features]
            told["complexity"] = sum(read[names[f]] for f in np.flatnonzero(varying(part, choices)))
        rows.append(_row(student, rank.name, "all", told))
    return rows


def _order(
    part: Part, choices: Choices, scores: np.ndarray, place: np.ndarray, share: Share, *, grouped: bool = False
) -> Row:
    """What the student's order of the alternatives says; an alternative stands where the best of its rows does."""
    count, told = int(part.starts[-1]), {"part": part.name, "decisions": len(part.chosen), "trivial": part.trivial}
    if not len(part.chosen):
        return told
    best_place = least_of(place, part.of, count)
    own = places(-best_place, part.starts)
    answer = np.flatnonzero(own == 0)
    told |= share(answer == part.chosen, choices.episode[part.decision], part.name)
    told["regret"] = float(regret(most_of(choices.probability, part.of, count), answer, part.starts).mean())
    if grouped:
        group = most_of(choices.group, part.of, count)
        told["same_group"] = float((group[answer] == group[part.chosen]).mean())
    if part.name in BINARY:  # the first choice says it all
        return told
    told |= {"top3": float((own[part.chosen] < TOP).mean()), "mean_rank": float((own[part.chosen] + 1).mean())}
    theirs = most_of(choices.score, part.of, count)
    tau = kendall_tau(most_of(scores, part.of, count), theirs, part.starts)
    if np.isfinite(tau).any():
        told["kendall_tau"] = float(np.nanmean(tau))
    return told


def level_rows(
    student: Scoring, rank: Choice, level: Choice, choices: Choices, most: int, bootstrap: Bootstrap | None = None
) -> list[Row]:
    """The rows of a level choice; the candidates of its decisions are the levels from the first to the last allowed."""
    answered, starts = level_answers(student, choices, most), choices.starts[:-1]
    wanted = choices.candidate[choices.chosen]
    lost = regret(choices.probability, starts + answered - choices.candidate[starts], choices.starts)
    scorer = getattr(student, "scorers", {}).get(level.name)
    rows = []
    for name, of in subsets(rank, level, choices).items():
        asked = of & ~choices.trivial
        told: Row = {"part": WHOLE, "decisions": int(asked.sum()), "trivial": int((of & choices.trivial).sum())}
        if asked.any():
            names = (student.name, level.name, name)
            told |= share_of((answered == wanted)[asked], choices.episode[asked], WHOLE, bootstrap, names)
            told["level_error"] = float(np.abs(answered - wanted)[asked].mean())
            told["regret"] = float(lost[asked].mean())
        told["complexity"] = None if scorer is None else scorer.complexity()
        rows.append(_row(student, level.name, name, told))
    return rows


def _row(student: Scoring, choice: str, subset: str, told: Row) -> Row:
    found: Row = {"policy": student.name, "choice": choice, "decisions_of": subset}
    return dict.fromkeys(FIDELITY.names) | found | told
