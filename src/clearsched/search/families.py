"""Families of policies that are searched for: those that any problem gets from its features, and its own. Light."""

from __future__ import annotations

from clearsched.problems.declarations import Family
from clearsched.problems.problem import Problem
from clearsched.registry import Look, Registry

ROOM = "clearsched.search"

FAMILIES = Registry(
    "family",
    (
        Family(
            "weights",
            "searched weights",
            Look("#0072B2", "D"),
            f"{ROOM}.weights:program",
            "a weighted sum of the features scores a candidate; two products of features are the cap of a level",
        ),
        Family(
            "small_network",
            "searched network",
            Look("#7A4B12", "^"),
            f"{ROOM}.small_network:program",
            "a network of one hidden layer scores a candidate; caps as in weights",
        ),
    ),
)
"""What any problem gets."""


def families_of(problem: Problem) -> Registry[Family]:
    """Every family of a problem: its own first, as they are the easiest to read.

    Raises:
        ClearschedError: two of them have one name.
    """
    return Registry("family", (*problem.families.values(), *FAMILIES.values()))
