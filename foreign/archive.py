"""Read tar files with bounds on members, names and bytes, in one pass: POSIX ustar, GNU long names, pax paths.

Only regular files are returned; links, devices and sparse files are skipped. `tarfile` trusts the sizes of long names
and pax headers, and keeps every member in memory. Layout: POSIX.1-2017, pax, "ustar Interchange Format".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from foreign.byte_source import BytesInMemory, ByteSource
from foreign.packed import unpacked_pieces
from foreign.refusal import InputRefusal

_BLOCK = 512
_LONGEST_NAME = 4096
"""Maximum bytes of a member's name, as PATH_MAX."""
_LONGEST_EXTRA = 64 << 10
"""Maximum bytes of a long name or pax header."""
_MOST_EXTRA = 8 << 20
"""Maximum total bytes of long names and pax headers: times and a path of 20,000 members take five million."""
_FILES = (b"0", b"\0", b"7")
_LONG_NAME, _PAX = b"L", b"x"


class TarBounds(NamedTuple):
    """Limits for reading a tar file."""

    largest: int = 64 << 20
    """Maximum bytes of one file; larger files are skipped."""
    total: int = 192 << 20
    """Maximum bytes of the files returned; the unpacked archive, including headers and skipped members, may have at
    most four times as many."""
    members: int = 20_000


_DEFAULT_BOUNDS = TarBounds()


def read_tar(data: bytes | ByteSource, source: str, bounds: TarBounds = _DEFAULT_BOUNDS) -> dict[str, bytes]:
    """Return the regular files of a tar file, plain or compressed by gzip or xz, by name.

    Raises:
        InputRefusal: the archive is damaged or exceeds a bound.
        OSError: it can't be read.
    """
    data = BytesInMemory(data) if isinstance(data, bytes) else data
    tar = _Tar(unpacked_pieces(data, source), source, 4 * bounds.total)
    files: dict[str, bytes] = {}
    total, extras, longer = 0, 0, ""
    for _ in range(2 * bounds.members):
        head = tar.take(_BLOCK)
        if not head.strip(b"\0"):
            return files
        _check(head, source)
        kind, size = head[156:157], _number(head[124:136], source)
        padding = -size % _BLOCK
        if kind in (_LONG_NAME, _PAX):
            if size > _LONGEST_EXTRA:
                raise InputRefusal(source, f"a header of {size} bytes", f"{_LONGEST_EXTRA} bytes")
            extras += size
            if extras > _MOST_EXTRA:
                raise InputRefusal(source, "its headers have more", f"{_MOST_EXTRA} bytes")
            extra = tar.take_padded(size, padding)
            longer = (_text(extra) if kind == _LONG_NAME else _pax_path(extra)) or longer
            continue
        name, longer = (longer or _own_name(head)).removeprefix("./"), ""
        if len(name) > _LONGEST_NAME:
            raise InputRefusal(source, f"a name of {len(name)} characters", f"{_LONGEST_NAME}")
        if kind not in _FILES or size > bounds.largest or name.endswith("/"):
            tar.skip(size + padding)
            continue
        total += size
        if total > bounds.total:
            raise InputRefusal(source, "its files have more", f"{bounds.total} bytes")
        if len(files) >= bounds.members:
            break
        files[name] = tar.take_padded(size, padding)
    raise InputRefusal(source, "more members", f"{bounds.members}")


class _Tar:
    """Stream of an archive's bytes."""

    def __init__(self, pieces: Iterator[bytes], source: str, most: int) -> None:
        self._pieces = pieces
        self._source = source
        self._most = self._left = most
        self._buffer = bytearray()

    def take(self, size: int) -> bytes:
        """Return the next bytes; zeros at the end of a file without an end mark."""
        while len(self._buffer) < size and self._more(self._buffer):
            pass
        if self._buffer and len(self._buffer) < size:
            raise InputRefusal(self._source, "cut short")
        with memoryview(self._buffer) as held:  # a slice of the buffer itself is a further copy
            found = bytes(held[:size]) if held else bytes(min(size, _BLOCK))
        del self._buffer[:size]
        return found

    def take_padded(self, size: int, padding: int) -> bytes:
        """Return the next bytes, and skip the padding after them."""
        found = self.take(size) if size else b""
        self.skip(padding)
        return found

    def skip(self, size: int) -> None:
        """Skip bytes."""
        while size > len(self._buffer):
            size -= len(self._buffer)
            self._buffer.clear()
            if not self._more(self._buffer):
                raise InputRefusal(self._source, "cut short")
        del self._buffer[:size]

    def _more(self, to: bytearray) -> bool:
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._left -= len(piece)
        if self._left < 0:
            raise InputRefusal(self._source, "unpacks to more", f"{self._most} bytes")
        to += piece
        return True


def _check(head: bytes, source: str) -> None:
    """Raise an error if the checksum of a header is wrong: the sum of its bytes, with its own field as blanks."""
    if sum(head[:148]) + sum(head[156:]) + 8 * 32 != _number(head[148:156], source):
        raise InputRefusal(source, "no tar file, or a damaged one")


def _number(field: bytes, source: str) -> int:
    """Parse octal digits, or GNU's binary form after a first byte of 0x80."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.replace(b"\0", b" ").strip()
    if digits.strip(b"01234567"):
        raise InputRefusal(source, "no tar file, or a damaged one")
    return int(digits or b"0", 8)


def _own_name(head: bytes) -> str:
    prefix = _text(head[345:500]) if head[257:263] == b"ustar\0" else ""
    return f"{prefix}/{_text(head[:100])}" if prefix else _text(head[:100])


def _pax_path(extra: bytes) -> str:
    """Return the `path` of a pax header, whose lines are `LENGTH KEY=VALUE`; empty: it has none."""
    at, found = 0, ""
    while at < len(extra):
        blank = extra.find(b" ", at, at + 20)
        digits = extra[at:blank] if blank > at else b""
        if not digits.isdigit() or not blank - at < int(digits) <= len(extra) - at:
            return found
        if extra.startswith(b"path=", blank + 1):
            found = _text(extra[blank + 1 + len(b"path=") : at + int(digits) - 1])
        at += int(digits)
    return found


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "backslashreplace")
