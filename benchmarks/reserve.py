"""What each part of a searched reserve is worth, and each correction of the rules that it was searched by.

    python benchmarks/reserve.py RESULTS POLICY [--fresh 2000] [--seed 99] [--json]

RESULTS is a scenario's folder (results/alibaba-like), POLICY the file of a policy of the family `reserve`, which is run
as it is, without one part or correction after another, all its numbers left as they are: on the episodes of the safety
check; on fresh streams like the scenario's own, drawn from the jobs of the training episodes; and on as many of each
edge case that the scenario has in its check. No test episode is touched. Told are mean JCT in s, JCT and time to the
last job next to fair's on the worst episode, on how many JCT is above 1.2 times fair's, and on how many the check
refuses the policy, for whatever reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from next_to_fair import ABOVE, COLUMNS, FAIR, parser_of, tell_columns

from clearsched.problems.dag_jobs.families import FREE, HELD, Step
from clearsched.problems.dag_jobs.instance import open_instance
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.workloads.stress import like
from clearsched.scorers.policy import ScoredPolicy, load_policy, names_of
from clearsched.scorers.scorer import read_scorer
from clearsched.search.safety import Check
from clearsched.search.trials import COST, END, Trials, trials

TOLD = ("jct_s", "worst_to_fair", "above", "worst_makespan_to_fair")
SHOWN = {"without": ("without", ""), "streams": ("streams", ""), "episodes": COLUMNS["episodes"]}
SHOWN |= {name: COLUMNS[name] for name in TOLD} | {"refused": ("refused", "d")}


def whole(policy: ScoredPolicy) -> ScoredPolicy:
    """The policy as it is."""
    return policy


def idling(policy: ScoredPolicy) -> ScoredPolicy:
    """The policy without leave to idle."""
    return replace(policy, none=False)


def held(policy: ScoredPolicy) -> ScoredPolicy:
    """The policy without the steps that count what a large job holds already."""
    return _changed(policy, lambda step: None if any({FREE, HELD} <= {*cap} for cap in step.get("below", [])) else step)


def reserve(policy: ScoredPolicy) -> ScoredPolicy:
    """The policy without any reserve."""

    def change(step: Step) -> Step | None:
        caps = step.get("below", [])
        left = [cap for cap in caps if FREE not in cap]
        if left or not caps:
            return {**step, "below": left} if left else step
        rest = {name: value for name, value in step.items() if name not in ("of", "below")}
        return rest if "then" in rest else None

    return _changed(held(policy), change)


WHOLE = "(nothing)"
PARTS: Mapping[str, Callable[[ScoredPolicy], ScoredPolicy]] = {
    WHOLE: whole,
    "what it holds": held,
    "the reserve": reserve,
    "idling": idling,
}
"""By what the policy is without: how it is changed."""

RULES: Mapping[str, Mapping[str, bool]] = {
    WHOLE: {},
    "offer_at_completion": {"offer_at_completion": False},
    "back_up_parked": {"back_up_parked": False},
    "both corrections": {"offer_at_completion": False, "back_up_parked": False},
    "offer_at_completion, but with work_conserving": {"offer_at_completion": False, "work_conserving": True},
}
"""By what the rules of the game are without: what of them is another one."""


def measure(folder: Path, path: Path, fresh: int, seed: int) -> list[dict[str, Any]]:
    """A row for what is left out, and a kind of streams."""
    instance = open_instance(folder / "traces" / "trace.parquet", folder / "traces" / "workloads.parquet")
    training, policy, fair = instance.split("train"), load_policy(path), heuristic(FAIR)
    streams = {"the check": [*instance.split("validation"), *training, *instance.stressed(training)]}
    streams["drawn anew"] = [*instance.stressed_by(like(training, fresh), training, seed)]
    streams |= {name: instance.in_case(name, training, seed, fresh) for name in instance.safety_cases}
    rows: list[dict[str, Any]] = []
    with trials(instance, instance.objective) as runs:
        for rules, given in product(RULES, streams):
            episodes = [replace(each, semantics=replace(each.semantics, **RULES[rules])) for each in streams[given]]
            for without, part in PARTS.items() if rules == WHOLE else [(rules, PARTS[WHOLE])]:
                told = {"without": without, "streams": given, "episodes": len(episodes)}
                rows.append(told | _next_to(runs, fair, part(policy), episodes))
    return rows


def _next_to(runs: Trials, fair: Any, policy: Any, episodes: Sequence[Any]) -> dict[str, Any]:
    """Of a row what `TOLD` names, and how often the check refuses the policy."""
    found = runs.outcomes([policy, fair], episodes)
    own, theirs = found[:, 0], found[:, 1]
    jct, makespan = (own[row] / theirs[row] for row in (COST, END))
    numbers = (float(own[COST].mean()), float(jct.max()), int((jct > ABOVE).sum()), float(makespan.max()))
    refused = len(Check(runs, fair, episodes).strayed_of_all(policy))
    return {**dict(zip(TOLD, numbers, strict=True)), "refused": refused}


def _changed(policy: ScoredPolicy, change: Callable[[Step], Step | None]) -> ScoredPolicy:
    """The policy with its steps changed, or left out."""
    scorers = {}
    for choice in policy.problem.choices:
        steps = [change(step) for step in policy.scorers[choice.name].to_json()["steps"]]
        content = {"steps": [step for step in steps if step is not None]}
        scorers[choice.name] = read_scorer(content, names_of(choice), choice.name)
    return replace(policy, scorers=scorers)


def main() -> None:
    """Print the rows as a Markdown table, or as JSON."""
    parser = parser_of(__doc__, seed=99)
    parser.add_argument("--fresh", type=int, default=2000)
    options = parser.parse_args()
    rows = measure(options.results, Path(options.policies[0]), options.fresh, options.seed)
    tell_columns(rows, SHOWN, options.json)


if __name__ == "__main__":
    main()
