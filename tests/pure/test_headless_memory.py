"""What the commands keep of events that they have given out: nothing that grows, counted in bytes.

Everything that could be kept is new again and again (`tests.soak.busy_target`); the bounds are small here, so that
they are reached soon. `make soak` does it with the real ones, for minutes.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import events.export.folded
import events.export.perfetto
import events.export.spans
import events.recorder
import tui.cli.event_export
import tui.cli.hosts
import tui.cli.output
import tui.cli.record
import tui.cli.run
from kernel.bounds import HEADLESS
from kernel.connection import Connection
from kernel.drain import PERIOD
from kernel.errors import TargetLost
from kernel.hosts.fleet import Fleet
from kernel.open import Choice
from kernel.pump import Pump
from tests.pure.commands import command
from tests.soak.busy_target import SPEC, BusyStream, BusyTarget

__all__ = ["command"]

SMALL = HEADLESS._replace(rows=256 << 10, queued=512 << 10, unwritten=512 << 10, tasks=64, calls=64)
FIRST, LAST = 20_000, 40_000
"""Events after which is looked at what is held."""
MOST = 400 << 10
"""Bytes that it may differ: what is under way, and tables that were made larger. 20 for each event is as much."""


class Eager(BusyStream):
    """Waits for whoever reads, not for its time; notes what the process holds, and ends."""

    pump: Pump

    def __init__(self, ids: Callable[[], tuple[int, ...]], rate: int, calls_of_task: int) -> None:
        super().__init__(ids, rate, calls_of_task)
        self.held: list[int] = []
        """Bytes, at FIRST and at LAST."""
        self._now = time.monotonic_ns()

    def _pause(self, timeout: float) -> int | None:
        if self.pump._queued:
            self.closed.wait(0.001)
            return None
        if self.sent >= (FIRST, LAST)[len(self.held)]:
            gc.collect()
            self.held.append(tracemalloc.get_traced_memory()[0])
            if len(self.held) == 2:
                raise TargetLost("the line is cut")
        self._now += int(PERIOD * 1e9)
        return self._now


class EagerTarget(BusyTarget):
    """A task a call, as a machine that starts programs all the time."""

    def __init__(self, name: str = "busy") -> None:
        super().__init__(rate=40_000, name=name, calls_of_task=1)
        self.saved = 64

    def another(self, spec: str, *_: object) -> Connection:
        """Return one of several hosts; the first is this one."""
        return Connection(self if spec.endswith("one") else EagerTarget("two"))

    def new_stream(self, ids: Callable[[], tuple[int, ...]]) -> BusyStream:
        self.eager = Eager(ids, self.rate, self.calls_of_task)
        return self.eager


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Iterator[EagerTarget]:
    """A target that every command opens, in small bounds."""
    made = EagerTarget()
    monkeypatch.setattr(tui.cli.output, "opened", lambda spec: Choice(made))
    for module in (tui.cli.run, tui.cli.record, tui.cli.event_export):
        monkeypatch.setattr(module, "HEADLESS", SMALL)
    monkeypatch.setattr(tui.cli.hosts, "HEADLESS_HOSTS", SMALL)
    monkeypatch.setattr(tui.cli.hosts, "Fleet", partial(Fleet, opener=made.another))
    monkeypatch.setattr(events.export.spans, "MOST_OPEN", SMALL.calls)
    monkeypatch.setattr(events.export.perfetto, "_MOST_TRACKS", SMALL.tasks)
    monkeypatch.setattr(events.export.folded, "_MOST", SMALL.tasks)
    monkeypatch.setattr(events.recorder, "_PAGES_AT_ONCE", 64 << 10)
    begin = Pump.__init__

    def known_to_its_stream(pump: Pump, stream: Eager, *rest: Any) -> None:
        begin(pump, stream, *rest)
        stream.pump = pump

    monkeypatch.setattr(Pump, "__init__", known_to_its_stream)
    tracemalloc.start(1)
    yield made
    tracemalloc.stop()


CASES = {
    "text": ("run", SPEC),
    "JSON": ("run", SPEC, "--json"),
    "summary": ("run", SPEC, "--summary", "flags"),
    "CSV": ("run", SPEC, "--export", "csv:FOLDER/x.csv"),
    "row of files": ("run", SPEC, "--export", "jsonl:FOLDER/files/"),
    "perfetto": ("run", SPEC, "--export", "perfetto:FOLDER/x.perfetto"),
    "folded": ("run", SPEC, "--export", "folded:FOLDER/x.folded"),
    "recording": ("record", SPEC, "-o", "FOLDER/x.pwr"),
    "hosts": ("run", SPEC, "-t", "ssh://one", "-t", "ssh://two", "--reconnect", "0", "--window", "0.001"),
}


@pytest.mark.parametrize("words", CASES.values(), ids=CASES)
def test_nothing_is_kept_of_what_was_given_out(words, target, tmp_path, command):
    done = command(*(word.replace("FOLDER", str(tmp_path)) for word in words))
    assert len(getattr(target, "eager", target).held) == 2, done.err
    first, last = target.eager.held
    assert last - first < MOST, done.err
