"""The published network and our own policies in spark-sched-sim itself, its simulator and its fair, seed by seed.

    python benchmarks/published_elsewhere.py CHECKOUT --profiles DIR [--settings abc] [--seeds 10] [--policies FILE ...]
        [--check N] [--json]

CHECKOUT is a checkout of ArchieGertsman/spark-sched-sim (MIT) at 2ba8d80, its own code runs; DIR is the tpch-decima
folder. That project's network needs torch-scatter and torch-sparse, of which it uses two sums: where they are not
installed, sums of torch stand in. `--check N`: the largest difference between its scores and those of our reading of
the network, over the first N decisions of a setting. Our rule lists, trees and searched policies (`--policies`, JSON)
read the features of docs/decisions.md, computed by their formulas from that simulator's state. Told is mean JCT
relative to its fair on the same seeds: mean over the seeds, the least and the largest. "to network, most": next to the
network's argmax, on the seed where it is worst. Beside it stands the mean JCT of the same jobs in our simulator, under
the same policies, which shares no code with theirs. "means": their network with the mean duration of a stage's tasks,
as it has here, in place of that of the task that was started last.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np
import torch
from published import OtherFair
from published import mean_jct_s as mean_jct_here_s
from settings import MOVING_DELAY_MS, SETTINGS, WARMUP_DELAY_MS, Setting

from clearsched.errors import ClearschedError
from clearsched.evaluation.policies import load_policy
from clearsched.problems.dag_jobs.features import FEATURE_NAMES, FEATURES
from clearsched.problems.dag_jobs.graph import Graph
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import PROBLEM
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.rows import WORK_OFFSET_MS, order_key
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.simulator.state import ROOT_OFFSET_MS
from clearsched.problems.dag_jobs.traces import tpch_decima
from clearsched.problems.episodes import level_of
from clearsched.scorers.policy import ScoredPolicy
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.published import read_network

FORMULAS = [compile(feature.formula, feature.name, "eval") for feature in FEATURES]
POOL = (None, None)

Act = Callable[[Any, dict[str, Any]], dict[str, Any]]
"""From the environment and what it shows to an answer."""


def stand_ins() -> None:
    """Sums of torch under the names of torch-scatter and torch-sparse, where these are not there."""
    try:
        import torch_scatter  # noqa: F401
        import torch_sparse  # noqa: F401
    except ImportError:
        scatter, sparse = ModuleType("torch_scatter"), ModuleType("torch_sparse")
        scatter.segment_csr = segment_sums  # type: ignore[attr-defined]
        sparse.SparseTensor, sparse.matmul = Edges, Edges.sums  # type: ignore[attr-defined]
        sys.modules["torch_scatter"], sys.modules["torch_sparse"] = scatter, sparse


def segment_sums(values: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
    """The sum of the rows of each segment."""
    owner = torch.arange(len(starts) - 1).repeat_interleave(starts[1:] - starts[:-1])
    return values.new_zeros(len(starts) - 1, *values.shape[1:]).index_add(0, owner, values)


class Edges:
    """A sparse matrix of ones."""

    def __init__(self, row: torch.Tensor, col: torch.Tensor, sparse_sizes: tuple[int, int], **_: bool) -> None:
        self.row, self.col, self.rows = row, col, sparse_sizes[0]

    def sums(self, values: torch.Tensor) -> torch.Tensor:
        """The product with a matrix."""
        return values.new_zeros(self.rows, values.shape[1]).index_add(0, self.row, values[self.col])


def environment(setting: Setting) -> Any:
    """That project's environment, in a setting of ours."""
    from spark_sched_sim import SparkSchedSimEnv

    rate = 1 / setting.mean_interarrival_ms if setting.mean_interarrival_ms else float("inf")
    return SparkSchedSimEnv(
        {
            "num_executors": setting.num_executors,
            "job_arrival_cap": setting.jobs,
            "job_arrival_rate": rate,
            "moving_delay": float(MOVING_DELAY_MS),
            "warmup_delay": float(WARMUP_DELAY_MS),
            "data_sampler_cls": "TPCHDataSampler",
        }
    )


def fair(setting: Setting) -> Act:
    """That project's fair."""
    from schedulers import RoundRobinScheduler

    scheduler = RoundRobinScheduler(setting.num_executors, dynamic_partition=True)
    return lambda _, seen: scheduler.schedule(seen)[0]


