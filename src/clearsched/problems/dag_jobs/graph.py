"""What a network sees of pending decisions: stages as nodes, edges of the DAGs, jobs, candidates.

The arrays are filled straight from the states by compiled code, `fill`; no Python object a node and, where many
simulations share one graph (`lockstep.py`), none a simulation either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clearsched.compiled.arena import borrow
from clearsched.compiled.feature import Feature
from clearsched.compiled.jit import allocating, concurrent
from clearsched.problems.dag_jobs.features import NUM_FEATURES
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.candidates import demand, is_complete
from clearsched.problems.dag_jobs.simulator.rounds import none_allowed
from clearsched.problems.dag_jobs.simulator.rows import fill_features
from clearsched.problems.dag_jobs.simulator.state import NONE, State

NODE_FEATURES = (
    Feature("tasks_left", "tasks", "tasks that have not started"),
    Feature("demand", "tasks", "tasks that no executor is meant for yet"),
    Feature("task_s", "s", "mean duration of a task"),
    Feature("work_left_s", "s", "work that has not started, in executor-seconds"),
    Feature("executors", "executors", "executors that run it, move to it or are promised to it"),
    Feature("is_ready", "", "1 if all parents are complete"),
    Feature("is_candidate", "", "1 if the decision may choose it"),
    Feature("levels_below", "stages", "stages on the longest path below it"),
    Feature("critical_path_s", "s", "largest work on a path from it downwards, in executor-seconds"),
)
JOB_FEATURES = (
    Feature("is_source", "", "1 if the executors to decide on sit in this job"),
    Feature("executors", "executors", "executors it holds, less those decided on"),
    Feature("work_left_s", "s", "work that has not started, in executor-seconds"),
    Feature("tasks_left", "tasks", "tasks that have not started"),
    Feature("stages_left", "stages", "stages that are not complete"),
    Feature("age_s", "s", "time since it arrived"),
    Feature("critical_path_s", "s", "largest work left on one path, in executor-seconds"),
)
GLOBAL_FEATURES = (
    Feature("executors_to_decide", "executors", "executors that the decision is about"),
    Feature("jobs_in_system", "jobs", "active jobs"),
    Feature("num_executors", "executors", "executors of the cluster"),
    Feature("interarrival_s", "s", "mean time between arrivals, as the episode was drawn; 0: a batch, or unknown"),
)


NUM_EXECUTORS_TOTAL = 2
"""The column of `GLOBAL_FEATURES` that tells the executors of the cluster."""

_JOB_NAMES = [feature.name for feature in JOB_FEATURES]
WORK_LEFT, STAGES_LEFT_COLUMN = _JOB_NAMES.index("work_left_s"), _JOB_NAMES.index("stages_left")


class Observation(NamedTuple):
    """A pending decision as arrays: n nodes (incomplete stages of active jobs), m edges, a jobs, c candidates."""

    nodes: np.ndarray  # float32[n, len(NODE_FEATURES)]
    node_job: np.ndarray  # int64[n]: position of the node's job in `jobs`
    edges: np.ndarray  # int64[2, m]: row 0 parent, row 1 child, as nodes; complete stages have none
    jobs: np.ndarray  # float32[a, len(JOB_FEATURES)], in order of arrival
    job_held: np.ndarray  # int64[a]: executors a job holds: limits run from held + 1 to all
    totals: np.ndarray  # float32[len(GLOBAL_FEATURES)]
    candidates: np.ndarray  # float32[c, NUM_FEATURES]: the feature matrix of the stage choice
    candidate_node: np.ndarray  # int64[c]
    candidate_stage: np.ndarray  # int64[c]: what `Simulation.act` takes
    candidate_group: np.ndarray  # int64[c]: its job, in order of arrival
    none_allowed: np.ndarray  # bool[1]


class Graph(NamedTuple):
    """B pending decisions as one graph: n nodes, m edges, a jobs, c candidates, each decision's after another's.

    Nodes and jobs are numbered through; decision b has the nodes `node_start[b]` to `node_start[b + 1]`, and so on.
    As buffers, the arrays have room for more than they hold; the starts tell how much that is.
    """

    nodes: np.ndarray  # float32[n, len(NODE_FEATURES)]
    node_job: np.ndarray  # int64[n]: the node's row in `jobs`
    edges: np.ndarray  # int64[2, m]: row 0 parent, row 1 child, as nodes
    jobs: np.ndarray  # float32[a, len(JOB_FEATURES)], by decision, in order of arrival
    job_held: np.ndarray  # int64[a]
    totals: np.ndarray  # float32[B, len(GLOBAL_FEATURES)]
    candidates: np.ndarray  # float32[c, NUM_FEATURES]
    candidate_node: np.ndarray  # int64[c]
    candidate_stage: np.ndarray  # int64[c]: what `Lockstep.act` takes: the stage's row in its own simulation
    candidate_group: np.ndarray  # int64[c]: the stage's job, in order of arrival
    none_allowed: np.ndarray  # bool[B]: whether a learned policy may leave the executors idle
    node_start: np.ndarray  # int64[B + 1]
    job_start: np.ndarray  # int64[B + 1]
    candidate_start: np.ndarray  # int64[B + 1]
    edge_start: np.ndarray  # int64[B + 1]

    @property
    def num_decisions(self) -> int:
        """B."""
        return len(self.totals)

    @property
    def candidate_id(self) -> np.ndarray:
        """int64[c]: the stage's row in its own simulation."""
        return self.candidate_stage

    @property
    def levels(self) -> np.ndarray:
        """int64[c, 2]: the limits that the candidate's job can get: one more than it holds, and all executors."""
        first = self.job_held[self.node_job[self.candidate_node]] + 1
        executors = self.totals[:, NUM_EXECUTORS_TOTAL].astype(np.int64)
        return np.stack([first, np.repeat(executors, np.diff(self.candidate_start))], axis=1)

    def take(self, rows: np.ndarray) -> Graph:
        """The decisions of the given rows, int64, in their order, in arrays of their own."""
        return take(self, rows)

    def and_more(self, others: Sequence[Graph]) -> Graph:
        """These decisions and, after them, those of other graphs, in arrays of their own."""
        return concatenate([self, *others])

    def backlog(self) -> np.ndarray:
        """float64[B, 5], what waits: jobs, stages, and the jobs' work left as sum, sum of roots, sum of logarithms."""
        work = self.jobs[:, WORK_LEFT].astype(np.float64)
        columns = (self.jobs[:, STAGES_LEFT_COLUMN].astype(np.float64), work, np.sqrt(work), np.log1p(work))
        first, num_jobs = self.job_start[:-1], np.diff(self.job_start)
        found = np.empty((self.num_decisions, 1 + len(columns)))
        found[:, 0] = num_jobs
        for count in np.unique(num_jobs):  # all decisions with so many jobs at once
            rows = np.flatnonzero(num_jobs == count)
            jobs = first[rows, None] + np.arange(count)
            for column, values in enumerate(columns, start=1):
                found[rows, column] = values[jobs].sum(axis=1)
        return found


