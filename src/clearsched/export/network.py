"""A network, the teacher, for other programs: an ONNX graph of one pending decision, encoding included."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clearsched import __version__
from clearsched.errors import ClearschedError
from clearsched.export.lowering import guard_refused
from clearsched.export.source import measured, origin, wrapped
from clearsched.problems import find_problem
from clearsched.problems.networks_onnx import NetworkGraph
from clearsched.problems.problem import Problem
from clearsched.registry import load
from clearsched.scorers import words
from clearsched.teacher.checkpoints import load_network
from clearsched.teacher.choices import DIGITS

LICENCE = (
    "Licence: what stands around the weights is clearsched's, Apache-2.0, like the teachers that come with it; weights "
    "that you trained are yours."
)


@dataclass(frozen=True)
class NetworkSource:
    """A network that is exported.

    Attributes:
        path: its checkpoint.
        label: of the format.
        network: in double precision, as the teacher runs it.
        description: what its JSON file says.
        problem: that it was trained for.
        digest: sha256 of the checkpoint.
    """

    path: Path
    label: str
    network: Any
    description: Mapping[str, Any]
    problem: Problem
    digest: str

    def header(self) -> list[str]:
        """What the file says of itself, in lines: title, origin, result, licence."""
        found = [f"A network for {self.problem.label}, as {self.label}.", ""]
        found += [f"Written by clearsched {__version__}; train the network and export it again, not this file.", ""]
        found += [f"From: {self.path.name}, sha256 {self.digest}", *origin(self.description.get("provenance"))]
        return wrapped([*found, *self.results()], LICENCE)

    def results(self) -> list[str]:
        """What it came to on the validation episodes, as far as its file says."""
        told = self.description.get("validation")
        if not isinstance(told, Mapping) or not {"measure", "teacher", "episodes"} <= set(told):
            return []
        measures = {measure.name: measure for measure in self.problem.measures}
        if told["measure"] not in list(measures):
            return []
        best = f"; of the best heuristic {told['heuristic']}" if "heuristic" in told else ""
        value = measured(told["measure"], told["teacher"], measures)
        return [f"Result: {value} on {told['episodes']} validation episodes{best}"]


def read_network(path: Path, label: str) -> NetworkSource:
    """A checkpoint for a format.

    Raises:
        ClearschedError: see `teacher.checkpoints.load_network`; a kind of network that is not exported; it has a guard.
    """
    network, description = load_network(path)
    if "guard" in description:
        raise guard_refused(path.with_suffix(".json"), label)
    if not getattr(network, "onnx", ""):
        name = description.get("published", type(network).__name__)
        raise ClearschedError(
            f"{path}: the network {name} cannot be exported: {label} holds those that clearsched trains"
        )
    exact = copy.deepcopy(network).double().eval()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return NetworkSource(path, label, exact, description, find_problem(description["problem"]), digest)


def write(path: Path, label: str) -> bytes:
    """The graph of a checkpoint.

    Raises:
        ClearschedError: see `read_network`; the package `onnx` is not installed.
    """
    source = read_network(path, label)
    graph = NetworkGraph(DIGITS)
    load(source.network.onnx)(graph, source.network, source.problem)
    columns = [f"{name}:\n\n" + "\n".join(words.glossary(found)) for name, found in graph.features.items()]
    properties = {
        "features": json.dumps({name: [one.name for one in found] for name, found in graph.features.items()}),
        "units": json.dumps({name: {one.name: one.unit for one in found} for name, found in graph.features.items()}),
        "problem": source.problem.name,
        "version": __version__,
        "checkpoint": source.digest,
        "licence": LICENCE,
    }
    return graph.model("teacher", [*source.header(), "", "\n\n".join(columns)], properties)
