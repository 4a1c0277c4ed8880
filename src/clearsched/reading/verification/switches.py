"""The cases of a switch, each in the part of the box in which it answers: there it is verified as if it were alone.

A case has one condition, so what is left of the box for it is one region. Conditions ask for what all candidates of a
decision share: two candidates never fall under two cases.
"""

from __future__ import annotations

import numpy as np

from clearsched.reading.verification.box import Box, Region, whole_region, within
from clearsched.scorers.conditions import Condition
from clearsched.scorers.switch import Switch


def regions_of(scorer: Switch, region: Region, box: Box) -> list[Region | None]:
    """Where in a region each case answers; None: nowhere."""
    found: list[Region | None] = []
    before: list[Condition] = []
    for case in scorer.cases:
        own = [] if case.condition is None else [case.condition]
        found.append(within(region, [*before, *own], box))
        before += [condition._replace(below=not condition.below) for condition in own]
    return found


def boxes_of(scorer: Switch, box: Box) -> list[Box | None]:
    """What features can be where each case answers; None: it never does."""
    return [region and _box(region, box) for region in regions_of(scorer, whole_region(box), box)]


def _box(region: Region, box: Box) -> Box:
    """The least and the most of a region of a box."""
    most = [box.before(f, high) if np.isfinite(high) else high for f, high in enumerate(region.high.tolist())]
    return Box(region.low, np.array(most), box.whole, np.clip(box.usual, region.low, most))
