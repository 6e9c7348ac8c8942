"""Cuts `probes.tar.xz` out of kernels' facts and verdicts: `python -m tests.data.make_probes FACTS VERDICTS`.

FACTS holds a folder for each kernel (vmlinux.btf, available_filter_functions, blacklist, kallsyms, events, README);
VERDICTS a file KERNEL.jsonl each. Of BTF the types that the commands' functions reach within a few pointers are kept,
under their own ids: the kernel has oddities that depend on them.
"""

from __future__ import annotations

import io
import json
import random
import re
import struct
import sys
import tarfile
from pathlib import Path

from btf.btf import Btf
from btf.kinds import Kind
from btf.types import Array, Enum, Enum64, FuncProto, Int, Ptr, Struct
from events.format import parse_format

DEPTH = 3
"""Pointers followed from an argument."""
WIDE = frozenset({"file", "dentry", "inode", "super_block", "task_struct", "mm_struct", "block_device", "gendisk"})
"""Structs that the commands walk through further."""
EXTRA_FUNCTIONS = 1500
MORE = (
    *("fput", "dput", "ibt_save", "vfs_rename", "do_mmap", "from_kuid", "ZSTD_checkCParams", "vfs_write"),
    *("do_filp_open", "sock_setsockopt"),
    # What tells one kernel's parser from another's (probes/facts/parser_changes.py).
    *("traceprobe_parse_probe_arg", "tracing_syscall_buf_write", "trace_print_bitmask_seq", "trace_fprobe_create_cb"),
    "find_synth_event_call",
)
CAST = ("sk_buff", "file", "task_struct", "net_device", "rq")
"""Structs that commands cast to."""
TOLD_BY = (("hist_field", Kind.STRUCT), ("hist_pad", Kind.STRUCT), ("hist_field_flags", Kind.ENUM))
"""Types that tell one kernel's histograms from another's."""


def cases(path: Path) -> list[dict[str, object]]:
    """Commands to files that make dynamic events, filters and triggers of events."""
    rows = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        log = [(entry["msg"], entry["pos"]) for entry in row["errors"]]
        setup = [_bare(command) for command in row["setup"].split("\x02") if command]
        kept = {"id": row["id"], "cmd": row["cmd"], "ok": row["ok"], "log": log}
        if row["iface"] != "dynamic_events":
            kept["iface"] = row["iface"]
        if setup:
            kept["setup"] = setup
        rows.append(kept)
    return rows


def _bare(command: str) -> str:
    """A command of `setup` without the file it was written to."""
    return re.sub(r"^(dynamic|kprobe|uprobe|synthetic)_events\|", "", command)


def _setup(row: dict[str, object]) -> list[str]:
    setup = row.get("setup", [])
    return setup if isinstance(setup, list) else []


def environment(folder: Path, rows: list[dict[str, object]]) -> dict[str, object]:
    """What the commands ask about: fields of events, how often symbols occur (kernel, modules)."""
    texts = [text for row in rows for text in (str(row["cmd"]), str(row.get("iface", "")), *_setup(row))]
    words = {word for text in texts for word in re.findall(r"[\w.]+", text)}
    symbols: dict[str, list[int]] = {}
    for line in (folder / "kallsyms").read_text().splitlines():
        parts = line.split()
        if parts[2] in words:
            symbols.setdefault(parts[2], [0, 0])[len(parts) > 3] += 1
    events = {}
    names = {name for word in words for name in word.split(".")}
    for line in (folder / "available_events").read_text().split():
        group, _, event = line.partition(":")
        if group in names and event in names:
            text = (folder / "events" / group / event / "format").read_text()
            fields = parse_format(text, group).fields
            events[line] = [(f.name, f.type, f.size, f.signed) for f in fields]
    return {"events": events, "symbols": symbols}


