"""Saved facts of a small kernel of 7.2's kind that has its code as well: some functions of each sort, one call."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from tests.probes_data import _files

TEXT = 0xFFFFFFFF81000000
MOVED = 0x13600000
"""Bytes by which the kernel of `save_with_lines` stands elsewhere than it was linked (KASLR)."""
SYMBOLS = {"_stext": 0, "ksys_write": 0x100, "vfs_write": 0x200, "twin": 0x300, "do_readv": 0x400, "vfs_read": 0x600}
SECOND_TWIN = TEXT + 0x500
TRACEABLE = ("ksys_write", "vfs_read", "twin", "twin", "do_sys_open.isra.0")


def save(folder: Path) -> Path:
    """Write it into a folder, and give that back."""
    lines = [f"{TEXT + at:x} T {name}" for name, at in SYMBOLS.items()]
    lines += [f"{SECOND_TWIN:x} t twin", f"{TEXT + 0x1000:x} T _etext"]
    files = _files("7.2")
    (folder / "kallsyms").write_text("\n".join(lines) + "\n")
    (folder / "kcore").write_bytes(_kcore())
    (folder / "available_filter_functions").write_text("\n".join(TRACEABLE) + "\n")
    (folder / "README").write_bytes(files["README"])
    (folder / "uname").write_text("Linux box 7.2.0 #1 SMP x86_64 GNU/Linux")
    (folder / "vmlinux.btf").write_bytes(files["btf"])
    return folder


def save_with_lines(folder: Path, vmlinux: Path) -> Path:
    """Write one whose code is that of a file with debug information, at other addresses than those in it.

    `_stext` stands where .text begins.
    """
    save(folder)
    with vmlinux.open("rb") as file:
        elf: Any = ELFFile(file)
        text = elf.get_section_by_name(".text")
        code, start = text.data(), text["sh_addr"]
        notes = b"".join(section.data() for section in elf.iter_sections("SHT_NOTE"))
        functions = {
            one.name: one["st_value"] - start
            for one in elf.get_section_by_name(".symtab").iter_symbols()
            if one["st_info"]["type"] == "STT_FUNC"
        }
    moved = TEXT + MOVED
    lines = [f"{moved + at:x} T {name}" for name, at in {"_stext": 0, **functions}.items()]
    (folder / "kallsyms").write_text("\n".join([*lines, f"{moved + 0x1000:x} T _etext"]) + "\n")
    (folder / "kcore").write_bytes(core_file({moved: code.ljust(0x1000, b"\xcc")}))
    (folder / "available_filter_functions").write_text("\n".join(functions) + "\n")
    (folder / "notes").write_bytes(notes)
    return folder


def _kcore() -> bytes:
    """A core with one stretch of code, in which ksys_write calls vfs_write."""
    code = bytearray(b"\x90" * 0x1000)
    code[0x120:0x125] = b"\xe8" + struct.pack("<i", 0x200 - 0x125)
    return core_file({TEXT: bytes(code)})


def core_file(segments: dict[int, bytes]) -> bytes:
    """An ELF core with stretches of memory by their addresses, as /proc/kcore is."""
    count, at, table = len(segments), 64 + 56 * len(segments), b""
    for address, data in segments.items():
        table += struct.pack("<2I6Q", 1, 7, at, address, 0, len(data), len(data), 4096)
        at += len(data)
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<2HI3QI6H", 4, 62, 1, 0, 64, 0, 0, 64, 56, count, 0, 0, 0)
    return head + table + b"".join(segments.values())
