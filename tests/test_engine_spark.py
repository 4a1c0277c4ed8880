"""`clearsched engine spark`: replayed jobs, the event log, calibration, comparison, refusals. No Spark runs here."""

from __future__ import annotations

import json
import socket
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from clearsched.cli import main
from clearsched.engines import comparing
from clearsched.engines.comparing import Runs, compare, ranking
from clearsched.engines.spark import own, requirements, running
from clearsched.engines.spark.applications import EnginePolicy, job_name, settings
from clearsched.engines.spark.calibration import SLEEP_MS, calibrated, calibration_jobs, pooled
from clearsched.engines.spark.capped_srpt import capped_srpt
from clearsched.engines.spark.measured import END, EXECUTED_BY, JOB, START, MeasuredEpisode, measured_episodes, read_log
from clearsched.engines.spark.replaying import ReplayJob, ReplayStage, as_dag, as_text, replay_jobs, with_overhead
from clearsched.engines.spark.requirements import BUILT_FOR, REPLAY_CLASS, Software, find_software
from clearsched.errors import ClearschedError
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.traces.tpch_replay import JOIN_MS, LEVEL, WAVE, replay_trace
from clearsched.scorers.policy import load_policy
from toys import micro_trace, stage, toy_trace, toy_workload

DIAMOND = [
    stage(10, first_wave={1: [100, 300]}, rest_wave={1: [200]}, fresh=900),
    stage(3, [0], first_wave=50, rest_wave={1: []}),
    stage(1, [0], first_wave=70, rest_wave={1: []}),
]
"""A stage and two that wait for it: both are last ones."""


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line with which the command line refuses these arguments."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stop:
        patch.setattr("sys.argv", ["clearsched", *arguments])
        main()
    error = capsys.readouterr().err.strip()
    assert stop.value.code == 2
    assert len(error.splitlines()) == 1, error
    return error


def replayed(profiles: Sequence[Sequence[Mapping]], tasks: float = 1.0, seconds: float = 1.0) -> DagJobsInstance:
    return DagJobsInstance(compile_profiles(replay_trace(toy_trace(profiles), tasks, seconds), 0))


# --- the replayed jobs ------------------------------------------------------------------------------------------------


def test_a_replay_keeps_the_dag_and_scales_tasks_and_work() -> None:
    rows = replay_trace(toy_trace([DIAMOND]), tasks=0.5, seconds=0.1).stages.to_pylist()
    assert [row["num_tasks"] for row in rows] == [5, 2, 1, 1]
    assert [row["parents"] for row in rows] == [[], [0], [0], [1, 2]]
    # Half the tasks, so each takes twice as long, and a tenth of it all; fresh durations are left out.
    assert rows[0]["durations"] == [{"wave": WAVE, "level": LEVEL, "duration_ms": [20, 40, 60]}]
    assert rows[1]["durations"][0]["duration_ms"] == [8]  # 3 tasks of 50 ms as 2 of 7.5
    assert rows[3]["durations"][0]["duration_ms"] == [JOIN_MS]


def test_a_job_of_one_last_stage_gets_none_more() -> None:
    assert replay_trace(toy_trace([DIAMOND[:2]]), 1, 1).stages["num_tasks"].to_pylist() == [10, 3]


def test_a_replay_of_the_embedded_jobs_has_their_share_of_the_work() -> None:
    trace = micro_trace()
    whole, scaled = (compile_profiles(each, 0) for each in (trace, replay_trace(trace, 0.25, 0.5)))
    assert scaled.num_tasks.sum() == pytest.approx(0.25 * whole.num_tasks.sum(), rel=0.1)
    assert scaled.work_ms.sum() == pytest.approx(0.5 * whole.work_ms.sum(), rel=0.1)


