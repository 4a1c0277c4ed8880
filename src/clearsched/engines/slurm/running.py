"""The evidence: the same arrivals under Slurm's own order, a static, a live and a limited one, and in the simulator."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.engines import comparing
from clearsched.engines.slurm.bundles import compiled_bundles, drawn_durations
from clearsched.engines.slurm.client import Slurm
from clearsched.engines.slurm.features import check_at_submission, static_features
from clearsched.engines.slurm.obeying import Keeper
from clearsched.engines.slurm.planning import Planner
from clearsched.engines.slurm.replaying import Ran, prepared, replay
from clearsched.engines.slurm.stand_ins import FIFO, LIMITED, LIVE, POLICIES, STATIC, simulated_policies
from clearsched.engines.tables import order, table
from clearsched.errors import ClearschedError
from clearsched.evaluation.statistics import generator
from clearsched.files import provenance, read_json, write_json, write_text
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.semantics import Semantics
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.traces import load_profiles
from clearsched.problems.policy import heuristic
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.temporary import temporary_folder

RULES = Semantics(work_conserving=True, offer_parked=True)
"""Of the simulator: as in Slurm, a core that runs nothing is offered after every event."""

FIGURES = 4
"""Decimals of seconds that are kept."""


@dataclass(frozen=True)
class Setting:
    """What is compared.

    Attributes:
        sequences: of arrivals, each under every policy.
        jobs: of a sequence.
        gap_s: mean time between two arrivals (Poisson); 0: all at once.
        bundle: recorded tasks in one task.
        slower: how many times as long.
        every_s: between two looks of the loop.
        seed: of jobs, arrivals and durations.
    """

    sequences: int
    jobs: int
    gap_s: float
    bundle: int
    slower: float
    every_s: float
    seed: int


def compare(student: Path, trace: Path | str, out: Path, setting: Setting, policies: Sequence[str] = POLICIES) -> str:
    """Run every sequence under every policy, on Slurm and in the simulator; the table.

    Writes `runs/<sequence>_<policy>.json` as each run ends, and takes those that are there: an interrupted comparison
    goes on where it was. Then `slurm.json` with all figures, and `slurm.txt`, the table.

    Raises:
        ClearschedError: Slurm or a file is missing, the student cannot be obeyed, or runs of another setting lie there.
    """
    problem = find_problem("dag_jobs")
    policy = load_policy(student, problem)
    slurm = Slurm()
    cores = slurm.cores()
    Planner(policy, cores)
    if STATIC in policies:
        check_at_submission(policy)
        if not slurm.submits_by_lua():
            raise ClearschedError(
                "slurm: static: no job_submit.lua is loaded: clearsched export STUDENT --format slurm --out FILE, then "
                "LUA=FILE engines/slurm/cluster.sh up; or leave it out (--policy)"
            )
    profiles = compiled_bundles(load_profiles(trace), setting.bundle, setting.slower)
    origin = provenance({**vars(setting), "cores": cores}, {"student": student})
    runs = []
    for number in range(setting.sequences):
        episode = sequence_of(profiles, setting, number, cores)
        for name in policies:
            path = out / "runs" / f"{number}_{name}.json"
            if not path.is_file():
                _run(slurm, policy, profiles, episode, name, setting, path, origin)
            runs.append(_read(path, origin))
            last = runs[-1]
            print(f"slurm: sequence {number}: {name}: {last['mean_jct_s']:.1f} s", file=sys.stderr, flush=True)
    simulated = _simulated(policy, profiles, setting, cores, policies)
    write_json(out / "slurm.json", {"provenance": origin, "runs": runs, "simulated": simulated})
    text = told(runs, simulated, policies)
    write_text(out / "slurm.txt", text)
    return text


def told(
    runs: Sequence[Mapping[str, Any]], simulated: Mapping[str, Sequence[Sequence[float]]], policies: Sequence[str]
) -> str:
    """What came out: JCT on Slurm and in the simulator, the first policy being the reference.

    Args:
        runs: on Slurm, by sequence.
        simulated: JCT of each job, s, by policy and sequence.
        policies: their names.
    """
    found = {name: _paired(runs, simulated, name) for name in policies}
    first = found[policies[0]].real_s
    lines = [f"{len(first)} sequences of {len(first[0])} jobs on a real Slurm."]
    lines += table(comparing.compare(found, policies[0]), policies[0])
    if len(policies) > 1:
        lines += ["", *order(comparing.ranking(found))]
    return "\n".join(lines) + "\n"


def _paired(
    runs: Sequence[Mapping[str, Any]], simulated: Mapping[str, Sequence[Sequence[float]]], name: str
) -> comparing.Runs:
    real = tuple(np.asarray(run["jct_s"]) for run in runs if run["policy"] == name)
    return comparing.Runs(real, tuple(map(np.asarray, simulated[name])))


def sequence_of(profiles: Profiles, setting: Setting, number: int, cores: int) -> Workload:
    """The jobs and arrivals of a sequence: profiles drawn evenly, the first arrives at once."""
    draws = generator(setting.seed, "slurm", str(number))
    profile = draws.integers(profiles.trace.num_profiles, size=setting.jobs)
    gaps = draws.exponential(setting.gap_s * 1000, setting.jobs) if setting.gap_s else np.zeros(setting.jobs)
    arrival_ms = np.rint(np.cumsum(gaps) - gaps[0]).astype(np.int64)
    seed = int(draws.integers(2**31))
    return Workload(profile.astype(np.int64), arrival_ms, cores, 0, seed=seed, semantics=RULES)


def _simulated(
    policy: ScoredPolicy, profiles: Profiles, setting: Setting, cores: int, policies: Sequence[str]
) -> dict[str, list[list[float]]]:
    """JCT of each job, s, by policy and sequence, in the simulator."""
    instance = DagJobsInstance(profiles)
    episodes = [sequence_of(profiles, setting, number, cores) for number in range(setting.sequences)]
    stand_ins = simulated_policies(policy)
    return {
        name: [outcome.jct_s.round(FIGURES).tolist() for outcome in stand_ins[name].run(instance, episodes)]
        for name in policies
    }


def _run(
    slurm: Slurm,
    policy: ScoredPolicy,
    profiles: Profiles,
    episode: Workload,
    name: str,
    setting: Setting,
    path: Path,
    origin: dict[str, Any],
) -> None:
    """One episode on Slurm, into a file."""
    cores = episode.num_executors
    fifo = heuristic(policy.problem, "fifo")
    changes: list[dict[str, Any]] = []
    keeper = None
    if name in (LIVE, LIMITED):
        planner = Planner(policy, cores, limits=name == LIMITED)
        keeper = Keeper(slurm, planner, _say, changes.append)
    # Live ranks begin where the static ones are, until the loop has seen a stage.
    static = static_features(policy) if name != FIFO and slurm.submits_by_lua() else []
    with temporary_folder(path.resolve()) as folder:
        jobs = prepared(profiles, episode, drawn_durations(profiles, episode, fifo), folder)
        arrival_s = (np.asarray(episode.arrival_ms) / 1000).tolist()
        ran = replay(slurm, jobs, arrival_s, folder, cores, setting.every_s, keeper, static)
    write_json(path, {"provenance": origin, "policy": name, **_kept(ran), "changes": changes})


def _kept(ran: Ran) -> dict[str, Any]:
    """A run as JSON."""
    return {
        "mean_jct_s": round(float(ran.jct_s.mean()), FIGURES),
        "jct_s": ran.jct_s.round(FIGURES).tolist(),
        "submitted_after_s": ran.late_s.round(FIGURES).tolist(),
        "looks": ran.looks,
        "changes_made": ran.changes,
        "refused": ran.refused,
        "tasks": ran.tasks.round(FIGURES).tolist(),
    }


def _read(path: Path, origin: dict[str, Any]) -> dict[str, Any]:
    """A run that is there.

    Raises:
        ClearschedError: it is of another student or setting.
    """
    run = read_json(path)
    if not isinstance(run, dict) or run.get("provenance") != origin:
        raise ClearschedError(f"{path}: a run of another student or setting: take another folder, or delete it")
    return run


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
