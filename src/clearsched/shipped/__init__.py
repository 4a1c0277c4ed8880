"""Policies that come with the package: found and trained once, a folder here for each scenario, with a model card.

`make` fills a folder from a scenario's results; `take` copies policies out of it into the results of a run that does
not want to search or train itself (`teacher.source`, `search.source`).
"""

from __future__ import annotations

from clearsched.shipped.making import make
from clearsched.shipped.store import CARD, Shipped, find, names, take

__all__ = ["CARD", "Shipped", "find", "make", "names", "take"]
