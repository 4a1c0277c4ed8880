"""The kinds of scorer by name. Light: the code of a kind is imported when a file has one."""

from __future__ import annotations

from typing import NamedTuple

from clearsched.registry import Registry


class ScorerKind(NamedTuple):
    """A form in which the answer to one choice can be written down."""

    name: str
    label: str
    scorer: str  # "module:class", a `scorers.scorer.Scorer`
    key: str  # of an object in a student's file: what it has under this key makes it one of this kind
    summary: str


SCORERS = Registry(
    "scorer",
    (
        ScorerKind(
            "formula",
            "formula",
            "clearsched.scorers.formula:WeightedSum",
            "weights",
            "a weighted sum of features, some as logarithms; plain weights by feature, or a number, are one too",
        ),
        ScorerKind(
            "rules",
            "rules",
            "clearsched.scorers.rules:RuleList",
            "rules",
            "a list of rules: the first that fits counts",
        ),
        ScorerKind(
            "points",
            "points",
            "clearsched.scorers.points:PointSum",
            "points",
            "conditions that add points or take some away: the sum counts",
        ),
        ScorerKind(
            "trees",
            "trees",
            "clearsched.scorers.trees:TreeSum",
            "trees",
            "a sum of trees",
        ),
        ScorerKind(
            "pairs",
            "pairs",
            "clearsched.scorers.pairs:PairForest",
            "pairs",
            "a forest that holds each candidate against the others: who wins most is chosen",
        ),
        ScorerKind(
            "cap_terms",
            "cap terms",
            "clearsched.scorers.cap_terms:LeastTerm",
            "cap_terms",
            "the least of a few products of features",
        ),
        ScorerKind(
            "steps",
            "steps",
            "clearsched.scorers.steps:StepList",
            "steps",
            "ordered cases, each with conditions, a cap that is the least of a few products, and an order of its own",
        ),
        ScorerKind(
            "switch",
            "switch",
            "clearsched.scorers.switch:Switch",
            "switch",
            "one of several scorers, by a condition on what all candidates of a decision share",
        ),
        ScorerKind(
            "network",
            "network",
            "clearsched.scorers.network:Perceptron",
            "network",
            "a small neural network on the features of a candidate; it runs in the loop if it has one hidden layer",
        ),
    ),
)
