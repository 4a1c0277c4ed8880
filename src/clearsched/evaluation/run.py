"""The evaluation stage: from the files of the other stages to tables, metrics and the printed comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from clearsched.evaluation import TABLE, comparison, rollouts, text
from clearsched.evaluation.fidelity import fidelity_table
from clearsched.files import provenance, read_json, write_json, write_text
from clearsched.policies import Policy, load_policy
from clearsched.problems.dag_jobs.schemas import JOBS, TASKS
from clearsched.problems.dag_jobs.workloads import load_inputs
from clearsched.schemas import COMPARISON, EPISODES, FIDELITY, write_table

if TYPE_CHECKING:
    from clearsched.params import Params

GANTT_EPISODE = 0
"""The test episode whose tasks are kept for the Gantt chart."""


def evaluate(
    params: Params,
    trace: Path,
    workloads: Path,
    tuned: Path,
    teacher: Path,
    students: Sequence[Path],
    decisions: Path,
    out_dir: Path,
) -> None:
    """Roll out every policy on the test episodes and write what came of it to `out_dir`."""
    from rich.console import Console

    profiles, drawn = load_inputs(trace, workloads)
    episodes = drawn.split("test")
    settings = read_json(tuned)
    policies = load_policies(params, settings, teacher, students)
    with Console(stderr=True).status("") as status:
        runs = rollouts.roll_out(policies, profiles, episodes, lambda name: status.update(f"test episodes: {name}"))
    reference = comparison.reference_policy(settings)
    bootstrap = comparison.Bootstrap(params.seed, params.evaluation.confidence, params.evaluation.bootstrap)
    compared = comparison.compare(runs, reference, settings, bootstrap)
    learned: list[Any] = [policy for policy in policies if policy.kind == "student"]
    faithful = fidelity_table(learned, decisions, "validation", drawn.settings["num_executors"])
    shown = gantt_policies(policies, compared)
    tasks = rollouts.task_table(shown, profiles, episodes[GANTT_EPISODE])
    inputs: dict[str, str | Path] = {
        "trace": trace,
        "workloads": workloads,
        "tuned": tuned,
        "teacher": teacher,
        "decisions": decisions,
    }
    inputs |= {f"students/{path.name}": path for path in students}
    origin = provenance(params.evaluation.model_dump(mode="json"), inputs)
    jobs = rollouts.job_table(runs, [episode.profile for episode in episodes], profiles.names)
    tables: list[tuple[str, pa.Table, pa.Schema]] = [
        ("episodes", rollouts.episode_table(runs), EPISODES),
        ("jobs", jobs, JOBS),
        ("comparison", compared, COMPARISON),
        ("fidelity", faithful, FIDELITY),
        ("tasks", tasks, TASKS),
    ]
    for name, table, schema in tables:
        write_table(out_dir / f"{name}.parquet", table, schema, origin | {"episode": GANTT_EPISODE})
    write_json(out_dir / "metrics.json", metrics(compared, faithful))
    counts = [len(episode.profile) for episode in episodes]
    setting = text.Setting(len(episodes), (min(counts), max(counts)), drawn.settings["num_executors"])
    found = comparison.verdicts(runs, reference, bootstrap)
    write_text(out_dir / TABLE, text.render(compared, found, faithful, setting, bootstrap))


def load_policies(params: Params, tuned: dict[str, Any], teacher: Path, students: Sequence[Path]) -> list[Policy]:
    """The policies that are listed, the reference among them; a student that was not fitted is left out."""
    fitted = {path.stem: path for path in students}
    names = list(params.evaluation.policies)
    reference = comparison.reference_policy(tuned)
    if reference not in names:
        names.append(reference)  # type: ignore[arg-type]
    policies: list[Policy] = []
    for name in names:
        if name == "teacher":
            policies.append(load_policy(teacher, mode=params.evaluation.mode))
        elif name in fitted:
            policies.append(load_policy(fitted[name]))
        elif name not in ("rule_list", "boosted_trees"):
            policies.append(load_policy(name, tuned))
    return policies


def gantt_policies(policies: Sequence[Policy], compared: pa.Table) -> list[Policy]:
    """For the Gantt chart: fair, the teacher and the best student, as far as they were run; else the first policy."""
    order = compared["policy"].to_pylist()
    best_student = [name for name, kind in zip(order, compared["kind"].to_pylist(), strict=True) if kind == "student"]
    wanted = ["fair", "teacher", *best_student[:1]]
    by_name = {policy.name: policy for policy in policies}
    return [by_name[name] for name in wanted if name in by_name] or [policies[0]]


def metrics(compared: pa.Table, faithful: pa.Table) -> dict[str, Any]:
    """What `dvc metrics show` prints: times in s, fidelity as shares, by policy."""
    result: dict[str, Any] = {}
    for row in compared.to_pylist():
        result[row["policy"]] = {
            name: round(row[name], 4) for name in ("mean_jct_s", "ci_low_s", "ci_high_s", "difference_percent")
        }
    for row in faithful.to_pylist():
        if row["decisions_of"] == "all":
            for name in ("top1", "same_job", "limit_error"):
                if row[name] is not None:
                    result[row["policy"]][f"{row['choice']}_{name}"] = round(row[name], 4)
    return result
