"""What the papers say: published numbers as facts, each with its source, beside where ours is found.

A claim is judged by `judging.judge`, by one rule; nothing here says how it came out.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from clearsched.paper.experiments import ABLATION_LOADS
from clearsched.paper.kinds import DECIMA, HU, METIS
from clearsched.registry import Registry

EXPLANATION = "Multi-level explanation (Zhang et al. 2022)"


class Claim(NamedTuple):
    """A headline number of a paper, and the mark of a figure of ours that it is held against.

    `form`: `value`, a measured number; `at_most` or `at_least`, a bound that is claimed.
    """

    name: str
    label: str  # what is claimed, in words
    paper: str
    source: str  # where it stands
    setting: str  # of the paper
    published: float
    unit: str
    better: Literal["lower", "higher"]
    form: Literal["value", "at_most", "at_least"] = "value"
    figure: str = ""  # of ours; empty: nothing here is held against it
    panel: str = ""
    policy: str = ""  # empty: any
    x: str = ""
    run: str = ""  # of the figure (`kinds.runs_of`), whose setting ours is; empty: its only one
    why_not: str = ""  # why ours is another quantity, if it is: then it is not comparable whatever it is


CLUSTER = "25 machines, 50 executors, TPC-H on Spark"

LOGGED = "imitated, paper/fidelity.parquet"
"""The run of hu_fidelity in which students as distilled are asked what the network was asked."""

CLAIMS: Registry[Claim] = Registry(
    "claim",
    (
        Claim(
            "batch", "learned policy to tuned weighted fair, batches", DECIMA, "§7.2, fig. 9a", CLUSTER,
            -21.0, "%", "lower", "value", "decima_batch", "difference_percent", "teacher", "weighted_fair",
        ),
        Claim(
            "batch_rules", "the rules distilled here to tuned weighted fair, batches", DECIMA,
            "§7.2, fig. 9a", CLUSTER,
            -21.0, "%", "lower", "value", "decima_batch", "difference_percent", "rule_list", "weighted_fair",
        ),
        Claim(
            "stream", "learned policy to tuned weighted fair, streams", DECIMA, "§7.2, fig. 9b", CLUSTER,
            -29.0, "%", "lower", "value", "decima_stream", "difference_percent", "teacher", "weighted_fair",
        ),
        Claim(
            "stream_rules", "the rules distilled here to tuned weighted fair, streams", DECIMA,
            "§7.2, fig. 9b", CLUSTER,
            -29.0, "%", "lower", "value", "decima_stream", "difference_percent", "rule_list", "weighted_fair",
        ),
        Claim(
            "fair_to_fifo", "FIFO's mean JCT next to fair's, batches", DECIMA, "§7.2, fig. 9a", CLUSTER,
            2.5, "times", "higher", "value", "decima_batch", "ratio", "fifo", "fair",
        ),
        Claim(
            "table_2_fair", "tuned weighted fair", DECIMA, "table 2", "simulated streams, one job every 45 s",
            91.2, "s", "lower", "value", "decima_rates", "mean_jct_s", "weighted_fair", "", "rate_same",
            why_not="seconds of another trace and arrival rate; percentages are held instead",
        ),
        *(
            Claim(
                f"table_2_{name}", f"network trained on {words}, to tuned weighted fair", DECIMA, "table 2",
                "simulated streams, one job every 45 s", round(100 * (seconds / 91.2 - 1), 1), "%", "lower",
                "value", "decima_rates", "difference_percent", "teacher", x, x,
            )
            for name, words, seconds, x in (
                ("same", "the test's rate", 65.4, "rate_same"),
                ("another", "a rate 5/3 times as slow", 104.8, "rate_other"),
                ("mixed", "mixed rates", 82.3, "rate_mixed"),
                ("told", "mixed rates with the rate as an input", 76.6, "rate_told"),
            )
        ),
        *(
            Claim(
                f"baseline_{load}", f"without the input-dependent baseline, mean JCT at {load} % load", DECIMA,
                "fig. 14", "simulated streams, loads above 75 %", 2.0, "times", "higher", "value", "decima_ablation",
                "ratio_to_whole", "baseline", str(load), f"ablated_baseline_{load}",
            )
            for load in ABLATION_LOADS
            if load > 75
        ),
        Claim(
            "industrial", "mean JCT of a learned policy next to tuned weighted fair's, industrial trace", DECIMA,
            "§7.3",
            "20,000 jobs of Alibaba, CPU and memory", float("nan"), "times", "lower", "value", "decima_industrial",
            "ratio", "teacher", "weighted_fair",
            why_not="there jobs ask for memory too; here they have one resource, and published marginals alone",
        ),
        Claim(
            "latency", "time to a decision of the network", DECIMA, "§7.5, fig. 15b", "on a machine of 2019",
            15.0, "ms", "lower", "at_most", "decima_latency", "latency_ms", "teacher",
        ),
        Claim(
            "parameters", "numbers in the network", DECIMA, "§6", "the network of the paper",
            12_736.0, "numbers", "lower", "value", "metis_latency", "parameters", "teacher",
            why_not="a network of another make: how large it is was chosen, not measured",
        ),
        Claim(
            "hu_fidelity", "students answer nearly always as the network", HU, "abstract", "its simulator",
            float("nan"), "", "higher", "value", "hu_fidelity", "top1", "rule_list",
            "stage, all decisions, as distilled", LOGGED,
            why_not="no number is public",
        ),
        Claim(
            "hu_heuristics", "rules with a heuristic added to the network, where the heuristic is for", HU, "abstract",
            "its simulator; no number is public", 0.0, "%", "lower", "at_most", "hu_patch", "to_network_percent",
            "rule_list_patched", "patched_slow", "patched_slow",
        ),
        Claim(
            "metis_latency", "a tree decides so many times as fast as its network", METIS, "abstract",
            "a network for video rates", 27.0, "times", "higher", "value", "metis_latency",
            "slowest_student_times_faster",
            "", "teacher", why_not="another system and network: the factor tells of its hardware and size as well",
        ),
        Claim(
            "forest_top1", "a forest answers real choices as the scheduler", EXPLANATION, "its experiments",
            "logs of another scheduler", 0.44, "", "higher", "value", "hu_fidelity", "top1", "pairwise_forest",
            "stage, real choices, as distilled", LOGGED, why_not="another scheduler, log and features",
        ),
    ),
)  # fmt: skip


def figures_claimed() -> list[str]:
    """The figures whose CSVs claims are read from."""
    return list(dict.fromkeys(claim.figure for claim in CLAIMS.values() if claim.figure))
