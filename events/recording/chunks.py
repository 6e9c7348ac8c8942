"""Read and write a recording file as bytes: chunks, compressed and checksummed; see also `events.recording.reader`.

Layout, integers little endian:

    file    "probewright" NUL, u32 version, then chunks up to an end chunk
    chunk   "PWRC", u8 kind, u8 codec, u16 0, u32 stored length, u32 raw length, u32 crc32 of the stored bytes, bytes

A truncated file is readable up to the truncation. No content is trusted: lengths are checked against the file and
against limits before memory is allocated, and every fault is a RecordingError with the offset.
"""

from __future__ import annotations

import enum
import lzma
import re
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from events.batch import Batch, Chunk
from events.losses import NewestTask
from foreign.byte_source import ByteSource
from foreign.packed import inflate, unxz
from foreign.refusal import InputRefusal

MAGIC = b"probewright\0"
VERSION = 1
LARGEST_CHUNK = 64 << 20
"""Maximum raw bytes of one chunk: kallsyms has about 15 million, a chunk of passes one million plus its last pass."""
_LARGEST_STORED = LARGEST_CHUNK + (1 << 20)
"""Maximum stored bytes of one chunk: what can't be compressed grows by less than a thousandth."""
_HEAD_STORED = 64 << 10
"""Stored bytes that are read for the first bytes of a chunk."""
MOST_CHUNKS = 1 << 20
_MOST_PIECES = 1 << 16
"""Maximum pieces of one pass; a CPU has one or two."""
_MAX_FREE_PASSES = 1000
"""Number of non-empty passes allowed in any chunk; beyond it, each pass must account for at least one stored byte."""
_EMPTY_PASSES = re.compile(rb"(?:[\0\1]\0{4})*+")
"""Sequence of passes without a piece, drained or not."""

_FILE = struct.Struct("<12sI")
_CHUNK = struct.Struct("<4sBBHIII")
_CHUNK_MAGIC = b"PWRC"
_BATCH = struct.Struct("<BI")
_PIECE = struct.Struct("<iBI")


class ChunkKind(enum.IntEnum):
    """Kind of a chunk's content; a reader skips unknown kinds."""

    END = 0
    META = 1
    """JSON object; of several, later keys win."""
    BLOB = 2
    """Named file: u16 length of kind, u16 length of name, kind, name, bytes."""
    PAGES = 3
    """Batches: u8 flags (1 drained, 2 after a gap, 4 reboot after it, 8 only a gap of a changed probe, 16 the newest
    task was read here: blob `newest_task`), u32 number of pieces, each i32 CPU, u8 text, u32 length, bytes."""


class Codec(enum.IntEnum):
    """Compression of a chunk's bytes."""

    NONE = 0
    ZLIB = 1
    XZ = 2


class RecordingError(Exception):
    """Error in a file that is no recording, or is damaged; `file` and `offset` (bytes) give the location."""

    def __init__(self, file: str, offset: int, reason: str) -> None:
        super().__init__(f"{file}: byte {offset}: {reason}")
        self.file = file
        self.offset = offset
        self.reason = reason


class ChunkEntry(NamedTuple):
    """Chunk of a file."""

    kind: int
    codec: int
    offset: int
    """Offset of the stored bytes in the file."""
    stored: int
    raw: int
    crc: int


_ZLIB_LEVEL = 6
"""Level of zlib except for pages, which are written while events are displayed: 9 is one percent smaller and takes
five times as long, 1.5 s for types and symbols of a kernel."""


def write_head(file: BinaryIO) -> None:
    """Write the file header."""
    file.write(_FILE.pack(MAGIC, VERSION))


def write_chunk(file: BinaryIO, kind: ChunkKind, codec: Codec, raw: bytes) -> None:
    """Compress and write one chunk."""
    if not raw:
        codec = Codec.NONE
    if codec is Codec.XZ:
        stored = lzma.compress(raw, preset=9)
    elif codec is Codec.ZLIB:
        stored = _deflate(raw, 1 if kind is ChunkKind.PAGES else _ZLIB_LEVEL)
    else:
        stored = raw
    file.write(_CHUNK.pack(_CHUNK_MAGIC, kind, codec, 0, len(stored), len(raw), zlib.crc32(stored)) + stored)


def _deflate(raw: bytes, level: int) -> bytes:
    return zlib.compress(raw, level)