def filled(buffers: Graph, decisions: int) -> Graph:
    """Views of what buffers hold of their first decisions."""
    n, a = buffers.node_start[decisions], buffers.job_start[decisions]
    c, m = buffers.candidate_start[decisions], buffers.edge_start[decisions]
    return Graph(
        buffers.nodes[:n],
        buffers.node_job[:n],
        buffers.edges[:, :m],
        buffers.jobs[:a],
        buffers.job_held[:a],
        buffers.totals[:decisions],
        buffers.candidates[:c],
        buffers.candidate_node[:c],
        buffers.candidate_stage[:c],
        buffers.candidate_group[:c],
        buffers.none_allowed[:decisions],
        *(start[: decisions + 1] for start in buffers[-4:]),
    )


def observation_of(graph: Graph, b: int) -> Observation:
    """Decision b of a graph as `Simulation.observe` gives it."""
    nodes, jobs, candidates, edges = (slice(start[b], start[b + 1]) for start in graph[-4:])
    return Observation(
        graph.nodes[nodes],
        graph.node_job[nodes] - jobs.start,
        graph.edges[:, edges] - nodes.start,
        graph.jobs[jobs],
        graph.job_held[jobs],
        graph.totals[b],
        graph.candidates[candidates],
        graph.candidate_node[candidates] - nodes.start,
        graph.candidate_stage[candidates],
        graph.candidate_group[candidates],
        graph.none_allowed[b : b + 1],
    )


