"""A call whose event had to go before it was printed says so: its values are not just missing."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
from types import SimpleNamespace
from typing import Any

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.format import parse_format
from events.store.store import Store
from tests.events_data import entry, event, page
from tests.pure.events.test_calls import HEADER
from tests.pure.events.test_graph_order import _FIELDS
from tests.pure.events.test_graph_output import FORMATS, _call
from tui.cli.follow.graph_printer import _MOST_ROWS, ReturnedCalls
from tui.views.graph.model import GraphModel

ARGUMENTS = bytes(56)
"""Of six arguments on 64 bits, as function_graph records them since 6.16 (funcgraph-args)."""
ARGS = "\tfield:unsigned long args[];\toffset:20;\tsize:0;\tsigned:0;\n\nprint fmt:"
GIVING = parse_format(_FIELDS.format(name="funcgraph_entry", number=10).replace("\nprint fmt:", ARGS), "ftrace")
NOTE = "its event was dropped"


def _printed(inner: int, *, gives: bool = True) -> tuple[ReturnedCalls, list[dict[str, Any]]]:
    """Print a call with so many inside, while it comes, of which the store has room for some thousand."""
    formats = {**FORMATS, 10: GIVING} if gives else dict(FORMATS)
    store = Store(Decoder(formats, HEADER), limit_bytes=1 << 20)
    known = SimpleNamespace(plans=(), values=lambda *_, **__: [])
    watching: Any = SimpleNamespace(event_fields=known, store=store)
    names: Any = SimpleNamespace(
        function=lambda number: f"f{number & 15}",
        returned=lambda *_: ("", False),
        arguments=lambda *_: "(values)",
        enters_interrupt=lambda _: False,
    )
    names.of = lambda _: names
    shown = GraphModel(watching, store, names, limit=_MOST_ROWS)
    wanted = argparse.Namespace(functions=[], count=None, seconds=None, json=True, slower=0)
    printer = ReturnedCalls(watching, shown, wanted, lambda _: None)
    out, ts = io.StringIO(), 1000

    def feed(*records: bytes) -> None:
        nonlocal ts
        ts += 1000
        made = page(ts, b"".join(event(one, 1) for one in records), HEADER)
        store.feed(Batch((Chunk(0, made),), drained=True))

    def begins(depth: int) -> bytes:
        return entry(10, 5, _call(depth, depth) + ARGUMENTS)

    def ends(depth: int) -> bytes:
        return entry(11, 5, _call(depth, depth) + bytes(4 + 16))

    with contextlib.redirect_stdout(out):
        feed(begins(0))
        for _ in range(inner // 20):
            feed(*(one for _ in range(20) for one in (begins(1), ends(1))))
            printer.tick()
        feed(ends(0))
        store.flush()
        printer.tick()
    return printer, [json.loads(row) for row in out.getvalue().splitlines()]


def test_values_of_a_long_call_are_there_or_it_is_said_that_they_are_not() -> None:
    printer, found = _printed(10_000)
    assert len(found) == 10_001 and not printer.dropped
    without = [one for one in found if not one["arguments"]]
    assert without and all(one["note"] == NOTE for one in without)
    assert printer.rows_without_values == len(without)
    assert all(one["note"] is None for one in found if one["arguments"])


def test_nothing_is_said_where_all_events_are_there() -> None:
    printer, found = _printed(100)
    assert printer.rows_without_values == 0 and all(one["arguments"] and one["note"] is None for one in found)


def test_nothing_is_said_of_calls_of_which_no_values_are_recorded() -> None:
    printer, found = _printed(10_000, gives=False)
    assert printer.rows_without_values == 0 and all(one["note"] is None for one in found)
