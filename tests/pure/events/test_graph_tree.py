"""The tree of calls against one that is built an event at a time in plain Python, whatever was missed or lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from events.graph.begin_end_columns import (
    BeginEndColumns,
    Deeper,
    Edge,
    RowKind,
    by_depth,
    by_stack,
    columns_from_graph,
    on_stack,
)
from events.graph.call_ends import EndKind, zeros
from events.graph.tree import OPEN_END, CallRowFlag, CallTree

FUNCTIONS = 4


@dataclass
class Call:
    """A row of the plain tree."""

    seq: int
    kind: int
    function: int
    place: int | None
    ts: int
    level: int
    parent: int
    leave: int = -1
    after: int = OPEN_END
    duration: int = -1
    inside: int = 0
    flags: int = CallRowFlag.OPEN


@dataclass
class Event:
    ts: int
    task: int
    edge: int
    function: int
    place: int
    kind: int = RowKind.CALL
    duration: int = -1
    broken: bool = False


@dataclass
class Plain:
    """One event after the other."""

    deeper: Deeper
    rows: list[Call] = field(default_factory=list)
    stacks: dict[int, list[int]] = field(default_factory=dict)

    def over(self, row: int, flag: CallRowFlag) -> None:
        self.rows[row].flags, self.rows[row].after = flag, len(self.rows)

    def around(self, stack: list[int]) -> int | None:
        """Place of the innermost call."""
        return next((self.rows[row].place for row in reversed(stack) if self.rows[row].place is not None), None)

    def take(self, seq: int, event: Event) -> None:
        if event.broken:
            for opened in self.stacks.values():
                for lost in opened:
                    self.over(lost, CallRowFlag.LOST)
            self.stacks.clear()
        stack = self.stacks.setdefault(event.task, [])
        call = event.kind == RowKind.CALL
        if event.edge == Edge.END and self.leave(seq, event, stack):
            return
        self.close_outside(event, stack)
        if event.kind == RowKind.SWITCH and event.edge == Edge.END:
            return  # a thread that comes for the first time
        parent = stack[-1] if stack else -1
        row = Call(seq, event.kind, event.function, event.place if call else None, event.ts, len(stack), parent)
        if event.edge != Edge.BEGIN:
            row.after, row.flags = len(self.rows) + 1, CallRowFlag.NO_ENTRY if event.edge == Edge.END else 0
            if event.edge == Edge.END:
                row.leave, row.duration = seq, event.duration
        self.rows.append(row)
        if event.edge == Edge.BEGIN:
            stack.append(len(self.rows) - 1)

    def close_outside(self, event: Event | Call, stack: list[int]) -> None:
        while stack and self.rows[stack[-1]].kind == RowKind.SWITCH:
            self.over(stack.pop(), CallRowFlag.NO_EXIT)
        while event.kind == RowKind.CALL and stack and (place := self.around(stack)) is not None:
            if self.deeper(event.place, place, event.function == self.rows[stack[-1]].function):
                break
            self.over(stack.pop(), CallRowFlag.NO_EXIT)

    def leave(self, seq: int, event: Event, stack: list[int]) -> bool:
        for at in range(len(stack) - 1, -1, -1):
            row = self.rows[stack[at]]
            if (row.kind, row.function) != (event.kind, event.function):
                continue
            if event.kind == RowKind.CALL and row.place != event.place:
                continue
            inner, stack[at:] = stack[at + 1 :], []
            # The exits of other functions at this position may still follow.
            beside = [n for n in inner if event.kind == RowKind.CALL and self.rows[n].place == event.place]
            beside = [n for n in beside if self.rows[n].function != event.function]
            for n in reversed(inner):
                if n not in beside:
                    self.over(n, CallRowFlag.NO_EXIT)
            for n in beside:
                self.close_outside(self.rows[n], stack)
                stack.append(n)
            row.duration = event.duration if event.duration >= 0 else event.ts - row.ts
            row.leave, row.after, row.flags = seq, len(self.rows), 0
            if row.parent >= 0 and row.kind != RowKind.SWITCH:
                self.rows[row.parent].inside += row.duration
            return True
        return False


@st.composite
def streams(draw: st.DrawFn, stack: bool = False) -> list[Event]:
    """Well nested calls of a few tasks, of which some events are missing."""
    events: list[Event] = []
    stacks: dict[int, list[tuple[int, int, int]]] = {}
    ts = 0
    for choice in draw(st.lists(st.tuples(*[st.integers(0, 99)] * 4), max_size=120)):
        task = choice[0] % 3 + 1
        calls = stacks.setdefault(task, [])
        ts += choice[1]
        missing, broken = choice[2] < 6, choice[2] > 96
        event = None
        if choice[3] < 55 and len(calls) < 6:
            interrupt = RowKind.IRQ if choice[1] % 2 else RowKind.SOFTIRQ
            what: int = RowKind.CALL if choice[3] > 20 else RowKind.SWITCH if choice[3] > 16 else interrupt
            function = 0 if what == RowKind.SWITCH else choice[1] % FUNCTIONS
            # A function that another one jumps to has the place of that on the stack.
            level = len(calls) // (1 + choice[2] % 2)
            place = (
                (1 << 20) - 64 * level + (1 << 30) * (what in (RowKind.IRQ, RowKind.SOFTIRQ))
                if stack
                else 2 * len(calls)
            )
            calls.append((what, function, place))
            event = Event(ts, task, Edge.BEGIN, function, place, what)
        elif choice[3] < 95 and calls:
            what, function, place = calls.pop()
            event = Event(ts, task, Edge.END, function, place, what, choice[1] if choice[2] % 2 else -1)
        elif choice[3] >= 95:
            event = Event(ts, task, Edge.POINT, 77, 0, RowKind.COMMENT)
        if event is not None and not missing:
            event.broken = broken
            events.append(event)
    return events


def brackets(events: list[Event], first: int = 0) -> BeginEndColumns:
    def column(name: str, kind: Any) -> NDArray[Any]:
        return np.array([getattr(event, name) for event in events], kind)

    size = len(events)
    return BeginEndColumns(
        column("ts", np.int64),
        np.arange(first, first + size),
        column("task", np.int32),
        np.zeros(size, np.int16),
        column("edge", np.uint8),
        column("kind", np.uint8),
        column("function", np.uint64),
        column("place", np.int64),
        np.zeros(size, np.uint64),
        column("duration", np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.bool_),
    )


def grown(events: list[Event], pieces: list[int], deeper: Deeper, limit: int = 1 << 20) -> CallTree:
    tree = CallTree(deeper, limit)
    at = 0
    while at < len(events):
        size = pieces[at % len(pieces)]
        part = events[at : at + size]
        broken = np.array([event.broken for event in part])
        tree.take(brackets(part, at), broken if broken.any() else None)
        at += size
    return tree


_SHOWN = attrgetter("seq", "kind", "function", "ts", "level", "parent", "leave", "after", "duration", "flags")


def told(tree: CallTree) -> list[tuple[int, ...]]:
    return [_SHOWN(tree.row(number)) for number in range(tree.first, tree.next)]


def of_plain(plain: Plain) -> list[tuple[int, ...]]:
    return [_SHOWN(row) for row in plain.rows]


PIECES = st.lists(st.integers(1, 40), min_size=1, max_size=5)


def check(events: list[Event], pieces: list[int], deeper: Deeper) -> None:
    tree, plain = grown(events, pieces, deeper), Plain(deeper)
    for seq, event in enumerate(events):
        plain.take(seq, event)
    assert told(tree) == of_plain(plain)
    own = [-1 if row.duration < 0 else max(row.duration - row.inside, 0) for row in plain.rows]
    assert [tree.row(row).self_time for row in range(tree.next)] == own
    ends = [
        flag
        for row in plain.rows
        if row.kind == RowKind.CALL and (flag := CallRowFlag(row.flags)) and flag != CallRowFlag.OPEN
    ]
    assert {flag: n for flag, n in tree.counts.items() if n} == {flag: ends.count(flag) for flag in set(ends)}
    for what in (RowKind.CALL, RowKind.IRQ, RowKind.SOFTIRQ):
        both = [
            row for row in plain.rows if row.kind == what and row.leave >= 0 and row.flags & CallRowFlag.NO_ENTRY == 0
        ]
        assert tree.ended[what] == len(both), "each is counted apart"
    assert tree.open == sum(row.flags == CallRowFlag.OPEN and row.kind == RowKind.CALL for row in plain.rows)


@given(streams(), PIECES)
@settings(max_examples=300)
def test_of_the_tracer(events: list[Event], pieces: list[int]) -> None:
    check(events, pieces, by_depth)


@given(streams(stack=True), PIECES)
@settings(max_examples=200)
def test_of_our_own_pairs(events: list[Event], pieces: list[int]) -> None:
    check(events, pieces, by_stack)


@given(streams(), PIECES)
def test_what_is_inside_stands_below(events: list[Event], pieces: list[int]) -> None:
    """Every row of the task up to `after` is inside, no other is, and nothing is inside of what is not open."""
    tree = grown(events, pieces, by_depth)
    rows = [tree.row(row) for row in range(tree.next)]
    for row in rows:
        inside = {one.row for one in rows if one.task == row.task and row.row < one.row < row.after}
        below = set()
        for one in rows:  # a parent comes before what is in it
            if one.parent == row.row or one.parent in below:
                below.add(one.row)
        assert inside == below
        if row.parent >= 0:
            assert rows[row.parent].level == row.level - 1
            assert rows[row.parent].task == row.task


@given(streams(), PIECES, st.integers(1, 20))
def test_the_oldest_rows_are_dropped(events: list[Event], pieces: list[int], limit: int) -> None:
    """What is kept says the same as where all is kept, but for parents that are gone."""
    every, some = grown(events, pieces, by_depth), grown(events, pieces, by_depth, limit)
    assert (some.next, some.next - some.first) == (every.next, min(every.next, limit))
    for row in range(some.first, some.next):
        one, other = some.row(row), every.row(row)
        assert (one.leave, one.after, one.duration, one.flags) == (
            other.leave,
            other.after,
            other.duration,
            other.flags,
        )
        assert one.parent == (other.parent if other.parent >= some.first else -1)


def test_a_switch_is_a_time_off_the_cpu() -> None:
    """It ends when the task comes back, on whatever CPU; the idle task of each CPU is one of its own."""
    kinds = [EndKind.ENTRY, EndKind.SWITCH, EndKind.SWITCH, EndKind.SWITCH, EndKind.EXIT]
    ends = zeros(5)
    ends.ts[:], ends.seq[:], ends.kind[:] = [10, 20, 30, 50, 60], range(5), kinds
    ends.pid[:], ends.cpu[:] = [7, 7, 0, 0, 7], [0, 0, 1, 0, 0]
    ends.other[:], ends.function[:] = [0, 0, 9, 7, 0], [99, 0, 0, 0, 99]
    ends.calltime[-1], ends.rettime[-1] = 100, 145
    tree = CallTree()
    tree.take(columns_from_graph(ends))
    call, off = tree.row(0), tree.row(1)
    assert (call.duration, call.after, call.self_time) == (45, 4, 45)
    assert (off.kind, off.function, off.duration, off.parent, off.leave) == (RowKind.SWITCH, 0, 30, 0, 3)
    assert [tree.row(row).task for row in range(4)] == [7, 7, -2, -1]


def test_an_error_is_marked_as_the_kernel_guesses() -> None:
    values = [0, -11, 0xFFFFFFF5, -4096, 0xFFFFFFFF00000000, 11, 0xFFFFEFFF]
    ends = zeros(len(values))
    ends.seq[:] = range(len(values))
    ends.kind[:], ends.has_retval[:] = EndKind.EXIT, True
    ends.retval[:] = [value - (1 << 64) if value >= 1 << 63 else value for value in values]
    tree = CallTree()
    tree.take(columns_from_graph(ends))
    failed = [bool(tree.row(row).flags & CallRowFlag.FAILED) for row in range(len(values))]
    assert failed == [False, True, True, False, False, False, False]


def test_open_calls_are_bounded(monkeypatch) -> None:
    monkeypatch.setattr("events.graph.open_calls.MOST_OPEN", 10)
    events = [Event(n, n, Edge.BEGIN, 1, 0) for n in range(1, 31)]
    tree = grown(events, [7], by_depth)
    assert tree.open <= 10
    assert tree.row(tree.next - 1).flags == CallRowFlag.OPEN
    assert tree.counts[CallRowFlag.NO_EXIT] == 30 - tree.open


def test_what_a_function_jumps_to_stands_in_its_place() -> None:
    """A tail call has the frame of its caller and returns before it; of one function whose exits a filter leaves out
    it is one after the other.
    """
    f, g, h, other = 1, 2, 3, 4

    def calls(*ends: tuple[Edge, int], chosen: bool = True) -> list[tuple[int, int, int, int]]:
        at = on_stack(-1 << 20, chosen)
        events = [Event(n, 5, edge, function, at) for n, (edge, function) in enumerate(ends)]
        found = []
        for pieces in ([100], [1]):
            tree = grown(events, pieces, by_stack)
            rows = map(tree.row, range(tree.next))
            found.append([(row.function, row.level, row.leave, int(row.flags)) for row in rows])
        assert found[0] == found[1]
        return found[0]

    begin, end = Edge.BEGIN, Edge.END
    assert calls((begin, f), (begin, g), (end, g), (end, f)) == [(f, 0, 3, 0), (g, 1, 2, 0)]
    assert calls((begin, f), (begin, f), (end, f)) == [(f, 0, -1, CallRowFlag.NO_EXIT), (f, 0, 2, 0)]
    assert calls((begin, f), (begin, f), (end, f), chosen=False) == [(f, 0, -1, CallRowFlag.OPEN), (f, 1, 2, 0)]
    jumps = (begin, f), (begin, g), (begin, h), (begin, f), (end, f), (end, h), (end, g)
    told = [(f, 0, 8, 0), (g, 1, 6, 0), (h, 2, 5, 0), (f, 3, 4, 0), (other, 1, 7, CallRowFlag.NO_ENTRY)]
    assert calls(*jumps, (end, other), (end, f)) == told, "one is missed, and the f inside of h shows nothing"