def test_what_a_task_sleeps_does_not_depend_on_who_schedules() -> None:
    instance = replayed([DIAMOND, DIAMOND[:1]])
    episode = toy_workload([0, 30], 3, moving_delay_ms=0, seed=5, mean_durations=False)
    jobs = replay_jobs(instance, episode)
    for policy in ("fair", "sjf_cp"):
        tasks = instance.simulate(heuristic(policy).compiled, [episode], record=True)[0].tasks
        for number, place in ((0, 0), (1, 0)):
            drawn = tasks[(tasks[:, 2] == number) & (tasks[:, 3] == place)]
            assert drawn[np.argsort(drawn[:, 5]), 1].tolist() == jobs[number].stages[place].duration_ms.tolist()
    assert set(jobs[0].stages[0].duration_ms) == {100, 200, 300}
    assert jobs[1].arrival_ms == 30
    assert jobs[1].template == "q1 tiny"


def test_stages_are_told_parents_first() -> None:
    backwards = [stage(1, [1], first_wave=7, rest_wave={1: []}), stage(2, first_wave=5, rest_wave={1: []})]
    (job,) = replay_jobs(replayed([backwards]), toy_workload([0], 1, moving_delay_ms=0))
    assert as_text(job) == ":5,5;0:7"
    assert as_dag(job) == [{"tasks": 2, "task_ms": 5.0, "parents": []}, {"tasks": 1, "task_ms": 7.0, "parents": [0]}]
    assert job.work_ms == 17


def test_the_overhead_is_added_to_what_was_drawn_and_changes_no_draw() -> None:
    instance = replayed([DIAMOND])
    episode = toy_workload([0], 2, moving_delay_ms=0, seed=3, mean_durations=False)
    longer = DagJobsInstance(compile_profiles(with_overhead(instance.profiles.trace, 12.4), 0))
    for one, other in zip(
        replay_jobs(instance, episode)[0].stages, replay_jobs(longer, episode)[0].stages, strict=True
    ):
        assert (other.duration_ms - one.duration_ms == 12).all()


def test_what_depends_on_executors_or_luck_is_not_replayed() -> None:
    waves = DagJobsInstance(compile_profiles(toy_trace([DIAMOND]), 0))
    with pytest.raises(ClearschedError, match="depend on the executors"):
        replay_jobs(waves, toy_workload([0], 1))
    with pytest.raises(ClearschedError, match="faults or stragglers"):
        replay_jobs(replayed([DIAMOND]), toy_workload([0], 1, straggler_probability=0.5))


# --- the event log ----------------------------------------------------------------------------------------------------


def write_log(path: Path, jobs: Sequence[ReplayJob], episode: str = "e", *, succeeded: bool = True) -> None:
    """The event log of jobs that run one after another on executor 0, every task as long as it sleeps and 10 ms more;
    the first task of each job fails once, at once."""
    lines: list[dict] = [
        {"Event": "SparkListenerLogStart", "Spark Version": "4.3.0"},
        {"Event": "SparkListenerApplicationStart", "App ID": "app-1", "Timestamp": 1000},
    ]
    now, stage_id = 5000, 0
    for number, job in enumerate(jobs):
        infos = [
            {
                "Stage ID": stage_id + place,
                "Number of Tasks": len(one.duration_ms),
                "RDD Info": [{"RDD ID": 10 * (stage_id + place), "Parent IDs": []}],
                "Parent IDs": [stage_id + parent for parent in one.parents],
            }
            for place, one in enumerate(job.stages)
        ]
        group = {"spark.jobGroup.id": job_name(episode, number)}
        start = {"Event": "SparkListenerJobStart", "Job ID": number, "Submission Time": 5000 + job.arrival_ms}
        lines.append(start | {"Stage Infos": infos, "Properties": group})
        attempts = [(0, 0, 0, True)] + [
            (place, task, int(sleep) + 10, False)
            for place, one in enumerate(job.stages)
            for task, sleep in enumerate(one.duration_ms)
        ]
        for place, task, took, failed in attempts:
            info = {"Index": task, "Partition ID": task, "Launch Time": now, "Finish Time": now + took}
            info |= {"Executor ID": "0", "Failed": failed}
            end = {"Event": "SparkListenerTaskEnd", "Stage ID": stage_id + place, "Task Info": info}
            end |= {"Task Type": "ResultTask" if place == len(job.stages) - 1 else "ShuffleMapTask"}
            lines.append(end | {"Task End Reason": {"Reason": "ExceptionFailure" if failed else "Success"}})
            now += took
        result = {"Result": "JobSucceeded" if succeeded else "JobFailed"}
        lines.append({"Event": "SparkListenerJobEnd", "Job ID": number, "Job Result": result})
        stage_id += len(job.stages)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


