"""JSON lines, CSV and Parquet, read back by json, csv and pyarrow: nothing lost, nothing added."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import unicodedata
from decimal import Decimal

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.export.catalogue import EVENT_FORMATS, FORMATS, format_named, format_of_file
from events.export.escape import unescape_text
from events.export.formats import parquet
from events.export.formats.csv_table import HEADS, LINE_BEGINS, CsvTable, cell, column_names
from events.export.formats.json_lines import JsonLines
from events.export.formats.parquet import NoPyarrow, ParquetTable
from events.export.job import Job, writer_of
from events.export.source import ExportSource, ProbeNote
from events.record import Record
from tests.events_data import captured, store_of
from tests.pure.export_events import format_of, record_of

HOSTILE = st.one_of(
    st.binary(max_size=40).filter(lambda raw: 0 not in raw),
    st.sampled_from(
        (b"=1+1", b"'=x", b"''", b'",\r\n"', b"a\nb", b"\x1b[2J", b"\\xff", b"\xff", b"-1", b"@x", "ü→".encode())
    ),
)
FIELDS = {"big": "u64", "low": "s64", "name": "string", "list": "u32[3]", "ts": "u32"}
VALUES = st.fixed_dictionaries(
    {
        "big": st.integers(0, 2**64 - 1),
        "low": st.integers(-(2**63), 2**63 - 1),
        "name": st.one_of(st.none(), HOSTILE),
        "list": st.tuples(*[st.integers(0, 2**32 - 1)] * 3),
        "ts": st.integers(0, 2**32 - 1),
    }
)
FORMAT = format_of(FIELDS)
SOURCE = ExportSource(formats=(FORMAT,), title="a kernel")


def written(writer_class, source: ExportSource, records: list[Record]) -> bytes:
    out = io.BytesIO()
    writer = writer_class(source, out)
    for record in records:
        writer.take(record)
    writer.finish()
    assert writer.notes == ()
    return out.getvalue()


def made(rows) -> list[Record]:
    return [record_of(row, fmt=FORMAT, seq=seq, ts=10**18 + seq) for seq, row in enumerate(rows)]


def as_given(text: str | None) -> bytes | None:
    return None if text is None else unescape_text(text)


@given(st.lists(VALUES, max_size=5))
def test_json_lines_are_read_back(rows):
    data = written(JsonLines, SOURCE, made(rows))
    assert data.isascii()
    assert not set(data) & (set(range(32)) - {10})  # no control character may reach a terminal
    found = [json.loads(line) for line in data.splitlines()]
    assert len(found) == len(rows)
    for seq, (one, row) in enumerate(zip(found, rows, strict=True)):
        head = (str(10**18 + seq), 1, 7, "head", "g/ev")
        assert (one["ts"], one["cpu"], one["pid"], one["comm"], one["event"]) == head
        values = one["values"]
        for name in ("big", "low"):
            large = abs(row[name]) >= 2**53
            assert values[name] == (str(row[name]) if large else row[name])
        assert tuple(values["list"]) == row["list"]
        assert as_given(values["name"]) == row["name"]


IS_NUMBER = re.compile(r"[-+][0-9][0-9.,e+-]*[ a-zµ%]{0,4}")
"""Looser than the writer's: such a text calls nothing, and refers to nothing."""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        *(
            (text, True)
            for text in ("-ENOENT", "-E2BIG", "-ERESTARTSYS", "-5", "+12.5 %", "-1,234", "-1.5e-3", "-2 us")
        ),
        *(
            (text, False)
            for text in ("-EVIL", "-A1", "-ENOENT()", "-5+1", "-1+A1", "-5\n=1", "-", "+cmd", "@SUM", "=-5")
        ),
    ],
)
def test_only_what_can_do_nothing_in_a_spreadsheet_is_left_as_it_is(text, kept):
    assert cell(text) == ('"' if kept else "\"'") + text.replace("\n=", "\n'=") + '"'


