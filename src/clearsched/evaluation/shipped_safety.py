"""Shipped policies before the safety check of today: they outlive that of the day on which they were made.

What comes of it stands in a policy's file and on the card, where whoever takes, exports or serves the policy is told.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clearsched.files import digest_bytes, json_text, read_json
from clearsched.problems import find_problem
from clearsched.problems.policy import heuristic
from clearsched.problems.problem import Instance
from clearsched.scorers.policy import load_policy
from clearsched.search.safety import Verdict, evidence, judge_whole
from clearsched.shipped import store
from clearsched.shipped.making import params_of, write
from clearsched.teacher import load_policy as load_teacher
from clearsched.teacher.judging import check_of


def judge_shipped(name: str, results: Path) -> Path:
    """Judge the policies that are shipped for a scenario, on its streams; write what comes of it to files and card.

    Args:
        name: the scenario.
        results: its folder, results/<scenario>, of which trace and workloads are used.

    Returns:
        The folder that was written.

    Raises:
        ClearschedError: nothing is shipped for it, the results are another scenario's, or a policy does not fit the
            problem as it is by now.
    """
    shipped = store.find(name)
    problem = find_problem(shipped.card["problem"])
    store.check(shipped, problem)
    params_of(name, results)
    instance = problem.open(results / "traces" / "trace.parquet", results / "traces" / "workloads.parquet")
    baseline = heuristic(problem, problem.baseline)
    files = {file: shipped.read(file) for file in shipped.card["files"]}
    card: dict[str, Any] = dict(shipped.card) | {"policies": {}}
    for policy, told in shipped.card["policies"].items():
        path = shipped.folder / told["files"][0]
        found = evidence(_verdict(policy, path, instance), baseline)
        files[path.name] = json_text(read_json(path) | found).encode()
        card["policies"][policy] = told | found
    card["files"] = {file: digest_bytes(content) for file, content in files.items()}
    return write(name, files, card)


def _verdict(policy: str, path: Path, instance: Instance) -> Verdict:
    """On a network by the part of the stress that it is asked when it is trained."""
    if policy == store.TEACHER:
        return check_of(instance).verdict(load_teacher(path.with_suffix(".safetensors")))
    (verdict,) = judge_whole(instance, [load_policy(path)])
    return verdict
