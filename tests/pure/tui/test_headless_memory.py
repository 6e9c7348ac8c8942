"""Memory that the commands hold of events that they have given out: no more with each event, counted in bytes.

Everything that could be kept is new again and again (`tests.soak.busy_target`); the bounds are small here, so that
all of them are full soon. `make soak` does it with the real ones, for minutes.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import events.export.formats.folded
import events.export.formats.perfetto
import events.export.spans
import events.recording.writer
import tui.cli.commands.hosts
import tui.cli.commands.record
import tui.cli.commands.run
import tui.cli.console.output
import tui.cli.exports.event_export
from events.batch import Batch, Chunk
from events.names.kallsyms import Symbols
from events.record import Record
from kernel.agent.ring_reader import PERIOD
from kernel.bpf.ring_stream import ConvertedStream
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import TargetChoice
from kernel.connection.planner import Planner
from kernel.errors import TargetLost
from kernel.guards.row_bounds import HEADLESS, HEADLESS_GRAPH
from kernel.hosts.fleet import Fleet
from kernel.pump import Pump, newest
from kernel.watch.watch import Watch
from probes.command import parse_armable
from tests.pure.commands import command
from tests.pure.held_memory import Held, held_memory
from tests.soak.busy_target import FUNCTION, SPEC, BusyStream, BusyTarget
from tests.soak.busy_tracer import BusyTracer, GraphStream
from tui.cli.follow.follow import follow
from tui.views.calls.call_text import CallTexts

__all__ = ["command"]

prepare = Symbols.prepare
SMALL = HEADLESS._replace(
    rows=256 << 10,
    queued=128 << 10,
    unwritten=64 << 10,
    tasks=64,
    moves=4,
    calls=64,
    values=64,
    at_once=32 << 10,
    piece=256,
)
"""So small that all of it is full after some thousand events."""
FIRST, LAST = 12_000, 96_000
"""Events after which is looked at what is held."""
MOST = 20 * (LAST - FIRST)
"""Bytes that it may differ: what is under way (half a megabyte was seen, a third of it small objects), tables that
were made larger, and three steps of what came last, which a store holds beside its bound. A number of each event is
more, as a small object."""


class Eager(BusyStream):
    """Waits for whoever reads, not for its time; notes what the process holds, and ends."""

    pump: Pump

    def __init__(self, ids: Callable[[], tuple[int, ...]], rate: int, calls_of_task: int) -> None:
        super().__init__(ids, rate, calls_of_task)
        self.held: list[Held] = []
        """At FIRST and at LAST."""
        self._now = time.monotonic_ns()

    def _pause(self, timeout: float) -> int | None:
        if self.pump._queued:
            self.closed.wait(0.001)
            return None
        if self.sent >= (FIRST, LAST)[len(self.held)]:
            # Between the two no cycle is collected: one that holds events would grow until Python happens to look.
            if not self.held:
                gc.collect()
                gc.disable()
            self.held.append(held_memory())
            if len(self.held) == 2:
                raise TargetLost("the connection was lost")
        self._now += int(PERIOD * 1e9)
        return self._now


class EagerTarget(BusyTarget):
    """A kernel on which each call is another task's, as on a machine that starts programs all the time."""

    def __init__(self, name: str = "busy") -> None:
        super().__init__(rate=40_000, name=name, calls_of_task=1)
        self.saved = 64

    def another(self, spec: str, *_: object) -> Planner:
        """Return one of several hosts; the first is this one."""
        return Planner(KernelInfo(self if spec.endswith("one") else EagerTarget("two")))

    def new_stream(self, ids: Callable[[], tuple[int, ...]]) -> BusyStream:
        self.eager = Eager(ids, self.rate, self.calls_of_task)
        return self.eager


class EagerGraph(Eager, GraphStream):
    """Calls that are traced."""


