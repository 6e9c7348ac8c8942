"""The application on a stream of so many events a second: what a kernel recorded, again and again, in real time.

    python -m tests.bench._replay_app RATE SECONDS STORE_BYTES REPORT [VIEW]

Records, formats, plans and types are those of the shipped recording. A kernel that is that busy fills its
sub-buffers, so the records stand in full ones here; the pump, the store and the screen are the application's own.
REPORT gets what was measured inside, as JSON.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from textual.screen import Screen

import tui.app.app
from events.batch import Batch, Chunk
from events.format import EventFormat, HeaderPage
from events.recording.reader import Recording
from events.subbuffer import events_in, walk
from kernel.agent.ring_reader import PERIOD
from kernel.connection.open_target import shipped_recording
from kernel.errors import KernelError
from kernel.guards.row_bounds import SCREEN
from kernel.pump import Pump
from kernel.recording.replay import ReplaySession
from kernel.recording.target import RecordingTarget
from kernel.watch.source import ProbeSource
from kernel.watch.watch import Watch
from tests.events_data import event, page
from tui.opening import Opening
from tui.refresh import RefreshLoop

WARM_UP = 1.5
"""Seconds before anything is measured."""
CPUS = 2
PAGES = 64
"""Sub-buffers of a CPU before they begin again."""
MOST_PAGES = 256
"""Sub-buffers of a CPU in one pass."""


class RateStream:
    """Hands over sub-buffers as they would fill, one pass over all CPUs every 30 ms."""

    def __init__(self, recording: Recording, rate: int) -> None:
        self.sent = 0
        self.done = threading.Event()
        delta = CPUS * 10**9 // rate
        self._cpus = [endless(recording, cpu, delta) for cpu in range(CPUS)]
        self._next = [next(cpu) for cpu in self._cpus]
        self._began = 0.0
        self._due = 0.0
        self._closed = threading.Event()

    def require_answer(self) -> bool:
        return False

    def read(self, timeout: float) -> Batch | None:
        now = time.perf_counter()
        self._began = self._began or now
        if self.done.is_set() or self._due - now > timeout:
            self._closed.wait(timeout)
            return None
        self._closed.wait(max(0.0, self._due - now))
        now = time.perf_counter()
        until = int((now - self._began) * 1e9)
        chunks = tuple(Chunk(cpu, self._filled(cpu, until)) for cpu in range(CPUS))
        drained = all(self._next[cpu][0] >= until for cpu in range(CPUS))
        self._due = now + PERIOD if drained else now
        return Batch(chunks, drained)

    def _filled(self, cpu: int, until: int) -> bytes:
        """What the CPU has filled up to a time, as much of it as one pass takes."""
        taken: list[bytes] = []
        while self._next[cpu][0] < until and len(taken) < MOST_PAGES:
            _, count, data = self._next[cpu]
            taken.append(data)
            self.sent += count
            self._next[cpu] = next(self._cpus[cpu])
        return b"".join(taken)

    def close(self) -> None:
        self._closed.set()


def endless(recording: Recording, cpu: int, delta: int) -> Iterator[tuple[int, int, bytes]]:
    """(time of its last event, events, sub-buffer), an event every `delta` ns, as one CPU recorded them."""
    header = recording.header
    filled = list(itertools.islice(full_pages(recording, cpu, delta), PAGES))
    ts = cpu * delta // CPUS
    while True:
        for count, data in filled:
            end = ts + count * delta
            yield end, count, ts.to_bytes(8, header.byteorder) + data[8:]
            ts = end


def full_pages(recording: Recording, cpu: int, delta: int) -> Iterator[tuple[int, bytes]]:
    """(events, sub-buffer) of the CPU's records again and again."""
    header = recording.header
    data, count = b"", 0
    for record in itertools.cycle(records_of(recording, cpu, header)):
        written = event(record, delta, header.byteorder)
        if header.data_offset + len(data) + len(written) > header.page_size:
            yield count, page(0, data, header)
            data, count = b"", 0
        data, count = data + written, count + 1


def records_of(recording: Recording, cpu: int, header: HeaderPage) -> list[bytes]:
    chunks = [chunk for batch in recording.batches() for chunk in batch.chunks if chunk.cpu == cpu]
    pages = [c.data[at : at + header.page_size] for c in chunks for at in range(0, len(c.data), header.page_size)]
    return [data[at : at + length] for data in pages for _, at, length in walk(data, header)]


