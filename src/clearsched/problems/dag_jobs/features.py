"""The features of a candidate: one definition for the loop, the decision log, the students and the docs.

A row describes a stage that a decision may choose, the job it belongs to and the cluster. The limit choice reads the
row of the stage that was chosen. The formula of a feature *is* its code: `simulator/rows.py` looks up the quantities,
and the formulas, compiled as they stand here, do the rest. No numba: this is data.
"""

from __future__ import annotations

from clearsched.compiled.feature import Feature

JOB_QUANTITIES = {
    "is_source": "1 if the executors to decide on sit in the job, else 0",
    "held": "executors attached to the job, in transit to it or promised to it from outside, less those decided on",
    "parked": "executors that wait in the job and run nothing, less those decided on",
    "work_left_ms": "sum over its stages of tasks not started x mean duration of a task of the stage",
    "work_ms": "the same over all its tasks",
    "tasks_left": "its tasks that have not started",
    "stages_left": "its stages that are not complete",
    "time_ms": "the simulated time",
    "arrival_ms": "when the job arrived",
    "critical_path_left_ms": "largest work left on one path through its stages",
    "smaller_jobs": "jobs with a candidate that have less work left than this one",
    "weight": "its work left + 5000 ms: a job about to end still counts",
    "smallest_weight": "smallest weight of a job with a candidate",
    "sum_weight": "sum of the weights of all jobs in the system",
    "sqrt_weight": "square root of its weight",
    "sum_sqrt_weight": "sum of these over all jobs in the system",
    "root": "fifth root of its work left + 1000 ms",
    "sum_power_20": "sum of root over all jobs in the system",
    "sum_power_40": "sum of root^2",
    "sum_power_60": "sum of root^3",
    "sum_power_80": "sum of root^4",
    "jobs": "jobs in the system: arrived and not complete",
    "executors": "executors of the cluster",
    "moving_delay_ms": "time that an executor takes to change jobs",
}
"""What the formulas of the columns `job_*` are written in. Times and work (executor-milliseconds) in ms."""

STAGE_QUANTITIES = {
    "waiting_parents": "parents of the stage that are not complete",
    "unstarted": "its tasks that have not started",
    "running": "executors that run it",
    "moving": "executors in transit to it",
    "promised": "executors promised to it",
    "task_ms": "mean duration of one of its tasks",
    "levels_below": "stages on the longest path below it",
    "critical_path_ms": "largest work on a path from it downwards, its own included, done or not",
    "earlier_candidates": "candidates of its job before it: parents complete first, then more levels below, then index",
    "to_decide": "executors that the decision is about",
    "parked_in_all": "sum of parked over all jobs in the system",
    "executors": "executors of the cluster",
    "jobs": "jobs in the system: arrived and not complete",
}
"""What the formulas of the other columns are written in."""

