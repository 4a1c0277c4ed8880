"""The example scripts, run small."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from clearsched.errors import ActionError

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = {"jobs": 4, "num_executors": 5}


@pytest.fixture(scope="module")
def maskable_ppo() -> ModuleType:
    pytest.importorskip("sb3_contrib")
    spec = spec_from_file_location("maskable_ppo", EXAMPLES / "maskable_ppo.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["maskable_ppo"] = module
    spec.loader.exec_module(module)
    return module


def test_masked_ppo_learns_within_the_mask(maskable_ppo: ModuleType) -> None:
    """The environment raises ActionError for a masked action: that training and evaluation end shows there was none."""
    parameters = []
    for steps in (0, 300, 300):
        model = maskable_ppo.train(steps, seed=3, num_envs=2, n_steps=100, **SMALL)
        assert model.num_timesteps == (0 if steps == 0 else 400)  # whole rollouts of 2 x 100
        parameters.append([value.detach().numpy().copy() for value in model.policy.parameters()])
    untrained, trained, again = parameters
    assert all(np.isfinite(value).all() for value in trained)
    assert any(not np.array_equal(a, b) for a, b in zip(untrained, trained, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(trained, again, strict=True))
    seeds = range(100, 103)
    found = maskable_ppo.mean_jct_s(maskable_ppo.learned_choice(model), seeds, **SMALL)
    assert found.shape == (3,)
    assert np.all(found > 0)


def test_without_the_mask_the_same_network_is_refused(maskable_ppo: ModuleType) -> None:
    model = maskable_ppo.train(0, seed=3, num_envs=1, n_steps=100, **SMALL)

    def unmasked(_: object, observation: dict[str, np.ndarray]) -> np.ndarray:
        return model.predict(observation, deterministic=False)[0]

    with pytest.raises(ActionError, match=r"^decision \d+: row \d is no candidate"):
        maskable_ppo.mean_jct_s(unmasked, range(100, 103), **SMALL)


def test_policies_of_the_example_meet_the_same_episodes(maskable_ppo: ModuleType) -> None:
    """One job, one executor: every stage is all that can be chosen, so that chance and fair take the same time."""
    seeds, alone = range(5), {"jobs": 1, "num_executors": 1}
    fair = maskable_ppo.mean_jct_of_heuristic("fair", seeds, **alone)
    assert len(set(fair.tolist())) > 1
    chance = maskable_ppo.mean_jct_s(maskable_ppo.random_choice, seeds, **alone)
    assert chance == pytest.approx(fair, rel=0.2)


def test_interval_is_that_of_the_normal_distribution(maskable_ppo: ModuleType) -> None:
    """Mean 3, deviation sqrt(2.5), 5 values: 1.96 x 0.7071 on either side."""
    assert maskable_ppo.interval(np.arange(1.0, 6.0)).split() == ["3.00", "(1.61", "to", "4.39)"]
