"""A condition says of whole columns what it says of each record; its text is read as the kernel reads filters."""

from __future__ import annotations

import fnmatch
import itertools
import random
import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.condition_text import ConditionError, condition, quoted, why_no_condition
from events.ordered import ordered
from events.record import Record
from events.selected import Everything, Selected
from tests.pure.test_events_columns import EV
from tests.pure.test_events_search import made_store

FIELDS = {field.name for field in EV.fields}
OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "&")


@cache
def records() -> list[Record]:
    store = made_store()
    return [store.record(seq) for seq in range(len(store))]


def holding(text: str) -> list[int]:
    """Rows by the columns, which must be those by the records."""
    store = made_store()
    match = condition(text, FIELDS, store.comm)
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


@pytest.mark.parametrize("field", [f"f{number}" for number in range(10)])
@pytest.mark.parametrize("sign", ["<", ">", "=="])
def test_a_number_of_more_bits_than_any_field_has(field, sign):
    rows = holding(f"{field} {sign} {1 << 70}")
    assert bool(rows) == (sign == "<")


def test_a_field_that_is_no_number_compares_with_none():
    assert not holding("f10 > 5")


@settings(max_examples=40)
@given(st.sampled_from(sorted(FIELDS)), st.sampled_from(OPERATORS), st.integers(-(1 << 63), (1 << 64) - 1))
def test_columns_say_what_records_say(field, sign, number):
    holding(f"{field} {sign} {number}")


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
        (f"{field} == {quoted(some[0])}", lambda value: value == some[0]),
        (f"{field} != {quoted(some[0])}", lambda value: value != some[0]),
        (f"{field} ~ '*{some[0][1:3]}*'", lambda value: fnmatch.fnmatchcase(value, f"*{some[0][1:3]}*")),
        (f"{field} == {quoted(some[0])} || {field} == {quoted(some[1])}", lambda value: value in some),
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
        ("", "a field", 0), ("f7", "==", 2), ("f7=5", "can't be read", 2), ("> 5", "a field", 0),
        ("f7 >", "a value", 4), ("f7 > x", "x is no number", 5), ("f7 > 5 6", "&& or ||", 7),
        ("nosuch == 1", "no field nosuch", 0),
        ("(f7 > 5", ")", 7), ("f7 > 5 &&", "a field", 9), ("f7 & 0x10000000000000000", "64 bits", 5),
        ("!" * 60 + "f7 > 5", "deep", 50),
    ],
)  # fmt: skip
def test_what_is_no_condition(text, why, at):
    with pytest.raises(ConditionError, match=re.escape(why)) as caught:
        condition(text, FIELDS, str)
    assert caught.value.at == at


def test_what_is_too_long():
    with pytest.raises(ConditionError, match="too long"):
        condition(" && ".join(["f7 > 5"] * 200), FIELDS, str)


def test_a_plain_text_is_no_broken_condition():
    assert not why_no_condition("vfs_read", FIELDS)
    assert not why_no_condition("=777", FIELDS)
    assert not why_no_condition("f7 > 5", FIELDS)
    assert why_no_condition("nosuch > 5", FIELDS) == "no field nosuch"
    assert why_no_condition("f7 > many", FIELDS) == "many is no number"


@given(st.text())
def test_any_text_is_a_condition_or_says_why_not(text):
    try:
        found = condition(text, FIELDS, str)
    except ConditionError as error:
        assert 0 <= error.at <= len(text)
    else:
        assert found.fields <= {*FIELDS, "comm", "pid", "cpu", "event"}


@given(st.text())
def test_a_quoted_value_means_itself(value):
    try:
        text = quoted(value)
    except ValueError:
        assert "'" in value
        assert '"' in value
        return
    part = next(condition(f"event == {text}", FIELDS, str).term.parts())
    assert part.holds(value)
    assert not part.holds(value + "x")


def test_a_selection_is_found_as_events_come():
    whole = made_store()
    rows = [record.seq for record in records() if isinstance(f5 := record.values["f5"], int) and f5 < 0]
    chosen = Selected(whole, condition("f5 < 0", FIELDS, whole.comm))
    assert (chosen.first, chosen.next, chosen.behind) == (0, 0, len(whole))
    chosen.tick(60)
    assert [chosen.seq(row) for row in range(chosen.first, chosen.next)] == rows
    assert not chosen.behind
    for seq, row in itertools.product((0, rows[3], rows[3] + 1, rows[-1], len(whole)), range(1)):
        assert chosen.at(seq) + row == sum(one < seq for one in rows)
    with pytest.raises(IndexError):
        chosen.seq(chosen.next)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("field", ["f5", "f10", "time", "cpu", "task", "event", "nosuch"])
def test_order(field, descending):
    store = made_store()
    found = ordered(store, Everything(store), field, descending)
    seqs = [found.seq(row) for row in range(found.next)]
    assert sorted(seqs) == list(range(len(store)))

    def key(record: Record):
        own = {"time": record.ts, "cpu": record.cpu, "task": f"{record.comm}-{record.pid}", "event": "ev"}
        value = own.get(field, record.values.get(field))
        return value if isinstance(value, int | str) else None

    there = [seq for seq in range(len(store)) if key(store.record(seq)) is not None]
    there.sort(key=lambda seq: key(store.record(seq)), reverse=descending)
    gone = [seq for seq in range(len(store)) if key(store.record(seq)) is None]
    if field == "time" and descending:  # sorted() keeps the order of equal times; time goes by numbers
        there = sorted(there, reverse=True)
    assert seqs == there + gone
