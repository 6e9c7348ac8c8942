"""The call of one event, found around it, is the call that pairing all events finds."""

from __future__ import annotations

import pytest

from events.calls import call_around as module
from events.calls.call_around import call_around
from events.calls.call_values import UnpairedReason
from tests.pure.tui.test_event_table_search import shown
from tui.present.call_ends import ends_of
from tui.views.calls.model import call_table

PATIENT = 60.0
"""Seconds; no answer hangs on how busy the machine is."""


def pairs() -> dict[int, tuple[int | None, int | None]]:
    """Entry and exit of each call of the shipped recording, by each of its events."""
    watch, events, _ = shown()
    table = call_table(watch, events.store)
    while table.tick(1.0):
        pass
    calls = [table.items.calls.call(row) for row in range(table.first, table.next)]
    return {seq: (call.entry, call.exit) for call in calls for seq in (call.entry, call.exit) if seq is not None}


def test_the_call_of_every_event_is_that_of_pairing_them_all():
    watch, events, _ = shown()
    ends, store, expected = ends_of(watch.event_fields.plans), events.store, pairs()
    assert len(expected) > 300
    for seq in range(store.first_seq, store.next_seq):
        call = call_around(store, ends, seq, PATIENT)
        assert (call and (call.entry, call.exit)) == expected.get(seq)


@pytest.mark.parametrize(("reach", "least"), [(4, 0), (60, 50), (300, 200)])
def test_near_events_alone_never_make_another_pair(monkeypatch, reach, least):
    monkeypatch.setattr(module, "REACHES", (reach,))
    watch, events, _ = shown()
    ends, store, expected = ends_of(watch.event_fields.plans), events.store, pairs()
    found = 0
    for seq in range(store.first_seq, store.next_seq):
        call = call_around(store, ends, seq, PATIENT)
        if call is not None and call.unpaired_reason is None:
            assert (call.entry, call.exit) == expected[seq]
            found += 1
        elif call is not None:
            assert call.unpaired_reason in (UnpairedReason.LOST, UnpairedReason.NO_ENTRY, UnpairedReason.NO_EXIT)
    assert found >= least


def test_a_wider_look_finds_what_a_near_one_does_not(monkeypatch):
    watch, events, _ = shown()
    ends, store, expected = ends_of(watch.event_fields.plans), events.store, pairs()
    far = next(seq for seq, (entry, leave) in expected.items() if entry == seq and leave is not None)
    monkeypatch.setattr(module, "REACHES", (1,))
    near = call_around(store, ends, far, PATIENT)
    assert near is None or near.unpaired_reason is not None
    monkeypatch.setattr(module, "REACHES", (1, 1 << 10))
    assert call_around(store, ends, far, PATIENT) == (*expected[far], None, None)
