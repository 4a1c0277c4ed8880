"""DAG jobs on a pool of executors: the problem of the Decima paper, under the rules of its published simulator.

A decision asks twice: which stage gets executors (`stage`), and how many its job may then hold (`limit`).
"""