class EagerTracer(BusyTracer):
    """As `EagerTarget`, with a tracer."""

    def __init__(self) -> None:
        super().__init__(rate=40_000)
        self.calls_of_task, self.saved = 1, 64

    def new_stream(self, ids: Callable[[], tuple[int, ...]]) -> BusyStream:
        self.eager = EagerGraph(lambda: (1, 2), self.rate, self.calls_of_task)
        return self.eager


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Iterator[EagerTarget]:
    """A target that every command opens, in small bounds."""
    made = EagerTarget()
    monkeypatch.setattr(tui.cli.console.output, "take_target", lambda spec: TargetChoice(made))
    for module in (tui.cli.commands.run, tui.cli.commands.record, tui.cli.exports.event_export):
        monkeypatch.setattr(module, "HEADLESS", SMALL)
    monkeypatch.setattr(tui.cli.commands.hosts, "HEADLESS_HOSTS", SMALL)
    monkeypatch.setattr(tui.cli.commands.hosts, "Fleet", partial(Fleet, opener=made.another))
    monkeypatch.setattr(events.export.spans, "MOST_OPEN", SMALL.calls)
    monkeypatch.setattr(events.export.formats.perfetto, "_MOST_TRACKS", SMALL.tasks)
    monkeypatch.setattr(events.export.formats.folded, "_MOST", SMALL.tasks)
    monkeypatch.setattr(events.recording.writer, "_PAGES_AT_ONCE", 64 << 10)
    monkeypatch.setattr("kernel.watch.recorder._text_symbols", lambda _: b"")
    monkeypatch.setattr("events.store.blocks.BLOCK_ROWS", 256)  # of which the last one always stays
    monkeypatch.setattr("tui.cli.follow.event_printer._MOST_NAMELESS", 64)
    begin = Pump.__init__

    def known_to_its_stream(pump: Pump, stream: ConvertedStream, *rest: Any) -> None:
        begin(pump, stream, *rest)
        stream._stream.pump = pump  # type: ignore[attr-defined]

    monkeypatch.setattr(Pump, "__init__", known_to_its_stream)
    yield made
    gc.enable()


CASES = {
    "text": ("run", SPEC),
    "JSON": ("run", SPEC, "--json"),
    "times of day": ("run", SPEC, "--clock", "utc"),
    "summary": ("run", SPEC, "--summary", "filename"),
    "CSV": ("run", SPEC, "--export", "csv:FOLDER/x.csv"),
    "text in a file": ("run", SPEC, "--export", "text:FOLDER/x.txt"),
    "row of files": ("run", SPEC, "--export", "jsonl:FOLDER/files/"),
    "perfetto": ("run", SPEC, "--export", "perfetto:FOLDER/x.perfetto"),
    "folded": ("run", SPEC, "--export", "folded:FOLDER/x.folded"),
    "recording": ("record", SPEC, "-o", "FOLDER/x.pwr"),
    "hosts": ("run", SPEC, "-t", "ssh://one", "-t", "ssh://two", "--window", "0.001"),
}


LIKE_OTHERS = {"text", "times of day", "CSV", "text in a file", "folded"}
"""Cases whose code is that of another one for the most part; each takes some 2 s."""


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(words, id=name, marks=pytest.mark.matrix if name in LIKE_OTHERS else ())
        for name, words in CASES.items()
    ],
)
def test_nothing_is_kept_of_what_was_given_out(words, target, tmp_path, command):
    done = command(*(word.replace("FOLDER", str(tmp_path)) for word in words), "--reconnect", "0")
    assert len(getattr(target, "eager", target).held) == 2, done.err
    first, last = target.eager.held
    assert max(growth := first.growth_to(last)) < MOST, (growth, done.err)


