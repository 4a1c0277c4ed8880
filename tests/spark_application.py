"""An application for test_spark_jar.py: jobs that arrive while all slots are taken, and what became of them.

`python spark_application.py SETTINGS.json`: `conf` of the application; `pool`, file of rules of a pool to add; `steps`,
one after another: `jobs` (name, tasks, told milliseconds of a task), `rules` (text of the file, and the counter that
tells that it was read), `lose` (an executor is killed while the jobs run). Writes the counters after each step to
`answers`, and when the tasks of each job ran, by their own clocks: Spark's events of starts and ends come in no strict
order. Nothing hangs on time: jobs wait for a gate, the gate for the jobs.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from pyspark import InheritableThread, SparkConf, SparkContext
from pyspark.errors import PySparkException

PATIENCE_S = 240.0
COUNTERS = ("Decisions", "Nones", "Launches", "GoneOn", "OverLimit", "TakeOvers", "RulesLoaded", "FilesRefused")


def wait_until(holds: Any, what: str) -> None:
    limit = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > limit:
            raise SystemExit(f"waited in vain for {what}")
        time.sleep(0.05)


class Application:
    def __init__(self, settings: dict[str, Any]) -> None:
        conf = SparkConf().setAll(list(settings["conf"].items()))
        self.sc = SparkContext(conf=conf)
        core = self.sc._jsc.sc()
        self.pool = core.taskScheduler().rootPool()
        self.named = bool(settings.get("pool"))
        if self.named:
            made = self.sc._jvm.org.clearsched.spark.PolicyPool
            self.pool = made.install(core, "clearsched", settings["pool"])
        self.slots = settings["slots"]
        self.rules = Path(settings.get("pool") or conf.get("spark.clearsched.rules"))
        self.folder = self.rules.parent
        self.answers: list[dict[str, Any]] = []
        self.ran: dict[str, list[tuple[float, float]]] = {}

    def counters(self) -> dict[str, Any]:
        found = self.pool.counters()
        told = {name: getattr(found, f"get{name}")() for name in COUNTERS}
        return told | {"Fifo": found.isFifo(), "Micros": found.getMicrosPerDecision()}

    def jobs(self, step: int, jobs: list[list[Any]], lose: bool) -> None:
        """Jobs that all wait when the gate is opened to the one that has every slot."""
        gate = self.folder / f"gate{step}"
        taken = self.folder / f"taken{step}"
        taken.mkdir()
        threads = [self._thread(f"{step}-gate", self.slots, 1, lambda i: hold(gate, taken / str(i)))]
        threads[0].start()
        wait_until(lambda: len(list(taken.iterdir())) == self.slots, "all slots")
        for place, (name, tasks, told_ms) in enumerate(jobs, 2):
            threads.append(self._thread(f"{step}-{name}", tasks, told_ms, lambda i: time.sleep(0.1)))
            threads[-1].start()
            wait_until(lambda count=place: self.pool.schedulableQueue().size() == count, f"{name} to be queued")
        if lose:
            kill_an_executor(self.sc.applicationId)
        gate.touch()
        for thread in threads:
            thread.join()

    def _thread(self, name: str, tasks: int, told_ms: int, work: Any) -> InheritableThread:
        def run() -> None:
            self.sc.setLocalProperty("clearsched.job", name)
            self.sc.setLocalProperty("clearsched.dag", json.dumps([{"tasks": tasks, "task_ms": told_ms}]))
            if self.named:
                self.sc.setLocalProperty("spark.scheduler.pool", "clearsched")
            self.ran[name] = self.sc.parallelize(range(tasks), tasks).map(timed(work)).collect()

        return InheritableThread(target=run)

    def read(self, text: str, counter: str) -> None:
        """The file changes, and the engine has seen it."""
        before = self.counters()[counter]
        temporary = self.rules.with_suffix(".new")
        temporary.write_text(text)
        temporary.replace(self.rules)
        wait_until(lambda: self.counters()[counter] > before, counter)

    def run(self, steps: list[dict[str, Any]]) -> None:
        for number, step in enumerate(steps):
            if "rules" in step:
                self.read(step["rules"], step["counter"])
            if "jobs" in step:
                self.jobs(number, step["jobs"], step.get("lose", False))
            self.answers.append(self.counters())


def timed(work: Any) -> Any:
    def run(task: int) -> tuple[float, float]:
        start = time.time()
        work(task)
        return start, time.time()

    return run


def hold(gate: Path, taken: Path) -> None:
    taken.touch()
    while not gate.exists():
        time.sleep(0.02)


def kill_an_executor(application: str) -> None:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words and application in words:
            os.kill(int(folder.name), signal.SIGKILL)
            return
    raise SystemExit("no executor to kill")


def refusals(cases: list[dict[str, str]]) -> list[str]:
    """What an application that cannot start is told."""
    told = []
    for conf in cases:
        try:
            SparkContext(conf=SparkConf().setAll(list(conf.items()))).stop()
            told.append("")
        except (Exception, PySparkException) as error:
            cause = getattr(error, "java_exception", None)
            told.append(str(error) if cause is None else cause.toString())
    return told


def main() -> None:
    settings = json.loads(Path(sys.argv[1]).read_text())
    if "refused" in settings:
        answers: Any = refusals(settings["refused"])
    else:
        application = Application(settings)
        application.run(settings["steps"])
        answers = {"counters": application.answers, "ran": application.ran}
        application.sc.stop()
    Path(settings["answers"]).write_text(json.dumps(answers))


if __name__ == "__main__":
    main()
