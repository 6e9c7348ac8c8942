"""bpftool as the judge of `btf/`: every type, every layout, every prototype of a BTF, told apart from ours.

`compare` is for any raw BTF: this machine's, that of a booted guest, the one in tests/data. Prototypes come out of
`format c` by a trick: bpftool prints types, not functions, so in a copy of the BTF each FUNC is made a TYPEDEF (both
have the same layout), and what was `vfs_read` is printed as `typedef ssize_t vfs_read(struct file *file, ...);`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from btf import layout, render, types, walk
from btf.btf import Btf
from btf.kinds import Kind

LIMIT = 20
"""Differences of one sort that are told."""
Json = dict[str, Any]


def bpftool(data: bytes, *options: str, base: bytes | None = None, as_json: bool = False) -> str:
    """Output of `bpftool btf dump` of raw BTF."""
    with tempfile.TemporaryDirectory() as folder:
        file, below = Path(folder, "btf"), Path(folder, "base")
        file.write_bytes(data)
        command = ["bpftool", *(["-j"] if as_json else [])]
        if base is not None:
            below.write_bytes(base)
            command += ["-B", str(below)]
        command += ["btf", "dump", "file", str(file), *options]
        done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise AssertionError(f"bpftool: {done.stderr.decode()[-500:]}")
    return done.stdout.decode("utf-8", "backslashreplace")


def compare(data: bytes, base: bytes | None = None) -> list[str]:
    """All that `btf/` reads otherwise than bpftool; empty where the two agree. Counts go to standard output."""
    below = Btf.load(base) if base is not None else None
    b = Btf.load(data, below)
    theirs = json.loads(bpftool(data, base=base, as_json=True))["types"]
    differences = [*compare_types(b, theirs)]
    by_id = {record["id"]: record for record in theirs}
    if base is not None:
        by_id |= {r["id"]: r for r in json.loads(bpftool(base, as_json=True))["types"]}
    differences += compare_layouts(b, by_id)
    differences += compare_prototypes(b, data, base)
    differences += compare_definitions(b, data, base)
    return differences


def compare_types(b: Btf, theirs: list[Json]) -> Iterator[str]:
    """Each type, every attribute of it: sizes, offsets and bit sizes of members, values, linkage."""
    if [record["id"] for record in theirs] != list(range(b.start_id, b.end_id)):
        yield f"ids: {len(theirs)} types against {b.end_id - b.start_id}"
        return
    told = 0
    for record in theirs:
        ours = as_json(b.type(record["id"]))
        if _known(record, ours) != ours:
            told += 1
            if told <= LIMIT:
                yield f"type {record['id']}: bpftool {record}, ours {ours}"
    _count("types", len(theirs))


def compare_layouts(b: Btf, by_id: dict[int, Json]) -> list[str]:
    """Size and flattened fields of each struct and union, the latter found from bpftool's records alone."""
    found, structs, fields = [], 0, 0
    for type_id in range(b.start_id, b.end_id):
        record = by_id[type_id]
        if record["kind"] not in ("STRUCT", "UNION"):
            continue
        expected = sorted(_flat(by_id, record, 0))
        ours = sorted((f.name, f.bit_offset, f.bit_size, f.type_id) for f in layout.fields(b, type_id))
        if walk.size_of(b, type_id) != record["size"] or ours != expected:
            found.append(f"layout of {record['kind']} {type_id} {record['name']}: {expected} against {ours}")
        for name, offset, size, target in expected:
            hit = layout.find_field(b, type_id, name) if name else None
            if hit and (hit.bit_offset, hit.bit_size, hit.type_id) != (offset, size, target):
                found.append(f"field {name} of {record['kind']} {type_id}: {hit}")
        structs += 1
        fields += len(expected)
    _count("structs and unions", structs)
    _count("fields", fields)
    return found[:LIMIT]


def compare_prototypes(b: Btf, data: bytes, base: bytes | None = None) -> list[str]:
    """The C prototype of every function, character by character."""
    printed = _declarations(bpftool(functions_as_typedefs(b, data), "format", "c", base=base))
    theirs = {_plain(text.removeprefix("typedef ").removesuffix(";")) for text in printed}
    found = []
    for name in b.functions:
        func = b.function(name)
        assert func is not None
        ours = _plain(render.prototype(b, func, inline=True))
        if ours not in theirs:
            found.append(f"prototype of {name}: {ours!r} is not among bpftool's")
    _count("prototypes", len(b.functions))
    return found[:LIMIT]


def compare_definitions(b: Btf, data: bytes, base: bytes | None = None) -> list[str]:
    """The C definition of each named struct, union and enum, and of each typedef, line by line."""
    theirs = {_plain(text) for text in _declarations(bpftool(data, "format", "c", base=base))}
    found, number = [], 0
    for type_id in range(b.start_id, b.end_id):
        thing = b.type(type_id)
        if isinstance(thing, types.Struct | types.Enum | types.Enum64 | types.Typedef) and thing.name:
            if thing.name in _BUILT_IN:
                continue
            number += 1
            ours = _plain(render.definition(b, type_id, offsets=False))
            if ours not in theirs:
                found.append(f"definition of {thing.kind.name} {type_id}: {ours}")
    _count("definitions", number)
    return found[:LIMIT]


