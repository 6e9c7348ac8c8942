"""Rows of the maps of compiled BPF objects: their order, and their change between two readings."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from kernel.watch.object_maps import ObjectMaps
from probes.objects.object_file import read_object
from probes.objects.shown_maps import shown_map
from tests.object_builder import built
from tui.cli.tables.object_printer import json_value, lines_of
from tui.views.maps.model import MapsModel

COUNTS = st.dictionaries(st.text("abc", min_size=1, max_size=4), st.integers(0, 1 << 62), min_size=1, max_size=6)


def counted(counts: dict[str, int]) -> ObjectMaps:
    found = read_object(built("unlink").read_bytes())
    one = found.map("removed_by")
    assert one is not None
    rows = [(name.encode().ljust(16, b"\0"), (struct.pack("<Q", number),)) for name, number in counts.items()]
    return ObjectMaps("unlink.bpf.o", (shown_map(found.btf, one, rows),))


@given(COUNTS, COUNTS, st.integers(1, 100))
def test_rows_are_sorted_and_have_their_change(before: dict[str, int], after: dict[str, int], seconds: int) -> None:
    model = MapsModel()
    model.take([counted(before)], 10.0)
    assert all(row.per_second is None for row in model.table(0).rows)
    model.take([counted(after)], 10.0 + seconds)
    table = model.table(0)
    assert table.titles == ("key", "value", "now")
    numbers = [int(str(row.values[0])) for row in table.rows]
    assert numbers == sorted(after.values(), reverse=True)
    for row in table.rows:
        assert row.per_second == (after[row.keys[0]] - before.get(row.keys[0], 0)) / float(seconds)
        assert 0 <= table.share(row) <= 1
    by_key = model.table(0, 0, ascending=True)
    assert [row.keys[0] for row in by_key.rows] == sorted(after)
    by_rate = model.table(0, 2)
    rates = [row.per_second or 0.0 for row in by_rate.rows]
    assert rates == sorted(rates, reverse=True)


@given(COUNTS)
def test_a_map_is_printed_with_all_its_elements(counts: dict[str, int]) -> None:
    (one,) = counted(counts).maps
    lines = list(lines_of("unlink.bpf.o", one))
    assert lines[0].startswith("unlink.bpf.o: removed_by (hash): ")
    assert {tuple(line.split()) for line in lines[2:]} == {(name, str(number)) for name, number in counts.items()}
    plain = json_value("unlink.bpf.o", one)
    assert plain["rows"] == [{"key": name, "value": number} for name, number in counts.items()]


def test_a_histogram_is_printed_by_powers_of_two() -> None:
    found = read_object(built("latency").read_bytes())
    one = found.map("hists")
    assert one is not None
    slots = [0, 2, 0, 8] + [0] * 23
    shown = shown_map(found.btf, one, [(b"cat".ljust(16, b"\0"), (struct.pack("<27I", *slots),))])
    assert list(lines_of("l", shown))[1:] == [
        "  cat",
        f"     2 -> 3  2  {'#' * 10}",
        "     4 -> 7  0",
        f"    8 -> 15  8  {'#' * 40}",
    ]
