"""Open an event log as a stream of plain bytes, whatever codec it was written with.

The codec is told by the first bytes, not by the name: the name of a log that is being written ends in `.inprogress`,
and names are changed. Spark writes `zstd` (since 3.0 the default), `lz4` and `snappy`; the latter two not in the
standard frames of these formats but in those of the Java libraries lz4-java (`LZ4BlockOutputStream`) and snappy-java
(`SnappyOutputStream`), which are unpacked here. A stream that was cut off or damaged gives what is
readable up to there.

However much a few bytes unpack to, a piece of at most some tens of MB is held in memory at once.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

import lz4.block
import lz4.frame
import pyarrow as pa
import zstandard

from clearsched.errors import ClearschedError

LZ4_BLOCK = b"LZ4Block"
LZ4_BLOCK_HEADER = struct.Struct("<8sBiiI")
"""Magic, token (method and block size), compressed and plain length, checksum (not verified)."""
LZ4_RAW, LZ4_COMPRESSED = 0x10, 0x20

SNAPPY_JAVA = b"\x82SNAPPY\x00"
SNAPPY_JAVA_HEADER_BYTES = 16  # the magic, then two version numbers of four bytes
SNAPPY_FRAMED = b"\xff\x06\x00\x00sNaPpY"

MAX_BLOCK_BYTES = 1 << 26
"""Longest block: twice the longest of lz4-java."""

CHUNK_BYTES = 1 << 18
PACKED_CHUNK_BYTES = 1 << 14
"""That are unpacked at once: where one of them is damaged, the others are not lost."""

ZSTD_CHUNK_BYTES = 1 << 11
"""Four bytes of zstd may be 128 KiB of the same byte, so 2 KiB unpack to 64 MiB at most."""

HEAD_BYTES = 16


class CodecError(Exception):
    """Bytes that are not what the codec of the stream allows."""


class CutOffError(CodecError):
    """The stream ends before its end."""


class _Stream(io.RawIOBase):
    """A raw stream over an iterator of blocks of bytes."""

    def __init__(self, blocks: Iterator[bytes], file: IO[bytes]) -> None:
        self._blocks = blocks
        self._file = file
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = memoryview(block)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def open_log(path: Path) -> tuple[IO[bytes], IO[bytes]]:
    """A stream of the log's plain bytes, and the file itself (its position tells the progress).

    Reading the stream raises `CodecError` where the file is damaged, `CutOffError` where it was cut off.

    Raises:
        ClearschedError: the file cannot be read.
    """
    try:
        file = open(path, "rb")  # noqa: SIM115 (the caller closes it)
        head = file.read(HEAD_BYTES)
        file.seek(0)
    except OSError as error:
        raise ClearschedError(f"{path}: cannot be read: {error.strerror}") from None
    for magic, blocks in _CODECS.items():
        if head.startswith(magic):
            raw = _Stream(_guarded(blocks, file), file)
            return cast(IO[bytes], io.BufferedReader(raw, CHUNK_BYTES)), file
    return file, file


def _guarded(blocks: Callable[[IO[bytes]], Iterator[bytes]], file: IO[bytes]) -> Iterator[bytes]:
    """The blocks of a codec, its library's errors as one kind."""
    try:
        yield from blocks(file)
    except (
        zstandard.ZstdError,
        zlib.error,
        lz4.block.LZ4BlockError,
        RuntimeError,
        pa.ArrowException,
        OSError,
    ) as error:
        raise CodecError(str(error).splitlines()[0] if str(error) else type(error).__name__) from None


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(PACKED_CHUNK_BYTES):
        yield chunk


def _zstd(file: IO[bytes]) -> Iterator[bytes]:
    frame = zstandard.ZstdDecompressor().decompressobj()
    between = True  # frames
    while chunk := file.read(ZSTD_CHUNK_BYTES):
        while chunk:
            yield frame.decompress(chunk)
            between, chunk = frame.eof, frame.unused_data
            if between:  # another frame may follow
                frame = zstandard.ZstdDecompressor().decompressobj()
    if not between:
        raise CutOffError("a zstd frame without its end")


