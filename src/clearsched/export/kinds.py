"""The formats that a student is exported to. Light: the code of a format is imported when it is asked for."""

from __future__ import annotations

from typing import NamedTuple

from clearsched.registry import Registry


class Format(NamedTuple):
    """A language or a form in which others can use a student."""

    name: str
    label: str
    suffix: str  # of the file
    writer: str  # "module:function": of a `source.Source` makes the file's bytes
    summary: str  # in a clause
    vectors: bool = True  # whether test vectors are written beside a student
    network: str = ""  # "module:function": of a checkpoint and the label makes the file's bytes; "": it holds none


FORMATS = Registry(
    "format",
    (
        Format("python", "Python", ".py", "clearsched.export.python:write", "a module of the standard library alone"),
        Format("c", "C", ".c", "clearsched.export.c:write", "a file of C11"),
        Format("java", "Java", ".java", "clearsched.export.java:write", "a class of Java 17"),
        Format("lua", "Lua", ".lua", "clearsched.export.lua:write", "a module of Lua 5.1 and newer, or LuaJIT"),
        Format(
            "slurm",
            "Slurm",
            ".job_submit.lua",
            "clearsched.engines.slurm.lua:write",
            "a job_submit.lua that ranks jobs as they are submitted",
            vectors=False,
        ),
        Format(
            "onnx",
            "ONNX",
            ".onnx",
            "clearsched.export.onnx:write",
            "a graph; trees as a tree ensemble; networks",
            network="clearsched.export.network:write",
        ),
        Format(
            "spark",
            "Spark rules",
            ".rules.json",
            "clearsched.export.spark:write",
            "what the jar clearsched-spark reads",
        ),
        Format(
            "json-schema",
            "JSON Schema",
            ".schema.json",
            "clearsched.export.json_schema:write",
            "what the files of the problem's students look like",
            vectors=False,
        ),
    ),
)
