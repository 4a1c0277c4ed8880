"""The decision log: a policy runs, every candidate and its choice are written down, students learn from it."""

from __future__ import annotations

from clearsched.decisions.experts import Answer, Expert, load_expert
from clearsched.decisions.reader import Choices, iterate_choices, read_choices
from clearsched.decisions.recording import Decision, log, record
from clearsched.decisions.summary import describe, summarise
from clearsched.decisions.writer import open_log

__all__ = [
    "Answer",
    "Choices",
    "Decision",
    "Expert",
    "describe",
    "iterate_choices",
    "load_expert",
    "log",
    "open_log",
    "read_choices",
    "record",
    "summarise",
]