class Theirs:
    """That project's network, its code and its weights.

    `means`: it reads the mean duration of a stage's tasks, as here, in place of that of the task that started last.
    """

    def __init__(self, setting: Setting, checkout: Path, *, sampled: bool, means: bool = False) -> None:
        import yaml
        from schedulers import make_scheduler

        settings = yaml.safe_load((checkout / "config/decima_tpch.yaml").read_text())["agent"]
        self.scheduler = make_scheduler(settings | {"num_executors": setting.num_executors})
        # Its own loading would run a pickle: the weights come through our reading.
        module = import_reader()
        state = module.read((checkout / "models/decima/model.pt").read_bytes(), checkout / "models/decima/model.pt")
        self.scheduler.load_state_dict({module._their_name(name): tensor for name, tensor in state.items()})
        self.sampled, self.means, self.wrapper = sampled, means, None

    def scores(self, env: Any, seen: dict[str, Any]) -> tuple[Any, dict[str, torch.Tensor], torch.Tensor]:
        """The batch, the embeddings and the scores of the stages."""
        from schedulers.decima import utils
        from schedulers.decima.env_wrapper import DecimaEnvWrapper

        if self.wrapper is None or self.wrapper.unwrapped is not env:
            self.wrapper = DecimaEnvWrapper(env)
        if self.means and len(seen["dag_batch"].nodes):
            stages = [stage for j in env.active_job_ids for stage in env.jobs[j].active_stages]
            seen["dag_batch"].nodes[:, 1] = [mean_ms(stage) for stage in stages]
        batch = utils.obs_to_pyg(self.wrapper.env.observation(seen))
        with torch.inference_mode():
            known = self.scheduler.encoder(batch)
            return batch, known, self.scheduler.stage_policy_network(batch, known)

    def __call__(self, env: Any, seen: dict[str, Any]) -> dict[str, Any]:
        """Its answer, drawn as it draws, or the best."""
        batch, known, scores = self.scores(env, seen)
        stage = self._pick(scores)
        job = int(batch.batch[torch.nonzero(batch["stage_mask"]).flatten()[stage]])
        with torch.inference_mode():
            given = self._pick(self.scheduler.exec_policy_network(batch, known, job))
        return {"stage_idx": stage, "num_exec": 1 + given}

    def _pick(self, scores: torch.Tensor) -> int:
        if not self.sampled:
            return int(scores.argmax())
        weights = torch.softmax(scores, 0).tolist()
        return random.choices(range(len(weights)), weights)[0]


def import_reader() -> ModuleType:
    """Our module of the network."""
    from clearsched.problems.dag_jobs.published import spark_sched_sim

    return spark_sched_sim


# Our policies there: the quantities of our features, from that simulator's objects.


def mean_ms(stage: Any) -> float:
    """The mean of a stage's durations as our policies are told it: of its rest wave, or of all."""
    if not hasattr(stage, "mean_ms"):  # stages of two episodes are equal there: no table by stage would do
        tables = stage.task_duration_data
        rest = [value for values in tables["rest_wave"].values() for value in values]
        every = [value for wave in tables.values() for values in wave.values() for value in values]
        stage.mean_ms = float(np.mean(rest or every))
    return float(stage.mean_ms)


def below(job: Any) -> tuple[dict[int, int], dict[int, float]]:
    """By stage: stages on the longest path below it; largest work on a path from it downwards, ms."""
    if not hasattr(job, "below"):
        job.below = _below(job)
    found: tuple[dict[int, int], dict[int, float]] = job.below
    return found


def _below(job: Any) -> tuple[dict[int, int], dict[int, float]]:
    import networkx

    levels: dict[int, int] = {}
    work: dict[int, float] = {}
    for s in reversed(list(networkx.topological_sort(job.dag))):
        children = list(job.dag.successors(s))
        levels[s] = max((1 + levels[child] for child in children), default=0)
        own = job.stages[s].num_tasks * mean_ms(job.stages[s])
        work[s] = own + max((work[child] for child in children), default=0.0)
    return levels, work


