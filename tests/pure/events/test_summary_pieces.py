"""The summary against a count of the events one by one: what it takes in pieces, by columns, while a store drops."""

from __future__ import annotations

import struct
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.calls.call_values import Call, CalledFunction, End, EndRole, UnpairedReason, idle_task
from events.calls.pairing import Pairing
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.store.store import Store
from events.subbuffer import MISSED_EVENTS
from events.summary.distribution import Distribution
from events.summary.frequent import count_keys
from events.summary.summary import Summary
from events.summary.timeline import Timeline
from tests.events_data import entry, event, page

HEADER = HeaderPage()
COMMON = """name: {name}
ID: {number}
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

"""
CALL = COMMON + (
    "\tfield:u64 frame;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:s32 count;\toffset:16;\tsize:4;\tsigned:1;\n"
    "\tfield:char name[8];\toffset:20;\tsize:8;\tsigned:0;\n\n"
    'print fmt: "frame=%Lu", REC->frame\n'
)
OTHER = COMMON + (
    "\tfield:u64 big;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:s8 small;\toffset:16;\tsize:1;\tsigned:1;\n\n"
    'print fmt: "big=%Lu", REC->big\n'
)
FORMATS = {
    900 + n: parse_format(text.format(name=name, number=900 + n), "g")
    for n, (name, text) in enumerate((("enter", CALL), ("leave", CALL), ("other", OTHER)))
}
ENDS = {"g/enter": EndRole(3, False, "frame", 0, ("count",)), "g/leave": EndRole(3, True, "frame", 8, ("count",))}
FIELDS = [("g/enter", "count"), ("g/leave", "name"), ("g/other", "big"), ("g/other", "small")]
EVENTS = st.tuples(
    st.integers(0, 1),  # CPU
    st.sampled_from([0, 5, 65541, (1 << 22) - 1]),  # task; the second and the third end alike
    st.integers(0, 2),  # event
    st.sampled_from([0, 1, 16, (1 << 63) + 1, (1 << 64) - 1]),
    st.sampled_from([-128, -1, 0, 7]),
    st.sampled_from([b"", b"cat", b"cat\0dog", b"12345678", b"\xff\x1b"]),
    st.sampled_from([1, 10**7, 10**9]),  # nanoseconds since the one before
    st.sampled_from([False] * 19 + [True]),  # events were overwritten before it
    st.sampled_from([None] * 4 + [0, 1, 9]),  # a pass ends behind it, and the summary looks so many times
)


class OneByOne:
    """Counts records."""

    def __init__(self, store: Store, piece: int) -> None:
        self.store, self.piece = store, piece
        self.at = self.seen = self.unseen = 0
        self.tasks, self.kinds, self.took = Counter[int](), Counter[str](), list[int]()
        self.values = {field: Counter[object]() for field in FIELDS}
        self.pairing, self.calls = Pairing(store.loss_spans.latest.may_lack_ends), list[Call]()

    def step(self) -> None:
        start = max(self.at, self.store.first_seq)
        if start > self.at:
            self.unseen += start - self.at
            self.calls += self.pairing.forget(0)
        self.at = min(start + self.piece, self.store.next_seq)
        for seq in range(start, self.at):
            record = self.store.record(seq)
            self.seen += 1
            self.tasks[record.pid] += 1
            self.kinds[record.event] += 1
            for path, field in FIELDS:
                if path == record.event:
                    self.values[path, field][record.values[field]] += 1
            if end := ENDS.get(record.event):
                frame = record.values["frame"]
                assert isinstance(frame, int)
                frame -= end.shift
                task = record.pid or idle_task(record.cpu)
                proof = hash((frame, record.values["count"]))
                found = self.pairing.take(End(seq, record.ts, task, 3, end.at_exit, proof, frame))
                self.took += [leave.ts - entry.ts for entry, leave in self.pairing.pairs]
                self.calls += found


def _record(pid: int, number: int, value: int, small: int, text: bytes) -> bytes:
    if number == 2:
        return entry(902, pid, struct.pack("<Qb3x", value, small))
    return entry(900 + number, pid, struct.pack("<Qi8s", 1000 + value % 17 + 8 * number, small, text))


