"""A machine that is booted anew while it is watched: its clock begins again, and nothing goes on over that."""

from __future__ import annotations

import struct
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.calls.call_values import Call, EndRole, UnpairedReason
from events.calls.calls import Calls
from events.conditions.condition_parser import parse_condition
from events.decode import Decoder
from events.export.source import ExportSource
from events.export.spans import SpanPart, Spans
from events.format import HeaderPage, parse_format
from events.graph.live_tree import LiveTree
from events.graph.tree import CallRowFlag
from events.losses import NewestTask
from events.store.cgroups import Cgroups, TaskCgroup
from events.store.store import Store
from events.subbuffer import MISSED_EVENTS
from tests.events_data import entry, event, page

HEADER = HeaderPage()
FORMAT = """name: {name}
ID: {number}
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:u64 frame;\toffset:8;\tsize:8;\tsigned:0;

print fmt: "frame=%Lu", REC->frame
"""
F_IN, F_OUT, G_IN, G_OUT = range(700, 704)
FORMATS = {number: parse_format(FORMAT.format(name=f"e{number}", number=number), "g") for number in range(700, 704)}
ENDS = {f"g/e{number}": EndRole((number - 700) // 2, bool(number % 2), "frame", 0, ()) for number in FORMATS}
TASK = 7
FRAME = 0xFFFFC90000003E00
SECOND = 10**9


def new_store() -> Store:
    return Store(Decoder(dict(FORMATS), HEADER))


def feed(store: Store, ts: int, *numbers: int, frame: int = FRAME, lost: bool = False, task: int = TASK) -> None:
    """Events of one task, a nanosecond from one to the next."""
    data = b"".join(event(entry(number, task, struct.pack("<Q", frame)), 1) for number in numbers)
    made = page(ts, data, HEADER, MISSED_EVENTS if lost else 0)
    store.feed(Batch((Chunk(0, made),), drained=True))


def calls_of(store: Store) -> set[Call]:
    calls = Calls(store)
    calls.use(ENDS)
    while calls.backlog:
        calls.tick()
    return {calls.call(row) for row in range(calls.first, calls.next)}


def pairs_of(store: Store) -> set[tuple[int, int]]:
    return {(call.entry, call.exit) for call in calls_of(store) if call.entry is not None and call.exit is not None}


def exported_pairs(store: Store) -> set[tuple[int, int]]:
    """Return the pairs of ends that an export finds, as its BEGIN and END or CALL."""
    spans = Spans(ExportSource(ends=ENDS, loss_spans_at=store.loss_spans.at))
    found, begun = set(), list[int]()
    items = [item for seq in range(store.next_seq) for item in spans.take(store.record(seq))]
    for item in [*items, *spans.finish()]:
        if item.part is SpanPart.BEGIN:
            begun.append(item.record.seq)
        elif item.part is SpanPart.END:
            found.add((begun.pop(), item.record.seq))
        elif item.leave is not None:
            found.add((item.record.seq, item.leave.seq))
    return found


STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(list(FORMATS)), st.sampled_from((FRAME, FRAME + 8)), st.booleans()),
    max_size=12,
)
BOOTS = st.tuples(st.integers(0, 20), STEPS, st.integers(0, 2 * TASK))


def feed_boot(store: Store, boot: tuple[int, list[tuple[int, int, int, bool]], int]) -> None:
    """Events of one boot of one task at seconds rising from `began` on, and the newest task read at their end."""
    now, steps, newest = boot
    for seconds, number, frame, lost in steps:
        now += seconds + 1
        feed(store, now * SECOND, number, frame=frame, lost=lost)
    task = NewestTask()
    task.id = newest
    store.feed(Batch((), drained=False, newest_task=task))
    store.flush()


@given(BOOTS, BOOTS)
def test_pairs_of_a_boot_are_those_of_its_own_events_and_losses(first, second) -> None:
    alone = []
    for boot in (first, second):
        alone.append(new_store())
        feed_boot(alone[-1], boot)
    both = new_store()
    feed_boot(both, first)
    both.begin_anew()
    feed_boot(both, second)
    size = len(alone[0])
    expected = pairs_of(alone[0]) | {(begin + size, end + size) for begin, end in pairs_of(alone[1])}
    assert pairs_of(both) == expected
    assert exported_pairs(both) == expected


