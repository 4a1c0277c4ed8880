"""What the stages of a Spark job wait for, in logs of versions that did not note it (before Spark 1.5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from clearsched.problems.dag_jobs.traces.spark_eventlog.events import StageInfo


def derive_parents(infos: Sequence[StageInfo]) -> dict[int, list[int]] | None:
    """The parents of every stage that a Spark job lists, by id, from its datasets.

    A stage reads a shuffle of another one if one of its datasets is computed from the dataset that the other one puts
    out, and that is not computed within the stage itself. Every stage but the last is listed because another one
    needs it; if one has no reader after all, the datasets do not tell enough. Of two stages the second reads the
    first.

    Returns:
        The parents; None if they cannot be told.
    """
    infos = sorted(infos, key=lambda info: info.id)  # a stage has a higher id than its parents (SPARK-3353)
    if len(infos) <= 2:
        return {info.id: [before.id for before in infos[:place]] for place, info in enumerate(infos)}
    parents: dict[int, list[int]] = {}
    makers: defaultdict[int, list[int]] = defaultdict(list)  # dataset -> the stages so far that put it out
    for info in infos:
        own = {rdd.id for rdd in info.rdds}
        read = {parent for rdd in info.rdds for parent in rdd.parent_ids or ()} - own
        parents[info.id] = sorted({maker for rdd in read for maker in makers[rdd]})
        if info.rdds:
            makers[info.rdds[0].id].append(info.id)
    readers = {parent for found in parents.values() for parent in found}
    return parents if readers >= {info.id for info in infos[:-1]} else None
