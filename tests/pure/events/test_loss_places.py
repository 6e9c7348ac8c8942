"""Losses among calls: calls that were whole before one are pairs, and each loss is looked at where it stands."""

from __future__ import annotations

import pytest

from events.batch import Batch, Chunk
from events.calls.calls import Calls
from events.decode import Decoder
from events.graph.live_tree import LiveTree
from events.losses import Loss
from events.store.store import Store
from events.subbuffer import MISSED_EVENTS
from tests.events_data import event, page
from tests.pure.events.test_calls import ENDS, FORMATS, HEADER, _record


def _sub_buffer(ts: int, flags: int = 0, size: int = 20) -> Batch:
    data = b"".join(event(_record(5, at % 2, 0, 0), 10) for at in range(size))
    return Batch((Chunk(0, page(ts, data, HEADER, flags)),), drained=True)


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("looks", [False, True])
def test_calls_of_the_sub_buffer_before_a_loss_are_pairs(together: bool, looks: bool) -> None:
    """What was overwritten came behind them, whenever somebody looks and however the sub-buffers were read."""
    store = Store(Decoder(dict(FORMATS), HEADER))
    calls, graph = Calls(store), LiveTree(store, ENDS)
    calls.use(ENDS)
    batches = [_sub_buffer(1_000), _sub_buffer(1_000_000, MISSED_EVENTS)]
    if together:
        size = HEADER.page_size
        data = b"".join(batch.chunks[0].data.ljust(size, b"\0")[:size] for batch in batches)
        batches = [Batch((Chunk(0, data),), drained=True)]
    for batch in batches:
        store.feed(batch)
        if looks or batch is batches[-1]:
            store.flush()
            while calls.backlog or graph.backlog:
                calls.tick(1.0)
                graph.tick(1.0)
    # Of the first call behind a loss it is not sure whether it is around another one, whose exit was missed.
    assert calls.paired == 19
    assert graph.tree.closed >= 19


def test_losses_that_stand_behind_the_rows_are_not_looked_at() -> None:
    class Counted(Loss):
        looks = 0

        @property
        def ts(self) -> int:  # type: ignore[override]
            Counted.looks += 1
            return self[0]

    store = Store(Decoder(dict(FORMATS), HEADER))
    for n in range(400):
        store.losses.add(Counted(10_000 * n, 0, 1, store.next_seq))
        store.feed(_sub_buffer(10_000 * n, size=100))
        store.flush()
    calls = Calls(store)
    while calls.backlog:
        calls.tick()
    assert calls.losses == 400
    assert Counted.looks <= 2 * 400 + 8


def test_a_loss_without_an_event_behind_it_has_its_row_when_times_begin_again() -> None:
    store = Store(Decoder(dict(FORMATS), HEADER))
    store.losses.add(Loss(1 << 50, 0, 1, 0))
    store.feed(_sub_buffer(1_000))
    store.flush()
    calls = Calls(store)
    calls.tick(1.0)
    assert calls.losses == 0
    store.begin_anew()
    store.feed(_sub_buffer(1_000))
    store.flush()
    calls.tick(1.0)
    assert calls.losses == 1