@pytest.mark.parametrize(("began", "again"), product((1000, 10), (1, 20)))
def test_no_call_goes_on_over_a_boot(began: int, again: int) -> None:
    """Also where the machine runs for longer than it had when the call began."""
    store = new_store()
    feed(store, began * SECOND, F_IN)
    feed(store, 2000 * SECOND, 999)  # of another tool
    store.begin_anew()
    feed(store, again * SECOND, G_IN, G_OUT, F_OUT, frame=FRAME)
    store.flush()
    assert calls_of(store) == {Call(0, None, UnpairedReason.LOST), Call(1, 2), Call(None, 3, UnpairedReason.NO_ENTRY)}
    growing = LiveTree(store, ENDS)
    while growing.tick(1):
        pass
    rows = map(growing.tree.row, range(growing.tree.next))
    assert [(row.seq, row.leave, row.level, row.flags) for row in rows] == [
        (0, -1, 0, CallRowFlag.LOST),
        (1, 2, 0, 0),
        (3, 3, 0, CallRowFlag.NO_ENTRY),
    ]
    assert growing.tree.open == 0


@pytest.mark.parametrize("booted", [False, True])
def test_what_was_lost_before_a_boot_is_seen_with_what_came_after_it(booted: bool) -> None:
    store = new_store()
    feed(store, 1000 * SECOND, F_IN)
    feed(store, 1001 * SECOND, F_OUT, lost=True)
    if booted:
        store.begin_anew()
    feed(store, (10 if booted else 2000) * SECOND, G_IN, G_OUT)
    store.flush()
    found = calls_of(store)
    losses = {call for call in found if call.loss is not None}
    assert [call.exit for call in losses] == [1], "it stands in its own boot"
    assert found - losses == {Call(0, None, UnpairedReason.LOST), Call(None, 1, UnpairedReason.LOST), Call(2, 3)}


def test_what_is_lost_right_after_a_boot_is_told() -> None:
    """A sub-buffer of before says nothing of when the first one of now was lost."""
    store = new_store()
    feed(store, 1000 * SECOND, F_IN, F_OUT)
    store.begin_anew()
    feed(store, 10 * SECOND, F_IN, lost=True)
    store.flush()
    assert store.loss_spans.latest.may_lack_ends(9 * SECOND, 10 * SECOND)
    assert not store.loss_spans.latest.may_lack_ends(11 * SECOND, 12 * SECOND)


def test_a_task_is_where_the_one_of_its_boot_was() -> None:
    store = new_store()
    groups = store.cgroups
    groups.know({TASK: TaskCgroup("/old.service")}, 0)
    feed(store, 1000 * SECOND, F_IN)
    store.flush()
    groups.know({TASK: TaskCgroup("/moved.service")}, 1500 * SECOND)
    store.begin_anew()
    feed(store, 10 * SECOND, F_IN)
    feed(store, 1600 * SECOND, F_IN)
    store.flush()

    def told() -> list[str | None]:
        return [groups.path_of(TASK, store.row(seq).ts, seq) for seq in range(3)]

    assert told() == ["/old.service", None, None], "where that of before was says nothing"
    assert groups.unknown == {TASK}
    groups.know({TASK: TaskCgroup("/new.service")}, 1600 * SECOND)
    assert told() == ["/old.service", "/new.service", "/new.service"]
    found = [
        parse_condition(f"cgroup == {name}", {}, store.task_names.name, groups) for name in ("old", "moved", "new")
    ]
    expected = [[True, False, False], [False, False, False], [False, True, True]]
    assert [[one(store.record(seq)) for seq in range(3)] for one in found] == expected
    assert [one.candidates(store.columns(0, 3)).tolist() for one in found] == expected


def test_of_boots_whose_rows_are_gone_nothing_is_kept() -> None:
    groups = Cgroups({TASK: TaskCgroup("/recorded")})
    assert groups.path_of(TASK, 0, 5) == "/recorded"
    for boot in (10, 20, 30):
        groups.know({TASK: TaskCgroup(f"/{boot}")}, 5)
        groups.begin_anew(boot, 15)
    assert [groups.path_of(TASK, 9, seq) for seq in (5, 15, 25, 35)] == [None, "/20", "/30", "/recorded"]


def test_a_boot_among_passes_that_are_given_at_once_is_where_it_was() -> None:
    def passes(*booted: bool) -> list[Batch]:
        data = event(entry(F_IN, TASK, struct.pack("<Q", FRAME)), 1)
        return [
            Batch((Chunk(0, page((100 - 10 * number) * SECOND, data, HEADER)),), number % 2 > 0, booted=boot)
            for number, boot in enumerate(booted)
        ]

    store = new_store()
    given = store.feed(*passes(True, False, True)) + store.feed(*passes(False)) + store.flush()
    assert (given, len(store)) == (4, 4)
    assert store.boots.starts == [1, 3]
    assert [store.row(seq).ts // SECOND for seq in range(4)] == [100, 80, 90, 100]
