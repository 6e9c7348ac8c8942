"""A connection that is cut again and again: what is kept is what one session has, and all events decode."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from events.record import Record
from events.store.store import Store
from kernel.connection.kernel_info import KernelInfo
from kernel.watch import reconnect
from kernel.watch.reconnect import ReconnectAttempt
from kernel.watch.watch import Watch
from tests.pure.kernel.test_ssh_reconnect import Side
from tests.pure.kernel.test_watch import Anything, id_of, probe
from tests.pure.remote_hosts import eventually
from tui.cli.follow.reconnect import _replace_paths
from tui.cli.tables.summary_printer import _Counter
from tui.filter.filter import Filter
from tui.output.event_source import source_of
from tui.views.calls.call_text import CallTexts

TIMES = 1000


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnect, "PAUSES", (0.0,))


def soon(look: Callable[[], bool]) -> bool:
    """`eventually`, a thousand times in a few seconds."""
    end = time.monotonic() + 60
    while not (found := look()) and time.monotonic() < end:
        time.sleep(0.0005)
    return found


def kept(watch: Watch, store: Store, *others: Any) -> Mapping[str, int]:
    """Return how many objects there are of each kind that once grew with the sessions."""
    intake, known = store._inflow.intake, watch.event_fields
    counts = {
        "formats": store.decoder.formats,
        "layouts": store.decoder._layouts,
        "ids": intake._renumbered,
        "names": (*intake.lines._ids, *intake.lines._names),
        "totals": store.totals,
        "plans": known.plans,
        "columns": known._columns,
        "frames": known._frames,
        "stacks": known.with_stacks,
        "current formats": watch.intake.formats,
        "inbox": watch.queue.entries,
    }
    for number, one in enumerate(others):
        counts[f"other {number}"] = one
    return {name: len(tuple(found)) for name, found in counts.items()}


def test_a_thousand_sessions_leave_no_more_than_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    side = Side()
    watch = Watch(Anything(KernelInfo(side.target)))
    armed = watch.armed.arm(probe("vfs_read"))
    store = watch.store
    assert store is not None
    watch.armed.arm(probe("vfs_write"), triggers=("stacktrace",))
    events: dict[str, frozenset[str]] = {
        one.path: frozenset() for each in watch.armed.probes for one in each.plan.events
    }
    source = source_of(watch, events)
    counting = _Counter(watch, "none", events, Filter(), exact=True)
    calls = CallTexts(watch, store)

    def add(number: int) -> Record:
        side.event(1000 * number + 1, id_of(watch.armed.probes[0]))
        assert soon(lambda: watch.tick() + store.flush() >= 0 and store.next_seq > 2 * number)
        counting.tick()
        calls.learn()
        record = store.record(store.next_seq - 1)
        assert record.event.endswith("/vfs_read") and record.event == watch.armed.probes[0].plan.events[0].path
        assert record.event in source.probe_notes and record.event in events
        assert watch.event_fields.text(record)
        return record

    first, sizes = add(0), list[Mapping[str, int]]()
    for number in range(1, TIMES + 1):
        side.cut()
        assert soon(lambda: watch.error is not None)
        _replace_paths(events, ReconnectAttempt(watch).run())
        last = add(number)
        if number in (2, TIMES):
            summary = counting._summary
            assert summary is not None
            others = (
                events,
                source.probe_notes,
                source.ends,
                summary.timeline.kinds,
                summary._latencies,
                calls._columns,
            )
            sizes.append(kept(watch, store, *others))
    assert sizes[0] == sizes[1]
    before = store.record(0)
    assert (before.raw, before.values) == (first.raw, first.values)
    assert before.event == last.event, "its rows go on under one name"
    assert before.format is not None and before.format.fields == last.format.fields  # type: ignore[union-attr]
    totals = store.by_event(store.totals)
    assert totals[last.event] == TIMES + 1
    assert len(watch.outages) == TIMES and watch.armed.probes[0].key is armed.key
    assert watch.close() == []


def test_waiting_rows_of_several_sessions_are_read_under_what_they_were_made_under() -> None:
    """The ids of one session mean other events in the next, and no tick comes meanwhile."""
    side = Side()
    watch = Watch(Anything(KernelInfo(side.target)))
    watch.armed.arm(probe("vfs_read"))
    watch.armed.arm(probe("vfs_write"))
    wanted: list[str] = []
    for number in range(6):
        one = watch.armed.probes[number % 2]
        side.event(1000 * (number + 1), id_of(one))
        wanted.append(one.plan.probe.subject)
        assert watch.session is not None
        watch.session.pump.settle()
        side.cut()
        side._next_id = 900 + number % 3  # as ids are given anew
        assert eventually(lambda: watch.error is not None)
        ReconnectAttempt(watch).run()
    watch.tick()
    store = watch.store
    assert store is not None
    store.flush()
    found = [store.record(seq).event for seq in range(store.next_seq)]
    assert [path.rpartition("/")[2] for path in found if "vfs_" in path] == wanted
    assert watch.session is not None
    assert {path.partition("/")[0] for path in found if "vfs_" in path} == {watch.session.group}
    assert watch.close() == []
