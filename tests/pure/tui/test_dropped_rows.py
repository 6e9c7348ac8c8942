"""Rows that are shown while the store lets the oldest go; what a table asks for does not grow with what came."""

from __future__ import annotations

import functools
import struct
from types import SimpleNamespace

import pytest

from events.batch import Batch, Chunk
from events.calls.calls import Calls
from events.conditions.condition_parser import parse_condition
from events.decode import Decoder
from events.format import HeaderPage
from events.search.filtered_rows import FilteredRows
from events.store.store import Store
from tests.events_data import entry, event, page
from tests.pure.tui.test_event_table_search import shown as on_recording
from tests.pure.tui.test_own_names import OWN, WAKEUP
from tests.steps import at_most
from tui.filter import filter as filters
from tui.views.calls.call_text import note_of_calls
from tui.views.calls.model import CallItems, call_table
from tui.views.events.model import EventItems, event_table
from tui.views.filtered_table import FilteredTable
from tui.views.graph.model import GraphModel
from tui.views.graph.names import GraphNames

HEADER = HeaderPage()


def feed(store: Store, first: int, count: int) -> None:
    """So many events, one a millisecond; each has its own number as its field `time`."""
    for start in range(first, first + count, 50):
        numbers = range(start, min(start + 50, first + count))
        data = b"".join(event(entry(300, 7, struct.pack("<16siiII", b"cat", 7, 1, n, n)), 1000) for n in numbers)
        store.feed(Batch((Chunk(0, page(start * 1_000_000, data, HEADER)),), drained=True))
    store.flush()


@pytest.fixture
def store() -> Store:
    store = Store(Decoder({300: WAKEUP}, HEADER), limit_bytes=1 << 20)
    feed(store, 0, 10_000)
    return store


@pytest.fixture
def shown(store, monkeypatch) -> FilteredTable[EventItems]:
    monkeypatch.setattr(filters, "sorts_of_fields", lambda _: OWN)
    return event_table(
        SimpleNamespace(event_fields=None, info=SimpleNamespace(symbols=SimpleNamespace(loaded_of=None))), store
    )


@pytest.mark.parametrize("chosen", ["", "cpu == 1"])
def test_a_search_that_was_overtaken_goes_on_with_the_oldest_row(store, shown, chosen):
    shown.choose(chosen)
    shown.tick(60)
    at = shown.first + 5
    feed(store, 10_000, 30_000)
    shown.tick(60)
    assert shown.first > at, "what it stands at was dropped"
    found = shown.find(f"time == {shown.item(shown.first + 3).values['time']}", at, 1, 60)
    assert found.seq == shown.first + 3


@pytest.mark.parametrize("chosen", ["", "cpu == 1"])
def test_an_event_that_was_dropped_has_no_row(store, shown, chosen):
    shown.choose(chosen)
    shown.tick(60)
    seq = store.first_seq + 5
    assert shown.row_of(seq) is not None
    feed(store, 10_000, 30_000)
    shown.tick(60)
    assert store.first_seq > seq and shown.row_of(seq) is None
    assert shown.row_of(store.first_seq) == shown.first


def test_few_events_at_each_look_are_few_pieces():
    store = Store(Decoder({300: WAKEUP}, HEADER))
    chosen = FilteredRows(store, parse_condition("cpu == 1", OWN, store.task_names.name))
    for n in range(2500):
        feed(store, n, 1)
        chosen.tick(0.0)
    assert len(chosen._kept._pieces) == len(chosen._kept._begins) == 3
    assert [chosen.number(row) for row in range(chosen.next)] == list(range(2500))
    assert [chosen.at(seq) for seq in (0, 1023, 1024, 2499, 2500)] == [0, 1023, 1024, 2499, 2500]


@functools.cache
def calls() -> FilteredTable[CallItems]:
    watch, events, _ = on_recording()
    found = call_table(watch, events.store)
    while found.tick(60):
        pass
    return found


@pytest.mark.parametrize("text", ["", "latency > 3us", "latency < 0"])
def test_the_call_at_a_time(text):
    found = calls()
    found.choose(text)
    found.tick(60)
    store = found.items.calls._store
    ends = [
        max(store.row(one).ts for one in (call.entry, call.exit) if one is not None)
        for call in map(found.items.calls.call, (found.number(row) for row in range(found.first, found.next)))
    ]
    stamps = [store.row(seq).ts for seq in range(store.first_seq, store.next_seq, 97)]
    for ts in (0, *stamps, stamps[-1] + 10**12):
        wanted = next((row for row, end in enumerate(ends, found.first) if end >= ts), None)
        with at_most(200):
            assert found.row_at(ts) == wanted
    found.choose("")


def test_a_condition_on_a_field_that_went_is_kept_when_tasks_get_names(monkeypatch):
    found = calls()
    found.choose("count > 100 && comm == nobody")
    found.tick(60)
    assert found.counts[0] == 0
    store = found.items.calls._store
    pid = store.record(store.first_seq).pid
    monkeypatch.setattr(filters, "sorts_of_fields", lambda _: {})
    monkeypatch.setattr(store.task_names, "known", {**store.task_names.known, pid: "nobody"})
    assert found.names_changed()
    assert found.filter_text == "count > 100 && comm == nobody"
    assert not found.names_changed()
    found.choose("")


def test_what_was_dropped_before_it_was_paired_is_told(store):
    feed(store, 10_000, 20_000)
    before = store.first_seq
    assert before, "what was gone before somebody looked counts, too"
    watch, _, _ = on_recording()
    pairing, graph = Calls(store), GraphModel(watch, store, GraphNames(watch.info))
    pairing.tick(60)
    graph.tick(60, following=True)
    seen = store.next_seq
    feed(store, 30_000, 30_000)
    assert store.first_seq > seen
    pairing.tick(60)
    graph.tick(60, following=True)
    assert pairing.skipped_events == graph.live_tree.skipped_events == before + store.first_seq - seen
    assert note_of_calls(pairing) == f"0 pairs, {pairing.skipped_events:,} events dropped before"
    assert f"{pairing.skipped_events:,} events dropped before" in graph.note()
