"""Addresses in cells of events, and the structures that the types of their fields lead to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from btf.btf import Btf
from btf.types import FuncProto
from events.record import Record
from probes.lowering.sources.watched_field import pointed_structure
from tests.btf_writer import stored
from tui.views.events.clauses import kernel_address_of
from widgets.events.event_rows import EventColumn


def record(value: object) -> Record:
    return cast("Record", SimpleNamespace(values={"file": value}))


@pytest.mark.parametrize(
    ("value", "address"),
    [
        (0xFFFF888000001000, 0xFFFF888000001000),
        (0xFFFF888000001000 - (1 << 64), 0xFFFF888000001000),  # as a signed field has it
        (0xFF11000000001000, 0xFF11000000001000),
        (0x7FFFF7A00000, None),
        ((1 << 64) - 22, None),  # an error in place of a pointer
        (-1, None),
        (0, None),
        (True, None),
        ("0xffff888000001000", None),
    ],
)
def test_addresses_of_the_kernel(value: object, address: int | None) -> None:
    assert kernel_address_of(record(value), EventColumn("file")) == address
    assert kernel_address_of(record(value), EventColumn("file", of_all=True)) is None


def test_the_structure_behind_a_pointer() -> None:
    btf = Btf.load(stored("btf-7.2"))
    function = btf.function("vfs_read")
    assert function is not None
    prototype: FuncProto = btf.prototype(function)
    names = [pointed_structure(btf, param.type_id) for param in prototype.params]
    assert names == ["file", "", "", ""]
    assert pointed_structure(btf, None) == pointed_structure(None, 1) == ""
