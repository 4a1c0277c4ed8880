"""The schema of a student's file, so that other programs can check one: JSON Schema, draft 2020-12.

It holds for all files of a problem's students, not for the one that is exported: which keys there are, of what type,
which features and heuristics are known. What no schema can say, such as that the last rule must be `otherwise`, is told
by `clearsched students show`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from clearsched.compiled.cap_terms import TIMES
from clearsched.compiled.formulae import CONSTANT
from clearsched.export.source import Source
from clearsched.problems.declarations import Choice
from clearsched.problems.problem import Problem
from clearsched.scorers.kinds import SCORERS
from clearsched.scorers.pairs import MOST_OPPONENTS, WORDS
from clearsched.scorers.patches import ACTIONS, KEYS
from clearsched.scorers.policy import KINDS
from clearsched.scorers.scorer import LARGEST
from clearsched.scorers.ties import MOST

DRAFT = "https://json-schema.org/draft/2020-12/schema"

NUMBER = {"type": "number", "minimum": -LARGEST, "maximum": LARGEST}
WHOLE = {"type": "integer"}
TEXT = {"type": "string"}
FLAG = {"type": "boolean"}


def write(source: Source) -> bytes:
    """The schema of the files of the problem's students."""
    return (json.dumps(schema_of(source.policy.problem), indent=2, ensure_ascii=False) + "\n").encode()


def schema_of(problem: Problem) -> dict[str, Any]:
    """The schema of a problem's students."""
    choices = {choice.name: _scorer(choice) for choice in problem.choices}
    keys: dict[str, Any] = {
        "name": {**TEXT, "minLength": 1, "description": "what tables call it"},
        "kind": {"enum": list(KINDS), "description": "who made it: `clearsched students fit`, a search, or a person"},
        "problem": {"const": problem.name, "description": problem.summary},
        "none": {**FLAG, "description": "whether its scores may answer none of the candidates"},
        "patches": {"type": "array", "items": _patch(), "description": "of a person, on top of the scorers"},
        "guard": _guard(problem),
        **{
            choice.name: {"$ref": f"#/$defs/{choice.name}", "description": choice.question}
            for choice in problem.choices
        },
        "units": {"type": "object", "additionalProperties": TEXT, "description": "of the features"},
        "most": {"type": "number", "minimum": 0, "description": "the largest level; notes and texts use it"},
        "provenance": {"type": "object", "description": "version, settings and inputs that it was made with"},
    }
    if not problem.gauges:
        del keys["guard"]
    return {
        "$schema": DRAFT,
        "title": f"A policy that scores, of the problem {problem.name}",
        "type": "object",
        "properties": keys,
        "required": ["kind", *choices],
        "$defs": choices | _parts(problem),
    }


def _scorer(choice: Choice) -> dict[str, Any]:
    """What answers a choice: an object with the key of its kind, or plain weights, or a number."""
    names = [feature.name for feature in choice.features]
    kinds = _kinds(choice, names)
    return {
        "anyOf": [
            NUMBER,
            *(
                {"type": "object", "required": [kind.key], "properties": kinds[kind.name], "description": kind.summary}
                for kind in SCORERS.values()
            ),
            {**_by_feature([*names, CONSTANT]), "description": "plain weights"},
        ]
    }


