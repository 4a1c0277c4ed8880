"""A Slurm under a student: comments, features, plans, priorities by hand; refusals; a small run on a real one."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clearsched.engines.slurm import running
from clearsched.engines.slurm.bundles import bundled, drawn_durations
from clearsched.engines.slurm.client import Queued, read_queue, refusal_of
from clearsched.engines.slurm.features import BY_NAME, Cluster, check_at_submission, check_policy
from clearsched.engines.slurm.jobs import DagJob, Stage, StageFacts, read_comment, read_job
from clearsched.engines.slurm.obeying import Keeper
from clearsched.engines.slurm.planning import NO_LIMIT, Planner
from clearsched.engines.slurm.priorities import HIGHEST, LOWEST, numbered
from clearsched.engines.slurm.stand_ins import simulated_policies
from clearsched.engines.slurm.submitting import statics, submit
from clearsched.errors import ClearschedError
from clearsched.export import export
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Simulation, Workload
from clearsched.scorers.policy import ScoredPolicy, load_policy
from one_machine_slurm import slurm
from snakemake_runs import environment
from toys import stage, toy_trace

REPOSITORY = Path(__file__).parents[1]
RULES = REPOSITORY / "examples/slurm_rules.json"
OTHERWISE = [{"if": "otherwise", "then": 1.0}]


def student(folder: Path, rank: Any = None, limit: Any = None, **more: Any) -> Path:
    """A file with rules: smallest job first, and all cores as the limit, unless told."""
    content = {"kind": "formula", "problem": "dag_jobs", "none": False, **more}
    content["stage"] = rank or {"rules": OTHERWISE, "ties": ["job_work_left_s", "stage_rank"]}
    content["limit"] = limit or {"rules": OTHERWISE}
    path = folder / "student.json"
    path.write_text(json.dumps(content))
    return path


def policy(folder: Path, *arguments: Any, **more: Any) -> ScoredPolicy:
    return load_policy(student(folder, *arguments, **more))


def queued(array: int, job: str, number: int, parents: tuple[int, ...] = (), **more: Any) -> Queued:
    """A stage of ten tasks of 2 s."""
    facts = StageFacts(job, number, parents, 10, 2.0, {"a": 100.0, "b": 101.0}[job], {"a": 40.0, "b": 20.0}[job])
    return Queued(array, facts, **{"priority": 1_000_000, **more})


def flat(tasks: int, durations_ms: list[int], parents: Sequence[int] = ()) -> dict[str, Any]:
    """A stage whose tasks last as long in every wave."""
    return stage(tasks, parents, first_wave={1: durations_ms}, rest_wave={1: durations_ms}, fresh={1: durations_ms})


def two_jobs() -> list[Queued]:
    """Job a: two stages, the second after the first; job b: one."""
    return [queued(1, "a", 0, pending=8, running=2), queued(2, "a", 1, (0,), pending=10), queued(3, "b", 0, pending=10)]


def test_a_comment_tells_what_was_put_in() -> None:
    facts = StageFacts("q5-1", 3, (0, 2), 40, 2.3125, 1700000000.125, 812.5)
    assert read_comment(facts.comment()) == facts
    assert read_comment(facts.comment({"job_work_left_s": 3.0})) == facts
    for text in ("", "somebody else's", "clearsched job=a", facts.comment().replace("40", "many")):
        assert read_comment(text) is None, text


def test_the_queue_counts_tasks_of_ours() -> None:
    comment = queued(7, "a", 0).facts.comment()
    lines = [f"7|PD|12|{comment}"] * 3 + [f"7|R|0|{comment}", f"7|CG|0|{comment}", "8|PD|5|(null)", f"9|CG|0|{comment}"]
    (found,) = read_queue("\n".join(lines))
    assert (found.id, found.pending, found.running, found.priority) == (7, 3, 1, 12)


def test_features_are_those_of_the_formulas() -> None:
    """By hand: two jobs on 16 cores, one of which holds two."""
    cluster = Cluster(two_jobs(), 16, 103.0)
    assert [each.id for each in cluster.candidates] == [1, 3], "stage 1 of a waits for a parent with tasks to start"
    names = ("job_executors", "job_work_left_s", "job_age_s", "job_work_rank", "stage_levels_below", "jobs_in_system")
    names += ("stage_critical_path_s", "job_critical_path_s", "executors_to_decide", "job_fair_load", "stage_is_ready")
    rows = cluster.rows(cluster.candidates, names)
    told = [[float(row[list(BY_NAME).index(name)]) for name in names] for row in rows]
    assert told[0] == [2, 36, 3, 1, 1, 2, 40, 36, 14, 0.25, 1]
    assert told[1] == [0, 20, 2, 0, 0, 2, 20, 20, 14, 0, 1]


def test_features_agree_with_the_simulator() -> None:
    """The first decision of an episode: all features but those that Slurm lacks."""
    trace = toy_trace([[flat(3, [40]), flat(2, [100], [0])], [flat(5, [70])]])
    profiles = compile_profiles(trace, 0)
    simulation = Simulation(profiles, Workload(np.array([0, 1]), np.array([0, 0]), 4, 0))
    assert simulation.advance()
    rows = simulation.observe().candidates
    means = (profiles.arrays.mean_ms / 1000).tolist()
    jobs = [DagJob("a", (Stage(3, means[0]), Stage(2, means[1], (0,)))), DagJob("b", (Stage(5, means[2]),))]
    facts = [each for number, job in enumerate(jobs) for each in job.facts(float(number) * 1e-9)]
    cluster = Cluster([Queued(n, each, pending=each.tasks) for n, each in enumerate(facts)], 4, 0.0)
    names = [name for name in BY_NAME if name not in ("job_is_source", "job_move_s")]
    own = cluster.rows(cluster.candidates, names)
    assert own.shape == rows.shape
    for name in names:
        place = list(BY_NAME).index(name)
        assert own[:, place] == pytest.approx(rows[:, place], rel=1e-6, abs=1e-6), name


@pytest.mark.parametrize("name", ["job_is_source", "job_move_s"])
def test_what_slurm_cannot_know_is_refused_by_name(tmp_path: Path, name: str) -> None:
    rules = [{"if": f"{name} >= 1", "then": 2.0}, *OTHERWISE]
    limits = [{"if": f"{name} >= 1", "then": 0.5}, *OTHERWISE]
    for found in (policy(tmp_path, {"rules": rules}), policy(tmp_path, None, {"rules": limits})):
        with pytest.raises(ClearschedError, match=f"{name}: Slurm cannot know it"):
            check_policy(found)
    kept = policy(tmp_path, patches=[{"when": "always", "do": "keep_local"}])
    with pytest.raises(ClearschedError, match="job_is_source: Slurm cannot know it"):
        check_policy(kept)


def test_what_is_not_known_at_submission_is_refused_by_name(tmp_path: Path) -> None:
    found = policy(tmp_path, {"rules": [{"if": "job_fair_load < 1", "then": 2.0}, *OTHERWISE]})
    check_policy(found)
    with pytest.raises(ClearschedError, match="job_fair_load: not known when a job is submitted"):
        check_at_submission(found)
    with pytest.raises(ClearschedError, match="job_fair_load"):
        export(student(tmp_path, {"rules": [{"if": "job_fair_load < 1", "then": 2.0}, *OTHERWISE]}), "slurm")
    assert not (tmp_path / "student.job_submit.lua").exists()


def test_the_order_is_the_students(tmp_path: Path) -> None:
    plan = Planner(policy(tmp_path), 16).plan(two_jobs(), 103.0)
    assert plan.order == [3, 1], "the job with less work left first"
    assert plan.rules == {1: "rule 1", 3: "rule 1"} and not plan.idle


def test_a_limit_is_divided_over_the_stages_of_a_job(tmp_path: Path) -> None:
    """What is left of a limit goes to the first stage; the other one comes last, and may have one core."""
    quarter = {"rules": [{"if": "otherwise", "then": 0.25}]}
    others = [queued(3, "b", 0, pending=10, running=8)]
    stages = [queued(1, "a", 0, pending=6, running=4), queued(2, "a", 1, pending=10)]
    plan = Planner(policy(tmp_path, None, quarter), 12).plan([*stages, *others], 103.0)
    assert plan.throttles == {1: 4, 2: 1, 3: 8}, "no core is free; a quarter of 12 is 3, but what is held is kept"
    assert plan.order == [3, 1, 2]
    free = Planner(policy(tmp_path, None, quarter), 16).plan([queued(1, "a", 0, pending=10)], 103.0)
    assert free.throttles == {1: NO_LIMIT}, "no core is left idle for a limit"
    assert not Planner(policy(tmp_path, None, quarter), 16, limits=False).plan(two_jobs(), 103.0).throttles


def test_none_holds_a_stage_unless_nothing_else_goes_on(tmp_path: Path) -> None:
    never = policy(
        tmp_path, {"rules": [{"if": "job_work_left_s < 25", "then": 1.0}, {"if": "otherwise", "then": -1.0}]}, none=True
    )
    assert Planner(never, 16).plan(two_jobs(), 103.0).idle == {1}
    alone = [queued(1, "a", 0, pending=13)]
    assert Planner(never, 16).plan(alone, 103.0).idle == set()
    assert Planner(never, 16).plan([*alone, queued(3, "b", 0, running=1)], 103.0).idle == {1}


def test_an_order_becomes_numbers_with_few_changes() -> None:
    first = numbered([5, 6, 7], {})
    assert first[5] > first[6] > first[7] >= LOWEST and first[5] <= HIGHEST
    assert numbered([5, 6, 7], first) == first
    moved = numbered([7, 5, 6], first)
    assert (moved[5], moved[6]) == (first[5], first[6]) and moved[7] > moved[5]
    between = numbered([5, 8, 6, 7], first)
    assert first[5] > between[8] > first[6] and {5, 6, 7} == {k for k in first if between[k] == first[k]}
    tight = numbered([1, 2, 3], {1: LOWEST + 1, 3: LOWEST})
    assert tight[1] > tight[2] > tight[3] >= LOWEST, "no room between: all anew"
    assert numbered([1, 2], {1: 1000, 2: 0})[1] >= LOWEST, "what Slurm gave by itself is no place"


class Fake:
    """A Slurm with a queue that is told; it refuses what it is told to refuse."""

    def __init__(self, queue: list[Queued], refuses: int = 0) -> None:
        self.now, self.refuses = queue, refuses
        self.said: list[tuple[int, str]] = []

    def queue(self) -> list[Queued]:
        return self.now

    def update(self, array: int, settings: list[str]) -> str:
        self.said += [(array, " ".join(settings))]
        if array == self.refuses:
            return "Access/permission denied"
        for stage_ in self.now:
            if stage_.id == array and settings[0].startswith("Priority="):
                stage_.priority = int(settings[0].partition("=")[2])
        return ""

    def release(self, array: int) -> str:
        self.said += [(array, "release")]
        return ""

    def submit(self, facts: StageFacts, command: Any, after: Any, comment: str) -> int:
        if facts.stage == self.refuses:
            raise ClearschedError("slurm: refused")
        self.said += [(facts.stage, f"{list(after)} {comment}")]
        return 100 + facts.stage

    def cancel(self, arrays: Any) -> None:
        self.said += [(array, "cancel") for array in arrays]


def test_the_loop_changes_what_differs_and_nothing_else(tmp_path: Path) -> None:
    fake, told = Fake(two_jobs()), []
    keeper = Keeper(fake, Planner(policy(tmp_path), 16, limits=False), told.append)
    keeper.look(103.0)
    assert [array for array, _ in fake.said] == [3, 1]
    keeper.look(103.5)
    assert len(fake.said) == 2 and keeper.counts.changes == 2 and not told


def test_a_refused_update_is_one_line_and_the_loop_goes_on(tmp_path: Path) -> None:
    fake, told = Fake(two_jobs(), refuses=3), []
    rows: list[dict[str, Any]] = []
    keeper = Keeper(fake, Planner(policy(tmp_path), 16, limits=False), told.append, rows.append)
    for now in (103.0, 103.5, 104.0):
        keeper.look(now)
    assert told == ["slurm: array 3 (stage 0 of job b): refused: Access/permission denied; goes on"]
    assert [array for array, _ in fake.said] == [3, 1, 3, 3], "tried again; the other one was changed"
    assert keeper.counts.refused == 2 and rows[0]["refused"] and rows[1]["rule"] == "rule 1"


def test_a_held_stage_is_let_go_before_it_gets_a_priority(tmp_path: Path) -> None:
    fake = Fake([queued(3, "b", 0, pending=1, priority=0)])
    Keeper(fake, Planner(policy(tmp_path), 16, limits=False), print).look(103.0)
    assert fake.said[0] == (3, "release") and fake.said[1][1].startswith("Priority=")


def test_parts_of_an_array_that_run_are_no_refusal() -> None:
    assert refusal_of(1, "12_0-3: No error\n12_5: Job has already finished\n") == ""
    assert refusal_of(1, "12_0-3: No error\n12_5: Access denied\n") == "12_5: Access denied"
    assert refusal_of(1, "") == "exit code 1" and refusal_of(0, "whatever") == ""


def test_stages_wait_for_their_parents_and_a_refused_job_leaves_none() -> None:
    job = DagJob("a", (Stage(2, 1.0), Stage(1, 2.0, (0,)), Stage(1, 1.0, (0, 1))))
    fake = Fake([])
    fake.refuses = -1
    assert submit(fake, job, 5.0, 16) == [100, 101, 102]
    assert [said.split("] ")[0] for _, said in fake.said] == ["[", "[100", "[100, 101"]
    fake = Fake([], refuses=2)
    with pytest.raises(ClearschedError):
        submit(fake, job, 5.0, 16)
    assert fake.said[-2:] == [(100, "cancel"), (101, "cancel")]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ({"name": "a b", "stages": []}, "name: letters"),
        ({"name": "a", "stages": []}, "stages: a list of 1"),
        ({"name": "a", "stages": [{"tasks": 0, "task_s": 1, "command": ["x"]}]}, "stages[0].tasks"),
        ({"name": "a", "stages": [{"tasks": 1, "task_s": 0, "command": ["x"]}]}, "stages[0].task_s"),
        ({"name": "a", "stages": [{"tasks": 1, "task_s": 1, "parents": [0], "command": ["x"]}]}, "stages[0].parents"),
        ({"name": "a", "stages": [{"tasks": 1, "task_s": 1, "command": "x"}]}, "stages[0].command"),
        ({"name": "a", "stages": [{"tasks": 1, "task_s": 1, "comand": ["x"]}]}, "unknown key 'comand'"),
    ],
)
def test_a_malformed_job_ends_in_a_line(tmp_path: Path, content: Any, part: str) -> None:
    (tmp_path / "job.json").write_text(json.dumps(content))
    with pytest.raises(ClearschedError) as error:
        read_job(tmp_path / "job.json")
    assert part in str(error.value)


def test_bundles_keep_the_work_and_the_draws_are_no_policys() -> None:
    trace = toy_trace([[flat(5, [40, 60]), flat(2, [100], [0])], [flat(4, [70])]])
    profiles = compile_profiles(bundled(trace, 2, 3.0), 0)
    assert profiles.arrays.num_tasks.tolist() == [3, 1, 2]
    assert profiles.arrays.durations_ms.max() == 600, "two of 100 ms, three times as long"
    episode = Workload(np.array([0, 1, 0]), np.array([0, 5, 9]), 3, 0, seed=4)
    drawn = [drawn_durations(profiles, episode, heuristic(name)) for name in ("fifo", "fair")]
    assert drawn[0] == drawn[1]
    assert [[len(tasks) for tasks in job] for job in drawn[0]] == [[3, 1], [2], [3, 1]]


def test_the_simulated_stand_ins_give_no_core_to_a_stage_that_waits(tmp_path: Path) -> None:
    """One job of a long task and its child: the other job need not wait for a core that is kept for the child."""
    trace = toy_trace([[flat(1, [1000]), flat(3, [1000], [0])], [flat(3, [100])]])
    instance = DagJobsInstance(compile_profiles(trace, 0))
    episode = Workload(np.array([0, 1]), np.array([0, 1]), 2, 0)
    for name, found in simulated_policies(policy(tmp_path)).items():
        assert found.run(instance, [episode])[0].jct_s[1] == pytest.approx(0.3, abs=0.01), name


def test_what_came_out_is_told_as_for_any_engine() -> None:
    """Of two sequences of two jobs: means, the paired difference and ratio, the simulator's error, the order."""
    jct_s = {"fifo": [[4.0, 8.0], [6.0, 10.0]], "live": [[3.0, 6.0], [4.5, 7.5]]}
    runs = [
        {"policy": name, "jct_s": jobs}
        for sequence in (0, 1)
        for name, jobs in ((name, found[sequence]) for name, found in jct_s.items())
    ]
    page = running.told(
        runs, {name: [[1.5 * each for each in jobs] for jobs in found] for name, found in jct_s.items()}, list(jct_s)
    )
    assert page.startswith("2 sequences of 2 jobs on a real Slurm.\n")
    fifo, live = (line.split("  ") for line in page.splitlines() if line.startswith(("fifo ", "live ")))
    cells = [[cell.strip() for cell in row if cell.strip()] for row in (fifo, live)]
    assert cells[0][:2] == ["fifo", "7.00"] and cells[1][:2] == ["live", "5.25"]
    assert cells[1][3] == "-1.75" and cells[1][5] == "0.75", "to fifo"
    assert {row[-5] for row in cells} == {"10.50", "7.88"} and {row[-4] for row in cells} == {"+50.0"}
    assert "Kendall's tau of real and simulated means: 1.00, 1 pairs; in another order: none." in page


