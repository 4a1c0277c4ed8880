"""The graph network as ONNX: it takes one pending decision as `graph.Observation` has it, and encodes it inside.

The second writing of `encoding.py` and `network.py`, step by step in their order; tests hold the answers of both
against each other. Logarithms are taken in double precision and rounded once to the float32 that the network reads: the
encoder's own, of numpy and torch, may differ by the last digit of that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clearsched.problems.dag_jobs.features import FEATURES
from clearsched.problems.dag_jobs.graph import GLOBAL_FEATURES, JOB_FEATURES, NODE_FEATURES
from clearsched.problems.dag_jobs.network.candidates import DEMAND, EXECUTORS, TO_DECIDE
from clearsched.problems.dag_jobs.network.encoding import POWERS, RATE_TOTAL, TOLD, TOLD_TOTALS, WORK_LEFT
from clearsched.problems.dag_jobs.network.network import ChildrenToParents, TeacherNetwork
from clearsched.problems.dag_jobs.simulator.rows import WORK_OFFSET_MS
from clearsched.problems.networks_onnx import NetworkGraph
from clearsched.problems.problem import Problem


class Given(NamedTuple):
    """The inputs, named as in `graph.Observation`: n nodes, m edges, a jobs, c candidates; all, whatever is read."""

    nodes: str
    node_job: str
    edges: str
    jobs: str
    job_held: str
    totals: str
    candidates: str
    candidate_node: str
    none_allowed: str


class Known(NamedTuple):
    """What the scores are computed from; E is the width of an embedding."""

    node: str  # double[n, E]
    total: str  # double[1, E]
    context: str  # double[c, 2 E + ...]: of each candidate its job, the cluster, the inputs of both
    candidate_job: str  # int64[c]
    shares: str  # float32[a, len(POWERS)]


def draw(graph: NetworkGraph, network: TeacherNetwork, problem: Problem) -> None:
    """Inputs, encoding, embedding and answers."""
    given = _inputs(graph)
    known = _embed(graph, network, given)
    own = graph.pick(known.node, given.candidate_node)
    scores = graph.flat(graph.perceptron(network.stage_net, graph.beside(own, known.context)))
    none = graph.flat(graph.perceptron(network.none_net, known.total)) if network.none else None
    candidate, chosen = graph.choose(scores, none, given.none_allowed)
    _limits(graph, network, given, known, candidate, chosen)


def _inputs(graph: NetworkGraph) -> Given:
    return Given(
        nodes=graph.rows("nodes", "n", NODE_FEATURES),
        node_job=graph.take("node_job", np.int64, ["n"]),
        edges=graph.take("edges", np.int64, [2, "m"]),
        jobs=graph.rows("jobs", "a", JOB_FEATURES),
        job_held=graph.take("job_held", np.int64, ["a"]),
        totals=graph.row("totals", GLOBAL_FEATURES),
        candidates=graph.rows("candidates", "c", FEATURES),
        candidate_node=graph.take("candidate_node", np.int64, ["c"]),
        none_allowed=graph.take("none_allowed", np.bool_, [1]),
    )


def _embed(graph: NetworkGraph, network: TeacherNetwork, given: Given) -> Known:
    """As `TeacherNetwork.embed` and `_context`."""
    first: Any = network.passing.message_net[0]
    width, rounds = int(first.in_features), network.passing.rounds
    work = graph.node("Add", [graph.double(graph.pick(given.jobs, WORK_LEFT, 1)), graph.real(WORK_OFFSET_MS / 1000)])
    shares = _log_shares(graph, work, given.totals)
    jobs = graph.normal(network, "job", _jobs(graph, given, shares))
    own = graph.perceptron(network.node_net, graph.normal(network, "node", graph.signed_log(given.nodes)))
    node = _pass(graph, network.passing, own, given, width)
    of_job = graph.sums(node, given.node_job, given.job_held, width) if rounds else graph.zeros(given.job_held, width)
    job = graph.perceptron(network.job_net, graph.beside(of_job, jobs))
    of_all = _of_all(graph, network, job) if rounds else graph.constant(np.zeros((1, width)))
    totals = graph.normal(network, "global", _totals(graph, network, given, work))
    total = graph.perceptron(network.total_net, graph.beside(of_all, totals))
    candidates = graph.normal(network, "candidate", graph.signed_log(graph.pick(given.candidates, TOLD, 1)))
    candidate_job = graph.pick(given.node_job, given.candidate_node)
    cluster = graph.for_each(total, given.candidate_node, width)
    context = graph.beside(graph.pick(job, candidate_job), cluster, graph.pick(jobs, candidate_job), candidates)
    return Known(node, total, context, candidate_job, graph.single(shares))


def _of_all(graph: NetworkGraph, network: TeacherNetwork, job: str) -> str:
    """double[1, E] of double[a, E]: the sum over the jobs, of no more than training saw."""
    count = graph.double(graph.node("Shape", [job], end=1))
    share = graph.node("Min", [graph.node("Div", [graph.weights(network.most), count]), graph.real(1.0)])
    return graph.node("Mul", [graph.total(job), share])


def _pass(graph: NetworkGraph, passing: ChildrenToParents, own: str, given: Given, width: int) -> str:
    """double[n, E]: rounds of messages from children to parents."""
    parent, child = graph.pick(given.edges, 0), graph.pick(given.edges, 1)
    state = own
    for _ in range(passing.rounds):
        messages = graph.pick(graph.perceptron(passing.message_net, state), child)
        heard = graph.sums(messages, parent, given.node_job, width)
        state = graph.node("Add", [own, graph.perceptron(passing.update_net, heard)])
    return state


def _log_shares(graph: NetworkGraph, work: str, totals: str) -> str:
    """double[a, len(POWERS)]: log of the executors that are a job's share by work^power, of double[a]."""
    powers = graph.constant(np.array([POWERS]))
    scaled = graph.node("Mul", [graph.column(graph.node("Log", [work])), powers])
    executors = graph.double(graph.pick(totals, EXECUTORS))
    a_part = graph.node("Div", [executors, graph.total(graph.node("Exp", [scaled]))])
    return graph.node("Add", [scaled, graph.node("Log", [a_part])])


