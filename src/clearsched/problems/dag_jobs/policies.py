"""The hand-written policies by name: all that is said of them, but for their code, which is in heuristics.py."""

from __future__ import annotations

from clearsched.problems.declarations import Family, Heuristic
from clearsched.registry import Look, Registry

CODE = "clearsched.problems.dag_jobs.heuristics"
GRIDS = "clearsched.problems.dag_jobs.settings.heuristics"

HEURISTICS = Registry(
    "heuristic",
    (
        Heuristic(
            "fifo",
            "FIFO",
            Look("#000000", "X"),
            f"{CODE}:fifo",
            (),
            (),
            "jobs in order of arrival, each as many executors as it can use",
            "Spark; Mao et al. 2019, §7.1",
        ),
        Heuristic(
            "sjf_cp",
            "SJF-CP",
            Look("#CC79A7", "P"),
            f"{CODE}:sjf_cp",
            (),
            (),
            "all executors to the job with least work left, on it to the ready stage with the longest critical path",
            "after Mao et al. 2019, §7.1",
        ),
        Heuristic(
            "fair",
            "fair",
            Look("#56B4E9", "^"),
            f"{CODE}:weighted_fair",
            ("alpha",),
            (0.0,),
            "every job an equal share of the executors",
            "Spark; Mao et al. 2019, §7.1",
            shown=False,
        ),
        Heuristic(
            "weighted_fair",
            "tuned weighted fair",
            Look("#0072B2", "o"),
            f"{CODE}:weighted_fair",
            ("alpha",),
            (-1.0,),
            "every job a share of the executors proportional to its total work to the power alpha",
            "Mao et al. 2019, §7.1",
            "weighted_fair",
            f"{GRIDS}:WeightedFairParams",
        ),
        Heuristic(
            "wsjf",
            "tuned weighted SJF",
            Look("#E69F00", "v"),
            f"{CODE}:wsjf",
            ("alpha",),
            (-1.0,),
            "the job with least total work first, up to its weighted fair share",
            "this project, after Mao et al. 2019, §7.1",
            "weighted_fair",
            f"{GRIDS}:WeightedFairParams",
        ),
        Heuristic(
            "capped_srpt",
            "tuned capped SRPT",
            Look("#000000", "P"),
            f"{CODE}:capped_srpt",
            ("p", "m"),
            (0.4, 3.0),
            "the job with least work left first, up to m times its share of the work left to the power p",
            "this project; after SRPT, Schrage 1968",
            "capped_srpt",
            f"{GRIDS}:CappedSrptParams",
        ),
        Heuristic(
            "local_srpt",
            "tuned local SRPT",
            Look("#7A4B12", "*"),
            f"{CODE}:local_srpt",
            ("p", "m"),
            (0.4, 1.0),
            "freed executors stay in their job while it has a stage to run; else as capped SRPT",
            "this project; Spark's locality with capped SRPT",
            "capped_srpt",
            f"{GRIDS}:CappedSrptParams",
        ),
    ),
)

FAMILIES = Registry(
    "family",
    (
        Family(
            "stay_and_move",
            "stay-and-move",
            Look("#D55E00", "o"),
            "clearsched.problems.dag_jobs.families:StayAndMove",
            "executors stay in their job below a cap, else move to the smallest job below another, else idle or remain",
        ),
        Family(
            "smallest_first",
            "smallest first",
            Look("#D55E00", ">"),
            "clearsched.problems.dag_jobs.families:SmallestFirst",
            "executors go to the smallest job below a cap, wherever they sit, else idle or remain",
        ),
        Family(
            "minimum_share",
            "minimum share",
            Look("#D55E00", "X"),
            "clearsched.problems.dag_jobs.families:MinimumShare",
            "as stay-and-move, after every job that can use it holds its share of an equal one",
        ),
        Family(
            "reserve",
            "reserve",
            Look("#D55E00", "P"),
            "clearsched.problems.dag_jobs.families:Reserve",
            "as stay-and-move, but a large job leaves a part of the executors that are free to smaller ones",
        ),
    ),
)
"""Forms of policy of this problem's own that `clearsched search` finds the numbers of."""

CODES = {name: code for code, name in enumerate(HEURISTICS)}
"""How the compiled loop calls them."""

LEARNED = len(CODES)
"""The code of a policy that scores."""
