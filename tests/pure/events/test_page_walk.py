"""All sub-buffers at once give what one after the other gives, whatever their bytes are."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.format import ByteOrder, HeaderPage
from events.store import page_headers, page_walk
from events.subbuffer import TS_LIMIT, index
from tests.events_data import KERNELS, SETS, captured, entry, event, page, u32, word

HEADERS = [HeaderPage(order, size, 8 + size, 4096 - 8 - size) for order in ("little", "big") for size in (4, 8)]
BASE = 5 << 22


@pytest.fixture(params=[(1, 1), (1, 3), (1, 16), (64, 16), (16, 4)], ids=str)
def limits(request, monkeypatch):
    """How few pages go the slow way: also none."""
    monkeypatch.setattr(page_walk, "MANY", request.param[0])
    monkeypatch.setattr(page_walk, "_FEW", request.param[1])


def same(pages: list[bytes], header: HeaderPage, parts: int = 1) -> int:
    """Compare both ways, in one part or in several; gives the number of events."""
    cuts = [len(pages) * n // parts for n in range(parts + 1)]
    made = []
    for number, (first, after) in enumerate(pairwise(cuts)):
        own = pages[first:after]
        made.append(page_walk.PageGroup(b"".join(own), [0, *accumulate(map(len, own))], BASE * (number + 1)))
    slow = [index(part.data, part.bounds, header, part.base) for part in made]
    fast, broken = page_walk.index(made, header)
    assert broken == sum(one.undecodable for one in slow)
    for ours, theirs in zip(fast, slow, strict=True):
        assert [column.tolist() for column in ours] == list(theirs[:3])
    return sum(len(one.stamps) for one in slow)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", SETS)
def test_real_pages(kernel, name, limits):
    taken = captured(kernel, name)
    size = taken.decoder.header.page_size
    pages = [raw[at : at + size] for raw in taken.raw.values() for at in range(0, len(raw), size)]
    assert same(pages * 12, taken.decoder.header) > 100
    assert same(pages * 12, taken.decoder.header, 7) > 100


@st.composite
def pieces(draw: st.DrawFn, order: str) -> bytes:
    """Something that can stand in a sub-buffer, or nearly."""
    kind = draw(st.sampled_from(["event", "event", "event", "long", "extend", "stamp", "gone", "end", "noise"]))
    delta = draw(st.integers(0, 1 << 20))
    if kind in ("event", "long"):
        made = entry(draw(st.integers(0, 3000)), 1, bytes(draw(st.integers(0, 40)) * 4), order)
        return event(made, delta, order, long_form=kind == "long")
    if kind in ("extend", "stamp"):
        high = draw(st.sampled_from([0, 1, 1 << 20, (1 << 32) - 1]))
        return word(30 if kind == "extend" else 31, delta, order) + u32(high, order)
    if kind == "gone":
        words = draw(st.integers(1, 5))
        return word(29, draw(st.sampled_from([1, 9])), order) + u32(words * 4, order) + bytes(words * 4 - 4)
    if kind == "end":
        return word(29, 0, order) + bytes(4 * draw(st.integers(0, 3)))
    return draw(st.binary(min_size=4, max_size=12).filter(lambda noise: len(noise) % 4 == 0))


@st.composite
def made_pages(draw: st.DrawFn, header: HeaderPage) -> bytes:
    data = b"".join(draw(st.lists(pieces(header.byteorder), max_size=12)))[: header.data_size]
    ts = draw(st.sampled_from([0, 5, 1 << 40, (0x20 << 56) | 7, (1 << 63) - (1 << 51), (1 << 63) - 1, 1 << 63]))
    made = bytearray(page(ts, data, header, draw(st.sampled_from([0, 0, 1 << 31, 4, 4096]))))
    for place in draw(st.lists(st.integers(0, len(data) // 4 + 4), max_size=2)):
        made[place * 4 : place * 4 + 4] = u32(draw(st.integers(0, 0xFFFFFFFF)), header.byteorder)
    whole = st.sampled_from([len(made)] * 4 + [header.data_offset + len(data), 0, 12, 20, 40])
    return bytes(made[: draw(whole)])


@settings(max_examples=150)
@given(st.data(), st.sampled_from(HEADERS))
@pytest.mark.parametrize("few", [1, 4])
def test_made_and_damaged_pages(few, data, header):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_walk, "MANY", 1)
        patch.setattr(page_walk, "_FEW", few)
        pages = data.draw(st.lists(made_pages(header), min_size=1, max_size=8))
        same(pages, header, data.draw(st.integers(1, len(pages))))


@st.composite
def long_pages(draw: st.DrawFn, header: HeaderPage) -> bytes:
    """Pages as the kernel writes them, with many events: extends, stamps and discarded events as often as not."""
    order: ByteOrder = header.byteorder
    often = draw(st.integers(0, 10))
    stamp = draw(st.integers(1, 1 << 50))
    made = b""
    for choice in draw(st.lists(st.integers(0, 20), min_size=1, max_size=70)):
        kind, delta = choice if choice < often else -1, draw(st.integers(0, 1000))
        if kind in (1, 2):
            made += word(30, delta, order) + u32(draw(st.integers(0, 1 << 10)), order)
        elif kind in (3, 4):
            stamp += draw(st.integers(0, 1 << 40))
            made += word(31, stamp & ((1 << 27) - 1), order) + u32(stamp >> 27, order)
        elif kind == 5:
            made += word(29, delta + 1, order) + u32(8, order) + bytes(4)
        made += event(entry(choice, 1, bytes(4 * draw(st.integers(0, 9))), order), delta, order, long_form=kind == 6)
    return page(draw(st.integers(0, 1 << 50)), made, header)


@settings(max_examples=100)
@given(st.data(), st.sampled_from(HEADERS))
def test_pages_of_many_events_without_the_loop_in_python(data, header):
    pages = data.draw(st.lists(long_pages(header), min_size=1, max_size=5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_walk, "MANY", 1)
        patch.setattr(page_walk, "_FEW", 1)
        patch.setattr(page_walk, "index_slowly", None)
        same(pages, header)


STAMP = word(31, 5) + u32(9)
LATE = (1 << 59) - 1000
ONE = event(entry(1, 1), 3)
CASES = {
    "a stamp at the beginning and at the end": (7, STAMP + ONE + STAMP),
    "two stamps, the later one earlier": (7, word(31, 5) + u32(10) + ONE + STAMP + ONE),
    "a stamp that lacks the top bits": (LATE, ONE + STAMP + ONE),
    "deltas up to where a stamp lacks the top bits": (LATE, event(entry(1, 1), 2000) + STAMP + ONE),
    "a stamp just below": (7, word(31, (1 << 27) - 1) + u32((1 << 32) - 1) + ONE + STAMP + ONE),
    "extends that are too long together": (7, (word(30, 0) + u32((1 << 32) - 1)) * 40 + ONE),
    "extends beyond the latest time": (TS_LIMIT - 9, ONE + word(30, 9) + u32(0) + ONE),
    "an extend cut off": (7, ONE + word(30, 1)),
    "padding to the end": (7, ONE + word(29, 0) + bytes(8)),
    "padding to the end, with a length and an event in it": (7, ONE + word(29, 0) + u32(8) + bytes(4) + ONE),
    "discarded, its length behind the data": (7, ONE + word(29, 1)),
    "discarded, longer than the data": (7, ONE + word(29, 1) + u32(400)),
    "too short for its length": (7, ONE + word(0, 1) + u32(4) + ONE),
    "of almost 32 bits of length": (7, ONE + word(0, 1) + u32(0xFFFFFFFF) + bytes(80)),
    "an event that ends behind the data": (7, ONE + word(28, 1) + bytes(8)),
    "an event behind the last event that ends behind the data": (7, ONE * 20 + word(2, 1)),
}


@pytest.mark.parametrize("cut", [0, 1, -1, 4000])
@pytest.mark.parametrize("name", CASES)
def test_what_a_page_may_hold_beside_others(name, cut, monkeypatch):
    """Also in pages that are cut off behind the data (0: right there) or in them, and as the last of all."""
    monkeypatch.setattr(page_walk, "MANY", 1)
    monkeypatch.setattr(page_walk, "_FEW", 1)
    header = HeaderPage()
    ts, data = CASES[name]
    case = page(ts, data, header)[: 16 + len(data) + 4 * cut]
    full = page(0, event(entry(7, 1, bytes(40)), 5) * 70, header)
    for pages in ([case], [full, case], [case, full, full], [case, case, full, page(3, b"", header), case]):
        same(pages, header)


def test_one_page_that_is_much_longer_than_the_others():
    header = HeaderPage("little", 8, 16, 65536 - 16)
    short = page(9, event(entry(7, 1), 5) * 3, header)
    long = page(1, event(entry(8, 1), 2) * 5000, header)
    assert same([short] * 80 + [long] + [short] * 80, header) == 160 * 3 + 5000


def test_what_is_dense():
    header = HeaderPage()
    full = page(1, event(entry(7, 1, bytes(40)), 5) * 78, header)
    assert page_headers.is_dense(full * 3, header)
    assert not page_headers.is_dense(full + page(1, event(entry(7, 1), 5), header) + full, header)
    assert not page_headers.is_dense(full * 9 + page(1, b"", header), header)
    overrun = page(1, full[16:4000], header, 1 << 31)
    assert page_headers.is_dense(overrun + full * 9, header)
    assert page_headers.pages_after_loss(full * 9, header) == []
    assert page_headers.pages_after_loss(overrun + full * 9 + overrun * 2, header) == [0, 10, 11]
    assert not page_headers.is_dense(full * 9 + full[:8] + u32(5000) + full[12:], header)
