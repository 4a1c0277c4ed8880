"""The features of a candidate: one definition for the loop, the decision log, the students and the docs.

A row describes a job that may start now and the cluster. The formula of a feature *is* its code: `simulator/rows.py`
looks up the quantities, and the formulas, compiled as they stand here, do the rest. No numba: this is data.
"""

from __future__ import annotations

from clearsched.compiled.feature import Feature

QUANTITIES = {
    "cpu": "demand of the job, millicores",
    "duration": "slots that it runs",
    "waited": "slots since it arrived",
    "slack": "slots that it may still wait and meet its deadline; below 0: it is too late",
    "evictions": "how often it was evicted",
    "shorter": "candidates of shorter duration",
    "more_urgent": "candidates of less slack",
    "room_now": "millicores that are free in this slot",
    "margin": "millicores left beside the job in the slot of its run where the forecast leaves least",
    "mean_margin": "millicores left beside it on average over its run, by the forecast",
    "safety": "least margin in standard deviations of the forecast's error, over the slots after this one; -9 to 9",
    "ending": "millicores of running jobs that end before this job would",
    "used": "millicores of the running jobs",
    "capacity": "millicores that on-demand work leaves in this slot",
    "foreseen": "the same on average over the slots of the forecast after this one",
    "cluster": "millicores of the cluster",
    "waiting": "jobs that wait",
    "running": "jobs that run",
    "waiting_cpu": "demand of all jobs that wait, millicores",
    "hour": "time of the day, in hours of 24",
    "slot_s": "length of a slot, s",
}
"""What the formulas are written in."""

FEATURES = (
    Feature("job_cpu", "cores", "what the job takes while it runs", "cpu / 1000", -1),
    Feature("job_cpu_share", "", "the same as a share of what is free now", "cpu / max(room_now, 1)", -1),
    Feature("job_duration_min", "min", "how long it runs, without a break", "duration * slot_s / 60", -1),
    Feature("job_waited_min", "min", "time since it arrived", "waited * slot_s / 60", +1),
    Feature("job_waited_relative", "", "the same relative to its duration", "waited / duration", +1),
    Feature(
        "job_slack_min",
        "min",
        "how long it may still wait and meet its deadline; negative: too late",
        "slack * slot_s / 60",
    ),
    Feature("job_slack_relative", "", "the same relative to its duration", "slack / duration"),
    Feature("job_is_late", "", "1 if its deadline is lost", "slack < 0"),
    Feature("job_evictions", "evictions", "how often it was evicted", "evictions"),
    Feature("job_duration_rank", "jobs", "number of candidates of shorter duration", "shorter", -1),
    Feature("job_slack_rank", "jobs", "number of candidates with less slack", "more_urgent"),
    Feature("room_now", "cores", "left beside the job in this slot", "(room_now - cpu) / 1000", +1),
    Feature(
        "room_least",
        "cores",
        "left beside the job in the slot of its run where the forecast leaves least",
        "margin / 1000",
        +1,
    ),
    Feature("room_mean", "cores", "left beside it on average over its run, by the forecast", "mean_margin / 1000", +1),
    Feature(
        "room_safety",
        "",
        "least room in standard deviations of the forecast's error, over its run after this slot; -9 to 9",
        "safety",
        +1,
    ),
    Feature("room_ending", "cores", "what running jobs give back before it would end", "ending / 1000"),
    Feature("cluster_used_share", "", "share of the capacity that running jobs take now", "used / max(capacity, 1)"),
    Feature("cluster_capacity_share", "", "share of the cores that on-demand work leaves now", "capacity / cluster"),
    Feature(
        "cluster_foreseen_change",
        "",
        "mean capacity foreseen for the next slots less that of now, as a share of the cores",
        "(foreseen - capacity) / cluster",
    ),
    Feature("cluster_waiting", "jobs", "jobs that wait", "waiting"),
    Feature("cluster_running", "jobs", "jobs that run", "running"),
    Feature(
        "cluster_waiting_share",
        "",
        "what all jobs that wait ask for, relative to the capacity",
        "waiting_cpu / max(capacity, 1)",
    ),
    Feature("cluster_hour", "h", "time of the day", "hour"),
)

FEATURE_NAMES = [feature.name for feature in FEATURES]

NUM_FEATURES = len(FEATURES)
