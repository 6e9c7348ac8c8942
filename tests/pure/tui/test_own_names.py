"""Events with fields of their own that are called as what every event has: `comm` and `pid` of sched_wakeup."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest

from events.batch import Batch, Chunk
from events.conditions.condition_parser import parse_condition
from events.conditions.field_kinds import value_kinds
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.search.filtered_rows import FilteredRows
from events.search.sorted_rows import sort_rows
from events.store.store import Store
from events.summary.summary import Summary
from tests.events_data import entry, event, page
from tui.present.summary_values import tasks_of
from tui.views.events.clauses import clause_of, kernel_clause_of
from tui.views.events.model import event_table
from widgets.events.event_rows import FIXED, EventColumn

WAKEUP = parse_format(
    """name: sched_wakeup
ID: 300
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int cpu;\toffset:28;\tsize:4;\tsigned:1;
\tfield:u32 time;\toffset:32;\tsize:4;\tsigned:0;
\tfield:u32 task;\toffset:36;\tsize:4;\tsigned:0;

print fmt: ""
""",
    "sched",
)
OWN = value_kinds([WAKEUP], WAKEUP.names)
ROWS = [  # common_pid, then comm, pid, cpu, time, task
    (7, b"dd", 8, 3, 50, 1),
    (10, b"cat", 7, 2, 40, 3),
    (9, b"dd", 7, 1, 60, 2),
]
NAMES = {7: "cat", 9: "cat", 10: "cat", 8: "dd"}


@pytest.fixture
def store() -> Store:
    header = HeaderPage()
    store = Store(Decoder({300: WAKEUP}, header))
    store.task_names.known = NAMES
    data = b"".join(event(entry(300, pid, struct.pack("<16siiII", *own)), 1000) for pid, *own in ROWS)
    store.feed(Batch((Chunk(0, page(1000, data, header)),), drained=True))
    store.flush()
    return store


def chosen_by(store: Store, text: str) -> list[int]:
    wanted = parse_condition(text, OWN, store.task_names.name)
    chosen = FilteredRows(store, wanted)
    chosen.tick(60)
    rows = [chosen.number(row) for row in range(chosen.first, chosen.next)]
    assert rows == [seq for seq in range(len(store)) if wanted(store.record(seq))]
    return rows


def test_each_has_its_word(store):
    assert chosen_by(store, "pid == 7") == [1, 2]
    assert chosen_by(store, "common_pid == 7") == [0]
    assert chosen_by(store, "comm == cat") == [1]
    assert chosen_by(store, "COMM == cat") == [0, 1, 2]
    assert chosen_by(store, "cpu == 0") == []
    assert chosen_by(store, "CPU == 0") == [0, 1, 2]


@pytest.mark.parametrize(("column", "rows"), [(FIXED[1], [0, 1, 2]), (FIXED[2], [0]), (EventColumn("comm"), [0, 2])])
def test_what_is_under_the_cursor_chooses_its_own_row(store, column, rows):
    assert chosen_by(store, clause_of(store.record(0), column, same=True, own=OWN)) == rows


def test_without_such_fields_the_usual_words_do(store):
    assert clause_of(store.record(0), FIXED[2], same=True) == "pid == 7"
    assert clause_of(store.record(0), FIXED[1], same=False) == "cpu != 0"


def test_the_kernel_has_the_same_words(store):
    assert kernel_clause_of(store.record(0), FIXED[2]) == "common_pid == 7"
    assert kernel_clause_of(store.record(0), FIXED[1]) == "CPU == 0"
    assert kernel_clause_of(store.record(0), EventColumn("comm")) == 'comm == "dd"'


def test_the_events_behind_a_process_of_the_summary_are_its_own(store):
    summary = Summary(store)
    summary.tick(60)
    (cat,) = tasks_of(store, summary)
    assert (cat.label, cat.hits) == ("cat, 3 tasks", 3)
    assert chosen_by(store, cat.condition) == [0, 1, 2]
    store.task_names.known = {7: "sh"}
    alone = next(one for one in tasks_of(store, summary) if one.label == "sh-7")
    assert chosen_by(store, alone.condition) == [0]


def test_order_by_the_field_is_not_that_by_what_every_event_has(store):
    def by(field: str, own: bool) -> list[int]:
        return sort_rows(store, range(len(store)), field, own=own)

    assert by("time", own=True) == [1, 0, 2]
    assert by("cpu", own=True) == [2, 1, 0]
    assert by("task", own=True) == [0, 2, 1]
    assert by("time", own=False) == by("cpu", own=False) == [0, 1, 2]
    assert by("task", own=False) == [0, 2, 1], "cat-7, cat-9, cat-10"


def test_the_table_is_sorted_by_the_column_that_was_meant(store):
    shown = event_table(SimpleNamespace(event_fields=None), store)
    shown.sort(EventColumn("cpu"), descending=False)
    assert [shown.item(row).values["cpu"] for row in range(shown.next)] == [1, 2, 3]
    shown.sort(FIXED[1], descending=False)
    assert [shown.item(row).seq for row in range(shown.next)] == [0, 1, 2]