def functions_as_typedefs(b: Btf, data: bytes) -> bytes:
    """The same BTF with each FUNC a TYPEDEF."""
    changed = bytearray(data)
    info = (Kind.TYPEDEF << 24).to_bytes(4, b.byteorder)
    at = b.offset(b.start_id) - b.index.positions[0] * 4
    for word in b.index.functions:
        changed[at + word * 4 + 4 : at + word * 4 + 8] = info
    return bytes(changed)


def as_json(thing: types.Type) -> Json:
    """A type of ours as `bpftool -j` would say it."""
    record: Json = {"id": thing.id, "kind": thing.kind.name, "name": thing.name or "(anon)"}
    match thing:
        case types.Int():
            encoding = {0: "(none)", 1: "SIGNED", 2: "CHAR", 4: "BOOL"}.get(thing.encoding, "UNKN")
            record |= {
                "size": thing.size,
                "bits_offset": thing.bit_offset,
                "nr_bits": thing.bits,
                "encoding": encoding,
            }
        case types.Array():
            record |= {"type_id": thing.type_id, "index_type_id": thing.index_type_id, "nr_elems": thing.nelems}
        case types.Struct():
            record |= {"size": thing.size, "vlen": len(thing.members), "members": [*map(_member, thing.members)]}
        case types.Enum() | types.Enum64():
            values = [{"name": name, "val": value} for name, value in thing.values]
            sign = "SIGNED" if thing.is_signed else "UNSIGNED"
            record |= {"encoding": sign, "size": thing.size, "vlen": len(values), "values": values}
        case types.Fwd():
            record["fwd_kind"] = thing.keyword
        case types.Func() | types.Var():
            record |= {"type_id": thing.type_id, "linkage": _LINKAGES[thing.linkage]}
        case types.FuncProto():
            params = [{"name": p.name or "(anon)", "type_id": p.type_id} for p in thing.params]
            record |= {"ret_type_id": thing.type_id, "vlen": len(params), "params": params}
        case types.Datasec():
            record |= {"size": thing.size, "vlen": len(thing.vars), "vars": [v._asdict() for v in thing.vars]}
        case types.DeclTag():
            record |= {"type_id": thing.type_id, "component_idx": thing.component_idx}
        case types.Float():
            record["size"] = thing.size
        case types.Void():
            pass
        case _:
            record["type_id"] = thing.type_id
    return record


def _member(member: types.Member) -> Json:
    record: Json = {"name": member.name or "(anon)", "type_id": member.type_id, "bits_offset": member.bit_offset}
    return record | ({"bitfield_size": member.bit_size} if member.bit_size else {})


def _known(record: Json, ours: Json) -> Json:
    """What bpftool says, without what a newer one may say more of a type."""
    known = {key: value for key, value in record.items() if key in ours}
    if record["kind"] == "ENUM" and record.get("encoding") == "UNSIGNED":
        # Its JSON (not its text) extends the sign of unsigned values.
        known["values"] = [value | {"val": value["val"] & 0xFFFFFFFF} for value in record["values"]]
    return known


def _flat(by_id: dict[int, Json], record: Json, base: int) -> Iterator[tuple[str, int, int, int]]:
    for member in record["members"]:
        offset = base + member["bits_offset"]
        inner = by_id.get(member["type_id"])
        while inner and inner["kind"] in ("CONST", "VOLATILE", "RESTRICT", "TYPEDEF", "TYPE_TAG"):
            inner = by_id.get(inner["type_id"])
        if member["name"] == "(anon)" and inner and inner["kind"] in ("STRUCT", "UNION"):
            yield from _flat(by_id, inner, offset)
        else:
            name = "" if member["name"] == "(anon)" else member["name"]
            yield name, offset, member.get("bitfield_size", 0), member["type_id"]


_LINKAGES = ("static", "global", "extern")
"""By the numbers of BTF_FUNC_* and BTF_VAR_*."""
_BUILT_IN = {"__builtin_va_list", "__gnuc_va_list"}
"""bpftool leaves these to the compiler."""
_TWIN = re.compile(r"___\d+\b")
"""bpftool numbers names that occur twice, `list___2`, which no C of ours needs."""
_PADDING = re.compile(r"^\s*(long|int|short|char)\s*:\s*\d+;$\n?", re.MULTILINE)
_ATTRIBUTES = re.compile(r" __attribute__\(\((packed|mode\(\w+\)|aligned\(\d+\))\)\)")
_TAGS = re.compile(r'btf_type_tag\("(address_space\(\d+\))"\)')
"""Since 2025 a tag may be a whole attribute (the kind flag is set); older bpftools write it as a tag."""


def _plain(text: str) -> str:
    """Without what bpftool adds for a compiler: padding, attributes of layout, numbers of twins."""
    text = _TAGS.sub(r"\1", _ATTRIBUTES.sub("", _PADDING.sub("", text)))
    return re.sub(r"\{\n\s*\}", "{}", _TWIN.sub("", text))


def _declarations(text: str) -> Iterator[str]:
    """The pieces of a `format c` dump, each up to its semicolon in the first column of nesting."""
    lines: list[str] = []
    for line in text.splitlines():
        if not lines and (not line or line.startswith("#")):
            continue
        lines.append(line)
        if line.endswith(";") and not line.startswith("\t"):
            yield "\n".join(lines)
            lines = []


def _count(what: str, number: int) -> None:
    print(f"{number:8,} {what}")


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(path)
        print(*compare(Path(path).read_bytes()), sep="\n")
