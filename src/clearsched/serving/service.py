"""The HTTP service: routes, limits, faults as one line each."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import current_thread, main_thread
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from clearsched import __version__
from clearsched.reading.flipping import Spread
from clearsched.scorers.text import render
from clearsched.serving.answering import JSON, Decide, broken, encode, refused
from clearsched.serving.faults import Refused
from clearsched.serving.metrics import CONTENT_TYPE
from clearsched.serving.openapi import document, responses
from clearsched.serving.reloading import Keeper
from clearsched.serving.schema import Health, RuleFeature, Rules

DECIDE = "/decide"


def create_app(keeper: Keeper, most_bytes: int, spread: Spread | None = None) -> FastAPI:
    """The service.

    Args:
        keeper: has the rules.
        most_bytes: of the body of a request.
        spread: of the features in a log, for what would have changed a decision; None: of the request at hand.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if hasattr(signal, "SIGHUP") and current_thread() is main_thread():  # no other thread is told of signals
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, keeper.asked.set)
        watching = asyncio.create_task(keeper.watch())
        yield
        watching.cancel()

    app = Service(
        title="clearsched",
        version=__version__,
        description="Scheduling decisions of a readable policy, with the rule that fired and why.",
        docs_url=None,  # the pages load scripts from another host
        redoc_url=None,
        lifespan=lifespan,
    )
    app.keeper, app.decide = keeper, Decide(keeper, most_bytes, spread)
    metrics = keeper.metrics
    app.router.routes.insert(0, Route(DECIDE, app.decide, methods=["POST"]))  # for other methods

    @app.get("/rules", summary="The rules that answer, printed, and the features they need", responses=responses(Rules))
    async def rules() -> Response:
        return Response(encode(told_rules(keeper, most_bytes)), media_type=JSON)

    @app.get("/healthz", summary="Whether the service answers", responses=responses(Health))
    async def healthz() -> Response:
        now = keeper.now
        health = Health("ok", now.policy.name, now.digest, keeper.refused)
        return Response(encode(health), media_type=JSON)

    @app.get("/metrics", summary="Counters in the text format of Prometheus", responses=responses(None))
    async def counted() -> Response:
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        known = "known are POST /decide, GET /rules, /healthz, /metrics, /openapi.json"
        told = {404: f"no such path: {known}", 405: f"{request.method} is not allowed here: {known}"}
        return refused(
            metrics, Refused(error.status_code, told.get(error.status_code, str(error.detail)), None, error.headers)
        )

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        return broken(metrics, error)

    return app


class Service(FastAPI):
    """The application, which answers decisions itself and documents the rules that answer now."""

    keeper: Keeper
    decide: Decide

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; decisions go past the framework, whose layers take as long as deciding does."""
        if scope["type"] == "http" and scope["path"] == DECIDE and scope["method"] == "POST":
            await self.decide(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document."""
        return document(self, self.keeper.now)


def told_rules(keeper: Keeper, most_bytes: int) -> Rules:
    """What `/rules` says."""
    now = keeper.now
    policy = now.policy
    features = [RuleFeature(f.name, f.unit, f.meaning, f.name in now.needed) for f in policy.rank.features]
    gauges = [RuleFeature(g.name, g.unit, g.meaning, g.name in now.watched) for g in now.gauges]
    guard = policy.guard.sentence(policy.problem) if policy.guard else None
    return Rules(
        policy.name,
        policy.problem.name,
        now.digest,
        render(policy),
        features,
        now.most or None,
        policy.idles if policy.may_idle else None,
        keeper.most_candidates,
        most_bytes,
        guard,
        gauges,
    )
