"""How many cores a task of a stage takes."""

from __future__ import annotations

from math import isfinite

from clearsched.problems.dag_jobs.traces.spark_eventlog.absurd import MAX_CORES, AbsurdError
from clearsched.problems.dag_jobs.traces.spark_eventlog.application import Application
from clearsched.problems.dag_jobs.traces.spark_eventlog.records import TASK_CPUS, Stage


def task_cpus(application: Application, stage: Stage) -> float:
    """Cores that a task of the stage asks for, at least 1.

    The stage's resource profile tells it (Spark 3.1 and later), else `spark.task.cpus` among the properties of its
    Spark job, else in the configuration of the application. A value that is no number, for example one that was
    blacked out, is passed over.

    Raises:
        AbsurdError: it is not finite, not positive, or more than any machine has.
    """
    asked = application.profiles.get(stage.profile)
    if asked is None:
        job = application.jobs.get(stage.job)
        given = (job and job.properties.get(TASK_CPUS)) or application.task_cpus
        try:
            asked = float(given or 1)
        except ValueError:
            asked = 1.0
    if not (isfinite(asked) and 0 < asked <= MAX_CORES):
        raise AbsurdError(f"a task of {asked:g} cores")
    return max(asked, 1.0)
