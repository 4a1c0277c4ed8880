"""The schema of a problem's decision log: one row a candidate, with the features that the compiled loop computes."""

from __future__ import annotations

import pyarrow as pa

from clearsched.compiled.feature import Feature
from clearsched.problems.problem import Problem
from clearsched.schemas import field


def log_features(problem: Problem) -> tuple[Feature, ...]:
    """The columns of features: those of all choices, each once. A level choice reads those of the rank choice."""
    return tuple(dict.fromkeys(feature for choice in problem.choices for feature in choice.features))


def feature_field(feature: Feature) -> pa.Field:
    """The column of a feature, which says by which formula it was computed too."""
    column = field(feature.name, pa.float32(), feature.unit, feature.meaning + " (NaN for none)")
    return column.with_metadata({**column.metadata, "formula": feature.formula})


def log_schema(problem: Problem) -> pa.Schema:
    """Rows of a level choice repeat the features of the candidate that was chosen; their candidate is the level."""
    word = pa.dictionary(pa.int8(), pa.string())
    asked = "; ".join(f"{choice.name}: {choice.question}" for choice in problem.choices)
    return pa.schema(
        [
            field("split", word, "", "train or validation"),
            field("episode", pa.int32(), "", "index of the episode in its split"),
            field("decision", pa.int32(), "", "index of the decision in its episode, of those with a candidate"),
            field("time_s", pa.float64(), "s", "simulated time of the decision"),
            field("reward", pa.float64(), "", "minus what the objective loses until the episode's next decision"),
            field("return", pa.float64(), "", "the same until the episode's end: the sum of the rewards to come"),
            field("choice", word, "", asked),
            field("candidate", pa.int32(), "", "the candidate's number in its episode, -1 for none of these; or level"),
            field("group", pa.int32(), "", "candidates of a group are near ties, as the stages of a job; -1 for none"),
            *map(feature_field, log_features(problem)),
            field("teacher_score", pa.float32(), "", "score that the policy gave the candidate"),
            field("teacher_probability", pa.float32(), "", "its probability among the decision's rows"),
            field("chosen", pa.bool_(), "", "whether the policy chose it: one row of each decision and choice"),
        ]
    )
