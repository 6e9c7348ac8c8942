"""Keys of stacks: equal for equal stacks, and what they stand for is what each event's record says."""

from __future__ import annotations

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from events.aggregates.aggregate import Aggregate
from events.aggregates.event_columns import EventColumns
from events.aggregates.request import AggregateRequest
from events.batch import Batch, Chunk
from events.decode import Decoder
from events.stacks.addresses import stack_event_addresses
from events.store.store import Store
from tests.events_data import event, page
from tests.pure.events.test_stack import CARRIER, FORMATS, HEADER, STACK

ADDRESSES = st.lists(st.sampled_from([0x1004, 0x2008, 0xFFFFFFFF81000001, 0xFFFFFFFF81000002]), max_size=11)


@given(st.lists(st.one_of(st.none(), ADDRESSES), min_size=1, max_size=25), st.integers(1, 7))
@settings(deadline=None)
def test_groups_of_stacks_are_those_of_the_records(stacks, piece):
    store = Store(Decoder(FORMATS, HEADER))
    store.expect_stacks({CARRIER.path})
    data = b""
    more: list[Chunk] = []
    for number, stack in enumerate(stacks):
        data += event(struct.pack("<HBBiQ", CARRIER.id, 0, 0, 7, number), 1)
        if stack is not None:
            head = struct.pack("<HBBiii", STACK.id, 0, 0, 7, len(stack), 0)
            data += event(head + b"".join(struct.pack("<Q", one) for one in stack), 1)
        if len(data) > 2000:
            more.append(Chunk(0, page(1000 * (1 + len(more)), data, HEADER)))
            data = b""
    chunks = [*more, *([Chunk(0, page(1000 * (1 + len(more)), data, HEADER))] if data else [])]
    for chunk in chunks:
        store.feed(Batch((chunk,), drained=False))
    store.feed(Batch((), drained=True))
    store.flush()
    assert len(store) == len(stacks)
    request = AggregateRequest(("kstack",))
    found = Aggregate(store, request, lambda _: EventColumns(has_stacks=True), piece=piece)
    while found.backlog:
        found.tick(0.0)
    groups = {found.keys_of(group)[0].value: int(found.groups.counts[group]) for group in range(1, len(found.groups))}
    true: dict[tuple[int, ...] | None, int] = {}
    for seq in range(store.first_seq, store.next_seq):
        own = store.record(seq).stacks
        key = stack_event_addresses(own[0]) if own else None
        true[key] = true.get(key, 0) + 1
    assert groups == true
    assert sorted(map(str, true)) == sorted({str(None if one is None else tuple(one)) for one in stacks})
