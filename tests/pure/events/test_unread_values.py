"""A value behind a pointer that is NULL, or an error, was not read: tracefs leaves the bytes of an older record."""

from __future__ import annotations

import itertools
import struct

import pytest

from events.aggregates.aggregate import Aggregate
from events.aggregates.event_columns import EventColumns
from events.aggregates.request import AggregateRequest
from events.batch import Batch, Chunk
from events.decode import Decoder, Value
from events.format import HeaderPage, parse_format
from events.names.kernel_text import kernel_text
from events.store.store import Store
from events.summary.summary import Summary
from tests.events_data import entry, event, page

FORMAT = """name: read
ID: 9
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:unsigned long __probe_ip;	offset:8;	size:8;	signed:0;
	field:{sign}64 file;	offset:16;	size:8;	signed:{signed};
	field:u64 inode;	offset:24;	size:8;	signed:0;
	field:u32 ino;	offset:32;	size:4;	signed:0;
	field:u8 bytes[4];	offset:36;	size:4;	signed:0;

print fmt: "(%lx) file={spec} inode=0x%Lx ino=%u bytes={{%u,%u,%u,%u}}", REC->__probe_ip, REC->file, REC->inode, \
REC->ino, REC->bytes[0], REC->bytes[1], REC->bytes[2], REC->bytes[3]
"""
OBJECT = 0xFFFF_8880_0123_4000
POINTERS = {
    0: False,
    16: False,
    4095: False,
    4096: True,
    OBJECT: True,
    2**64 - 4097: True,
    2**64 - 4095: False,
    2**64 - 2: False,
}
"""True for those through which the kernel can have read, by address."""


@pytest.mark.parametrize(("sign", "signed", "spec"), [("x", 0, "0x%Lx"), ("s", 1, "%Ld")])
def test_records_columns_and_texts_have_no_value_behind_a_pointer_to_nothing(
    sign: str, signed: int, spec: str
) -> None:
    header = HeaderPage()
    fmt = parse_format(FORMAT.format(sign=sign, signed=signed, spec=spec), "pw").with_pointers(
        {"inode": ("file",), "ino": ("file", "inode"), "bytes": ("inode", "bytes", "absent")}
    )
    pairs = [(file, inode) for file in POINTERS for inode in POINTERS]
    records = [
        entry(9, 7, struct.pack("<QQQI4B", 0xFFFF_FFFF_8100_0000, file, inode, 77, 1, 2, 3, 4))
        for file, inode in pairs
    ]
    pages, texts = (Store(Decoder({9: fmt}, header), 1 << 30) for _ in range(2))
    pages.feed(Batch((Chunk(0, page(1000, b"".join(event(one, 5) for one in records), header)),), drained=True))
    plain = Decoder({9: parse_format(fmt.source, "pw")}, header)
    printed = Store(plain, 1 << 30)
    printed.feed(Batch((Chunk(0, page(1000, b"".join(event(one, 5) for one in records), header)),), drained=True))
    printed.flush()
    lines = [
        f"{'sh':>16}-7       [000] ..... {one.ts / 1e9:.6f}: {kernel_text(one)}\n"
        for one in map(printed.record, range(len(printed)))
    ]
    texts.feed(Batch((Chunk(-1, "".join(lines).encode(), text=True),), drained=True))
    for store in (pages, texts):
        store.flush()
        assert len(store) == len(pairs)
        for row, (file, inode) in enumerate(pairs):
            values = store.record(row).values
            assert values["inode"] == (inode if POINTERS[file] else None)
            has_inode = POINTERS[file] and POINTERS[inode]
            assert values["ino"] == (77 if has_inode else None)
            assert values["bytes"] == ((1, 2, 3, 4) if POINTERS[inode] else None)
    (table,) = pages.columns(0, pages.next_seq).tables.values()
    fields = {field.name: field for field in table.layout.format.fields}
    for name in ("file", "inode", "ino"):
        column = table.column(fields[name])
        absent = [False] * len(pairs) if column.missing is None else column.missing.tolist()
        found = [None if no else value for value, no in zip(column.values.tolist(), absent, strict=True)]
        assert found == [pages.record(row).values[name] for row in range(len(pairs))]
    for name in ("file", "inode", "ino", "bytes"):
        assert grouped(pages, name) == grouped(texts, name)
        assert counted(pages, name) == counted(texts, name)


