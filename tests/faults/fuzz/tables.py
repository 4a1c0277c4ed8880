"""Damage of binary formats that a flipped bit seldom reaches: the values of a Parquet table, weights, archives."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from . import shapes

INTEGERS = (-1, 0, 1, 2**15, 2**31 - 1, -(2**31), 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63))
FLOATS = (float("nan"), float("inf"), float("-inf"), -1.0, 0.0, 1e308, -1e308, 1e-320, 1e39)
WORDS = ("", "x", "\0", "a" * 10_000, "../x", "9" * 5000, "\n\n", "\u202e")


def parquet(data: bytes, rng: Random) -> bytes:
    """Some values of a column, the rows, the columns, their types, or the metadata; written again without checksums."""
    try:
        table = pq.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError, ValueError):
        return data
    for _ in range(rng.choice((1, 1, 2))):
        table = rng.choice((_values, _values, _values, _rows, _columns, _types, _metadata))(table, rng)
    out = io.BytesIO()
    try:
        codec = rng.choice(("none", "snappy", "zstd"))
        pq.write_table(table, out, compression=codec, row_group_size=rng.choice((1, 7, None)))
    except pa.ArrowException:
        return data
    return out.getvalue()


def _values(table: pa.Table, rng: Random) -> pa.Table:
    if not table.num_columns or not len(table):
        return table
    at = rng.randrange(table.num_columns)
    column = table.column(at)
    values = column.to_pylist()
    for _ in range(rng.choice((1, 1, 3, len(values)))):
        where = rng.randrange(len(values))
        values[where] = _absurd(column.type, rng)
    try:
        damaged = pa.array(values, column.type)
        # A column that must have values keeps saying so, or that alone would be refused.
        return table.set_column(at, table.field(at).with_nullable(damaged.null_count > 0), damaged)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return table


def _absurd(kind: pa.DataType, rng: Random) -> object:
    """A value of an Arrow type, or none."""
    if rng.random() < 0.1:
        return None
    if pa.types.is_list(kind):
        count = rng.choice((0, 1, 2, 5, 1000))
        return [_absurd(kind.value_type, rng)] * count
    if pa.types.is_struct(kind):
        return {kind.field(index).name: _absurd(kind.field(index).type, rng) for index in range(kind.num_fields)}
    if pa.types.is_integer(kind):
        limit = 2 ** (kind.bit_width - 1)
        return rng.choice([value for value in INTEGERS if -limit <= value < limit])
    if pa.types.is_floating(kind):
        return rng.choice(FLOATS)
    if pa.types.is_boolean(kind):
        return rng.random() < 0.5
    return rng.choice(WORDS)


def _rows(table: pa.Table, rng: Random) -> pa.Table:
    count = len(table)
    if not count:
        return table
    start = rng.randrange(count)
    order = list(range(count))
    rng.shuffle(order)
    return rng.choice(
        (table.slice(0, 0), table.slice(start), table.slice(0, start), table.take(order), pa.concat_tables([table] * 2))
    )


def _columns(table: pa.Table, rng: Random) -> pa.Table:
    if not table.num_columns:
        return table
    at = rng.randrange(table.num_columns)
    names = list(table.column_names)
    names[at] = rng.choice((*WORDS, *names))
    mixed = list(table.column_names)
    rng.shuffle(mixed)
    return rng.choice(
        (
            table.remove_column(at),
            table.rename_columns(names),
            table.append_column("x", pa.nulls(len(table))),
            table.select(mixed) if len(set(mixed)) == len(mixed) else table,
        )
    )


def _types(table: pa.Table, rng: Random) -> pa.Table:
    if not table.num_columns:
        return table
    at = rng.randrange(table.num_columns)
    kind = rng.choice((pa.int8(), pa.uint64(), pa.float32(), pa.string(), pa.binary(), pa.null(), pa.list_(pa.int64())))
    try:
        column = table.column(at).cast(kind)
    except (pa.ArrowException, ValueError):
        column = pa.nulls(len(table), kind)
    return table.set_column(at, pa.field(table.field(at).name, kind), column)


def _metadata(table: pa.Table, rng: Random) -> pa.Table:
    known = table.schema.metadata or {}
    if not known:
        return table.replace_schema_metadata({"clearsched": rng.choice(("", "[]", "{", "9" * 5000))})
    key = rng.choice(list(known))
    return table.replace_schema_metadata({**known, key: shapes.json_value(known[key], rng)})


def safetensors(data: bytes, rng: Random) -> bytes:
    """The header, its length, or the numbers."""
    (size,) = struct.unpack("<Q", data[:8]) if len(data) >= 8 else (0,)
    header, body = data[8 : 8 + size], data[8 + size :]
    action = rng.randrange(4)
    if action == 0:
        return struct.pack("<Q", rng.choice((0, 1, size - 1 if size else 0, 2**31, 2**63, 2**64 - 1))) + header + body
    if action == 1:
        header = shapes.json_value(header, rng)
    elif action == 2 and len(body) >= 4:
        at = rng.randrange(len(body) // 4) * 4
        number = rng.choice((b"\0\0\xc0\x7f", b"\0\0\x80\x7f", b"\xff\xff\x7f\x7f", b"\0\0\0\0"))
        body = body[:at] + number * rng.choice((1, 100)) + body[at + 4 :]
    else:
        header = json.dumps({"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, len(body)]}}).encode()
    return struct.pack("<Q", len(header)) + header + body


def packed(data: bytes, name: str, inner: str, rng: Random) -> bytes:
    """`data`, whose format the end of the seed's name tells, with damage inside: the archive itself is sound."""
    from .mutating import damage

    if name.endswith(".tar.gz"):
        return _tar(data, inner, rng)
    opened, close = (
        (gzip.decompress, gzip.compress)
        if name.endswith(".gz")
        else (zstandard.ZstdDecompressor().decompress, zstandard.ZstdCompressor().compress)
    )
    content = damage(opened(data), inner, rng)
    return close(content) * (2 if rng.random() < 0.05 else 1)  # several frames, one after the other


def _tar(data: bytes, inner: str, rng: Random) -> bytes:
    from .mutating import damage

    with tarfile.open(fileobj=io.BytesIO(data)) as members:
        name = members.getnames()[0]
        stream = members.extractfile(name)
        content = stream.read() if stream else b""
    entry = tarfile.TarInfo(rng.choice((name, name, name, f"../{name}", f"/{name}", "x", name + "\n")))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as written:
        for _ in range(rng.choice((1, 1, 1, 0, 2))):
            content = damage(content, inner, rng)
            entry.size = len(content)
            if rng.random() < 0.2:
                entry.type = rng.choice((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE))
                entry.linkname = rng.choice(("/etc/hostname", name, "..", ""))
                entry.size, content = 0, b""
            written.addfile(entry, io.BytesIO(content))
    return out.getvalue()