def job_quantities(env: Any, job: Any) -> dict[str, float]:
    """`JOB_QUANTITIES` of one job, but for its comparisons with others."""
    tracker, key = env.exec_tracker, (job.id_, None)
    is_source, to_decide = tracker.source_job_id() == job.id_, tracker.num_committable_execs()
    _, paths = below(job)
    left = [(stage, stage.num_remaining_tasks * mean_ms(stage)) for stage in job.stages if stage.num_remaining_tasks]
    critical = [work + paths[stage.id_] - stage.num_tasks * mean_ms(stage) for stage, work in left]
    work_left = sum(work for _, work in left)
    return {
        "is_source": float(is_source),
        "held": tracker.exec_supply(job.id_) - is_source * to_decide,
        "parked": tracker.pool_size(key) - (to_decide if tracker.get_source() == key else 0),
        "work_left_ms": work_left,
        "work_ms": sum(stage.num_tasks * mean_ms(stage) for stage in job.stages),
        "tasks_left": sum(stage.num_remaining_tasks for stage in job.stages),
        "stages_left": len(job.active_stages),
        "time_ms": env.wall_time,
        "arrival_ms": job.t_arrival,
        "critical_path_left_ms": max(critical, default=0.0),
        "weight": work_left + WORK_OFFSET_MS,
        "sqrt_weight": np.sqrt(work_left + WORK_OFFSET_MS),
        "root": (work_left + ROOT_OFFSET_MS) ** 0.2,
        "jobs": len(env.active_job_ids),
        "executors": env.num_executors,
        "moving_delay_ms": env.moving_delay,
    }


def stage_quantities(env: Any, job: Any, stage: Any, before: float, parked: float) -> dict[str, float]:
    """`STAGE_QUANTITIES` of one stage."""
    tracker, (levels, paths) = env.exec_tracker, below(job)
    return {
        "waiting_parents": sum(not parent.completed for parent in job.get_parent_stages(stage)),
        "unstarted": stage.num_remaining_tasks,
        "running": stage.num_executing_tasks,
        "moving": tracker.num_executors_moving_to_stage(stage.pool_key),
        "promised": tracker.num_commitments_to_stage(stage.pool_key),
        "task_ms": mean_ms(stage),
        "levels_below": levels[stage.id_],
        "critical_path_ms": paths[stage.id_],
        "earlier_candidates": before,
        "to_decide": tracker.num_committable_execs(),
        "parked_in_all": parked,
    }


def features(env: Any) -> tuple[np.ndarray, list[int]]:
    """float32[c, F] of the candidates in their order, and what each one's job holds."""
    jobs = {j: job_quantities(env, env.jobs[j]) for j in env.active_job_ids}
    asked = {stage.job_id for stage in env.schedulable_stages}
    sums = {"sum_weight": "weight", "sum_sqrt_weight": "sqrt_weight"}
    totals = {name: sum(job[of] for job in jobs.values()) for name, of in sums.items()}
    totals |= {f"sum_power_{20 * power}": sum(job["root"] ** power for job in jobs.values()) for power in (1, 2, 3, 4)}
    totals["smallest_weight"] = min(jobs[j]["weight"] for j in asked)
    parked = sum(job["parked"] for job in jobs.values())
    places: dict[int, list[float]] = {}
    for stage in env.schedulable_stages:
        own = places.setdefault(stage.job_id, [])
        waiting = sum(not parent.completed for parent in env.jobs[stage.job_id].get_parent_stages(stage))
        own.append(order_key.py_func(waiting, below(env.jobs[stage.job_id])[0][stage.id_], len(own), 1000))
    rows, seen = [], dict.fromkeys(asked, 0)
    for stage in env.schedulable_stages:
        j, key = stage.job_id, places[stage.job_id][seen[stage.job_id]]
        seen[j] += 1
        smaller = sum(jobs[other]["work_left_ms"] < jobs[j]["work_left_ms"] for other in asked)
        before = sum(other < key for other in places[j])
        named = jobs[j] | totals | {"smaller_jobs": smaller}
        named |= stage_quantities(env, env.jobs[j], stage, before, parked)
        rows.append([float(eval(formula, {"__builtins__": {}}, named)) for formula in FORMULAS])
    return np.array(rows, np.float32), [int(jobs[stage.job_id]["held"]) for stage in env.schedulable_stages]