def reached(btf: Btf, functions: set[str]) -> set[int]:
    """Ids of the types to keep."""
    keep: set[int] = set()
    depths: dict[int, int] = {}
    todo = [(func.id, DEPTH) for name in functions if (func := btf.function(name)) is not None]
    todo += [(type_id, 0) for type_id in range(1, 40)]
    todo += [(type_id, 1) for name in CAST if (type_id := btf.find(name, Kind.STRUCT)) is not None]
    todo += [(type_id, 0) for name, kind in TOLD_BY if (type_id := btf.find(name, kind)) is not None]
    todo.append(
        (
            next(
                i for i in range(1, btf.end_id) if btf.kind(i) == Kind.STRUCT and not getattr(btf.type(i), "name", "")
            ),
            0,
        )
    )
    while todo:
        type_id, depth = todo.pop()
        if not type_id or depths.get(type_id, -1) >= depth:
            continue
        depths[type_id] = depth
        found = btf.type(type_id)
        if isinstance(found, Struct) and found.name in WIDE:
            depth = max(depth, 1)
        keep.add(type_id)
        if isinstance(found, Ptr):
            target = btf.type(found.type_id)
            wide = isinstance(target, Struct) and target.name in WIDE
            if depth > 0 or wide or not isinstance(target, Struct):
                todo.append((found.type_id, max(depth - 1, 0)))
        elif isinstance(found, Struct):
            todo += [(member.type_id, depth) for member in found.members]
        elif isinstance(found, FuncProto):
            todo += [(param.type_id, depth) for param in found.params] + [(found.type_id, depth)]
        elif isinstance(found, Array):
            todo += [(found.type_id, depth), (found.index_type_id, depth)]
        elif not isinstance(found, Int | Enum | Enum64):
            todo.append((int(getattr(found, "type_id", 0)), depth))
    return keep


def trimmed(data: bytes, keep: set[int]) -> bytes:
    """The same BTF with a nameless forward declaration for each type that is not kept."""
    header = list(struct.unpack_from("<HBBIIIII", data))
    start, strings = header[3] + header[4], header[3] + header[6]
    texts = {0: 0}
    table = bytearray(b"\0")

    def text(offset: int) -> int:
        if offset not in texts:
            end = data.index(b"\0", strings + offset)
            texts[offset] = len(table)
            table.extend(data[strings + offset : end + 1])
        return texts[offset]

    out = bytearray()
    at, type_id = start, 0
    words = {1: 1, 3: 3, 14: 1, 17: 1}
    each = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
    while at < start + header[5]:
        type_id += 1
        name, info, size = struct.unpack_from("<III", data, at)
        kind, count = info >> 24 & 31, info & 0xFFFF
        fixed, step = words.get(kind, 0) * 4, each.get(kind, 0)
        end = at + 12 + fixed + step * count
        if type_id in keep:
            out += struct.pack("<III", text(name), info, size) + data[at + 12 : at + 12 + fixed]
            for part in range(at + 12 + fixed, end, step or 1):
                row = data[part : part + step]
                out += row if kind == 15 else struct.pack("<I", text(struct.unpack_from("<I", row)[0])) + row[4:]
        else:
            out += struct.pack("<III", 0, 7 << 24, 0)
        at = end
    header[5], header[6], header[7] = len(out), len(out), len(table)
    header[3], header[4] = 24, 0
    return struct.pack("<HBBIIIII", *header) + bytes(out) + bytes(table)


def main() -> None:
    """Write `probes.tar.xz` beside this file."""
    facts, verdicts = Path(sys.argv[1]), Path(sys.argv[2])
    rng = random.Random(1)
    with tarfile.open(Path(__file__).with_name("probes.tar.xz"), "w:xz", preset=9) as tar:
        for folder in sorted(p for p in facts.iterdir() if p.is_dir()):
            rows = cases(verdicts / f"{folder.name}.jsonl")
            data = (folder / "vmlinux.btf").read_bytes()
            btf = Btf.load(data)
            lines = (folder / "available_filter_functions").read_text().splitlines()
            used = {
                str(row["cmd"]).split()[1].partition("%")[0].partition("+")[0]
                for row in rows
                if " " in str(row["cmd"])
            }
            used |= {f"__probestub_{name}" for name in used} | set(MORE)
            extra = rng.sample(lines, EXTRA_FUNCTIONS)
            kept = [line for line in lines if line.partition(" ")[0] in used or line in extra]
            shown = {line.partition(" ")[0] for line in extra[:60]}
            small = trimmed(data, reached(btf, used | shown))
            files = {
                "btf": small,
                "functions": "\n".join(kept).encode(),
                "blacklist": (folder / "blacklist").read_bytes(),
                "README": (folder / "README").read_bytes(),
                "environment": json.dumps(environment(folder, rows)).encode(),
                "cases": "\n".join(json.dumps(row) for row in rows).encode(),
            }
            for name, content in files.items():
                info = tarfile.TarInfo(f"{folder.name}/{name}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))


if __name__ == "__main__":
    main()
