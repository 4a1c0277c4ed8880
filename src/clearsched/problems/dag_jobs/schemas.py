"""The Arrow schema of every table of DAG jobs: traces, episodes, and the jobs and tasks of an evaluation.

Tables are written and read through `clearsched.schemas`, which checks them.
"""

from __future__ import annotations

import pyarrow as pa

from clearsched.schemas import field

WAVES = ("first_wave", "rest_wave", "fresh")
"""First task of an executor in a stage, its later tasks in that stage, its first task in a job."""

DURATIONS = pa.list_(
    pa.struct(
        [
            pa.field("wave", pa.string(), False),
            pa.field("level", pa.int32(), False),
            pa.field("duration_ms", pa.list_(pa.int32()), False),
        ]
    )
)

TRACE = pa.schema(
    [
        field("profile", pa.int32(), "", "index of the job profile, 0, 1, 2, ... in order"),
        field("query", pa.string(), "", "name of the profile's query or template"),
        field("size", pa.string(), "", "input size of the profile, for example 10g"),
        field("stage", pa.int32(), "", "index of the stage in its profile, 0, 1, 2, ... in order"),
        field("num_tasks", pa.int32(), "tasks", "number of tasks of the stage"),
        field("parents", pa.list_(pa.int32()), "", "stages of the profile that must finish before this one starts"),
        field(
            "durations", DURATIONS, "ms", "measured task durations by wave and parallelism level (executors of the job)"
        ),
        field("arrival_ms", pa.int64(), "ms", "arrival of the job in its source, the first job's is 0", True),
        field("cpu", pa.float32(), "cores", "what a task of the stage asks for", True),
        field("memory", pa.float32(), "%", "what a task of the stage asks for, of the memory of a machine", True),
    ]
)

WORKLOADS = pa.schema(
    [
        field("split", pa.string(), "", "train, validation or test"),
        field("episode", pa.int32(), "", "index of the episode in its split"),
        field("job", pa.int32(), "", "index of the job in its episode, in order of arrival"),
        field("profile", pa.int32(), "", "profile of the job in the trace"),
        field("arrival_ms", pa.int64(), "ms", "time of arrival"),
        field("duration_seed", pa.int64(), "", "seed of the task durations of the episode"),
    ]
)

JOBS = pa.schema(
    [
        field("policy", pa.string(), "", "name of the policy"),
        field("episode", pa.int32(), "", "index of the test episode"),
        field("job", pa.int32(), "", "index of the job in its episode"),
        field("query", pa.string(), "", "query of the job's profile"),
        field("size", pa.string(), "", "input size of the job's profile"),
        field("arrival_s", pa.float64(), "s", "time of arrival"),
        field("jct_s", pa.float64(), "s", "job completion time: completion minus arrival"),
    ]
)

GANTT_EPISODE = 0
"""The test episode whose tasks an evaluation keeps."""

TASKS = pa.schema(
    [
        field("policy", pa.string(), "", "name of the policy"),
        field("start_ms", pa.int64(), "ms", "start of the task"),
        field("duration_ms", pa.int64(), "ms", "its duration, warm-up included"),
        field("job", pa.int32(), "", "job of the task"),
        field("stage", pa.int32(), "", "stage of the task in its job"),
        field("executor", pa.int32(), "", "executor that ran it"),
    ]
)

OPTIMALITY = pa.schema(
    [
        field("instance", pa.int32(), "", "index of the small instance"),
        field("jobs", pa.int32(), "jobs", "its jobs"),
        field("tasks", pa.int64(), "tasks", "their tasks"),
        field("policy", pa.string(), "", "name of the policy"),
        field("kind", pa.string(), "", "one of problems.policy.KINDS"),
        field("jct_s", pa.float64(), "s", "the policy's mean job completion time"),
        field("optimum_s", pa.float64(), "s", "that of the best schedule that was found"),
        field("bound_s", pa.float64(), "s", "what is proved that none is below"),
        field("proved", pa.bool_(), "", "whether the best schedule is proved to be the optimum"),
        field("gap_percent", pa.float64(), "%", "how much more than the best schedule's the policy's is"),
    ]
)
