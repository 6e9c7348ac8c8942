"""Sub-buffers made by hand: every type of event, both byte orders, both sizes of a long, and bytes that are none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.format import HeaderPage
from events.names.kernel_text import kernel_text
from events.record import detail
from events.store.store import Store
from events.subbuffer import WORD_BITS, WORD_MASK, commit, count, count_overwritten, index, payload, trim, walk
from tests.events_data import captured, entry, event, formats_of, page, u32, word

HEADERS = [
    HeaderPage(order, size, 8 + size, page_size - 8 - size)
    for order in ("little", "big")
    for size in (4, 8)
    for page_size in (4096, 65536)
]
MISSED_EVENTS, MISSED_STORED = 1 << 31, 1 << 30


@pytest.mark.parametrize("header", HEADERS, ids=str)
def test_every_type_of_event(header):
    order = header.byteorder
    start = header.data_offset
    data = b"".join(
        (
            event(entry(7, 1, order=order), 5, order),
            word(30, 3, order) + u32(2, order),  # time extend
            event(entry(8, 2, bytes(100), order), 11, order),
            word(29, 9, order) + u32(8, order) + bytes(4),  # a discarded event
            event(entry(9, 3, bytes(200), order), 1, order),  # type_len 0
            word(31, 17, order) + u32(1, order),  # absolute stamp
            event(entry(7, 4, order=order), 2, order, long_form=True),
            word(29, 0, order),  # nothing behind this one
            bytes(16),
        )
    )
    made = page(1000, data, header)
    first = 1000 + 5
    second = first + (2 << 27) + 3 + 11
    third = second + 9 + 1
    fourth = (1 << 27) + 17 + 2
    expected = [
        (first, start + 4, 8),
        (second, start + 12 + 8 + 4, 108),
        (third, start + 12 + 8 + 112 + 12 + 8, 208),
        (fourth, start + 12 + 8 + 112 + 12 + 216 + 8 + 8, 8),
    ]
    assert walk(made, header) == expected
    assert count(made, header) == 4
    walked = index(made * 2, (0, len(made), 2 * len(made)), header, 5 << WORD_BITS)
    assert walked.ids == [7, 8, 9, 7] * 2
    assert [payload(made * 2, key & WORD_MASK, header)[0] for key in walked.keys] == [
        at + page_start for page_start in (0, len(made)) for _, at, _ in expected
    ]
    assert {key >> WORD_BITS for key in walked.keys} == {5}
    assert walked.undecodable == 0
    assert commit(made, header) == len(data)
    assert trim(made, header) == made[: start + len(data)]


def test_absolute_stamp_takes_its_top_bits_from_before():
    header = HeaderPage()
    high = 0x20 << 56
    stamp = word(31, 0x123) + u32(0xFFFFFFFF)
    made = page(high | 5, stamp + event(entry(1, 1), 4), header)
    assert walk(made, header)[0][0] == high | (0xFFFFFFFF << 27) + 0x123 + 4
    # Bit 59 has turned over since: rb_fix_abs_ts() adds it.
    made = page(high | (1 << 58), word(31, 7) + u32(0) + event(entry(1, 1), 0), header)
    assert walk(made, header)[0][0] == high + (1 << 59) + 7


@pytest.mark.parametrize("header", HEADERS, ids=str)
def test_missed_events(header):
    data = event(entry(7, 1, order=header.byteorder), 5, header.byteorder)
    assert count_overwritten(page(1, data, header), header) == 0
    assert count_overwritten(page(1, data, header, MISSED_EVENTS | MISSED_STORED, 9199), header) == 9199
    assert count_overwritten(page(1, data, header, MISSED_EVENTS), header) == -1
    assert walk(page(1, data, header, MISSED_EVENTS | MISSED_STORED, 9199), header) == walk(
        page(1, data, header), header
    )


def test_sign_extended_commit():
    header = HeaderPage()
    data = event(entry(7, 1), 5)
    made = bytearray(page(1, data, header, MISSED_EVENTS | MISSED_STORED, 3))
    made[12:16] = b"\xff" * 4
    assert (count(bytes(made), header), count_overwritten(bytes(made), header)) == (1, 3)


def test_full_page_has_no_room_for_the_number_of_missed_events():
    header = HeaderPage()
    data = event(entry(7, 1), 5) * (header.data_size // 12)
    made = page(1, data, header, MISSED_EVENTS | MISSED_STORED)
    assert len(data) == header.data_size
    assert count_overwritten(made, header) == -1


@pytest.mark.parametrize(
    "data",
    [
        event(entry(7, 1), 5)[:-4],  # ends behind the data
        word(0, 1) + u32(3),  # a length below its own
        word(0, 1) + u32(1 << 31) + bytes(8),
        word(30, 1),  # half a time extend
        word(29, 1) + u32(4000),
        word(30, (1 << 27) - 1) + u32(0xFFFFFFFF) + (word(30, (1 << 27) - 1) + u32(0xFFFFFFFF)) * 20,
    ],
)
@pytest.mark.parametrize("before", [b"", event(entry(7, 1), 5)])
def test_what_cannot_be_is_counted(data, before):
    header = HeaderPage()
    columns = index(page(10, before + data, header), (0, header.page_size), header)
    assert columns.undecodable == 1
    assert len(columns.stamps) == len(columns.keys) == len(columns.ids) == bool(before)


def test_a_commit_behind_the_page_is_counted_and_the_rest_read():
    header = HeaderPage()
    made = bytearray(page(10, event(entry(7, 1), 5) * 3, header))
    made[8:12] = (header.data_size + 4).to_bytes(4, "little")
    assert index(bytes(made), (0, len(made)), header).undecodable == 1
    assert index(bytes(28), (0, 0, 12, 27), header).undecodable == 3


@st.composite
def broken_pages(draw):
    """A real sub-buffer with some words replaced, and perhaps cut."""
    name = draw(st.sampled_from(["my", "mixed", "ext"]))
    taken = captured(draw(st.sampled_from(["7.2", "6.12"])), name)
    size = taken.decoder.header.page_size
    number = draw(st.integers(0, len(taken.raw[0]) // size - 1))
    made = bytearray(taken.raw[0][number * size : (number + 1) * size])
    words = st.one_of(st.integers(0, 0xFFFFFFFF), st.sampled_from([0, 29, 30, 31, 32 * 5, 0xFFFFFFFF, 29 + 32]))
    places = st.one_of(st.integers(0, 40), st.integers(0, size // 4 - 1))
    for place, value in draw(st.lists(st.tuples(places, words), min_size=1, max_size=30)):
        made[place * 4 : place * 4 + 4] = value.to_bytes(4, "little")
    return bytes(made[: draw(st.one_of(st.just(size), st.integers(0, size)))])


@settings(max_examples=150)
@given(broken_pages(), st.sampled_from(["little", "big"]))
def test_broken_pages_never_raise(made, order):
    header = HeaderPage(order)
    store = Store(Decoder(formats_of("7.2"), header))
    store.feed(Batch((Chunk(0, made),), drained=True))
    store.flush()
    assert 0 <= count(made, header) <= len(made) // 8
    assert 0 <= len(store) <= len(made) // 8
    assert count_overwritten(made, header) >= -1
    for seq in range(store.first_seq, store.next_seq):
        record = store.record(seq)
        assert record.format is not None
        assert set(record.values) == set(record.format.names)
        assert kernel_text(record)
        assert len(detail(record)) == len(record.format.fields) + 4
    Decoder(formats_of("7.2"), header).page(made)


@settings(max_examples=100)
@given(st.binary(max_size=300), st.integers(0, 70), st.sampled_from(HEADERS))
def test_random_bytes_as_events_never_raise(data, ts, header):
    made = page(1 << ts if ts < 64 else 0, data[: len(data) & ~3], header)
    columns = index(made, (0, len(made)), header)
    assert all(0 <= stamp < 1 << 63 for stamp in columns.stamps)
    assert count(made, header) >= len(columns.stamps)
    assert walk(made, header) == walk(trim(made, header), header)
