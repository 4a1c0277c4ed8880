"""Deferrable jobs: when to start a job that may wait, on the CPU capacity that on-demand work leaves.

After "OSDEC" (arXiv 2406.01047), of which only the abstract could be read: docs/deferrable-jobs.md has the rest.
"""