class Carried:
    """One of our policies in that simulator."""

    def __init__(self, policy: ScoredPolicy) -> None:
        self.policy = policy

    def __call__(self, env: Any, seen: dict[str, Any]) -> dict[str, Any]:
        """The best candidate and its number of executors; none where that is best and something else will happen."""
        rows, held = features(env)
        scores, to_decide = self.policy.scores(rows), env.exec_tracker.num_committable_execs()
        at = int(np.argmax(scores))
        if self.policy.may_idle and scores[at] <= 0 and env.event_queue.top() is not None:
            return {"stage_idx": -1, "num_exec": to_decide}
        share = float(self.policy.level_share(rows[at : at + 1])[0])
        limit = level_of(share, held[at] + 1, env.num_executors, up=self.policy.rounds_up)
        return {"stage_idx": at, "num_exec": min(limit - held[at], to_decide)}


def mean_jct_s(setting: Setting, act: Act, seed: int) -> float:
    """The mean job completion time of an episode."""
    env = environment(setting)
    random.seed(seed)
    seen, _ = env.reset(seed=seed)
    over = False
    while not over:
        seen, _, over, _, _ = env.step(act(env, seen))
    return float(np.mean([job.t_completed - job.t_arrival for job in env.jobs.values()]) / 1000)


def same_jobs(setting: Setting, seed: int) -> Workload:
    """The jobs that an episode there has, as an episode of ours: its durations are drawn here."""
    env = environment(setting)
    env.reset(seed=seed)
    jobs = list(env.jobs.values())
    row = [tpch_decima.SIZES.index(str(job.query_size)) * 22 + int(job.query_num) - 1 for job in jobs]
    arrival_ms = np.array([round(job.t_arrival) for job in jobs], np.int64)
    return Workload(np.array(row, np.int64), arrival_ms, setting.num_executors, MOVING_DELAY_MS, seed)


# Our reading of the network against that project's.


def graph_of(env: Any, seen: dict[str, Any]) -> Graph:
    """What that environment shows as a graph of ours, as far as the network reads it; durations as shown there."""
    nodes, ptr = seen["dag_batch"].nodes, np.array(seen["dag_ptr"])
    num_jobs, to_decide = len(ptr) - 1, seen["num_committable_execs"]
    supply, source = np.array(seen["exec_supplies"]), seen["source_job_idx"]
    is_source = np.arange(num_jobs) == source
    shown = np.zeros((len(nodes), 9), np.float32)
    shown[:, 0], shown[:, 2], shown[:, 3] = nodes[:, 0], nodes[:, 1] / 1000, nodes[:, 0] * nodes[:, 1] / 1000
    jobs = np.zeros((num_jobs, 7), np.float32)
    jobs[:, 0] = is_source
    candidate = np.flatnonzero(nodes[:, 2])
    node_job = np.repeat(np.arange(num_jobs), np.diff(ptr))
    return Graph(
        shown,
        node_job,
        seen["dag_batch"].edge_links.T.astype(np.int64).reshape(2, -1),
        jobs,
        (supply - is_source * to_decide).astype(np.int64),
        np.array([[to_decide, num_jobs, env.num_executors]], np.float32),
        np.zeros((len(candidate), len(FEATURE_NAMES)), np.float32),
        candidate,
        candidate,
        node_job[candidate],
        np.array([False]),
        *(np.array([0, count]) for count in (len(nodes), num_jobs, len(candidate), len(seen["dag_batch"].edge_links))),
    )


def difference(setting: Setting, checkout: Path, count: int) -> float:
    """The largest difference between the scores of the two readings, of stages and of numbers of executors."""
    theirs = Theirs(setting, checkout, sampled=True)
    network, _ = read_network(PROBLEM, "spark-sched-sim", checkout / "models/decima/model.pt")
    env, worst = environment(setting), 0.0
    random.seed(1)
    seen, _ = env.reset(seed=1)
    for _ in range(count):
        known_batch, known, scores = theirs.scores(env, seen)
        batch = network.encode(graph_of(env, seen))
        with torch.inference_mode():
            embedding = network.embed(batch)
            worst = max(worst, float((network.score_candidates(batch, embedding)[0] - scores).abs().max()))
            for at in range(len(scores)):
                levels = network.score_levels(batch, embedding, torch.tensor([at]))[0]
                expected = theirs.scheduler.exec_policy_network(known_batch, known, int(batch.candidate_job[at]))
                found = levels[levels > -torch.inf]
                worst = max(worst, float((found - expected).abs().max()) if len(found) == len(expected) else np.inf)
        seen, _, over, _, _ = env.step(theirs(env, seen))
        if over:
            break
    return worst