TWO = [
    ReplayJob(0, "a", (ReplayStage((), np.array([20, 30])), ReplayStage((0,), np.array([40])))),
    ReplayJob(15, "b", (ReplayStage((), np.array([5])),)),
]


def test_jct_is_read_from_the_event_log(tmp_path: Path) -> None:
    write_log(tmp_path / "app-1", TWO)
    found = measured_episodes(read_log(tmp_path / "app-1"), {"e": TWO}, "log")["e"]
    assert found.arrival_ms.tolist() == [0, 15]
    assert found.completion_ms.tolist() == [120, 135]  # 30 + 40 + 50, then 15
    assert found.jct_s.tolist() == [0.12, 0.12]
    assert found.tasks[:, JOB].tolist() == [0, 0, 0, 1]
    assert (found.tasks[:, END] - found.tasks[:, START]).tolist() == [30, 40, 50, 15]
    assert set(found.tasks[:, EXECUTED_BY]) == {0}
    assert found.attempts == 2


def test_a_log_that_is_not_of_the_plan_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "app-1"
    write_log(log, TWO)
    other = [TWO[0], ReplayJob(15, "b", (ReplayStage((), np.array([5, 6])),))]
    with pytest.raises(ClearschedError, match="e-job-1: its stages are not those of the plan"):
        measured_episodes(read_log(log), {"e": other}, "log")
    with pytest.raises(ClearschedError, match="f-job-0: is not there"):
        measured_episodes(read_log(log), {"f": TWO}, "log")
    write_log(log, TWO, succeeded=False)
    with pytest.raises(ClearschedError, match="did not succeed"):
        measured_episodes(read_log(log), {"e": TWO}, "log")


# --- the calibration --------------------------------------------------------------------------------------------------


def test_the_calibration_tells_overheads_apart() -> None:
    """Two executors; each task takes 8 ms beside its sleep, a change of job 20 ms more, a stage opens after 3 ms."""
    jobs = calibration_jobs(2)
    rows, arrival = [], np.array([job.arrival_ms for job in jobs])
    for executor in range(2):
        now = 0
        for number in range(2):
            for task in range(executor, len(jobs[number].stages[0].duration_ms), 2):
                rows.append((number, 0, task, executor, now, now + SLEEP_MS + 5))
                now += SLEEP_MS + 8
            now += 20
    now = int(arrival[2]) + 6
    for place in range(len(jobs[2].stages)):
        rows.append((2, place, 0, 0, now, now + SLEEP_MS + 5))
        now += SLEEP_MS + 5 + 3
    found = calibrated(MeasuredEpisode(arrival, np.zeros(3, np.int64), np.array(rows)))
    assert found.task_overhead_ms == 8
    assert found.change_ms == 20
    assert found.stage_ms == 3
    assert found.submit_ms == 6
    assert pooled([found, found]).task_overhead_ms == 8
    assert pooled([found, found]).tasks == 2 * found.tasks


# --- simulated against real -------------------------------------------------------------------------------------------


def runs(real: Sequence[float], simulated: Sequence[float]) -> Runs:
    """Episodes of two jobs, a second beside each mean."""
    pairs = [np.array([[mean - 1, mean + 1] for mean in means]) for means in (real, simulated)]
    return Runs(tuple(pairs[0]), tuple(pairs[1]))


def test_errors_are_of_means_and_of_jobs() -> None:
    given = {"fifo": runs([10, 20], [11, 22]), "fair": runs([9, 19], [9, 19])}
    fifo, fair = compare(given, "fifo")
    assert fifo.error.mean == pytest.approx(0.1)
    assert (fair.error.mean, fair.job_error) == (0, 0)
    wanted = np.mean([10 / 9 - 1, 12 / 11 - 1, 21 / 19 - 1, 23 / 21 - 1])
    assert fifo.job_error == pytest.approx(wanted)
    assert fifo.to_reference is None
    assert fair.to_reference is not None
    assert fair.to_reference.mean == -1


