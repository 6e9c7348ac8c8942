"""The frames between us and the agent on the far side; also the first part of the agent's source.

One frame is `!IIB`: bytes of payload, id, op; the payload is fields, each `!I` length and bytes; numbers are
decimal text. Requests may be pipelined; a reply has the id of its request, a pass of a stream that of STREAM.
"""

# This file speaks Python 3.6 and imports nothing but the standard library: it runs on the far side too.
import struct

try:
    import zlib
except ImportError:  # a python3 built without it: everything goes plain
    zlib = None  # type: ignore[assignment]

HEAD = struct.Struct("!IIB")
MAX_REQUEST = 1 << 20
PART = 256 << 10
PING, READ, LIST, LINKS, PERFORM, GUARD, UNGUARD, HOLD, STREAM, CREDIT, SYNC, STOP, BYE = range(1, 14)
OK, ERROR, MORE, PASS = range(64, 68)


def pack(*fields: bytes) -> bytes:
    """Fields -> payload."""
    return b"".join(struct.pack("!I", len(field)) + field for field in fields)


def unpack(payload: bytes) -> "list[bytes]":
    """Payload -> fields. Raises ValueError."""
    fields, at = [], 0
    while at < len(payload):
        if at + 4 > len(payload):
            raise ValueError("a field's length is cut")
        (size,) = struct.unpack_from("!I", payload, at)
        at += 4
        if size > len(payload) - at:
            raise ValueError("a field is longer than its frame")
        fields.append(payload[at : at + size])
        at += size
    return fields


def number(field: bytes) -> int:
    """Decimal field -> int. Raises ValueError; sign, spaces and underscores are not taken."""
    if not field.isdigit() or len(field) > 20:
        raise ValueError("not a number")
    return int(field)


def frame(ident: int, op: int, *fields: bytes) -> bytes:
    """One frame, whole."""
    payload = pack(*fields)
    return HEAD.pack(len(payload), ident, op) + payload


def squeeze(data: bytes) -> "tuple[bytes, bytes]":
    """Flag and data: compressed where that saves a fifth."""
    if zlib is not None and len(data) > 1024:
        small = zlib.compress(data, 1)
        if len(small) < len(data) * 4 // 5:
            return b"z", small
    return b"", data
