"""`POST /decide`: from the bytes of a request to those of its answer."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from clearsched.compiled.scoring import NONE
from clearsched.reading.flipping import Spread
from clearsched.serving.deciding import Decider, Unanswerable
from clearsched.serving.faults import Refused, fault_of
from clearsched.serving.metrics import Metrics
from clearsched.serving.reloading import Keeper
from clearsched.serving.schema import Fault
from clearsched.serving.wording import explain

JSON = "application/json"

PATIENCE_S = 30.0
"""For which a request may take to arrive."""

CLOSE = {"connection": "close"}
"""Of an answer to a request of which the rest is not read."""

WORDS = {"true": True, "false": False}

encode = msgspec.json.Encoder().encode


class Gone(Exception):
    """The caller went away before its request was complete."""


class Decide:
    """The route. It is called as ASGI has it, since requests and answers of a framework take as long as a decision."""

    def __init__(self, keeper: Keeper, most_bytes: int, spread: Spread | None) -> None:
        self._keeper, self._most_bytes, self._spread = keeper, most_bytes, spread
        self._words = ThreadPoolExecutor(1, "words")  # where they take milliseconds others go on

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        rules, metrics = self._keeper.now, self._keeper.metrics
        try:
            explained = wants_words(scope["query_string"])
            body = await whole_body(scope, receive, self._most_bytes)
            answer = await self._answer(rules, body, explained)
        except Refused as error:
            await refused(metrics, error)(scope, receive, send)
        except Unanswerable as error:
            await refused(metrics, Refused(409, str(error), error.field))(scope, receive, send)
        except Gone:
            metrics.errors.labels("gone").inc()
        except Exception as error:
            await broken(metrics, error)(scope, receive, send)
            raise  # to the log of the server
        else:
            length = str(len(answer)).encode()
            headers = [(b"content-type", b"application/json"), (b"content-length", length)]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": answer})

    async def _answer(self, rules: Decider, body: bytes, explained: bool) -> bytes:
        begin, metrics = perf_counter(), self._keeper.metrics
        decided = rules.decide(read(rules, body))
        told = rules.told(decided)
        if explained and rules.is_straight:
            told.explanation = explain(rules, decided, self._spread)  # sooner done than handed to a thread
        elif explained:
            words = asyncio.get_running_loop().run_in_executor(self._words, explain, rules, decided, self._spread)
            told.explanation = await words
        if told.guard is not None:
            self._keeper.note_guard(told.guard, decided.request.taken_over)
        answer: bytes = encode(told)
        (metrics.none if decided.answer.best == NONE else metrics.chosen).inc()
        metrics.seconds[explained].observe(perf_counter() - begin)
        return answer


def refused(metrics: Metrics, error: Refused) -> Response:
    """The answer to a request that is refused, which is counted."""
    metrics.errors.labels(str(error.status)).inc()
    return Response(encode(Fault(str(error), error.field)), error.status, error.headers, JSON)


def broken(metrics: Metrics, error: Exception) -> Response:
    """The answer to a request at which the service itself failed, which is counted."""
    return refused(metrics, Refused(500, f"a fault of the service: {type(error).__name__}; its log says more"))


def read(rules: Decider, body: bytes) -> Any:
    """The request in a body.

    Raises:
        Refused: it is malformed.
    """
    try:
        return rules.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise fault_of(error, body, rules) from None


def wants_words(query: bytes) -> bool:
    """Whether the words are asked for: the query is empty, explain=true or explain=false.

    Raises:
        Refused: it is something else.
    """
    if not query:
        return True
    if query == b"explain=false":
        return False
    wanted = True
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name != "explain":
            raise Refused(422, "unknown: known is explain", name[:80])
        if value not in WORDS:
            raise Refused(422, "true or false expected", name)
        wanted = WORDS[value]
    return wanted


async def whole_body(scope: Scope, receive: Receive, most: int) -> bytes:
    """The body of a request.

    Raises:
        Refused: it is too large, or takes too long to arrive.
        Gone: it ends too early.
    """
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value[:20]) > most:
            raise _too_large(most)
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await _joined(receive, most)
    except TimeoutError:
        raise Refused(408, f"not there after {PATIENCE_S:g} s", "body", CLOSE) from None


async def _joined(receive: Receive, most: int) -> bytes:
    """The parts of a body together."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise _too_large(most)
        if not message.get("more_body"):
            return b"".join(parts)


def _too_large(most: int) -> Refused:
    return Refused(413, f"at most {most} bytes expected", "body", CLOSE)