FEATURES = (
    Feature(
        "job_is_source",
        "",
        "1 if the executors to decide on sit in this job: it keeps them without a move",
        "is_source",
        +1,
    ),
    Feature(
        "job_executors",
        "executors",
        "executors it holds (attached, in transit, promised), less those decided on",
        "held",
    ),
    Feature(
        "job_work_left_s",
        "s",
        "work of the job that has not started: tasks x mean duration, in executor-seconds",
        "work_left_ms / 1000",
        -1,
    ),
    Feature("job_work_total_s", "s", "work of the whole job, in executor-seconds", "work_ms / 1000"),
    Feature("job_tasks_left", "tasks", "tasks of the job that have not started", "tasks_left"),
    Feature("job_stages_left", "stages", "stages of the job that are not complete", "stages_left"),
    Feature("job_age_s", "s", "time since the job arrived", "(time_ms - arrival_ms) / 1000"),
    Feature(
        "job_critical_path_s",
        "s",
        "largest work left on one path through its stages, in executor-seconds",
        "critical_path_left_ms / 1000",
    ),
    Feature(
        "job_work_rank",
        "jobs",
        "number of jobs with a candidate that have less work left than this one",
        "smaller_jobs",
        -1,
    ),
    Feature(
        "job_work_to_smallest",
        "",
        "work left relative to the job with a candidate that has least",
        "weight / smallest_weight",
        -1,
    ),
    Feature("job_work_share", "", "its share of the work left of all jobs", "weight / sum_weight", -1),
    Feature(
        "job_sqrt_share",
        "",
        "its share when every job counts with the square root of its work left",
        "sqrt_weight / sum_sqrt_weight",
        -1,
    ),
    Feature(
        "job_sqrt_load",
        "",
        "executors it holds, relative to its square-root share of the cluster",
        "held / (sqrt_weight / sum_sqrt_weight * executors)",
        -1,
    ),
    Feature(
        "job_fair_load",
        "",
        "executors it holds, relative to an equal share of the cluster",
        "held * jobs / executors",
        -1,
    ),
    Feature(
        "job_share_20",
        "",
        "its share when every job counts with its work left to the power 0.2",
        "root / sum_power_20",
        -1,
    ),
    Feature(
        "job_share_40",
        "",
        "its share when every job counts with its work left to the power 0.4",
        "root * root / sum_power_40",
        -1,
    ),
    Feature(
        "job_share_60",
        "",
        "its share when every job counts with its work left to the power 0.6",
        "root * root * root / sum_power_60",
        -1,
    ),
    Feature(
        "job_share_80",
        "",
        "its share when every job counts with its work left to the power 0.8",
        "root * root * root * root / sum_power_80",
        -1,
    ),
    Feature(
        "job_load_20",
        "",
        "executors it holds, relative to its share by its work left to the power 0.2",
        "held / (root / sum_power_20 * executors)",
        -1,
    ),
    Feature(
        "job_load_40",
        "",
        "executors it holds, relative to its share by its work left to the power 0.4",
        "held / (root * root / sum_power_40 * executors)",
        -1,
    ),
    Feature(
        "job_load_60",
        "",
        "executors it holds, relative to its share by its work left to the power 0.6",
        "held / (root * root * root / sum_power_60 * executors)",
        -1,
    ),
    Feature(
        "job_load_80",
        "",
        "executors it holds, relative to its share by its work left to the power 0.8",
        "held / (root * root * root * root / sum_power_80 * executors)",
        -1,
    ),
    Feature(
        "job_load_work",
        "executors/s",
        "executors it holds for each second of its work left: a job that holds many will be done before a move pays",
        "held * 1000 / (work_left_ms + 1)",
        -1,
    ),
    Feature("job_executor_share", "", "executors it holds, as a share of the cluster", "held / executors"),
    Feature(
        "job_work_per_executor_s",
        "s",
        "work left for each executor it holds, if it gets one more",
        "work_left_ms / 1000 / (held + 1)",
    ),
    Feature(
        "job_move_s",
        "s",
        "time that it costs to move an executor to the job: 0 for those that sit in it",
        "(1 - is_source) * moving_delay_ms / 1000",
        -1,
    ),
    Feature(
        "job_parked",
        "executors",
        "executors that wait in the job and run nothing, less those decided on: it holds them, they do no work",
        "parked",
    ),
    Feature(
        "stage_is_ready",
        "",
        "1 if all its parents are complete: its tasks can start at once",
        "waiting_parents == 0",
        +1,
    ),
    Feature("stage_tasks_left", "tasks", "tasks of the stage that have not started", "unstarted"),
    Feature(
        "stage_demand",
        "tasks",
        "tasks of the stage that no executor is meant for yet",
        "unstarted - moving - promised",
    ),
    Feature("stage_task_s", "s", "mean duration of its tasks", "task_ms / 1000"),
    Feature(
        "stage_work_left_s",
        "s",
        "work of the stage that has not started, in executor-seconds",
        "unstarted * task_ms / 1000",
    ),
    Feature("stage_levels_below", "stages", "stages on the longest path below the stage", "levels_below", +1),
    Feature(
        "stage_critical_path_s",
        "s",
        "largest work on a path from it downwards, in executor-seconds",
        "critical_path_ms / 1000",
        +1,
    ),
    Feature(
        "stage_executors",
        "executors",
        "executors that run it, move to it or are promised to it",
        "running + moving + promised",
    ),
    Feature(
        "stage_rank",
        "stages",
        "candidates of its job that come before it: ready first, then more levels below",
        "earlier_candidates",
        -1,
    ),
    Feature(
        "executors_to_decide", "executors", "executors that this decision is about", "to_decide", per_decision=True
    ),
    Feature(
        "parked_share",
        "",
        "executors that wait in jobs and run nothing, less those decided on, as a share of the cluster",
        "parked_in_all / executors",
        per_decision=True,
    ),
    Feature("jobs_in_system", "jobs", "jobs that have arrived and are not complete", "jobs", per_decision=True),
)
NUM_FEATURES = len(FEATURES)
FEATURE_NAMES = tuple(feature.name for feature in FEATURES)
NUM_JOB_FEATURES = sum(name.startswith("job_") for name in FEATURE_NAMES)
"""The features of the job come first: they are computed once for all candidates of the job."""


def docs_table() -> str:
    """The features, and the quantities in their formulas, as the Markdown tables of docs/decisions.md."""
    from clearsched.compiled.features import docs_tables  # it brings numba

    return docs_tables(FEATURES, {" of `job_*`": JOB_QUANTITIES, " of the others": STAGE_QUANTITIES})
