"""Files of the first format: one list of features for all trees, and keys of their own for lists of rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clearsched.errors import ClearschedError
from clearsched.problems.declarations import Choice
from clearsched.scorers.scorer import name_list

RULE_KEYS = {"rank": "rules", "level": "limit_rules"}
"""Where the rules of a choice stood, by its form; today they stand under its name, like every other scorer."""

MOST = "num_executors"
"""What the most that a level can be was called."""


def renewed(content: dict[str, Any], choices: Sequence[Choice], path: Path) -> dict[str, Any]:
    """The content of a student's file in today's form; one that has it already stays as it is.

    Raises:
        ClearschedError: a choice is answered twice, or the list of features is malformed.
    """
    content = dict(content)
    names = list(dict.fromkeys(feature.name for choice in choices for feature in choice.features))
    listed = content.pop("features", None)
    if listed is not None:
        name_list(listed, names, str(path))
    for choice in choices:
        key = RULE_KEYS[choice.form]
        if key in content:
            if choice.name in content:
                raise ClearschedError(f"{path}: give either {key!r} or {choice.name!r}, and not both")
            content[choice.name] = {"rules": content.pop(key)}
        section = content.get(choice.name)
        if isinstance(section, dict) and "trees" in section and listed is not None:
            content[choice.name] = {"features": listed, **section}
    if MOST in content:
        content["most"] = content.pop(MOST)
    return content
