"""What commands hold of ten times as many events: no more than of the first tenth, whatever is new in them."""

from __future__ import annotations

import argparse
import gc
import io
import tracemalloc
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.export.formats import format_named
from events.export.job import writer_of
from events.export.jsonlines import json_object
from events.record import Record
from kernel.bounds import HEADLESS
from kernel.connection import Connection
from kernel.pump import newest
from kernel.watch import Watch
from probes.check import armable
from tests.soak.busy_target import CPUS, PAGE_EVENTS, SPEC, BusyStream, BusyTarget, sub_buffers
from tui.calls import ShownCalls
from tui.cli.clock import know_clock
from tui.cli.summary import summarize
from tui.cli.watching import follow
from tui.event_export import source_of, timed_source_of

SMALL = HEADLESS._replace(
    rows=1 << 16,
    queued=1 << 16,
    unwritten=1 << 16,
    tasks=64,
    moves=4,
    calls=64,
    values=64,
    at_once=1 << 14,
    piece=256,
)
"""So small that all of it is full after some thousand events."""
EVENTS = 3_000
LEAST = 9 * EVENTS * 8
"""Bytes that a list of all events would take at least."""


class Burst(BusyStream):
    """Events as fast as they are taken, without end; what is not taken is dropped."""

    def read(self, timeout: float) -> Batch | None:
        ids = self._ids()
        self.closed.wait(min(timeout, 0.001))
        if len(ids) < 2:
            return None
        if not self._pages:
            self._from = [10**9] * CPUS
            self._pages = [sub_buffers(ids, cpu, self._delta, self._calls_of_task) for cpu in range(CPUS)]
        return Batch(tuple(Chunk(cpu, self._filled(cpu, self._from[cpu] + self._step)) for cpu in range(CPUS)), True)

    @property
    def _step(self) -> int:
        return self._delta * PAGE_EVENTS


class BurstTarget(BusyTarget):
    """A kernel whose events come as fast as they are taken."""

    def __init__(self) -> None:
        super().__init__(20_000, calls_of_task=2)
        self.saved = 32

    def new_stream(self, ids: Callable[[], tuple[int, ...]]) -> Burst:
        return Burst(ids, self.rate, self.calls_of_task)


def paths_of(watch: Watch) -> Collection[str]:
    return {event.path: frozenset[str]() for armed in watch.armed for event in armed.plan.events}


def shown(watch: Watch, show: Callable[[Record], object], number: int) -> None:
    arguments = argparse.Namespace(seconds=None, count=number, reconnect=0, clock="kernel")
    follow(watch, arguments, paths_of(watch), lambda record: show(record) and None)


def run_text(watch: Watch, number: int, _: Path) -> None:
    shown(watch, watch.known.values, number)


def run_json(watch: Watch, number: int, _: Path) -> None:
    source = source_of(watch)
    shown(watch, lambda record: json_object(source, record), number)


def run_calls(watch: Watch, number: int, _: Path) -> None:
    assert watch.store is not None
    calls = ShownCalls(watch, watch.store, SMALL.calls)

    def take(record: Record) -> None:
        while calls.calls.behind:
            calls.tick()

    shown(watch, take, number)


def run_clock(watch: Watch, number: int, _: Path) -> None:
    know_clock(watch, argparse.Namespace(clock="utc"))
    source = timed_source_of(watch)
    shown(watch, lambda record: json_object(source, record), number)


def run_summary(watch: Watch, number: int, _: Path) -> None:
    arguments = argparse.Namespace(
        seconds=None, count=number, reconnect=0, hist=False, summary="filename", json=True, clock="kernel"
    )
    summarize(watch, arguments, paths_of(watch))


def record(watch: Watch, number: int, folder: Path) -> None:
    watch.record_to(folder / f"{number}.pwr")
    shown(watch, lambda _: None, number)
    watch.stop_recording()


class _Nowhere(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        return len(memoryview(data))  # type: ignore[arg-type]


def export(form: str) -> Callable[[Watch, int, Path], None]:
    def give_out(watch: Watch, number: int, _: Path) -> None:
        found = format_named(form)
        assert found is not None
        writer = writer_of(found, source_of(watch), _Nowhere())  # type: ignore[arg-type]
        shown(watch, writer.take, number)
        writer.finish()

    return give_out


COMMANDS: dict[str, Callable[[Watch, int, Path], None]] = {
    "run": run_text,
    "run --json": run_json,
    "run of calls": run_calls,
    "run --clock": run_clock,
    "run --summary": run_summary,
    "record": record,
    "jsonl": export("jsonl"),
    "csv": export("csv"),
    "text": export("text"),
}


@pytest.fixture(autouse=True)
def traced(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("kernel.recorder._text_symbols", lambda _: b"")
    monkeypatch.setattr("events.blocks.BLOCK_ROWS", 256)  # of which the last one always stays
    monkeypatch.setattr("tui.cli.showing._MOST_NAMELESS", 64)
    monkeypatch.setattr("events.recorder._PAGES_AT_ONCE", 1 << 14)
    tracemalloc.start()
    yield
    tracemalloc.stop()


def held(command: Callable[[Watch, int, Path], None], folder: Path) -> list[int]:
    """Bytes that are held after so many events, and after ten times as many, while they are followed."""
    watch = Watch(Connection(BurstTarget()), SMALL)
    watch.arm(armable(SPEC))
    marks, found, tick = [EVENTS, 10 * EVENTS], list[int](), watch.tick

    def ticked(budget: float = 1.0) -> int:
        new = tick(budget)
        if marks and watch.store is not None and watch.store.next_seq >= marks[0]:
            marks.pop(0)
            gc.collect()
            found.append(tracemalloc.get_traced_memory()[0])
        return new

    watch.tick = ticked  # type: ignore[method-assign]
    command(watch, 10 * EVENTS, folder)
    watch.close()
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_ten_times_the_events_take_no_more(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    once, ten = held(COMMANDS[name], tmp_path)
    assert ten - once <= LEAST, f"{once} bytes, then {ten}"


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


def test_arming_again_and_again_where_nobody_ticks_holds_no_more() -> None:
    """A worker arms for as long as the kernel takes, and the one that reads waits."""
    watch = Watch(Connection(BurstTarget()), SMALL)
    first = watch.arm(armable(SPEC))
    for _ in range(60):
        watch.session.pump.wait(0.05)  # type: ignore[union-attr]
        watch.mark_gap()
        waiting = [entry for entry in watch._inbox if isinstance(entry, Batch)]
        assert sum(len(chunk.data) for entry in waiting for chunk in entry.chunks) <= SMALL.queued
    counts = watch.counts()
    assert counts is not None and counts.dropped > 0 and watch.armed == (first,)
    watch.close()
