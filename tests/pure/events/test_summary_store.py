"""The summary of the recording that comes with it, against a count of its events one by one."""

from __future__ import annotations

from collections import Counter

import pytest

from events.batch import Batch, Chunk
from events.calls.call_values import CalledFunction
from events.calls.calls import Calls
from events.decode import Decoder
from events.format import HeaderPage
from events.store.outage_mark import Outage
from events.store.store import Store
from events.summary.summary import Summary
from kernel.connection.open_target import shipped_recording
from tests.replays import replay_of
from tui.present.call_ends import ends_of


@pytest.fixture(scope="module")
def watch():
    watching = replay_of(shipped_recording())
    yield watching
    watching.close()
    watching.info.close()


def _all(store: Store):
    return [store.record(seq) for seq in range(store.first_seq, store.next_seq)]


def _done(summary: Summary) -> Summary:
    while summary.backlog:
        summary.tick(0.0)
    return summary


def test_every_event_is_counted_once(watch):
    summary = _done(Summary(watch.store))
    records = _all(watch.store)
    assert (summary.counted, summary.skipped_events) == (len(records), 0)
    assert {n.key: n.hits for n in summary.top_tasks(10_000)} == Counter(record.pid for record in records)
    assert {kind: summary.timeline.total(kind) for kind in summary.timeline.kinds} == Counter(
        record.event for record in records
    )


def test_the_mark_of_an_outage_is_no_event_of_a_task():
    store = Store(Decoder({}, HeaderPage("little")))
    store.feed(
        Batch((Chunk(0, b"  cat-7 [000] 1000: one: a=1\n  cat-7 [000] 2000: one: a=2\n", text=True),), drained=True)
    )
    store.feed(Outage(5.8).batch(10**9))
    store.feed(Batch((Chunk(0, b"  cat-7 [000] 3000000000: one: a=3\n", text=True),), drained=True))
    store.flush()
    summary = _done(Summary(store))
    assert "line_cut" in {record.event for record in _all(store)}
    assert (summary.counted, summary.of) == (3, 3)
    assert {task.key: task.hits for task in summary.top_tasks(10)} == {7: 3}
    assert list(summary.timeline.kinds) == ["one"]


def test_values_of_every_field_are_counted(watch):
    records = _all(watch.store)
    paths = {record.event for record in records}
    summary = Summary(watch.store)
    for path in sorted(paths):
        for name in next(record for record in records if record.event == path).values:
            summary.choose(path, name)
            _done(summary)
            assert summary.values is not None
            true = Counter(record.values[name] for record in records if record.event == path)
            assert {top.value: top.hits for top in summary.values.of_boot(0).top(100_000)} == true
            assert summary.values.exact
    assert summary.counted == len(records)


def test_only_the_events_that_were_asked_for_are_counted(watch):
    records = _all(watch.store)
    path = next(record.event for record in records if record.event.endswith("vfs_write__entry"))
    summary = Summary(watch.store, only={path})
    summary.use(ends_of(watch.event_fields.plans))
    _done(summary)
    assert summary.counted == sum(record.event == path for record in records) == summary.timeline.total(path)
    assert summary.timeline.kinds == [path] and not summary.latencies


def test_latencies_are_those_of_the_pairs(watch):
    summary = Summary(watch.store)
    ends = ends_of(watch.event_fields.plans)
    summary.use(ends)
    _done(summary)
    calls = Calls(watch.store)
    calls.use(ends)
    while calls.backlog:
        calls.tick()
    took: dict[str, list[int]] = {}
    for row in range(calls.first, calls.next):
        call = calls.call(row)
        if call.entry is not None and call.exit is not None:
            entry, leave = watch.store.record(call.entry), watch.store.record(call.exit)
            took.setdefault(entry.event, []).append(leave.ts - entry.ts)
    assert summary.calls.paired == calls.paired > 50
    assert {
        CalledFunction(ends[event].function): (len(all_), sum(all_), max(all_)) for event, all_ in took.items()
    } == {function: (one.count, one.total, one.most) for function, one in summary.latencies.items()}
    for event, all_ in took.items():
        powers = summary.latencies[CalledFunction(ends[event].function)].powers
        assert {p.exponent: p.hits for p in powers if p.hits} == Counter((t - 1).bit_length() for t in all_)


def test_what_the_store_dropped_before_it_was_counted_is_told(watch):
    """A store that is too small for what comes between two looks."""
    whole = watch.store
    small = Store(whole.decoder, 64 << 10)
    summary = Summary(small)
    summary.choose("none", "none")
    while not small.first_seq:
        for slab in whole._blocks.slabs.values():
            small.feed(Batch((Chunk(slab.cpu, slab.data, slab.text),), drained=True))
    small.flush()
    _done(summary)
    assert small.first_seq > 0 and summary.counted + summary.skipped_events == small.next_seq
    assert summary.skipped_events == small.first_seq
