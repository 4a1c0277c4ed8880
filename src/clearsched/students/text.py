"""A student written out for a person: how each choice is answered, and what the features mean, with units."""

from __future__ import annotations

from clearsched.scorers import words
from clearsched.students.policy import Student


def render(student: Student) -> str:
    """The policy as text; its numbers are those that run."""
    facts = {"most": student.evidence.get("most", 0), "none": student.none}
    lines = [f"Student {student.name}", "=" * (8 + len(student.name))]
    used: set[str] = set()
    features = {}
    for choice in student.problem.choices:
        scorer = student.scorers[choice.name]
        lines += ["", *scorer.render(choice, facts)]
        used |= set(scorer.used)
        features.update({feature.name: feature for feature in choice.features})
    if used:
        told = [feature for name, feature in features.items() if name in used]
        lines += ["", "What the features are", "", *words.glossary(told)]
    return "\n".join(lines) + "\n"
