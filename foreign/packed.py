"""Decompress with a bound on the output: gzip, zlib, xz and lzma, and zstd by its program."""

from __future__ import annotations

import contextlib
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Protocol

from foreign.byte_source import ByteSource, pieces_of
from foreign.refusal import InputRefusal

if TYPE_CHECKING:
    import subprocess

LARGEST = 256 << 20
"""Default for the maximum number of decompressed bytes."""
LZMA_MEMORY = 128 << 20
"""Maximum memory of an xz decoder in bytes; `xz -9` needs 65 MiB."""
_PIECE = 1 << 18
_MOST_STREAMS = 1024
"""Maximum number of consecutive gzip members or xz streams in one input."""

_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def take(self, data: bytes, most: int) -> bytes: ...


class _Zlib:
    """Wrapper of `zlib.decompressobj` that keeps unprocessed input, as `lzma` does."""

    def __init__(self, bits: int) -> None:
        self._decoder = zlib.decompressobj(bits)

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def take(self, data: bytes, most: int) -> bytes:
        return self._decoder.decompress(self._decoder.unconsumed_tail + data, most)


class _Xz:
    def __init__(self) -> None:
        self._decoder = lzma.LZMADecompressor(memlimit=LZMA_MEMORY)

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def take(self, data: bytes, most: int) -> bytes:
        return self._decoder.decompress(data, most)


def gunzip(data: bytes, source: str, most: int = LARGEST) -> bytes:
    """Decompress gzip data, at most `most` bytes.

    Raises:
        InputRefusal: the data is damaged, or unpacks to more.
    """
    return _whole(_pieces(iter((data,)), _gzip, source, most + 1), source, most)


def inflate(data: bytes, source: str, most: int = LARGEST, part: bool = False) -> bytes:
    """Decompress a zlib stream, at most `most` bytes; with `part`, its first bytes.

    Raises:
        InputRefusal: the data is damaged, or unpacks to more.
    """
    return _whole(_pieces(iter((data,)), _zlib, source, most + 1, 1), source, most, part)


def unxz(data: bytes, source: str, most: int = LARGEST, part: bool = False) -> bytes:
    """Decompress xz data, at most `most` bytes, with at most LZMA_MEMORY; with `part`, its first bytes.

    Raises:
        InputRefusal: the data is damaged, or unpacks to more.
    """
    return _whole(_pieces(iter((data,)), _Xz, source, most + 1), source, most, part)


def unzstd(data: bytes, source: str, most: int = LARGEST) -> bytes:
    """Decompress zstd data with the program zstd (Python has no zstd before 3.14), at most `most` bytes.

    Raises:
        InputRefusal: the data is damaged, unpacks to more, or there is no such program.
    """
    import subprocess  # slow to import

    command, pipe = ["zstd", "-dc", "--memory=128MB"], subprocess.PIPE
    try:
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as run:
            found, exceeds = _run_filter(run, data, most)
    except OSError as error:
        raise InputRefusal(source, f"zstd can't be started: {error.strerror}") from None
    if exceeds:
        raise InputRefusal(source, "unpacks to more", f"{most} bytes")
    if run.returncode:
        raise InputRefusal(source, "damaged zstd data")
    return found


def _run_filter(run: subprocess.Popen[bytes], data: bytes, most: int) -> tuple[bytes, bool]:
    """Return a program's output for some input, and whether there was more; a thread writes while this one reads."""
    import threading

    to, output = run.stdin, run.stdout
    if to is None or output is None:
        raise ValueError("the process needs pipes")

    writer = threading.Thread(target=_write, args=(to, data), daemon=True)
    writer.start()
    found = output.read(most + 1)
    exceeds = len(found) > most
    if exceeds:
        run.kill()
    writer.join()
    return found, exceeds


def _write(to: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError, ValueError):  # the process has ended
        to.write(data)
    with contextlib.suppress(OSError, ValueError):
        to.close()


def unpack(data: bytes, source: str, most: int = LARGEST) -> bytes:
    """Decompress data in the format given by its first bytes; other data is returned unchanged.

    Raises:
        InputRefusal: the data is damaged, or unpacks to more.
    """
    if data.startswith(_GZIP):
        return gunzip(data, source, most)
    if data.startswith(_XZ):
        return unxz(data, source, most)
    if data.startswith(_ZSTD):
        return unzstd(data, source, most)
    if len(data) > most:
        raise InputRefusal(source, f"has {len(data)} bytes", f"{most} bytes")
    return data


def unpacked_pieces(source: ByteSource, name: str) -> Iterator[bytes]:
    """Yield the content of gzip, xz or plain data in pieces of at most 256 KiB; as much of it is held.

    Raises:
        InputRefusal: the data is damaged.
        OSError: it can't be read.
    """
    start = source.read(0, len(_XZ))
    if start.startswith(_GZIP):
        yield from _pieces(pieces_of(source), _gzip, name)
    elif start.startswith(_XZ):
        yield from _pieces(pieces_of(source), _Xz, name)
    else:
        yield from pieces_of(source)


def _gzip() -> _Zlib:
    return _Zlib(zlib.MAX_WBITS | 16)


def _zlib() -> _Zlib:
    return _Zlib(zlib.MAX_WBITS)


def _pieces(
    parts: Iterator[bytes],
    decoder: Callable[[], _Decoder],
    source: str,
    largest: int = _PIECE,
    streams: int = _MOST_STREAMS,
) -> Iterator[bytes]:
    """Yield the content of all consecutive streams in parts of data; zeros after them are padding."""
    data = next(parts, b"")
    for _ in range(streams):
        unpacking, rest = decoder(), data
        while not unpacking.eof:
            try:
                piece = unpacking.take(rest, largest)
            except (zlib.error, lzma.LZMAError, EOFError, MemoryError) as error:
                raise InputRefusal(source, f"damaged packed data: {error}") from None
            rest = b""
            if piece:
                yield piece
            elif not unpacking.eof and not (rest := next(parts, b"")):
                raise InputRefusal(source, "damaged packed data: cut short")
        if streams == 1:
            return
        data = unpacking.unused_data.lstrip(b"\0")
        while not data and (part := next(parts, b"")):
            data = part.lstrip(b"\0")
        if not data:
            return
    raise InputRefusal(source, "packed streams behind each other", f"{streams}")


def _whole(pieces: Iterator[bytes], source: str, most: int, part: bool = False) -> bytes:
    found: list[bytes] = []
    size = 0
    for piece in pieces:
        found.append(piece)
        size += len(piece)
        if size >= most and part:
            break
        if size > most:
            raise InputRefusal(source, "unpacks to more", f"{most} bytes")
    return b"".join(found)[:most] if part else b"".join(found)