class ChunkFile:
    """Chunks of a file; a chunk is read and decompressed on demand."""

    def __init__(self, data: ByteSource, name: str) -> None:
        """Scan the heads of the chunks of a file.

        Raises:
            RecordingError: the file is no recording, is damaged, or can't be read.
        """
        self.name = name
        self.truncated = True
        """True if the file ends before its end chunk."""
        self._data = data
        self.entries = list(self._scan())

    def _scan(self) -> Iterator[ChunkEntry]:
        size, head = self._data.size, self._read(0, _FILE.size)
        magic, version = _FILE.unpack(head) if len(head) == _FILE.size else (b"", 0)
        if magic != MAGIC:
            raise RecordingError(self.name, 0, "no recording of probewright")
        if version != VERSION:
            raise RecordingError(self.name, len(MAGIC), f"version {version}; this program reads version {VERSION}")
        at, number = _FILE.size, 0
        while at + _CHUNK.size <= size:
            head = self._read(at, _CHUNK.size)
            if len(head) < _CHUNK.size:  # shortened meanwhile
                return
            mark, kind, codec, _, stored, raw, crc = _CHUNK.unpack(head)
            if mark != _CHUNK_MAGIC:
                raise RecordingError(self.name, at, "damaged: no chunk begins here")
            number += 1
            if raw > LARGEST_CHUNK or stored > _LARGEST_STORED or number > MOST_CHUNKS:
                raise RecordingError(self.name, at, "a chunk or the number of chunks is beyond all limits")
            entry = ChunkEntry(kind, codec, at + _CHUNK.size, stored, raw, crc)
            at = entry.offset + stored
            if at > size:
                return
            if kind == ChunkKind.END:
                self.truncated = False
                return
            yield entry

    def _read(self, at: int, size: int) -> bytes:
        try:
            return self._data.read(at, size)
        except OSError as error:
            raise RecordingError(self.name, at, error.strerror or "can't be read") from error

    def raw(self, entry: ChunkEntry, limit: int = LARGEST_CHUNK) -> bytes:
        """Decompress a chunk of at most `limit` raw bytes.

        Raises:
            RecordingError: the chunk is damaged or too large.
        """
        if entry.raw > limit:
            raise RecordingError(self.name, entry.offset, f"{entry.raw} bytes where {limit} are allowed")
        stored = self._read(entry.offset, entry.stored)
        if zlib.crc32(stored) != entry.crc:
            raise RecordingError(self.name, entry.offset, "damaged: wrong checksum")
        try:
            raw = _unpack(stored, entry.codec, entry.raw)
        except ValueError as error:
            raise RecordingError(self.name, entry.offset, f"damaged: {error}") from error
        if len(raw) != entry.raw:
            raise RecordingError(self.name, entry.offset, "damaged: wrong length")
        return raw

    def head(self, entry: ChunkEntry, most: int) -> bytes:
        """Return the first bytes of a chunk, at most `most`; the checksum is not verified.

        Raises:
            RecordingError: the bytes cannot be decompressed.
        """
        stored = self._read(entry.offset, min(entry.stored, _HEAD_STORED))
        try:
            return _unpack(stored, entry.codec, min(entry.raw, most), part=True)
        except ValueError as error:
            raise RecordingError(self.name, entry.offset, f"damaged: {error}") from error


def _unpack(stored: bytes, codec: int, length: int, part: bool = False) -> bytes:
    """Decompress at most `length` bytes; further bytes are an error unless `part`."""
    if codec == Codec.NONE:
        raw, more = stored[:length], len(stored) > length
    elif codec in (Codec.ZLIB, Codec.XZ):
        raw, more = (inflate if codec == Codec.ZLIB else unxz)(stored, "", length, part), False
    else:
        raise InputRefusal("", f"codec {codec} is not known")
    if more and not part:
        raise InputRefusal("", "more bytes than it says")
    return raw


def pack_batch(batch: Batch) -> bytes:
    """Return one pass as bytes of a PAGES chunk."""
    parts = [
        _BATCH.pack(
            batch.drained
            | batch.after_gap << 1
            | batch.booted << 2
            | batch.changed << 3
            | (batch.newest_task is not None) << 4,
            len(batch.chunks),
        )
    ]
    for chunk in batch.chunks:
        parts += [_PIECE.pack(chunk.cpu, chunk.text | chunk.is_being_written << 1, len(chunk.data)), chunk.data]
    return b"".join(parts)


def unpack_batches(raw: bytes, stored: int | None = None) -> Iterator[Batch]:
    """Yield the passes of a PAGES chunk of `stored` bytes; runs of empty passes are merged or skipped.

    Raises:
        struct.error: a pass is incomplete.
        InputRefusal: more than a recorder writes.
    """
    at, allowed = 0, _MAX_FREE_PASSES + (len(raw) if stored is None else stored)
    while at < len(raw):
        empty = _EMPTY_PASSES.match(raw, at)
        if empty is not None and empty.end() > at:
            if raw.find(b"\1", at, empty.end()) >= 0:
                yield Batch((), True)
            at = empty.end()
            continue
        flags, number = _BATCH.unpack_from(raw, at)
        at += _BATCH.size
        allowed -= 1
        if allowed < 0:
            raise InputRefusal("", "more passes than its bytes can hold")
        if number > _MOST_PIECES:
            raise InputRefusal("", f"a pass of {number} pieces", f"{_MOST_PIECES}")
        chunks = []
        for _ in range(number):
            cpu, bits, length = _PIECE.unpack_from(raw, at)
            at += _PIECE.size
            if at + length > len(raw):
                raise struct.error("a piece is not whole")
            chunks.append(Chunk(cpu, raw[at : at + length], bool(bits & 1), is_being_written=bool(bits & 2)))
            at += length
        drained, after_gap, booted, changed = (bool(flags & 1 << bit) for bit in range(4))
        yield Batch(tuple(chunks), drained, after_gap, booted, changed, NewestTask() if flags & 16 else None)
