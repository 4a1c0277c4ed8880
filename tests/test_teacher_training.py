"""Training the teacher: killed and resumed, diverged, several seeds, what it starts from, an optimum that it finds."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from clearsched import teacher
from clearsched.errors import ClearschedError
from clearsched.files import write_json
from clearsched.params import parse
from clearsched.problems.dag_jobs.graph import join
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Simulation, Workload
from clearsched.problems.dag_jobs.traces import write_trace
from clearsched.problems.dag_jobs.workloads import build
from clearsched.problems.policy import heuristic as any_heuristic
from clearsched.problems.set_network import SetNetwork
from clearsched.schemas import LEARNING_CURVE, TRAINING_TIMES, read_table
from clearsched.scorers.formula import WeightedSum
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.settings import GuardParams
from clearsched.search import safety
from clearsched.search.guard_bounds import measured
from clearsched.search.safety import Check, Verdict
from clearsched.students import fitting
from clearsched.teacher import baselines, imitation, judging, policy_gradient, resuming, run, sampling, training
from clearsched.teacher.devices import moved
from clearsched.teacher.experts import find_experts
from clearsched.teacher.imitation import Cloning
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.policy_gradient import Improving
from clearsched.teacher.resuming import Checkpoints, Snapshot, copy_of
from clearsched.teacher.rollouts import Recorder
from clearsched.teacher.sampling import Scope
from clearsched.teacher.settings import CloneParams, ImproveParams
from clearsched.teacher.steps import divergence
from cloning import clone
from stages import tiny_teacher
from toys import stage, toy_trace, toy_workload

SECOND = {"first_wave": 1200, "rest_wave": 1000, "fresh": 2000}
TRACE = toy_trace([[stage(3, **SECOND), stage(4, [0], **SECOND)], [stage(20, **SECOND), stage(1, [0], **SECOND)]])
OUTPUTS = ["learning_curve.parquet", "teacher.json", "teacher.safetensors"]


def params(**sections: Any) -> Any:
    """Two rounds of two epochs, then four iterations; a checkpoint wherever there can be one."""
    improve = {"iterations": 4, "sequences": 2, "rollouts": 2, "validate_every": 2, "anchor": 0.1, "epochs": 2}
    return tiny_teacher(improve=improve | sections.pop("improve", {}), checkpoint_s=0.0, **sections)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Trace, workloads and tuned heuristics."""
    folder = tmp_path_factory.mktemp("inputs")
    trace, workloads, tuned = (folder / name for name in ("trace.parquet", "workloads.parquet", "tuned.json"))
    write_trace(trace, TRACE)
    build(params(), trace, workloads)
    told = {"problem": "dag_jobs", "measure": "jct_s", "best": "capped_srpt", "capped_srpt": {"p": 0.5, "m": 2.0}}
    write_json(tuned, told | {"validation": {"capped_srpt": 12.0}})
    return [trace, workloads, tuned]


def test_a_network_says_what_it_means_by_none(inputs: list[Path], trained: Path, tmp_path: Path) -> None:
    """As the run says it that trains it; whoever reads it lets it schedule so."""
    trace, _, tuned = inputs
    plain = params()
    helping = plain.model_copy(update={"workload": plain.workload.model_copy(update={"help_first": True})})
    build(helping, trace, tmp_path / "workloads.parquet")
    facts = teacher.train(helping, trace, tmp_path / "workloads.parquet", tuned, [], tmp_path / "out")
    assert facts["help_first"] is True
    assert teacher.load_policy(tmp_path / "out/teacher.safetensors").help_first
    assert not teacher.load_policy(trained / "teacher.safetensors").help_first


def opened(inputs: list[Path]) -> Any:
    return PROBLEM.open(*inputs[:2])


