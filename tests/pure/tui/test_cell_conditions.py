"""The condition made of what is shown passes the events that show it: those of a cell, and of a row's count."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from events.names.errnos import errno_of
from events.summary.summary import Summary
from tests.events_recording import SHIPPED
from tests.replays import replay_of
from tui.filter.filter import Filter
from tui.present.summary_values import subjects_of, tasks_of, values_of
from tui.views.events.clauses import clause_of
from widgets.events.event_rows import EventColumn


@pytest.fixture(scope="module")
def watch():
    watching = replay_of(SHIPPED)
    watching.info.symbols.load()
    yield watching
    watching.close()
    watching.info.close()


def _passing(watch, text: str) -> set[int]:
    store = watch.store
    condition = Filter().preview(text, watch, store).condition
    return {store.first_seq + n for n in np.flatnonzero(condition.candidates(store.columns(0, store.next_seq)))}


def test_an_error_is_asked_for_as_it_is_shown_wherever_it_is(watch):
    """In a field without a sign, and in the lower half of a register, it is another number."""
    store, column = watch.store, EventColumn("ret")
    numbers: defaultdict[str, set[int]] = defaultdict(set)
    shown: defaultdict[str, set[int]] = defaultdict(set)
    having: set[int] = set()
    for seq in range(store.first_seq, store.next_seq):
        record = store.record(seq)
        if "ret" in record.values:
            text = dict(watch.event_fields.values(record))["ret"]
            shown[text].add(seq)
            numbers[text].add(record.values["ret"])
            having.add(seq)
    assert len(numbers["-ENXIO"]) == 3 and len(shown["-ENXIO"]) == 8
    sorts = Filter().sorts(watch)
    for text, events in shown.items():
        if errno_of(text) is None:
            continue
        for seq in events:
            record = store.record(seq)
            cells = dict(watch.event_fields.values(record))
            assert _passing(watch, clause_of(record, column, True, sorts, cells)) == events
        assert _passing(watch, clause_of(record, column, False, sorts, cells)) == having - events


def test_a_value_of_the_summary_shows_the_events_that_it_counts(watch):
    summary = Summary(watch.store)
    counts = {one: summary.count_also(*one) for one in subjects_of(watch, watch.store) if one.field}
    while summary.backlog:
        summary.tick(1.0)
    for rows in (tasks_of(watch.store, summary), *(values_of(watch, counted) for counted in counts.values())):
        for row in rows:
            if row.condition and not row.error:
                assert len(_passing(watch, row.condition)) == row.hits, row.condition
    assert any(one.field == "func" and counted.boots for one, counted in counts.items())
