"""Records of BPF ring buffers as sub-buffers: a store reads back what was recorded, and where something was lost."""

from __future__ import annotations

import struct
from itertools import takewhile
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.bpf_layout import LOSS_NOTICE, RECORD_DATA, STACK_BYTES, STACK_FRAMES, event_shift, stack_format
from events.bpf_records import RecordConverter, StackPart
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.stacks.addresses import stack_event_addresses
from events.store.columns import is_number
from events.store.store import Store
from probes.bpf.record import RecordLayout, stored_type

HEADER = HeaderPage()
IDS = (0x8000, 0x8001)
SMALL, LARGE = RECORD_DATA + 8, RECORD_DATA + 128
"""Sizes of the short and the long form of an event."""


class Recorded(NamedTuple):
    """What a program recorded."""

    ts: int
    pid: int
    lost: int
    id: int
    value: int
    comm: str = "task"

    def raw(self, size: int) -> bytes:
        head = struct.pack("<QIIII16sQ", self.ts, self.pid, self.lost, 0, self.id, self.comm.encode(), self.value)
        return struct.pack("<II", size, 0) + head.ljust(size, b"\xee")


def store_of(size: int) -> Store:
    """A store with two events, each with one number."""
    formats = {}
    for number in IDS:
        offset = RECORD_DATA + event_shift(size)
        text = f"name: e{number}\nID: {number}\nformat:\n" + "".join(
            f"\tfield:{kind} {name};\toffset:{at};\tsize:{bytes_};\tsigned:{int(kind == 'int')};\n"
            for kind, name, at, bytes_ in (
                ("unsigned short", "common_type", 0, 2),
                ("int", "common_pid", 4, 4),
                ("u64", "value", offset, 8),
            )
        )
        formats[number] = parse_format(text, "pw")
    return Store(Decoder(formats, HEADER))


def feed(
    store: Store, converter: RecordConverter, records: list[Recorded], size: int, cpu: int = 0, ring: int = 1
) -> Batch:
    data = b"".join(record.raw(size) for record in records)
    batch = converter.converted(Batch((Chunk(cpu, data, ring=ring),), drained=True))
    store.feed(batch)
    return batch


def rows(store: Store) -> list[tuple[int, int, int, int]]:
    store.flush()
    found = []
    for seq in range(store.first_seq, store.next_seq):
        record = store.record(seq)
        value = record.values["value"]
        found.append((record.ts, record.pid, store.row(seq).id, int(str(value), 0)))
    return found


STACK_ID = 0x8002


