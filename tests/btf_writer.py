"""Writes BTF for the tests: any kind, any byte order, split or not, honest or lying."""

from __future__ import annotations

import functools
import lzma
import struct
from pathlib import Path

from btf.header import ByteOrder
from btf.kinds import Kind

DATA = Path(__file__).parent / "data"


@functools.cache
def stored(name: str) -> bytes:
    """A file of tests/data, unpacked: `btf-7.2` is the whole BTF of Debian's cloud kernel 7.2.13."""
    return lzma.decompress((DATA / f"{name}.xz").read_bytes())


class Writer:
    """Types are added one by one; each call gives the new id."""

    def __init__(self, byteorder: ByteOrder = "little", first_id: int = 1, first_string: int = 0) -> None:
        self.byteorder = byteorder
        self.next_id = first_id
        self.words: list[int] = []
        self.strings = bytearray() if first_string else bytearray(b"\0")
        self._first_string = first_string
        self._names = {"": 0}

    def name(self, text: str) -> int:
        if text not in self._names:
            self._names[text] = self._first_string + len(self.strings)
            self.strings += text.encode() + b"\0"
        return self._names[text]

    def add(
        self,
        kind: Kind,
        name: str = "",
        last: int = 0,
        rows: list[tuple[int | str, ...]] | None = None,
        *,
        flag: bool = False,
        vlen: int | None = None,
    ) -> int:
        """One type: `last` is its size or type, `rows` what stands behind it (text: a name)."""
        rows = rows or []
        several = kind not in (Kind.INT, Kind.ARRAY, Kind.VAR, Kind.DECL_TAG)
        number = vlen if vlen is not None else len(rows) if several else 0
        self.words += [self.name(name), int(flag) << 31 | kind << 24 | number, last]
        self.words += [self.name(v) if isinstance(v, str) else v & 0xFFFFFFFF for row in rows for v in row]
        self.next_id += 1
        return self.next_id - 1

    def integer(self, name: str, size: int, encoding: int = 0) -> int:
        return self.add(Kind.INT, name, size, [(encoding << 24 | size * 8,)])

    def data(self, **header: int) -> bytes:
        """The file; `header` overwrites fields of the header with lies."""
        order = "<" if self.byteorder == "little" else ">"
        types = struct.pack(f"{order}{len(self.words)}I", *self.words)
        fields = {
            "magic": 0xEB9F,
            "version": 1,
            "flags": 0,
            "hdr_len": 24,
            "type_off": 0,
            "type_len": len(types),
            "str_off": len(types),
            "str_len": len(self.strings),
        } | header
        return struct.pack(f"{order}HBBIIIII", *fields.values()) + types + bytes(self.strings)


