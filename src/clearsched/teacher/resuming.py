"""A training that was killed goes on where it was: checkpoints of all that the rest of it depends on.

A checkpoint is one safetensors file: tensors (weights, the state of the optimiser), and as its metadata JSON (where
training stands, the state of the random generators, the learning curve). One file is whole or absent, so what is read
is always of one moment. When one is written hangs on the clock; what is computed never does.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from clearsched.files import write_bytes
from clearsched.temporary import sweep

FOLDER = ".training"


class Snapshot(NamedTuple):
    """A moment of a training."""

    tensors: dict[str, Tensor]
    facts: dict[str, Any]  # JSON values


class Checkpoints:
    """The checkpoint of a training in its output folder.

    Args:
        folder: where the training's results go.
        digest: of all that the results depend on; a checkpoint with another one is ignored.
        every_s: the least time between two of them, s.
    """

    def __init__(self, folder: Path, digest: str, every_s: float) -> None:
        self.path = Path(folder) / FOLDER / "checkpoint.safetensors"
        self._digest, self._every_s = digest, every_s
        self._last_s = time.monotonic()

    def load(self) -> Snapshot | None:
        """The checkpoint, if there is one of this training."""
        try:
            with safe_open(self.path, framework="pt") as file:
                told = file.metadata() or {}
                if told.get("digest") != self._digest:
                    return None
                return Snapshot({name: file.get_tensor(name) for name in file.keys()}, json.loads(told["facts"]))  # noqa: SIM118
        except (OSError, SafetensorError, ValueError):
            return None

    def save_if_due(self, take: Callable[[], Snapshot]) -> None:
        """Write what `take` gives if the last checkpoint is long enough ago."""
        if time.monotonic() - self._last_s < self._every_s:
            return
        tensors, facts = take()
        whole = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
        write_bytes(self.path, save(whole, {"digest": self._digest, "facts": json.dumps(facts)}))
        self._last_s = time.monotonic()

    def clear(self) -> None:
        """The training is over: its checkpoint goes."""
        self.path.unlink(missing_ok=True)
        if self.path.parent.is_dir():
            sweep(self.path.parent)  # what a process left that was killed as it wrote
            with contextlib.suppress(OSError):  # another run writes to it
                self.path.parent.rmdir()


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors with `prefix.` before their names."""
    return {f"{prefix}.{name}": value for name, value in tensors.items()}


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The inverse of `prefixed`."""
    return {name.removeprefix(f"{prefix}."): value for name, value in tensors.items() if name.startswith(f"{prefix}.")}


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of an optimiser, `<number of the parameter>.<name>`."""
    state = optimiser.state_dict()["state"]
    return {f"{number}.{name}": value for number, values in state.items() for name, value in values.items()}


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """The inverse of `optimiser_tensors`."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


def copy_of(network: Any) -> dict[str, Tensor]:
    """The network's weights as they are now."""
    return {name: value.detach().clone() for name, value in network.state_dict().items()}


def state_of(generator: np.random.Generator) -> dict[str, Any]:
    """A generator's state as JSON values."""
    state: dict[str, Any] = dict(generator.bit_generator.state)
    return state


def restore_generator(generator: np.random.Generator, state: Mapping[str, Any]) -> None:
    """The inverse of `state_of`."""
    generator.bit_generator.state = dict(state)