def _kinds(choice: Choice, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The keys of a scorer by its kind."""
    features = {"type": "array", "items": {"enum": list(names)}, "uniqueItems": True}
    trees = {"type": "array", "items": {"$ref": "#/$defs/tree"}, "minItems": 1}
    sides = [*names, *(word + name for word in WORDS.values() for name in names)]
    ties: dict[str, Any] = {"type": "array", "items": {"enum": [*names, *(MOST + name for name in names)]}}
    if choice.form == "level":
        ties["maxItems"] = 0
    return {
        "formula": {
            "weights": _by_feature([*names, CONSTANT]),
            "log_weights": _by_feature(names, _object({"weight": NUMBER, "scale": {**NUMBER, "exclusiveMinimum": 0}})),
        },
        "rules": {"rules": _list({"$ref": "#/$defs/rule"}), "ties": ties},
        "points": {"points": _list({"$ref": "#/$defs/points"}), "ties": ties},
        "trees": {"trees": trees, "features": features},
        "pairs": {
            "pairs": trees,
            "against_none": {**trees, "minItems": 0},
            "features": {"type": "array", "items": {"enum": sides}},
            "opponents": {**WHOLE, "minimum": 1, "maximum": MOST_OPPONENTS},
        },
        "cap_terms": {"cap_terms": _list({"$ref": "#/$defs/term"}), "up": FLAG},
        "steps": {"steps": _list({"$ref": "#/$defs/step"})},
        "switch": {"switch": _list(_object({"if": TEXT, "use": {"$ref": f"#/$defs/{choice.name}"}}))},
        "network": {
            "network": _list(
                _object({"weights": _list({"type": "array", "items": NUMBER}), "bias": _list(NUMBER)}, extra=True)
            ),
            "features": features,
            "scales": {"type": "array", "items": {**NUMBER, "minimum": 0}},
        },
    }


def _parts(problem: Problem) -> dict[str, Any]:
    """What scorers are put together of."""
    names = list(dict.fromkeys(feature.name for choice in problem.choices for feature in choice.features))
    whole_numbers, numbers = {"type": "array", "items": WHOLE}, {"type": "array", "items": NUMBER}
    lists = {"feature": whole_numbers, "threshold": numbers, "left": whole_numbers, "right": whole_numbers}
    return {
        "condition": {
            **TEXT,
            "description": "`otherwise`, or comparisons joined by `and`: `job_age_s < 4.8 and stage_rank >= 1`",
        },
        "rule": {
            "type": "object",
            "properties": {
                "if": {"$ref": "#/$defs/condition"},
                "then": {**NUMBER, "description": "the score, or the share of the most"},
                "share": {"type": "number", "description": "a note: how often it was the first that fits"},
            },
            "required": ["if"],
        },
        "points": {
            "type": "object",
            "properties": {"if": {"$ref": "#/$defs/condition"}, "add": NUMBER},
            "required": ["add"],
        },
        "term": {
            **_by_feature([*names, TIMES]),
            "minProperties": 1,
            "description": f"a product: the coefficient `{TIMES}`, and powers by feature",
        },
        "step": {
            "type": "object",
            "properties": {
                "if": {"$ref": "#/$defs/condition"},
                "of": {"enum": ["", *names], "description": "the feature that must be below the cap"},
                "below": {
                    "type": "array",
                    "items": {"$ref": "#/$defs/term"},
                    "description": "the cap: the least of them",
                },
                "then": {**NUMBER, "description": "the value; without it the cap"},
                "plus": {**_by_feature(names), "description": "weights that are added"},
            },
            "required": ["if"],
            "additionalProperties": False,
        },
        "tree": {
            "type": "object",
            "properties": {
                **lists,
                "value": numbers,
                "gain": {**numbers, "description": "a note: what a split improved"},
            },
            "required": [*lists, "value"],
            "description": "nodes by their place: below its threshold a row goes left; the feature -1 is a leaf",
        },
    }


def _patch() -> dict[str, Any]:
    """A patch: conditions, and exactly one of what follows."""
    when, do, cap, because, priority = KEYS
    return {
        "type": "object",
        "properties": {
            when: {**TEXT, "minLength": 1, "description": "comparisons joined by `and`, or `always`"},
            do: {"enum": list(ACTIONS)},
            cap: {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            because: TEXT,
            priority: WHOLE,
        },
        "required": [when],
        "oneOf": [{"required": [do]}, {"required": [cap]}],
        "additionalProperties": False,
    }


def _guard(problem: Problem) -> dict[str, Any]:
    """A guard: who takes over, and beyond which bounds."""
    low = {"type": "number", "minimum": 0}
    bounds = {gauge.name: _object({"above": low, "until": low}) for gauge in problem.gauges}
    return {
        "type": "object",
        "properties": {
            "heuristic": {"enum": list(problem.heuristics)},
            "settings": {"type": "object", "additionalProperties": {"type": "number"}},
            "when": {"type": "object", "properties": bounds, "additionalProperties": False, "minProperties": 1},
        },
        "required": ["heuristic", "when"],
        "additionalProperties": False,
    }


def _by_feature(names: Sequence[str], value: Mapping[str, Any] = NUMBER) -> dict[str, Any]:
    """An object whose keys are names that are known."""
    return {"type": "object", "propertyNames": {"enum": list(names)}, "additionalProperties": dict(value)}


def _object(keys: Mapping[str, Any], *, extra: bool = False) -> dict[str, Any]:
    """An object that has all of these keys."""
    return {"type": "object", "properties": dict(keys), "required": list(keys), "additionalProperties": extra}


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    """At least one."""
    return {"type": "array", "items": dict(items), "minItems": 1}
