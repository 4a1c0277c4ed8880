"""What the jobs of the same code are called, whatever their run, their day or their data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from clearsched.problems.dag_jobs.traces.spark_eventlog.application import Application
from clearsched.problems.dag_jobs.traces.spark_eventlog.blanking import blank, is_sparks_own
from clearsched.problems.dag_jobs.traces.spark_eventlog.dag import Dag
from clearsched.problems.dag_jobs.traces.spark_eventlog.records import DESCRIPTION, SparkJob

LABEL_LENGTH = 60


def template_of(application: Application, jobs: Sequence[SparkJob], dag: Dag) -> str:
    """A name that jobs of the same code share: what it is called, and a digest of that and of the shape of its DAG.

    Numbers and ids are blanked, so that the run, the date or the threshold does not matter. The digest covers the whole
    description, which stage reads which, and of each stage its name and its operations; not the numbers of tasks, nor
    the edges that come from the times at which Spark jobs happened to start and end.
    """
    called = blank(" ".join(_called(application, jobs, dag).split()))
    # The digest of a stage covers its ancestors, so that the order of stages that run side by side does not matter.
    digests: list[str] = []
    for stage, parents in zip(dag.stages, dag.reads, strict=True):
        digests.append(_digest([stage.shape, *sorted(digests[parent] for parent in parents)]))
    return f"{called[:LABEL_LENGTH].strip()} {_digest([called, *sorted(digests)])}"


def _called(application: Application, jobs: Sequence[SparkJob], dag: Dag) -> str:
    """The description that the user gave, else that of the SQL execution, else the call that submitted the last stage.

    Spark puts descriptions of its own into the Spark jobs that list files or broadcast a table; they tell nothing of
    the query. Where the SQL execution has the user's description (Spark 3 and later), others are of such kinds too.
    """
    given = [text for job in jobs if (text := job.properties.get(DESCRIPTION))]
    own = [text for text in given if not is_sparks_own(text)]
    execution = application.execution_of(jobs[0])
    executed = "" if execution is None else application.descriptions.get(execution, "")
    if executed in own:
        return executed
    return next(iter([*own, *filter(None, [executed]), *given]), dag.stages[-1].shape.split(";")[0])


def _digest(words: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(words).encode(errors="replace")).hexdigest()[:8]
