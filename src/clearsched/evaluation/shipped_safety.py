"""Shipped policies before the safety check of today: they outlive that of the day on which they were made.

What comes of it stands in a policy's file and on the card, where whoever takes, exports or serves the policy is told.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from clearsched.errors import ClearschedError
from clearsched.files import digest_bytes, json_text, read_json
from clearsched.heuristics.tuning import tuned_heuristic
from clearsched.problems import find_problem
from clearsched.problems.declarations import rank_choice
from clearsched.problems.policy import heuristic
from clearsched.problems.problem import Instance
from clearsched.scorers.policy import ScoredPolicy, load_policy, read_help_first
from clearsched.scorers.settings import GuardParams
from clearsched.scorers.text import render
from clearsched.search.guard_bounds import measured
from clearsched.search.safety import Verdict, evidence, judge_whole
from clearsched.shipped import store
from clearsched.shipped.making import params_of, write
from clearsched.teacher import load_policy as load_teacher
from clearsched.teacher.judging import check_of


def judge_shipped(
    name: str,
    results: Path,
    guard: GuardParams | None = None,
    policies: Collection[str] = (),
    *,
    help_first: bool = False,
) -> Path:
    """Judge the policies that are shipped for a scenario, on its streams; write what comes of it to files and card.

    Args:
        name: the scenario.
        results: its folder, results/<scenario>, of which trace and workloads are used, of a guard the tuned heuristics.
        guard: that each of them is given first.
        policies: which are judged; none: all.
        help_first: whether each of them means "help first" by "none of these" from now on.

    Returns:
        The folder that was written.

    Raises:
        ClearschedError: nothing is shipped for it, or no such policy; the results are another scenario's; a policy does
            not fit the problem as it is by now; an unknown heuristic or gauge; no policy of the problem can help first.
    """
    shipped = store.find(name)
    problem = find_problem(shipped.card["problem"])
    store.check(shipped, problem)
    params_of(name, results)
    instance = problem.open(results / "traces" / "trace.parquet", results / "traces" / "workloads.parquet")
    baseline = heuristic(problem, problem.baseline)
    files = {file: shipped.read(file) for file in shipped.card["files"]}
    card: dict[str, Any] = dict(shipped.card) | {"policies": dict(shipped.card["policies"])}
    unknown = [policy for policy in policies if policy not in shipped.policies]
    if unknown:
        known = f"{', '.join(shipped.policies)}{store.near(unknown[0], shipped.policies)}"
        raise ClearschedError(f"shipped: {name!r} has no policy {unknown[0]!r}: it has {known}")
    if guard is not None:
        card["command"] = _with_command(card["command"], _guard_command(name, guard, policies), " shipped guard ")
    if help_first:
        card["command"] = _with_command(card["command"], _help_command(name, policies), " --help-first")
    for policy in policies or shipped.policies:
        told = card["policies"][policy]
        path = shipped.folder / told["files"][0]
        loaded: Any = load_teacher(path.with_suffix(".safetensors")) if policy == store.TEACHER else load_policy(path)
        content = read_json(path)
        if guard is not None:
            loaded = _guarded(loaded, guard, instance, results / "heuristics" / "tuned.json")
            content["guard"] = loaded.guard.to_json()
            told = told | {"guard": loaded.guard.sentence(problem)}
        if help_first:
            content["help_first"] = True
            told = told | {"idles": rank_choice(problem.choices).helps}
            loaded = _helping(loaded, read_help_first(content, problem, path))
        found = evidence(_verdict(loaded, instance), baseline, instance)
        files[path.name] = json_text(content | found).encode()
        if policy != store.TEACHER:
            files[path.with_suffix(".txt").name] = render(loaded).encode()
        card["policies"][policy] = told | found
    card["files"] = {file: digest_bytes(content) for file, content in files.items()}
    return write(name, files, card)


def _verdict(policy: Any, instance: Instance) -> Verdict:
    """On a network by the part of the stress that it is asked when it is trained."""
    if isinstance(policy, ScoredPolicy):
        (verdict,) = judge_whole(instance, [policy])
        return verdict
    return check_of(instance).verdict(policy)


def _with_command(commands: Collection[str], command: str, instead: str) -> list[str]:
    """The commands of a card, and one more in place of an earlier one with such words."""
    return [*(each for each in commands if instead not in each), command]


def _help_command(name: str, policies: Collection[str]) -> str:
    """What makes what is shipped help first anew, for the card."""
    words = [f"--policy {policy}" for policy in policies]
    return " ".join([f"clearsched shipped judge {name} --results results/{name} --help-first", *words])


def _guard_command(name: str, guard: GuardParams, policies: Collection[str]) -> str:
    """What gives the guard anew, for the card."""
    numbers = [f"{name}={value:g}" for name, value in guard.settings.items()]
    several = {"--gauge": guard.gauges, "--setting": tuple(numbers), "--policy": tuple(policies)}
    words = [f"{option} {value}" for option, values in several.items() for value in values]
    bounds = f"--margin {guard.margin:g} --clear {guard.clear:g}"
    made = f"clearsched shipped guard {name} --results results/{name} --heuristic {guard.heuristic} {bounds}"
    return " ".join([made, *words])


def _helping(policy: Any, help_first: bool) -> Any:
    """The policy with what it means by "none of these"."""
    if isinstance(policy, ScoredPolicy):
        return replace(policy, help_first=help_first)
    policy.help_first = help_first
    return policy


def _guarded(policy: Any, settings: GuardParams, instance: Instance, tuned: Path) -> Any:
    """The policy with a guard; a network's bounds are from the episodes of the best tuned heuristic."""
    if isinstance(policy, ScoredPolicy):
        return replace(policy, guard=measured(settings, policy, instance, tuned))
    best: Any = tuned_heuristic(instance.problem, "best", tuned)
    policy.guard = measured(settings, best, instance, tuned)
    return policy
