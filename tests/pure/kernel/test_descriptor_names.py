"""Files of descriptors in the values of events: beside the number, in columns of exports, found by a search."""

from __future__ import annotations

import pytest

from events.aggregates.aggregate import Aggregate
from events.aggregates.event_columns import EventColumns
from events.aggregates.request import AggregateRequest
from events.descriptors import index
from events.export.source import name_of
from events.names.value_names import Namer
from events.search.text_match import TextMatch
from kernel.connection.environment import event_fields
from kernel.watch.event_fields import EventFields
from probes.check import check_plan
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment, StaticEventField
from tests.pure.events.test_descriptor_index import CLOSE, EXEC, FORMATS, IDS, READ, RUNS, SOURCES, Trace

FACTS = TargetFacts("x86_64", "7.2.0", tracefs="/sys/kernel/tracing")


def lookup(group: str, name: str) -> tuple[StaticEventField, ...]:
    return event_fields(group, name, FORMATS[IDS[f"{group}/{name}"]].fields)


def known(trace: Trace, *absent: str, condition: str = "") -> EventFields:
    """Fields as if probes on all events were armed in their order."""
    fields = EventFields(lambda boot: Namer(machine="x86_64"))
    for path in (*SOURCES, READ):
        if path not in absent:
            text = f"on {path}" + (f" if {condition}" if path == EXEC and condition else "")
            plan = check_plan(text, None, FACTS, "pw_1", Environment(event=lookup)).plan
            assert plan is not None
            fields.add_plan(plan)
    fields.descriptors.use(trace.store, "x86_64")
    return fields


def opened() -> tuple[Trace, int]:
    """Events of a task that opens a file and reads it, and the row of that."""
    trace = Trace()
    for _ in range(2):
        trace.add(EXEC, 5, 5)
        trace.add("raw_syscalls/sys_enter", 5, RUNS, 0, 0, 0, 0, 0, 0)
    trace.add(EXEC, 5, 5)
    trace.open(5, "/etc/passwd", 3)
    row = trace.add(READ, 5, 3)
    trace.call(5, CLOSE, 0, 3)
    trace.add(READ, 5, 3)
    return trace, row


def test_a_number_has_its_file_behind_it() -> None:
    trace, row = opened()
    fields = known(trace)
    texts = [dict(fields.values(trace.store.record(one)))["fd"] for one in (row, trace.store.next_seq - 1)]
    assert texts == ["3</etc/passwd>", "3"]
    assert "fd=3</etc/passwd>" in fields.text(trace.store.record(row))


def test_an_export_has_a_column_for_it_only_if_names_are_possible() -> None:
    trace, _ = opened()
    assert "fd" in known(trace).named(FORMATS[IDS[READ]])
    assert "fd" not in known(trace, EXEC).named(FORMATS[IDS[READ]])
    assert name_of(3, "3</etc/passwd>") == "/etc/passwd"
    assert name_of(12, "0xc</a<b>\n>") == "/a<b>\n"
    assert name_of(3, "3") is None


def test_a_search_finds_it() -> None:
    trace, row = opened()
    fields, store = known(trace), trace.store
    for text in ("/etc/passwd", "fd=3</etc", "3</etc/passwd>", "ETC", "passwd> "):
        match = TextMatch(text, fields, store.task_names.name, ["<...>"])
        rows = store.columns(0, store.next_seq)
        lines = {seq for seq in range(store.next_seq) if match(store.record(seq))}
        found = set(match.candidates(rows).nonzero()[0].tolist())
        assert lines <= found, text
        assert (row in lines) == (text in ("/etc/passwd", "fd=3</etc", "3</etc/passwd>"))


def test_without_certainty_only_the_details_have_the_path_as_it_was_opened() -> None:
    trace, row = opened()
    for fields in (known(trace, EXEC), known(trace, condition="old_pid > 1")):
        record = trace.store.record(row)
        assert dict(fields.values(record))["fd"] == "3"
        assert fields.note(record, "fd", 3) == f"last opened as /etc/passwd ({EXEC} not recorded)"
    assert known(trace).note(trace.store.record(row), "fd", 3) == ""
    last = trace.store.record(trace.store.next_seq - 1)
    assert known(trace).note(last, "fd", 3) == "last opened as /etc/passwd (closed since, or not certain)"


def test_a_record_of_another_store_has_no_names() -> None:
    trace, row = opened()
    fields = known(trace)
    record = trace.store.record(row)
    assert dict(fields.values(type(record)(**{**record.__dict__, "ts": record.ts + 1})))["fd"] == "3"


def test_events_are_grouped_by_file() -> None:
    trace, _ = opened()
    trace.open(5, "/etc/passwd", 7)
    trace.add(READ, 5, 7)
    fields, store = known(trace), trace.store
    store.files_of = fields.files_of
    request = AggregateRequest(("fd",))
    counted = Aggregate(store, request, lambda _: EventColumns(), only=(READ,))
    while counted.backlog:
        counted.tick()
    keys = {one: counted.keys_of(one) for one in range(len(counted.groups))}
    found = {key[0].value: int(counted.groups.counts[one]) for one, key in keys.items() if key}
    assert found == {"/etc/passwd": 2, 3: 1}


def test_a_screen_gets_the_files_of_many_events_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_AT_ONCE", 2)
    trace, row = opened()
    fields, record = known(trace), trace.store.record(row)
    names = fields.descriptors
    assert not names.are_wanted and not names.read_on(1), "nothing is read that nobody asked for"
    assert dict(fields.values(record, at_once=True))["fd"] == "3"
    assert names.are_wanted
    assert "still being read" in fields.note(record, "fd", 3)
    turns = 1
    while names.read_on(1e-9):  # a piece
        turns += 1
    assert turns > 3
    assert not names.are_wanted
    assert dict(fields.values(record, at_once=True))["fd"] == "3</etc/passwd>"
    assert fields.note(record, "fd", 3) == ""


def test_an_export_waits_for_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_AT_ONCE", 2)
    trace, row = opened()
    assert dict(known(trace).values(trace.store.record(row)))["fd"] == "3</etc/passwd>"