def graph_of(seen: Observation) -> Graph:
    """A graph of one decision."""
    sizes = (len(seen.nodes), len(seen.jobs), len(seen.candidates), seen.edges.shape[1])
    return Graph(*seen._replace(totals=seen.totals[None]), *(np.array([0, size]) for size in sizes))


def join(observations: Sequence[Observation]) -> Graph:
    """Decisions that were described one by one as one graph."""
    return concatenate([graph_of(seen) for seen in observations])


def concatenate(graphs: Sequence[Graph]) -> Graph:
    """The decisions of several graphs, at least one, one after another."""
    fields = Graph(*zip(*graphs, strict=True))  # each field a tuple of arrays
    sizes = [np.array([start[-1] for start in starts]) for starts in fields[-4:]]
    first = [np.cumsum(size) - size for size in sizes]
    num_nodes, _, num_candidates, num_edges = sizes
    first_node, first_job, _, _ = first
    starts = (
        np.concatenate([[0], *(start[1:] + offset for start, offset in zip(starts, offsets.tolist(), strict=True))])
        for starts, offsets in zip(fields[-4:], first, strict=True)
    )
    return Graph(
        np.concatenate(fields.nodes),
        np.concatenate(fields.node_job) + np.repeat(first_job, num_nodes),
        np.concatenate(fields.edges, axis=1) + np.repeat(first_node, num_edges),
        np.concatenate(fields.jobs),
        np.concatenate(fields.job_held),
        np.concatenate(fields.totals),
        np.concatenate(fields.candidates),
        np.concatenate(fields.candidate_node) + np.repeat(first_node, num_candidates),
        np.concatenate(fields.candidate_stage),
        np.concatenate(fields.candidate_group),
        np.concatenate(fields.none_allowed),
        *starts,
    )


def take(graph: Graph, rows: np.ndarray) -> Graph:
    """The decisions of the given rows (int64), in their order, as a graph of its own."""
    contiguous = graph._replace(edges=np.ascontiguousarray(graph.edges))  # so that it is compiled once
    taken: Graph = _take(contiguous, np.asarray(rows, np.int64))
    return taken


@concurrent
def _take(graph: Graph, rows: np.ndarray) -> Graph:
    num_nodes = num_jobs = num_candidates = num_edges = 0
    for b in rows:
        num_nodes += graph.node_start[b + 1] - graph.node_start[b]
        num_jobs += graph.job_start[b + 1] - graph.job_start[b]
        num_candidates += graph.candidate_start[b + 1] - graph.candidate_start[b]
        num_edges += graph.edge_start[b + 1] - graph.edge_start[b]
    out = empty_graph(len(rows), num_nodes, num_jobs, num_candidates, num_edges)
    for to, b in enumerate(rows):
        first, last, n = graph.node_start[b], graph.node_start[b + 1], out.node_start[to]
        first_job, last_job, a = graph.job_start[b], graph.job_start[b + 1], out.job_start[to]
        nodes_on, jobs_on = n - first, a - first_job
        end = out.node_start[to + 1] = last + nodes_on
        out.nodes[n:end] = graph.nodes[first:last]
        out.node_job[n:end] = graph.node_job[first:last] + jobs_on
        end = out.job_start[to + 1] = last_job + jobs_on
        out.jobs[a:end] = graph.jobs[first_job:last_job]
        out.job_held[a:end] = graph.job_held[first_job:last_job]
        out.totals[to] = graph.totals[b]
        first, last, c = graph.candidate_start[b], graph.candidate_start[b + 1], out.candidate_start[to]
        end = out.candidate_start[to + 1] = c + last - first
        out.candidates[c:end] = graph.candidates[first:last]
        out.candidate_node[c:end] = graph.candidate_node[first:last] + nodes_on
        out.candidate_stage[c:end] = graph.candidate_stage[first:last]
        out.candidate_group[c:end] = graph.candidate_group[first:last]
        out.none_allowed[to] = graph.none_allowed[b]
        first, last, m = graph.edge_start[b], graph.edge_start[b + 1], out.edge_start[to]
        end = out.edge_start[to + 1] = m + last - first
        out.edges[:, m:end] = graph.edges[:, first:last] + nodes_on
    return out


