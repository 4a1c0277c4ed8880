"""Where the network's arithmetic runs: the only place that moves tensors from one device to another."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clearsched.errors import ClearschedError


def device_of(name: str) -> torch.device:
    """The device of a name: auto, cpu or cuda.

    Raises:
        ClearschedError: cuda where torch finds no GPU.
    """
    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise ClearschedError("teacher.device: cuda: torch finds no GPU here: write auto or cpu")
    if name == "cpu" or not there:
        return torch.device("cpu")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what deterministic sums need
    return torch.device("cuda")


def encode(network: Any, observation: Any) -> Any:
    """The batch of an observation, its tensors where the network's weights are."""
    return moved(network.encode(observation), place_of(network))


def moved(batch: Any, device: torch.device) -> Any:
    """A batch, a named tuple, with its tensors on a device; those that are there are shared."""
    return type(batch)(*(value.to(device) if isinstance(value, Tensor) else value for value in batch))


def placed(tensors: Mapping[str, Tensor], network: Any) -> dict[str, Tensor]:
    """Tensors by name where a network's weights are; those that are there are shared."""
    return {name: value.to(place_of(network)) for name, value in tensors.items()}


def place_of(network: Any) -> torch.device:
    """The device of a network's weights."""
    device: torch.device = next(network.parameters()).device
    return device


def tensor(values: np.ndarray, like: Any) -> Tensor:
    """An array as a tensor where a network's weights are."""
    return torch.from_numpy(values).to(place_of(like))