@pytest.mark.parametrize(
    ("simulated", "tau", "discordant"),
    [
        ((1, 2, 3), 1.0, ()),
        ((3, 2, 1), -1.0, (("a", "b"), ("a", "c"), ("b", "c"))),
        ((2, 1, 3), 1 / 3, (("a", "b"),)),
    ],
)
def test_kendalls_tau_counts_pairs_in_the_same_order(
    simulated: tuple[float, ...], tau: float, discordant: tuple[tuple[str, str], ...]
) -> None:
    given = {
        name: runs([10 + place, 20 + place], [10 + mean, 20 + mean])
        for place, (name, mean) in enumerate(zip("abc", simulated, strict=True))
    }
    found = ranking(given)
    assert found.tau == pytest.approx(tau)
    assert found.discordant == discordant
    assert (found.pairs, found.shown) == (3, 3)  # equal differences in all episodes: beyond doubt
    assert found.shown_alike == 3 - len(discordant)


def test_policies_of_other_episodes_are_not_compared() -> None:
    with pytest.raises(ClearschedError, match="b: episodes"):
        compare({"a": runs([10, 20], [10, 20]), "b": runs([10], [10])}, "a")
    with pytest.raises(ClearschedError, match="c: was not run"):
        compare({"a": runs([10, 20], [10, 20])}, "c")
    short = Runs((np.ones(2),), (np.ones(3),))
    with pytest.raises(ClearschedError, match="simulated"):
        comparing.check_paired({"a": short})


# --- policies ---------------------------------------------------------------------------------------------------------


def test_sparks_fifo_serves_the_earliest_job_and_fair_the_one_that_runs_least() -> None:
    names = [feature.name for feature in find_problem("dag_jobs").choices[0].features]
    rows = np.zeros((3, len(names)), np.float32)
    rows[:, names.index("job_age_s")] = [9, 5, 1]
    rows[:, names.index("job_executors")] = [3, 1, 1]
    assert own.own_policy("fifo").scores(rows).argmax() == 0
    assert own.own_policy("fair").scores(rows).argmax() == 1
    with pytest.raises(ClearschedError, match="Spark itself has the policies fifo and fair"):
        own.own_policy("srpt")


@pytest.mark.parametrize(("p", "m"), [(0.0, 1.5), (0.5, 2.0), (1.0, 5.0)])
def test_capped_srpt_in_rules_is_the_heuristic(tmp_path: Path, p: float, m: float) -> None:
    path = tmp_path / "capped_srpt.json"
    path.write_text(json.dumps(capped_srpt(p, m) | {"most": 4}), encoding="utf-8")
    instance = DagJobsInstance(compile_profiles(replay_trace(micro_trace(), 0.2, 1.0), 0))
    episodes = [
        toy_workload(
            np.arange(12) * 900, 4, profile=np.arange(12) * 9 % 110, moving_delay_ms=0, seed=seed, mean_durations=False
        )
        for seed in range(3)
    ]
    rules, plain = (
        [result.completion_ms.tolist() for result in policy.run(instance, episodes)]
        for policy in (load_policy(path), heuristic("capped_srpt", p=p, m=m))
    )
    assert rules == plain


def test_powers_beyond_the_features_are_refused() -> None:
    with pytest.raises(ClearschedError, match=r"p is 1\.5"):
        capped_srpt(1.5, 1)
    assert capped_srpt(0.25, 1)["limit"]["steps"][0]["below"] == [
        {"times": 1, "jobs_in_system": -0.5, "job_sqrt_share": 0.5}
    ]


def test_only_policies_by_rules_take_the_cluster_manager_of_the_jar(tmp_path: Path) -> None:
    software = Software(tmp_path, "4.3.0", tmp_path / "a.jar", True)
    plain = settings(software, "h:1", 2, EnginePolicy("fair"), tmp_path)
    ruled = settings(software, "h:1", 2, EnginePolicy("x", tmp_path / "rules.json"), tmp_path)
    assert (plain["spark.master"], plain["spark.scheduler.mode"]) == ("spark://h:1", "FAIR")
    assert (ruled["spark.master"], ruled["spark.scheduler.mode"]) == ("spark-rules://h:1", "FIFO")
    each = settings(software, "h:1", 2, EnginePolicy("x", tmp_path / "rules.json", True), tmp_path)
    assert (ruled["spark.clearsched.ask"], each["spark.clearsched.ask"]) == ("stage", "task")
    assert "spark.clearsched.ask" not in plain
    changed = {name for name in ruled if plain.get(name) != ruled[name]}
    assert {name for name in changed if not name.startswith("spark.clearsched.")} == {
        "spark.app.name",
        "spark.master",
        "spark.scheduler.mode",
    }


