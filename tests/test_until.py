"""Enough episodes for a stated width: where it stops, that it takes the first ones, and that it hardly biases."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clearsched.errors import ClearschedError
from clearsched.evaluation.statistics import Bootstrap
from clearsched.evaluation.until import LEAST, STEP, Ran, roll_out_until, stops
from clearsched.problems import find_problem
from clearsched.problems.declarations import Measure

JCT = Measure("jct_s", "s", "mean job completion time", "JCT")
PROBLEM: Any = SimpleNamespace(measures=(JCT,))
INSTANCE: Any = SimpleNamespace(objective=JCT)
BOOTSTRAP = Bootstrap(1, 0.95, 200)


@dataclass
class Table:
    """A policy whose objective on every episode is known; episodes are their numbers."""

    name: str
    kind: str
    times: np.ndarray
    mode: str = "argmax"
    settings: dict[str, float] = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)

    def run(self, instance: object, episodes: list[int], *, record: bool = False) -> list[Any]:
        self.asked.extend(episodes)
        return [SimpleNamespace(measures={"jct_s": float(self.times[e])}, num_decisions=1) for e in episodes]


def pair(episodes: int, spread: float, seed: int = 1) -> list[Table]:
    rng = np.random.default_rng(seed)
    base = rng.uniform(50.0, 150.0, episodes)
    return [
        Table("fair", "heuristic", base),
        Table("sjf", "heuristic", base + rng.normal(0.0, 1000.0, episodes)),
        Table("teacher", "teacher", base - 1.0 + spread * (rng.exponential(1.0, episodes) - 1.0)),
    ]


def ran(policies: list[Table], width: float | None, bootstrap: Bootstrap = BOOTSTRAP) -> Ran:
    numbers: Any = list(range(len(policies[0].times)))
    return roll_out_until(PROBLEM, policies, INSTANCE, numbers, "fair", bootstrap, width)  # type: ignore[arg-type]


def test_it_stops_at_the_first_look_that_is_narrow_enough() -> None:
    """By hand: the paired interval is about 4 x 20 / sqrt(n) of 100, so below 8 % a little above 100 episodes."""
    policies = pair(400, 20.0)
    found = ran(policies, 8.0)
    assert found.reached and found.widest is not None and found.widest <= 8.0
    assert 64 <= found.episodes <= 144 and found.episodes in set(stops(400))
    assert all(policy.asked == list(range(found.episodes)) for policy in policies), "in order, each once, all the same"
    before = ran(pair(400, 20.0), found.widest + 1e-9)
    assert before.episodes == found.episodes
    assert [len(run.results) for run in found.rollouts] == [found.episodes] * 3
    assert str(found).startswith(f"Episodes: {found.episodes} of 400, enough: the widest interval")


def test_the_cap_holds_and_the_line_says_so() -> None:
    found = ran(pair(50, 20.0), 1.0)
    assert (found.episodes, found.most, found.reached) == (50, 50, False)
    assert str(found).startswith("Episodes: all 50, too few") and "1 % was asked for" in str(found)


def test_without_a_width_or_anything_learned_all_episodes_are_run() -> None:
    for policies, width in ((pair(70, 0.1), None), (pair(70, 0.1)[:2], 50.0)):
        found = ran(policies, width)
        assert (found.episodes, found.reached, str(found)) == (70, None, "")


def test_a_reference_whose_mean_is_0_has_no_width_in_percent() -> None:
    policies = pair(40, 1.0)
    policies[0].times = np.zeros(40)
    found = ran(policies, 100.0)
    assert (
        found.episodes == 40
        and not found.reached
        and str(found).startswith("Episodes: all 40: the reference's mean is 0")
    )


def test_the_looks() -> None:
    assert list(stops(LEAST + STEP + 1)) == [LEAST, LEAST + STEP, LEAST + STEP + 1]
    assert list(stops(3)) == [3]
    with pytest.raises(ClearschedError, match="no test episodes"):
        ran(pair(0, 1.0), 5.0)


def test_stopping_by_width_hardly_biases() -> None:
    """Skewed differences of mean -1: the mean at the stop is close to it, and the interval holds it nearly as often."""
    means, hits, counts = [], 0, set()
    for trial in range(100):
        found = ran(pair(300, 8.0, trial), 4.0, Bootstrap(trial, 0.9, 200))
        base, _, own = (run.objective for run in found.rollouts)
        means.append(float((own - base).mean()))
        error = float((own - base).std(ddof=1) / np.sqrt(found.episodes))
        hits += abs(means[-1] + 1.0) <= 1.645 * error
        counts.add(found.episodes)
    assert len(counts) > 2, "the number of episodes is what the episodes make it"
    assert np.mean(means) == pytest.approx(-1.0, abs=0.4)
    assert hits >= 78


@pytest.mark.parametrize("name", ["dag_jobs", "deferrable_jobs"])
def test_a_width_must_be_a_positive_percentage(name: str) -> None:
    from clearsched.params import parse

    assert parse({"problem": name, "evaluation": {"width": 2}}, "test").evaluation.width == 2.0
    with pytest.raises(ClearschedError, match=r"evaluation\.width"):
        parse({"problem": name, "evaluation": {"width": 0}}, "test")
    assert find_problem(name).name == name