def _gzip(file: IO[bytes]) -> Iterator[bytes]:
    inflate = zlib.decompressobj(wbits=31)
    between = True  # members
    for piece in _chunks(file):
        chunk, plain = piece, b""
        while chunk or plain:
            if between and not (chunk := chunk.lstrip(b"\0")):  # padding, as tapes have it
                break
            plain = inflate.decompress(chunk, CHUNK_BYTES)
            yield plain
            between, chunk = inflate.eof, inflate.unconsumed_tail
            if between:  # another member may follow
                chunk, inflate = inflate.unused_data, zlib.decompressobj(wbits=31)
    if not between:
        raise CutOffError("a gzip member without its end")


def _lz4_frames(file: IO[bytes]) -> Iterator[bytes]:
    frame = lz4.frame.LZ4FrameDecompressor()
    between = True  # frames
    for piece in _chunks(file):
        chunk = piece
        while chunk or not frame.needs_input:
            yield frame.decompress(chunk, CHUNK_BYTES)
            between, chunk = frame.eof, b""
            if between:  # another frame may follow
                chunk, frame = frame.unused_data or b"", lz4.frame.LZ4FrameDecompressor()
    if not between:
        raise CutOffError("an LZ4 frame without its end")


def _lz4_blocks(file: IO[bytes]) -> Iterator[bytes]:
    while header := _header(file, LZ4_BLOCK_HEADER.size):
        magic, token, packed, plain, _ = LZ4_BLOCK_HEADER.unpack(header)
        method = token & 0xF0
        if magic != LZ4_BLOCK or method not in (LZ4_RAW, LZ4_COMPRESSED):
            raise CodecError("no LZ4 block where one is expected")
        if not (0 <= packed <= MAX_BLOCK_BYTES and 0 <= plain <= MAX_BLOCK_BYTES):
            raise CodecError("an LZ4 block of impossible length")
        data = _exactly(file, packed)
        if plain:  # an empty block ends a stream; another may follow
            yield data if method == LZ4_RAW else lz4.block.decompress(data, uncompressed_size=plain)


def _snappy_java(file: IO[bytes]) -> Iterator[bytes]:
    file.read(SNAPPY_JAVA_HEADER_BYTES)
    while header := _header(file, 4):
        if header == SNAPPY_JAVA[:4]:  # the header of a stream that was appended
            file.read(SNAPPY_JAVA_HEADER_BYTES - 4)
            continue
        length = int.from_bytes(header, "big")
        if length > MAX_BLOCK_BYTES:
            raise CodecError("a snappy block of impossible length")
        yield _unsnappy(_exactly(file, length))


def _snappy_frames(file: IO[bytes]) -> Iterator[bytes]:
    """The standard framing: chunks of type (1 byte), length (3 bytes), checksum (4 bytes, not verified) and data."""
    while header := _header(file, 4):
        kind, length = header[0], int.from_bytes(header[1:], "little")
        data = _exactly(file, length)
        if kind == 0x00:
            yield _unsnappy(data[4:])
        elif kind == 0x01:
            yield data[4:]
        elif kind < 0x80:
            raise CodecError(f"a snappy chunk of unknown type {kind}")


def _header(file: IO[bytes], length: int) -> bytes:
    """The next bytes of a file; none at its end.

    Raises:
        CutOffError: there are some, but not so many.
    """
    data = file.read(length)
    return data + _exactly(file, length - len(data)) if data else data


def _exactly(file: IO[bytes], length: int) -> bytes:
    """The next bytes of a file.

    Raises:
        CutOffError: there are not so many.
    """
    data = file.read(length)
    if len(data) < length:
        raise CutOffError("a block without its end")
    return data


def _unsnappy(data: bytes) -> bytes:
    """Unpack one raw snappy block, which begins with its plain length, seven bits a byte."""
    length = shift = 0
    for byte in data[:5]:
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if length > MAX_BLOCK_BYTES:
        raise CodecError("a snappy block of impossible length")
    return cast(bytes, pa.Codec("snappy").decompress(data, length, asbytes=True)) if length else b""


_CODECS: dict[bytes, Callable[[IO[bytes]], Iterator[bytes]]] = {
    b"\x28\xb5\x2f\xfd": _zstd,
    b"\x04\x22\x4d\x18": _lz4_frames,
    LZ4_BLOCK: _lz4_blocks,
    SNAPPY_JAVA: _snappy_java,
    SNAPPY_FRAMED: _snappy_frames,
    b"\x1f\x8b": _gzip,
}
"""How the file begins -> how it is unpacked. What begins otherwise is read as it is."""
