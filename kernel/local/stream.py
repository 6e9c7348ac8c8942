"""Read the raw ring-buffer pages of a local trace instance by read(2), and BPF ring buffers with them."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from events.batch import Batch, Chunk
from events.format import FormatError, HeaderPage
from kernel.agent.sampler import SampleRing
from kernel.errors import FileRefused, StreamClosed
from kernel.local import files
from kernel.local.libbpf_calls import local_ring
from kernel.target import AnyRecord, RingMap, record_place, record_text

if TYPE_CHECKING:
    from kernel.agent.object_rings import AnyRing
    from kernel.local.libbpf_calls import LibbpfRing

_PASS_BYTES = 1 << 20
"""Bytes read from one CPU in one pass: a probe that our own reading hits must not prevent a pass from ending."""
_PERIOD = _SOON = 0.03
"""Seconds between passes while few events arrive. With buffer_percent 0 every single event ends a poll, and a pass
for each would cost more than the events.
"""
_BUSY_BYTES = 256 << 10
"""Bytes of a pass from which on the next one follows at once."""
_PARKED = 1.0
"""Seconds until a CPU whose buffer could not be polled or read (offline) is tried again."""


class LocalStream:
    """Reader of all CPUs of one instance by trace_pipe_raw, non-blocking; read(2) returns one sub-buffer per call."""

    def __init__(self, instance: str) -> None:
        self.errors = 0
        """Reads that failed for another reason than an empty buffer."""
        self._fds: dict[int, int] = {}
        self._rings: dict[int, tuple[int, int, AnyRing | LibbpfRing]] = {}
        """CPU, number and reader of each BPF ring buffer, by its file."""
        self._sampled: list[int] = []
        """Files of those with samples, which are read whenever something is."""
        self._last_samples: list[Chunk] = []
        """Samples of monitors that are gone."""
        self._parked: dict[int, float] = {}
        self._busy = threading.Lock()
        self._closing = threading.Lock()
        self._closed = False
        self._pause_until = 0.0
        self._had_data = False
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._wake, select.POLLIN)
        try:
            self._open(instance)
        except BaseException:
            self.close()
            raise

    def read(self, timeout: float) -> Batch | None:
        """Wait up to `timeout` seconds for data, then make one bounded pass over the CPUs that have some."""
        with self._busy:
            if self._closed:
                raise StreamClosed
            start = time.monotonic()
            # None soon after the last data: what was held back for older events is final then.
            ready = self._wait(start, min(timeout, _SOON) if self._had_data else timeout)
            chunks, self._last_samples = self._last_samples, []
            self._had_data = bool(ready or chunks)
            if not self._had_data:
                return None
            drained, size = True, 0
            for fd in dict.fromkeys((*ready, *self._sampled)):
                cpu, number, ring = self._rings.get(fd) or (self._fds[fd], 0, None)
                data, empty = ring.take(_PASS_BYTES) if ring else self._drain(fd)
                drained = drained and empty
                is_being_written = ring is not None and ring.is_being_written
                if data or is_being_written:
                    chunks.append(Chunk(cpu, data, ring=number, is_being_written=is_being_written))
                    size += len(data)
            if drained and size < _BUSY_BYTES:
                self._pause_until = time.monotonic() + _PERIOD
            return Batch(tuple(chunks), drained) if chunks else None

    def require_answer(self) -> bool:
        return False

    def add_rings(self, number: int, record: AnyRecord, maps: Sequence[RingMap]) -> None:
        os.eventfd_write(self._wake, 1)
        with self._busy:
            for cpu, fd, size in maps:
                try:
                    ring = local_ring(fd, size, record_text(record))
                except OSError as error:
                    raise FileRefused(record_place(record), error.errno or 0) from None
                self._rings[ring.fd] = cpu, number, ring
                self._poll.register(ring.fd, select.POLLIN)
                if isinstance(ring, SampleRing):
                    self._sampled.append(ring.fd)

    def remove_rings(self, number: int) -> None:
        os.eventfd_write(self._wake, 1)
        with self._busy:
            for fd in [fd for fd, ring in self._rings.items() if ring[1] == number]:
                self._poll.unregister(fd)
                cpu, _, ring = self._rings.pop(fd)
                if isinstance(ring, SampleRing):
                    self._sampled.remove(fd)
                    data, _ = ring.take(_PASS_BYTES)
                    self._last_samples += [Chunk(cpu, data, ring=number)] if data else []
                ring.close()

    @property
    def closed(self) -> bool:
        """True once reading has ended."""
        return self._closed

    def close(self) -> None:
        """Wake a waiting read and close the files."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            os.eventfd_write(self._wake, 1)
            self._close_files()

    def _close_files(self) -> None:
        with self._busy:
            for fd in self._fds:
                os.close(fd)
            for _, _, ring in self._rings.values():
                ring.close()
            self._rings.clear()
            self._fds.clear()
            os.close(self._wake)

    def _open(self, instance: str) -> None:
        try:
            self._size = HeaderPage.parse(files.read(f"{instance}/events/header_page").decode("ascii")).page_size
        except (FormatError, UnicodeDecodeError):
            self._size = os.sysconf("SC_PAGE_SIZE")
        folder = f"{instance}/per_cpu"
        for name in files.list_folder(folder):
            if name.startswith("cpu") and name[3:].isdigit():
                path = f"{folder}/{name}/trace_pipe_raw"
                try:
                    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                except OSError as error:
                    raise FileRefused(path, error.errno or 0) from None
                self._fds[fd] = int(name[3:])
                self._poll.register(fd, select.POLLIN)

    def _wait(self, now: float, timeout: float) -> list[int]:
        """Return the files that have data, in the order of the CPUs."""
        end = now + timeout
        if (pause := self._pause_until - now) > 0:
            self._pause(min(pause, timeout))
        for fd, due in list(self._parked.items()):
            if due <= now:
                del self._parked[fd]
                self._poll.register(fd, select.POLLIN)
        remaining = max(0.0, end - time.monotonic())
        ready: list[int] = []
        for fd, event in self._poll.poll(remaining * 1000):
            if self._closed:
                return []
            if fd == self._wake:
                os.eventfd_read(self._wake)
            elif event & select.POLLIN and (fd in self._fds or fd in self._rings):
                ready.append(fd)
            elif fd in self._fds:
                self._park(fd)
        return ready

    def _pause(self, seconds: float) -> None:
        """Wait `seconds`, interrupted by close() only."""
        waker = select.poll()
        waker.register(self._wake, select.POLLIN)
        waker.poll(seconds * 1000)

    def _drain(self, fd: int) -> tuple[bytes, bool]:
        """Return sub-buffers of one CPU, and whether its buffer is empty now."""
        pages: list[bytes] = []
        try:
            for _ in range(max(1, _PASS_BYTES // self._size)):
                page = os.read(fd, self._size)
                if not page:
                    return b"".join(pages), True
                pages.append(page)
        except BlockingIOError:
            return b"".join(pages), True
        except OSError:
            self.errors += 1
            self._park(fd)
            return b"".join(pages), True
        return b"".join(pages), False

    def _park(self, fd: int) -> None:
        with contextlib.suppress(KeyError):
            self._poll.unregister(fd)
        self._parked[fd] = time.monotonic() + _PARKED
