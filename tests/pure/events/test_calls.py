"""Calls by columns against the pairing one by one, over pages as a kernel writes them: overruns and text too."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.calls.call_values import Call, End, EndRole, UnpairedReason, idle_task
from events.calls.calls import Calls
from events.calls.pairing import Pairing
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.graph.live_tree import LiveTree
from events.graph.tree import CallRowFlag
from events.losses import Loss
from events.store.outage_mark import Outage
from events.store.store import Store
from events.subbuffer import MISSED_EVENTS
from tests.events_data import entry, event, page
from tui.views.calls.model import CallItems
from widgets.events.call_rows import CallText, CallValue

HEADER = HeaderPage()
FORMAT = """name: {name}
ID: {number}
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:u64 frame;\toffset:8;\tsize:8;\tsigned:0;
\tfield:s32 count;\toffset:16;\tsize:4;\tsigned:1;

print fmt: "frame=%Lu count=%d", REC->frame, REC->count
"""
FORMATS = {700 + n: parse_format(FORMAT.format(name=name, number=700 + n), "g") for n, name in enumerate("abcd")}
ENDS = {
    "g/a": EndRole(0, False, "frame", 0, ("count",)),
    "g/b": EndRole(0, True, "frame", 8, ("count",)),
    "g/c": EndRole(1, False, "frame", 0, ()),
    "g/d": EndRole(1, True, "frame", 8, ()),
}
STEPS = st.tuples(
    st.integers(0, 1),  # CPU
    st.sampled_from([0, 5, 6]),  # task
    st.integers(0, 3),  # event
    st.integers(0, 1),  # frame
    st.integers(-1, 0),  # count
    st.sampled_from([False] * 9 + [True]),  # events were overwritten before it
    st.sampled_from([False] * 9 + [True]),  # a pass ends behind it
)


KERNEL_STACK = 0xFFFFC90000003000


def _record(pid: int, number: int, frame: int, count: int) -> bytes:
    shift = 8 * (number % 2)
    return entry(700 + number, pid, struct.pack("<Qi", 1000 + frame + shift, count))


def _fill(store: Store, steps: list[tuple[int, int, int, int, int, bool, bool]]) -> None:
    chunks: dict[int, bytes] = {}
    for n, (cpu, pid, number, frame, count, lost, ends) in enumerate(steps):
        flags = MISSED_EVENTS if lost else 0
        made = page(10 * n + 10, event(_record(pid, number, frame, count), 0), HEADER, flags)
        chunks[cpu] = chunks.get(cpu, b"") + made
        if ends:
            store.feed(Batch(tuple(Chunk(*item) for item in chunks.items()), drained=True))
            chunks.clear()
    store.feed(Batch(tuple(Chunk(*item) for item in chunks.items()), drained=True))
    store.flush()


def _one_by_one(store: Store) -> list[Call]:
    pairing = Pairing(store.loss_spans.latest.may_lack_ends)
    calls = []
    for seq in range(store.first_seq, store.next_seq):
        record = store.record(seq)
        end = ENDS[record.event]
        frame = record.values["frame"]
        assert isinstance(frame, int)
        frame -= end.shift
        proof = hash((frame, *(record.values[name] for name in end.equal_fields)))
        task = record.pid or idle_task(record.cpu)
        calls += pairing.take(End(seq, record.ts, task, end.function, end.at_exit, proof, frame))
    return calls


def _all(store: Store) -> tuple[Calls, list[Call]]:
    calls = Calls(store)
    calls.use(ENDS)
    while calls.backlog:
        calls.tick()
    found = [calls.call(row) for row in range(calls.first, calls.next)]
    return calls, [call for call in found if call.loss is None]


@given(st.lists(STEPS, max_size=40))
@settings(max_examples=200)
def test_by_columns_as_one_by_one(steps: list[tuple[int, int, int, int, int, bool, bool]]) -> None:
    store = Store(Decoder(dict(FORMATS), HEADER))
    _fill(store, steps)
    calls, found = _all(store)
    assert sorted(map(repr, found)) == sorted(map(repr, _one_by_one(store)))
    assert (calls.paired, sum(calls.unpaired_counts.values())) == (
        sum(call.unpaired_reason is None for call in found),
        sum(call.unpaired_reason is not None for call in found),
    )
    assert 2 * calls.paired + sum(calls.unpaired_counts.values()) + calls.open + calls.waiting == len(store)


@given(st.lists(st.tuples(STEPS, st.integers(0, 3)), max_size=40), st.sampled_from([3, 8, 1 << 13]))
@settings(max_examples=120)
def test_by_columns_nothing_is_a_pair_that_is_none_one_by_one(
    steps: list[tuple[tuple[int, int, int, int, int, bool, bool], int]], piece: int
) -> None:
    """On stacks of the kernel a call is shown to be over by what stands in its place."""
    store = Store(Decoder(dict(FORMATS), HEADER))
    frames = [KERNEL_STACK + at for at in (0, 0x40, 0x80, 0x8000)]
    _fill(store, [(step[0], 5, step[2], frames[frame], 0, *step[5:]) for step, frame in steps])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("events.calls.calls._PIECE", piece)
        calls, found = _all(store)
    pairs = {call for call in found if call.unpaired_reason is None}
    assert pairs <= {call for call in _one_by_one(store) if call.unpaired_reason is None}
    assert 2 * calls.paired + sum(calls.unpaired_counts.values()) + calls.open + calls.waiting == len(store)


@given(st.lists(STEPS, max_size=40), st.sampled_from([1, 3, 1 << 13]))
@settings(max_examples=100)
def test_what_was_lost_has_a_row_before_the_calls_that_ended_behind_it(
    steps: list[tuple[int, int, int, int, int, bool, bool]], piece: int
) -> None:
    store = Store(Decoder(dict(FORMATS), HEADER))
    _fill(store, steps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("events.calls.calls._PIECE", piece)
        calls, _ = _all(store)
    found = [calls.call(row) for row in range(calls.first, calls.next)]
    losses = [call.loss for call in found if call.loss is not None]
    assert [(loss.ts, loss.cpu) for loss in losses] == [
        (10 * n + 10, step[0]) for n, step in enumerate(steps) if step[5]
    ]
    assert calls.losses == calls.marks_before(calls.next) == len(losses)
    assert calls.numbers(calls.first, calls.next).marks.tolist() == [call.is_mark for call in found]
    for row, call in enumerate(found):
        if call.loss is not None and call.exit is not None:
            assert store.row(call.exit).ts == call.loss.ts
            assert all(max(one.entry or 0, one.exit or 0) < call.exit for one in found[:row])


def test_losses_go_with_the_events_behind_them_and_none_is_shown_of_before_the_calls() -> None:
    store = Store(Decoder(dict(FORMATS), HEADER), limit_bytes=200_000)
    calls = Calls(store)
    calls.use(ENDS)
    data = b"".join(event(_record(9, at, 0, 0), 10) for at in (2, 3) * 50)
    for n in range(1, 400):
        store.feed(Batch((Chunk(0, page(1000 * n, data, HEADER, MISSED_EVENTS)),), drained=True))
        calls.tick()
    store.flush()
    calls.tick()
    kept = len(store) // 100 + 2
    assert store.first_seq > 0
    assert 0 < calls.losses <= kept
    assert len([*store.losses.after(0)]) <= kept
    later = Calls(store.from_now_on())
    store.feed(Batch((Chunk(0, page(10**6, data, HEADER, MISSED_EVENTS)),), drained=True))
    store.flush()
    later.use(ENDS)
    while later.backlog:
        later.tick()
    assert later.losses == 1


def _pairs_of_graph(store: Store) -> set[Call]:
    growing = LiveTree(store, ENDS)
    while growing.tick(60.0):
        pass
    rows = map(growing.tree.row, range(growing.tree.first, growing.tree.next))
    return {Call(row.seq, row.leave) for row in rows if row.leave >= 0 and not row.flags & CallRowFlag.NO_ENTRY}


@given(st.lists(st.tuples(STEPS, st.integers(0, 3)), max_size=40), st.sampled_from([3, 8, 1 << 13]), st.booleans())
@settings(max_examples=120)
def test_a_graph_has_no_pair_that_is_none_among_the_calls(
    steps: list[tuple[tuple[int, int, int, int, int, bool, bool], int]], piece: int, program: bool
) -> None:
    """Whatever was missed and lost, on stacks of the kernel and of programs."""
    store = Store(Decoder(dict(FORMATS), HEADER))
    frames = [(0x7FFC0000 if program else KERNEL_STACK) + at for at in (0, 0x40, 0x80, 0x8000)]
    _fill(store, [(step[0], step[1], step[2], frames[frame], 0, *step[5:]) for step, frame in steps])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("events.calls.calls._PIECE", piece)
        patch.setattr("events.graph.live_tree._LEAST", piece)
        patch.setattr("events.graph.live_tree.PIECE", piece)
        pairs = {call for call in _all(store)[1] if call.unpaired_reason is None}
        assert _pairs_of_graph(store) <= pairs
    assert pairs <= {call for call in _one_by_one(store) if call.unpaired_reason is None}


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.booleans()), max_size=60),
    st.integers(1, 50),
    st.booleans(),
)
@settings(max_examples=200)
def test_a_graph_has_the_pairs_of_the_calls_where_all_was_seen(
    steps: list[tuple[int, int, bool]], piece: int, crossing: bool
) -> None:
    """Calls in calls of several tasks; in the place of a caller stands a call as its last act, or what another probe
    on it sees, whose exits may come in the order of the entries (`crossing`).
    """
    open_calls: dict[int, list[tuple[int, int]]] = {}
    events = []
    for task, doing, tail in steps:
        stack = open_calls.setdefault(task, [])
        if stack and doing < 5:
            together = [one for one in stack if one[1] == stack[-1][1]]
            del stack[-len(together) :]
            for function, frame in together if crossing else together[::-1]:
                events.append((0, 5 + task, 2 * function + 1, frame, 0, False, False))
        else:
            function = doing % 2
            frame = stack[-1][1] if stack else KERNEL_STACK + (task << 16) + 0x2000
            in_its_place = tail and stack and all(other != (function, frame) for other in stack)
            frame -= 0 if in_its_place else 0x40
            stack.append((function, frame))
            events.append((0, 5 + task, 2 * function, frame, 0, False, False))
    store = Store(Decoder(dict(FORMATS), HEADER))
    _fill(store, events)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("events.graph.live_tree._LEAST", piece)
        patch.setattr("events.graph.live_tree.PIECE", piece)
        assert _pairs_of_graph(store) == {call for call in _all(store)[1] if call.unpaired_reason is None}


@pytest.mark.parametrize("piece", [1, 2, 3, 1 << 13])
def test_an_entry_whose_exit_was_missed_has_no_exit_of_a_later_call(piece: int, monkeypatch) -> None:
    """Its own exit and the entry of the last call were not seen; a whole call stood in its place between them."""
    monkeypatch.setattr("events.calls.calls._PIECE", piece)
    for inner, above in ((0, 0), (2, 0x40)):
        store = Store(Decoder(dict(FORMATS), HEADER))
        there = ((0, 0), (inner, above), (inner + 1, above), (1, 0))
        _fill(store, [(0, 5, number, KERNEL_STACK + at, 0, False, False) for number, at in there])
        assert {call for call in _all(store)[1] if call.unpaired_reason is None} == {Call(1, 2)}


def test_in_the_order_in_which_they_ended() -> None:
    store = Store(Decoder(dict(FORMATS), HEADER))
    _fill(store, [(0, 5, n, 0, 0, False, False) for n in (0, 2, 3, 1)])  # the second within the first
    assert _all(store)[1] == [Call(1, 2), Call(0, 3)]


def test_nothing_is_paired_over_what_was_lost() -> None:
    """The exit of the first call and the entry of the second are lost: what is left looks like one call."""
    steps = [(0, 5, 0, 0, 0, False, False), (0, 5, 1, 0, 0, True, False)]
    for lost, expected in (
        (True, [Call(0, None, UnpairedReason.LOST), Call(None, 1, UnpairedReason.LOST)]),
        (False, [Call(0, 1)]),
    ):
        store = Store(Decoder(dict(FORMATS), HEADER))
        _fill(store, [(*step[:5], lost and step[5], False) for step in steps])
        assert _all(store)[1] == expected


@pytest.mark.parametrize("missed", [None, 0, 1])
def test_the_first_call_after_a_loss_is_a_pair_where_the_kernel_missed_no_exit(missed: int | None) -> None:
    """Else the exit may be that of a call around it in its place, whose entry is among the lost."""
    store = Store(Decoder(dict(FORMATS), HEADER))
    there = ((5, 0), (5, 1), (6, 2), (6, 3), (5, 0), (5, 1), (5, 0), (5, 1))
    _fill(store, [(0, pid, number, 0, 0, n == 3, n == 2) for n, (pid, number) in enumerate(there)])
    store.missed_calls = {"g/b": missed}
    pairs = {call for call in _all(store)[1] if call.unpaired_reason is None}
    assert pairs == {Call(0, 1), Call(6, 7), *([Call(4, 5)] if missed == 0 else [])}


def test_nothing_is_paired_over_passes_that_were_dropped() -> None:
    store = Store(Decoder(dict(FORMATS), HEADER))
    for n, number in enumerate((0, 1)):
        data = page(10 * n + 10, event(_record(5, number, 0, 0), 0), HEADER)
        store.feed(Batch((Chunk(0, data),), drained=True, after_gap=n == 1))
    store.flush()
    assert _all(store)[1] == [Call(0, None, UnpairedReason.LOST), Call(None, 1, UnpairedReason.LOST)]


def test_text_is_paired_too() -> None:
    store = Store(Decoder(dict(FORMATS), HEADER))
    lines = (
        b"             cat-5       [000] .....     1.000010: a: frame=1000 count=-1\n"
        b"             cat-5       [000] .....     1.000020: b: frame=1008 count=-1\n"
        b"             cat-5       [001] .....     1.000030: c: frame=1000 count=3\n"
        b"             cat-6       [000] .....     1.000031: c: frame=1000 count=3\n"
        b"             cat-6       [000] .....     1.000032: d: frame=1008 count=3\n"
        b"CPU:1 [LOST 3 EVENTS]\n"
        b"             cat-5       [001] .....     1.000040: d: frame=1008 count=3\n"
    )
    store.feed(Batch((Chunk(-1, lines, text=True),), drained=False))
    found = _all(store)[1]
    # A task may have been on the other CPU meanwhile.
    lost = [
        Call(3, None, UnpairedReason.LOST),
        Call(None, 4, UnpairedReason.LOST),
        Call(2, None, UnpairedReason.LOST),
        Call(None, 5, UnpairedReason.LOST),
    ]
    assert found == [Call(0, 1), *lost]
    assert [*store.losses.after(0)] == [Loss(1_000_040_000, 1, 3, 0)]


def test_a_full_store_drops_calls_with_their_events() -> None:
    store = Store(Decoder(dict(FORMATS), HEADER), limit_bytes=200_000)
    calls = Calls(store)
    calls.use(ENDS)
    for n in range(300):
        data = b"".join(event(_record(5, at % 2, 0, n), 10) for at in range(100))
        store.feed(Batch((Chunk(0, page(1000 * n + 10, data, HEADER)),), drained=True))
        calls.tick()
    assert store.first_seq > 0
    assert calls.first > 0
    assert calls.unpaired_counts == {}
    call = calls.call(calls.first)
    assert call.exit is not None
    assert call.exit >= store.first_seq


def _fill_up(store: Store, calls: Calls | None, start: int) -> int:
    """Events of others, until a store of 200 kB has dropped all that it had; gives the time behind them."""
    data = b"".join(event(_record(9, at, 0, 0), 10) for at in (2, 3) * 50)
    for n in range(start, start + 200):
        store.feed(Batch((Chunk(0, page(1000 * n, data, HEADER)),), drained=True))
        if calls is not None:
            calls.tick()
    return 1000 * (start + 200)


def test_nothing_is_paired_over_what_was_dropped_before_anybody_looked() -> None:
    """The exit of the first call and the entry of the second came while nobody looked at calls, and went."""
    store = Store(Decoder(dict(FORMATS), HEADER), limit_bytes=200_000)
    calls = Calls(store)
    calls.use(ENDS)
    store.feed(Batch((Chunk(0, page(10, event(_record(5, 0, 0, 0), 0), HEADER)),), drained=True))
    store.flush()
    calls.tick()
    data = b"".join(event(_record(5, number, 0, 0), 10) for number in (1, 0))
    store.feed(Batch((Chunk(0, page(20, data, HEADER)),), drained=True))
    late = _fill_up(store, None, 2)
    store.feed(Batch((Chunk(0, page(late, event(_record(5, 1, 0, 0), 0), HEADER)),), drained=True))
    store.flush()
    assert store.first_seq > 2
    assert calls.next == 0
    assert calls.open == 1
    while calls.backlog:
        calls.tick()
    assert calls.unpaired_counts[UnpairedReason.LOST] == 1
    assert calls.call(calls.next - 1) == Call(None, store.next_seq - 1, UnpairedReason.NO_ENTRY)
    assert calls.open == 0


def test_nothing_is_paired_over_the_time_in_which_a_probe_was_away() -> None:
    """A task was within a call when its probe was disarmed, and within another when it was armed again."""
    store = Store(Decoder({}, HEADER))
    for n, number in enumerate((0, 1)):
        store.use(FORMATS)
        store.feed(Batch((Chunk(0, page(10 * n + 10, event(_record(5, number, 0, 0), 0), HEADER)),), drained=True))
        if n == 0:
            store.feed(Batch((), drained=False, after_gap=True))
    data = b"".join(event(_record(5, number, 0, 0), 1) for number in (0, 1))
    store.feed(Batch((Chunk(0, page(30, data, HEADER)),), drained=True))
    store.flush()
    assert _all(store)[1] == [Call(0, None, UnpairedReason.LOST), Call(None, 1, UnpairedReason.LOST), Call(2, 3)]


def test_a_call_that_ends_with_the_last_event_before_an_outage_is_complete() -> None:
    """However late it is paired: as events come, or all at once as those of a recording."""
    store = Store(Decoder(dict(FORMATS), HEADER))
    for n in range(2):
        data = b"".join(event(_record(5, number, 0, 0), 1) for number in (0, 1))
        store.feed(Batch((Chunk(0, page(1000 * n + 10, data, HEADER)),), drained=True))
        if n == 0:
            store.feed(Outage.between(store.latest, 1000).batch(store.latest))
    store.flush()
    assert _all(store)[1][0] == Call(0, 1)
    stamps = np.array([store.row(seq).ts for seq in (0, 1, 3)])
    assert store.loss_spans.latest.lacks_ends_before(stamps).tolist() == [False, False, True]


@pytest.mark.parametrize("pieces", [1, 300])
def test_a_probe_that_was_away_concerns_only_the_calls_open_over_that_time(pieces: int) -> None:
    """Tasks that are seen for the first time behind it, the last call before it, and later gaps of other probes."""
    store = Store(Decoder(dict(FORMATS), HEADER))
    gone = Batch((), drained=False, after_gap=True, changed=True)
    calls: list[tuple[int, int] | None] = [
        (0, 5),
        (1, 5),
        (0, 6),
        None,
        *((number, pid) for pid in range(7, 7 + pieces) for number in (0, 1)),
        None,
    ]
    for n, step in enumerate([*calls, (1, 6), (0, 5), (1, 5), (0, 4), (1, 4)]):
        data = b"" if step is None else event(_record(step[1], step[0], 0, 0), 0)
        store.feed(gone if step is None else Batch((Chunk(0, page(10 * n + 10, data, HEADER)),), drained=True))
    store.flush()
    made, found = _all(store)
    assert [call for call in found if call.unpaired_reason] == [
        Call(2, None, UnpairedReason.LOST),
        Call(None, 2 * pieces + 3, UnpairedReason.LOST),
    ]
    assert made.paired == pieces + 3


@pytest.mark.parametrize("missed", [None, 0, 1])
def test_a_call_in_the_place_of_one_that_was_open_while_its_probe_was_away(missed: int | None) -> None:
    """The exit behind both may be that of the outer one, as the kernel may have missed the other."""
    store = Store(Decoder(dict(FORMATS), HEADER))
    gone = Batch((), drained=False, after_gap=True, changed=True)
    for n, number in enumerate((0, None, 0, 1, 0, 1)):
        data = event(_record(5, number or 0, 0, 0), 0)
        store.feed(gone if number is None else Batch((Chunk(0, page(10 * n + 10, data, HEADER)),), drained=True))
    store.flush()
    store.missed_calls = {"g/b": missed}
    pairs = {call for call in _all(store)[1] if call.unpaired_reason is None}
    assert pairs == {Call(3, 4), *([Call(1, 2)] if missed == 0 else [])}


def test_events_of_an_earlier_probe_of_that_name_are_no_ends() -> None:
    """A person who chose its name armed it again with other fields: what came before has not what would prove it."""
    store = Store(Decoder(dict(FORMATS), HEADER))
    _fill(store, [(0, 5, n, 0, 0, False, False) for n in (0, 1, 2, 3)])
    line = b"             cat-5       [000] .....     1.000010: %s: frame=%d count=-1\n"
    text = b"".join(line % (name, frame) for name, frame in ((b"a", 1000), (b"b", 1008)))
    store.feed(Batch((Chunk(-1, text, text=True),), drained=False))
    for changed in ({"frame": "frame_2"}, {"equal_fields": ("count", "pos")}):
        calls = Calls(store)
        calls.use({path: end._replace(**changed) if end.function == 0 else end for path, end in ENDS.items()})
        calls.tick(10)
        assert [calls.call(row) for row in range(calls.first, calls.next)] == [Call(2, 3)]


def test_a_search_passes_calls_whose_events_are_gone() -> None:
    """An entry that stays alone is told when the call around it ends: behind calls that are younger."""
    store = Store(Decoder(dict(FORMATS), HEADER), limit_bytes=200_000)
    watching = SimpleNamespace(event_fields=SimpleNamespace(plans=(), values=lambda *_, **__: []))
    items = CallItems(watching, store)
    shown = items.texts
    shown.calls.use(ENDS)
    data = b"".join(event(_record(5, number, frame, 0), 10) for number, frame in ((2, 64), (0, 0)))
    store.feed(Batch((Chunk(0, page(10, data, HEADER)),), drained=True))
    late = _fill_up(store, shown.calls, 2)
    store.feed(Batch((Chunk(0, page(late, event(_record(5, 3, 64, 0), 0), HEADER)),), drained=True))
    store.flush()
    shown.calls.tick()
    assert shown.calls.call(shown.next - 2) == Call(1, None, UnpairedReason.NO_EXIT)
    shown._columns = dict.fromkeys(ENDS, ("vfs_read", {}))
    assert items.find("vfs_re", items, shown.next - 2, 1, 1.0).seq == shown.next - 1
    assert items.find("nothing", items, shown.next - 1, -1, 60.0).done


def test_what_was_lost_is_known_for_as_long_as_a_call_is_open() -> None:
    """Between the two was a gap, which is older than all that the store still has."""
    store = Store(Decoder(dict(FORMATS), HEADER), limit_bytes=200_000)
    calls = Calls(store)
    calls.use(ENDS)
    store.feed(Batch((Chunk(0, page(10, event(_record(5, 0, 0, 0), 0), HEADER)),), drained=True))
    store.feed(Batch((Chunk(0, page(20, event(_record(6, 0, 0, 0), 0), HEADER, MISSED_EVENTS)),), drained=True))
    late = _fill_up(store, calls, 2)
    store.feed(Batch((Chunk(0, page(late, event(_record(5, 1, 0, 0), 0), HEADER)),), drained=True))
    store.flush()
    calls.tick()
    assert store.first_seq > 1
    assert calls.call(calls.next - 1).unpaired_reason is UnpairedReason.LOST


@pytest.mark.parametrize("text", ["fd 5", "pos 0 → 512", "count 4096  name a", "vfs_read"])
def test_values_are_found_as_they_are_shown(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = (
        CallValue("fd", None, "5"),
        CallValue("pos", "0", "512"),
        CallValue("count", "4096", "4096"),
        CallValue("name", "a", None),
    )
    shown = CallItems(SimpleNamespace(), Store(Decoder(dict(FORMATS), HEADER)))
    monkeypatch.setattr(shown, "calls", SimpleNamespace(first=0, next=1))
    monkeypatch.setattr(shown.texts, "call", lambda _: CallText(0, "cat-5", "vfs_read", 1, "512", False, values))
    assert shown.find(text, shown, 0, 1, 1.0).seq == 0
    assert shown.find("fd  ", shown, 0, 1, 1.0).seq is None