def every_kind(byteorder: ByteOrder = "little") -> bytes:
    """A small BTF with each kind, signs, bit-fields, anonymous members, tags, flexible arrays, functions."""
    w = Writer(byteorder)
    integer, char, long = w.integer("int", 4, 1), w.integer("char", 1), w.integer("long unsigned int", 8)
    w.integer("_Bool", 1, 4)
    unsigned = w.integer("unsigned int", 4)
    w.add(Kind.FLOAT, "double", 8)
    const_char = w.add(Kind.CONST, last=char)
    string = w.add(Kind.PTR, last=const_char)
    tag = w.add(Kind.TYPE_TAG, "user", char)
    user_string = w.add(Kind.PTR, last=tag)
    attribute = w.add(Kind.TYPE_TAG, "address_space(1)", 0, flag=True)
    arena = w.add(Kind.PTR, last=attribute)
    w.add(Kind.ENUM, "colour", 4, [("RED", 0), ("GREEN", 1), ("BLUE", 7)])
    w.add(Kind.ENUM, "sign", 4, [("MINUS", -1), ("PLUS", 1)], flag=True)
    w.add(Kind.ENUM, "flags", 4, [("F_A", 1), ("F_B", 2), ("F_C", 4), ("F_HIGH", 1 << 31)])
    w.add(Kind.ENUM64, "wide", 8, [("W_LOW", 5, 0), ("W_HIGH", 0, 0x80000000)])
    w.add(Kind.ENUM64, "wide_sign", 8, [("W_MINUS", -2, -1)], flag=True)
    declared = w.add(Kind.FWD, "declared")
    w.add(Kind.FWD, "declared_union", flag=True)
    pointer_to_declared = w.add(Kind.PTR, last=declared)
    restricted = w.add(Kind.RESTRICT, last=pointer_to_declared)
    volatile = w.add(Kind.VOLATILE, last=unsigned)
    flexible = w.add(Kind.ARRAY, rows=[(char, integer, 0)])
    table = w.add(Kind.ARRAY, rows=[(integer, integer, 3)])
    matrix = w.add(Kind.ARRAY, rows=[(table, integer, 2)])
    node = w.next_id
    node_pointer = w.add(Kind.PTR, last=node + 1)
    w.add(Kind.STRUCT, "node", 16, [("next", node_pointer, 0), ("value", integer, 64)])
    bits = w.add(
        Kind.STRUCT,
        "",
        4,
        [("low", unsigned, 3 << 24), ("high", unsigned, 5 << 24 | 3), ("rest", char, 8)],
        flag=True,
    )
    either = w.add(Kind.UNION, "", 4, [("word", unsigned, 0), ("", bits, 0)])
    callback = w.add(Kind.FUNC_PROTO, last=integer, rows=[("node", node_pointer), ("", 0)])
    callback_pointer = w.add(Kind.PTR, last=callback)
    size = w.add(Kind.TYPEDEF, "size_t", long)
    record = w.add(
        Kind.STRUCT,
        "record",
        72,
        [
            ("name", string, 0),
            ("", either, 64),
            ("state", volatile, 96),
            ("matrix", matrix, 128),
            ("call", callback_pointer, 320),
            ("inner", node + 1, 384),
            ("count", size, 512),
            ("tail", flexible, 576),
        ],
    )
    record_pointer = w.add(Kind.PTR, last=record)
    const_record = w.add(Kind.CONST, last=record)
    reader = w.add(Kind.PTR, last=const_record)
    rows: list[tuple[int | str, ...]] = [("record", record_pointer), ("buf", user_string), ("n", size)]
    proto = w.add(Kind.FUNC_PROTO, last=size, rows=rows)
    func = w.add(Kind.FUNC, "record_read", proto, vlen=1)
    getter = w.add(Kind.FUNC_PROTO, last=reader, rows=[("where", restricted), ("memory", arena)])
    w.add(Kind.FUNC, "record_find", getter)
    nothing = w.add(Kind.FUNC_PROTO)
    w.add(Kind.FUNC, "record_exit", nothing)
    setter = w.add(Kind.FUNC_PROTO, rows=[("call", callback_pointer)])
    w.add(Kind.FUNC, "record_call", setter)
    var = w.add(Kind.VAR, "the_record", record, [(1,)])
    w.add(Kind.DATASEC, ".data", 72, [(var, 0, 72)])
    w.add(Kind.DECL_TAG, "kfunc", func, [(-1,)])
    w.add(Kind.DECL_TAG, "nullable", func, [(1,)])
    return w.data()


def swapped(data: bytes) -> bytes:
    """The same BTF in the other byte order; plain, to be told at a glance from what it tests."""
    magic, version, flags, hdr_len, *rest = struct.unpack("<HBBIIIII", data[:24])
    type_len = rest[1]
    words = struct.unpack(f"<{type_len // 4}I", data[hdr_len + rest[0] : hdr_len + rest[0] + type_len])
    strings = data[hdr_len + rest[2] :]
    header = struct.pack(">HBBIIIII", magic, version, flags, hdr_len, *rest)
    return header + struct.pack(f">{len(words)}I", *words) + strings
