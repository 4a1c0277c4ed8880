"""Record the 22 TPC-H queries on a real Apache Spark and turn its event logs into a trace.

The parts, in the order that data moves: `queries` (what is run), `worker` (the process that runs it),
`eventlog` (what Spark wrote down), `profiles` (rows of the trace), `record` (the whole recording). Only
`worker` and the queries need pyspark; they run in a process of their own.
"""
