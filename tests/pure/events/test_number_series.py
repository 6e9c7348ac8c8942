"""Series of monitored numbers: extremes, the value of each second, the change a second, and their line."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.bpf_layout import SAMPLE_BYTES
from events.bpf_records import RecordConverter
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.numbers.number_series import SECONDS, NumberSamples, NumberSeries, SeriesKey
from events.store.store import Store
from probes.plans.sampled_number import sample_layout
from tests.fake_target import HEADER_PAGE
from tui.views.numbers.rows import level_line, number_text, rate_text

NS = 10**9
HEAD = struct.Struct("<IIQIIII16s")
HEADER = HeaderPage.parse(HEADER_PAGE)
Row = tuple[int, int, int, int | None]
"""Time, CPU, number of the monitor, value."""


@st.composite
def passes(draw: st.DrawFn) -> list[list[Row]]:
    """Passes over the samples of up to four monitors on up to three CPUs, in the order of their times."""
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(1, 400 * NS),
                st.integers(0, 2),
                st.integers(0, 3),
                st.none() | st.integers(0, (1 << 64) - 1),
            ),
            max_size=40,
            unique_by=lambda row: row[0],
        )
    )
    rows.sort()
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    return [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def batch_of(rows: list[Row]) -> Batch:
    """A pass, in which each monitor has a chunk of its own on each CPU."""
    chunks: dict[tuple[int, int], bytes] = {}
    for stamp, cpu, number, value in rows:
        faults = 0 if value is not None else 3
        head = HEAD.pack(SAMPLE_BYTES, 0, stamp, 7, 0, faults, 0x8000 + number, b"monitor")
        chunks[cpu, number] = chunks.get((cpu, number), b"") + head + struct.pack("<Qq", value or 0, 0)
    return Batch(tuple(Chunk(cpu, data, ring=number + 1) for (cpu, number), data in chunks.items()), True)


@given(passes())
def test_samples_of_all_rings_are_events_in_order_and_series(found: list[list[Row]]) -> None:
    formats = {
        0x8000 + number: parse_format(
            sample_layout("u64").format_text(f"m{number}", 0x8000 + number, SAMPLE_BYTES), "g"
        )
        for number in range(4)
    }
    converter, store = RecordConverter(HEADER), Store(Decoder(formats, HEADER))
    for number in range(1, 5):
        converter.sizes[number] = SAMPLE_BYTES
        converter.samples.add(number)
    numbers = NumberSamples(store, {f"g/m{number}": number == 0 for number in range(4)})
    for rows in found:
        store.feed(converter.converted(batch_of(rows)))
        numbers.tick(1)
    store.flush()
    while numbers.rows.backlog:
        numbers.tick(1)
    rows = [row for one in found for row in one]
    assert converter.broken_chunks == 0 and numbers.samples == len(store) == len(rows)
    records = [store.record(seq) for seq in range(store.first_seq, store.next_seq)]
    shown = [(one.ts, one.cpu, int(one.event[-1]), one.values["value"]) for one in records]
    assert shown == rows
    for key, series in numbers.series.items():
        own = [row for row in rows if f"g/m{row[2]}" == key.path and key.cpu in (-1, row[1])]
        values = [value for *_, value in own if value is not None]
        assert (series.count, series.unread, series.now) == (len(values), len(own) - len(values), own[-1][3])
        if values:
            assert (series.least, series.most) == (min(values), max(values))
        seconds = {stamp // NS: value for stamp, *_, value in own if value is not None}
        assert series.by_second == dict(sorted(seconds.items())[-SECONDS:])
    assert {key.cpu for key in numbers.series if key.path != "g/m0"} <= {-1}
    assert SeriesKey("g/m0", -1) not in numbers.series


def series_of(values: list[tuple[int, int | None]]) -> NumberSeries:
    series = NumberSeries()
    for stamp, value in values:
        series.add(stamp, value)
    return series


def test_the_change_a_second_is_of_the_last_ten() -> None:
    series = series_of([(second * NS, 3 * second if second < 100 else 300 - (second - 100)) for second in range(120)])
    assert series.per_second == -1
    assert series_of([(5 * NS, 1)]).per_second is None
    assert NumberSeries(is_address=True).per_second is None
    assert series_of([(NS, 0), (3 * NS, 1)]).per_second == 0.5


@pytest.mark.parametrize("numbers", [(0x8000, 0x8000), (0x8001, 0x8000), (0x8000, 0x8001)])
@pytest.mark.parametrize("reads_between", [False, True])
def test_seconds_of_an_earlier_boot_do_not_count_and_the_last_value_is_of_the_later(
    numbers: tuple[int, int], reads_between: bool
) -> None:
    layout = sample_layout("u64")
    formats = [parse_format(layout.format_text("m0", number, SAMPLE_BYTES), "g") for number in numbers]
    store = Store(Decoder({}, HEADER))
    samples = NumberSamples(store, {"g/m0": False})
    for fmt, first, value in zip(formats, (1000, 5), (10**6, 7), strict=True):
        converter = RecordConverter(HEADER)
        for ring in (1, 2):
            converter.sizes[ring] = SAMPLE_BYTES
            converter.samples.add(ring)
        store.use({fmt.id: fmt})
        rows = [((first + n) * NS, 0, fmt.id - 0x8000, value + n) for n in range(4)]
        store.feed(converter.converted(batch_of(rows)))
        store.flush()
        if reads_between:
            samples.tick(1)
        if value != 7:
            store.begin_anew()
    while samples.rows.backlog:
        samples.tick(1)
    series = samples.series[SeriesKey("g/m0", -1)]
    assert (series.count, series.now, series.least, series.most) == (8, 10, 7, 10**6 + 3)
    assert (series.per_second, series.recent()) == (1.0, [7, 8, 9, 10])


@given(st.lists(st.none() | st.integers(-(1 << 63), 1 << 64), max_size=400), st.integers(1, 60))
def test_a_line_has_a_level_for_each_value_within_its_columns(values: list[int | None], columns: int) -> None:
    line = level_line(values, columns)
    assert len(line) <= columns
    known = [value for value in values if value is not None]
    if known and len(values) <= columns:
        assert [char == " " for char in line] == [value is None for value in values]
        assert line[values.index(max(known))] == ("█" if max(known) > min(known) else "▁")
        assert line[values.index(min(known))] == "▁"


@pytest.mark.parametrize(("rate", "text"), [(250.0, "+250"), (-0.5, "-0.5"), (12345.6, "+12,346"), (0.0, "+0")])
def test_rates(rate: float, text: str) -> None:
    assert rate_text(rate) == text


def test_values() -> None:
    assert number_text(NumberSeries(), 1234567) == "1,234,567"
    assert number_text(NumberSeries(is_address=True), 255) == "0xff"
    assert number_text(NumberSeries(), None) == "unreadable"