@allocating
def empty_graph(decisions: int, nodes: int, jobs: int, candidates: int, edges: int) -> Graph:
    """Buffers with that much room, empty."""
    return Graph(
        np.empty((nodes, len(NODE_FEATURES)), np.float32),
        np.empty(nodes, np.int64),
        np.empty((2, edges), np.int64),
        np.empty((jobs, len(JOB_FEATURES)), np.float32),
        np.empty(jobs, np.int64),
        np.empty((decisions, len(GLOBAL_FEATURES)), np.float32),
        np.empty((candidates, NUM_FEATURES), np.float32),
        np.empty(candidates, np.int64),
        np.empty(candidates, np.int64),
        np.empty(candidates, np.int64),
        np.empty(decisions, np.bool_),
        np.zeros(decisions + 1, np.int64),
        np.zeros(decisions + 1, np.int64),
        np.zeros(decisions + 1, np.int64),
        np.zeros(decisions + 1, np.int64),
    )


@allocating
def observe(state: State) -> Observation:
    """Describe the pending decision. `survey` must have run, as `Simulation.advance` does."""
    num_nodes, num_jobs, num_candidates, num_edges = room_of(state)
    out = empty_graph(1, num_nodes, num_jobs, num_candidates, num_edges)
    fill(borrow(state), borrow(out), np.empty(len(state.stage), np.int64), 0)
    return Observation(
        out.nodes,
        out.node_job,
        out.edges[:, : out.edge_start[1]].copy(),
        out.jobs,
        out.job_held,
        out.totals[0],
        out.candidates,
        out.candidate_node,
        out.candidate_stage,
        out.candidate_group,
        out.none_allowed,
    )


@allocating
def room_of(state: State) -> tuple[int, int, int, int]:
    """Nodes, jobs, candidates and at most so many edges of the pending decision, after `survey`."""
    job, stage_start, parent_start = state.job, state.profiles.stage_start, state.profiles.parent_start
    num_jobs = state.scalar[st.NUM_ACTIVE]
    nodes = candidates = edges = 0
    for i in range(num_jobs):
        j = state.active[i]
        p = job[j, st.PROFILE]
        nodes += job[j, st.STAGES_LEFT]
        candidates += job[j, st.NUM_CANDIDATES]
        edges += parent_start[stage_start[p + 1]] - parent_start[stage_start[p]]
    return nodes, num_jobs, candidates, edges