def grouped(store: Store, name: str) -> tuple[dict[Value, int], int]:
    """Return the rows of a table by a field, and the number of events that no row is of."""
    found = Aggregate(store, AggregateRequest((name,)), lambda _: EventColumns())
    while found.backlog:
        found.tick()
    rows = {found.keys_of(n)[0].value: int(found.groups.counts[n]) for n in range(1, len(found.groups))}
    unread = sum(store.record(row).values[name] is None for row in range(len(store)))
    assert found.left_out == (0 if name == "bytes" else unread) and (name == "bytes" or None not in rows)
    return rows, found.left_out


def counted(store: Store, name: str) -> dict[Value, int]:
    """Return the values of a field in a summary."""
    found = Summary(store)
    found.choose("pw/read", name)
    found.tick(60)
    assert found.values is not None
    return {top.value: top.hits for top in found.values.of_boot(0).top(1000)}


TEXTS = """name: texts
ID: 10
format:
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:unsigned long __probe_ip;	offset:8;	size:8;	signed:0;
{}
print fmt: "(%lx)", REC->__probe_ip
"""
FIELD = "\tfield:__data_loc char[] {};\toffset:{};\tsize:4;\tsigned:0;\n"


def stored(texts: tuple[bytes | None, ...]) -> bytes:
    """Return a record as store_trace_args() makes it; None: the pointers to the text can't be followed."""
    begin = 16 + 4 * len(texts)
    room = sum(len(text) + 1 for text in texts if text is not None)
    places, data = b"", b""
    for text in texts:
        place = (room - len(data)) << 16 | begin + len(data)
        if text is not None:
            place = (len(text) + 1) << 16 | begin + len(data)
            data += text + b"\0"
        places += place.to_bytes(4, "little")
    return bytes(8) + places + data


def test_a_text_that_could_not_be_read_is_not_the_next_one() -> None:
    header, names = HeaderPage(), ("a", "b", "c", "d")
    lines = "".join(FIELD.format(name, 16 + 4 * number) for number, name in enumerate(names))
    fmt = parse_format(TEXTS.format(lines), "pw")
    every = list(itertools.product((None, b"", b"x", b"same", b"same"), repeat=len(names)))
    store = Store(Decoder({10: fmt}, header), 1 << 30)
    for number, texts in enumerate(every):
        chunk = Chunk(0, page(1000 + number * 100, event(entry(10, 7, stored(texts)), 5), header))
        store.feed(Batch((chunk,), drained=True))
    store.flush()
    assert len(store) == len(every)
    (table,) = store.columns(0, store.next_seq).tables.values()
    fields = {field.name: field for field in table.layout.format.fields}
    columns = {name: table.string_bytes(fields[name]) for name in names}
    for row, texts in enumerate(every):
        found = store.record(row).values
        assert [found[name] for name in names] == [None if text is None else text.decode() for text in texts]
        for name, text in zip(names, texts, strict=True):
            data, begins, missing = columns[name]
            assert missing[row] == (text is None)
            if text is not None:
                assert data[begins[row] : data.index(0, begins[row])] == text


def test_programs_tell_themselves_and_a_field_that_is_no_address_is_no_pointer() -> None:
    fmt = parse_format(FORMAT.format(sign="x", signed=0, spec="0x%Lx"), "pw")
    assert fmt.with_pointers({"inode": ("bytes", "nothing")}) is fmt
    faults = "\tfield:u32 common_faults;\toffset:40;\tsize:4;\tsigned:0;\n\nprint fmt"
    told = parse_format(FORMAT.format(sign="x", signed=0, spec="0x%Lx").replace("\nprint fmt", faults), "pw")
    assert told.with_pointers({"inode": ("file",)}) is told
