"""The paired test, Holm's correction and effect sizes, against hand counts, scipy and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from clearsched.errors import ClearschedError
from clearsched.evaluation.effects import better_share, standardised
from clearsched.evaluation.significance import direction, direction_of, holm, p_values, sign_flip_p, told_p
from clearsched.evaluation.statistics import Interval, generator


def test_all_tosses_of_three_episodes_by_hand() -> None:
    """|±1 ±2 ±3| is 6 twice in eight and at least 4 in four; the mean of 1, 2, -3 is 0, which every toss reaches."""
    rows = np.array([[1.0, 2.0, 3.0], [-1.0, 2.0, 3.0], [1.0, 2.0, -3.0], [0.0, 0.0, 0.0]])
    assert sign_flip_p(rows, generator(1)).tolist() == [2 / 8, 4 / 8, 1.0, 1.0]


@pytest.mark.parametrize("episodes", [8, 40])
def test_the_test_is_scipys(episodes: int) -> None:
    rows = np.random.default_rng(episodes).exponential(1.0, (3, episodes)) - 0.7

    def mean(sample: np.ndarray, axis: int) -> np.ndarray:
        return sample.mean(axis=axis)

    own = sign_flip_p(rows, generator(1))
    for row, p in zip(rows, own, strict=True):
        other = stats.permutation_test(
            (row,), mean, permutation_type="samples", n_resamples=19_999, vectorized=True, rng=np.random.default_rng(2)
        ).pvalue
        assert p == pytest.approx(other, abs=1e-9 if episodes == 8 else 0.012)


def test_batches_and_further_policies_change_no_p_and_it_is_never_0() -> None:
    rows = np.random.default_rng(1).normal(0.3, 1.0, (4, 30))
    whole = sign_flip_p(rows, generator(1), 999, 1000)
    assert whole.tolist() == sign_flip_p(rows, generator(1), 999, 1000).tolist()
    assert whole[:2].tolist() == sign_flip_p(rows[:2], generator(1), 999, 1000).tolist()
    assert sign_flip_p(np.ones((1, 400)), generator(1), 99).tolist() == [0.01]
    with pytest.raises(ClearschedError, match="policies by episodes"):
        sign_flip_p(np.ones(3), generator(1))
    with pytest.raises(ClearschedError, match="not finite"):
        sign_flip_p(np.array([[1.0, np.inf]]), generator(1))


def test_holm_by_hand() -> None:
    """0.01 x 4, 0.02 x 3, then 0.03 x 2 = 0.06 and 0.04 x 1, which may not be less than the one before it."""
    assert holm(np.array([0.04, 0.01, 0.03, 0.02])) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm(np.array([0.9, 0.6])).tolist() == [1.0, 1.0] and holm(np.empty(0)).tolist() == []


def test_p_values_are_over_all_but_the_reference() -> None:
    base = np.arange(12.0)
    values = {"best": base - 1.0, "fair": base, "same": base.copy()}
    assert p_values(values, "fair", 1) == {"best": (2 / 4096, 4 / 4096), "same": (1.0, 1.0)}
    assert p_values({"fair": base}, "fair", 1) == {}


def _skewed(rng: np.random.Generator, policies: int, episodes: int) -> np.ndarray:
    """Differences of mean 0: mostly a little better and in some episodes far behind; what an episode has, all share."""
    shared = rng.exponential(1.0, (1, episodes))
    return 0.5 * (shared + rng.exponential(1.0, (policies, episodes))) - 1.0


@pytest.mark.parametrize("different", [0, 3])
def test_the_family_wise_error_holds_on_skewed_episodes(different: int) -> None:
    """Ten policies, all or seven of them as good as the reference: a false word about any in about 5 % of the runs.

    Without the correction it is in far more of them. Those that differ are found.
    """
    rng, false, uncorrected, found, trials = np.random.default_rng(6), 0, 0, 0, 300
    for trial in range(trials):
        rows = _skewed(rng, 10, 40)
        rows[:different] -= 1.0
        p = sign_flip_p(rows, generator(trial), 499)
        false += bool((holm(p)[different:] <= 0.05).any())
        uncorrected += bool((p[different:] <= 0.05).any())
        found += int((holm(p)[:different] <= 0.05).sum())
    assert false / trials <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / trials)
    assert uncorrected / trials > 0.15
    assert found >= 0.99 * different * trials


@pytest.mark.parametrize(
    ("p", "ends", "side"),
    [
        (0.05, [(-2.0, -1.0)], -1),
        (0.05, [(1.0, 2.0)], 1),
        (0.051, [(1.0, 2.0)], 0),
        (0.01, [(-1.0, 2.0)], 0),
        (0.01, [(1.0, 2.0), (-0.1, 3.0)], 0),
        (0.01, [(1.0, 2.0), (-2.0, -1.0)], 0),
        (0.01, [(float("nan"), float("nan"))], 0),
    ],
)
def test_a_difference_is_shown_by_one_rule(p: float, ends: list[tuple[float, float]], side: int) -> None:
    assert direction(p, 0.95, *(Interval(0.0, low, high, 0.1, 9) for low, high in ends)) == side


def test_the_rule_asks_a_row_for_both_levels() -> None:
    row = {"episodes": 9, "difference": -1.0, "difference_low": -2.0, "difference_high": -0.5, "p_holm": 0.01}
    assert direction_of(row, 0.95) == -1 and direction_of(row | {"p_holm": None}, 0.95) == 0
    seeds = {"seeds": 3, "seeds_difference": -0.5, "seeds_low": -1.5, "seeds_high": 0.1}
    assert direction_of(row | seeds, 0.95) == 0 and direction_of(row | seeds | {"seeds_high": -0.1}, 0.95) == -1


def test_a_p_in_words() -> None:
    assert [told_p(p) for p in (0.0123, 0.5, 0.001, 5e-05)] == ["0.012", "0.5", "0.001", "< 0.001"]


def test_shares_with_wilsons_interval() -> None:
    """Six of ten better, one equal. scipy has the interval of whole counts."""
    differences = np.array([-1.0] * 6 + [0.0] + [1.0] * 3)
    assert better_share(differences, 0.95).share == 0.65
    assert better_share(differences, 0.95, lower_is_better=False).share == pytest.approx(0.35)
    for better in (0, 6, 10):
        own = better_share(np.array([-1.0] * better + [1.0] * (10 - better)), 0.9)
        other = stats.binomtest(better, 10).proportion_ci(0.9, method="wilson")
        assert own == pytest.approx((better / 10, other.low, other.high))
    assert better_share(np.zeros(4), 0.95).share == 0.5
    with pytest.raises(ClearschedError, match="no episodes"):
        better_share(np.empty(0), 0.95)


def test_the_standardised_effect_by_hand() -> None:
    """Mean 2, squared deviations 1, 0, 1 over n - 1 = 2."""
    assert standardised(np.array([1.0, 2.0, 3.0])) == pytest.approx(2.0)
    for same in (np.array([1.0]), np.full(5, 0.1) - 0.3, np.zeros(3)):
        assert np.isnan(standardised(same))
