"""Each row of a table by keys has keys of its own, and a condition that passes the events which it counts alone."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable

import numpy as np
import pytest

from events.aggregates.request import AggregateRequest
from events.batch import Batch, Chunk
from events.conditions.condition import Condition
from events.conditions.condition_parser import parse_condition
from events.conditions.field_kinds import ValueKind, value_kinds
from events.decode import Decoder
from events.format import EventFormat, HeaderPage, parse_format
from events.store.store import Store
from tests.events_data import entry, event, page
from tests.events_recording import SHIPPED
from tests.replays import replay_of
from tui.filter.filter import Filter
from tui.output.aggregate_table import group_object
from tui.views.aggregate.model import AggregateModel

KEYS = (
    ("pid",),
    ("common_pid",),
    ("cpu", "comm"),
    ("COMM", "comm"),
    ("errno",),
    ("errno", "pid"),
    ("func", "comm"),
    ("event", "pid"),
    ("ret",),
    ("$retval", "func"),
    ("flags",),
    ("filename", "errno"),
    ("sig", "pid"),
    ("location",),
)


@pytest.fixture(scope="module")
def watch():
    watching = replay_of(SHIPPED)
    yield watching
    watching.close()
    watching.info.close()


def _model(watch, keys, store=None) -> AggregateModel:
    model = AggregateModel(watch, store or watch.store, AggregateRequest(keys))
    while model.aggregate.backlog:
        model.tick(0.0)
    return model


def _rows_checked(model: AggregateModel, parsed: Callable[[str], Condition]) -> int:
    """Check all rows; return the number of those that have a condition."""
    rows, store = model.rows(0).rows, model.store
    assert len({row.labels for row in rows}) == len(rows)
    assert len({json.dumps(group_object(model, row)["by"]) for row in rows}) == len(rows)
    columns = store.columns(store.first_seq, store.next_seq)
    with_condition = [row for row in rows if model.condition(row)]
    for row in with_condition:
        condition = model.condition(row)
        assert parsed(condition).candidates(columns).sum() == row.hits, condition
    passing = sum(parsed(model.condition(row)).candidates(columns) for row in with_condition)
    assert not np.any(passing > 1), "no event is of two rows"
    return len(with_condition)


@pytest.mark.parametrize("keys", KEYS, ids=",".join)
def test_a_row_shows_the_events_that_it_counts(watch, keys):
    assert _rows_checked(_model(watch, keys), lambda text: Filter().preview(text, watch, watch.store).condition)


def test_a_condition_without_the_other_ends_of_many_calls_can_be_read(watch):
    model, store = _model(watch, ("errno", "pid", "cpu")), watch.store
    rows = [row for row in model.rows(0).rows if row.labels[0] == "no error"]
    assert rows
    model.aggregate.left_out_ends = frozenset(f"g/other_end_{n}" for n in range(32))
    for row in rows:
        condition = Filter().preview(model.condition(row), watch, store).condition
        found = condition.candidates(store.columns(store.first_seq, store.next_seq))
        assert found.sum() >= row.hits
    model.aggregate.left_out_ends |= {"g/one_more"}
    assert not model.condition(rows[0]), "none, not one that passes others"


_FORMAT = 'name: {name}\nID: {id}\nformat:\n{fields}\nprint fmt: ""\n'


def _store(*events: tuple[str, tuple[tuple[str, bytes, bool], ...]], errors: tuple[str, ...] = ()) -> Store:
    """Return a store with events of the given names and fields, each name once a format; all of task 7."""
    formats: dict[int, EventFormat] = {}
    data: list[bytes] = []
    for name, fields in events:
        number = next((one.id for one in formats.values() if one.name == name), 100 + len(formats))
        lines, at = "", 8
        for declared, value, signed in fields:
            lines += f"\tfield:{declared};\toffset:{at};\tsize:{len(value)};\tsigned:{int(signed)};\n"
            at += len(value)
        fmt = parse_format(_FORMAT.format(name=name, id=number, fields=lines), "g")
        formats[number] = fmt.with_results({"ret": False}) if name in errors else fmt
        data.append(event(entry(number, 7, b"".join(value for _, value, _ in fields)), 10))
    store = Store(Decoder(formats, HeaderPage()))
    store.feed(Batch((Chunk(0, page(1000, b"".join(data), HeaderPage())),), drained=True))
    store.flush()
    return store


def _u32(name: str, value: int) -> tuple[str, bytes, bool]:
    return f"u32 {name}", struct.pack("<I", value), False


def _s32(name: str, value: int) -> tuple[str, bytes, bool]:
    return f"s32 {name}", struct.pack("<i", value), True


def _text(name: str, value: bytes) -> tuple[str, bytes, bool]:
    return f"char {name}[8]", value.ljust(8, b"\0"), False


@pytest.mark.parametrize(
    ("keys", "rows", "events"),
    [
        # the task of one event, and a field of the other
        (("pid",), 2, [("a", (_u32("x", 1),)), ("b", (_u32("pid", 7),)), ("b", (_u32("pid", 8),))]),
        (("pid",), 2, [("a", (_u32("x", 1),)), ("b", (_text("pid", b"7"),))]),
        (("common_pid",), 1, [("a", (_u32("x", 1),)), ("b", (_u32("pid", 8),))]),
        (("comm",), 2, [("a", (_u32("x", 1),)), ("b", (_text("comm", b"cat"),))]),
        (("cpu",), 2, [("a", (_u32("x", 1),)), ("b", (_s32("cpu", 0),)), ("b", (_s32("cpu", -1),))]),
        # a number of one event, and a text of the same digits of the other
        (("x",), 2, [("a", (_u32("x", 7),)), ("b", (_text("x", b"7"),))]),
        (("x", "pid"), 2, [("a", (_u32("x", 7),)), ("b", (_text("x", b"7"),)), ("c", (_s32("x", 7),))]),
        # the error in a result, and a field that is called so
        (("errno",), 4, [("r", (_s32("ret", n),)) for n in (0, -2)] + [("b", (_s32("errno", n),)) for n in (0, 2)]),
        # results of one name, errors of one event alone
        (("errno",), 1, [("r", (_s32("ret", -2),)), ("b", (_s32("ret", -2),))]),
        (("ret",), 3, [("u", (_u32("ret", 0xFFFF_FFFE),)), ("b", (_s32("ret", -2),)), ("b", (_s32("ret", -3),))]),
    ],
)  # fmt: skip
def test_a_name_that_is_something_else_in_another_event(watch, keys, rows, events):
    store = _store(*events, errors=("r", "u"))
    formats = tuple(store.decoder.formats.values())
    kinds = {"errno": ValueKind.NUMBER, **value_kinds(formats, {name for fmt in formats for name in fmt.names})}
    model = _model(watch, keys, store)
    assert len(model.rows(0).rows) == rows
    assert _rows_checked(model, lambda text: parse_condition(text, kinds, store.task_names.name)) == rows
