"""Registries refuse what would fail later; policies are told apart in pictures, with any colour vision."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pytest

from clearsched.errors import ClearschedError
from clearsched.evaluation.policies import policies_of
from clearsched.figures.style import PALETTE
from clearsched.problems import PROBLEMS, find_problem
from clearsched.registry import Look, Registry, load


class Entry(NamedTuple):
    """An entry with nothing to it."""

    name: str
    label: str = "a label"


def test_entries_are_found_by_name_in_their_order() -> None:
    registry = Registry("fruit", (Entry("pear"), Entry("apple")))
    assert list(registry) == ["pear", "apple"] and len(registry) == 2
    assert registry["apple"].name == "apple" and "plum" not in registry


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ((Entry("pear", ""),), "fruit pear: its registry entry has no label: give it one"),
        ((Entry("pear", "  "),), "fruit pear: its registry entry has no label: give it one"),
        ((Entry(" "),), "fruit: an entry has no name: Entry(name=' ', label='a label')"),
        ((Entry("pear"), Entry("apple"), Entry("pear")), "fruit pear: stands twice in the registry"),
    ],
)
def test_entries_without_name_or_label_and_twins_are_refused(entries: tuple[Entry, ...], message: str) -> None:
    with pytest.raises(ClearschedError) as caught:
        Registry("fruit", entries)
    assert str(caught.value) == message


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    registry = Registry("fruit", (Entry("pear"), Entry("apple")))
    with pytest.raises(ClearschedError) as caught:
        _ = registry["aple"]
    assert str(caught.value) == "unknown fruit 'aple': known are pear, apple; did you mean apple?"
    with pytest.raises(ClearschedError, match=r"known are pear, apple$"):
        _ = registry["zzz"]


def test_code_is_loaded_by_its_path() -> None:
    assert load("clearsched.registry:Registry") is Registry


VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
"""What is seen of a colour, linear RGB: Machado, Oliveira and Fernandes, A Physiologically-based Model for Simulation
of Color Vision Deficiency, IEEE TVCG 15(6), 2009, table 1, severity 1.0."""

TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
"""From linear sRGB to CIE XYZ (IEC 61966-2-1)."""

WHITE = np.array([0.95047, 1.0, 1.08883])  # D65

FAR = 30.0
"""Least distance in CIE Lab (1976) of two colours that one marker may have; about 2 can just be told apart side by side
in large fields, small marks on a page need many times as much."""


def seen(colour: str, vision: str) -> np.ndarray:
    """float64[3]: CIE L*a*b* of a colour "#RRGGBB" as a vision sees it."""
    values = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    ratio = TO_XYZ @ np.clip(VISIONS[vision] @ linear, 0.0, 1.0) / WHITE
    x, y, z = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(one: Look, other: Look) -> float:
    """How far two colours are apart for whoever sees them nearest."""
    return min(float(np.linalg.norm(seen(one.colour, name) - seen(other.colour, name))) for name in VISIONS)


def alike(looks: dict[str, Look]) -> list[str]:
    """Pairs that a reader might take for each other."""
    return [
        f"{one} and {other}: both {looks[one].marker}, {distance(looks[one], looks[other]):.0f} apart"
        for one, other in itertools.combinations(looks, 2)
        if looks[one].marker == looks[other].marker and distance(looks[one], looks[other]) < FAR
    ]


def test_colours_are_measured_as_the_standard_says() -> None:
    """White is 100, 0, 0 for everybody; the red of sRGB is 53.2, 80.1, 67.2; red and green are near to some."""
    for vision in VISIONS:
        assert seen("#FFFFFF", vision) == pytest.approx([100, 0, 0], abs=0.1)
    assert seen("#FF0000", "normal") == pytest.approx([53.24, 80.09, 67.20], abs=0.05)
    pair = Look("#B35A00", "o"), Look("#6B7A00", "o")
    assert np.linalg.norm(seen(pair[0].colour, "normal") - seen(pair[1].colour, "normal")) > FAR > distance(*pair)
    assert alike({"a": pair[0], "b": pair[1]}) and not alike({"a": pair[0], "b": pair[1]._replace(marker="s")})


def test_the_palette_has_looks_that_nobody_mistakes() -> None:
    assert len(set(PALETTE)) == len(PALETTE) == 24
    assert alike({f"{look.colour} {look.marker}": look for look in PALETTE}) == []


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_policies_of_a_problem_are_told_apart_in_pictures(problem: str) -> None:
    looks = {policy.name: policy.look for policy in policies_of(find_problem(problem)).values()}
    assert alike(looks) == [], "take other looks from clearsched.figures.style.PALETTE"
