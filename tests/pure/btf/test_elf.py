"""BTF out of ELF files: a real module, and files put together by hand in both classes and byte orders."""

import struct
import zlib

import pytest

from btf.btf import Btf
from btf.elf import is_split, read_elf
from btf.errors import BtfError
from tests.btf_writer import every_kind, stored


def elf(sections: dict[str, bytes], *, bits: int = 64, order: str = "<", flags: int = 0, **lie: int) -> bytes:
    """An ELF file with these sections; `lie` overwrites fields of its header or `size`, the sh_size of the first."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*sections, ".shstrtab"))
    address = "Q" if bits == 64 else "I"
    header_size = 64 if bits == 64 else 52
    body, rows, at = b"", [(0, 0, 0, 0, 0, 0)], header_size
    for name, content in {**sections, ".shstrtab": names}.items():
        kind = 3 if name == ".shstrtab" else 1
        length = lie.get("size", len(content)) if kind == 1 else len(content)
        rows.append((names.index(f"\0{name}\0".encode()) + 1, kind, flags if kind == 1 else 0, 0, at, length))
        body += content
        at += len(content)
    layout = f"{order}II{address}{address}{address}{address}II{address}{address}"
    headers = b"".join(struct.pack(layout, *row, 0, 0, 1, 0) for row in rows)
    fields = {"shoff": at, "shentsize": struct.calcsize(layout), "shnum": len(rows), "shstrndx": len(rows) - 1} | lie
    ident = b"\x7fELF" + bytes([2 if bits == 64 else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    numbers = (1, 62, 1, 0, 0, fields["shoff"], 0, header_size, 0, 0)
    tail = (fields["shentsize"], fields["shnum"], fields["shstrndx"])
    return ident + struct.pack(f"{order}HHI{address}{address}{address}IHHHHHH", *numbers, *tail) + body + headers


def test_a_real_module(tmp_path):
    data = stored("btf-7.2-net_failover.ko")
    path = tmp_path / "net_failover.ko"
    path.write_bytes(data)
    found = read_elf(data)
    assert found == read_elf(str(path)) == read_elf(path)
    assert found.split
    assert found.base is None
    b = Btf.load(found.data, Btf.load(stored("btf-7.2")))
    assert "net_failover_xmit_ready" in b.functions


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("order", "name"), [("<", "little"), (">", "big")])
def test_both_classes_and_byte_orders(bits, order, name):
    data = every_kind("little" if name == "little" else "big")
    found = read_elf(elf({".text": b"code", ".BTF": data, ".BTF.ext": b"no"}, bits=bits, order=order))
    assert (found.data, found.split) == (data, False)
    assert Btf.load(found.data).byteorder == name


def test_a_module_that_brings_its_base():
    found = read_elf(elf({".BTF.base": every_kind(), ".BTF": b"split"}))
    assert found == (b"split", every_kind())
    assert found.split


def test_compressed():
    data = every_kind()
    chdr = struct.pack("<IIQQ", 1, 0, len(data), 1)
    assert read_elf(elf({".BTF": chdr + zlib.compress(data)}, flags=0x800)).data == data
    bomb = struct.pack("<IIQQ", 1, 0, 1 << 40, 1) + zlib.compress(bytes(1 << 20))
    for broken in (bomb, chdr + b"no zlib at all", chdr[:10], struct.pack("<IIQQ", 7, 0, 9, 1)):
        with pytest.raises(BtfError):
            read_elf(elf({".BTF": broken}, flags=0x800))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x7fELF",
        every_kind(),
        elf({".text": b"code"}),
        elf({".BTF": b"x"}, size=1 << 62),
        elf({".BTF": b"x"}, shoff=1 << 60),
        elf({".BTF": b"x"}, shentsize=0),
        elf({".BTF": b"x"}, shnum=60_000),
        elf({".BTF": b"x"}, shstrndx=9),
        elf({".BTF": b"x"}, shoff=0),
        elf({".BTF": b"x"}, shnum=0, size=1 << 62),
        elf({".BTF": every_kind()})[:-100],
    ],
)
def test_no_elf_or_a_damaged_one(data):
    with pytest.raises(BtfError):
        read_elf(data)


def test_a_path_that_is_not_there():
    with pytest.raises(FileNotFoundError):
        read_elf("/no/such/vmlinux")


def test_is_split():
    assert not is_split(every_kind())
    assert is_split(read_elf(stored("btf-7.2-net_failover.ko")).data)
    with pytest.raises(BtfError):
        is_split(b"nothing")