@given(
    records=st.lists(
        st.tuples(st.integers(1, 9), st.lists(st.integers(1, 2**64 - 2), max_size=STACK_FRAMES), st.booleans()),
        max_size=30,
    ),
    size=st.sampled_from((SMALL, LARGE)),
    passes=st.integers(1, 3),
)
def test_a_stack_behind_a_record_is_that_of_its_event(
    records: list[tuple[int, list[int], bool]], size: int, passes: int
) -> None:
    store, converter = store_of(size), RecordConverter(HEADER)
    store.use({STACK_ID: parse_format(stack_format(STACK_ID), "ftrace")})
    store.expect_stacks({"pw/e32768"})
    converter.sizes[1], converter.stacks[1] = size + STACK_BYTES, StackPart(size, STACK_ID)
    raw, expected = [], []
    for number, (pid, frames, failed) in enumerate(records):
        own = Recorded(1000 + number, pid, 0, IDS[0], number).raw(size)[8:]
        addresses = struct.pack(f"<{len(frames)}Q", *frames).ljust(8 * STACK_FRAMES, b"\xee")
        raw.append(struct.pack("<II", size + STACK_BYTES, 0) + own)
        raw[-1] += struct.pack("<q", -14 if failed else 8 * len(frames)) + addresses
        expected.append((number, () if failed else tuple(frames)))
    for at in range(passes):
        part = b"".join(raw[at * len(raw) // passes : (at + 1) * len(raw) // passes])
        store.feed(converter.converted(Batch((Chunk(0, part, ring=1),), drained=True)))
    store.flush()
    found = []
    for seq in range(store.first_seq, store.next_seq):
        record = store.record(seq)
        (stack,) = record.stacks
        addresses_found = stack_event_addresses(stack)
        found.append((int(str(record.values["value"]), 0), addresses_found))
    assert found == [(number, tuple(takewhile(lambda one: one != 2**32 - 1, frames))) for number, frames in expected]
    assert converter.broken_chunks == 0


pauses = st.sampled_from([0, 1, 900, (1 << 27) - 1, 1 << 27, 1 << 40]) | st.integers(0, 5000)


@st.composite
def recordings(draw: st.DrawFn) -> list[list[Recorded]]:
    """Passes of one CPU's ring buffer, with pauses between its records."""
    passes, ts = [], draw(st.integers(1, 1 << 50))
    for _ in range(draw(st.integers(1, 2))):
        one = []
        for _ in range(draw(st.integers(1, 60))):
            ts += draw(pauses)
            one.append(
                Recorded(ts, draw(st.integers(1, 9)), 0, draw(st.sampled_from(IDS)), draw(st.integers(0, 1 << 62)))
            )
        passes.append(one)
    return passes


@pytest.mark.parametrize("size", [SMALL, LARGE])
@given(passes=recordings())
def test_all_that_was_recorded_is_read_back(size: int, passes: list[list[Recorded]]) -> None:
    store, converter = store_of(size), RecordConverter(HEADER)
    converter.sizes[1] = size
    for one in passes:
        feed(store, converter, one, size)
    assert rows(store) == [(one.ts, one.pid, one.id, one.value) for each in passes for one in each]
    assert (store.undecodable, store.lost_events, converter.broken_chunks) == (0, 0, 0)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_a_loss_is_where_it_was_with_its_number(size: int) -> None:
    store, converter = store_of(size), RecordConverter(HEADER)
    converter.sizes[1] = size
    feed(
        store,
        converter,
        [Recorded(100, 1, 0, IDS[0], 1), Recorded(200, 1, 0, IDS[0], 2), Recorded(300, 1, 5, IDS[0], 3)],
        size,
    )
    feed(store, converter, [Recorded(400, 1, 5, IDS[0], 4), Recorded(500, 1, 12, IDS[0], 5)], size)
    store.flush()
    assert store.overrun == {0: 12}
    lacks = store.loss_spans.latest.may_lack_events
    assert [lacks(start, start + 99) for start in (100, 201, 301, 401)] == [False, True, False, True]


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_a_notice_tells_a_loss_that_no_record_tells_yet(size: int) -> None:
    store, converter = store_of(size), RecordConverter(HEADER)
    converter.sizes[1] = size
    notice = struct.pack("<II", size | LOSS_NOTICE, 0) + struct.pack("<QIIII", 0, 0, 7, 0, 0).ljust(size, b"\0")
    data = Recorded(100, 1, 2, IDS[0], 1).raw(size) + notice
    store.feed(converter.converted(Batch((Chunk(0, data, ring=1),), drained=True)))
    assert [row[3] for row in rows(store)] == [1]
    assert converter.lost(1) == {0: 7}
    feed(store, converter, [Recorded(200, 1, 9, IDS[0], 2)], size)
    store.flush()
    assert converter.lost(1) == store.overrun == {0: 9}
    assert store.loss_spans.latest.may_lack_events(101, 199)
    assert converter.broken_chunks == 0
    converter.forget(1)
    assert converter.lost(1) == {}


def test_a_loss_of_one_ring_buffer_reaches_back_to_its_own_last_record() -> None:
    store, converter = store_of(SMALL), RecordConverter(HEADER)
    converter.sizes |= {1: SMALL, 2: SMALL}
    feed(store, converter, [Recorded(100, 1, 0, IDS[0], 1)], SMALL, ring=1)
    feed(store, converter, [Recorded(900, 1, 0, IDS[1], 1)], SMALL, ring=2)
    feed(store, converter, [Recorded(1000, 1, 3, IDS[0], 1)], SMALL, ring=1)
    store.flush()
    assert store.loss_spans.latest.may_lack_events(101, 800)


def test_a_time_that_goes_back_by_an_interrupt_keeps_the_place_in_the_buffer() -> None:
    store, converter = store_of(SMALL), RecordConverter(HEADER)
    converter.sizes[1] = SMALL
    feed(
        store,
        converter,
        [Recorded(500, 1, 0, IDS[0], 1), Recorded(490, 1, 0, IDS[0], 2), Recorded(600, 1, 0, IDS[0], 3)],
        SMALL,
    )
    assert [(row[0], row[3]) for row in rows(store)] == [(500, 1), (500, 2), (600, 3)]


def test_a_loss_within_an_interrupted_program_is_counted_once() -> None:
    """The program was interrupted between its place in the buffer and its look at the losses."""
    store, converter = store_of(SMALL), RecordConverter(HEADER)
    converter.sizes[1] = SMALL
    feed(store, converter, [Recorded(100, 1, 4, IDS[0], 1), Recorded(200, 1, 3, IDS[1], 2)], SMALL)
    feed(store, converter, [Recorded(300, 1, 4, IDS[0], 3), Recorded(400, 1, 6, IDS[1], 4)], SMALL)
    store.flush()
    assert store.overrun == {0: 6}
    assert [row[3] for row in rows(store)] == [1, 2, 3, 4]


@given(st.integers(0, 1 << 32), st.lists(st.integers(0, 1000), min_size=1, max_size=20))
def test_the_number_of_losses_goes_on_where_its_32_bits_end(first: int, more: list[int]) -> None:
    store, converter = store_of(SMALL), RecordConverter(HEADER)
    converter.sizes[1] = SMALL
    converter._state[1, 0] = 0, first & 0xFFFFFFFF
    total = first
    for number, one in enumerate(more):
        total += one
        feed(store, converter, [Recorded(100 + number, 1, total & 0xFFFFFFFF, IDS[0], number)], SMALL)
    store.flush()
    assert store.overrun.get(0, 0) == sum(more)


@given(
    masks=st.lists(st.integers(0, (1 << 32) - 1) | st.just(0), min_size=1, max_size=30),
    kinds=st.lists(st.sampled_from(["u8", "s16", "x32", "u64", "string", "u8[3]"]), min_size=1, max_size=34),
)
def test_a_number_that_could_not_be_read_is_missing_and_no_other(masks: list[int], kinds: list[str]) -> None:
    """In rows and in columns; a text says it itself, and the last fields share a bit."""
    named = [(f"f{number}", kind) for number, text in enumerate(kinds) if (kind := stored_type(text)) is not None]
    layout = RecordLayout.of(named)
    fmt = parse_format(layout.format_text("event", IDS[0], layout.size), "pw")
    assert [field.name for field in fmt.fields] == [name for name, _ in named]
    store, converter = Store(Decoder({IDS[0]: fmt}, HEADER)), RecordConverter(HEADER)
    converter.sizes[1] = layout.size
    data = b""
    for number, mask in enumerate(masks):
        head = struct.pack("<QIIII16s", 100 + number, 1, 0, mask, IDS[0], b"task")
        data += struct.pack("<II", layout.size, 0) + head + bytes(layout.size - len(head))
    store.feed(converter.converted(Batch((Chunk(0, data, ring=1),), drained=True)))
    store.flush()
    (table,) = store.columns(0, len(masks)).tables.values()
    for number, (field, text) in enumerate(zip(fmt.fields, kinds, strict=True)):
        tells = text != "string" and number < 31
        wanted = [bool(mask >> number & 1) and tells for mask in masks]
        assert [store.record(seq).values[field.name] is None for seq in range(len(masks))] == wanted
        if is_number(field):
            missing = table.column(field).missing
            assert (missing.tolist() if missing is not None else [False] * len(masks)) == wanted


def test_names_of_threads_come_from_the_records() -> None:
    store, converter = store_of(SMALL), RecordConverter(HEADER)
    converter.sizes[1] = SMALL
    feed(
        store,
        converter,
        [
            Recorded(1, 7, 0, IDS[0], 1, "sh"),
            Recorded(2, 8, 0, IDS[0], 1, "cat"),
            Recorded(3, 7, 0, IDS[0], 1, "ls"),
            Recorded(4, 0, 0, IDS[0], 1, "swapper/0"),
        ],
        SMALL,
    )
    assert converter.comms == {7: "ls", 8: "cat"}


@given(st.binary(max_size=400), st.integers(0, 3))
def test_bytes_that_are_no_records_are_counted_and_nothing_else(data: bytes, ring: int) -> None:
    store, converter = store_of(SMALL), RecordConverter(HEADER)
    converter.sizes[1] = SMALL
    good = Recorded(5, 1, 0, IDS[0], 9).raw(SMALL)
    batch = converter.converted(Batch((Chunk(0, good + data, ring=1), Chunk(1, data, ring=2)), drained=True))
    store.feed(batch)
    if data[:4] != good[:4]:
        assert [row[3] for row in rows(store)] == [9]
        assert converter.broken_chunks == 1 + bool(data)


def test_what_is_of_the_trace_instance_is_left_as_it_is() -> None:
    batch = Batch((Chunk(0, b"page"), Chunk(-1, b"line", text=True)), drained=False)
    assert RecordConverter(HEADER).converted(batch) is batch