@pytest.mark.parametrize("words", [pytest.param((), marks=pytest.mark.matrix), ("--json",)])
def test_nothing_is_kept_of_calls_that_have_returned_and_were_printed(words, target, monkeypatch, command):
    tracer = EagerTracer()
    monkeypatch.setattr(tui.cli.console.output, "take_target", lambda spec: TargetChoice(tracer))
    monkeypatch.setattr("tests.soak.busy_tracer._NO_EXIT", 1 << 60)
    monkeypatch.setattr("kernel.guards.row_bounds.HEADLESS_GRAPH", SMALL._replace(rows=HEADLESS_GRAPH.rows))
    made: list[Symbols] = []

    def noting(symbols: Symbols) -> None:
        made.append(symbols)
        vars(symbols).pop("_places", None)  # tests share what they parse, and another may have asked for it
        prepare(symbols)

    monkeypatch.setattr(Symbols, "prepare", noting)
    done = command("graph", FUNCTION, *words, "--reconnect", "0")
    assert len(tracer.eager.held) == 2, done.err
    first, last = tracer.eager.held
    assert max(growth := first.growth_to(last)) < MOST, (growth, done.err)
    assert made, "calls have names"
    assert not any("_places" in vars(symbols) for symbols in made), "an index of all names"


def test_nothing_is_kept_of_calls_that_were_shown(target):
    watch = Watch(Planner(KernelInfo(target)), SMALL)
    watch.armed.arm(parse_armable(SPEC))
    assert watch.store is not None
    calls = CallTexts(watch, watch.store, SMALL.calls)

    def take(_: Record) -> None:
        while calls.calls.backlog:
            calls.tick()

    paths = {event.path: frozenset[str]() for armed in watch.armed.probes for event in armed.plan.events}
    arguments = argparse.Namespace(seconds=None, count=0, reconnect=0, clock="kernel")
    with pytest.raises(TargetLost):
        follow(watch, arguments, paths, take)
    watch.close()
    first, last = target.eager.held
    assert max(growth := first.growth_to(last)) < MOST, growth


@given(
    st.lists(st.one_of(st.integers(0, 40), st.none(), st.just("armed")), max_size=40),
    st.integers(0, 200),
)
def test_what_waits_for_a_tick_is_bounded_and_only_the_oldest_passes_go(wanted: list[object], limit: int) -> None:
    entries: list[object] = [
        one
        if isinstance(one, str)
        else Batch((Chunk(0, b"x" * one),), drained=False)
        if isinstance(one, int)
        else Batch((), drained=False, after_gap=True)
        for one in wanted
    ]
    kept, dropped = newest(entries, limit)
    passes = [one for one in entries if isinstance(one, Batch) and one.chunks]
    assert dropped == passes[: len(dropped)]
    size = sum(len(chunk.data) for one in kept if isinstance(one, Batch) for chunk in one.chunks)
    assert size <= limit or not any(isinstance(one, Batch) and one.chunks for one in kept)
    assert [one for one in kept if isinstance(one, str)] == [one for one in entries if isinstance(one, str)]
    left = [one.chunks for one in kept if isinstance(one, Batch) and one.chunks]
    assert left == [one.chunks for one in passes[len(dropped) :]]
    if dropped:
        assert any(isinstance(one, Batch) and one.after_gap for one in kept), "no call goes over what is missing"


class Burst(BusyStream):
    """Events as fast as they are taken, without end; what is not taken is dropped."""

    def _pause(self, timeout: float) -> int | None:
        self.closed.wait(min(timeout, 0.001))
        return self._from[0] + self._delta * 64


class BurstTarget(BusyTarget):
    """A kernel whose events come as fast as they are taken."""

    def new_stream(self, ids: Callable[[], tuple[int, ...]]) -> Burst:
        return Burst(ids, self.rate, self.calls_of_task)


def test_arming_again_and_again_where_nobody_ticks_holds_no_more() -> None:
    """A worker arms for as long as the kernel takes, and the one that reads waits."""
    watch = Watch(Planner(KernelInfo(BurstTarget(20_000))), SMALL)
    first = watch.armed.arm(parse_armable(SPEC))
    for _ in range(60):
        watch.session.pump.wait(0.05)  # type: ignore[union-attr]
        with watch.queue.lock:
            watch.queue.drain(watch.session)  # type: ignore[arg-type]
        waiting = [entry for entry in watch.queue.entries if isinstance(entry, Batch)]
        assert sum(len(chunk.data) for entry in waiting for chunk in entry.chunks) <= SMALL.queued
    counts = watch.counts()
    assert counts is not None and counts.dropped > 0 and watch.armed.probes == (first,)
    watch.close()
