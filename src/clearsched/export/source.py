"""What every format begins with: the policy, its program, and what the file says of its origin."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from clearsched import __version__
from clearsched.documents import is_number
from clearsched.errors import ClearschedError
from clearsched.export.lowering import guard_refused, program_of
from clearsched.export.program import Program
from clearsched.problems.declarations import Measure
from clearsched.scorers import words
from clearsched.scorers.policy import ScoredPolicy, load_policy

WIDTH = 100

LICENCE = (
    "Licence: what stands around the rules is clearsched's, Apache-2.0, like the policies that come with it; rules "
    "that you fitted are yours."
)


@dataclass(frozen=True)
class Source:
    """A student that is exported.

    Attributes:
        path: its file.
        policy: what it holds.
        label: of the format.
        out: the file that is written.
    """

    path: Path
    policy: ScoredPolicy
    label: str
    out: Path

    @cached_property
    def program(self) -> Program:
        """The rules for a language."""
        return program_of(self.policy)

    @property
    def unguarded(self) -> Program:
        """The rules for a form that can't tell when a guard's heuristic takes over.

        Raises:
            ClearschedError: there is a guard.
        """
        if self.program.guard:
            raise guard_refused(self.policy.where, self.label)
        return self.program

    @property
    def units(self) -> dict[str, str]:
        """The unit of each feature that the program asks for."""
        return {feature.name: feature.unit for feature in self.program.features}

    def header(self) -> list[str]:
        """What the file says of itself, in lines: title, origin, results, licence."""
        evidence = self.policy.evidence
        found = [f"{self.program.title}, as {self.label}."]
        found += ["", f"Written by clearsched {__version__}; change the student and export it again, not this file."]
        digest = hashlib.sha256(self.path.read_bytes()).hexdigest()
        found += ["", f"From: {self.path.name}, sha256 {digest}"]
        found += origin(evidence.get("provenance"))
        found += _results(evidence, {measure.name: measure for measure in self.policy.problem.measures})
        return wrapped(found, LICENCE)

    def features(self) -> list[str]:
        """What the features are, with units, in lines; and what a level is."""
        if not self.program.features:
            return []
        return ["Features", "", *words.glossary(self.program.features)]

    def identifier(self, reserved: Collection[str] = ()) -> str:
        """The name of the file that is written, as a name in code.

        Raises:
            ClearschedError: it begins with a digit, or is a word of the language.
        """
        name = re.sub(r"\W", "_", self.out.name.partition(".")[0], flags=re.ASCII)
        if not re.match(r"[A-Za-z]", name) or name in reserved:
            raise ClearschedError(
                f"{self.out}: {self.label} names what is in it after the file, and {name!r} is no name there: begin "
                "with a letter, and take no word of the language"
            )
        return name


def read_source(path: Path, label: str, out: Path) -> Source:
    """A student's file for a format.

    Raises:
        ClearschedError: see `scorers.policy.load_policy`.
    """
    return Source(path, load_policy(path), label, out)


def wrapped(lines: Sequence[str], licence: str) -> list[str]:
    """What a file says of itself, and its licence, in lines of one width."""
    return [
        *(line for text in lines for line in textwrap.wrap(text, WIDTH, subsequent_indent="  ") or [""]),
        "",
        *textwrap.wrap(licence, WIDTH),
    ]


def origin(told: Any) -> list[str]:
    """How it was made, as far as its file says."""
    if not isinstance(told, Mapping):
        return []
    lines = []
    made = f"Made by clearsched {told['version']}" if "version" in told else "Made"
    lines.append(made + (f" from the decisions of {told['expert']}" if "expert" in told else ""))
    inputs = told.get("inputs")
    if isinstance(inputs, Mapping) and inputs:
        digests = ", ".join(f"{name} {digest}" for name, digest in inputs.items())
        lines.append(f"Inputs, the first digits of their sha256: {digests}")
    return lines


def _results(evidence: Mapping[str, Any], measures: Mapping[str, Measure]) -> list[str]:
    """What it came to, as far as its file says."""
    found = []
    told = evidence.get("validation")
    if isinstance(told, Mapping) and {"measure", "value"} <= set(told):
        value = measured(told["measure"], told["value"], measures)
        episodes = f" on {told['episodes']} validation episodes" if "episodes" in told else ""
        best = f"; of the best heuristic {told['heuristic']}" if "heuristic" in told else ""
        found.append(f"Result: {value}{episodes}{best}")
    for name in measures:
        distilled, unseen = evidence.get(f"validation_{name}"), evidence.get(f"unseen_{name}")
        known = [*(distilled if isinstance(distilled, list) else []), *([unseen] if is_number(unseen) else [])]
        if known:
            found.append(f"Result: {measured(name, known[-1], measures)} on validation episodes")
    stress = evidence.get("stress")
    if isinstance(stress, Mapping) and {"heuristic", "worst"} <= set(stress):
        count = f" of {stress['episodes']} training and stressed ones" if "episodes" in stress else ""
        found.append(f"Worst episode{count}: {stress['worst']} times {stress['heuristic']}")
    return found


def measured(name: str, value: Any, measures: Mapping[str, Measure]) -> str:
    """A result with its unit."""
    if name not in measures:
        return f"{name} {value}"
    return f"{measures[name].label} {value} {measures[name].unit}".rstrip()
