"""A kernel that is a dict, in real time: opens of files by tasks that come and go, at a rate, without end.

Functions, types and formats are those of the shipped recording. Nearly everything that a command could keep is new
again and again: thread ids, names of tasks, names of files, cgroups. A part of the calls is not seen to return, and
now and then events are lost.
"""

from __future__ import annotations

import functools
import re
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from events.batch import Batch, Chunk
from events.format import HeaderPage
from events.recording.reader import Recording
from kernel.agent.ring_reader import PERIOD
from kernel.connection.open_target import shipped_recording
from kernel.recording.target import RecordingTarget
from tests.events_data import page, word
from tests.fake_target import ROOT, FakeStream, FakeTarget

FUNCTION = "do_sys_openat2"
SPEC = f"f {FUNCTION}%both dfd filename:ustring how->flags $retval"
CPUS = 2
PAGE_EVENTS = 40
"""Of a sub-buffer, which has room for them."""
_NO_EXIT = 97
"""Of so many calls one is not seen to return."""
_LOSS = 5000
"""Of so many sub-buffers one comes after lost events."""
_MISSED = 1 << 31
_ENTRY = struct.Struct("<HBBiQiIQQ")
_EXIT = struct.Struct("<HBBiQQiIQiQ")
_NAME = struct.Struct("<20s")
_TASKS = 1 << 22
"""Thread ids that there are (PID_MAX_LIMIT of 64-bit kernels)."""
_PROC = re.compile(r"/proc/(\d+)/cgroup")
_NOW = b"oldest event ts:     0.000000\nnow ts: %5d.%06d\n"


class BusyStream(FakeStream):
    """Passes over all CPUs, at a rate; each sub-buffer comes when it is full."""

    def __init__(self, ids: Callable[[], tuple[int, ...]], rate: int, calls_of_task: int) -> None:
        """Take who knows the ids of entry and exit, once there are any, events a second, and how soon a task ends."""
        super().__init__()
        self.sent = 0
        """Events so far."""
        self._ids = ids
        self._delta = CPUS * 10**9 // rate
        self._calls_of_task = calls_of_task
        self._pages: list[Iterator[bytes]] = []
        self._from: list[int] = []
        self._next = 0.0

    def read(self, timeout: float) -> Batch | None:
        if not self._pages:
            if len(ids := self._ids()) < 2:
                self.closed.wait(min(timeout, PERIOD))
                return None
            self._pages = [self._sub_buffers(ids, cpu) for cpu in range(CPUS)]
            self._from = [time.monotonic_ns()] * CPUS
        now = self._pause(timeout)
        if now is None:
            return None
        chunks = [Chunk(cpu, data) for cpu in range(CPUS) if (data := self._filled(cpu, now))]
        return Batch(tuple(chunks), drained=True) if chunks else None

    def _sub_buffers(self, ids: tuple[int, ...], cpu: int) -> Iterator[bytes]:
        return sub_buffers(ids, cpu, self._delta, self._calls_of_task)

    def _pause(self, timeout: float) -> int | None:
        """Wait for the next pass; gives its time, None where it is not due so soon."""
        wait = self._next - time.monotonic()
        if self.closed.wait(max(min(wait, timeout), 0.0)) or wait > timeout:
            return None
        self._next = time.monotonic() + PERIOD
        return time.monotonic_ns()

    def _filled(self, cpu: int, now: int) -> bytes:
        """What the CPU has filled by a time."""
        found: list[bytes] = []
        step = self._delta * PAGE_EVENTS
        while self._from[cpu] + step <= now and len(found) < 256:
            found.append(struct.pack("<Q", self._from[cpu]) + next(self._pages[cpu])[8:])
            self._from[cpu] += step
            self.sent += PAGE_EVENTS
        return b"".join(found)


