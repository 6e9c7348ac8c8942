"""Rows of a graph are in the order of time: on the screen, folded or not, while it grows and after gaps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.format import EventFormat, parse_format
from events.graph.tree import CallRowFlag
from events.store.store import Store
from events.subbuffer import MISSED_EVENTS
from tests.events_data import entry, event, page
from tests.pure.events.test_calls import ENDS, FORMATS, HEADER, KERNEL_STACK, _record
from tui.views.graph.model import GraphModel

_FIELDS = """name: {name}
ID: {number}
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;
\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;

print fmt: "--> %ps", (void *)REC->func
"""


def _format(number: int, name: str) -> EventFormat:
    return parse_format(_FIELDS.format(name=name, number=number), "ftrace")


TRACED = {10: _format(10, "funcgraph_entry"), 11: _format(11, "funcgraph_exit")}


class Step(NamedTuple):
    """An event of a task, and what becomes of its page."""

    cpu: int
    task: int
    doing: int
    """Whether it leaves a call or begins one, of what function."""
    after: int
    """Time until it; 0: at the same time."""
    missed: bool
    lost: bool
    """Events were overwritten before it."""
    fed: bool
    """The pages of all CPUs are read behind it."""
    drained: bool
    gap: bool
    """Rows that were read since were dropped."""


FEW = st.sampled_from([False] * 9 + [True])
STEPS = st.lists(
    st.builds(
        Step,
        st.integers(0, 2),
        st.sampled_from([0, 5, 6]),
        st.integers(0, 5),
        st.sampled_from([0, 1, 10, 1000]),
        FEW,
        FEW,
        st.booleans(),
        st.booleans(),
        FEW,
    ),
    max_size=60,
)
TURNS = st.lists(
    st.tuples(st.sampled_from(["fold", "levels", "task", "short", "none"]), st.integers(0, 40)), max_size=8
)


def _events(steps: list[Step], traced: bool) -> list[tuple[Step, int, bytes]]:
    """Well nested calls of each task, on any CPU, with time stamp and record."""
    stacks: dict[tuple[int, int], list[int]] = {}
    found, ts = [], 10
    for step in steps:
        ts += step.after
        stack = stacks.setdefault((step.task, step.cpu if step.task == 0 else 0), [])
        leaves = bool(stack) and step.doing < 3
        function = stack.pop() if leaves else step.doing % 2
        depth = len(stack)
        if not leaves:
            stack.append(function)
        if step.missed:
            continue
        if traced:
            data = (0xFFFF0000 + function).to_bytes(8, "little") + depth.to_bytes(4, "little")
            record = entry(10 + leaves, step.task, data)
        else:
            place = KERNEL_STACK + (step.task << 16) + 0x2000 - 0x40 * depth - 1000
            record = _record(step.task, 2 * function + leaves, place, 0)
        found.append((step, ts, record))
    return found


def _times(shown: GraphModel) -> list[int]:
    return [shown.row(place).ts for place in range(shown.first, shown.next)]


def _turn(shown: GraphModel, what: str, number: int) -> None:
    if shown.next == shown.first:
        return
    place = shown.first + number % (shown.next - shown.first)
    match what:
        case "fold":
            shown.fold(place, number % 2 == 0)
        case "levels":
            shown.unfold_to(place, number % 4)
        case "task":
            shown.only_task(place)
        case "short":
            shown.hide_short(place, number % 3 * 20)


@pytest.mark.parametrize("traced", [True, False])
@given(STEPS, TURNS, st.sampled_from([1, 3, 1 << 11]), st.integers(5, 200))
@settings(max_examples=100, deadline=None)
def test_rows_are_in_the_order_of_time(
    traced: bool, steps: list[Step], turns: list[tuple[str, int]], piece: int, limit: int
) -> None:
    store = Store(Decoder(dict(TRACED if traced else FORMATS), HEADER))
    watching = SimpleNamespace(event_fields=SimpleNamespace(plans=(), values=lambda *_, **__: []))
    names = SimpleNamespace()
    waiting: dict[int, list[bytes]] = {}
    turns = list(turns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("events.graph.live_tree._LEAST", piece)
        patch.setattr("tui.views.graph.model.ends_of", lambda _: ENDS)
        shown = GraphModel(watching, store, names, limit=limit)  # type: ignore[arg-type]
        assert shown.live_tree.traced is traced

        def look(*, drained: bool, gap: bool, following: bool, most: int = 1) -> None:
            """A pass over all CPUs takes some pages of each, the oldest, or all that there are."""
            chunks = []
            for cpu, pages in waiting.items():
                count = len(pages) if drained else most
                chunks.append(Chunk(cpu, b"".join(pages[:count])))
                del pages[:count]
            store.feed(Batch(tuple(chunk for chunk in chunks if chunk.data), drained=drained, after_gap=gap))
            while shown.tick(0.0, following)[0]:
                pass
            check()

        def check() -> None:
            times = _times(shown)
            assert times == sorted(times)
            every = shown.tree.columns.column("ts").tolist()
            assert every == sorted(every)
            for row in map(shown.tree.row, range(shown.tree.first, shown.tree.next)):
                if row.parent >= 0:
                    around = shown.tree.row(row.parent)
                    assert around.ts <= row.ts
                    if around.duration >= 0 and row.duration >= 0 and not row.flags & CallRowFlag.NO_ENTRY:
                        assert row.ts + row.duration <= around.ts + around.duration

        for step, ts, record in _events(steps, traced):
            flags = MISSED_EVENTS if step.lost else 0
            made = page(ts, event(record, 0), HEADER, flags)
            waiting.setdefault(step.cpu, []).append(made)
            if step.fed:
                look(drained=step.drained, gap=step.gap, following=step.after > 1, most=1 + step.doing)
                if turns:
                    _turn(shown, *turns.pop())
                    check()
        look(drained=True, gap=False, following=True)
        store.flush()
        look(drained=True, gap=False, following=True)
        assert not np.any(shown.tree.columns.column("ts") < 0)
