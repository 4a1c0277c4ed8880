"""Patches in words: what each asks for, with units, what follows, and why."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from clearsched.problems.declarations import Choice
from clearsched.scorers import words
from clearsched.scorers.conditions import number
from clearsched.scorers.patches import AVOID, KEEP_LOCAL, PREFER, Patch
from clearsched.scorers.scorer import Facts


def render_patches(patches: Sequence[Patch], choices: Sequence[Choice], facts: Facts) -> list[str]:
    """Their text in lines, numbered in the order in which they count."""
    how = (
        "Patches, written by a person, come on top: they order the candidates, the first before the next, and among "
        "those of whom they all say the same the rules above decide. A level is bounded by every cap that holds."
    )
    lines = [*textwrap.wrap(how, words.WIDTH), ""]
    for place, patch in enumerate(patches, 1):
        told = f"{condition_in_words(patch, choice_of(patch, choices))}  ->  {effect_in_words(patch, choices, facts)}"
        lines += words.wrapped(f"{place:>3}. ", told)
        lines += words.wrapped(words.INDENT, f"because {patch.because}") if patch.because else []
    return lines


def choice_of(patch: Patch, choices: Sequence[Choice]) -> Choice:
    """The choice that a patch is about."""
    form = "rank" if patch.cap is None else "level"
    return next(choice for choice in choices if choice.form == form)


def condition_in_words(patch: Patch, choice: Choice) -> str:
    """For example `if job_age_s > 600 s and jobs_in_system > 40 jobs`, or `always`."""
    unit = words.units(choice)
    told = [
        f"{written.feature} {written.sign} {number(written.value)} {unit[written.feature]}".rstrip()
        for written in patch.comparisons
    ]
    return f"if {' and '.join(told)}" if told else patch.when


def effect_in_words(patch: Patch, choices: Sequence[Choice], facts: Facts) -> str:
    """What follows for a candidate that meets the conditions."""
    choice = choice_of(patch, choices)
    if patch.cap is not None:
        return f"at most {words.amount(patch.cap, choice, facts)}"
    if patch.do == KEEP_LOCAL:
        return f"keep local: such candidates with {choice.keeps} >= 1 come before all others"
    told = {PREFER: "prefer: such candidates come before all others", AVOID: "avoid: such candidates come last"}
    return told.get(patch.do, f"idle: rather than take such a candidate, {words.meaning(choice, facts)}")
