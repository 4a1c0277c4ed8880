"""The set network as ONNX: of one decision the candidates' features, whether none is allowed, and the levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from clearsched.problems.networks_onnx import NetworkGraph
from clearsched.problems.problem import Problem
from clearsched.problems.set_network import SetNetwork


def draw(graph: NetworkGraph, network: SetNetwork, problem: Problem) -> None:
    """Inputs, embedding and answers, by the names of `problem.Observation`; `levels` only where they are chosen."""
    features = {feature.name: feature for feature in problem.choices[0].features}
    given = graph.rows("candidates", "c", [features[name] for name in network.inputs["candidate"]])
    none_allowed = graph.take("none_allowed", np.bool_, [1])
    embedding, context = _embed(graph, network, given)
    scores = graph.flat(graph.perceptron(network.rank_net, embedding))
    none = graph.flat(graph.perceptron(network.none_net, context)) if network.none else None
    candidate, chosen = graph.choose(scores, none, none_allowed)
    if network.levels:
        _levels(graph, network, graph.pick(embedding, chosen), candidate, chosen)


def _embed(graph: NetworkGraph, network: SetNetwork, given: str) -> tuple[str, str]:
    """What scores are computed from: double[c, F + 3 E + 1], and of the whole decision double[1, 2 E + 1]."""
    rows = graph.normal(network, "candidate", graph.signed_log(given))
    own = graph.perceptron(network.candidate_net, rows)
    count = graph.double(graph.node("Shape", [given], end=1))
    mean = graph.node("Div", [graph.total(own), count])
    largest = graph.node("ReduceMax", [own, graph.constant(np.array([0]))], keepdims=1)
    told = graph.node("Min", [count, graph.weights(network.most)])
    context = graph.beside(mean, largest, graph.column(graph.log1p(told)))
    last: Any = network.candidate_net[-1]
    every = graph.for_each(context, given, 2 * int(last.out_features) + 1)
    return graph.beside(rows, own, every), context


def _levels(graph: NetworkGraph, network: SetNetwork, embedding: str, candidate: str, chosen: str) -> None:
    """The level of the candidate at int64[1] `chosen`, whose embedding is double[1, F + 3 E + 1]."""
    bounds = graph.flat(graph.pick(graph.take("levels", np.int64, ["c", 2]), chosen))
    first, last = graph.pick(bounds, 0), graph.pick(bounds, 1)
    one = graph.whole(1)
    level = graph.node("Range", [one, graph.node("Add", [last, one]), one])
    allowed = graph.node("GreaterOrEqual", [level, first])
    if network.always_most:
        graph.choose_level(graph.only_most(allowed, level), allowed, candidate)
        return
    above = graph.node("Max", [graph.node("Add", [graph.node("Sub", [level, first]), one]), one])
    most = graph.single(last)
    parts = (
        graph.node("Div", [graph.single(level), most]),
        graph.log(level),
        graph.node("Div", [graph.single(above), most]),
        graph.log(above),
    )
    inputs = graph.double(graph.beside(*map(graph.column, parts)))
    context = graph.linear(network.level_context, embedding)
    hidden = graph.node("Relu", [graph.node("Add", [context, graph.linear(network.level_input, inputs)])])
    scores = graph.flat(graph.perceptron(network.level_net, hidden))
    graph.choose_level(scores, allowed, candidate)
