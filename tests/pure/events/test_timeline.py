"""The time line: cells count what is in them, whatever the lanes, filters, losses, boots and dropped rows."""

from __future__ import annotations

import bisect
import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.conditions.condition_parser import parse_condition
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.search.filtered_rows import FilteredRows
from events.store.outage_mark import Outage, is_mark
from events.store.store import Store
from events.timeline.axis import TimeAxis
from events.timeline.gap_cells import GapCells, _covered
from events.timeline.lane_index import LaneIndex, LaneKind, RisingNumbers
from events.timeline.time_window import TimeWindow
from tests.events_data import entry, event, page
from tests.pure.events.test_store import FORMAT
from tui.views.timeline.lanes import FunctionNames, LaneGroup

HEADER = HeaderPage()
FORMATS = {number: parse_format(FORMAT.replace("ID: 700", f"ID: {number}").replace("ev", f"ev{number}", 1), "grp")
           for number in (700, 701, 702)}  # fmt: skip


def new_store(limit: int = 1 << 30) -> Store:
    return Store(Decoder(FORMATS, HEADER), limit)


def one_pass(rng: random.Random, now: int, cpus: int, most: int, *, lost: bool) -> tuple[Batch, int]:
    """A pass over the CPUs with events of some kinds and tasks; some CPUs have lost events before."""
    queues: list[list[int]] = [[] for _ in range(cpus)]
    for _ in range(rng.randrange(most)):
        now += rng.choice((0, 1, 7, 1000, 10**6))
        queues[rng.randrange(cpus)].append(now)
    chunks = []
    for cpu, queue in enumerate(queues):
        data, before = b"", queue[0] if queue else 0
        for ts in queue:
            data += event(entry(rng.choice((700, 700, 701, 702)), rng.choice((1, 2, 3)), bytes(8)), ts - before)
            before = ts
        if queue:
            number = rng.randrange(1, 4) if lost and rng.random() < 0.3 else None
            chunks.append(Chunk(cpu, page(queue[0], data, HEADER, 0 if number is None else 3 << 30, number)))
    return Batch(tuple(chunks), True), now


