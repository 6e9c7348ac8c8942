"""A condition says of whole columns what it says of each record; its text is read as the kernel reads filters."""

from __future__ import annotations

import fnmatch
import itertools
import random
import re
import struct
from collections.abc import Collection, Mapping
from decimal import Decimal
from functools import cache
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.conditions.comparison import NUMERIC, TextComparison
from events.conditions.condition_parser import (
    ConditionError,
    and_condition,
    condition_error,
    parse_condition,
    quote_value,
)
from events.conditions.field_kinds import ValueKind, value_kinds
from events.conditions.named_number import NoNumbers
from events.conditions.time_comparison import interval_clause, without_interval
from events.decode import Decoder
from events.format import EventFormat, Field, HeaderPage, parse_format
from events.kernel_time import seconds
from events.record import Record
from events.search.filtered_rows import FilteredRows
from events.search.sorted_rows import sort_rows
from events.store.store import Store
from tests.events_data import entry, event, page
from tests.pure.events.test_columns import EV
from tests.pure.events.test_search import made_store

FIELDS = value_kinds([EV], [field.name for field in EV.fields])
NUMBERS = sorted(name for name, sort in FIELDS.items() if sort is ValueKind.NUMBER)
OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "&")


@cache
def records() -> list[Record]:
    store = made_store()
    return [store.record(seq) for seq in range(len(store))]


def holding(text: str) -> list[int]:
    """Rows by the columns, which must be those by the records."""
    store = made_store()
    match = parse_condition(text, FIELDS, store.task_names.name)
    candidates = match.candidates(store.columns(0, store.next_seq)).tolist()
    assert candidates == [match(record) for record in records()]
    return [row for row, holds in enumerate(candidates) if holds]


@pytest.mark.parametrize(
    "text",
    ["f7>1000", "f8 <= 0x1f0", "f5<0", "f3 != 5", "f0 >= -2", "f2 > 0", "f5 == -EAGAIN", "f5 & 4", "cpu == 1",
     "pid > 3", "!(f5 < 0)", "f5 < 0 || f7 > 1000", "f5 < 0 && f7 > 1000", "f5 < 0 && (f7 > 1000 || !f3 == 5)"],
)  # fmt: skip
def test_numbers(text):
    rows = holding(text)
    assert 0 < len(rows) < len(made_store())


@pytest.mark.parametrize("field", NUMBERS)
@pytest.mark.parametrize("sign", ["<", ">", "=="])
def test_a_number_of_more_bits_than_any_field_has(field, sign):
    rows = holding(f"{field} {sign} {1 << 70}")
    assert bool(rows) == (sign == "<")


@settings(max_examples=40)
@given(st.sampled_from(NUMBERS), st.sampled_from(OPERATORS), st.integers(-(1 << 63), (1 << 64) - 1))
def test_columns_say_what_records_say(field, sign, number):
    rows, others = holding(f"{field} {sign} {number}"), holding(f"!({field} {sign} {number})")
    assert sorted([*rows, *others]) == [row for row, one in enumerate(records()) if one.values.get(field) is not None]


def strings() -> tuple[str, list[str]]:
    """A field of strings, with its values in the order of the rows; what the kernel could not read says so."""
    for field in sorted(FIELDS):
        values = [record.values.get(field) for record in records()]
        there = [value for value in values if isinstance(value, str)]
        if len(there) > len(values) / 2:
            return field, [value if isinstance(value, str) else "(fault)" for value in values]
    raise LookupError("no field of strings")


def test_texts():
    field, values = strings()
    some = random.Random(3).sample(sorted({value for value in values if "'" not in value}), 2)
    for text, holds in (
        (f"{field} == {quote_value(some[0])}", lambda value: value == some[0]),
        (f"{field} != {quote_value(some[0])}", lambda value: value != some[0]),
        (f"{field} ~ '*{some[0][1:3]}*'", lambda value: fnmatch.fnmatchcase(value, f"*{some[0][1:3]}*")),
        (f"{field} == {quote_value(some[0])} || {field} == {quote_value(some[1])}", lambda value: value in some),
    ):
        assert holding(text) == [row for row, value in enumerate(values) if holds(value)]


def test_what_every_event_has():
    store = made_store()
    record = store.record(0)
    assert holding(f"event == {record.event.rpartition('/')[2]}")
    assert holding(f"event == {record.event}") == holding(f"event == {record.event.rpartition('/')[2]}")
    assert holding(f"comm == '{record.comm}'")[0] == 0
    assert not holding("comm == nobody")


