"""Names of values beside their numbers, in columns of their own: read back by csv and pyarrow."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import pyarrow.parquet
import pytest

from events.export.catalogue import format_named
from events.export.formats.csv_table import HEADS, column_names
from events.export.hosts import host_record, hosts_source
from events.export.job import writer_of
from events.export.source import ExportSource, name_of
from events.names.value_names import Namer
from events.record import Record
from kernel.watch.event_fields import EventFields
from probes.plans.plan import Plan, PlanColumn, PlannedEvent
from probes.probe import Probe, ProbePlace
from tests.pure.export_events import format_of, record_of

OPEN = format_of({"flags": "s32", "pid": "s32", "size": "u64", "ret": "s64"}, "g/open", 10)
RAW = format_of({"nr": "u64", "flags": "s32"}, "g/raw", 11)
"""Its flags have no names."""
NAMINGS = {(OPEN.path, "flags"): "open", (OPEN.path, "pid"): "directory"}
NAMER = Namer(machine="x86_64")


def texts(record: Record) -> list[tuple[str, str]]:
    """Values as a screen has them."""
    assert record.format is not None
    return [
        (
            field.name,
            NAMER.text(
                record.values[field.name],
                None,
                field.name == "ret",
                field,
                is_call=field.name == "nr",
                naming=NAMINGS.get((record.event, field.name), ""),
            ),
        )
        for field in record.format.fields
    ]


NAMED = {OPEN.path: ("flags", "pid", "ret"), RAW.path: ("nr",)}
SOURCE = ExportSource(formats=(OPEN, RAW), field_texts=texts, named_fields=lambda fmt: NAMED[fmt.path])
ROWS = [
    record_of({"flags": 0o101, "pid": -100, "size": 7, "ret": -2}, fmt=OPEN, event=OPEN.path),
    record_of({"flags": 0, "pid": 5, "size": 2**40, "ret": 3}, fmt=OPEN, event=OPEN.path, seq=1),
    record_of({"nr": 257, "flags": 0o101}, fmt=RAW, event=RAW.path, seq=2),
]
COLUMNS = ["flags", "flags.name", "pid_", "pid_.name", "size", "ret", "ret.name", "nr", "nr.name"]
NUMBERS: list[tuple[int | None, ...]] = [(65, -100, 7, -2, None), (0, 5, 2**40, 3, None), (65, None, None, None, 257)]
NAMES = [
    ("O_WRONLY|O_CREAT", "AT_FDCWD", "-ENOENT", None),
    ("O_RDONLY", None, None, None),
    (None, None, None, "openat"),
]


def written(form: str, source: ExportSource = SOURCE, rows: list[Record] = ROWS) -> bytes:
    found, out = format_named(form), io.BytesIO()
    assert found is not None
    writer = writer_of(found, source, out)
    for row in rows:
        writer.take(row)
    writer.finish()
    assert writer.notes == ()
    return out.getvalue()


def by_row(rows: list[dict[str, Any]], *, named: bool) -> list[tuple[Any, ...]]:
    """Cells of the columns of names, or of the others behind those that every event has."""
    return [tuple(row[name] for name in COLUMNS if name.endswith(".name") is named) for row in rows]


def test_csv_has_names_beside_the_numbers_which_stay():
    found = csv.DictReader(io.StringIO(written("csv").decode(), newline=""), strict=True)
    rows = list(found)
    assert found.fieldnames == [*HEADS, *COLUMNS]
    assert by_row(rows, named=False) == [tuple("" if n is None else str(n) for n in row) for row in NUMBERS]
    names = [tuple((text or "") for text in row) for row in NAMES]
    assert by_row(rows, named=True) == names


def test_a_number_without_a_name_has_an_empty_cell_without_quotes():
    assert written("csv", rows=ROWS[1:2]).splitlines()[1].endswith(b'"g/open",0,"O_RDONLY",5,,1099511627776,3,,,')


def test_parquet_has_columns_of_strings_for_them():
    table = pyarrow.parquet.read_table(io.BytesIO(written("parquet")))
    assert table.column_names == [*HEADS, *COLUMNS]
    kinds = {name: str(table.schema.field(name).type) for name in COLUMNS}
    assert {kinds[name] for name in COLUMNS if name.endswith(".name")} == {"string"}
    assert (kinds["flags"], kinds["size"], kinds["ret"]) == ("int32", "uint64", "int64")
    assert by_row(table.to_pylist(), named=False) == NUMBERS
    assert by_row(table.to_pylist(), named=True) == NAMES


def test_each_host_names_its_own_numbers():
    other = replace(RAW, name="raw")  # another kernel's, by identity
    names = replace(SOURCE, formats=(other,), field_texts=lambda _: [("nr", "257 by_the_other")], title="other")
    every = hosts_source([SOURCE, names])
    rows: list[Record] = [
        host_record(ROWS[2], host="one", time=1, uncertainty=None, late=False, source=SOURCE),
        host_record(replace(ROWS[2], format=other), host="two", time=2, uncertainty=None, late=False, source=names),
    ]
    cells = csv.DictReader(io.StringIO(written("csv", every, rows).decode(), newline=""))
    assert [row["nr.name"] for row in cells] == ["openat", "by_the_other"]
    table = pyarrow.parquet.read_table(io.BytesIO(written("parquet", every, rows)))
    assert table.column("nr.name").to_pylist() == ["openat", "by_the_other"]


def test_a_column_of_names_goes_with_that_of_its_numbers():
    assert column_names(("cpu", "cpu.name", "cpu_"), HEADS) == ["cpu__", "cpu__.name", "cpu_"]


@pytest.mark.parametrize(
    ("value", "text", "name"),
    [
        (2, "PIDTYPE_SID", "PIDTYPE_SID"),
        (257, "257 openat", "openat"),
        (64, "0x40", None),
        (64, "64", None),
        (0o644, "0644", "0644"),
        (-2, "-ENOENT", "-ENOENT"),
        (True, "true", None),
        ("a", "a", None),
        (None, "(fault)", None),
        ((1, 2), "{ONE,2}", "{ONE,2}"),
        ((16, 2), "{0x10,2}", None),
        ((), "{}", None),
    ],
)
def test_a_name_is_no_number_in_other_digits(value, text, name):
    assert name_of(value, text) == name


def test_fields_have_such_a_column_by_their_kind_whatever_values_come():
    kinds = {"flags": "s32", "count": "u64", "ret": "s64", "small": "u8", "name": "string", "state": "u8"}
    fmt = format_of(kinds, "g/open", 10)
    columns = (
        PlanColumn("flags", "flags", naming="open"),
        PlanColumn("count", "count"),
        PlanColumn("ret", "$retval", is_retval=True),
        PlanColumn("small", "$retval", is_retval=True),
        PlanColumn("name", "$retval", is_retval=True),
        PlanColumn("state", "state", names="0=IDLE,1=BUSY"),
    )
    known = EventFields(lambda _: NAMER)
    assert known.named(fmt) == ()
    event = PlannedEvent("g", "open", "f:g/open vfs_open", "-:g/open", columns=columns)
    known.add_plan(Plan(Probe(ProbePlace("vfs_open")), (event,)))
    assert known.named(fmt) == ("flags", "ret", "state")