@given(st.lists(EVENTS, max_size=80), st.sampled_from([1, 3, 16, 1 << 15]), st.sampled_from([600, 1 << 20]))
@settings(max_examples=100, deadline=None)
def test_by_columns_as_one_by_one(events, piece, limit):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("events.store.blocks.BLOCK_ROWS", 4)
        patch.setattr("events.summary.frequent._BITS", 2)
        store = Store(Decoder(dict(FORMATS), HEADER), limit)
        summary, true = Summary(store, piece=piece), OneByOne(store, piece)
        summary.use(ENDS)
        counts = {field: summary.count_also(*field) for field in FIELDS}
        chunks: dict[int, bytes] = {}
        ts = 0
        for cpu, pid, number, value, small, text, passed, lost, looks in [
            *events,
            (0, 5, 2, 0, 0, b"", 1, False, 200),
        ]:
            ts += passed
            made = page(ts, event(_record(pid, number, value, small, text), 0), HEADER, MISSED_EVENTS if lost else 0)
            chunks[cpu] = chunks.get(cpu, b"") + made
            if looks is not None:
                store.feed(Batch(tuple(Chunk(*item) for item in chunks.items()), drained=True))
                if looks == 200:
                    store.flush()
                chunks.clear()
                for _ in range(looks):
                    summary.tick(0.0)
                    true.step()
    assert not summary.backlog and (summary.counted, summary.skipped_events) == (true.seen, true.unseen)
    assert {one.key: one.hits for one in summary.top_tasks(99)} == true.tasks
    assert {kind: summary.timeline.total(kind) for kind in summary.timeline.kinds} == true.kinds
    assert {
        field: {top.value: top.hits for top in found.of_boot(0).top(99)} for field, found in counts.items()
    } == true.values
    assert summary.calls.paired == len(true.took)
    assert summary.calls.unpaired_counts == Counter(
        call.unpaired_reason for call in true.calls if call.unpaired_reason
    )
    times = summary.latencies.get(CalledFunction(3), Distribution())
    assert (times.count, times.total, times.most) == (len(true.took), sum(true.took), max(true.took, default=0))


@given(st.lists(st.sampled_from([0, 1, 7, 65536, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]) | st.integers(0, 999)))
def test_keys_are_counted_whatever_their_hashes_are(keys):
    for bits in (1, 3, 12):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("events.summary.frequent._BITS", bits)
            found, counts = count_keys(np.array(keys, np.uint64))
        assert list(zip(found.tolist(), counts.tolist(), strict=True)) == sorted(Counter(keys).items())


PIECES = st.lists(st.lists(st.integers(-50, 5000), min_size=1, max_size=9), max_size=9)


@given(PIECES, st.sampled_from([2, 4, 16]), st.sets(st.integers(0, 8)))
def test_what_is_in_one_interval_is_counted_as_one_by_one(pieces, buckets, boots):
    """Also where the clock begins again before a piece."""
    one, other = Timeline(finest=10, buckets=buckets), Timeline(finest=10, buckets=buckets)
    for number, piece in enumerate(pieces):
        for line in (one, other) if number in boots else ():
            line.begin_anew()
        stamps = np.array(piece, np.int64)
        one.add("a", stamps)
        first, last = other.cover(min(piece), max(piece))
        if first < last:
            other.add("a", stamps)
        else:
            other.add_at(first, "a", len(piece))
        assert (one.counts("a"), one.start, one.width) == (other.counts("a"), other.start, other.width)
        assert one.total("a") == sum(map(len, pieces[: number + 1]))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 10**9)), min_size=1, max_size=30), st.integers(1, 40))
def test_each_event_is_counted_in_its_interval_whichever_kind_came_first(events, piece):
    store, ts, true = Store(Decoder(dict(FORMATS), HEADER), 1 << 20), 0, []
    for number, passed in events:
        ts += passed
        true.append((ts, FORMATS[900 + number].path))
        made = page(ts, event(_record(5, number, 0, 0, b""), 0), HEADER)
        store.feed(Batch((Chunk(0, made),), drained=True))
    store.flush()
    summary = Summary(store, piece=piece)
    while summary.backlog:
        summary.tick(0.0)
    line = summary.timeline
    assert line.start is not None and 0 <= true[0][0] - line.start < line.width
    places = [
        (kind, place) for kind in line.kinds for place, hits in enumerate(line.counts(kind)) for _ in range(hits)
    ]
    assert sorted(places) == sorted((kind, (stamp - line.start) // line.width) for stamp, kind in true)


def test_what_an_end_is_alone_for_is_told_of_each():
    """Whatever way it was found: none is told twice, none is left out."""
    store = Store(Decoder(dict(FORMATS), HEADER))
    summary = Summary(store)
    summary.use(ENDS)
    made = [_record(5, number, 0, small, b"") for number, small in ((1, 7), (0, 7), (0, -1), (1, 7), (1, -1))]
    store.feed(Batch((Chunk(0, page(9, b"".join(event(one, 10) for one in made), HEADER)),), drained=True))
    store.flush()
    summary.tick(60)
    assert (
        summary.calls.unpaired_counts == {UnpairedReason.NO_ENTRY: 2, UnpairedReason.NO_EXIT: 1}
        and summary.calls.paired == 1
    )