def _jobs(graph: NetworkGraph, given: Given, log_shares: str) -> str:
    """float32[a, len(JOB_INPUTS)]."""
    held = graph.double(graph.node("Max", [given.job_held, graph.whole(0)]))
    to_share = graph.node("Div", [graph.column(held), graph.node("Exp", [log_shares])])
    held_to_share = graph.single(graph.log1p(to_share))
    return graph.beside(graph.signed_log(given.jobs), graph.single(log_shares), held_to_share)


def _totals(graph: NetworkGraph, network: TeacherNetwork, given: Given, work: str) -> str:
    """float32[1, len(GLOBAL_INPUTS)], one more with the rate."""
    totals = graph.row_of(given.totals)
    all_work = graph.single(graph.log1p(graph.total(graph.column(work))))
    parts = [graph.signed_log(graph.pick(totals, TOLD_TOTALS, 1)), all_work]
    if network.rate:
        parts.append(graph.signed_log(graph.pick(totals, [RATE_TOTAL], 1)))
    return graph.beside(*parts)


def _limits(
    graph: NetworkGraph, network: TeacherNetwork, given: Given, known: Known, candidate: str, chosen: str
) -> None:
    """The limit of the candidate at int64[1] `chosen`, as `TeacherNetwork.score_levels`."""
    executors = graph.cast(graph.pick(given.totals, EXECUTORS), np.int64)
    one = graph.whole(1)
    limit = graph.node("Range", [one, graph.node("Add", [executors, one]), one])
    held = graph.pick(given.job_held, graph.pick(known.candidate_job, chosen))
    allowed = graph.node("Greater", [limit, held])
    if network.always_most:
        graph.choose_level(graph.only_most(allowed, limit), allowed, candidate)
        return
    more = graph.node("Max", [graph.node("Sub", [limit, held]), one])
    inputs = graph.double(_limit_inputs(graph, given, known, chosen, limit, more, executors))
    context = graph.linear(network.limit_context, graph.pick(known.context, chosen))
    hidden = graph.node("Relu", [graph.node("Add", [context, graph.linear(network.limit_input, inputs)])])
    graph.choose_level(graph.flat(graph.perceptron(network.limit_net, hidden)), allowed, candidate)


def _limit_inputs(
    graph: NetworkGraph, given: Given, known: Known, chosen: str, limit: str, more: str, executors: str
) -> str:
    """float32[N, len(LIMIT_INPUTS)], as `encode_limits`, of the limits and what they are above what is held."""
    demand = graph.pick(graph.pick(given.candidates, DEMAND, 1), chosen)
    of_use = graph.cast(graph.node("Min", [graph.pick(given.totals, [TO_DECIDE]), demand]), np.int64)
    covering = graph.node("Max", [of_use, graph.whole(1)])
    log_limit, most = graph.log(limit), graph.single(executors)
    columns = (
        graph.node("Div", [graph.single(limit), most]),
        log_limit,
        graph.node("Div", [graph.single(more), most]),
        graph.log(more),
        graph.single(graph.node("Equal", [limit, executors])),
        graph.single(graph.node("GreaterOrEqual", [more, covering])),
    )
    shares = graph.pick(known.shares, graph.pick(known.candidate_job, chosen))
    return graph.beside(*map(graph.column, columns), graph.node("Sub", [graph.column(log_limit), shares]))
