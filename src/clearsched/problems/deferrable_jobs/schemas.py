"""The Arrow schemas of this problem's files: the jobs, the episodes, and its own tables of an evaluation."""

from __future__ import annotations

import pyarrow as pa

from clearsched.schemas import field

TRACE = pa.schema(
    [
        field("job", pa.int32(), "", "index of the job, 0, 1, 2, ... in order"),
        field("cpu", pa.float32(), "cores", "what the job takes while it runs"),
        field("memory", pa.float32(), "%", "what the job takes, of the memory of a machine; read by nobody yet"),
        field("duration_s", pa.float64(), "s", "how long it runs, without a break"),
        field("interval_s", pa.float64(), "s", "from the arrival of the job before it, where it is known", True),
    ]
)

WHOLE = pa.list_(pa.field("item", pa.int32(), False))

WORKLOADS = pa.schema(
    [
        field("split", pa.string(), "", "train, validation or test"),
        field("episode", pa.int32(), "", "index of the episode in its split"),
        field("seed", pa.int64(), "", "seed of the forecast's errors"),
        field("day_start", pa.int32(), "slots", "time of the day at which the episode begins"),
        field("capacity", WHOLE, "millicores", "what on-demand work leaves in each slot; after the last it repeats"),
        field("job", WHOLE, "", "for each job of the episode, in order of arrival, its row in the trace"),
        field("arrival", WHOLE, "slots", "slot in which each arrives"),
        field("deadline", WHOLE, "slots", "last slot at whose beginning each may complete in time"),
    ]
)

JOBS = pa.schema(
    [
        field("policy", pa.string(), "", "name of the policy"),
        field("episode", pa.int32(), "", "index of the test episode"),
        field("job", pa.int32(), "", "index of the job in its episode"),
        field("cpu", pa.float64(), "cores", "what it takes while it runs"),
        field("duration_h", pa.float64(), "h", "how long it runs"),
        field("arrival_h", pa.float64(), "h", "time of arrival"),
        field("deadline_h", pa.float64(), "h", "its deadline"),
        field("completion_h", pa.float64(), "h", "time of completion"),
        field("evictions", pa.int32(), "evictions", "how often it was evicted"),
        field("missed", pa.bool_(), "", "whether its deadline was missed"),
        field("cost", pa.float64(), "", "what it adds to the cost, which is the mean over the jobs"),
    ]
)

SLOTS = pa.schema(
    [
        field("policy", pa.string(), "", "name of the policy"),
        field("time_h", pa.float64(), "h", "beginning of the slot, in the first test episode"),
        field("capacity", pa.float64(), "cores", "what on-demand work leaves"),
        field("forecast", pa.float64(), "cores", "what was foreseen of it an hour before, or at the longest reach"),
        field("used", pa.float64(), "cores", "what the running jobs take"),
        field("waiting", pa.int32(), "jobs", "jobs that wait when the slot passes"),
        field("evicted", pa.int32(), "evictions", "jobs evicted at its beginning"),
    ]
)
