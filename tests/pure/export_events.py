"""Events made by hand, as bytes of a record with a format: what the tests of exports are given."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from events.decode import Layout
from events.format import EventFormat, parse_format
from events.record import Record

STRINGS = 256
"""Bytes of a fixed string."""
_SIZES = {"u64": 8, "s64": 8, "u32": 4, "s32": 4, "u8": 1}
_COMMON = (
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
)


def format_of(fields: Mapping[str, str], event: str = "g/ev", number: int = 2000) -> EventFormat:
    """A format with fields of these types: u64, s64, u32, s32, u8, string, fixed, u32[N]."""
    system, _, name = event.partition("/")
    at, lines, printed, arguments = 8, [], [], []
    for field, kind in fields.items():
        element, _, count = kind.rstrip("]").partition("[")
        if kind == "string":
            text, size, signed, spec, argument = f"__data_loc char[] {field}", 4, 1, '\\"%s\\"', f"__get_str({field})"
        elif kind == "fixed":
            text, size, signed = f"char {field}[{STRINGS}]", STRINGS, 1
            spec, argument = '\\"%s\\"', f"REC->{field}"
        else:
            size, signed = _SIZES[element], int(kind.startswith("s"))
            spec, argument = ("%Ld" if signed else "%Lu"), f"REC->{field}"
            text = f"{element} {field}" + (f"[{count}]" if count else "")
            size *= int(count or 1)
        lines.append(f"\tfield:{text};\toffset:{at};\tsize:{size};\tsigned:{signed};\n")
        printed.append(f" {field}={spec}")
        arguments.append(argument)
        at += size
    rest = ", ".join(['"' + "".join(printed) + '"', *arguments])
    source = f"name: {name}\nID: {number}\nformat:\n{_COMMON}\n{''.join(lines)}\nprint fmt: {rest}\n"
    return parse_format(source, system)


def kind_of(value: Any) -> str:
    if isinstance(value, bytes):
        return "string"
    if isinstance(value, tuple):
        return f"u32[{len(value)}]"
    return "s64" if value < 0 else "u64"


def record_of(
    values: Mapping[str, Any],
    *,
    event: str = "g/ev",
    seq: int = 0,
    ts: int = 12_345_678_900,
    pid: int = 7,
    cpu: int = 1,
    comm: str = "head",
    fmt: EventFormat | None = None,
) -> Record:
    """An event; bytes are strings (`fixed` in its own place), tuples arrays of u32, None a string that faulted."""
    kinds = {name: "fixed" if name == "fixed" else kind_of(b"" if v is None else v) for name, v in values.items()}
    fmt = fmt or format_of(kinds, event)
    head = struct.pack("<HBBi", fmt.id, 1, 2, pid)
    fixed, tail = bytearray(), bytearray()
    end = 8 + sum(field.size for field in fmt.fields)
    for field in fmt.fields:
        value = values[field.name]
        if field.loc:
            raw = b"" if value is None else value + b"\0"
            fixed += struct.pack("<I", len(raw) << 16 | (end + len(tail)) & 0xFFFF)
            tail += raw
        elif isinstance(value, bytes):
            fixed += value[: field.size].ljust(field.size, b"\0")
        elif isinstance(value, tuple):
            fixed += b"".join(part.to_bytes(field.width, "little") for part in value)
        else:
            fixed += value.to_bytes(field.size, "little", signed=field.signed)
    raw = head + bytes(fixed) + bytes(tail)
    return Record(seq, ts, cpu, pid, comm, fmt.path, fmt, raw, "", Layout(fmt, "little"))
