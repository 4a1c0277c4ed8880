"""What a policy is called in tables, sentences and pictures."""

from __future__ import annotations

KINDS = ("heuristic", "teacher", "student")
"""The kinds of policy, in the order in which they are told."""

LABELS = {
    "fifo": "FIFO",
    "sjf_cp": "SJF-CP",
    "fair": "fair",
    "weighted_fair": "tuned weighted fair",
    "wsjf": "tuned weighted SJF",
    "capped_srpt": "tuned capped SRPT",
    "local_srpt": "tuned local SRPT",
    "teacher": "teacher",
    "rule_list": "rule list",
    "boosted_trees": "boosted trees",
}
"""Written names of the policies that have one; any other policy is written as it is registered."""


def label(policy: str) -> str:
    """The written name of a policy; the registered name with spaces where none is known."""
    return LABELS.get(policy, policy.replace("_", " "))


def format_settings(settings: dict[str, float] | None) -> str:
    """Tuned parameters as "name=value, ..."; empty when there are none."""
    return ", ".join(f"{name}={value:g}" for name, value in (settings or {}).items())
