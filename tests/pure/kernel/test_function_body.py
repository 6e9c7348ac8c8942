"""A function's code as the memory of a kernel has it: tables of its own places, kprobes that stand in it."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from btf.btf import Btf
from btf.kinds import Kind
from btf.layout import find_field
from btf.walk import size_of
from foreign.refusal import InputRefusal
from kernel.attach.explain import AttachExplainer
from kernel.attach.function_body import BodyReader
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target
from probes.code.body import FunctionBody, InstructionKind
from probes.code.rows import code_rows, summary_text
from probes.code.ways_out import ways_out_text
from tests.probes_data import _files
from tests.small_kernel import TEXT, core_file, save

DATA = TEXT + 0x100000
TABLES = {
    "__start___jump_table": 0,
    "__stop___jump_table": 16,
    "__start_static_call_sites": 0x40,
    "__stop_static_call_sites": 0x48,
    "__start___bug_table": 0x80,
    "kprobe_table": 0x400,
    "_end": 0x2000,
}
CODE = bytes.fromhex(
    "0f1f440000"  # +0 ftrace
    "0f1f440000"  # +5 a static branch
    "e8f1000000"  # +a a call
    "0f0b"  # +f a trap
    "4889f8"  # +11
    "0f8466ffffff"  # +14 to the cold part
    "e9e1010000"  # +1a a tail call
    "c3cc"  # +1f
)
COLD = bytes.fromhex("90e914000000")


def layouts() -> tuple[Btf, int]:
    btf = Btf.load(_files("7.2")["btf"])
    bug = btf.find("bug_entry", Kind.STRUCT)
    assert bug is not None
    return btf, size_of(btf, bug)


def memory(kprobes: dict[int, bytes]) -> dict[int, bytes]:
    """Code at `ksys_write`, tables, and kprobes by their offset with what each replaced: five bytes by a jump."""
    btf, bug_size = layouts()
    start = TEXT + 0x100
    code = bytearray(b"\xcc" * 0x1000)
    code[0x100 : 0x100 + len(CODE)] = CODE
    code[0x80 : 0x80 + len(COLD)] = COLD
    data = bytearray(0x2000)
    struct.pack_into("<i", data, 0, start + 5 - DATA)
    struct.pack_into("<i", data, 0x40, start + 0xA - DATA - 0x40)
    struct.pack_into("<i", data, 0x80, start + 0xF - DATA - 0x80)
    kprobe = btf.find("kprobe", Kind.STRUCT)
    assert kprobe is not None and bug_size >= 4
    at = {name: find_field(btf, kprobe, name).bit_offset // 8 for name in ("hlist", "addr", "opcode", "flags")}
    node = 0x800
    for number, (offset, replaced) in enumerate(kprobes.items()):
        struct.pack_into("<Q", data, 0x400 + 8 * number, DATA + node + at["hlist"])
        struct.pack_into("<Q", data, node + at["addr"], start + offset)
        data[node + at["opcode"] : node + at["opcode"] + 1] = replaced[:1]
        code[0x100 + offset] = 0xCC
        if len(replaced) > 1:
            behind = node + size_of(btf, kprobe) + 16
            struct.pack_into("<4s4xQ", data, behind, replaced[1:], start + offset + 5 + 0x1000)
            code[0x100 + offset : 0x105 + offset] = b"\xe9" + struct.pack("<i", 0x1000)
        node += 0x200
    return {TEXT: bytes(code), DATA: bytes(data)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(tmp_path)
    _, bug_size = layouts()
    symbols = {**TABLES, "__stop___bug_table": 0x80 + bug_size}
    lines = [f"{DATA + at:x} D {name}" for name, at in symbols.items()]
    text = (tmp_path / "kallsyms").read_text()
    (tmp_path / "kallsyms").write_text(
        f"{text}{TEXT + 0x80:x} t ksys_write.cold\n{TEXT + 0xF00:x} T kprobe_ftrace_handler\n"
        + "\n".join(lines)
        + "\n"
    )
    return tmp_path


def body(folder: Path, kprobes: dict[int, bytes], name: str = "ksys_write") -> FunctionBody:
    (folder / "kcore").write_bytes(core_file(memory(kprobes)))
    info = KernelInfo(open_target(str(folder)))
    [found] = BodyReader(info, AttachExplainer(info).attachability).bodies(name)
    return found


def test_targets_and_places_are_named(folder: Path) -> None:
    found = body(folder, {})
    assert (found.refusal, found.notes) == ("", ())
    assert [(part.name, part.size) for part in found.parts] == [("ksys_write", 0x20), ("ksys_write.cold", 6)]
    rows = {row.place: (row.text, row.takes_kprobe, row.note) for row in code_rows(found)}
    assert rows["+0xa"] == ("callq vfs_write", False, "no kprobe: a static call, which the kernel patches")
    assert rows["+0x5"][1:] == (False, "no kprobe: a static branch (jump label), which the kernel patches")
    assert rows["+0xf"][1:] == (False, "no kprobe: the trap of a BUG() or WARN()")
    assert rows["+0x11"] == ("movq %rdi, %rax", True, "")
    assert rows["+0x1a"] == ("jmp twin", True, "tail call")
    assert rows["+0x1f"] == ("retq", True, "return")
    kinds = {part.name + f"{one.offset:+#x}": one.kind for part, one in found.instructions()}
    assert kinds["ksys_write+0x14"] is InstructionKind.JUMP
    assert found.parts[1].place_at(1) == "ksys_write.cold+0x1"
    assert found.parts[0].place_at(0) == "ksys_write"
    assert ways_out_text(found) == "1 of 2 ways out return (+0x1f); +0x1a jumps to twin"
    assert summary_text(found) == "38 bytes, 10 instructions, 7 take a kprobe"


def test_kprobes_hide_nothing(folder: Path) -> None:
    assert body(folder, {0x11: b"\x48", 0x14: b"\x0f", 0x1F: b"\xc3"}) == body(folder, {})
    assert body(folder, {0x11: b"\x48", 0x1A: CODE[0x1A:0x1F]}) == body(folder, {}), "one of them is optimised"


def test_each_twin_has_its_own_places(folder: Path) -> None:
    (folder / "kcore").write_bytes(core_file(memory({})))
    info = KernelInfo(open_target(str(folder)))
    bodies = BodyReader(info, AttachExplainer(info).attachability).bodies("twin")
    # No `_text` is known here, so that an address alone tells them apart.
    assert len({found.parts[0].place_at(0) for found in bodies}) == len(bodies) == 2


def test_what_can_not_be_read_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: str = "vfs_read") -> str:
        info = KernelInfo(open_target(str(folder)))
        with pytest.raises(InputRefusal) as caught:
            BodyReader(info, AttachExplainer(info).attachability).bodies(name)
        return str(caught.value)

    (folder / "kcore").unlink()
    assert "they have no file kcore" in refused()
    (folder / "kcore").write_bytes(b"no ELF")
    assert "can't be read" in refused()
    (folder / "kcore").write_bytes(core_file({DATA: bytes(16)}))
    assert "not in the kernel's memory" in refused()
    assert refused("nothing").startswith("nothing: no function")
    monkeypatch.setitem(sys.modules, "capstone", None)
    assert "the extra `code`" in refused()