def told(setting: Setting, values: dict[str, list[float]], here: dict[str, list[float]], worst: float | None) -> str:
    """The table of a setting."""
    base, lines = np.array(values["fair"]), [f"{setting}, {len(values['fair'])} seeds"]
    if worst is not None:
        lines.append(f"largest difference between their scores and ours: {worst:.2g}")
    head = f"{'mean JCT, s':>12}{'to fair, mean of seeds':>24}{'least':>8}{'most':>8}"
    lines.append(f"{'':<30}{head}{'to network, most':>18}{'same jobs here, s':>20}{'to fair':>9}")
    for name, each in values.items():
        ratios, same = np.array(each) / base, np.array(here[name])
        told = f"{ratios.mean():>24.3f}{ratios.min():>8.3f}{ratios.max():>8.3f}"
        told += f"{(np.array(each) / values['network, argmax']).max():>18.3f}"
        beside = f"{same.mean():>20.2f}{(same / here['fair']).mean():>9.3f}"
        lines.append(f"{name:<30}{np.mean(each):>12.2f}{told}{beside}")
    return "\n".join(lines)


def main() -> None:
    """Parse the options, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="of ArchieGertsman/spark-sched-sim")
    parser.add_argument("--profiles", type=Path, required=True, help="the tpch-decima folder")
    parser.add_argument("--settings", default="abc", help="which of the settings, as letters (%(default)s)")
    parser.add_argument("--seeds", type=int, default=10, help="episodes of each setting (%(default)s)")
    parser.add_argument("--policies", type=Path, nargs="*", default=[], help="JSON files of our own policies")
    parser.add_argument("--check", type=int, metavar="N", help="compare the readings of the network on N decisions")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    checkout, profiles = given.checkout.resolve(), given.profiles.resolve()
    if not (checkout / "spark_sched_sim").is_dir():
        parser.error(f"{given.checkout}: no checkout of spark-sched-sim")
    try:
        trace = tpch_decima.load(profiles)  # it checks the digest of every file, which that project unpickles
        ours: dict[str, Any] = {f"{path.parts[-3]}: {path.stem}": load_policy(PROBLEM, path) for path in given.policies}
        network, _ = read_network(PROBLEM, "spark-sched-sim", checkout / "models/decima/model.pt")
    except (ClearschedError, OSError) as error:
        parser.error(str(error))
    instance = DagJobsInstance(compile_profiles(trace, WARMUP_DELAY_MS))
    here: dict[str, Any] = {
        "fair": OtherFair(every_job=True),
        "network, argmax": TeacherPolicy(network, PROBLEM),
        "network, sampled": TeacherPolicy(network, PROBLEM, "sampled"),
        "network, argmax, means": TeacherPolicy(network, PROBLEM),
        **ours,
    }
    stand_ins()
    sys.path.insert(0, str(checkout))
    with TemporaryDirectory() as folder:
        (Path(folder) / "data").mkdir()
        (Path(folder) / "data" / "tpch").symlink_to(profiles)  # where that project looks for it
        os.chdir(folder)
        answer = {}
        for name in given.settings:
            setting = SETTINGS[name]
            there: dict[str, Act] = {
                "fair": fair(setting),
                "network, argmax": Theirs(setting, checkout, sampled=False),
                "network, sampled": Theirs(setting, checkout, sampled=True),
                "network, argmax, means": Theirs(setting, checkout, sampled=False, means=True),
                **{policy: Carried(each) for policy, each in ours.items()},
            }
            worst = difference(setting, checkout, given.check) if given.check else None
            seeds = range(given.seeds)
            values = {policy: [mean_jct_s(setting, act, seed) for seed in seeds] for policy, act in there.items()}
            episodes = [same_jobs(setting, seed) for seed in seeds]
            same = {policy: mean_jct_here_s(each, instance, episodes).tolist() for policy, each in here.items()}
            answer[name] = {"mean_jct_s": values, "mean_jct_here_s": same, "largest_difference": worst}
            if not given.json:
                print(told(setting, values, same, worst), flush=True)
        os.chdir(checkout)
    if given.json:
        print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()