@st.composite
def stores(draw: st.DrawFn) -> Store:
    """A store with several passes, boots, outages and losses, of which the oldest rows may be gone."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    store = new_store(draw(st.sampled_from([1 << 30, 1 << 30, 4000])))
    now = rng.choice((0, 10**9, 10**15))
    for _ in range(draw(st.integers(1, 5))):
        batch, now = one_pass(rng, now, draw(st.integers(1, 3)), 60, lost=True)
        store.feed(batch)
        what = draw(st.sampled_from(["", "", "boot", "outage"]))
        if what == "outage":
            store.flush()
            store.feed(Outage.between(max(store.latest, 0), max(store.latest, 0) + 10**7).batch(max(store.latest, 0)))
            now += 10**7
        elif what == "boot":
            store.begin_anew()
            now = rng.randrange(10**6)
    store.flush()
    return store


def index_of(store: Store, kind: LaneKind, passing: FilteredRows | None = None) -> LaneIndex:
    index = LaneIndex(store, kind, passing)
    while index.backlog:
        index.tick(0.0)
    return index


def lane_of(store: Store, kind: LaneKind, seq: int) -> int:
    record = store.record(seq)
    if kind is LaneKind.CPU:
        return record.cpu
    return (
        store.row(seq).id if kind in (LaneKind.EVENT, LaneKind.FUNCTION) else record.pid | store.boots.of(seq) << 32
    )


@settings(max_examples=150)
@given(stores(), st.sampled_from(list(LaneKind)), st.booleans(), st.integers(1, 90), st.data())
def test_cells_count_what_is_in_them(store, kind, filtered, cells, data):
    condition = parse_condition("pid != 2", {}, store.task_names.name)
    passing = FilteredRows(store, condition) if filtered else None
    index, axis = index_of(store, kind, passing), TimeAxis(store)
    low, high = (data.draw(st.integers(axis.start - 5, axis.end + 5)) for _ in range(2))
    window = TimeWindow.of(min(low, high), max(low, high), cells)
    rows = axis.rows(window.edges)
    counted = {key: index.counts([key], rows) for key in index.lanes}
    expected: dict[int, list[int]] = {key: [0] * cells for key in index.lanes}
    firsts: dict[tuple[int | None, int], int] = {}
    for seq in range(store.first_seq, store.next_seq):
        record = store.record(seq)
        place = axis.place(seq)
        if is_mark(record) or not window.has(place) or (filtered and not condition(record)):
            continue
        key, cell = lane_of(store, kind, seq), window.cell(place)
        expected[key][cell] += 1
        firsts.setdefault((key, cell), seq)
        firsts.setdefault((None, cell), seq)
    assert {key: counts.tolist() for key, counts in counted.items()} == expected
    assert index.totals(rows).tolist() == np.sum(list(expected.values()), axis=0).tolist() if expected else True
    for (lane, cell), seq in firsts.items():
        keys = None if lane is None else [lane]
        start, stop = int(rows[cell]), int(rows[cell + 1])
        assert index.first(keys, start, stop) == seq
        assert index.seqs(keys, start, stop)[0] == seq
        assert index.last_before(keys, seq + 1) == seq


@settings(max_examples=100)
@given(stores())
def test_the_axis_rises_and_each_time_finds_its_rows(store):
    axis = TimeAxis(store)
    places = [axis.place(seq) for seq in range(store.first_seq, store.next_seq)]
    assert places == sorted(places)
    wanted = sorted({near for place in places[:40] for near in (place - 1, place, place + 1)})
    found = axis.rows(np.array(wanted, np.int64))
    assert found.tolist() == [store.first_seq + bisect.bisect_left(places, one) for one in wanted]
    for seq, place in zip(range(store.first_seq, store.next_seq), places, strict=True):
        ts, row = axis.stamp(place)
        assert ts == store.row(seq).ts
        assert store.boots.of(row) == store.boots.of(seq)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 200)), max_size=30))
def test_numbers_are_added_and_dropped(steps):
    numbers, following = RisingNumbers(), 0
    expected: list[int] = []
    for adds, number in steps:
        if adds:
            numbers.add(np.arange(following, following + 3 * number, 3))
            expected += range(following, following + 3 * number, 3)
            following += 3 * number
        else:
            oldest = expected[min(number, len(expected) - 1)] if expected else 0
            expected = [one for one in expected if one >= oldest]
            assert numbers.drop_before(oldest) == bool(expected)
        assert numbers.view.tolist() == expected


WINDOWS = st.builds(
    TimeWindow.of, st.integers(0, 2**50), st.integers(0, 2**50), st.integers(1, 300)
)  # an end before the start: as short as it can be


@given(WINDOWS, st.data())
def test_each_place_is_in_the_cell_between_its_edges(window, data):
    edges = window.edges.tolist()
    assert edges == [window.edge(cell) for cell in range(window.cells + 1)]
    assert edges[0] == window.start
    assert edges[-1] == window.end
    assert all(low < high for low, high in itertools.pairwise(edges))
    place = data.draw(st.integers(window.start, window.end - 1))
    cell = window.cell(place)
    assert edges[cell] <= place < edges[cell + 1]


@given(WINDOWS, st.lists(st.sampled_from([0.5, 2.0, 0.1]), max_size=20), st.data())
def test_zooming_keeps_the_place_in_its_cell_and_back_is_the_same_span(window, parts, data):
    place = data.draw(st.integers(window.start, window.end - 1))
    low = window.start - data.draw(st.integers(0, 2**40))
    high = window.end + data.draw(st.integers(0, 2**40))
    cell = window.cell(place)
    for part in parts:
        zoomed = window.zoomed(part, place)
        assert zoomed.cell(place) == cell
        assert zoomed.cells == window.cells
        window = zoomed.within(low, high)
        assert window.has(place)
        assert low <= window.start
        assert window.end <= max(high, low + window.cells)
        cell = window.cell(place)


@pytest.mark.parametrize("booted", [False, True])
def test_losses_and_outages_are_in_their_cells(booted):
    store = new_store()
    rng = random.Random(1)
    batch, now = one_pass(rng, 10**9, 1, 40, lost=False)
    store.feed(batch)
    store.flush()
    outage = Outage.between(now, now + 10**8)
    store.feed((outage._replace(booted=True) if booted else outage).batch(now))
    later = page(now + 10**8, event(entry(700, 1, bytes(8)), 0), HEADER, flags=3 << 30, lost=12)
    store.feed(Batch((Chunk(0, later),), True))
    store.flush()
    index, axis = index_of(store, LaneKind.CPU), TimeAxis(store)
    gaps = GapCells(store, axis, index)
    assert gaps
    window = TimeWindow.of(axis.start, axis.end, 50)
    assert gaps.losses(window).sum() == 1
    assert gaps.losses(window)[-1] == 1
    assert gaps.gap_cells(window)[-1], "also in a later boot, whose spans have times of its own clock"
    (span,) = gaps.outages
    assert (span.end - span.start == 1) == booted
    covered = np.flatnonzero(gaps.outage_cells(window)).tolist()
    assert covered == list(range(window.cell(span.start), window.cell(span.end - 1) + 1))
    assert any("12 lost on CPU 0" in text for text in gaps.texts(axis.start, axis.end))
    assert any("disconnected" in text for text in gaps.texts(axis.start, axis.end))
    assert not GapCells(new_store(), TimeAxis(new_store()), index_of(new_store(), LaneKind.CPU))


def test_text_rows_have_lanes_too():
    store = Store(Decoder({}, HEADER))
    lines = b"  cat-12 [001] d..1 1.000000: ev: n=1\n  dd-13 [002] d..1 1.000100: ev: n=1\n"
    store.feed(Batch((Chunk(-1, lines, text=True),), True))
    store.flush()
    assert sorted(index_of(store, LaneKind.CPU).lanes) == [1, 2]
    tasks = index_of(store, LaneKind.TASK)
    assert sorted(tasks.lanes) == [12, 13]
    assert tasks.text_names == {12: "cat", 13: "dd"}
    assert len(index_of(store, LaneKind.EVENT).lanes) == 1


@given(
    WINDOWS,
    st.lists(st.tuples(st.integers(0, 2**52), st.integers(0, 2**40)).map(lambda one: (one[0], sum(one)))),
    st.data(),
)
def test_cells_of_spans_are_those_that_they_reach_into(window, spans, data):
    near = data.draw(st.lists(st.tuples(*[st.integers(window.start - 5, window.end + 5)] * 2)))
    spans += [(min(pair), max(pair)) for pair in near]
    covered = _covered(window, spans).tolist()
    assert covered == [
        any(start < window.edge(cell + 1) and max(end, start + 1) > window.edge(cell) for start, end in spans)
        for cell in range(window.cells)
    ]


PROBE_FORMAT = """name: reads
ID: 710
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;

