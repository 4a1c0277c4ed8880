"""Train a small masked PPO of sb3-contrib on the environment and compare it with simple schedulers.

    pip install 'clearsched[rl]'
    python examples/maskable_ppo.py --steps 100000

Nothing of the library is changed: its `MultiInputPolicy` reads the padded candidate matrix, its masks keep it to the
candidates. The network is a plain one that has to learn for each row anew what a candidate is worth: in a minute it
leaves chance far behind, not the heuristics. The project's teacher reads all candidates with the same weights
(docs/teacher.md).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import clearsched  # registers the environment
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import heuristic

SETTINGS = {"jobs": 20, "num_executors": 10, "max_candidates": 8}
"""The episodes, and what the network reads: few rows, since those that come first are the likely ones."""

SCALE = 8.0
"""Divides the logarithm of a feature, so that nearly all lie between 0 and 1."""

GAMMA = 0.98
"""Discount: what a decision does to the number of jobs shows within some fifty decisions."""

EVALUATION_SEED = 1_000_000
"""Episodes of the comparison have seeds from here on; training stays below."""


def make_env(**settings: Any) -> gymnasium.Env[Any, Any]:
    """The environment with features on a logarithmic scale: times and work span five orders of magnitude."""
    env = gymnasium.make("clearsched/DagJobs-v0", **SETTINGS | settings)

    def compress(observation: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return observation | {"candidates": np.log1p(observation["candidates"]) / np.float32(SCALE)}

    return gymnasium.wrappers.TransformObservation(env, compress, env.observation_space)


def train(steps: int, seed: int, num_envs: int = 8, n_steps: int = 512, **settings: Any) -> MaskablePPO:
    """Train for a number of decisions, in rollouts of num_envs x n_steps; settings are those of the environment."""
    torch.set_num_threads(1)  # small matrices: more threads only wait for one another
    envs = DummyVecEnv([lambda: Monitor(make_env(**settings)) for _ in range(num_envs)])
    model = MaskablePPO(
        "MultiInputPolicy",
        VecNormalize(envs, norm_obs=False, gamma=GAMMA),  # rewards of unit scale
        n_steps=n_steps,
        batch_size=1024,
        n_epochs=8,
        learning_rate=4e-4,
        gamma=GAMMA,
        gae_lambda=0.95,
        ent_coef=0.005,
        seed=seed,
    )
    return model.learn(steps)


Choice = Callable[[Any, dict[str, np.ndarray]], np.ndarray]


def mean_jct_s(choose: Choice, seeds: range, **settings: Any) -> np.ndarray:
    """float64[episodes]: mean job completion time, s, of the episodes with these seeds."""
    env = make_env(**settings)
    env.action_space.seed(seeds.start)
    found = []
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        over = False
        while not over:
            observation, _, terminated, truncated, info = env.step(choose(env, observation))
            over = terminated or truncated
        found.append(info["avg_jct_s"])
    return np.asarray(found)


def mean_jct_of_heuristic(name: str, seeds: range, **settings: Any) -> np.ndarray:
    """float64[episodes]: the same episodes under one of the project's heuristics."""
    env = make_env(**settings).unwrapped
    workloads = []
    for seed in seeds:
        env.reset(seed=seed)
        workloads.append(env.workload)
    results = heuristic(name).run(DagJobsInstance(env.settings.profiles), workloads)
    return np.asarray([result.avg_jct_s for result in results])


def random_choice(env: gymnasium.Env[Any, Any], _: dict[str, np.ndarray]) -> np.ndarray:
    """A candidate, or none, and a limit, drawn evenly."""
    return env.action_space.sample()


def learned_choice(model: MaskablePPO) -> Choice:
    """What the network holds for best."""

    def choose(env: gymnasium.Env[Any, Any], observation: dict[str, np.ndarray]) -> np.ndarray:
        masks = env.get_wrapper_attr("action_masks")()
        return model.predict(observation, action_masks=masks, deterministic=True)[0]

    return choose


def interval(values: np.ndarray) -> str:
    """Mean and its 95 % confidence interval, of a normal approximation."""
    half = 1.96 * values.std(ddof=1) / len(values) ** 0.5
    return f"{values.mean():8.2f}  ({values.mean() - half:.2f} to {values.mean() + half:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=60_000, help="decisions to train for")
    parser.add_argument("--episodes", type=int, default=50, help="fresh episodes to compare on")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", help="file to write the trained model to")
    args = parser.parse_args()
    seeds = range(EVALUATION_SEED, EVALUATION_SEED + args.episodes)
    try:
        model = train(args.steps, args.seed)
        if args.save:
            model.save(args.save)
        found = {
            "masked PPO": mean_jct_s(learned_choice(model), seeds),
            "fair": mean_jct_of_heuristic("fair", seeds),
            "random": mean_jct_s(random_choice, seeds),
        }
    except ClearschedError as error:
        raise SystemExit(f"maskable_ppo: {error}") from None
    print(f"clearsched {clearsched.__version__}, {args.steps} decisions of training, {args.episodes} fresh episodes")
    print("policy      mean JCT (s)  (95 % CI)           paired difference to fair (s)")
    for name, values in found.items():
        print(f"{name:<10}  {interval(values)}  {interval(values - found['fair'])}")


if __name__ == "__main__":
    main()