@pytest.mark.parametrize(
    ("text", "why", "at"),
    [
        ("", "a field", 0), ("f7", "==", 2), ("f7=5", "== compares", 2), ("> 5", "a field", 0),
        ("f7 >", "a value", 4), ("f7 > x", "f7 is a number, x is none", 5), ("f7 == ENOENT", "none: -ENOENT", 6),
        ("f7 ~ 5", "f7 is a number", 5), ("event > 5", "event is a text: == != ~", 6),
        ("f7 > 5 6", "&& or ||", 7),
        ("nosuch == 1", "no field nosuch", 0),
        ("task == wc", "no field task: did you mean comm?", 0),
        ("f5 < 0 && tid == 5", "no field tid: did you mean pid?", 10),
        ("cmm == cat", "no field cmm: did you mean comm?", 0),
        ("f5 < 0 && evnt == x", "no field evnt: did you mean event?", 10),
        ("(f7 > 5", ")", 7), ("f7 > 5 &&", "a field", 9), ("f7 & 0x10000000000000000", "64 bits", 5),
        ("!" * 60 + "f7 > 5", "deep", 50),
    ],
)  # fmt: skip
def test_what_is_no_condition(text, why, at):
    with pytest.raises(ConditionError, match=re.escape(why)) as caught:
        parse_condition(text, FIELDS, str)
    assert caught.value.at == at


@cache
def named_store() -> Store:
    """Events whose fields all have one number, in the bits that they are wide."""
    store = Store(Decoder({700: EV}, HeaderPage()))
    made = b""
    for number in (0, 1, 4, 5, 6, 200, -2, -1, 0xFFFF_FFFE):
        fields = [(number & (1 << 8 * one.width) - 1).to_bytes(one.width, "little") for one in EV.fields]
        made += event(entry(700, 1, b"".join(fields)), 3)
    store.feed(Batch((Chunk(0, page(100, made, HeaderPage())),), True))
    store.flush()
    return store


class Names(NoNumbers):
    """Names of the numbers of every number field: of bits, of no sign, and of a negative `int`."""

    NUMBERS = MappingProxyType({"BIT": 4, "ZERO": 0, "MINUS": -2, "ALL": 0xFFFF_FFFE})

    def names(self, field: str) -> Collection[str]:
        return self.NUMBERS if field in NUMBERS else ()

    def numbers(self, fmt: EventFormat, field: Field) -> Mapping[str, int]:
        return self.NUMBERS if field.name in NUMBERS else {}


@pytest.mark.parametrize("field", NUMBERS)
@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("name", Names.NUMBERS)
def test_the_name_of_a_number_is_the_number(field: str, sign: str, name: str) -> None:
    store = named_store()
    match = parse_condition(f"{field} {sign} {name}", FIELDS, store.task_names.name, numbers=Names())
    records = [store.record(seq) for seq in range(len(store))]
    found = match.candidates(store.columns(0, store.next_seq)).tolist()
    assert found == [match(record) for record in records]
    kind = next(one for one in EV.fields if one.name == field)
    wanted = {Names.NUMBERS[name]}
    if name == "MINUS" and not kind.signed:
        wanted = {Names.NUMBERS[name] + (1 << 8 * kind.width)}
    if name == "MINUS" and kind.width == 8 and sign in ("==", "!="):
        wanted |= {Names.NUMBERS[name] & 0xFFFF_FFFF}
    test = NUMERIC[sign]
    every = all if sign == "!=" else any
    assert found == [every(test(int(record.values[field]), number) for number in wanted) for record in records]


def test_a_name_that_no_number_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConditionError, match=r"f7 is a number, BIIT is none: did you mean BIT\?"):
        parse_condition("f7 == BIIT", FIELDS, str, numbers=Names())


def test_a_name_that_is_like_none_is_refused_with_those_that_the_field_takes() -> None:
    with pytest.raises(ConditionError, match=r"xyz is none; f7 takes a number or a name: \w+"):
        parse_condition("f7 == xyz", FIELDS, str, numbers=Names())
    with pytest.raises(ConditionError, match=r"xyz is none$"):
        parse_condition("f7 == xyz", FIELDS, str)


