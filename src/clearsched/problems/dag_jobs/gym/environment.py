"""The problem as Gymnasium environments: `gymnasium.make("clearsched/DagJobs-v0")`, and many of them in one process.

docs/environment.md is the page for users.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.gym.episodes import Simulations
from clearsched.problems.dag_jobs.gym.layout import ActionSpace, ActionSpaces
from clearsched.problems.dag_jobs.gym.settings import Settings, check_at_least_1
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.traces import Trace


class DagJobsEnv(gymnasium.Env[dict[str, Any], np.ndarray]):
    """Assign the executors of a cluster to jobs that are DAGs of stages. One step is one decision with a choice.

    Decisions that offer no candidate are answered `none` by the simulator and are no steps. Sizes: C `max_candidates`,
    R = C + 1 (C with idling=False), F `NUM_FEATURES`, L `limit_levels`; in the graph V nodes, M edges, A jobs, all of
    them the most that can occur.

    Observation: dict of
        candidates: float32[C, F], the features of `features.FEATURES` (their units there), one row a candidate: a
            stage that can be chosen. First the source job's, then those of the jobs with least work left; in a job by
            `stage_rank`. Rows without a candidate are 0. Of more than C candidates the first C are offered.
        action_mask: int8[R + L], 1 where a row, or a level of the limit, can be chosen. All levels always can. Row C
            is none of the candidates: it can be chosen where these executors may be asked about again
            (docs/simulator.md §5).
      and with observation="graph", padded with 0, indices with -1:
        candidate_node: int64[C], the node of each row.
        nodes: float32[V, len(graph.NODE_FEATURES)], the incomplete stages of the jobs in the system.
        node_job: int64[V], row of the node's job in `jobs`.
        edges: int64[2, M], parents in row 0, children in row 1, as nodes.
        jobs: float32[A, len(graph.JOB_FEATURES)], the jobs in the system, in order of arrival.
        totals: float32[len(graph.GLOBAL_FEATURES)].
      At the end of an episode there is no decision: all is padding, and in the mask only the levels are 1.

    Action: MultiDiscrete([R, L]), int64[2]:
        row: the candidate that gets executors; or C: all executors to decide on stay idle, whatever the level.
        level l: its job may then hold max(held + 1, ceil((l + 1) / L x N)) of the N executors. `held` is the feature
            `job_executors`. It gets as many of the executors to decide on as it has tasks for, up to this limit.
      `action_masks()` gives the mask as sb3-contrib asks for it. Without a mask `action_space.sample()` draws a
      candidate of the pending decision, or none if it can be chosen. An action that the mask forbids, of another shape
      or not of whole numbers raises ActionError; nothing has happened then, so another action may follow, or reset.

    Reward: float, s.
        reward="jct": minus the integral of the number of jobs in the system from this decision to the next; its sum
            over an episode is minus the sum of all job completion times.
        reward="makespan": minus the time that has passed; its sum is minus the time of the last completion.
        The last interval ends at the last completion.

    Termination: all jobs are complete. Truncation: after `max_decisions` steps, if set.

    Episode: drawn by `reset(seed=...)`, the same seed gives the same to the bit; or set:
    `reset(options={"workload": Workload(...)})`.

    Info: action_mask (bool[R + L]), time_s (simulated time), num_candidates (before the cut at C); when the episode
    is over also avg_jct_s, makespan_s, num_tasks.

    Args:
        trace and the further settings: see `Settings`.
        render_mode: None, or `ansi`: `render()` returns text.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012
    observation_space: spaces.Dict
    action_space: ActionSpace

    def __init__(
        self, trace: str | Path | Trace | Profiles = "tpch-spark", *, render_mode: str | None = None, **settings: Any
    ) -> None:
        self.settings = Settings(trace, **settings)
        self.render_mode = render_mode
        self.observation_space = self.settings.layout.observation_space()
        self.action_space = self.settings.layout.action_space()
        self.workload: Workload | None = None
        self._simulations = Simulations(self.settings, 1)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Begin an episode; its workload can be read as `env.unwrapped.workload`.

        Args:
            seed: of the stream that episodes are drawn from.
            options: may hold `workload`, the episode to play.

        Raises:
            WorkloadError: the given workload cannot be simulated.
        """
        super().reset(seed=seed)
        options = options or {}
        workload = (
            self.settings.given(options["workload"]) if "workload" in options else self.settings.draw(self.np_random)
        )
        self._simulations.start(0, workload)
        self.workload = workload
        return self._observe()

    def step(self, action: Any) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        """Answer the pending decision and run to the next.

        Raises:
            ActionError: the pending decision does not allow the action, or there is none.
        """
        reward, terminated, truncated = self._simulations.act(0, *self._simulations.check(0, action))
        observation, info = self._observe()
        return observation, reward, terminated, truncated, info

    def action_masks(self) -> np.ndarray:
        """bool[R + L]: the rows, then the levels, that the pending decision allows."""
        return self._simulations.masks()[0]

    def render(self) -> str | None:
        """The pending decision as text, in the mode `ansi`."""
        return self._simulations.describe(0) if self.render_mode == "ansi" else None

    def _observe(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        self.action_space.num_candidates = int(self._simulations.offered()[0])
        self.action_space.none_allowed = bool(self._simulations.none_allowed()[0])
        arrays = self._simulations.observe()
        info = {
            "action_mask": arrays["action_mask"][0].astype(bool),
            "time_s": self._simulations.time_s(0),
            "num_candidates": int(self._simulations.num_candidates[0]),
        }
        return {name: array[0] for name, array in arrays.items()}, info | self._simulations.outcome(0)


class DagJobsVectorEnv(gymnasium.vector.VectorEnv[dict[str, Any], np.ndarray, np.ndarray]):
    """K environments stepped in one process: what `make_vec(..., vectorization_mode="vector_entry_point")` gives.

    Observations, rewards and infos are those of `DagJobsEnv` with a leading axis of K, and the same to the bit as under
    the mode `sync`. An environment whose episode has ended begins another at the next step, which ignores its action
    and has reward 0 (`AutoresetMode.NEXT_STEP`).

    Args:
        num_envs: K.
        trace and the further settings: see `Settings`.
        max_episode_steps: the same as `max_decisions`, under Gymnasium's name.
        render_mode: None, or `ansi`.
    """

    metadata: dict[str, Any] = {**DagJobsEnv.metadata, "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012
    action_space: ActionSpaces

    def __init__(
        self,
        num_envs: int = 1,
        trace: str | Path | Trace | Profiles = "tpch-spark",
        *,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        check_at_least_1("num_envs", num_envs, ClearschedError)
        if max_episode_steps is not None:
            settings["max_decisions"] = max_episode_steps
        self.settings = Settings(trace, **settings)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.single_observation_space = self.settings.layout.observation_space()
        self.single_action_space = self.settings.layout.action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = ActionSpaces(self.single_action_space, num_envs)
        self._simulations = Simulations(self.settings, num_envs)
        self._generators: list[np.random.Generator | None] = [None] * num_envs
        self._over = np.zeros(num_envs, bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Begin an episode in every environment.

        Args:
            seed: one for each, or one: environment i gets seed + i.
            options: may hold `workload`, the episode that all play, and `reset_mask`, bool[K]: those to reset.

        Raises:
            ClearschedError: not one seed for each environment.
            WorkloadError: the given workload cannot be simulated.
        """
        options = options or {}
        seeds = self._seeds(seed)
        if len(seeds) != self.num_envs:
            raise ClearschedError(f"reset: {len(seeds)} seeds for {self.num_envs} environments")
        lanes = np.flatnonzero(options.get("reset_mask", np.ones(self.num_envs, bool)))
        for lane in lanes.tolist():
            if seeds[lane] is not None:
                self._generators[lane] = seeding.np_random(seeds[lane])[0]
            given = self.settings.given(options["workload"]) if "workload" in options else None
            self._start(lane, given)
        return self._observe(lanes)

    def step(self, actions: Any) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Answer the pending decision of every environment.

        Raises:
            ActionError: one of the actions is not allowed; nothing has happened in any environment.
        """
        over = self._over.copy()
        pairs = self._simulations.check_all(actions, over).tolist()
        rewards = np.zeros(self.num_envs)
        terminations, truncations = np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        for lane, (row, level) in enumerate(pairs):
            if over[lane]:
                self._start(lane, None)
            else:
                rewards[lane], terminations[lane], truncations[lane] = self._simulations.act(lane, row, level)
        self._over = terminations | truncations
        observations, infos = self._observe(np.arange(self.num_envs))
        return observations, rewards, terminations, truncations, infos

    def action_masks(self) -> np.ndarray:
        """bool[K, R + L]: the rows, then the levels, that each pending decision allows."""
        return self._simulations.masks()

    def render(self) -> tuple[str, ...] | None:
        """The pending decisions as text, in the mode `ansi`."""
        if self.render_mode != "ansi":
            return None
        return tuple(self._simulations.describe(lane) for lane in range(self.num_envs))

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, Sequence):
            return seed
        return [seed + lane for lane in range(self.num_envs)]

    def _start(self, lane: int, workload: Workload | None) -> None:
        generator = self._generators[lane]
        if generator is None:
            generator = self._generators[lane] = seeding.np_random()[0]
        self._simulations.start(lane, self.settings.draw(generator) if workload is None else workload)
        self._over[lane] = False

    def _observe(self, lanes: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        self.action_space.num_candidates[:] = self._simulations.offered()
        self.action_space.none_allowed[:] = self._simulations.none_allowed()
        arrays = self._simulations.observe()
        told = np.zeros(self.num_envs, bool)
        told[lanes] = True
        # Gymnasium's form: an array for each entry, and one that tells which environments it holds for.
        infos = {
            "action_mask": arrays["action_mask"].astype(bool) & told[:, None],
            "time_s": np.array([self._simulations.time_s(i) if told[i] else 0.0 for i in range(self.num_envs)]),
            "num_candidates": np.where(told, self._simulations.num_candidates, 0),
        }
        infos |= {f"_{name}": told.copy() for name in infos}
        for lane in np.flatnonzero(told & (self._simulations.num_candidates == 0)).tolist():
            infos = self._add_info(infos, self._simulations.outcome(lane), lane)
        return arrays, infos
