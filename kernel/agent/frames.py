"""Encode and decode the frames between us and the remote agent; also the first part of the agent's source.

One frame is `!IIB`: bytes of payload, id, op; the payload is fields, each `!I` length and bytes; numbers are decimal
text. Requests may be pipelined; a reply has the id of its request, a batch of a stream that of STREAM.
"""

# This file is Python 3.6 and imports the standard library alone: it runs on the remote host too.
import struct

try:
    import zlib
except ImportError:  # a python3 built without it: no compression
    zlib = None  # type: ignore[assignment]

HEAD = struct.Struct("!IIB")
MAX_REQUEST = 1 << 20
PART = 256 << 10
PING, READ, LIST, LINKS, PERFORM, GUARD, UNGUARD, HOLD, STREAM, CREDIT, SYNC, STOP, BYE, BPF, DROP, RINGS = range(
    1, 17
)
FOLDERS = 17
OK, ERROR, MORE, PASS = range(64, 68)


def pack(*fields: bytes) -> bytes:
    """Return the payload made of fields."""
    return b"".join(struct.pack("!I", len(field)) + field for field in fields)


def unpack(payload: bytes) -> "list[bytes]":
    """Return the fields of a payload. Raises ValueError."""
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
    """Return the int of a decimal field. Raises ValueError, also for sign, spaces and underscores."""
    if not field.isdigit() or len(field) > 20:
        raise ValueError("not a number")
    return int(field)


def frame(ident: int, op: int, *fields: bytes) -> bytes:
    """Return one complete frame."""
    payload = pack(*fields)
    return HEAD.pack(len(payload), ident, op) + payload


def squeeze(data: bytes) -> "tuple[bytes, bytes]":
    """Return flag and data: compressed if that saves a fifth."""
    if zlib is not None and len(data) > 1024:
        small = zlib.compress(data, 1)
        if len(small) < len(data) * 4 // 5:
            return b"z", small
    return b"", data
