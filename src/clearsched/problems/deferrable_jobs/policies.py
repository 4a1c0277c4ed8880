"""The hand-written policies by name: what files, params, tables and pictures say of them, and where their code is."""

from __future__ import annotations

from clearsched.problems.declarations import Heuristic
from clearsched.registry import Look, Registry

HERE = "clearsched.problems.deferrable_jobs.heuristics"


HEURISTICS = Registry(
    "heuristic",
    (
        Heuristic(
            "fifo",
            "first in, first out",
            Look("#000000", "X"),
            f"{HERE}:fifo",
            (),
            (),
            "the job that arrived first, of those that fit now",
            "folklore",
        ),
        Heuristic(
            "edf",
            "earliest deadline first",
            Look("#56B4E9", "^"),
            f"{HERE}:edf",
            (),
            (),
            "the job with the earliest deadline, of those that fit now",
            "Liu and Layland 1973",
        ),
        Heuristic(
            "least_slack",
            "least slack first",
            Look("#0072B2", "o"),
            f"{HERE}:least_slack",
            (),
            (),
            "the job that may wait least before its deadline is lost, of those that fit now",
            "Mok 1983",
        ),
        Heuristic(
            "shortest",
            "shortest job first",
            Look("#CC79A7", "P"),
            f"{HERE}:shortest",
            (),
            (),
            "the shortest job, of those that fit now",
            "Smith 1956",
        ),
        Heuristic(
            "best_fit",
            "best fit by forecast",
            Look("#7A4B12", "*"),
            f"{HERE}:best_fit",
            (),
            (),
            "the job that by the forecast fits all through its run and leaves least room; nothing if none does",
            "this project",
        ),
        Heuristic(
            "threshold",
            "tuned threshold rule",
            Look("#E69F00", "v"),
            f"{HERE}:threshold",
            ("safety", "slack"),
            (0.0, 0.25),
            "the shortest job beside which the forecast leaves `safety` standard deviations of its error all through "
            "its run, or which may wait less than `slack` times its duration; nothing if there is none",
            "this project",
            section="threshold",
            settings="clearsched.problems.deferrable_jobs.settings:ThresholdParams",
        ),
    ),
)
"""Every heuristic; the position of an entry is its code in the compiled loop."""