@given(st.lists(VALUES, max_size=5))
def test_csv_is_read_back_and_no_string_is_a_formula(rows):
    data = written(CsvTable, SOURCE, made(rows)).decode()
    head, *found = csv.reader(io.StringIO(data, newline=""), strict=True)
    assert head == [*HEADS, "big", "low", "name", "list", "ts_"]
    assert len(found) == len(rows)
    for seq, (cells, row) in enumerate(zip(found, rows, strict=True)):
        one = dict(zip(head, cells, strict=True))
        assert (one["ts"], one["ts_"], one["event"]) == (str(10**18 + seq), str(row["ts"]), "g/ev")
        assert (int(one["big"]), int(one["low"])) == (row["big"], row["low"])
        assert one["list"] == "{" + ",".join(map(str, row["list"])) + "}"
        assert not one["name"].startswith(("=", "+", "-", "@", "\t", "\r")) or IS_NUMBER.fullmatch(one["name"])
        assert unescape_text(re.sub(rf"{LINE_BEGINS}'", "", one["name"])) == (row["name"] or b"")


@pytest.mark.parametrize(
    "sign", ["=", "+", "-", "@", "＝", "＋", "－", "＠", "﹦", "\t", "\r", "\t=", " =", "\u3000＝", "'="]
)
@pytest.mark.parametrize("before", ["", "a\n", "a\r", "a\r\n", "\n\n", "a\u2028", "a\x0b"])
def test_no_line_of_a_cell_begins_a_formula(sign, before):
    """What begins behind a line's end is a cell of its own to who splits lines first."""
    raw = (before + sign + "cmd|' /C calc'!A0").encode()
    record = record_of({"name": raw})
    data = written(CsvTable, ExportSource(formats=(record.format,)), [record]).decode()
    (_, (*_, found)) = csv.reader(io.StringIO(data, newline=""), strict=True)
    for line in found.splitlines():
        assert not unicodedata.normalize("NFKC", line).lstrip(" \ufeff\u200b").startswith(("=", "+", "-", "@", "\t"))
    assert re.sub(rf"{LINE_BEGINS}'", "", found).encode() == raw, "and it can be had back"


def test_csv_tells_an_empty_string_from_none():
    records = [record_of({"name": b"", "n": 1}), record_of({"name": None, "n": 2})]
    source = ExportSource(formats=(records[0].format,))
    lines = written(CsvTable, source, records).decode().split("\r\n")
    head = '12345678900,1,7,"head","g/ev"'
    assert lines[1:] == [f'{head},"",1', f"{head},,2", ""]


@given(st.lists(VALUES, max_size=5))
def test_parquet_is_read_back_by_pyarrow(rows):
    table = pyarrow.parquet.read_table(io.BytesIO(written(ParquetTable, SOURCE, made(rows))))
    kinds = {name: str(kind) for name, kind in zip(table.schema.names, table.schema.types, strict=True)}
    assert kinds == {
        "ts": "int64", "cpu": "int32", "pid": "int32", "comm": "string", "event": "string", "big": "uint64",
        "low": "int64", "name": "string", "list": "list<element: uint32>", "ts_": "uint32",
    }  # fmt: skip
    assert table.schema.metadata[b"probewright"] == b"a kernel"
    found = table.to_pylist()
    assert [one["ts"] for one in found] == [10**18 + seq for seq in range(len(rows))]
    for one, row in zip(found, rows, strict=True):
        assert (one["big"], one["low"], tuple(one["list"])) == (row["big"], row["low"], row["list"])
        assert as_given(one["name"]) == row["name"]


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("u64", "s64", "decimal128(20, 0)"),
        ("u32", "s32", "int64"),
        ("u8", "s32", "int32"),
        ("u32", "u64", "uint64"),
        ("u64", "string", "string"),
    ],
)
def test_a_field_of_two_types_has_a_column_that_holds_both(one, other, kind):
    first, second = format_of({"v": one}, "g/a", 1), format_of({"v": other}, "g/b", 2)
    values = [2 ** (8 * first.fields[0].size) - 1, b"text" if other == "string" else -5 if other[0] == "s" else 2**63]
    records = [
        record_of({"v": v}, fmt=f, seq=n) for n, (v, f) in enumerate(zip(values, (first, second), strict=True))
    ]
    table = pyarrow.parquet.read_table(
        io.BytesIO(written(ParquetTable, ExportSource(formats=(first, second)), records)), columns=["v"]
    )
    assert str(table.schema.field("v").type) == kind
    expected = [str(v.decode() if isinstance(v, bytes) else v) for v in values] if kind == "string" else values
    found = [int(v) if isinstance(v, Decimal) else v for v in table.column("v").to_pylist()]
    assert found == expected