class RatePump:
    """The application's pump; the formats come first."""

    def __init__(self, stream: RateStream, recording: Recording) -> None:
        header = recording.header
        self._pump = Pump(stream)
        self._pump.events_in = lambda chunk: events_in(chunk, header)
        self._formats: Mapping[int, EventFormat] | None = recording.formats

    @property
    def on_data(self) -> Callable[[], None]:
        return self._pump.on_data

    @on_data.setter
    def on_data(self, told: Callable[[], None]) -> None:
        self._pump.on_data = told
        self._pump.start()

    @property
    def done(self) -> bool:
        return self._pump.done

    @property
    def is_quiet(self) -> bool:
        return self._pump.is_quiet

    @property
    def error(self) -> KernelError | None:
        return self._pump.error

    @property
    def dropped(self) -> int:
        return self._pump.dropped_events

    def drain(self, most_bytes: float) -> list[Batch | Mapping[int, EventFormat]]:
        first, self._formats = self._formats, None
        return [*([first] if first else []), *self._pump.drain(most_bytes)]


class RateSession(ReplaySession):
    """A recording's session whose events come at a rate, as from a kernel that runs."""

    def __init__(self, target: RecordingTarget, rate: int) -> None:
        super().__init__(target.recording)
        self.stream = RateStream(target.recording, rate)
        self.pump = RatePump(self.stream, target.recording)  # type: ignore[assignment]
        # A kernel that runs is asked for losses and names every second; a recording is not.
        target.is_kernel = True


def own_time() -> Callable[[], float]:
    """A clock for this thread: wall seconds without those in which it waited while other programs had the CPU."""
    try:
        fd = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
    except OSError:
        return time.perf_counter
    return lambda: (time.perf_counter_ns() - int(os.pread(fd, 80, 0).split()[1])) / 1e9


def resident() -> int:
    """Bytes of memory that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Durations:
    """Seconds of every call of a method, from when they are wanted."""

    def __init__(self, owner: type, name: str, clock: Callable[[], float]) -> None:
        self.taken: list[float] = []
        self.wanted = False
        self.seen = False
        """Whether there was a call at all."""
        self._name = name
        inner = getattr(owner, name)

        def timed(this: Any, *args: Any) -> Any:
            began = clock()
            try:
                return inner(this, *args)
            finally:
                self.seen = True
                if self.wanted:
                    self.taken.append(clock() - began)

        setattr(owner, name, timed)

    def figures(self) -> dict[str, float]:
        if not self.taken:
            raise RuntimeError(f"not one {self._name} while it was measured: the machine is too busy")
        ordered = sorted(self.taken)
        return {"calls": len(ordered), "longest": ordered[-1], "p99": ordered[len(ordered) * 99 // 100]}


def main(rate: int, seconds: float, store_bytes: int, report: Path, view: str) -> None:
    clock = own_time()
    durations = {
        "tick": Durations(RefreshLoop, "_tick", clock),
        "paint": Durations(Screen, "_on_timer_update", clock),
        "loop": Durations(asyncio.Handle, "_run", clock),
    }
    sessions: list[RateSession] = []

    def session_of(source: ProbeSource, _: int) -> RateSession:
        sessions.append(RateSession(source._target, rate))
        return sessions[0]

    ProbeSource.open = session_of  # type: ignore[assignment]
    Watch.__init__.__defaults__ = (SCREEN._replace(rows=store_bytes), *(Watch.__init__.__defaults__ or ())[1:])
    opening = Opening(str(shipped_recording()))
    opening.start()
    app = tui.app.app.Probewright(opening)

    def measure() -> None:
        while not sessions:
            time.sleep(0.05)
        if view:
            while app.places.live is None or not app.places.live.is_current:
                time.sleep(0.05)
            app.call_from_thread(app.places.live.action_view, view)
        while not durations["tick"].seen:
            time.sleep(0.05)
        stream = sessions[0].stream
        time.sleep(WARM_UP)
        for one in durations.values():
            one.wanted = True
        cpu, began, sent = time.process_time_ns(), time.perf_counter_ns(), stream.sent
        time.sleep(seconds)
        cpu, took, sent = time.process_time_ns() - cpu, time.perf_counter_ns() - began, stream.sent - sent
        for one in durations.values():
            one.wanted = False
        stream.done.set()
        quiet = 0
        while quiet < 5:  # the last ticks; in the midst of one nothing may seem left to do
            time.sleep(0.1)
            quiet = 0 if app.current_watch is None or app.current_watch.intake.unsettled else quiet + 1
        store = app.current_watch.store if app.current_watch else None
        assert store is not None
        found: dict[str, Any] = {name: one.figures() for name, one in durations.items()}
        found |= {"sent": stream.sent, "kept": len(store), "evicted": store.first_seq}
        found |= {"undecodable": store.undecodable, "overrun": sum(store.overrun.values())}
        found |= {"dropped": sessions[0].pump.dropped, "bytes": store.bytes, "limit": store_bytes}
        found |= {"resident": resident(), "cpu": cpu / took, "rate": sent / took * 1e9}
        report.write_text(json.dumps(found))

    def reported() -> None:
        try:
            measure()
        except Exception as error:
            report.write_text(json.dumps({"error": repr(error), "where": traceback.format_exc()}))

    threading.Thread(target=reported, daemon=True).start()
    app.run()


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), "".join(sys.argv[5:]))