# --- refusals ---------------------------------------------------------------------------------------------------------


def make_jar(path: Path, spark: str | None = "4.3", *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names or (REPLAY_CLASS,):
            archive.writestr(name, "")
        if spark is not None:
            archive.writestr(BUILT_FOR, f"spark={spark}\n")
    return path


@pytest.fixture
def spark_4_3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine that seems to have Java and Spark 4.3."""
    monkeypatch.setattr(requirements, "java_command", lambda: "java")
    monkeypatch.setattr(requirements, "spark_home", lambda: tmp_path)
    monkeypatch.setattr(requirements.importlib.metadata, "version", lambda _: "4.3.1")


@pytest.mark.usefixtures("spark_4_3")
def test_a_jar_of_the_same_minor_version_will_do(tmp_path: Path) -> None:
    assert not find_software(make_jar(tmp_path / "a.jar")).rules
    both = make_jar(tmp_path / "b.jar", "4.3", REPLAY_CLASS, requirements.MANAGER_FILE)
    assert find_software(both).rules


@pytest.mark.usefixtures("spark_4_3")
def test_a_jar_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match=r"none\.jar: no such file; build it: make spark-jar"):
        find_software(tmp_path / "none.jar")
    with pytest.raises(ClearschedError, match=r"made for Spark 4\.2, here is 4\.3\.1; build it again"):
        find_software(make_jar(tmp_path / "old.jar", "4.2"))
    with pytest.raises(ClearschedError, match="does not say which Spark it is for"):
        find_software(make_jar(tmp_path / "mute.jar", None))
    with pytest.raises(ClearschedError, match="does not hold"):
        find_software(make_jar(tmp_path / "other.jar", "4.3", "A.class"))
    (tmp_path / "text.jar").write_text("no jar", encoding="utf-8")
    with pytest.raises(ClearschedError, match="no jar that can be read"):
        find_software(tmp_path / "text.jar")


def test_without_java_or_pyspark_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = ["engine", "spark", "run", "--trace", "t.parquet", "--workloads", "w.parquet", "--out", str(tmp_path / "out")]
    monkeypatch.setattr(requirements, "java_command", lambda: None)
    assert "needs Java 17 or later" in refusal(capsys, *ask)
    monkeypatch.setattr(requirements, "java_command", lambda: "java")
    monkeypatch.setattr(requirements.importlib.util, "find_spec", lambda _: None)
    assert "package pyspark, which is missing; pip install 'clearsched[spark]'" in refusal(capsys, *ask)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("spark_4_3")
def test_options_that_cannot_be_are_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, jar = tmp_path / "out", str(make_jar(tmp_path / "a.jar"))
    ask = [
        "engine",
        "spark",
        "run",
        "--trace",
        "t.parquet",
        "--workloads",
        "w.parquet",
        "--out",
        str(out),
        "--jar",
        jar,
    ]
    assert "--no-replay" in refusal(capsys, *ask, "--no-replay")
    assert "Spark itself has the policies fifo and fair" in refusal(capsys, *ask, "--policy", "srpt")
    assert "two policies of this name" in refusal(capsys, *ask, "--policy", "fifo", "--policy", "fifo")
    assert "rules.json: no such file" in refusal(capsys, *ask, "--student", str(tmp_path / "rules.json"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert f"port {port}: Address already in use" in refusal(capsys, *ask, "--port", port)
    assert not out.exists()


def test_moves_that_take_time_are_not_replayed() -> None:
    with pytest.raises(ClearschedError, match=r"workload\.moving_delay_s is 0\.1"):
        running.check_episodes([toy_workload([0], 1, moving_delay_ms=100)])