@allocating
def fill(state: State, out: Graph, node_of: np.ndarray, b: int) -> None:
    """Describe the pending decision of `state` as decision b of a graph that holds b decisions.

    Args:
        state: after `survey`; borrowed (`compiled.arena`), since it is passed on for each job.
        out: buffers with room for it, borrowed.
        node_of: int64[stages of the state], overwritten.
        b: position of the decision.
    """
    scalar, job = state.scalar, state.job
    n, a, m, first = out.node_start[b], out.job_start[b], out.edge_start[b], out.candidate_start[b]
    fill_jobs(state, out, a)
    for i in range(scalar[st.NUM_ACTIVE]):
        j = state.active[i]
        for s in range(job[j, st.BASE], job[j, st.BASE] + job[j, st.NUM_STAGES]):
            node_of[s] = NONE
            if not is_complete(state.stage, s):
                node_of[s] = n
                out.node_job[n] = a
                fill_node(state, s, out.nodes[n])
                n += 1
        m = fill_edges(state, j, node_of, out.edges, m)
        a += 1
    count = fill_features(state, out.candidates[first:], out.candidate_stage[first:])
    for c in range(first, first + count):
        out.candidate_node[c] = node_of[out.candidate_stage[c]]
        out.candidate_group[c] = state.stage[out.candidate_stage[c], st.JOB]
    out.none_allowed[b] = none_allowed(state)
    out.totals[b, 0], out.totals[b, 1], out.totals[b, 2] = (
        scalar[st.TO_DECIDE],
        scalar[st.NUM_ACTIVE],
        scalar[st.NUM_EXECUTORS],
    )
    out.totals[b, 3] = scalar[st.INTERARRIVAL_MS] / 1000
    out.node_start[b + 1], out.job_start[b + 1], out.edge_start[b + 1] = n, a, m
    out.candidate_start[b + 1] = first + count


@allocating
def fill_edges(state: State, j: int, node_of: np.ndarray, edges: np.ndarray, m: int) -> int:
    """Write the edges between incomplete stages of job j from column m on; return the column after the last."""
    stage, job = state.stage, state.job
    parent_start, parents = state.profiles.parent_start, state.profiles.parents
    base = job[j, st.BASE]
    for s in range(base, base + job[j, st.NUM_STAGES]):
        if stage[s, st.WAITING] > 0:  # else all its parents are complete
            g = stage[s, st.PROFILE_STAGE]
            for e in range(parent_start[g], parent_start[g + 1]):
                parent = node_of[base + parents[e]]
                if parent != NONE:
                    edges[0, m], edges[1, m] = parent, node_of[s]
                    m += 1
    return m


@allocating
def fill_node(state: State, s: int, row: np.ndarray) -> None:
    """Write the features of stage s: float32[len(NODE_FEATURES)]."""
    stage, task_s = state.stage[s], state.known[s, st.TASK_MS] / 1000
    row[0] = stage[st.UNSTARTED]
    row[1] = demand(state.stage, s)
    row[2] = task_s
    row[3] = stage[st.UNSTARTED] * state.known[s, st.TASK_MS] / 1000
    row[4] = stage[st.RUNNING] + stage[st.MOVING] + stage[st.COMMITTED]
    row[5] = 1.0 if stage[st.WAITING] == 0 else 0.0
    row[6] = stage[st.CANDIDATE]
    row[7] = state.profiles.levels_below[stage[st.PROFILE_STAGE]]
    row[8] = state.known[s, st.PATH_MS] / 1000


@allocating
def fill_jobs(state: State, out: Graph, a: int) -> None:
    """Write the active jobs from row a on."""
    scalar, job, work, active = state.scalar, state.job, state.work, state.active
    jobs, job_held = out.jobs, out.job_held
    for i in range(scalar[st.NUM_ACTIVE]):
        j, row = active[i], a + i
        # `candidates.executors_held`, written out: a call that passes the whole state costs more than the row.
        held = job[j, st.ATTACHED] + job[j, st.TRANSIT] + job[j, st.PROMISED]
        if j == scalar[st.SOURCE_JOB]:
            held -= scalar[st.TO_DECIDE]
        job_held[row] = held
        jobs[row, 0] = 1.0 if j == scalar[st.SOURCE_JOB] else 0.0
        jobs[row, 1] = held
        jobs[row, 2] = work[j, st.WORK_LEFT_MS] / 1000
        jobs[row, 3] = job[j, st.TASKS_LEFT]
        jobs[row, 4] = job[j, st.STAGES_LEFT]
        jobs[row, 5] = (scalar[st.TIME_MS] - job[j, st.ARRIVAL_MS]) / 1000
        jobs[row, 6] = work[j, st.CRITICAL_PATH_LEFT_MS] / 1000