def lua_answers(script: Path, comments: list[str]) -> list[float]:
    """The priorities that the script gives jobs with these comments; 0: none."""
    lua = shutil.which("lua5.1") or shutil.which("lua")
    if lua is None:
        pytest.skip("no Lua")
    asked = "\n".join(f'ask("{comment}")' for comment in comments)
    program = f"""
        slurm = {{SUCCESS = 0, log_info = function() end}}
        dofile("{script}")
        function ask(comment)
            local job = {{comment = comment}}
            slurm_job_submit(job, {{}}, 0)
            print(string.format("%.0f", job.priority or 0))
        end
        {asked}
    """
    answer = subprocess.run([lua, "-"], input=program, capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0, answer.stderr
    return [float(line) for line in answer.stdout.split()]


def test_the_script_for_slurm_orders_as_the_student_does(tmp_path: Path) -> None:
    """Priorities fall with the simulator's own scores, over stages on both sides of each threshold."""
    (script,) = export(RULES, "slurm", tmp_path / "rules.job_submit.lua")
    found = load_policy(RULES)
    random = np.random.default_rng(3)
    jobs = [
        DagJob("a", (Stage(int(random.integers(1, 30)), float(random.uniform(0.5, 6))), Stage(3, 2.0, (0,))))
        for _ in range(60)
    ]
    names = ["job_work_left_s", "stage_critical_path_s", "stage_rank"]
    comments, scores = ["", "clearsched job=a", "someone job_work_left_s=1"], []
    for job in jobs:
        for facts, told in zip(job.facts(0.0), statics(job.facts(0.0), names, 16), strict=True):
            comments.append(facts.comment(told))
            row = np.zeros((1, len(BY_NAME)), np.float32)
            for name, value in told.items():
                row[0, list(BY_NAME).index(name)] = value
            scores.append(float(found.scores(row)[0]))
    priorities = lua_answers(script, comments)
    assert priorities[:3] == [0, 0, 0], "jobs of others are left as they are"
    ranked = sorted(zip(scores, priorities[3:], strict=True))
    assert all(a[1] <= b[1] for a, b in pairwise(ranked))
    assert len(set(priorities[3:])) > 0.9 * len(set(np.round(scores, 2)))
    assert all(LOWEST <= each <= HIGHEST for each in priorities[3:])


def clearsched(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "clearsched", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment())


@pytest.mark.engine
@pytest.mark.workflow
def test_a_real_slurm_obeys(tmp_path: Path) -> None:
    """Two small sequences under every policy: every job ends; a job of somebody's is obeyed too."""
    (script,) = export(RULES, "slurm", tmp_path / "rules.job_submit.lua")
    made = clearsched("traces", "build", "--source", "tpch-spark", "--out", str(tmp_path / "trace.parquet"))
    assert made.returncode == 0, made.stderr
    sizes = ("--sequences", "2", "--jobs", "3", "--gap", "0.5", "--bundle", "200", "--slower", "0.05")
    with slurm(LUA=str(script), NODES="2"):
        run = clearsched(
            *("engine", "slurm", "run", str(RULES), "--trace", str(tmp_path / "trace.parquet")),
            *("--out", str(tmp_path / "out"), *sizes),
        )
        assert run.returncode == 0, run.stderr
        job = {"name": "j", "stages": [{"tasks": 3, "task_s": 0.1, "command": ["sleep", "0.1"]}]}
        (tmp_path / "job.json").write_text(json.dumps(job))
        assert clearsched("engine", "slurm", "submit", str(tmp_path / "job.json")).returncode == 0
        obeyed = clearsched(
            "engine", "slurm", "obey", str(RULES), "--until-empty", "--log", str(tmp_path / "changes.jsonl")
        )
    assert obeyed.returncode == 0 and "looks" in obeyed.stdout, obeyed.stderr
    told = json.loads((tmp_path / "out/slurm.json").read_text())
    assert {run["policy"] for run in told["runs"]} == {"fifo", "static", "live", "live_limits"}
    for each in told["runs"]:
        assert len(each["jct_s"]) == 3 and min(each["jct_s"]) > 0
        slept = {(row[0], row[1], row[2]): row[4] - row[3] for row in each["tasks"]}
        assert len(slept) == len(each["tasks"])
    assert (tmp_path / "out/slurm.txt").read_text() == run.stdout


def test_without_a_slurm_a_command_ends_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    answer = clearsched("engine", "slurm", "obey", str(RULES))
    assert answer.returncode == 2 and answer.stderr.count("\n") == 1
    assert "sinfo: not found: install Slurm's commands" in answer.stderr
