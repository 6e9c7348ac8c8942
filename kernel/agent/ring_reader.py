"""Read raw ring buffers on the target's machine; a part of the agent's source."""

# This file is Python 3.6.
import errno
import os
import select

from kernel.agent.frames import PASS, frame, pack, squeeze
from kernel.agent.object_rings import AnyRing
from kernel.agent.sampler import SampleRing

MOST_LINES = 1024  # IOV_MAX
PERIOD = 0.03
"""Seconds between two reads of drained buffers."""
LAST_SAMPLES = 1 << 22
"""Bytes of the samples that are taken from a monitor that ends."""
MOST_PAGES = 64
"""Sub-buffers of one CPU in one batch."""


def write_all(fd: int, data: bytes) -> None:
    """Write all data as libc's stdio would: continue after a short write (set_event takes one word per call)."""
    while True:
        written = os.write(fd, data)
        data = data[written:]
        if not data:
            return
        if not written:
            raise OSError(errno.EIO, "nothing written")


def write_lines(fd: int, data: bytes) -> None:
    """Write to a file of the kernel, all lines by one system call.

    Some files take one word per call (set_graph_function), and a process killed between two calls leaves the first
    words there: neither the previous nor the requested content.
    """
    lines = data.splitlines(True)
    written = os.writev(fd, lines[:MOST_LINES]) if len(lines) > 1 else 0
    if written < len(data) or not data:
        write_all(fd, data[written:])


class RingReader:
    """Reader of the raw ring buffers of one instance."""

    def __init__(self, ident: int, instance: bytes, credit: int) -> None:
        self.ident, self.instance, self.credit = ident, instance, credit
        self.files: dict[int, int] = {}
        self.rings: dict[tuple[int, int], AnyRing] = {}
        self.epoll = select.epoll()
        self.last: list[bytes] = []
        """Samples of monitors that are gone, as fields of a frame."""
        self.due = self.latest = 0.0
        self.plain = 0
        self.drained = False
        self.is_said = True
        """True once a frame without data has followed the last one with data: the buffers were found empty."""
        try:
            self.open()
        except OSError:
            self.close()
            raise

    def open(self) -> None:
        folder = self.instance + b"/per_cpu"
        for cpu in sorted(int(name[3:]) for name in os.listdir(folder) if name[3:].isdigit()):
            path = folder + b"/cpu%d/trace_pipe_raw" % cpu
            self.files[cpu] = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                self.epoll.register(self.files[cpu], select.EPOLLIN)
            except OSError:  # a regular file has no poll: the timer reads it
                pass
        try:
            with open(self.instance + b"/buffer_subbuf_size_kb", "rb") as file:
                self.size = int(file.read()) << 10
        except (OSError, ValueError):
            self.size = os.sysconf("SC_PAGE_SIZE")
        self.patience = 1.0
        try:  # else poll reports no data before the buffer is half full
            fd = os.open(self.instance + b"/buffer_percent", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(fd, b"0")
            finally:
                os.close(fd)
        except OSError:
            self.patience = 0.1

    def add_ring(self, number: int, cpu: int, ring: "AnyRing") -> None:
        """Read a BPF ring buffer of a CPU with the others, under its number."""
        self.rings[cpu, number] = ring
        self.epoll.register(ring.fd, select.EPOLLIN)

    def remove_ring(self, number: int) -> None:
        """Read the BPF ring buffers of a number no more."""
        for key in [key for key in self.rings if key[1] == number]:
            ring = self.rings.pop(key)
            if isinstance(ring, SampleRing):
                data, _ = ring.take(LAST_SAMPLES)
                self.last += [b"%d/%d" % key, data] if data else []
            self.epoll.unregister(ring.fd)
            ring.close()

    def close(self) -> None:
        for fd in self.files.values():
            os.close(fd)
        self.files = {}
        for ring in self.rings.values():
            ring.close()
        self.rings = {}
        self.epoll.close()

    def wait(self, now: float) -> float:
        """Return the seconds until there is work to do even if no data arrives."""
        return 3600.0 if self.credit <= 0 else max(0.0, (self.due if self.due > now else self.latest) - now)

    def collect(self, now: float) -> bytes:
        """Read all CPUs once; return a frame, or empty bytes: as much as the credit allows, at least a sub-buffer
        each.
        """
        number = max(1, len(self.files) + len(self.rings))
        quota = min(MOST_PAGES, max(1, self.credit // (self.size * number)))
        fields, drained = self.last, True
        raw, self.last = sum(map(len, fields[1::2])), []
        for cpu, fd in self.files.items():
            pages: list[bytes] = []
            while len(pages) < quota:
                try:
                    page = os.read(fd, self.size)
                except OSError:
                    break
                if not page:
                    break
                pages.append(page)
            else:
                drained = False
            if pages:
                fields += [b"%d" % cpu, b"".join(pages)]
                raw += len(fields[-1])
        for (cpu, name), ring in self.rings.items():
            data, is_empty = ring.take(quota * self.size)
            drained = drained and is_empty
            if data or ring.is_being_written:
                fields += [b"%d/%d%s" % (cpu, name, b"/" if ring.is_being_written else b""), data]
                raw += len(data)
        self.drained = drained
        self.due = now + PERIOD if drained else now
        self.latest = now + (PERIOD if fields else self.patience)
        if not fields and self.is_said:
            return b""
        self.is_said = not fields
        self.credit -= raw
        flag, body = b"", pack(*fields)
        if self.plain:
            self.plain -= 1
        else:
            flag, body = squeeze(body)
            self.plain = 0 if flag or raw < 4096 else 32
        return frame(self.ident, PASS, b"1" if drained else b"0", b"%d" % raw, flag, body)
