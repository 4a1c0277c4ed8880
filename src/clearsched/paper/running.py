"""One experiment: its episodes, and what came of every job under every policy of its base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clearsched.evaluation.policies import files_of, load_policies
from clearsched.evaluation.seeds import Trained, trained_of
from clearsched.files import provenance, read_json
from clearsched.paper.experiments import EXPERIMENTS, params_of
from clearsched.paper.tables import BY_SEED, JOBS
from clearsched.problems import find_problem
from clearsched.schemas import write_table
from clearsched.scorers.patches import read_patches

if TYPE_CHECKING:
    from clearsched.params import Params
    from clearsched.problems.policy import Policy
    from clearsched.problems.problem import Instance

SEEDS = "seeds.parquet"

CHUNK = 16
"""Episodes whose tasks are held at once: those of a long stream take tens of megabytes each."""


def run_experiment(
    params: Params,
    name: str,
    trace: Path,
    tuned: Path,
    teacher: Path,
    students: Sequence[Path],
    out_dir: Path,
    searched: Sequence[Path] = (),
    teacher_seeds: Sequence[Path] = (),
) -> None:
    """Write `workloads.parquet`, `jobs.parquet` (schema JOBS) and `seeds.parquet` (BY_SEED) to `out_dir`.

    And other jobs if it has such. Policies are as made on the base's own episodes.
    """
    from rich.console import Console

    problem, own, experiment = find_problem(params.problem), params_of(params, name), EXPERIMENTS[name]
    if own.traces != params.traces:
        trace = out_dir / "trace.parquet"
        problem.build(own, trace)
    workloads = out_dir / "workloads.parquet"
    problem.draw(own, trace, workloads)
    instance = problem.open(trace, workloads)
    episodes = instance.split("test")
    policies = load_policies(problem, own.evaluation, read_json(tuned), teacher, students, searched)
    if experiment.patches:
        policies += [with_patches(policy, experiment.patches) for policy in policies if policy.kind == "student"]
    parts = []
    with Console(stderr=True).status("") as status:
        for policy in policies:
            status.update(f"experiment {name}: {policy.name}")
            parts += list(_rows(policy, instance, episodes, experiment.tasks))
        jobs = pa.concat_tables(parts).combine_chunks()
        status.update(f"experiment {name}: training seeds")
        trained = trained_of(problem, policies, teacher, teacher_seeds, own.evaluation.mode)
        seeded = [part for name in trained for part in _by_seed(trained[name], jobs, instance, episodes)]
    files = {"trace": trace, "workloads": workloads, "tuned": tuned, "teacher": teacher}
    files |= files_of(students, searched)
    files |= {f"teacher seeds/{number}": path for number, path in enumerate(teacher_seeds)}
    metadata = provenance(params.paper.model_dump(mode="json"), files) | {
        "experiment": name,
        "scale": params.paper.scale,
        "seed": params.seed,
        "executors": instance.most,
        "setting": instance.describe("test", episodes),
        "source": own.traces.source,
    }
    write_table(out_dir / "jobs.parquet", jobs, JOBS, metadata)
    write_table(out_dir / SEEDS, pa.concat_tables([BY_SEED.empty_table(), *seeded]), BY_SEED, metadata)


def _by_seed(
    trained: Sequence[Trained], jobs: pa.Table, instance: Instance, episodes: Sequence[Any]
) -> Iterator[pa.Table]:
    """Tables of schema BY_SEED, one a training seed; none where there is but one."""
    for one in trained if len(trained) > 1 else ():
        if one.chosen:  # it has run
            own = jobs.filter(pc.equal(jobs["policy"], one.policy.name))
            means = own.group_by("episode", use_threads=False).aggregate([("jct_s", "mean")])["jct_s_mean"].to_pylist()
        else:
            means = [float(np.mean(result.jct_s)) for result in one.policy.run(instance, episodes)]
        rows = [
            {"policy": one.policy.name, "seed": one.seed, "chosen": one.chosen, "episode": episode, "jct_s": mean}
            for episode, mean in enumerate(means)
        ]
        yield pa.Table.from_pylist(rows, schema=BY_SEED)


PATCHED = "_patched"
"""Behind the name of a student that has patches."""


def with_patches(policy: Any, patches: Sequence[Any]) -> Policy:
    """A student with patches in place of its own, under a name of its own."""
    read = read_patches(list(patches), policy.problem, "patches of the paper's figures")
    patched: Policy = replace(policy, name=policy.name + PATCHED, patches=read)
    return patched


def _rows(policy: Policy, instance: Any, episodes: Sequence[Any], tasks: bool) -> Iterator[pa.Table]:
    """A table an episode, of schema JOBS."""
    work_ms = instance.profiles.work_ms
    step = CHUNK if tasks else len(episodes)
    for begin in range(0, len(episodes), step):
        chunk = episodes[begin : begin + step]
        for number, (episode, result) in enumerate(zip(chunk, policy.run(instance, chunk, record=tasks), strict=True)):
            count = len(episode.profile)
            columns: list[Any] = [
                pa.array([policy.name] * count),
                pa.array([policy.kind] * count),
                pa.array(np.full(count, begin + number, dtype=np.int32)),
                pa.array(np.arange(count, dtype=np.int32)),
                pa.array(np.asarray(result.arrival_ms, dtype=np.float64) / 1000),
                pa.array(np.asarray(result.jct_s, dtype=np.float64)),
                pa.array(work_ms[episode.profile] / 1000),
                pa.array(busy_s(result.tasks, count) if tasks else np.full(count, np.nan), from_pandas=True),
            ]
            yield pa.table(columns, schema=JOBS)


def busy_s(tasks: np.ndarray, count: int) -> np.ndarray:
    """float64[J]: executor time that the tasks of each job took, s; `tasks` as `EpisodeResult.tasks`."""
    from clearsched.problems.dag_jobs.recording.lanes import DURATION_MS, TASK_JOB

    spent: np.ndarray = np.bincount(tasks[:, TASK_JOB], weights=tasks[:, DURATION_MS], minlength=count) / 1000
    return spent
