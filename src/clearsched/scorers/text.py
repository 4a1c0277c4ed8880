"""A policy that scores, written out for a person: how each choice is answered, what features mean, with units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clearsched.files import write_text
from clearsched.scorers import words
from clearsched.scorers.patch_words import choice_of, render_patches
from clearsched.scorers.patches import conditions_of
from clearsched.scorers.policy import ScoredPolicy


def write_policy(policy: ScoredPolicy, folder: Path, stem: str) -> list[Path]:
    """Write the JSON of a policy and its text to a folder, each atomically; the two files."""
    files = [folder / f"{stem}.json", folder / f"{stem}.txt"]
    policy.write(files[0])
    write_text(files[1], render(policy))
    return files


def facts_of(policy: ScoredPolicy) -> dict[str, Any]:
    """What a scorer must know of its policy to be written out: `Scorer.render`."""
    unit = policy.level.unit if policy.level else ""
    return {"most": policy.evidence.get("most", 0), "none": policy.none, "help_first": policy.help_first, "unit": unit}


def render(policy: ScoredPolicy, whole: bool = False) -> str:
    """The policy as text; its numbers are those that run.

    `whole`: with every tree of large sums, of which the text shows the first few.
    """
    facts = facts_of(policy) | {"whole": whole}
    title = f"{policy.kind.capitalize()} {policy.name}"
    lines = [title, "=" * len(title)]
    used: set[str] = set()
    features = {}
    for choice in policy.problem.choices:
        scorer = policy.scorers[choice.name]
        lines += ["", *scorer.render(choice, facts)]
        used |= set(scorer.used)
        features.update({feature.name: feature for feature in choice.features})
    if policy.patches:
        lines += ["", *render_patches(policy.patches, policy.problem.choices, facts)]
        for patch in policy.patches:
            choice = choice_of(patch, policy.problem.choices)
            used |= {choice.features[condition.feature].name for condition in conditions_of(patch, choice)}
    if policy.guard:
        lines += ["", *policy.guard.render(policy.problem)]
    if used:
        told = [feature for name, feature in features.items() if name in used]
        lines += ["", "What the features are", "", *words.glossary(told)]
    return "\n".join(lines) + "\n"