print fmt: "(%lx)", REC->__probe_ip
"""
READ, WRITE = 0xFFFFFFFF81234560, 0xFFFFFFFF81239990
IN_USER = 0x401000
"""An address as a 32-bit kernel has it: its upper bits are 0."""


def test_each_function_of_a_probe_on_several_has_a_lane():
    fmt = parse_format(PROBE_FORMAT, "grp").with_function("func")
    one = parse_format(PROBE_FORMAT.replace("710", "711"), "grp")
    store = Store(Decoder({710: fmt, 711: one}, HEADER))
    calls = [(710, READ), (710, WRITE), (711, READ), (710, READ), (710, IN_USER)], [(710, READ), (710, WRITE)]
    for boot in calls:
        data = b"".join(
            event(entry(number, 1, address.to_bytes(8, "little")), int(n > 0))
            for n, (number, address) in enumerate(boot)
        )
        store.feed(Batch((Chunk(0, page(100, data, HEADER)),), True))
        store.begin_anew()
        store.use({710: fmt, 711: one})
    index = index_of(store, LaneKind.FUNCTION)
    found = {index.functions.get(key, key): rows.view.tolist() for key, rows in index.lanes.items()}
    assert found == {
        (READ, 0): [0, 3],
        (WRITE, 0): [1],
        711: [2],
        (IN_USER, 0): [4],
        (READ, 1): [5],
        (WRITE, 1): [6],
    }
    assert set(index.functions) < set(index.lanes)
    names = FunctionNames(lambda address, boot: f"{address:x}/{boot}", lambda path: "" if path else "none")
    group = LaneGroup(store, LaneKind.FUNCTION, None, names)
    while group.index.backlog:
        group.index.tick(0.0)
    lanes = group.lanes(np.array([0, store.next_seq]), 9)
    told = {(lane.name, lane.total) for lane in lanes}
    assert told == {(f"{READ:x}/0", 2), (f"{WRITE:x}/0", 1), ("reads", 1), (f"{IN_USER:x}/0", 1)} | {
        (f"{READ:x}/1", 1),
        (f"{WRITE:x}/1", 1),
    }


def test_the_others_are_counted_where_they_have_events_in_what_is_shown():
    store = new_store()
    data = b"".join(event(entry(700, pid, bytes(8)), 1) for pid in (1, 1, 2, 3, 4, 5, 6))
    store.feed(Batch((Chunk(0, page(100, data, HEADER)),), True))
    store.flush()
    group = LaneGroup(store, LaneKind.TASK, None)
    while group.index.backlog:
        group.index.tick(0.0)

    def names(start: int, stop: int, room: int) -> list[str]:
        return [lane.name for lane in group.lanes(np.array([start, stop]), room)]

    assert names(0, store.next_seq, 3)[-1] == "4 others"
    assert names(0, 4, 2)[-1] == "2 others", "of six tasks three have events here"
    assert not any("other" in name for name in names(0, 3, 2)), "the other four have none here"


@settings(max_examples=30)
@given(stores(), st.sampled_from(list(LaneKind)), st.integers(1, 9))
def test_the_condition_of_a_lane_has_its_events(store, kind, room):
    group = LaneGroup(store, kind, None)
    while group.index.backlog:
        group.index.tick(0.0)
    for lane in group.lanes(np.array([store.first_seq, store.next_seq]), room):
        if lane.is_rest or lane.keys == (-1,):
            with pytest.raises(ValueError, match=r"lane|task"):
                group.clause(lane, ())
            continue
        wanted = parse_condition(group.clause(lane, ()), {}, store.task_names.name)
        seqs = group.index.seqs(lane.keys, store.first_seq, store.next_seq).tolist()
        assert all(wanted(store.record(seq)) for seq in seqs)
