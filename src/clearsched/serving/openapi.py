"""The OpenAPI document of the service: its request is that of the rules that answer now."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from clearsched.serving.deciding import Decider
from clearsched.serving.schema import Decision, Fault, Health, Rules

TEMPLATE = "#/components/schemas/{name}"

FAULTS = {
    400: "the body is no JSON",
    408: "the body took too long to arrive",
    409: "the rules that answer now have none to these numbers: a score or level is not finite",
    413: "the body is too large",
    422: "a field is missing, unknown or wrong",
}

EXPLAIN = {
    "name": "explain",
    "in": "query",
    "required": False,
    "description": "whether the answer says why, in words; that takes most of its time",
    "schema": {"type": "boolean", "default": True},
}


def responses(answer: type | None, *faults: int) -> dict[int | str, dict[str, Any]]:
    """What a route answers: an object of a type, or a text; and the faults by their status."""
    told: dict[str, Any] = {"text/plain": {"schema": {"type": "string"}}}
    if answer is not None:
        told = {"application/json": {"schema": {"$ref": TEMPLATE.format(name=answer.__name__)}}}
    fault = {"application/json": {"schema": {"$ref": TEMPLATE.format(name=Fault.__name__)}}}
    found: dict[int | str, dict[str, Any]] = {200: {"description": "the answer", "content": told}}
    return found | {status: {"description": FAULTS[status], "content": fault} for status in faults}


def _decide() -> dict[str, Any]:
    """What the route of a decision is, which FastAPI does not know."""
    return {
        "summary": "Answer one decision",
        "operationId": "decide",
        "parameters": [EXPLAIN],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": TEMPLATE.format(name="Request")}}},
        },
        "responses": {str(status): told for status, told in responses(Decision, *FAULTS).items()},
    }


def document(app: FastAPI, rules: Decider) -> dict[str, Any]:
    """The document."""
    found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    types = [rules.request_type, Decision, Fault, Health, Rules]
    _, schemas = msgspec.json.schema_components(types, ref_template=TEMPLATE)
    found["paths"] = {"/decide": {"post": _decide()}, **found["paths"]}
    found["components"] = {"schemas": schemas}
    for path in found["paths"].values():
        for route in path.values():
            route["responses"]["200"]["content"] = {
                kind: content
                for kind, content in route["responses"]["200"]["content"].items()
                if content["schema"]  # FastAPI adds an empty one for what it does not know
            }
    return found
