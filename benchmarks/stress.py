"""Whether policies lock, starve or fall behind: long streams, overload, and a backlog to clear.

    python benchmarks/stress.py RESULTS POLICY... [--only WORDS] [--fresh COUNT] [--correction NAME]
        [--estimates ERROR] [--guard HEURISTIC...] [--margin 1] [--seed 99] [--json]

RESULTS is a scenario's folder (results/default); POLICY a policy's file, or the name of a heuristic with its default
settings. Jobs are drawn with replacement from the training episodes, by another seed than when policies were made
(`workloads/stress.py`); no test episode is touched. Told are, by kind of stress, mean JCT in s, and JCT and makespan
relative to fair's, mean and worst episode, how many are above 1.2 times fair, the time until a backlog is cleared next
to fair's (worst; 0: there is none), and the longest stall: executors that wait beside a ready stage. `--only giant`:
the kinds with that in their name; `--fresh 2000`: in place of them so many streams like the scenario's own, for how
often somebody is far from fair where nothing is out of the ordinary, and as many of each edge case that the scenario
has in its check; `--correction back_up_parked`: with a rule of the
game corrected; `--estimates 2`: policies see durations that are off by that factor. `--guard local_srpt`: each policy
of a file once more with a guard (docs/guards.md) in place of its own: that heuristic schedules, as tuned, where a job
is larger than any of training, `--margin 1 3`: than so many times that; `none`: nobody else does;
`capped_srpt:p=0,m=1.25`: by these parameters in place of the tuned ones. Seed 0 gives the streams that the safety
check asks.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from next_to_fair import corrected, parser_of, policies_of, rows_of, tell

from clearsched.cli.options import guard_params
from clearsched.heuristics.tuning import tuned_heuristic
from clearsched.problems.dag_jobs.instance import open_instance
from clearsched.problems.dag_jobs.problem import PROBLEM
from clearsched.problems.dag_jobs.simulator.estimates import Estimates
from clearsched.problems.dag_jobs.workloads.stress import CASES, kinds_of, like
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.settings import GuardParams
from clearsched.search.guard_bounds import measured
from clearsched.teacher.policy import TeacherPolicy

NONE = "none"
"""In place of a heuristic: no guard."""


def guard_of(told: str, margin: float) -> GuardParams:
    """The settings of a guard beside a giant, of a heuristic's name, after a colon its parameters; or of `NONE`."""
    if told == NONE:
        return GuardParams()
    name, _, listed = told.partition(":")
    return guard_params(name, margin, GuardParams().clear, ["largest_s"], [each for each in listed.split(",") if each])


def with_guards(
    policies: Mapping[str, Any], heuristics: Sequence[str], margins: Sequence[float], instance: Any, folder: Path
) -> dict[str, Any]:
    """The policies, and each of a file with a guard of each heuristic, or none; its bound: so many largest jobs."""
    found, tuned = dict(policies), folder / "heuristics" / "tuned.json"
    for heuristic, margin in product(heuristics, margins):
        guard = measured(guard_of(heuristic, margin), tuned_heuristic(PROBLEM, "best", tuned), instance, tuned)
        title = "no guard" if guard is None else f"{heuristic} beside a giant, margin {margin:g}"
        for other, policy in policies.items():
            if isinstance(policy, ScoredPolicy):
                found[f"{other}, {title}"] = replace(policy, guard=guard)
            elif isinstance(policy, TeacherPolicy):
                found[f"{other}, {title}"] = copy.copy(policy)
                found[f"{other}, {title}"].guard = guard
    return found


def measure(
    folder: Path,
    names: list[str],
    seed: int,
    only: str = "",
    correction: str = "",
    guards: Sequence[str] = (),
    margins: Sequence[float] = (1.0,),
    fresh: int = 0,
    error: float = 1.0,
) -> list[dict[str, Any]]:
    """A row a kind of stress and policy."""
    instance = open_instance(folder / "traces" / "trace.parquet", folder / "traces" / "workloads.parquet")
    training, policies = instance.split("train"), with_guards(policies_of(names), guards, margins, instance, folder)
    rows: list[dict[str, Any]] = []
    for name, made in kinds_in(instance, training, seed, fresh).items():
        if only in name:
            episodes = corrected(made(), correction) if correction else made()
            episodes = [replace(each, estimates=Estimates(error)) for each in episodes] if error != 1 else episodes
            rows += [{"stress": name} | row for row in rows_of(policies, instance, episodes)]
    return rows


def kinds_in(instance: Any, training: Sequence[Any], seed: int, fresh: int) -> dict[str, Callable[[], list[Any]]]:
    """What makes the episodes of each kind, by its name; the edge cases that the scenario has in its check last."""
    kinds = [like(training, fresh)] if fresh else kinds_of(training)
    return {kind.name: partial(instance.stressed_by, kind, training, seed) for kind in kinds} | {
        name: partial(instance.in_case, name, training, seed, fresh or CASES) for name in instance.safety_cases
    }


def main() -> None:
    """Print the rows as a Markdown table, or as JSON."""
    parser = parser_of(__doc__, seed=99)
    parser.add_argument("--only", default="")
    parser.add_argument("--fresh", type=int, default=0)
    parser.add_argument("--correction", default="")
    parser.add_argument("--estimates", type=float, default=1.0, metavar="ERROR")
    parser.add_argument("--guard", nargs="*", default=(), metavar="HEURISTIC")
    parser.add_argument("--margin", nargs="*", type=float, default=(1.0,))
    options = parser.parse_args()
    asked = options.only, options.correction, options.guard, options.margin, options.fresh, options.estimates
    rows = measure(options.results, options.policies, options.seed, *asked)
    tell(rows, "stress", options.json)


if __name__ == "__main__":
    main()
