"""A search never misses what the line of a record shows, and decodes few records for it."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.format import EventFormat, Field, HeaderPage
from events.names.number_names import NumberFormat
from events.record import Record
from events.search.find import find
from events.search.search import PLAIN, plain_text
from events.search.text_match import TextMatch
from events.store.store import Store
from tests.events_data import captured, entry, event, page, store_of
from tests.pure.events.test_columns import EV

NAMES = {7: "SEVEN", 255: "ff_all", 5: "a=b c"}
OBJECTS = {10**19: "tcp_prot", 2**64 - 11: "init_task+0x40"}
ERRORS = {-11: "EAGAIN", -2: "ENOENT"}


class Named:
    """A style with names, errors and hex, as the screen has them."""

    def text(self, record: Record) -> str:
        if record.format is None or record.text:
            return plain_text(record)
        shown = [
            f"{field.name}={self.show(field, record.values[field.name])}" for field in self.fields(record.format)
        ]
        return f"{record.comm}-{record.pid} {record.event} {' '.join(shown)}"

    def show(self, field: Field, value) -> str:
        reading = self.reading(EV, field)
        if type(value) is not int:
            return "(fault)" if value is None else str(value)
        if reading.names:
            named = reading.names(value)
            if named:
                return named
        return hex(value) if reading.hexadecimal and value > 9 else str(value)

    def fields(self, fmt: EventFormat) -> tuple[Field, ...]:
        return tuple(field for field in fmt.fields if field.name != "f4")

    def reading(self, fmt: EventFormat, field: Field) -> NumberFormat:
        if field.name in ("f5", "f0"):
            return NumberFormat(names=lambda value: ERRORS.get(value, ""), only_errors=True)
        if field.name in ("f1", "f9"):
            return NumberFormat(names=lambda value: NAMES.get(value, ""))
        if field.type == "bool":
            return NumberFormat(names=lambda value: str(bool(value)))
        if field.name == "f8":
            return NumberFormat(hexadecimal=True, names=lambda value: OBJECTS.get(value, ""), lowest=min(OBJECTS))
        return NumberFormat(hexadecimal=field.name in ("f6", "f7", "__probe_ip"))


STYLES = {"plain": PLAIN, "named": Named()}


def made_record(rng: random.Random) -> bytes:
    numbers = [0, 5, 7, 10, 100, 105, 255, 1000, 2**31, 2**64 - 11, 2**64 - 2, 10**19, 2**64 - 1, 0x1F0]
    data = b""
    for field in EV.fields:
        value = rng.choice([*numbers, rng.randrange(1 << 64), rng.randrange(1000)])
        data += (value & ((1 << field.size * 8) - 1)).to_bytes(field.size, "little")
    text = rng.choice(
        [
            b"/etc/passwd\0",
            b"a=b f5=7 c\0",
            b"\xffab\0",
            b"x\xffKab\0",
            "Grün K\u212aZ\u0130".encode() + b"\0",
            b"-11 5\0",
            b"",
        ]
    )
    location = EV.fields[10]
    at = location.offset - 8
    data = data[:at] + (len(text) << 16 | EV.fields[-1].end).to_bytes(4, "little") + data[at + 4 :] + text
    chars = EV.fields[11].offset - 8
    data = data[:chars] + rng.choice([b"abc", b"x\0y", b"12\0"]) + data[chars + 3 :]
    return data[: rng.choice([len(data)] * 9 + [rng.randrange(len(data))])]


@cache
def made_store() -> Store:
    rng = random.Random(1)
    store = Store(Decoder({700: EV}, HeaderPage()))
    store.task_names.known = {n: rng.choice(["cat", "sh -7", "K\u212a0", "Xorg"]) for n in range(0, 50, 2)}
    for number in range(60):
        made = b"".join(event(entry(700, rng.randrange(50), made_record(rng)), 3) for _ in range(5))
        store.feed(Batch((Chunk(number % 2, page(number * 100, made, HeaderPage())),), True))
    store.flush()
    return store


@cache
def real_store() -> Store:
    taken = captured("7.2", "mixed")
    store = store_of(taken.decoder, taken.raw)
    store.task_names.known = {record.pid: f"task{record.pid}" for record in map(store.record, range(len(store)))}
    line = captured("7.2", "my").text[0][0].encode() + b"\n"
    store.feed(Batch((Chunk(-1, line, text=True),), True))
    return store


STORES = {"made": made_store, "real": real_store}


@cache
def lines(store: str, style: str) -> list[str]:
    return [STYLES[style].text(STORES[store]().record(seq)) for seq in range(len(STORES[store]()))]


@st.composite
def needles(draw: st.DrawFn, store: str, style: str) -> str:
    """Mostly parts of lines that are there."""
    line = draw(st.sampled_from(lines(store, style)))
    start = draw(st.integers(0, len(line) - 1))
    part = line[start : start + draw(st.integers(1, 14))]
    made = st.sampled_from(
        [
            "0",
            "00",
            "-",
            "-1",
            "=",
            " ",
            "1 f",
            "0x",
            "x1",
            "(fault)",
            "f5=-",
            "E",
            "e",
            "\\xff",
            "10",
            "k",
            "ff",
            "fa",
            "xf",
            "\\x",
            "xffab",
            "x\\xff",
            "=x\\xf",
            "k\u212a",
            "i\u0307",
        ]
    )
    return draw(
        st.sampled_from(
            [part, part.lower(), part.upper(), draw(made), draw(st.from_regex("[0-9]{1,3}", fullmatch=True))]
        )
    )


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("store", STORES)
@settings(max_examples=60)
@given(st.data())
def test_nothing_that_is_shown_is_missed(store, style, data):
    needle = data.draw(needles(store, style))
    match = TextMatch(needle, STYLES[style], STORES[store]().task_names.name, STORES[store]().task_names.all_names)
    found = STORES[store]()
    columns = found.columns(0, found.next_seq)
    candidates = match.candidates(columns).tolist()
    folded = needle.lower() == needle
    has = [needle in (line.lower() if folded else line) for line in lines(store, style)]
    assert not [line for line, hit, may in zip(lines(store, style), has, candidates, strict=True) if hit and not may]
    start, direction = data.draw(st.integers(0, len(found) - 1)), data.draw(st.sampled_from([1, -1]))
    rows = range(start, len(found)) if direction > 0 else range(start, -1, -1)
    expected = next((seq for seq in rows if has[seq]), None)
    assert find(found, needle, start, direction, 60, style=STYLES[style]).seq == expected


@pytest.mark.parametrize(
    "needle", ["f5=-11 f6", "f3=105 ", " f8=18446744073709551615", "-4 grp/ev f0=", "f6=0x1f0 f7"]
)
def test_few_records_are_decoded(needle):
    store, style = made_store(), Named() if "0x" in needle else PLAIN
    match = TextMatch(needle, style, store.task_names.name, store.task_names.all_names)
    candidates = match.candidates(store.columns(0, store.next_seq))
    assert 0 < candidates.sum() <= 3 + sum(needle in style.text(store.record(seq)) for seq in range(len(store)))


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("pid", True),
        ("d 8", True),
        ("pid 8 g", True),
        ("8 g", True),
        ("id 9", False),
        ("<...>", False),
        ("-8", False),
    ],
)
def test_a_task_without_a_name_is_found_by_its_id(text: str, seen: bool) -> None:
    store = Store(Decoder({700: EV}, HeaderPage()))
    made = event(entry(700, 8, made_record(random.Random(1))), 0)
    store.feed(Batch((Chunk(0, page(100, made, HeaderPage())),), True))
    store.flush()
    match = TextMatch(text, PLAIN, store.task_names.name, store.task_names.all_names)
    assert plain_text(store.record(0)).startswith("pid 8 g")
    assert match(store.record(0)) == seen
    assert bool(match.candidates(store.columns(0, 1))[0]) or not seen