def test_a_number_that_is_too_long():
    with pytest.raises(ConditionError, match="is none"):
        parse_condition("f7 == " + "9" * 5000, FIELDS, str)


def test_what_is_too_long():
    with pytest.raises(ConditionError, match="too long"):
        parse_condition(" && ".join(["f7 > 5"] * 200), FIELDS, str)


def test_a_plain_text_is_no_broken_condition():
    assert not condition_error("vfs_read", FIELDS)
    assert not condition_error("=777", FIELDS)
    assert not condition_error("f7 > 5", FIELDS)
    assert condition_error("nosuch > 5", FIELDS) == "no field nosuch"
    assert condition_error("f7 > many", FIELDS) == "f7 is a number, many is none"


@given(st.text())
def test_any_text_is_a_condition_or_says_why_not(text):
    try:
        found = parse_condition(text, FIELDS, str)
    except ConditionError as error:
        assert 0 <= error.at <= len(text)
    else:
        assert found.fields <= {*FIELDS, "comm", "pid", "cpu", "event"}


@given(st.text())
def test_a_quoted_value_means_itself(value):
    try:
        text = quote_value(value)
    except ValueError:
        assert "'" in value
        assert '"' in value
        return
    for sort in (ValueKind.TEXT, ValueKind.UNKNOWN, ValueKind.MIXED):
        part = next(parse_condition(f"name == {text}", {"name": sort}, str).term.parts())
        assert isinstance(part, TextComparison)
        assert part.holds(value)
        assert not part.holds(value + "x")


@pytest.mark.parametrize("value", ["5s", "1.5ms", "-EAGAIN", "0x10", "123", "a[1]b"])
def test_a_value_that_looks_like_a_number_is_a_text_where_it_was_one(value):
    part = next(parse_condition(f"name == {quote_value(value)}", {"name": ValueKind.UNKNOWN}, str).term.parts())
    assert isinstance(part, TextComparison)
    assert part.holds(value)
    assert next(parse_condition(f"name == {value}", {"name": ValueKind.TEXT}, str).term.parts()) == TextComparison(
        "name", "==", value
    )


def test_a_pattern_is_the_kernels():
    part = next(parse_condition("name ~ 'a[12]?*'", {"name": ValueKind.TEXT}, str).term.parts())
    assert part.holds("a1bcd")
    assert not part.holds("a[12]bcd")
    assert not part.holds("A1bcd")
    other = next(parse_condition("name ~ '!a*'", {"name": ValueKind.TEXT}, str).term.parts())
    assert other.holds("b")
    assert not other.holds("ab")


def test_what_an_event_is_called_is_not_like_a_pattern_by_any_of_its_names():
    part = next(parse_condition("event ~ '!vfs*'", {}, str).term.parts())
    assert isinstance(part, TextComparison)
    assert not part.of_event("pw/vfs_read__entry")
    assert part.of_event("pw/ksys_read__entry")


@pytest.mark.parametrize(
    ("text", "number"), [("010", 8), ("-017", -15), ("0", 0), ("-0", 0), ("0x10", 16), ("10", 10)]
)
def test_a_number_is_read_as_the_kernel_reads_it(text, number):
    part = next(parse_condition(f"f7 == {text}", FIELDS, str).term.parts())
    assert part.number == number


def test_what_is_octal_by_its_zero_has_no_other_digits():
    with pytest.raises(ConditionError, match="is none"):
        parse_condition("f7 == 089", FIELDS, str)


def test_an_array_is_compared_with_nothing():
    with pytest.raises(ConditionError, match="no single value"):
        parse_condition("words == 5", {"words": ValueKind.NEITHER}, str)


