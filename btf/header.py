"""Parse `struct btf_header`: the location of the two sections, and the byte order.

Rules as in libbpf's btf_parse_hdr, btf_parse_type_sec and btf_parse_str_sec (tools/lib/bpf/btf.c).
"""

from __future__ import annotations

import struct
from typing import Literal, NamedTuple

from btf.errors import BtfError
from btf.kinds import HEADER_LENGTH, MAGIC, VERSION

ByteOrder = Literal["little", "big"]


class Header(NamedTuple):
    """Byte order, and the sections as absolute byte offsets in the file."""

    byteorder: ByteOrder
    types: int
    types_end: int
    strings: int
    strings_end: int


def parse_header(data: bytes) -> Header:
    """Parse and check the header.

    Raises:
        BtfError: the header is invalid.
    """
    if len(data) < HEADER_LENGTH:
        raise BtfError(f"{len(data)} bytes are no header, it has {HEADER_LENGTH}", len(data))
    byteorder = _byteorder(data)
    layout = ("<" if byteorder == "little" else ">") + "HBBIIIII"
    _, version, _, length, type_off, type_len, str_off, str_len = struct.unpack_from(layout, data)
    if version != VERSION:
        raise BtfError(f"version {version}, known is {VERSION}", 2)
    if not HEADER_LENGTH <= length <= len(data):
        raise BtfError(f"header length {length}, file has {len(data)} bytes", 4)
    if type_off % 4 or type_len % 4:
        raise BtfError(f"type section at {type_off} with {type_len} bytes is not aligned to 4", 8)
    room = len(data) - length
    if type_off + type_len > room:
        raise BtfError(f"type section at {type_off} with {type_len} bytes ends behind the file", 8)
    if str_off + str_len > room:
        raise BtfError(f"string section at {str_off} with {str_len} bytes ends behind the file", 16)
    if type_len and str_len and type_off < str_off + str_len and str_off < type_off + type_len:
        raise BtfError("type and string section overlap", 8)
    if str_len and data[length + str_off + str_len - 1]:
        raise BtfError("string section doesn't end with NUL", length + str_off + str_len - 1)
    types, strings = length + type_off, length + str_off
    return Header(byteorder, types, types + type_len, strings, strings + str_len)


def _byteorder(data: bytes) -> ByteOrder:
    if data[:2] == MAGIC.to_bytes(2, "little"):
        return "little"
    if data[:2] == MAGIC.to_bytes(2, "big"):
        return "big"
    raise BtfError(f"magic {data[:2].hex()} is not BTF's eb9f", 0)
