"""The tables of the papers' figures."""

from __future__ import annotations

import pyarrow as pa

from clearsched.schemas import field

JOBS = pa.schema(
    [
        field("policy", pa.string(), "", "name of the policy"),
        field("kind", pa.string(), "", "heuristic, searched, teacher or student"),
        field("episode", pa.int32(), "", "index of the test episode"),
        field("job", pa.int32(), "", "index of the job in its episode"),
        field("arrival_s", pa.float64(), "s", "time of arrival"),
        field("jct_s", pa.float64(), "s", "job completion time: completion minus arrival"),
        field("work_s", pa.float64(), "executor s", "work of the job's profile: tasks times their mean duration"),
        field("busy_s", pa.float64(), "executor s", "what its tasks took under the policy; none: not recorded", True),
    ]
)
"""A row a policy, test episode and job. The metadata names the experiment, its setting and its executors."""

BY_SEED = pa.schema(
    [
        field("policy", pa.string(), "", "name of the policy"),
        field("seed", pa.int64(), "", "training seed"),
        field("chosen", pa.bool_(), "", "whether it is the one that the other tables tell of"),
        field("episode", pa.int32(), "", "index of the test episode"),
        field("jct_s", pa.float64(), "s", "mean job completion time of the episode"),
    ]
)
"""A row a learned policy of several training seeds, seed and test episode; none where no policy has several."""

LATENCY = pa.schema(
    [
        field("policy", pa.string(), "", "name of the policy"),
        field("kind", pa.string(), "", "heuristic, searched, teacher or student"),
        field("decision", pa.int64(), "", "number of the decision, in order of time"),
        field("time_s", pa.float64(), "s", "simulated time"),
        field("candidates", pa.int64(), "candidates", "that the decision had"),
        field("latency_ms", pa.float64(), "CPU ms", "from the question to the answer, one decision at a time"),
    ]
)
"""Timings: the one table of these that differs from run to run. The metadata tells memory and size of each policy."""
