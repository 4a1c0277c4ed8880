"""A teacher on disk: weights as safetensors, and beside them a JSON file that says what they are. Never a pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from clearsched.errors import ClearschedError
from clearsched.files import digest_bytes, read_json, write_bytes, write_json
from clearsched.problems import find_problem
from clearsched.problems.problem import Problem
from clearsched.registry import load as load_code
from clearsched.scorers.guard import read_guard
from clearsched.scorers.policy import check_stress, read_help_first
from clearsched.teacher.policy import TeacherPolicy

FORMAT = 3
"""Grows when a checkpoint written before can no longer be read."""

SIZES = {"embedding": 1, "hidden": 1, "rounds": 0}
"""What a network must be told, and the least of each."""

OPTIONS: Mapping[str, tuple[Any, ...]] = {"levels": ("learned", "most"), "rate": (False, True)}
"""What it may be told; the first is the default, which a file leaves out: older ones know of no other."""

LARGE = 2**26
"""Bytes of weights from which on a description is not believed without looking."""


def save_checkpoint(
    path: Path, network: Any, problem: Problem, sizes: Mapping[str, Any], facts: Mapping[str, Any]
) -> None:
    """Write the weights to `path` and their description to the same name with `.json`.

    Args:
        path: a `.safetensors` file.
        network: single precision.
        problem: that it was trained for.
        sizes: embedding, hidden and rounds; levels and rate.
        facts: further entries of the JSON file: validation results, provenance.
    """
    told = {name: int(sizes[name]) for name in SIZES}
    told |= {name: sizes[name] for name, known in OPTIONS.items() if sizes.get(name, known[0]) != known[0]}
    _save(path, network, problem, {"network": told}, facts)


def save_published(path: Path, network: Any, problem: Problem, name: str, facts: Mapping[str, Any]) -> None:
    """As `save_checkpoint`, of a network that others published under `name`: its sizes are its own."""
    _save(path, network, problem, {"published": name}, facts)


def _save(path: Path, network: Any, problem: Problem, made: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    weights = save({name: tensor.contiguous() for name, tensor in network.state_dict().items()})
    write_bytes(path, weights)
    description = {
        "format": FORMAT,
        "kind": "teacher",
        "problem": problem.name,
        "none": network.none,
        **made,
        "inputs": {group: list(names) for group, names in network.inputs.items()},
        "weights": digest_bytes(weights),
    }
    write_json(path.with_suffix(".json"), description | dict(facts))


def load_network(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """The network of a checkpoint, and what its JSON file says.

    Raises:
        ClearschedError: a file is missing, truncated or tampered with, or does not fit this version's inputs.
    """
    path = Path(path)
    description = read_json(path.with_suffix(".json"))
    network = _without_weights(description, path)
    _check_inputs(description, network.inputs, path.with_suffix(".json"))
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ClearschedError(f"{path}: no such file") from None
    except OSError as error:
        raise ClearschedError(f"{path}: cannot be read: {error}") from None
    if digest_bytes(data) != description.get("weights"):
        other = path.with_suffix(".json").name
        raise ClearschedError(f"{path}: truncated or changed since {other} was written; train it again")
    try:
        network.load_state_dict(load(data))
    except (SafetensorError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise ClearschedError(f"{path}: does not hold the weights that its JSON file describes ({reason})") from None
    if not all(torch.isfinite(tensor).all() for tensor in network.state_dict().values()):
        raise ClearschedError(f"{path}: holds weights that are not finite; train it again")
    return network, description


def load_policy(path: str | Path, mode: str = "argmax") -> TeacherPolicy:
    """The policy of a checkpoint.

    Args:
        path: the `.safetensors` file; its `.json` lies beside it.
        mode: argmax, or sampled: then every episode has its own random stream (`TeacherPolicy.generator`).

    Raises:
        ClearschedError: see `load_network`; unknown mode; the guard or `help_first` of its JSON file is malformed.
    """
    network, description = load_network(path)
    where = Path(path).with_suffix(".json")
    seed = _seed(description, "seed", 0, where)
    problem = find_problem(description["problem"])
    guard = read_guard(description["guard"], problem, f"{where}: guard") if "guard" in description else None
    helps = read_help_first(description, problem, where)
    check_stress(description.get("stress", {}), where)
    policy = TeacherPolicy(network, problem, mode, seed, guard, help_first=helps)
    policy.training_seed = _seed(description, "training_seed", seed, where)
    policy.evidence = description
    return policy


def _seed(description: Mapping[str, Any], name: str, otherwise: int, where: Path) -> int:
    value = description.get(name, otherwise)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise ClearschedError(f"{where}: {name} is {json.dumps(value)[:60]}: a whole number from 0 to 2^63 expected")
    return value


def _without_weights(description: Any, path: Path) -> Any:
    """The network that a JSON file describes: of some sizes, or one that others published."""
    where = path.with_suffix(".json")
    if not isinstance(description, dict) or description.get("kind") != "teacher":
        raise ClearschedError(f"{where}: does not describe a teacher")
    if description.get("format") != FORMAT:
        found = description.get("format")
        raise ClearschedError(f"{where}: format is {found}, this version reads {FORMAT}; train it again")
    if "published" in description:
        known, name = _problem(description, where).published, description["published"]
        if not isinstance(name, str) or name not in known:
            told = ", ".join(known) or "none"
            raise ClearschedError(f"{where}: published is {json.dumps(name)[:60]}: networks known here: {told}")
        return load_code(f"{known[name].module}:new")()
    sizes = _sizes(description, where)
    problem, none = _problem(description, where), bool(description.get("none"))
    _check_claim(path, problem, sizes, none)
    return problem.network(sizes, none)


def _sizes(description: Mapping[str, Any], where: Path) -> dict[str, Any]:
    sizes = description.get("network")
    if not isinstance(sizes, dict):
        raise ClearschedError(f"{where}: network is missing; train it again")
    for name, least in SIZES.items():
        value = sizes.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= 4096:
            raise ClearschedError(f"{where}: network.{name} is {value}: a whole number from {least} to 4096 expected")
    for name, known in OPTIONS.items():
        if not any(sizes.get(name, known[0]) is value or sizes.get(name) == value != 1 for value in known):
            told = ", ".join(json.dumps(value) for value in known)
            raise ClearschedError(f"{where}: network.{name} is {json.dumps(sizes[name])[:60]}: known are {told}")
    return {name: sizes[name] for name in (*SIZES, *OPTIONS) if name in sizes}


def _check_claim(path: Path, problem: Problem, sizes: Mapping[str, Any], none: bool) -> None:
    """Refuse sizes of a network that the file cannot hold, before they take memory and time."""
    with torch.device("meta"):  # shapes without numbers
        claimed = 4 * sum(weights.numel() for weights in problem.network(sizes, none).parameters())
    if claimed > LARGE and path.is_file() and claimed > path.stat().st_size:
        raise ClearschedError(
            f"{path}: does not hold the weights that its JSON file describes ({claimed:,} bytes claimed)"
        )


def _problem(description: dict[str, Any], where: Path) -> Problem:
    try:
        return find_problem(str(description.get("problem")))
    except ClearschedError as error:
        raise ClearschedError(f"{where}: {error}") from None


def _check_inputs(description: dict[str, Any], inputs: Mapping[str, Sequence[str]], where: Path) -> None:
    written = description.get("inputs")
    for group, names in inputs.items():
        theirs = written.get(group) if isinstance(written, dict) else None
        if theirs != list(names):
            listed = map(str, theirs) if isinstance(theirs, list) else ()
            strange = sorted({*listed} ^ {*names}) or ["their order"]
            raise ClearschedError(
                f"{where}: trained on other {group} inputs than this version has ({', '.join(strange)}); train it again"
            )
