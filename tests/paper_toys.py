"""What the tests of the papers' figures share."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from clearsched.params import Params, parse


def own(scale: str = "smoke", **paper: object) -> Params:
    return parse({"problem": "dag_jobs", "seed": 3, "paper": {"scale": scale, **paper}}, "test")


def read_csv(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
