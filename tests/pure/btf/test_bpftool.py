"""Everything that `btf/` reads, against bpftool: a whole kernel, a module on it, both byte orders, this machine's."""

import json
import os
import shutil
from functools import cache

import pytest

from btf.btf import Btf
from btf.elf import read_elf
from btf.kinds import Kind
from tests import oracle_btf
from tests.btf_writer import Writer, every_kind, stored, swapped

pytestmark = pytest.mark.skipif(shutil.which("bpftool") is None, reason="no bpftool here")
HERE = "/sys/kernel/btf/vmlinux"
KERNEL = cache(lambda: stored("btf-7.2"))


def test_a_whole_kernel():
    assert oracle_btf.compare(KERNEL()) == []


@pytest.mark.matrix  # as a whole kernel, which is in each run
@pytest.mark.skipif(not os.path.exists(HERE), reason="this kernel has no BTF")
def test_this_machine():
    with open(HERE, "rb") as file:
        assert oracle_btf.compare(file.read()) == []


def test_a_module_on_its_kernel():
    found = read_elf(stored("btf-7.2-net_failover.ko"))
    assert found.split
    assert oracle_btf.compare(found.data, KERNEL()) == []
    module = Btf.load(found.data, Btf.load(KERNEL()))
    assert "net_failover_create" in module.functions
    assert "vfs_read" not in module.functions
    assert module.function("vfs_read") is not None


def test_the_other_byte_order():
    """A big-endian kernel: bpftool reads it too, and we read the same as from the original."""
    ours, original = Btf.load(swapped(KERNEL())), Btf.load(KERNEL())
    assert (ours.byteorder, original.byteorder) == ("big", "little")
    assert ours.functions == original.functions
    assert all(ours.type(i) == original.type(i) for i in range(len(original)))
    module = stored("btf-7.2-net_failover.ko")
    assert oracle_btf.compare(swapped(read_elf(module).data), swapped(KERNEL())) == []


@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_every_kind(byteorder):
    data = every_kind(byteorder)
    assert {Btf.load(data).kind(i) for i in range(len(Btf.load(data)))} == set(Kind)
    assert oracle_btf.compare(data) == []


def test_split_names_and_ids_go_on_where_the_base_ends():
    base = every_kind()
    below = Btf.load(base)
    writer = Writer(first_id=len(below), first_string=below.strings_end)
    record = below.find("record", Kind.STRUCT)
    assert record is not None
    own = writer.add(Kind.STRUCT, "own", 80, [("record", record, 0), ("more", 1, 576)])
    pointer = writer.add(Kind.PTR, last=own)
    proto = writer.add(Kind.FUNC_PROTO, last=1, rows=[("own", pointer)])
    writer.add(Kind.FUNC, "own_read", proto)
    assert oracle_btf.compare(writer.data(), base) == []
    b = Btf.load(writer.data(), below)
    assert b.functions == ["own_read"]
    assert b.find("own") == own
    assert b.find("record") == record
    assert b.start_id == len(below)


def test_the_judge_sees_a_wrong_bit():
    """An oracle that can't disagree is none: each of its parts notices one bit that differs."""
    data = bytearray(every_kind())
    b = Btf.load(bytes(data))
    theirs = json.loads(oracle_btf.bpftool(every_kind(), as_json=True))["types"]
    record = b.find("record", Kind.STRUCT)
    assert record is not None
    third_member = b.offset(record) + 12 + 2 * 12
    data[third_member + 8] ^= 8
    wrong = Btf.load(bytes(data))
    assert len(list(oracle_btf.compare_types(wrong, theirs))) == 1
    assert any("STRUCT" in d for d in oracle_btf.compare_layouts(wrong, {t["id"]: t for t in theirs}))
    read = b.function("record_read")
    assert read is not None
    at = b.offset(b.prototype(read).id) + 8
    data[at : at + 4] = (0).to_bytes(4, "little")
    wrong = Btf.load(bytes(data))
    assert oracle_btf.compare_prototypes(wrong, every_kind(), None)