@pytest.fixture(scope="module")
def trained(inputs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher")
    teacher.train(params(), *inputs, [], folder)
    assert sorted(path.name for path in folder.iterdir()) == OUTPUTS, "the checkpoint is gone"
    return folder


def same(one: Path, two: Path) -> bool:
    return all((one / name).read_bytes() == (two / name).read_bytes() for name in OUTPUTS)


# Killed and resumed


class Killed(Exception):
    """In place of the signal."""


def killed_after(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends as the checkpoint of that number has been written."""
    whole, written = Checkpoints.save_if_due, iter(range(1, 1000))

    def save(self: Checkpoints, take: Callable[[], Snapshot]) -> None:
        whole(self, take)
        assert self.path.is_file()
        if next(written) == count:
            raise Killed

    monkeypatch.setattr(Checkpoints, "save_if_due", save)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7])
def test_a_training_goes_on_where_it_was_killed(
    inputs: list[Path], trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """In a round of cloning, between two rounds, in a round of DAgger, before and between iterations."""
    with monkeypatch.context() as patch:
        killed_after(count, patch)
        with pytest.raises(Killed):
            teacher.train(params(), *inputs, [], tmp_path)
    assert not (tmp_path / "teacher.json").exists()
    steps = []
    epoch = training.run_clone.__globals__["Cloning"].run_round
    monkeypatch.setattr(
        training.run_clone.__globals__["Cloning"],
        "run_round",
        lambda self, *told: steps.append(self.number) or epoch(self, *told),
    )
    monkeypatch.setattr(run.time, "process_time", lambda: 1e6)  # of another process: its clock stands elsewhere
    teacher.train(params(), *inputs, [], tmp_path, times=tmp_path / "apart" / "times.parquet")
    times = read_table(tmp_path / "apart" / "times.parquet", TRAINING_TIMES)[0]
    shutil.rmtree(tmp_path / "apart")
    curve = read_table(tmp_path / "learning_curve.parquet", LEARNING_CURVE)[0]
    assert [times[name] for name in ("phase", "iteration")] == [curve[name] for name in ("phase", "iteration")]
    spent = times["cpu_s"].to_pylist()
    assert spent == sorted(spent) and spent[0] > 0, "what was spent before the kill counts"
    assert spent[-1] < 600 and len(set(spent[count:])) == 1, "the clock stood still from there on"
    assert same(tmp_path, trained)
    assert sorted(path.name for path in tmp_path.iterdir()) == OUTPUTS
    assert steps == {1: [0, 1], 2: [1], 3: [1]}.get(count, []), "what was done is not done again"


@pytest.mark.slow
def test_a_training_survives_kill_9(inputs: list[Path], trained: Path, tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from clearsched import teacher\n"
        "from clearsched.teacher.resuming import Checkpoints; import test_teacher_training as t\n"
        "whole, left = Checkpoints.save_if_due, [int(sys.argv[1])]\n"
        "def save(self, take):\n"
        "    whole(self, take); left[0] -= 1\n"
        "    if left[0] == 0: os.kill(os.getpid(), signal.SIGKILL)\n"
        "Checkpoints.save_if_due = save\n"
        "teacher.train(t.params(), *map(Path, sys.argv[2:5]), [], Path(sys.argv[5]))\n"
    )
    for left, expected in ((2, -9), (4, -9), (1000, 0)):
        command = [sys.executable, "-c", code, str(left), *map(str, inputs), str(tmp_path)]
        assert subprocess.run(command, check=False, cwd=Path(__file__).parent).returncode == expected
    assert same(tmp_path, trained)


def test_a_checkpoint_of_another_training_is_ignored(tmp_path: Path) -> None:
    snapshot = Snapshot({"a": torch.tensor([1.0, 2.0])}, {"at": 3, "state": 2**100, "value": 0.1})
    checkpoints = Checkpoints(tmp_path, "one", 0.0)
    assert checkpoints.load() is None
    checkpoints.save_if_due(lambda: snapshot)
    found = Checkpoints(tmp_path, "one", 0.0).load()
    assert found is not None
    assert (found.facts, found.tensors["a"].tolist()) == (snapshot.facts, [1.0, 2.0])
    assert Checkpoints(tmp_path, "two", 0.0).load() is None
    checkpoints.path.write_bytes(checkpoints.path.read_bytes()[:-3])
    assert checkpoints.load() is None, "a broken one too"
    checkpoints.clear()
    assert not list(tmp_path.iterdir())


def test_the_clock_decides_only_when_a_checkpoint_is_written(tmp_path: Path) -> None:
    Checkpoints(tmp_path, "one", 1000.0).save_if_due(lambda: pytest.fail("not due"))
    assert not list(tmp_path.iterdir())


def test_a_generator_and_an_optimiser_read_back() -> None:
    generator = np.random.default_rng(3)
    state = json.loads(json.dumps(resuming.state_of(generator)))
    expected = generator.random(5).tolist()
    resuming.restore_generator(generator, state)
    assert generator.random(5).tolist() == expected
    runs = []
    for resumed in (False, True):
        torch.manual_seed(0)
        layer = torch.nn.Linear(3, 1)
        optimiser = torch.optim.Adam(layer.parameters(), lr=0.1)
        for step in range(6):
            if resumed and step == 3:
                tensors = {k: v.clone() for k, v in resuming.optimiser_tensors(optimiser).items()}
                optimiser = torch.optim.Adam(layer.parameters(), lr=0.1)
                resuming.restore_optimiser(optimiser, tensors)
            optimiser.zero_grad()
            layer(torch.full((1, 3), float(step))).sum().pow(2).backward()
            optimiser.step()
        runs.append(layer.weight.tolist())
    assert runs[0] == runs[1]


# Diverged


def test_a_loss_that_is_no_number_stops_with_one_line(
    inputs: list[Path], trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    whole = policy_gradient.update
    monkeypatch.setattr(policy_gradient, "update", lambda *given: (np.nan, whole(*given)[1]))
    found = teacher.train(params(), *inputs, [], tmp_path)
    told = [line for line in capsys.readouterr().err.splitlines() if "stopped" in line]
    assert len(told) == 1 and "the loss is not finite; kept: clone, round" in told[0]
    assert found["stopped"] == "the loss is not finite"
    assert found["validation"]["teacher_is"].startswith("clone")
    teacher.load_policy(tmp_path / "teacher.safetensors")


def test_a_cloning_that_comes_to_nothing_is_an_error(
    inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clearsched.teacher import imitation

    whole = imitation.imitation_loss
    monkeypatch.setattr(imitation, "imitation_loss", lambda *given: (whole(*given)[0] * np.nan, whole(*given)[1]))
    with pytest.raises(ClearschedError, match=r"the loss is not finite: nothing to keep"):
        teacher.train(params(), *inputs, [], tmp_path)
    assert not (tmp_path / "teacher.json").exists()


def test_twice_the_clone_is_too_bad(inputs: list[Path]) -> None:
    instance = opened(inputs)
    experts = find_experts(instance, "best", inputs[2], [])
    network = training.new_network(instance, params().teacher, np.random.default_rng(0))
    run = training.Training(instance, instance.split("validation"), network, experts)
    run.clone = run.reference
    run.check_validation(1.9 * run.reference)
    with pytest.raises(training.Diverged, match="that of the clone was"):
        run.check_validation(2.1 * run.reference)


# What it starts from


def searched(folder: Path, value: float, name: str = "weights", measure: str = "jct_s") -> Path:
    """The smallest job first, all executors to it, as the search would write it."""
    policy = ScoredPolicy(
        name,
        PROBLEM,
        {"stage": WeightedSum({"job_work_left_s": -1.0}), "limit": WeightedSum({"constant": 1.0})},
        evidence={"validation": {"measure": measure, "episodes": 3, "value": value, "heuristic": 12.0}},
        kind="searched",
    )
    policy.write(folder / f"{name}.json")
    return folder / f"{name}.json"


def test_the_best_on_validation_is_cloned(inputs: list[Path], tmp_path: Path) -> None:
    def cloned(name: str, *files: Path) -> tuple[str, str, str]:
        found = find_experts(opened(inputs), name, inputs[2], files)
        return found.cloned.name, found.cloned.kind, found.heuristic.name

    good, bad = searched(tmp_path, 11.0), searched(tmp_path, 13.0, "stay_and_move")
    assert cloned("best") == ("capped_srpt", "heuristic", "capped_srpt")
    assert cloned("best", bad) == ("capped_srpt", "heuristic", "capped_srpt")
    assert cloned("best", bad, good) == ("weights", "searched", "capped_srpt")
    assert cloned("stay_and_move", bad, good) == ("stay_and_move", "searched", "capped_srpt")
    assert cloned("capped_srpt", bad, good) == ("capped_srpt", "heuristic", "capped_srpt")


def test_what_is_not_safe_is_not_cloned_where_another_is(inputs: list[Path], tmp_path: Path, capsys: Any) -> None:
    """A heuristic is asked, a searched policy's file tells; where none is safe it is the best of all."""

    def cloned(*files: Path, name: str = "best", strays: bool = True) -> str:
        found = find_experts(opened(inputs), name, inputs[2], files, lambda _: Verdict(1.3 if strays else 1.1, 8))
        return found.cloned.name

    worse, better = searched(tmp_path, 13.0, "stay_and_move"), searched(tmp_path, 11.0)
    assert cloned(worse) == "stay_and_move"
    assert capsys.readouterr().err == (
        "clearsched: teacher: capped_srpt is better on validation, and not safe: on its worst episode it takes 1.30 "
        "times the baseline's; stay_and_move is imitated\n"
    )
    assert cloned(worse, strays=False) == cloned(worse, name="capped_srpt") == "capped_srpt"
    for path in (worse, better):
        write_json(path, json.loads(path.read_text()) | {"stress": {"worst": 1.4, "episodes": 8, "hard": 1.0}})
    assert cloned(worse, better) == "weights", "none is safe"
    assert capsys.readouterr().err == (
        "clearsched: teacher: nobody who might be imitated is safe: weights is, the best on validation\n"
    )
    assert cloned(worse, better, strays=False) == "capped_srpt"
    assert "weights is better" in capsys.readouterr().err
    assert cloned() == "capped_srpt", "there is no other"


def test_what_a_file_tells_is_held_to_what_is_allowed_here(
    inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A searched policy may have been made where more is allowed beside a giant."""
    path = searched(tmp_path, 11.0)
    write_json(path, json.loads(path.read_text()) | {"stress": {"worst": 1.0, "episodes": 8, "hard": 1.4}})

    def cloned() -> str:
        return find_experts(opened(inputs), "best", inputs[2], [path], lambda _: Verdict(1.1, 8)).cloned.name

    assert cloned() == "weights"
    monkeypatch.setattr(DagJobsInstance, "hard_bound", 1.2)
    assert cloned() == "capped_srpt"


def test_what_a_clone_is_asked_with_the_guard_it_would_get(inputs: list[Path]) -> None:
    instance = opened(inputs)
    policy = heuristic("capped_srpt")
    alone = judging.verdict_as_clone(GuardParams(), instance, inputs[2], policy)
    guarded = judging.verdict_as_clone(GuardParams(heuristic="fair", margin=1.0), instance, inputs[2], policy)
    assert alone.episodes == guarded.episodes > 0
    assert alone != guarded, "of the stress some is beyond what training came to"
    spared = GuardParams(heuristic="fair", margin=1.0, only_if_unsafe=True)
    expected = guarded if alone.strays else alone
    assert judging.verdict_as_clone(spared, instance, inputs[2], policy) == expected
    easy = heuristic("fair")
    assert judging.verdict_as_clone(spared, instance, inputs[2], easy) == judging.verdict_as_clone(
        GuardParams(), instance, inputs[2], easy
    )


def test_what_cannot_be_cloned_is_told_in_one_line(inputs: list[Path], tmp_path: Path) -> None:
    good, other = searched(tmp_path, 11.0), searched(tmp_path, 11.0, "stay_and_move", measure="makespan_s")
    for name, files, message in (
        ("small_network", [good], "no searched policy 'small_network' was given: there are best, weights, fifo"),
        ("best", [other], "validation: does not tell its jct_s; search again"),
        ("best", [good, good], "a second searched policy with the name weights"),
    ):
        with pytest.raises(ClearschedError, match=message) as caught:
            find_experts(opened(inputs), name, inputs[2], files)
        assert "\n" not in str(caught.value)


def test_a_searched_policy_is_cloned_and_told(inputs: list[Path], tmp_path: Path) -> None:
    found = teacher.train(params(), *inputs, [searched(tmp_path, 11.0)], tmp_path / "out")
    assert (found["cloned"]["policy"], found["cloned"]["kind"]) == ("weights", "searched")
    assert found["validation"]["best_heuristic"] == "capped_srpt"
    assert set(found["provenance"]["inputs"]) == {"trace", "workloads", "tuned", "searched/weights"}


# Seeds


def test_training_seeds_differ_and_the_best_is_chosen(inputs: list[Path], trained: Path, tmp_path: Path) -> None:
    other = tmp_path / "1"
    teacher.train(params(), *inputs, [], other, 1)
    assert (other / OUTPUTS[2]).read_bytes() != (trained / OUTPUTS[2]).read_bytes()
    chosen = teacher.choose([trained, other], tmp_path / "out")
    values = [entry["teacher"] for entry in chosen["seeds"]]
    assert [entry["training_seed"] for entry in chosen["seeds"]] == [0, 1]
    best = (trained, other)[int(np.argmin(values))]
    assert chosen["validation"]["teacher"] == min(values)
    assert (tmp_path / "out" / OUTPUTS[2]).read_bytes() == (best / OUTPUTS[2]).read_bytes()
    teacher.load_policy(tmp_path / "out" / "teacher.safetensors")


def test_a_network_is_judged_on_giants_and_its_file_tells(inputs: list[Path], trained: Path) -> None:
    """The ratios are those of the policy and of fair on all that they are asked, run by hand."""
    instance = opened(inputs)
    train = instance.split("train")
    stressed = instance.stressed(train)
    episodes = [*instance.split("validation"), *train, *stressed[:200], *stressed[200::4]]
    assert any(episode.profile.max() >= TRACE.num_profiles for episode in episodes), "a giant is among them"
    policy = teacher.load_policy(trained / "teacher.safetensors")
    own, fair = (
        [(each.measures["jct_s"], each.end_s) for each in of.run(instance, episodes)]
        for of in (policy, heuristic("fair"))
    )
    ratios = np.array(own) / np.array(fair)
    hard = np.array([episode.profile.max() >= TRACE.num_profiles for episode in episodes])
    told = json.loads((trained / "teacher.json").read_text())["stress"]
    assert told["heuristic"] == "fair" and told["episodes"] == len(episodes)
    assert [told["worst"], told["end"]] == pytest.approx(ratios[~hard].max(axis=0).tolist(), rel=1e-3)
    assert told["hard"] == pytest.approx(ratios[hard].max(), rel=1e-3)


def test_a_network_is_judged_with_its_guard(
    inputs: list[Path], trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bounds are those of the cloned policy's own episodes; the check is asked of network and guard together."""
    asked: list[Any] = []

    def first_safe(verdict: Any, policies: Any, otherwise: int) -> Any:
        asked.extend(policies)
        return safety.first_safe(verdict, policies, otherwise)

    monkeypatch.setattr(judging, "first_safe", first_safe)
    given = {"heuristic": "weighted_fair", "margin": 1.0, "gauges": ("largest_s",)}
    facts = teacher.train(params(guard=given), *inputs, [], tmp_path)
    instance = opened(inputs)
    cloned = any_heuristic(PROBLEM, "capped_srpt", {"p": 0.5, "m": 2.0})
    expected = measured(GuardParams(**given), cloned, instance, inputs[2])
    assert expected is not None and list(expected.when) == ["largest_s"]
    assert facts["guard"] == expected.to_json()
    assert asked and all(policy.guard == expected for policy in asked)
    policy, alone = (teacher.load_policy(folder / "teacher.safetensors") for folder in (tmp_path, trained))
    assert policy.guard == expected and alone.guard is None
    assert "guard" not in json.loads((trained / "teacher.json").read_text())
    giants = instance.stressed(instance.split("train"))[:8]
    assert any(outcome.guard.take_overs for outcome in policy.run(instance, giants))
    assert not any(outcome.guard.take_overs for outcome in policy.run(instance, instance.split("train")))


@pytest.mark.parametrize("safe", ["alone", "guarded", "never"])
def test_only_an_unsafe_network_is_given_a_guard(
    safe: str, inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is asked alone first; where none is safe the best is kept, with its guard. So with one that is shipped."""
    asked: list[bool] = []

    def verdict(_: Any, policy: Any) -> Verdict:
        asked.append(policy.guard is not None)
        return Verdict(1.0 if safe == ("guarded" if asked[-1] else "alone") else 9.0, 8)

    monkeypatch.setattr(safety.Check, "verdict", verdict)
    given = {"heuristic": "fair", "gauges": ("largest_s",), "only_if_unsafe": True}
    for number, source in enumerate(({}, {"source": "shipped", "shipped": "default"})):
        asked.clear()
        facts = teacher.train(params(guard=given, **source), *inputs, [], tmp_path / str(number))
        assert asked[0] is False and asked[: 2 - (safe == "alone")] == [False, True][: len(asked)]
        assert ("guard" in facts) == (safe != "alone")
        assert facts["stress"]["worst"] == (9.0 if safe == "never" else 1.0)
        policy = teacher.load_policy(tmp_path / str(number) / "teacher.safetensors")
        assert (policy.guard is not None) == (safe != "alone")


def test_a_shipped_network_is_given_a_guard(inputs: list[Path], tmp_path: Path, capsys: Any) -> None:
    """And is judged with it: what the file tells by then is what the check says of both together."""
    shipped, given = {"source": "shipped", "shipped": "default"}, {"heuristic": "fair", "gauges": ("largest_s",)}
    plain = teacher.train(params(**shipped), *inputs, [], tmp_path / "plain")
    facts = teacher.train(params(**shipped, guard=given), *inputs, [], tmp_path / "guarded")
    assert facts == json.loads((tmp_path / "guarded" / "teacher.json").read_text())
    assert "guard" not in plain and list(facts["guard"]["when"]) == ["largest_s"]
    assert {key: facts[key] for key in facts if key not in ("guard", "stress")} == {
        key: plain[key] for key in plain if key != "stress"
    }
    policy = teacher.load_policy(tmp_path / "guarded" / "teacher.safetensors")
    assert policy.guard is not None and policy.guard.to_json() == facts["guard"]
    verdict = judging.check_of(opened(inputs)).verdict(policy)
    assert (facts["stress"]["episodes"], facts["stress"]["hard"]) == (
        verdict.episodes,
        pytest.approx(verdict.hard, 1e-3),
    )


@pytest.mark.parametrize("value", [{"heuristic": "fare"}, {"heuristic": "fair", "gauges": ["largest"]}])
def test_a_guard_with_a_typo_is_told_before_anything_runs(value: dict[str, Any]) -> None:
    with pytest.raises(ClearschedError, match=r"mine.yaml: teacher\.guard\.(heuristic|gauges.*): .*(fair|largest_s)"):
        parse({"teacher": {"guard": value}}, "mine.yaml")


def test_a_network_that_strays_is_not_run_on_what_comes_after(
    inputs: list[Path], trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long streams come last and take most of the time."""
    monkeypatch.setattr(safety, "NEAR", 0.01)
    monkeypatch.setattr(judging, "LOCKSTEP", 4)
    verdict = judging.check_of(opened(inputs)).verdict(teacher.load_policy(trained / "teacher.safetensors"))
    assert verdict.strays and verdict.episodes == 4


def test_without_a_tolerance_the_last_round_of_cloning_goes_on(
    inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has learned from all corrections, and is kept even if an earlier one has the better mean."""
    monkeypatch.setattr(run, "is_better", lambda *_: False)  # the first is the best for ever
    for tolerance, kept in ((None, "clone, round 1"), (10.0, "clone, round 0")):
        given = params()
        clone = given.teacher.clone.model_copy(update={"tolerance": tolerance})
        given = given.model_copy(update={"teacher": given.teacher.model_copy(update={"clone": clone})})
        facts = teacher.train(given, *inputs, [], tmp_path / str(tolerance))
        assert facts["validation"]["teacher_is"] == kept


def test_of_long_streams_a_part_of_the_decisions_is_learned_from(inputs: list[Path]) -> None:
    """Drawn by a seed, in their order, each as likely as any other; of fewer than the most all are."""
    instance = opened(inputs)
    episodes = instance.split("train")
    expert = any_heuristic(PROBLEM, "fifo").compiled
    whole = imitation.demonstrate(instance, episodes, expert)
    network = training.new_network(instance, params().teacher, np.random.default_rng(1))
    assert len(imitation.demonstrate(instance, episodes, expert, most=len(whole))) == len(whole)
    few = imitation.demonstrate(instance, episodes, expert, most=10)
    again = imitation.demonstrate(instance, episodes, expert, most=10)
    assert len(few) == 10 and few.candidate.tolist() == again.candidate.tolist()
    drivers = [TeacherPolicy(network, PROBLEM, "sampled", seed) for seed in (1, 2)]
    one, other = (imitation.demonstrate(instance, episodes, expert, driver, most=10) for driver in drivers)
    assert len(one) == len(other) == 10


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60).filter(any), st.integers(1, 20), st.integers(0, 9))
def test_a_recorder_keeps_a_part_in_order(sizes: list[int], most: int, seed: int) -> None:
    """Whatever comes in a step: of all decisions so many, one each, those of an episode in their order."""
    whole, part = Recorder(), Recorder(most, seed)
    for number, size in enumerate(sizes):
        rows, episodes = np.full(size, number), np.arange(size)
        for recorder in (whole, part):
            recorder.add(Rows(rows), episodes, rows)
    (everything, columns), (seen, kept) = whole.finish(), part.finish()
    assert len(seen.rows) == min(most, sum(sizes)) and everything.num_decisions == sum(sizes)
    assert seen.rows.tolist() == kept[1].tolist()
    pairs = list(zip(*(column.tolist() for column in columns), strict=True))
    chosen = list(zip(*(column.tolist() for column in kept), strict=True))
    assert chosen == sorted(set(chosen)) and set(chosen) <= set(pairs) and pairs == sorted(pairs)


def test_a_recorder_draws_each_decision_as_often() -> None:
    """The first of a long run as the last: by 400 seeds each of 60 is kept 10 in 60 times, but for luck."""
    counts = np.zeros(60)
    for seed in range(400):
        recorder = Recorder(10, seed)
        for number in range(60):
            recorder.add(Rows(np.array([number])), np.array([0]))
        counts[recorder.finish()[0].rows] += 1
    assert counts.sum() == 4000 and chisquare(counts).pvalue > 0.001


class Rows(NamedTuple):
    """As much of an observation as is asked for: a number for each decision."""

    rows: np.ndarray

    @property
    def num_decisions(self) -> int:
        return len(self.rows)

    def take(self, rows: np.ndarray) -> Rows:
        return Rows(self.rows[rows])

    def and_more(self, others: list[Rows]) -> Rows:
        return Rows(np.concatenate([self.rows, *(other.rows for other in others)]))


def with_safety_rounds(rounds: int) -> Any:
    told = params()
    clone = told.teacher.clone.model_copy(update={"tolerance": 10.0, "safety_rounds": rounds})
    return told.model_copy(update={"teacher": told.teacher.model_copy(update={"clone": clone})})


def test_a_clone_is_corrected_where_it_strays(
    inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Round by round until it strays nowhere, by the episodes that told; the last round goes on, killed or not."""
    drawn = iter([[1], [4, 0], []])
    monkeypatch.setattr(judging.Asked, "strayed", lambda self, network: next(drawn))
    seen: list[Any] = []
    decisions: list[int] = []
    demonstrate = imitation.demonstrate

    def watched(instance: Any, episodes: list[Any], expert: Any, driver: Any = None, *told: Any, **how: Any) -> Any:
        found = demonstrate(instance, episodes, expert, driver, *told, **how)
        seen.append(([episode.seed for episode in episodes], *map(list, told)))
        decisions.append(len(found))
        return found

    monkeypatch.setattr(imitation, "demonstrate", watched)
    facts = teacher.train(with_safety_rounds(5), *inputs, [], tmp_path / "whole")
    assert facts["validation"]["teacher_is"] == "clone, round 2", "close after the first round of all, then two more"
    instance = opened(inputs)
    asked = [episode.seed for episode in judging.Asked(instance, None).episodes]
    assert asked[:4] == [episode.seed for episode in instance.split("train")] and len(asked) > 4
    assert seen[0] == (asked[:2],) and seen[1] == ([asked[1]], [0]), "one that told"
    again = -(-decisions[0] // decisions[1])
    assert again > 1 and seen[2] == ([asked[1]] * (again - 1), [*range(1, again)]), "with other draws"
    assert decisions[0] <= sum(decisions[1:3]) <= 2 * decisions[0], "as many decisions as in the first round"
    assert seen[3] == ([asked[4], asked[0]], [0, 0]), "two that told"
    policy, episode = teacher.load_policy(tmp_path / "whole/teacher.safetensors", "sampled"), instance.split("train")[0]
    draws = [policy.generator(instance, episode, times).random() for times in (0, 1)]
    assert draws[0] != draws[1] and draws[0] == policy.generator(instance, episode).random()
    monkeypatch.setattr(judging.Asked, "strayed", lambda self, network: [1])
    teacher.train(with_safety_rounds(2), *inputs, [], tmp_path / "two")
    for count in (2, 3, 4):  # between the rounds, and within one
        with monkeypatch.context() as kill:
            killed_after(count, kill)
            with pytest.raises(Killed):
                teacher.train(with_safety_rounds(2), *inputs, [], tmp_path / "killed")
        teacher.train(with_safety_rounds(2), *inputs, [], tmp_path / "killed")
        for name in OUTPUTS:
            assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
            (tmp_path / "killed" / name).unlink()


def test_asked_is_where_a_network_strays(inputs: list[Path], trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The episodes of the first part in which it does; an episode alone tells the same."""
    monkeypatch.setattr(judging, "LOCKSTEP", 4)
    asked, policy = judging.Asked(opened(inputs), None), teacher.load_policy(trained / "teacher.safetensors")
    fair, lanes = heuristic("fair"), judging.Lanes(opened(inputs))
    alone = [not Check(lanes, fair, [episode]).is_safe(policy) for episode in asked.episodes[:8]]
    part = alone[:4] if any(alone[:4]) else alone[4:]
    begin = 0 if any(alone[:4]) else 4
    assert any(part) and asked.strayed(policy.network) == [begin + i for i, strays in enumerate(part) if strays]


def test_a_clone_is_asked_all_that_is_rare_and_that_its_expert_can(inputs: list[Path], trained: Path) -> None:
    """After the check come further episodes, drawn anew, but for those on which the expert strays itself."""
    instance = opened(inputs)
    fair, expert = heuristic("fair"), heuristic("sjf_cp")
    drawn = instance.redrawn(instance.split("train"), 40, judging.ANEW)
    check = Check(judging.Lanes(instance), fair, drawn)
    lanes = judging.Lanes(instance)
    strayed = [place for place, episode in enumerate(drawn) if not Check(lanes, fair, [episode]).is_safe(expert)]
    assert 0 < len(strayed) < len(drawn) and check.strayed_of_all(expert) == strayed
    assert check.strayed(expert) == [place for place in strayed if place // 16 == strayed[0] // 16], "of one part"
    first = judging.Asked(instance, None).episodes
    assert judging.rare(SimpleNamespace(), expert, 0) == [], "a problem that draws none anew is not asked to"
    asked = judging.Asked(instance, None, judging.rare(instance, expert, 40))
    seeds = [episode.seed for episode in asked.episodes]
    rare = [episode.seed for place, episode in enumerate(drawn) if place not in strayed]
    assert seeds == [episode.seed for episode in first] + rare
    network = teacher.load_policy(trained / "teacher.safetensors").network
    told = [seeds[place] for place in asked.strayed(network)]
    asked._check = Check(judging.Lanes(instance), fair, [])  # as if it strayed on none of the check
    of_rare = [seeds[place] for place in asked.strayed(network)]
    assert told and set(told) <= {episode.seed for episode in first} and set(of_rare) <= set(rare)
    policy = teacher.load_policy(trained / "teacher.safetensors")
    kept = [episode for episode in drawn if episode.seed in set(rare)]
    alone = [not Check(judging.Lanes(instance), fair, [episode]).is_safe(policy) for episode in kept]
    assert of_rare == [episode.seed for episode, strays in zip(kept, alone, strict=True) if strays]


def test_a_student_is_asked_all_that_is_rare_and_that_the_teacher_can(
    inputs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of each kind of further episodes those on which the teacher does not stray; none unless they are asked for."""
    instance = opened(inputs)
    given = with_safety_rounds(0)
    asked = given.students.model_copy(update={"safety_episodes": 45})
    assert fitting.asked_besides(given.students, "rule_list", instance, "sjf_cp", None) == []
    assert capsys.readouterr().err == ""
    found = fitting.asked_besides(asked, "rule_list", instance, "sjf_cp", None)
    drawn = instance.redrawn_of_all(instance.split("train"), 45, judging.ANEW)
    check = Check(judging.Lanes(instance), heuristic("fair"), drawn)
    strayed = check.strayed_of_all(heuristic("sjf_cp"))
    assert 0 < len(strayed) < len(drawn) == 45
    assert [one.seed for one in found] == [one.seed for place, one in enumerate(drawn) if place not in strayed]
    line = f"rule_list: asked {45 - len(strayed)} of 45 further episodes: the teacher is safe there\n"
    assert capsys.readouterr().err == line


def test_what_improvement_makes_is_asked_what_the_clone_was(
    inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The validation episodes, and all that the clone was asked."""
    given = with_safety_rounds(1)
    clone = given.teacher.clone.model_copy(update={"safety_episodes": 12})
    given = given.model_copy(update={"teacher": given.teacher.model_copy(update={"clone": clone})})
    seen = []

    def settled(trained: Any, guard: Any, asked: judging.Asked) -> Any:
        check = asked.with_validation()
        seen.extend(episode.seed for part in check._parts for episode in part)
        return SimpleNamespace(refused=[], verdict=Verdict(1.0, len(seen))), None

    monkeypatch.setattr(training, "settle", settled)
    facts = teacher.train(given, *inputs, [], tmp_path / "out")
    instance = opened(inputs)
    expert = find_experts(instance, given.teacher.clone.policy, inputs[2], []).cloned
    asked = judging.Asked(instance, None, judging.rare(instance, expert, 12)).episodes
    assert seen == [episode.seed for episode in (*instance.split("validation"), *asked)]
    assert facts["stress"]["episodes"] == len(seen)


def test_what_was_the_best_before_is_kept_where_the_best_strays(
    inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Back to the clone; the best of all where none is safe. A training that was killed knows them too."""
    monkeypatch.setattr(run, "is_better", lambda *_: True)  # each is the best so far
    strays, safe = Verdict(2.0, 8), Verdict(1.0, 9)
    weights = []
    for name, told, kept in (
        ("none", [strays] * 9, "mean of the weights, iteration 3"),
        ("one", [strays, safe], "iteration 3"),
        ("killed", [strays, safe], "iteration 3"),
    ):
        left = iter(told)
        told_so = SimpleNamespace(verdict=lambda policy, left=left: next(left))
        monkeypatch.setattr(judging, "check_of", lambda instance, check=told_so: check)
        if name == "killed":
            with monkeypatch.context() as kill:
                killed_after(7, kill)
                with pytest.raises(Killed):
                    teacher.train(params(), *inputs, [], tmp_path / name)
        facts = teacher.train(params(), *inputs, [], tmp_path / name)
        assert facts["validation"]["teacher_is"] == kept
        assert facts["refused"] == [str(strays)] * (5 if name == "none" else 1), "of improving, and the clone"
        assert facts["stress"]["worst"] == (2.0 if name == "none" else 1.0)
        line = "clearsched: teacher: mean of the weights, iteration 3: not safe: on its worst episode it takes"
        assert line in capsys.readouterr().err
        weights.append((tmp_path / name / "teacher.safetensors").read_bytes())
    none, one, killed = weights
    assert none != one == killed


def test_a_network_that_strays_is_chosen_last(
    inputs: list[Path], trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """However good it is on the validation episodes; where all stray the best of them is kept, and a line says so."""
    for name, value, worst in (("good", 9.0, 1.6), ("safe", 11.0, 1.1), ("worse", 10.0, 1.6)):
        shutil.copytree(trained, tmp_path / name)
        facts = json.loads((trained / "teacher.json").read_text())
        facts["validation"]["teacher"] = value
        facts["stress"] |= {"worst": worst, "end": 1.0, "hard": 1.4}
        write_json(tmp_path / name / "teacher.json", facts)
    folders = [tmp_path / name for name in ("good", "safe", "worse")]
    chosen = teacher.choose(folders, tmp_path / "out")
    assert chosen["validation"]["teacher"] == 11.0 and not capsys.readouterr().err
    assert [seed["safe"] for seed in chosen["seeds"]] == [False, True, False]
    assert teacher.choose([folders[2], folders[0]], tmp_path / "out")["validation"]["teacher"] == 9.0
    assert "none is safe" in capsys.readouterr().err


def test_a_choice_among_strangers_is_refused(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match="no folder"):
        teacher.choose([], tmp_path)
    facts = json.loads((trained / "teacher.json").read_text())
    write_json(tmp_path / "a" / "teacher.json", facts | {"seed": 6})
    with pytest.raises(ClearschedError, match="trained on other inputs than"):
        teacher.choose([trained, tmp_path / "a"], tmp_path / "out")
    write_json(tmp_path / "a" / "teacher.json", {"problem": "dag_jobs"})
    with pytest.raises(ClearschedError, match="does not tell how its teacher does on validation"):
        teacher.choose([trained, tmp_path / "a"], tmp_path / "out")


# Devices and metrics


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_told_in_one_line(inputs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match=r"^teacher\.device: cuda: torch finds no GPU here: write auto or cpu$"):
        teacher.train(params(device="cuda"), *inputs, [], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_training_goes_on_on_the_device_that_it_was_on(inputs: list[Path], trained: Path) -> None:
    """A checkpoint is read to the CPU; what goes on elsewhere must not mix with it."""
    network, instance = teacher.load_policy(trained / "teacher.safetensors").network.float(), opened(inputs)

    def improving() -> Improving:
        settings = ImproveParams(average=0.5, anchor=1.0)
        return Improving(network, instance, instance.split("train"), settings, np.random.default_rng(0), 20.0)

    before = improving()
    before.average = copy_of(network)
    snapshot = before.snapshot()
    network.to("meta")  # as there is a GPU: refuses what mixes devices
    after = improving()
    after.restore(snapshot)
    after._move_average()
    assert {value.device.type for value in after.average.values()} == {"meta"}


def test_all_of_a_network_runs_on_another_device() -> None:
    """The device `meta` computes nothing, but refuses what mixes devices, as a GPU would."""
    simulation = Simulation(compile_profiles(TRACE), toy_workload([0, 0, 0], 4, profile=[0, 1, 0]))
    assert simulation.advance()
    graph = join([simulation.observe()])
    sizes = {"embedding": 4, "hidden": 8, "rounds": 2}
    names = tuple(feature.name for feature in PROBLEM.choices[0].features)
    for network in (PROBLEM.network(sizes, True), SetNetwork(names, 4, 8, none=True, levels=True)):
        batch = moved(network.encode(graph), torch.device("meta"))
        there = network.to("meta")
        embedding = there.embed(batch)
        scores = there.score_candidates(batch, embedding)
        assert scores.device.type == "meta"
        if isinstance(network, SetNetwork):
            continue  # its number of levels is read from the batch, which `meta` does not hold
        assert there.score_levels(batch, embedding, batch.first_candidate).device.type == "meta"


def test_metrics_are_written_as_training_goes(inputs: list[Path], trained: Path, tmp_path: Path) -> None:
    pytest.importorskip("dvclive")
    teacher.train(params(live=True), *inputs, [], tmp_path)
    rows = (tmp_path / "live/plots/metrics/improve/loss.tsv").read_text().splitlines()
    assert len(rows) == 1 + 4
    assert same(tmp_path, trained), "results do not depend on it"


def test_metrics_without_dvclive_are_an_error(
    inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dvclive", None)
    with pytest.raises(ClearschedError, match=r"teacher\.live: needs DVCLive: pip install 'clearsched\[live\]'"):
        teacher.train(params(live=True), *inputs, [], tmp_path)


# Advantages


def finished(arrival_ms: list[int], completion_ms: list[int]) -> EpisodeResult:
    return EpisodeResult(np.array(arrival_ms), np.array(completion_ms), np.ones(len(arrival_ms)), 0, 0)


def test_a_cut_return_is_the_integral_until_the_cut() -> None:
    """Jobs in the system over [0, 3 s] and [1 s, 4 s], cut at 2 s."""
    result, times = finished([0, 1000], [3000, 4000]), np.array([0.0, 0.5, 1.5, 2.0, 3.0])
    np.testing.assert_allclose(baselines.cost_until(result, times, np.inf, 2.0), [-3, -2.5, -1, 0, 0])
    until = baselines.cost_until(result, np.array([0.5]), 1.5, 2.0)[0]
    clock = np.linspace(0.5, 2, 1_000_001)
    jobs = 1 + (clock >= 1)
    assert until == pytest.approx(-np.trapezoid(np.exp(-(clock - 0.5) / 1.5) * jobs, clock), rel=1e-5)


def test_a_reward_less_its_mean_changes_nothing_where_rollouts_are_cut_together() -> None:
    """Decima's differential reward: the rate that is subtracted is the same for all rollouts of an episode."""
    times, end_s, rate = np.array([0.0, 1.0]), 2.5, 0.7
    plain = [finished([0, 1000], ends) for ends in ([3000, 4000], [2000, 6000])]

    class Differential:
        def __init__(self, result: EpisodeResult) -> None:
            self.result = result

        def cost_to_go(self, times_s: np.ndarray, horizon_s: float) -> np.ndarray:
            return self.result.cost_to_go(times_s, horizon_s) + rate * horizon_s  # the integral of a constant rate

    less = [Differential(result) for result in plain]
    for one, two in zip(
        baselines.group_advantages([times] * 2, plain, 2.0, end_s),
        baselines.group_advantages([times] * 2, less, 2.0, end_s),
        strict=True,
    ):
        np.testing.assert_allclose(one, two)


def test_generalised_advantages() -> None:
    """An infinite trace leaves them as they are; a trace of no time leaves the surprise of each decision alone."""
    generator = np.random.default_rng(0)
    times = [np.array([0.0, 1.0, 3.0]), np.array([0.5, 2.0])]
    own = generator.normal(size=5)
    np.testing.assert_allclose(baselines.generalised(own, times, 2.0, np.inf), own)
    alone = baselines.generalised(own, times, 2.0, 1e-9)
    assert alone[0] == pytest.approx(own[0] - np.exp(-1 / 2) * own[1])
    assert alone[1] == pytest.approx(own[1] - np.exp(-2 / 2) * own[2])
    assert (alone[2], alone[4]) == (pytest.approx(own[2]), pytest.approx(own[4]))
    some = baselines.generalised(own, times, 2.0, 4.0)
    assert some[0] == pytest.approx(alone[0] + np.exp(-1 / 2 - 1 / 4) * some[1])


def test_divergence_is_that_of_kullback_and_leibler() -> None:
    one = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]).log()
    two = torch.tensor([[0.25, 0.75, 0.0], [1.0, 0.0, 0.0]]).log()
    found = divergence(one, two)
    assert found.tolist() == pytest.approx([0.5 * np.log(2) + 0.5 * np.log(2 / 3), 0.0], abs=1e-6)


def test_rollouts_are_cut_together() -> None:
    """Of an episode that is cut, no decision after the cut is learned from, and the expert ends it."""
    instance = DagJobsInstance(compile_profiles(TRACE))
    episodes = [toy_workload([0, 1000, 2000, 9000], 4, profile=[0, 1, 0, 1], seed=seed) for seed in range(3)]
    network = PROBLEM.network({"embedding": 4, "hidden": 8, "rounds": 2}, True)
    expert = heuristic("capped_srpt", p=0.5, m=2.0).compiled
    drawn = sampling.collect(network, instance, episodes, 3, np.random.default_rng(1), Scope(5.0, 3.0, 4.0, expert))
    ends_s = np.repeat(np.random.default_rng(1).exponential(4.0, 3), 3)
    times_s, which = drawn.steps.time_s, drawn.steps.episode
    assert drawn.mean_objective is None
    assert set(which) == set(range(9))
    first = np.concatenate([[True], np.diff(which) > 0])
    assert np.all((times_s < ends_s[which]) | first)
    whole = sampling.roll_out(network, instance, [episodes[0]], np.random.default_rng(1))[0]
    assert times_s.max() < whole.time_s.max() or ends_s.max() > whole.time_s.max()


# An optimum


def test_the_network_finds_shortest_job_first() -> None:
    """Jobs of one stage, all there at the start, one executor: the shortest first is best (Smith 1956).

    The network starts from a clone of FIFO and is told of jobs only what it sees.
    """
    second = {"first_wave": 1000, "rest_wave": 1000, "fresh": 1000}
    sizes_s = np.array([1, 2, 4, 8, 16])
    instance = DagJobsInstance(compile_profiles(toy_trace([[stage(int(size), **second)] for size in sizes_s])))
    generator = np.random.default_rng(0)

    def episode() -> Workload:
        which = generator.integers(len(sizes_s), size=6)
        return toy_workload([0] * 6, 1, profile=which.tolist(), moving_delay_ms=0, idling=False)

    def best_s(drawn: Workload) -> float:
        return float(np.cumsum(np.sort(sizes_s[drawn.profile])).mean())

    train, fresh = [episode() for _ in range(32)], [episode() for _ in range(32)]
    optimum = np.mean([best_s(drawn) for drawn in fresh])
    torch.manual_seed(0)
    network = PROBLEM.network({"embedding": 4, "hidden": 16, "rounds": 1}, False)
    fifo = heuristic("fifo")
    clone(Cloning(network, instance, train[:16], fifo.compiled, CloneParams(epochs=4, dagger_rounds=0), generator))
    mean = [np.mean([result.avg_jct_s for result in fifo.run(instance, fresh)])]
    network.soften(5.0)
    sizes = {"iterations": 30, "sequences": 16, "rollouts": 8, "batch_size": 256}
    settings = ImproveParams(**sizes, learning_rate=0.01, target_kl=None)
    for _ in Improving(network, instance, train, settings, generator, float(mean[0])).run():
        pass
    mean.append(np.mean([result.avg_jct_s for result in TeacherPolicy(network, PROBLEM).run(instance, fresh)]))
    assert mean[0] > 1.2 * optimum
    assert mean[1] < 1.005 * optimum