def sub_buffers(ids: tuple[int, ...], cpu: int, delta: int, calls_of_task: int) -> Iterator[bytes]:
    """Full sub-buffers of one CPU without end, an event every `delta` ns; their own time is still to be set."""
    header, number, first = HeaderPage(), 0, cpu << 40
    while True:
        number += 1
        calls = range(first, first := first + PAGE_EVENTS // 2)
        data = b"".join(_call(ids, cpu, call, delta, calls_of_task) for call in calls)
        yield page(0, data, header, 0 if number % _LOSS else _MISSED)


def _call(ids: tuple[int, ...], cpu: int, call: int, delta: int, calls_of_task: int) -> bytes:
    """Entry and exit; where the exit is not seen, two entries."""
    pid = 1000 + (call // calls_of_task * CPUS + cpu) % _TASKS
    name, frame = _NAME.pack(b"/proc/%012x" % call), (0xFFFFC90000000000 + (pid << 14) + 0x3F00) & (1 << 64) - 1
    where = _ENTRY.size | _NAME.size << 16
    entry = _ENTRY.pack(ids[0], 0, 0, pid, 0xFFFFFFFF81000000, -100, where, call & 0xFFFF, frame) + name
    if call % _NO_EXIT == 0:
        return 2 * _event(entry, delta)
    where = _EXIT.size | _NAME.size << 16
    returned = 3 if call % 3 else -2
    places = 0xFFFFFFFF81000000, 0xFFFFFFFF81000100
    leave = _EXIT.pack(ids[1], 0, 0, pid, *places, -100, where, call & 0xFFFF, returned, frame + 8)
    return _event(entry, delta) + _event(leave + name, delta)


def _event(data: bytes, delta: int) -> bytes:
    return word(len(data) // 4, delta) + data


@functools.cache
def _shipped() -> Recording:
    return Recording.open(shipped_recording())


class BusyTarget(FakeTarget):
    """See the module; opened as often as one likes."""

    def __init__(self, rate: int, name: str = "busy", calls_of_task: int = 16) -> None:
        self._recorded = recorded = RecordingTarget(_shipped(), "shipped")
        super().__init__(facts=replace(recorded.facts(), troubles=(), tracefs=ROOT), owner=f"100_{name}", name=name)
        self.rate = rate
        self.calls_of_task = calls_of_task
        """After which another task comes."""
        self.saved = 6000
        """Names that the kernel remembers at once (saved_cmdlines_size)."""
        self.pages: BusyStream | None = None
        self._sources = {fmt.name: fmt.source for fmt in _shipped().formats.values()}
        self.files |= {
            "/proc/sys/kernel/hostname": name.encode(),
            "/proc/modules": b"ext4 1142784 2 - Live 0x0000000000000000\n",
        }

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        if path in ("/sys/kernel/btf/vmlinux", "/proc/kallsyms"):  # unpacked anew, so that only its reader keeps it
            data = self._recorded.btf() if "btf" in path else _shipped().blob("symbols") or b""
            return data[offset : offset + limit]
        if path.endswith("/saved_cmdlines"):
            return self._names()
        if match := _PROC.fullmatch(path):
            return b"0::/system.slice/run-%d.scope\n" % (int(match[1]) // 4)
        data = super().read(path, limit, offset)
        if path.endswith("/per_cpu/cpu0/stats"):
            seconds, rest = divmod(time.monotonic_ns(), 10**9)
            data += _NOW % (seconds, rest // 1000)
        return data

    def _names(self) -> bytes:
        """Of the tasks that were seen last, as far as a kernel remembers them."""
        sent = self.pages.sent if self.pages is not None else 0
        last = 1000 + sent // 2 // self.calls_of_task
        return b"".join(b"%d task-%d\n" % (pid % _TASKS, pid) for pid in range(max(1000, last - self.saved), last))

    def stream(self, instance: str) -> FakeStream:
        def ids() -> tuple[int, ...]:
            return tuple(
                int(re.findall(rb"ID: (\d+)", data)[0])
                for path, data in sorted(self.files.copy().items())
                if path.startswith(f"{instance}/events/") and FUNCTION in path and path.endswith("/format")
            )

        self.pages = self.new_stream(ids)
        return self.pages

    def new_stream(self, ids: Callable[[], tuple[int, ...]]) -> BusyStream:
        """Return what events come through."""
        return BusyStream(ids, self.rate, self.calls_of_task)

    def _event(self, place: str, event: str) -> None:
        super()._event(place, event)
        source = self._sources.get(event.partition("/")[2])
        if source is not None:
            path = f"{place}/events/{event}/format"
            self.files[path] = re.sub(r"ID: \d+", f"ID: {self._next_id}", source).encode()