def test_groups_of_rows_hold_every_row_once(monkeypatch):
    monkeypatch.setattr(parquet, "_PIECE", 3)
    monkeypatch.setattr(parquet, "_GROUP", 6)
    for number in (0, 1, 3, 5, 6, 7, 20):
        records = [record_of({"n": n}, seq=n) for n in range(number)]
        data = io.BytesIO(written(ParquetTable, ExportSource(formats=(format_of({"n": "u64"}),)), records))
        assert pyarrow.parquet.read_table(data).column("n").to_pylist() == list(range(number))
        assert pyarrow.parquet.read_metadata(data).num_row_groups == -(-number // 6)


def test_a_value_without_a_column_is_counted():
    unknown = record_of({"late": 5}, event="g/late")
    for writer_class in (CsvTable, ParquetTable):
        out = io.BytesIO()
        writer = writer_class(SOURCE, out)
        writer.take(unknown)
        writer.finish()
        assert writer.notes == (
            "1 values are left out: their field was not known at the start; jsonl, perfetto have all",
        )


def test_fields_that_nobody_asked_for_stay_away():
    record = record_of({"count": 4096, "sp_": 77, "more": 1})
    source = ExportSource({"g/ev": ProbeNote(omitted_fields=frozenset(("more",)), frame="sp_")}, (record.format,))
    assert written(CsvTable, source, [record]).splitlines()[0].endswith(b',"event","count"')
    table = pyarrow.parquet.read_table(io.BytesIO(written(ParquetTable, source, [record])))
    assert table.schema.names == [*HEADS, "count"]
    assert json.loads(written(JsonLines, source, [record]))["values"] == {"count": 4096, "sp_": 77}


def test_no_two_columns_are_called_the_same():
    assert column_names(("ts", "ts_", "a", "cpu"), HEADS) == ["ts__", "ts_", "a", "cpu_"]


def test_every_format_writes_the_events_of_a_kernel():
    """In steps of no time at all: what is written does not depend on when one looks at the clock."""
    taken = captured("7.2", "mixed")
    store = store_of(taken.decoder, taken.raw)
    source = ExportSource(formats=tuple(taken.decoder.formats.values()), symbols=lambda _: taken.symbols)
    lines = {"jsonl": 0, "csv": 1, "text": 0}
    for name in EVENT_FORMATS:
        form = format_named(name)
        assert form is not None
        files = []
        for budget in (0.0, 10.0):
            out = io.BytesIO()
            writer = writer_of(form, source, out)
            job = Job(store, writer)
            steps = 1
            while not job.step(budget):
                steps += 1
                assert 0 < job.done <= job.total
            assert job.done == job.written + writer.omitted == job.total == len(store) > 300
            assert bool(writer.omitted) is (name == "folded")
            assert (steps > 5) is (budget == 0.0)
            files.append(out.getvalue())
        assert files[0] == files[1]
        if name in lines:
            assert files[0].count(b"\n") == len(store) + lines[name]
        if name == "parquet":
            assert pyarrow.parquet.read_metadata(io.BytesIO(files[0])).num_rows == len(store)


def test_rows_that_a_store_drops_meanwhile_are_counted():
    taken = captured("7.2", "my")
    store = store_of(taken.decoder, taken.raw)
    out = io.BytesIO()
    job = Job(store, JsonLines(ExportSource(), out))
    assert not job.step(0.0)
    done = job.done
    store.limit_bytes = 0
    for _ in range(8):  # until the blocks that the job stands in are gone
        feed_again(store, taken.raw)
    assert store.first_seq > done
    while not job.step(10.0):
        pass
    assert job.dropped == job.total - done - (job.export_filter.number - done) > 0
    assert out.getvalue().count(b"\n") == job.export_filter.number
    assert job.notes[0] == f"{job.dropped:,} events were dropped for newer ones before they were written"


def feed_again(store, raw) -> None:
    from events.batch import Batch, Chunk

    store.feed(Batch(tuple(Chunk(cpu, data) for cpu, data in raw.items()), drained=True))
    store.flush()


def test_without_pyarrow_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    form = format_named("parquet")
    assert form is not None
    with pytest.raises(NoPyarrow, match=r"pip install 'pyarrow>=22'"):
        writer_of(form, SOURCE, io.BytesIO())


def test_a_file_name_says_its_format():
    assert [format_of_file(f"a/b{form.suffix}") for form in FORMATS] == list(FORMATS)
    assert format_of_file("x.pwr") is None
    assert format_named("xml") is None
    assert "svg" not in EVENT_FORMATS
