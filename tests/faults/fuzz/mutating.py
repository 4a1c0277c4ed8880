"""One damaged file of a sound one: by the format, by bytes, or both."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from . import shapes, tables
from .absurd import PIECES, nested

Mutator = Callable[[bytes, Random], bytes]

LARGEST = 4_000_000
"""Bytes of an input."""

SHAPES: dict[str, tuple[Mutator, ...]] = {
    "text": (shapes.token, shapes.lines),
    "json": (shapes.json_value, shapes.json_value, shapes.json_value, shapes.token),
    "json lines": (shapes.json_line, shapes.json_line, shapes.json_line, shapes.lines, shapes.token),
    "yaml": (shapes.yaml_line, shapes.yaml_line, shapes.token, shapes.lines),
    "csv": (shapes.cell, shapes.cell, shapes.cell, shapes.lines),
    "http": (shapes.http_body, shapes.http_body, shapes.http_head),
    "parquet": (tables.parquet,),
    "safetensors": (tables.safetensors,),
    "bytes": (),
}
"""Damage by format."""


def mutate(data: bytes, name: str, shape: str, rng: Random) -> bytes:
    """A damaged copy of the sound file `name`."""
    if name.endswith((".gz", ".zst")) and rng.random() < 0.7:
        return tables.packed(data, name, shape, rng)[:LARGEST]
    return damage(data, "bytes" if name.endswith((".gz", ".zst")) else shape, rng)


def damage(data: bytes, shape: str, rng: Random) -> bytes:
    """One to four injuries, of the format and of bytes."""
    by_format = SHAPES[shape]
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        injure = rng.choice(by_format) if by_format and rng.random() < 0.75 else flip
        data = injure(data, rng)
    return data[:LARGEST]


def flip(data: bytes, rng: Random) -> bytes:
    """Bytes changed, left out, doubled, put in, cut off."""
    if not data:
        return rng.choice(PIECES)
    at = rng.randrange(len(data))
    size = min(rng.choice((1, 2, 8, 100, 5000)), len(data) - at)
    action = rng.randrange(7)
    if action == 0:
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    if action == 1:
        return data[:at] + rng.randbytes(size) + data[at + size :]
    if action == 2:
        return data[:at] + data[at + size :]
    if action == 3:
        return data[:at] + data[at : at + size] * rng.choice((2, 2, 50)) + data[at + size :]
    if action == 4:
        return data[:at] + rng.choice(PIECES) + data[at:]
    if action == 5:
        piece = rng.choice(PIECES)
        return data[:at] + piece + data[at + len(piece) :]
    return data[:at]


def corners() -> list[bytes]:
    """Inputs that every reader gets first, whatever its format."""
    rng = Random(0)
    return [
        *(b"", b"\n", b"\0", b"{}", b"[]", b"null", b"0", b'"x"', b"PAR1", b"PAR1PAR1", b"ARROW1\0\0", b"\x1f\x8b"),
        *(b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"LZ4Block", b"\x82SNAPPY\0\0\0\0\1\0\0\0\1", b"\xff" * 4096),
        *(b"\0" * 1_000_000, b"a" * 3_000_000, b"\n" * 1_000_000, b'{"Event":' * 10_000, b"- " * 100_000),
        *(nested(depth, rng).encode() for depth in (1_000, 100_000)),
        rng.randbytes(100_000),
    ]
