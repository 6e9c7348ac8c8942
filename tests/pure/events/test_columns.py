"""Columns hold what records hold, for every width, sign and byte order, and of every real capture."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.decode import Decoder, text_of
from events.format import HeaderPage, parse_format
from events.store.columns import is_number, is_string
from events.store.store import Store
from tests.events_data import KERNELS, SETS, captured, entry, event, page, store_of, u32, word

FIELDS = [("s8", 1, 1), ("u8", 1, 0), ("bool", 1, 0), ("s16", 2, 1), ("u16", 2, 0), ("s32", 4, 1), ("u32", 4, 0)]
FIELDS += [("s64", 8, 1), ("u64", 8, 0), ("u16", 2, 0), ("__data_loc char[]", 4, 0), ("char[3]", 3, 0)]


def format_text() -> str:
    """Fields of all widths, most of them at odd places."""
    lines, at = [], 8
    for number, (kind, size, signed) in enumerate(FIELDS):
        base, bracket, dims = kind.partition("[") if kind.startswith("char") else (kind, "", "")
        lines.append(f"\tfield:{base} f{number}{bracket}{dims};\toffset:{at};\tsize:{size};\tsigned:{signed};")
        at += size
    common = "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;"
    return "name: ev\nID: 700\nformat:\n" + common + "\n\n" + "\n".join(lines) + '\n\nprint fmt: ""\n'


EV = parse_format(format_text(), "grp")


def compare(store: Store, start: int, stop: int) -> int:
    """Each table against the records of its rows; gives the number of rows."""
    columns = store.columns(start, stop)
    seen = []
    for number, table in columns.tables.items():
        records = [store.record(seq) for seq in table.seqs.tolist()]
        seen += table.seqs.tolist()
        assert [(r.ts, r.cpu, r.pid) for r in records] == list(
            zip(table.stamps.tolist(), table.cpus.tolist(), table.pids.tolist(), strict=True)
        )
        assert table.layout.format is store.decoder.formats[number]
        for field in table.layout.format.fields:
            expected = [record.values[field.name] for record in records]
            assert table.values(field) == expected
            if is_number(field):
                values, missing = table.column(field)
                assert [v if v is not None else 0 for v in expected] == values.tolist()
                assert (missing.tolist() if missing is not None else [False] * len(expected)) == [
                    value is None for value in expected
                ]
            if is_string(field):
                found = table.string_bytes(field)
                ends = [*found.begins[1:].tolist(), len(found.data)]
                parts = [found.data[a:b] for a, b in zip(found.begins.tolist(), ends, strict=True)]
                texts = [None if gone else text_of(p) for p, gone in zip(parts, found.missing.tolist(), strict=True)]
                assert texts == expected
    there = [seq for seq, is_text in enumerate(columns.is_text.tolist(), columns.first) if not is_text]
    assert sorted(seen) == there
    assert len(columns) == max(0, min(stop, store.next_seq) - max(start, store.first_seq))
    return len(seen)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", SETS)
def test_columns_of_real_events(kernel, name):
    taken = captured(kernel, name)
    store = store_of(taken.decoder, taken.raw)
    assert compare(store, 0, store.next_seq) > 100
    assert compare(store, 7, 60) == 53
    assert compare(store, store.next_seq, store.next_seq + 5) == 0


@settings(max_examples=100)
@given(st.data(), st.sampled_from(["little", "big"]))
def test_columns_of_made_events(data, order):
    """In several slabs, also of text, with times that go back: rows are not in the order of the bytes."""
    header = HeaderPage(order)
    store = Store(Decoder({700: EV}, header))
    for number in range(data.draw(st.integers(1, 3))):
        chunks = []
        for cpu in range(data.draw(st.integers(1, 3))):
            made = b""
            for n in range(data.draw(st.integers(1, 6))):
                content = data.draw(st.binary(max_size=150))
                made += (
                    word(31, data.draw(st.integers(0, 9)), order) + u32(0, order) if data.draw(st.booleans()) else b""
                )
                made += event(entry(700, cpu * 10 + n, content, order), 5, order, data.draw(st.booleans()))
            chunks.append(Chunk(cpu, page(cpu, made, header)))
        text = f"  task-1  [000] d... 0.00000{number}: ev: (0)\n".encode()
        store.feed(Batch((*chunks, Chunk(-1, text, text=True)), True))
    store.flush()
    assert store.columns(0, store.next_seq).is_text.any()
    assert compare(store, 0, store.next_seq) > 0
    start = data.draw(st.integers(0, store.next_seq))
    compare(store, start, data.draw(st.integers(start, store.next_seq)))


def test_only_the_bytes_of_the_rows_are_gathered():
    taken = captured("7.2", "my")
    store = store_of(taken.decoder, taken.raw)
    assert len(store.columns(20, 30).data) < 20 * 60
    assert len(store.columns(0, store.next_seq).data) <= sum(map(len, taken.raw.values()))


def test_text_is_in_no_table():
    taken = captured("7.2", "my")
    store = Store(taken.decoder)
    line = ("\n".join(taken.text[0][:3]) + "\n").encode()
    store.feed(Batch((Chunk(-1, line, text=True),), True))
    store.feed(Batch((Chunk(0, taken.raw[0]),), True))
    store.flush()
    columns = store.columns(0, store.next_seq)
    assert columns.is_text.tolist() == [True] * 3 + [False] * (len(store) - 3)
    assert sum(len(table.seqs) for table in columns.tables.values()) == len(store) - 3


def test_rows_by_time():
    taken = captured("7.2", "mixed")
    store = store_of(taken.decoder, taken.raw, 60_000)
    stamps = [store.row(seq).ts for seq in range(store.first_seq, store.next_seq)]
    for ts in (0, stamps[0], stamps[0] + 1, stamps[len(stamps) // 2], stamps[-1], stamps[-1] + 1):
        assert store.at_time(ts) - store.first_seq == sum(stamp < ts for stamp in stamps)
