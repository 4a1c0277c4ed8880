"""The evidence: the same arrivals under Slurm's own order, a static, a live and a limited one, and in the simulator."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.engines.slurm.bundles import compiled_bundles, drawn_durations
from clearsched.engines.slurm.client import Slurm
from clearsched.engines.slurm.features import check_at_submission, static_features
from clearsched.engines.slurm.obeying import Keeper
from clearsched.engines.slurm.planning import Planner
from clearsched.engines.slurm.replaying import Ran, prepared, replay
from clearsched.errors import ClearschedError
from clearsched.evaluation.statistics import bootstrap_mean, bootstrap_ratio, generator
from clearsched.files import provenance, read_json, write_json, write_text
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.semantics import Semantics
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.traces import load_profiles
from clearsched.problems.declarations import Choice
from clearsched.problems.policy import heuristic
from clearsched.scorers.patches import STAY_IDLE, Patch
from clearsched.scorers.policy import ScoredPolicy, load_policy, names_of
from clearsched.scorers.scorer import Scorer, read_scorer
from clearsched.temporary import temporary_folder

FIFO, STATIC, LIVE, LIMITED = POLICIES = ("fifo", "static", "live", "live_limits")
"""Slurm's own order; the rank at submission; from there on the rank, live; rank and limits, live."""

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
    content = {"provenance": origin, "runs": runs, "simulated": simulated}
    text = table(runs, simulated, policies, setting)
    write_json(out / "slurm.json", content)
    write_text(out / "slurm.txt", text)
    return text


def sequence_of(profiles: Profiles, setting: Setting, number: int, cores: int) -> Workload:
    """The jobs and arrivals of a sequence: profiles drawn evenly, the first arrives at once."""
    draws = generator(setting.seed, "slurm", str(number))
    profile = draws.integers(profiles.trace.num_profiles, size=setting.jobs)
    gaps = draws.exponential(setting.gap_s * 1000, setting.jobs) if setting.gap_s else np.zeros(setting.jobs)
    arrival_ms = np.rint(np.cumsum(gaps) - gaps[0]).astype(np.int64)
    seed = int(draws.integers(2**31))
    return Workload(profile.astype(np.int64), arrival_ms, cores, 0, seed=seed, semantics=RULES)


def simulated_policies(policy: ScoredPolicy) -> Mapping[str, Any]:
    """What the simulator runs in the place of each policy."""
    eldest = {"rules": [{"if": "otherwise", "then": 1.0}], "ties": ["-job_age_s"]}
    by_age = replace(policy, scorers={**policy.scorers, policy.rank.name: _scorer(policy.rank, eldest)}, patches=())
    found = {
        FIFO: without_limits(by_age),
        STATIC: without_limits(frozen(policy)),
        LIVE: without_limits(policy),
        LIMITED: policy,
    }
    return {name: replace(each, patches=(*each.patches, READY)) for name, each in found.items()}


READY = Patch("stage_is_ready < 1", STAY_IDLE, because="Slurm gives no core to a stage before its parents have ended")
"""In the simulator cores may be promised ahead of time, and wait in a job: not where Slurm is simulated."""


def without_limits(policy: ScoredPolicy) -> ScoredPolicy:
    """The policy with all executors as the limit of every job."""
    assert policy.level is not None
    whole = _scorer(policy.level, {"rules": [{"if": "otherwise", "then": 1.0}]})
    kept = tuple(patch for patch in policy.patches if patch.cap is None)
    return replace(policy, scorers={**policy.scorers, policy.level.name: whole}, patches=kept)


TOTALS = {"job_work_left_s": "job_work_total_s"}
"""What a feature was when the job was submitted, where that is another one: the static form is simulated with it."""


def frozen(policy: ScoredPolicy) -> ScoredPolicy:
    """The policy with its rank as it was when a job was submitted, as far as features tell that."""
    renamed = _scorer(policy.rank, _renamed(policy.scorers[policy.rank.name].to_json()))
    return replace(policy, scorers={**policy.scorers, policy.rank.name: renamed})


def _scorer(choice: Choice, told: Any) -> Scorer:
    return read_scorer(told, names_of(choice), "stand-in")


def _renamed(value: Any) -> Any:
    """JSON of a scorer with other features."""
    if isinstance(value, dict):
        return {TOTALS.get(key, key): _renamed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_renamed(each) for each in value]
    if isinstance(value, str):
        for old, new in TOTALS.items():
            value = value.replace(old, new)
    return value


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
    write_json(path, {"provenance": origin, "policy": name, **_told(ran), "changes": changes})


def _told(ran: Ran) -> dict[str, Any]:
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


def table(
    runs: Sequence[Mapping[str, Any]],
    simulated: Mapping[str, Sequence[Sequence[float]]],
    policies: Sequence[str],
    setting: Setting,
) -> str:
    """Mean JCT by policy on Slurm and in the simulator, with intervals over the sequences, and how far they differ."""
    from scipy.stats import kendalltau

    real = {name: np.array([run["mean_jct_s"] for run in runs if run["policy"] == name]) for name in policies}
    sim = {name: np.array([np.mean(jobs) for jobs in simulated[name]]) for name in policies}
    first = policies[0]
    lines = [
        f"{setting.sequences} sequences of {setting.jobs} jobs; mean JCT in s with its 95 % interval",
        "",
        f"{'policy':12} {'Slurm':>22} {'relative to ' + first:>24} {'simulator':>10}"
        f" {'differs by':>12} {'job by job':>11}",
    ]
    for name in policies:
        lines.append(_row(name, real, sim, runs, simulated, first, setting.seed))
    if len(policies) > 1:
        taus = [
            kendalltau([real[name][each] for name in policies], [sim[name][each] for name in policies]).statistic
            for each in range(setting.sequences)
        ]
        whole = kendalltau([real[name].mean() for name in policies], [sim[name].mean() for name in policies]).statistic
        lines += [
            "",
            f"order of the policies, Kendall's tau: of the means {whole:.2f}, by sequence {np.mean(taus):.2f}",
        ]
    return "\n".join(lines) + "\n"


def _row(
    name: str,
    real: Mapping[str, np.ndarray],
    sim: Mapping[str, np.ndarray],
    runs: Sequence[Mapping[str, Any]],
    simulated: Mapping[str, Sequence[Sequence[float]]],
    first: str,
    seed: int,
) -> str:
    draws: Callable[[str], np.random.Generator] = lambda what: generator(seed, "slurm table", name, what)  # noqa: E731
    mean = bootstrap_mean(real[name], draws("mean"))
    ratio = bootstrap_ratio(real[name], real[first], draws("ratio"))
    apart = real[name].mean() / sim[name].mean() - 1
    jobs = np.concatenate([run["jct_s"] for run in runs if run["policy"] == name])
    each = np.abs(jobs / np.concatenate([np.asarray(own) for own in simulated[name]]) - 1)
    told = f"{mean.mean:6.1f} ({mean.low:.1f} to {mean.high:.1f})"
    than = "" if name == first else f"{ratio.mean:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
    return (
        f"{name:12} {told:>22} {than:>24} {sim[name].mean():10.1f} {100 * apart:+11.1f}% {100 * np.median(each):10.1f}%"
    )
