"""The process that is a Spark application: it submits the jobs of a plan, each from a thread of its own.

Started by `applications` as `python -m <this module> PLAN`, a JSON file: `conf` (Spark settings), `executors` (how many
to wait for), `fair` (whether each job has a pool of its own), `episodes`: a name and jobs of `arrival_ms`, `name`,
`pool`, `template`, `dag` (what the jar is told) and `text`, which `replay.Replay` reads. An episode begins when the one
before it has ended. Lines of standard output that begin with `ANSWER` say how far it is.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

ANSWER = "clearsched-answer "
WARM_UP = ":5,5,5,5,5,5,5,5;0:5,5,5,5"
WARM_UPS = 20
"""Little jobs before the first episode: they load the classes, and compile what every task runs."""

GROUP = "spark.jobGroup.id"
POOL = "spark.scheduler.pool"
JOB, TEMPLATE, DAG = "clearsched.job", "clearsched.template", "clearsched.dag"
LEAD_S = 0.5


def main(plan: dict[str, Any]) -> None:
    """Run the plan."""
    from pyspark import SparkConf, SparkContext

    conf = SparkConf(loadDefaults=False)
    for name, value in plan["conf"].items():
        conf.set(name, value)
    context = SparkContext(conf=conf)
    try:
        context.setLogLevel("WARN")
        _wait_for(context, plan["executors"], plan["wait_s"])
        for _ in range(WARM_UPS):
            _replay(context, {"name": "warm-up", "text": WARM_UP}, plan["fair"])
        for episode in plan["episodes"]:
            _episode(context, episode["jobs"], plan["fair"])
            print(ANSWER + json.dumps({"episode": episode["name"]}), flush=True)
        print(ANSWER + json.dumps({"log": context.applicationId}), flush=True)
    finally:
        context.stop()


def _wait_for(context: Any, executors: int, wait_s: float) -> None:
    until = time.monotonic() + wait_s
    status = context._jsc.sc()
    while status.getExecutorMemoryStatus().size() <= executors:  # the driver is one more
        if time.monotonic() > until:
            raise TimeoutError(f"not all of {executors} executors came within {wait_s:g} s")
        time.sleep(0.1)


def _episode(context: Any, jobs: list[dict[str, Any]], fair: bool) -> None:
    start = time.monotonic() + LEAD_S
    failed: list[str] = []

    def submit(job: dict[str, Any]) -> None:
        time.sleep(max(0.0, start + job["arrival_ms"] / 1000 - time.monotonic()))
        try:
            _replay(context, job, fair)
        except Exception as error:
            failed.append(f"{job['name']}: {str(error).splitlines()[0]}")

    threads = [threading.Thread(target=submit, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise RuntimeError(f"{len(failed)} of {len(jobs)} jobs failed, the first: {failed[0]}")


def _replay(context: Any, job: dict[str, Any], fair: bool) -> None:
    """Run a job from this thread, whose properties are the job's."""
    context.setLocalProperty(GROUP, job["name"])
    context.setLocalProperty(JOB, job["name"])
    for name, key in ((TEMPLATE, "template"), (DAG, "dag")):
        context.setLocalProperty(name, job.get(key))
    if fair:
        # Jobs of one pool are FIFO among themselves, so that fair sharing needs a pool for each of them.
        context.setLocalProperty(POOL, job.get("pool"))
    context._jvm.org.clearsched.spark.replay.Replay.run(context._jsc, job["text"])


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
