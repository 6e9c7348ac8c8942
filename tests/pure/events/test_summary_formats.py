"""Values of a field that an event recorded in another way before: what was counted stays what it was."""

from __future__ import annotations

import struct
from collections import Counter

import pytest

from events.batch import Batch, Chunk
from events.decode import Decoder, Value
from events.format import EventFormat, HeaderPage, parse_format
from events.store.store import Store
from events.summary.summary import Summary
from tests.events_data import entry, event, page

HEADER = HeaderPage()


def made(declared: str, size: int, signed: int) -> EventFormat:
    field = f"\tfield:{declared};\toffset:8;\tsize:{size};\tsigned:{signed};\n"
    return parse_format(f'name: ev\nID: 5\nformat:\n{field}\nprint fmt: ""\n', "grp")


SIGNED = made("s32 x", 4, 1), struct.Struct("<i")
UNSIGNED = made("u64 x", 8, 0), struct.Struct("<Q")
TEXT = made("char x[4]", 4, 0), struct.Struct("<4s")


@pytest.mark.parametrize("first", [SIGNED, UNSIGNED, TEXT])
@pytest.mark.parametrize("then", [SIGNED, UNSIGNED, TEXT])
def test_each_value_is_read_by_the_format_that_it_came_with(first, then):
    values: dict[object, list[int | bytes]] = {
        SIGNED: [-1, 7, -1, 0],
        UNSIGNED: [(1 << 64) - 5, 7, 7, 0],
        TEXT: [b"cat", b"cat", b"7", b""],
    }
    store = Store(Decoder({}, HEADER))
    summary = Summary(store)
    summary.choose("grp/ev", "x")
    expected: Counter[Value] = Counter()
    for ts, (fmt, shape) in enumerate((first, then, first)):
        store.use({5: fmt})
        data = b"".join(event(entry(5, 7, shape.pack(value)), 10) for value in values[fmt, shape])
        store.feed(Batch((Chunk(0, page(1000 * ts, data, HEADER)),), drained=True))
        store.flush()
        summary.tick(60)
        expected.update(value.decode() if isinstance(value, bytes) else value for value in values[fmt, shape])
    assert summary.values is not None
    assert {top.value: top.hits for top in summary.values.of_boot(0).top(10)} == expected
    assert (summary.values.of_boot(0).of_numbers is not None) == (first == then != TEXT)