def test_a_selection_is_found_as_events_come():
    whole = made_store()
    rows = [record.seq for record in records() if isinstance(f5 := record.values["f5"], int) and f5 < 0]
    chosen = FilteredRows(whole, parse_condition("f5 < 0", FIELDS, whole.task_names.name))
    assert (chosen.first, chosen.next, chosen.backlog) == (0, 0, len(whole))
    chosen.tick(60)
    assert [chosen.number(row) for row in range(chosen.first, chosen.next)] == rows
    assert not chosen.backlog
    for seq, row in itertools.product((0, rows[3], rows[3] + 1, rows[-1], len(whole)), range(1)):
        assert chosen.at(seq) + row == sum(one < seq for one in rows)
    with pytest.raises(IndexError):
        chosen.number(chosen.next)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ret == -ENOENT", [0]),
        ("ret != -ENOENT", [1, 2]),
        ("code == -ENOENT", [1]),
        ("ret == -2", []),
        ("ret & 1", [2]),
    ],
)
def test_the_name_of_an_error_is_that_of_a_pointer_too(text, wanted):
    """It reads so on the screen: what filp_open() returns is an address, or ERR_PTR(-ENOENT)."""
    lines = ("int common_pid;\toffset:4;\tsize:4;\tsigned:1", "u64 ret;\toffset:8;\tsize:8;\tsigned:0",
             "u32 code;\toffset:16;\tsize:4;\tsigned:0")  # fmt: skip
    fields = "".join(f"\tfield:{line};\n" for line in lines)
    fmt = parse_format(f'name: filp_open\nID: 701\nformat:\n{fields}\nprint fmt: ""\n', "pw")
    values = [((1 << 64) - 2, 5), (0xFFFF888003C1A2C0, (1 << 32) - 2), (1, 0)]
    data = b"".join(event(entry(701, 7, struct.pack("<QI", *value)), 1000) for value in values)
    store = Store(Decoder({701: fmt}, HeaderPage()))
    store.feed(Batch((Chunk(0, page(1000, data, HeaderPage())),), True))
    store.flush()
    match = parse_condition(text, value_kinds([fmt], fmt.names), store.task_names.name)
    assert np.flatnonzero(match.candidates(store.columns(0, 3))).tolist() == wanted
    assert [seq for seq in range(3) if match(store.record(seq))] == wanted


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("field", ["f5", "f10", "time", "cpu", "task", "event", "nosuch"])
def test_order(field, descending):
    store = made_store()
    seqs = sort_rows(store, range(len(store)), field, descending)
    assert sorted(seqs) == list(range(len(store)))

    def key(record: Record):
        own = {"time": record.ts, "cpu": record.cpu, "task": f"{record.comm}-{record.pid:010d}", "event": "ev"}
        value = own.get(field, record.values.get(field))
        return value if isinstance(value, int | str) else None

    there = [seq for seq in range(len(store)) if key(store.record(seq)) is not None]
    there.sort(key=lambda seq: key(store.record(seq)), reverse=descending)
    gone = [seq for seq in range(len(store)) if key(store.record(seq)) is None]
    if field == "time" and descending:  # sorted() keeps the order of equal times; time goes by numbers
        there = sorted(there, reverse=True)
    assert seqs == there + gone


@pytest.mark.parametrize("field", ["cpu", "task", "event", "f5"])
def test_order_of_a_selection_is_of_the_selection(field):
    store = made_store()
    chosen = FilteredRows(store, parse_condition("f5 < 0", FIELDS, store.task_names.name))
    chosen.tick(60)
    rows = [chosen.number(row) for row in range(chosen.next)]
    assert sorted(sort_rows(store, rows, field)) == rows


