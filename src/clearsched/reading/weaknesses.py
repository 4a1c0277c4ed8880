"""What a user should know of a student before it schedules anything: what is wrong with it, and what is not known."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clearsched.evaluation.significance import direction_of
from clearsched.reading.material import Material
from clearsched.reading.verification.verify import beneath, verdicts
from clearsched.scorers.pieces import speakers
from clearsched.scorers.policy import names_of
from clearsched.search.safety import LIMIT, verdict_in

FIND_OUT = "find out why before it schedules anything."


def weaknesses(material: Material) -> Iterator[str]:
    """What a user should know before it schedules anything, each in a sentence."""
    own, policy = material.own, material.policy
    plain, stress = policy.problem.baseline, policy.evidence.get("stress", {})
    yield "It knows only jobs and loads like those that it was made from: hold it against the heuristics on others."
    if own is None:
        yield "It was not evaluated: what it costs on test episodes is not known."
    if own and (own["worst_to_baseline"] or 0.0) > LIMIT:
        yield f"On a test episode it takes {own['worst_to_baseline']:.2f} times {plain}'s: {FIND_OUT}"
    verdict = verdict_in(policy.evidence)
    for name in verdict.beyond:
        yield f"Under stress, {verdict.told(name, plain)}: {FIND_OUT}"
    if "share" in stress:
        yield f"It was checked under {100 * stress['share']:g} % of the stress (workload.stress): do not deploy it."
    side = direction_of(own, material.confidence) if own else 0
    gains = side < 0 if material.objective.lower_is_better else side > 0
    if own and not gains and own["policy"] != own["reference"]:
        yield f"No gain over {own['reference']} is shown by test and intervals of the evaluation (docs/evaluation.md)."
    real = [row for row in material.fidelity if row["decisions_of"] == "real" and row["top1"] is not None]
    for row in real:
        yield f"Of the real choices of {row['choice']} it answers {100 * row['top1']:.0f} % as its teacher."
    yield from _unsure(material)
    if len(policy.evidence.get("restarts") or ()) < 2:
        yield "One seed of training: how much another seed would differ is not measured here."


def _unsure(material: Material) -> Iterator[str]:
    policy = material.policy
    if beneath(policy):
        yield beneath(policy)
    wrong = [name for name, verdict in verdicts(policy, material.logged) if verdict.holds is False]
    if wrong:
        yield f"Scores do not always go the way of {len(wrong)} features with a direction: {', '.join(wrong)}."
    for choice in policy.problem.choices:
        choices = material.logged[choice.name]
        if not len(choices.chosen):
            continue
        rows = choices.features[~choices.is_none] if choice.form == "rank" else choices.features[choices.starts[:-1]]
        spoke = policy.scorers[choice.name].firing(rows, names_of(choice))
        pieces = [worth.piece for worth in material.worth if worth.choice == choice.name]
        if spoke is not None:
            silent = np.setdiff1d(np.arange(speakers(policy.scorers[choice.name])), spoke)
            for place in silent.tolist():
                yield f"{choice.name}: {pieces[place]} never fired on the held-out decisions."
    for worth in material.worth:
        if worth.cost is not None and worth.cost.high < 0:
            yield f"{worth.choice}: without {worth.piece} it is {-worth.cost.mean:.2f} % better on validation episodes."
