"""What is in the folders of shipped policies: finding one, checking it, copying it out."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from clearsched.errors import ClearschedError
from clearsched.files import digest_bytes, digest_file, digest_json, read_json, write_bytes
from clearsched.problems.problem import Problem

FOLDER = Path(__file__).parent
"""A folder a scenario."""

CARD = "card.json"
"""What a folder says of itself; `card.md` is the same for a reader."""

FORMAT = 1
"""Grows when a card written before can no longer be read."""

TEACHER = "teacher"


class Shipped(NamedTuple):
    """The shipped policies of a scenario.

    Attributes:
        name: of the scenario.
        folder: where they lie.
        card: what `making.make` wrote, JSON values.
    """

    name: str
    folder: Path
    card: Mapping[str, Any]

    @property
    def policies(self) -> list[str]:
        """The teacher, if it is there, and the families of searched policies."""
        return list(self.card["policies"])

    def read(self, file: str) -> bytes:
        """A file's bytes.

        Raises:
            ClearschedError: it is missing, or not the file that the card was written for.
        """
        path = self.folder / file
        try:
            data = path.read_bytes()
        except OSError:
            raise ClearschedError(f"{path}: no such file, though {CARD} lists it: install clearsched again") from None
        if digest_bytes(data) != self.card["files"][file]:
            raise ClearschedError(f"{path}: changed since {CARD} was written: install clearsched again")
        return data

    def copy(self, policy: str, out: Path) -> list[Path]:
        """Write a policy's files to the folder `out`, under their own names; return where they are.

        Raises:
            ClearschedError: the policy is not shipped, or a file is damaged; then nothing is written.
        """
        if policy not in self.policies:
            there = ", ".join(self.policies) + near(policy, self.policies)
            raise ClearschedError(f"shipped policies {self.name!r} hold no {policy}: they hold {there}")
        read = {file: self.read(file) for file in self.card["policies"][policy]["files"]}
        written = []
        for file, data in read.items():
            write_bytes(out / file, data)
            written.append(out / file)
        return written


def near(name: str, known: list[str]) -> str:
    """The nearest of the names that are known, in words; nothing if none is near."""
    found = get_close_matches(name, known, 1)
    return f"; did you mean {found[0]}?" if found else ""


def names() -> list[str]:
    """The scenarios whose policies are shipped."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{CARD}"))


def find(name: str) -> Shipped:
    """The shipped policies of a scenario.

    Raises:
        ClearschedError: there are none of that name, or their card is of another format.
    """
    known = names()
    if name not in known:
        there = f"known are {', '.join(known)}" if known else "there are none yet: `clearsched shipped make`"
        raise ClearschedError(f"no shipped policies {name!r}: {there}{near(name, known)}")
    folder = FOLDER / name
    card = read_json(folder / CARD)
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise ClearschedError(f"{folder / CARD}: of another version of clearsched: make it anew")
    return Shipped(name, folder, card)


def features_of(problem: Problem) -> dict[str, dict[str, str]]:
    """What each feature of each choice means: a digest of its unit and formula."""
    return {
        choice.name: {feature.name: digest_json([feature.unit, feature.formula]) for feature in choice.features}
        for choice in problem.choices
    }


def check(shipped: Shipped, problem: Problem) -> None:
    """Refuse policies that cannot be of use to a problem.

    Raises:
        ClearschedError: they are for another problem, or read a feature that is gone or means something else by now.
    """
    where = f"shipped policies {shipped.name!r}"
    if shipped.card["problem"] != problem.name:
        raise ClearschedError(f"{where}: they schedule {shipped.card['problem']}, not {problem.name}")
    now = features_of(problem)
    for choice, features in shipped.card["features"].items():
        for feature, meaning in features.items():
            if now.get(choice, {}).get(feature) != meaning:
                raise ClearschedError(
                    f"{where}: {choice}: the feature {feature} has another meaning in this version of clearsched: make "
                    f"them anew: {shipped.card['command'][0]}"
                )


def strangeness(shipped: Shipped, trace: Path, workloads: Path) -> list[str]:
    """In what the data differ from those that the policies were made from, in sentences; none if they are the same."""
    told = []
    for path, data in ((trace, "trace"), (workloads, "workloads")):
        known = shipped.card["data"][data]
        if digest_file(path) != known:
            told.append(f"{path} is not the data that {shipped.name!r} was made from ({data} {known})")
    return told


def take(name: str, policy: str, problem: Problem, trace: Path, workloads: Path, out: Path) -> list[str]:
    """Copy a shipped policy into the results of a run.

    Args:
        name: scenario of the shipped policies.
        policy: "teacher", or a family of searched policies.
        problem: what is scheduled.
        trace, workloads: the run's own data, which may be others: the policies then meet them as they are.
        out: folder of the stage's results.

    Returns:
        Warnings, a sentence each: that they were made from other data.

    Raises:
        ClearschedError: nothing of that name is shipped, it is for another problem or other features, or is damaged.
    """
    shipped = find(name)
    check(shipped, problem)
    shipped.copy(policy, Path(out))
    return strangeness(shipped, trace, workloads)
