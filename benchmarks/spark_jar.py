"""What a decision of clearsched-spark costs in a real Spark, by its own counters.

    python benchmarks/spark_jar.py [--student FILE] [--jobs N] [--tasks N] [--threads N] [--master local|pool] [--json]

One application on this machine: N jobs at once, each of two stages of short tasks, so that the scheduler is asked
thousands of times. The jar must be there (`make spark-jar`). Microseconds of a decision and of an offer, features
and the log of decisions included; decisions, launches, and launches beyond a limit.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from clearsched.export import export

ROOT = Path(__file__).parents[1]
JAR = ROOT / "engines" / "spark" / "build" / "clearsched-spark.jar"
COUNTERS = ("Decisions", "MicrosPerDecision", "Plans", "MicrosPerPlan", "Launches", "GoneOn", "OverLimit", "TakeOvers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--student", type=Path, default=ROOT / "examples" / "rule_list.json")
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--tasks", type=int, default=40, help="of each of the two stages of a job")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--master", choices=["local", "pool"], default="local")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not JAR.exists():
        sys.exit(f"{JAR}: not there: make spark-jar")
    with tempfile.TemporaryDirectory() as folder:
        rules, _ = export(given.student, "spark", Path(folder) / "rules.json")
        found = measure(given, rules, Path(folder) / "decisions.jsonl")
    if given.json:
        print(json.dumps(found))
    else:
        print("\n".join(f"{name:20} {value:.1f}" for name, value in found.items()))


def measure(given: argparse.Namespace, rules: Path, log: Path) -> dict[str, float]:
    """The counters after all jobs."""
    from pyspark import InheritableThread, SparkConf, SparkContext

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    pool = given.master == "pool"
    conf = SparkConf().setAppName("clearsched-spark").set("spark.ui.enabled", "false")
    conf.setMaster(f"{'' if pool else 'spark-rules-'}local[{given.threads}]")
    conf.set("spark.driver.extraClassPath", str(JAR)).set("spark.ui.showConsoleProgress", "false")
    conf.set("spark.clearsched.rules", str(rules)).set("spark.clearsched.decisions", str(log))
    if pool:
        conf.set("spark.scheduler.mode", "FAIR")
    sc = SparkContext(conf=conf)
    core = sc._jsc.sc()
    asked: Any = core.taskScheduler().rootPool()
    if pool:
        asked = sc._jvm.org.clearsched.spark.PolicyPool.install(core, "clearsched", str(rules))
    gate = threading.Barrier(given.jobs)

    def job(number: int) -> None:
        sc.setLocalProperty("clearsched.job", str(number))
        if pool:
            sc.setLocalProperty("spark.scheduler.pool", "clearsched")
        pairs = sc.parallelize(range(given.tasks), given.tasks).map(lambda value: (value, 1))
        gate.wait()
        pairs.partitionBy(given.tasks).count()

    threads = [InheritableThread(target=job, args=(number,)) for number in range(given.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counters = asked.counters()
    found = {name: float(getattr(counters, f"get{name}")()) for name in COUNTERS}
    sc.stop()
    return found


if __name__ == "__main__":
    main()
