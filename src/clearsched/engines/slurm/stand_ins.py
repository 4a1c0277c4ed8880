"""What the simulator runs in the place of each way to have Slurm obey a student."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clearsched.problems.declarations import Choice
from clearsched.scorers.patches import STAY_IDLE, Patch
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.scorer import Scorer, read_scorer

FIFO, STATIC, LIVE, LIMITED = POLICIES = ("fifo", "static", "live", "live_limits")
"""Slurm's own order; the rank at submission; from there on the rank, live; rank and limits, live."""


def simulated_policies(policy: ScoredPolicy) -> Mapping[str, Any]:
    """What the simulator runs in the place of each policy."""
    eldest = {"rules": [{"if": "otherwise", "then": 1.0}], "ties": ["-job_age_s"]}
    by_age = replace(policy, scorers={**policy.scorers, policy.rank.name: _scorer(policy.rank, eldest)}, patches=())
    found = {
        FIFO: without_limits(by_age),
        STATIC: without_limits(frozen(policy)),
        LIVE: without_limits(policy),
        LIMITED: policy,
    }
    return {name: replace(each, patches=(*each.patches, READY)) for name, each in found.items()}


READY = Patch("stage_is_ready < 1", STAY_IDLE, because="Slurm gives no core to a stage before its parents have ended")
"""In the simulator cores may be promised ahead of time, and wait in a job: not where Slurm is simulated."""


def without_limits(policy: ScoredPolicy) -> ScoredPolicy:
    """The policy with all executors as the limit of every job."""
    assert policy.level is not None
    whole = _scorer(policy.level, {"rules": [{"if": "otherwise", "then": 1.0}]})
    kept = tuple(patch for patch in policy.patches if patch.cap is None)
    return replace(policy, scorers={**policy.scorers, policy.level.name: whole}, patches=kept)


TOTALS = {"job_work_left_s": "job_work_total_s"}
"""What a feature was when the job was submitted, where that is another one: the static form is simulated with it."""


def frozen(policy: ScoredPolicy) -> ScoredPolicy:
    """The policy with its rank as it was when a job was submitted, as far as features tell that."""
    renamed = _scorer(policy.rank, _renamed(policy.scorers[policy.rank.name].to_json()))
    return replace(policy, scorers={**policy.scorers, policy.rank.name: renamed})


def _scorer(choice: Choice, told: Any) -> Scorer:
    return read_scorer(told, names_of(choice), "stand-in")


def _renamed(value: Any) -> Any:
    """JSON of a scorer with other features."""
    if isinstance(value, dict):
        return {TOTALS.get(key, key): _renamed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_renamed(each) for each in value]
    if isinstance(value, str):
        for old, new in TOTALS.items():
            value = value.replace(old, new)
    return value
