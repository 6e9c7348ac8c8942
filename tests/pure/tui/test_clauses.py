"""Conditions of cells: whatever kind of value is under the cursor, its row passes, or it is said why not."""

from __future__ import annotations

import struct

import pytest

from events.batch import Batch, Chunk
from events.conditions.condition_parser import parse_condition
from events.conditions.field_kinds import value_kinds
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.search.filtered_rows import FilteredRows
from events.store.store import Store
from tests.events_data import entry, event, page
from tui.filter.filter import task_remark
from tui.views.events.clauses import clause_of
from widgets.events.event_rows import FIXED, EventColumn

CELLS = parse_format(
    """name: cells
ID: 300
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char text[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:s64 ret;\toffset:24;\tsize:8;\tsigned:1;
\tfield:u64 address;\toffset:32;\tsize:8;\tsigned:0;
\tfield:bool flag;\toffset:40;\tsize:1;\tsigned:0;
\tfield:u8 pair[2];\toffset:41;\tsize:2;\tsigned:0;
\tfield:u8 kind;\toffset:43;\tsize:1;\tsigned:0;

print fmt: "kind=%s address=%lx", __print_symbolic(REC->kind, { 0, "IDLE" }, { 1, "BUSY" }), REC->address
""",
    "test",
)
ROWS = [
    (7, b"plain", -2, 0xFFFF_FFFF_8100_0000, True, b"ab", 1),
    (8, b'a "quote"', 0, 0, False, b"ab", 0),
    (9, b"it's", 4096, 1, True, b"cd", 1),
    (10, b"back\\slash", -512, 2, False, b"cd", 0),
    (11, b"", 1, 3, False, b"cd", 7),
    (12, b"42", 1, 3, False, b"cd", 7),
    (12, b"a && b", 1, 3, False, b"cd", 7),
    (12, b"line\nbreak", 1, 3, False, b"cd", 7),
    (12, b"\xff\xfe", 1, 3, False, b"cd", 7),
    (12, b"*", 1, 3, False, b"cd", 7),
    (0, b"null", 1, 3, False, b"cd", 7),
]
KINDS = value_kinds([CELLS], CELLS.names)
COMPARED = [*FIXED[1:], *map(EventColumn, ("text", "ret", "address", "flag", "kind"))]


@pytest.fixture
def store() -> Store:
    header = HeaderPage()
    store = Store(Decoder({300: CELLS}, header))
    store.task_names.known = {7: "cat", 8: 'odd "name"', 9: "cat", 12: "both\"'"}
    data = b"".join(event(entry(300, pid, struct.pack("<16sqQ?2sB4x", *own)), 1000) for pid, *own in ROWS)
    store.feed(Batch((Chunk(0, page(1000, data, header)),), drained=True))
    store.flush()
    return store


@pytest.mark.parametrize("row", range(len(ROWS)))
@pytest.mark.parametrize("column", COMPARED)
def test_the_row_under_the_cursor_passes_and_not_its_opposite(store, column, row):
    record = store.record(row)
    for same in (True, False):
        wanted = parse_condition(clause_of(record, column, same, KINDS), KINDS, store.task_names.name)
        passing = FilteredRows(store, wanted)
        passing.tick(60)
        found = [passing.number(one) for one in range(passing.first, passing.next)]
        assert (row in found) is same
        assert found == [seq for seq in range(len(ROWS)) if wanted(store.record(seq))]


def test_a_task_is_its_thread_whatever_others_are_called(store):
    text = clause_of(store.record(0), FIXED[2], same=True)
    assert text == "pid == 7"
    assert task_remark(parse_condition(text, KINDS, store.task_names.name), store) == "7 is cat"
    assert task_remark(parse_condition("pid == 99 || ret == 7", KINDS, store.task_names.name), store) == "", (
        "no name, no task"
    )


@pytest.mark.parametrize(("column", "why"), [(FIXED[0], "a time"), (EventColumn("pair"), "the values of pair")])
def test_of_what_cannot_be_compared_it_is_said(store, column, why):
    with pytest.raises(ValueError, match=why):
        clause_of(store.record(0), column, same=True)


def test_a_text_that_could_not_be_read_is_compared_as_it_is_shown(store):
    record = store.record(0)
    record.values["text"] = None
    text = clause_of(record, EventColumn("text"), same=True)
    assert text == 'text == "(fault)"'
    assert parse_condition(text, KINDS, store.task_names.name)(record)
