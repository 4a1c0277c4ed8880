"""The rules of a policy for the page: each with how often it fires and what it is worth, and what features mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from clearsched.decisions.choices import Choices
from clearsched.problems.declarations import Choice
from clearsched.reading.worth import Bench, Worth, worth_of
from clearsched.scorers.patch_words import render_patches
from clearsched.scorers.pieces import speakers
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.text import facts_of

READABLE = 24
"""Pieces, at most, of a policy that is run without each of them: nobody reads the worth of fifty trees."""

NUMBERED = re.compile(r"^ {0,3}(\d+)\. (.*)$")


def rules_of(policy: ScoredPolicy, logged: Mapping[str, Choices], most: int, bench: Bench) -> dict[str, Any]:
    """A policy as JSON: what each choice is answered by, piece by piece, with shares and costs.

    Args:
        policy: a student or searched policy.
        logged: held-out decisions by the name of the choice.
        most: the largest level.
        bench: where it is run without a piece.
    """
    count = sum(len(scorer.pieces()) for scorer in policy.scorers.values()) + len(policy.patches)
    found = worth_of(policy, logged, most, bench if count <= READABLE else None)
    facts = facts_of(policy)
    return {
        "policy": policy.name,
        "kind": policy.kind,
        "complexity": sum(scorer.complexity() for scorer in policy.scorers.values()),
        "costs": count <= READABLE,
        "choices": [_choice(policy, choice, facts, found) for choice in policy.problem.choices],
        "patches": render_patches(policy.patches, policy.problem.choices, facts) if policy.patches else [],
        "guard": policy.guard.sentence(policy.problem) if policy.guard else "",
        "used": sorted({name for scorer in policy.scorers.values() for name in scorer.used}),
    }


def _choice(policy: ScoredPolicy, choice: Choice, facts: Mapping[str, Any], found: Sequence[Worth]) -> dict[str, Any]:
    scorer = policy.scorers[choice.name]
    heading, body = split_lines(scorer.render(choice, facts))
    texts = numbered(body)
    own = [worth for worth in found if worth.choice == choice.name]
    told = len(texts) == speakers(scorer) > 0
    pieces = [
        {
            "piece": worth.piece,
            "text": texts[place] if told and place < len(texts) else "",
            "fires": worth.fires,
            "answers": worth.answers,
            "changes": worth.changes,
            "cost": None if worth.cost is None else [worth.cost.mean, worth.cost.low, worth.cost.high],
        }
        for place, worth in enumerate(own)
    ]
    return {"name": choice.name, "heading": heading, "body": [] if told else body, "pieces": _finite(pieces)}


def split_lines(lines: Sequence[str]) -> tuple[str, list[str]]:
    """The question and how it is answered, as one text; the lines below it."""
    place = list(lines).index("") if "" in lines else len(lines)
    return " ".join(line.strip() for line in lines[:place]), list(lines[place + 1 :])


def numbered(lines: Sequence[str]) -> list[str]:
    """The texts of numbered lines, each with the lines that go on; nothing if another kind of line stands between."""
    found: list[str] = []
    for line in lines:
        begins = NUMBERED.match(line)
        if begins and int(begins[1]) == len(found) + 1:
            found.append(begins[2])
        elif found and line.startswith("     "):
            found[-1] += f" {line.strip()}"
        else:
            return []
    return found


def _finite(pieces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ends of intervals that are no numbers, as those of one episode, as null."""
    for piece in pieces:
        if piece["cost"] is not None:
            piece["cost"] = [value if value == value else None for value in piece["cost"]]
    return pieces