def test_order_of_events_that_came_as_text():
    lines = [
        f"  cat-{pid}     [00{pid % 3}] .....    1.00000{pid}: ev: (f+0x0/0x5) n={pid * 7 % 5}" for pid in range(1, 8)
    ]
    store = Store(Decoder({}, made_store().decoder.header))
    store.feed(Batch((Chunk(-1, "\n".join([*lines, ""]).encode(), text=True),), True))
    chosen = FilteredRows(store, parse_condition("pid > 2", {}, store.task_names.name))
    chosen.tick(60)
    rows = [chosen.number(row) for row in range(chosen.next)]
    records = [store.record(seq) for seq in sort_rows(store, rows, "cpu")]
    assert [record.cpu for record in records] == sorted(pid % 3 for pid in range(3, 8))
    assert [record.pid for record in records] == sorted(range(3, 8), key=lambda pid: pid % 3)


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("digits", [0, 3, 6, 7, 9])
@pytest.mark.parametrize("name", ["time", "TIME"])
def test_times_are_seconds_as_rows_show_them(operator, digits, name):
    """A time of microseconds means what is shown so; a longer one a nanosecond."""
    for record in records()[:: len(records()) // 3]:
        whole, rest = divmod(record.ts, 10**9)
        exact = f"{whole}.{rest:09d}" if digits > 6 else seconds(record.ts)
        text = exact[: len(exact) - 9 + digits] if digits > 6 else exact[: len(exact) - 6 + digits].rstrip(".")
        unit = 1 if digits > 6 else 1000
        wanted = int(Decimal(text) * 10**9) // unit
        expected = [
            other.seq
            for other in records()
            if COMPARED[operator]((other.ts + (500 if unit > 1 else 0)) // unit, wanted)
        ]
        assert holding(f"{name} {operator} {text}") == expected


COMPARED = {"==": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}


@given(st.integers(0, 2**62), st.integers(0, 2**62), st.sampled_from(["", "pid == 1", "a < 1 || b < 2"]))
def test_an_interval_is_added_and_taken_away_again(start, end, before):
    clause = interval_clause("time", start, end)
    both = and_condition(before, clause)
    assert without_interval(both) == (f"({before})" if "||" in before else before)
    assert without_interval(f"a < 1 || {clause}") == f"a < 1 || {clause}"
    assert without_interval(clause) == ""
    fields = {"a": ValueKind.NUMBER, "b": ValueKind.NUMBER}
    low, high = (part for part in parse_condition(clause, fields, str).term.parts())
    assert (low.low, high.low) == (start, end)
    if before:
        assert without_interval(before) == before
        assert parse_condition(both, fields, str)


@pytest.mark.parametrize(
    ("text", "message"),
    [("time > 10us", "latency is the time of a call"), ("time == now", "seconds of the kernel's clock"),
     ("time & 1", "time is a time"), ('time ~ "1*"', "time is a time"), ("time > -1", "seconds of the kernel")],
)  # fmt: skip
def test_other_texts_are_no_times(text, message):
    with pytest.raises(ConditionError, match=message):
        parse_condition(text, FIELDS, str)


def test_a_field_of_that_name_goes_first():
    own = {"time": ValueKind.NUMBER}
    parsed = parse_condition("time == 0x10 && TIME > 1.5", own, str)
    assert [type(part).__name__ for part in parsed.term.parts()] == ["NumberComparison", "TimeComparison"]


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("declared", ["u64", "u32", "s64", "s32"])
@pytest.mark.parametrize("is_unknown", [False, True])
def test_a_number_with_the_highest_bit_is_compared_as_the_kernel_does(operator, declared, is_unknown):
    """`ret >= 0xfffffffffffff001` is IS_ERR(); of a field with a sign no value is so large."""
    size = int(declared[1:]) // 8
    field = f"\tfield:{declared} ret;\toffset:8;\tsize:{size};\tsigned:{int(declared[0] == 's')};\n"
    head = "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    fmt = parse_format(f'name: open\nID: 702\nformat:\n{head}{field}\nprint fmt: ""\n', "pw")
    fmt = fmt.with_results({"ret": is_unknown})
    bits = 8 * size
    patterns = [0, 1, 5, 1 << 31, (1 << 32) - 2, (1 << bits - 1) - 1, 1 << bits - 1]
    patterns += [(1 << bits) - step for step in (1, 2, 4095, 4096)]
    data = b"".join(event(entry(702, 7, (one % (1 << bits)).to_bytes(size, "little")), 1000) for one in patterns)
    store = Store(Decoder({702: fmt}, HeaderPage()))
    store.feed(Batch((Chunk(0, page(1000, data, HeaderPage())),), True))
    store.flush()
    values = [store.record(row).values["ret"] for row in range(len(patterns))]
    for number in (1 << bits - 1, (1 << bits) - 4096, (1 << bits) - 4095, (1 << bits) - 2, (1 << bits) - 1):
        for text in (str(number), hex(number)):
            match = parse_condition(f"ret {operator} {text}", value_kinds([fmt], fmt.names), str)
            wanted = [bool(NUMERIC[operator](value, number)) for value in values]
            assert match.candidates(store.columns(0, len(store))).tolist() == wanted
            assert [match(store.record(row)) for row in range(len(patterns))] == wanted


@pytest.mark.parametrize("text", ["0.5ns", "1.0245us", "-0.1ns", "0.0000000001s"])
def test_a_fraction_of_a_nanosecond_is_refused(text):
    with pytest.raises(ConditionError, match=f"{text} is no whole number of nanoseconds"):
        parse_condition(f"f7 > {text}", FIELDS, str)
    for whole in ("0.0s", "1.024us", "4.294967296s", "99999999999999999999.5s"):
        assert parse_condition(f"f7 > {whole}", FIELDS, str)
