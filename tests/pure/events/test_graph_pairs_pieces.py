"""The graph of our own probes: the pairs of the calls view, the same wherever a piece of the events ends."""

from __future__ import annotations

import struct
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.calls.calls import Calls
from events.calls.pairing import Call, EndRole
from events.decode import Decoder
from events.format import parse_format
from events.graph.live_tree import LiveTree
from events.graph.tree import CallRow, CallRowFlag
from events.store.store import Store
from events.subbuffer import MISSED_EVENTS
from tests.events_data import entry, event, page
from tests.pure.events.test_calls import FORMAT, HEADER
from tests.pure.events.test_pairing import _Kernel, _Observers

_MOST = _Observers.functions
_NAMES = [f"{kind}{function}" for function in range(_MOST) for kind in "ex"]
_FORMATS = {700 + n: parse_format(FORMAT.format(name=name, number=700 + n), "g") for n, name in enumerate(_NAMES)}
_KERNEL = (1 << 64) - (1 << 40)
_PROGRAM = 0x7FFC_0000_1000


def _ends(chosen: frozenset[int] = frozenset()) -> dict[str, EndRole]:
    return {
        f"g/{kind}{n}": EndRole(n, kind == "x", "frame", 0, ("count",), is_filtered_by_result=n in chosen)
        for n in range(_MOST)
        for kind in "ex"
    }


def _feed(store: Store, steps: list[tuple[int, int, bool, int, int, bool]]) -> None:
    """Take task, function, whether it is an exit, stack pointer, argument, and whether events were lost before it."""
    for n, (task, function, at_exit, frame, argument, lost) in enumerate(steps):
        data = entry(700 + 2 * function + at_exit, task, struct.pack("<Qi", frame % (1 << 64), argument))
        made = page(10 * n + 10, event(data, 0), HEADER, MISSED_EVENTS if lost else 0)
        store.feed(Batch((Chunk(0, made),), drained=True))
    store.flush()


def _rows(store: Store, ends: dict[str, EndRole], piece: int) -> list[CallRow]:
    """Return the rows of a graph that takes so many events at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("events.graph.live_tree._LEAST", piece)
        patch.setattr("events.graph.live_tree.PIECE", piece)
        growing = LiveTree(store, ends)
        while growing.tick(0):
            pass
    return [growing.tree.row(row) for row in range(growing.tree.first, growing.tree.next)]


def _paired(rows: list[CallRow]) -> set[Call]:
    return {Call(row.seq, row.leave) for row in rows if row.leave >= 0 and not row.flags & CallRowFlag.NO_ENTRY}


def _calls(store: Store, ends: dict[str, EndRole]) -> set[Call]:
    """Return the pairs of the calls view."""
    calls = Calls(store)
    calls.use(ends)
    calls.tick(60)
    rows = map(calls.call, range(calls.first, calls.next))
    return {call for call in rows if call.unpaired_reason is None and not call.is_mark}


@given(
    st.sampled_from([_Kernel, _Observers]),
    st.sampled_from([0, 3, 30]),
    st.sampled_from([0, 0, 20]),
    st.booleans(),
    st.integers(1, 40),
    st.integers(0, 1 << 32),
)
@settings(max_examples=30, deadline=None)
def test_a_graph_is_the_same_however_its_events_are_cut(
    kernel: type[_Kernel], miss: int, lose: int, chosen: bool, piece: int, seed: int
) -> None:
    """Of tasks in calls, tail calls and interrupts, of which exits are missed and events lost."""
    made = kernel(miss, lose, Random(seed))
    steps, last = [], 0
    for end in made.ends:
        lost = made.lost_between(last, end.ts)
        steps.append((end.task, end.function, end.at_exit, end.frame, end.pair_key - 4 * end.frame, lost))
        last = end.ts
    store = Store(Decoder(dict(_FORMATS), HEADER))
    _feed(store, steps)
    ends = _ends(made.chosen if chosen else frozenset())
    whole = _rows(store, ends, 1 << 20)
    assert _rows(store, ends, piece) == whole
    pairs = _calls(store, ends)
    assert _paired(whole) <= pairs if lose else _paired(whole) == pairs


@pytest.mark.parametrize("top", [_KERNEL, _PROGRAM])
@pytest.mark.parametrize("piece", [1, 2, 3, 4, 5, 100])
def test_a_look_between_the_exits_of_tail_calls_makes_no_halves(top: int, piece: int) -> None:
    """f calls g last, which calls f last: their exits come from one place."""
    store = Store(Decoder(dict(_FORMATS), HEADER))
    ends = ((0, False), (1, False), (0, False), (0, True), (1, True), (0, True))
    _feed(store, [(5, n, leaves, top, 0, False) for n, leaves in ends])
    rows = _rows(store, _ends(), piece)
    assert [(row.ts, row.duration, row.level) for row in rows] == [(10, 50, 0), (20, 30, 1), (30, 10, 2)]


@pytest.mark.parametrize(("top", "arguments"), [(_PROGRAM, (0, 0)), (_PROGRAM, (0, 1)), (_KERNEL, (0, 1))])
@pytest.mark.parametrize("piece", [1, 3, 100])
def test_a_function_that_calls_itself_last_is_two_calls(top: int, arguments: tuple[int, int], piece: int) -> None:
    one, two = arguments
    store = Store(Decoder(dict(_FORMATS), HEADER))
    _feed(
        store,
        [
            (5, 0, leaves, top, n, False)
            for leaves, n in zip((False, False, True, True), (one, two, two, one), strict=True)
        ],
    )
    rows = _rows(store, _ends(), piece)
    assert [(row.ts, row.duration, row.level) for row in rows] == [(10, 30, 0), (20, 10, 1)]
    assert _paired(rows) == _calls(store, _ends())


@pytest.mark.parametrize("top", [_KERNEL, _PROGRAM])
def test_calls_whose_exits_a_filter_leaves_out_are_not_inside_each_other(top: int) -> None:
    store = Store(Decoder(dict(_FORMATS), HEADER))
    _feed(store, [(5, 0, leaves, top, 0, False) for leaves in (False, False, False, True)])
    ends = _ends(frozenset({0}))
    rows = _rows(store, ends, 1)
    assert [(row.duration, row.level) for row in rows] == [(-1, 0), (-1, 0), (10, 0)]
    assert _paired(rows) == _calls(store, ends)


@given(st.lists(st.integers(-4095, 4095), min_size=1, max_size=6), st.integers(1, 12))
def test_results_of_probes_are_those_of_their_calls(results: list[int], piece: int) -> None:
    """Calls within one another, each exit with a value; the roles say which field that is."""
    ends = {
        path: role._replace(equal_fields=(), result="count" if role.at_exit else "") for path, role in _ends().items()
    }
    store = Store(Decoder(_FORMATS, HEADER), 1 << 20)
    depth = range(len(results))
    steps = [(7, level % _MOST, False, _KERNEL - 64 * level, 0, False) for level in depth]
    steps += [(7, level % _MOST, True, _KERNEL - 64 * level, results[level], False) for level in reversed(depth)]
    _feed(store, steps)
    rows = _rows(store, ends, piece)
    assert [row.retval for row in rows] == results
    for row in rows:
        assert row.flags & CallRowFlag.RETVAL
        assert bool(row.flags & CallRowFlag.FAILED) == (row.retval < 0)
    plain = _rows(store, {path: role._replace(result="") for path, role in ends.items()}, piece)
    assert not any(row.flags & CallRowFlag.RETVAL for row in plain)
