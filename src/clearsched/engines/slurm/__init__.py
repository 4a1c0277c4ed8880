"""An unchanged Slurm under a student: stages as array jobs, edges as dependencies, rules as priorities and throttles.

`jobs` knows what a DAG job is and what its stages tell of it in their comments; `client` calls Slurm's commands;
`features`, `planning` and `priorities` turn a queue into what each array job should have; `obeying` keeps Slurm so.
`replaying`, `running` and `stand_ins` are the evidence: recorded durations slept on a real Slurm, held against the
simulator.
"""
