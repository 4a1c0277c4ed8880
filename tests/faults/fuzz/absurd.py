"""Values that no reader should trust, as the text of JSON, YAML and CSV."""

from __future__ import annotations

from random import Random

NUMBERS = (
    *("-1", "0", "-0.0", "1", "0.5", "1e-320", "1e39", "-1e39", "1e308", "1e309", "-1e309", "NaN", "Infinity"),
    *("127", "128", "32768", "65536", "2147483647", "2147483648", "-2147483649", "4294967296", "10000000000"),
    *("9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775809"),
    *("18446744073709551616", "1" + "0" * 40, "9" * 5000),
)

TEXTS = (
    *('""', '" "', '"0"', '"nan"', '"../../x"', '"/dev/zero"', '"\\u0000"', '"\\ud800"', '"\\u202e"', '"x\\ny"'),
    *('"' + "a" * 300 + '"', '"' + "9" * 5000 + '"', '"' + "long " * 10_000 + '"'),
)

OTHERS = ("null", "true", "false", "[]", "{}", "[null]", "[[]]", '{"":0}', "[0,0,0,0]", '{"a":{"a":{"a":1}}}')


def nested(depth: int, rng: Random) -> str:
    """Brackets in brackets."""
    left, right = rng.choice((("[", "]"), ('{"a":', "}")))
    return left * depth + "0" + right * depth


def absurd_json(rng: Random) -> str:
    """Any absurd value, as JSON (which need not be valid: NaN, half a surrogate)."""
    kind = rng.random()
    if kind < 0.5:
        return rng.choice(NUMBERS)
    if kind < 0.75:
        return rng.choice(TEXTS)
    if kind < 0.95:
        return rng.choice(OTHERS)
    return nested(rng.choice((20, 500, 2_000, 100_000)), rng)


CELLS = (
    *NUMBERS,
    "",
    " ",
    '"',
    "'",
    "\0",
    "\ufeff",
    "a" * 70_000,
    "1;2",
    "1e5",
    "0x10",
    "١٢",
    "-",
    "None",
    "\\N",
    '"a\nb"',
)
"""What may stand in a cell of a CSV file."""

PIECES = (
    *(
        b"\0",
        b"\xff",
        b"\xfe\xff",
        b"\xef\xbb\xbf",
        b"\n",
        b"\r\n",
        b"\n\n\n",
        b"\t",
        b'"',
        b"'",
        b"{",
        b"}",
        b"[",
        b"]",
    ),
    *(b",", b":", b"-", b"\xc0\xaf", b"\xed\xa0\x80", b"\x1b[2J", b"%s%n", b"\xff" * 8, b"\0" * 64, b"\x80\0\0\0"),
    *(b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"A" * 5000, b"[" * 5000, b'{"a":' * 2000),
)
"""Bytes that mean something to one format or another."""

YAML_LINES = (
    "seed: 2",
    "seed: 1\nseed: 2",
    "scenario: 2024-13-45",
    "scenario: 2024-02-30",
    "scenario: 1:60:60",
    "scenario: ~",
    "seed: !!python/object/apply:os.system [id]",
    "seed: !!binary aGk",
    "seed: !unknown x",
    "seed: &a [*a]",
    "<<: *nothing",
    "<<: [1, 2]",
    "? [1, 2]\n: 3",
    "? {a: 1}\n: 3",
    "---\nseed: 1\n---\nseed: 2",
    "%YAML 9.9\n---\nseed: 1",
    "seed: |\n  text\n more",
    "\tseed: 1",
    "seed: 0o17\nscenario: no",
    "seed: 1_000_000_000_000_000_000_000_000",
    "workload: {executors: 1000000000}",
    "a: &a [l, l, l, l, l, l, l, l]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\n"
    "d: &d [*c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d]\nf: [*e, *e, *e, *e, *e, *e, *e]",
)
"""Lines that YAML reads in ways that surprise."""

HTTP_REQUESTS = (
    *(
        b"GET /decide HTTP/1.1",
        b"POST / HTTP/1.1",
        b"GET /rules HTTP/1.1",
        b"GET /metrics HTTP/1.1",
        b"HEAD /rules HTTP/1.1",
    ),
    *(b"GET /openapi.json HTTP/1.1", b"OPTIONS * HTTP/1.1", b"CONNECT x:1 HTTP/1.1", b"TRACE /decide HTTP/1.1"),
    *(b"POST /decide?explain=false HTTP/1.1", b"POST /decide?explain=2 HTTP/1.1", b"POST /decide?explain HTTP/1.1"),
    *(b"POST /decide?x=" + b"%00" * 3000 + b" HTTP/1.1", b"POST /../../etc/passwd HTTP/1.1", b"POST /%ff%00 HTTP/1.1"),
    *(
        b"POST http://other.example/decide HTTP/1.1",
        b"POST /decide HTTP/9.9",
        b"POST /decide",
        b"POST  /decide  HTTP/1.1",
    ),
    *(b"POST /decide HTTP/1.0", b"POST /" + b"a" * 70_000 + b" HTTP/1.1", b"PRI * HTTP/2.0\r\n\r\nSM\r\n"),
)
"""First lines of requests."""

HTTP_FIELDS = (
    *(b"Content-Length: -1", b"Content-Length: 0", b"Content-Length: 99999999999999999999", b"Content-Length: 1e3"),
    *(b"Content-Length: 5\r\nContent-Length: 6", b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked"),
    *(
        b"Transfer-Encoding : chunked",
        b"Expect: 100-continue",
        b"Connection: upgrade\r\nUpgrade: websocket",
        b"Upgrade: h2c",
    ),
    *(
        b"Content-Encoding: gzip",
        b"Content-Type: text/xml",
        b"Content-Type: application/json; charset=utf-16",
        b"Host:",
    ),
    *(
        b"X: " + b"a" * 70_000,
        b"\r\n".join(b"X%d: 1" % n for n in range(2000)),
        b": x",
        b"X\0: 1",
        b" folded",
        b"X: \xff\xfe",
    ),
)
"""Lines of a request's head."""
