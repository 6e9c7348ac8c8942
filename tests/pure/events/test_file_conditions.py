"""Conditions on the files of descriptors: by the index of a store, for whole columns as for single records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest

from events.conditions.condition_parser import ConditionError, parse_condition
from events.conditions.field_kinds import ValueKind
from events.conditions.named_number import NoNumbers
from events.decode import Value
from events.format import EventFormat, Field
from events.record import Record
from events.search.filtered_rows import FilteredRows
from events.store.columns import FormatTable
from tests.pure.events.test_descriptor_index import CLOSE, DUP2, READ, Trace, begun

FIELDS = {"fd": ValueKind.NUMBER, "ret": ValueKind.NUMBER}


class Files(NoNumbers):
    """Files of the descriptors of reads, by the index of a store."""

    files_revision = 0

    def __init__(self, trace: Trace, lack: str = "") -> None:
        self._trace = trace
        self._lack = lack

    def names(self, field: str) -> Collection[str]:
        return ("AT_FDCWD",) if field == "fd" else ()

    def numbers(self, fmt: EventFormat, field: Field) -> Mapping[str, int]:
        return {"AT_FDCWD": -100} if field.name == "fd" else {}

    def files_lack(self, field: str) -> str | None:
        return self._lack if field == "fd" else None

    def file(self, record: Record, field: str) -> str | None:
        value = record.values.get(field)
        return self._trace.index.file(record, value) if record.event == READ and isinstance(value, int) else None

    def files(self, table: FormatTable, field: Field) -> Sequence[Value] | None:
        if table.layout.format.path != READ or field.name != "fd":
            return None
        return self._trace.index.files(table, table.column(field).values.tolist())


@pytest.fixture
def trace() -> Trace:
    """Seven reads: of a file, of one that is not known, of copies and of what was closed."""
    made = begun()
    made.open(5, "/etc/passwd", 3)
    made.add(READ, 5, 3)
    made.add(READ, 5, 9)
    made.call(5, DUP2, 4, 3, 4)
    made.call(5, CLOSE, 0, 3)
    made.add(READ, 5, 3)
    made.add(READ, 5, 4)
    made.open(5, "/lib/libc.so.6", 3)
    made.add(READ, 5, 3)
    made.add(READ, 6, 3)
    made.add(READ, 5, -100)
    return made


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("fd == /etc/passwd", [0, 3]),
        ('fd == "/etc/passwd"', [0, 3]),
        ("fd != /etc/passwd", [4]),
        ("fd ~ *.so*", [4]),
        ('fd ~ "!*.so*"', [0, 3]),
        ("fd ~ /etc/* || fd == 9", [0, 1, 3]),
        ("fd == 3", [0, 2, 4, 5]),
        ("fd == 3 && !(fd ~ *passwd)", [4]),
        ("fd == AT_FDCWD", [6]),
    ],
)
def test_reads_are_chosen_by_their_file(trace: Trace, text: str, wanted: list[int]) -> None:
    store = trace.store
    condition = parse_condition(text, FIELDS, store.task_names.name, numbers=Files(trace))
    reads = [seq for seq in range(store.next_seq) if store.record(seq).event == READ]
    rows = FilteredRows(store, condition)
    rows.tick(60)
    assert [number for number, seq in enumerate(reads) if rows.passes(seq)] == wanted
    assert [number for number, seq in enumerate(reads) if condition(store.record(seq))] == wanted


def test_events_are_chosen_anew_when_the_probes_that_tell_of_files_change(trace: Trace) -> None:
    files = Files(trace)
    rows = FilteredRows(
        trace.store, parse_condition("fd ~ *passwd", FIELDS, trace.store.task_names.name, numbers=files)
    )
    assert rows.is_current
    files.files_revision += 1
    assert not rows.is_current


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ret == /etc/passwd", "ret is a number, /etc/passwd is none"),
        ("fd < /etc/passwd", "fd is a number, /etc/passwd is none"),
    ],
)
def test_other_numbers_have_no_file(trace: Trace, text: str, why: str) -> None:
    with pytest.raises(ConditionError, match=why):
        parse_condition(text, FIELDS, str, numbers=Files(trace))


def test_files_that_are_not_known_are_refused_with_the_reason(trace: Trace) -> None:
    lack = "close, dup2 not recorded"
    with pytest.raises(ConditionError, match=f"/x is none; .*; its files are not known: {lack}"):
        parse_condition("fd == /x", FIELDS, str, numbers=Files(trace, lack))
