"""Sample numbers at a rate in a thread, and hand on the samples as a ring buffer does; a part of the agent's source.

A sample is due at each multiple of its period on CLOCK_MONOTONIC, so that those of one rate are taken together. Its
time is taken before its number is read: all that changed the number before that time is in it. Samples that the
thread was too late for are counted as lost, and none is made up for them.
"""

# This file is Python 3.6.
import _signal  # type: ignore[import-not-found]
import _thread
import os
import struct
import time

from kernel.agent.number_readers import number_reader

_SAMPLE_HEAD = struct.Struct("<IIQIIII16s")
"""As of the rows of `object_rings`: length and place; time, thread, number of lost samples, faults, id, name."""
_DELIVERY = 400_000_000
"""Nanoseconds for which samples wait for others, unless something else is read: to read each costs more than it."""
_MOST_SAMPLES = 1 << 16
"""Samples that wait to be read."""
_VALUE, _DELTA = 1, 2
"""Bits of the fields of a sample."""
_SAMPLER_NAME = b"monitor"
_MAIN_SIGNALS = ("SIGHUP", "SIGTERM", "SIGINT", "SIGPIPE", "SIGQUIT", "SIGALRM")
"""Signals that wake the main thread alone."""


def _monotonic() -> int:
    """Return the nanoseconds of CLOCK_MONOTONIC, as those of BPF records."""
    return int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e9)


class SampleRing:
    """Samples of one number, which wait to be read."""

    def __init__(self, text: bytes) -> None:
        """Open the file of the number, and read it once. Raises OSError, ValueError.

        Args:
            text: period in ns, id of the events, bytes of the number, 1 for a sign, 1 for a difference to the sample
                before; then those of `number_reader`, all separated by blanks.
        """
        words = text.split(b" ")
        self.period, self._id, self._size = (int(word) for word in words[:3])
        self._signed, self._has_delta = (word == b"1" for word in words[3:5])
        self.size = 56
        """Bytes of a record (`events.bpf_layout.SAMPLE_BYTES`)."""
        self.is_being_written = False
        """True if a sample was being taken at the last `take`."""
        self._reader = number_reader(words[5:])
        self._lock = _thread.allocate_lock()
        self._rows: list[bytes] = []
        self._lost = 0
        self._is_open = True
        self._is_sampling = self._is_signalled = False
        self._delivered = 0
        """Time of the last `take` that gave samples."""
        self.fd, self._signal = os.pipe()
        """File that can be read once samples have waited long enough; all are to be taken with whatever is read."""
        try:
            self._last: int | None = self._reader.read()
        except OSError:
            self._last = None
        now = _monotonic()
        self.due = now - now % self.period + self.period
        """Time of the next sample in ns."""

    def sample(self, thread: int) -> None:
        """Take a sample, which is due."""
        with self._lock:
            if not self._is_open:
                return
            self._is_sampling = True  # whoever reads now knows that a sample of this time may follow
            now = _monotonic()
            late = (now - self.due) // self.period
            self._lost += late
            self.due += (late + 1) * self.period
        try:
            number: int | None = self._reader.read()
        except OSError:
            number = None
        with self._lock:
            self._is_sampling = False
            if len(self._rows) >= _MOST_SAMPLES:
                self._lost += 1
            else:
                self._rows.append(self._row(now, thread, number))
            self._last = number
            if self._is_open and not self._is_signalled and self.due >= self._delivered + _DELIVERY:
                self._is_signalled = True
                os.write(self._signal, b"\0")

    def _row(self, now: int, thread: int, number: "int | None") -> bytes:
        """Return the record of a sample, as a program would have written it."""
        faults = 0
        delta = number - self._last if number is not None and self._last is not None else None
        if number is None:
            faults |= _VALUE
        if self._has_delta and delta is None:
            faults |= _DELTA
        head = _SAMPLE_HEAD.pack(self.size, 0, now, thread, self._lost & 0xFFFFFFFF, faults, self._id, _SAMPLER_NAME)
        data = self._bytes(number or 0, self._size).ljust(8, b"\0")
        delta = delta if delta is not None and self._has_delta else 0
        if number is not None and self._size < 8:  # it went round
            half = 1 << (8 * self._size - 1)
            delta = (delta + half) % (2 * half) - half
        return head + data + self._bytes(delta, 8)

    @staticmethod
    def _bytes(number: int, size: int) -> bytes:
        return (number & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def take(self, limit: int) -> "tuple[bytes, bool]":
        """Return the oldest samples, about `limit` bytes of them, and whether there are no more now."""
        most = max(1, limit // (self.size + 8))
        with self._lock:
            rows, self._rows = self._rows[:most], self._rows[most:]
            self.is_being_written = self._is_sampling
            if rows:
                self._delivered = _monotonic()
            if self._is_signalled and not self._rows:
                os.read(self.fd, 1)
                self._is_signalled = False
            return b"".join(rows), not self._rows

    def close(self) -> None:
        """Take no more samples."""
        SAMPLER.remove(self)
        with self._lock:
            if self._is_open:
                self._is_open = False
                os.close(self.fd)
                os.close(self._signal)
        while True:  # the thread may be reading
            with self._lock:
                if not self._is_sampling:
                    break
            time.sleep(0.001)
        self._reader.close()


class Sampler:
    """Thread that takes all samples of this process."""

    def __init__(self) -> None:
        self._lock, self._wake = _thread.allocate_lock(), _thread.allocate_lock()
        self._wake.acquire()
        self._rings: list[SampleRing] = []
        self._pid = 0

    def start(self) -> None:
        """Start the thread; without effect while it runs. It waits until there is something to sample."""
        with self._lock:
            if self._pid == os.getpid():
                return
            _thread.start_new_thread(self._run, ())
            self._pid = os.getpid()

    def add(self, ring: SampleRing) -> None:
        """Take the samples of a ring from now on."""
        self.start()
        with self._lock:
            self._rings.append(ring)
        self._stir()

    def remove(self, ring: SampleRing) -> None:
        """Take no more samples of a ring."""
        with self._lock:
            if ring in self._rings:
                self._rings.remove(ring)
        self._stir()

    def _stir(self) -> None:
        try:
            self._wake.release()
        except RuntimeError:  # it is stirred already
            pass

    def _run(self) -> None:
        _signal.pthread_sigmask(_signal.SIG_BLOCK, [getattr(_signal, name) for name in _MAIN_SIGNALS])
        thread = int(os.readlink("/proc/thread-self").rpartition("/")[2])
        while True:
            with self._lock:
                rings = list(self._rings)
            now = _monotonic()
            for ring in rings:
                if ring.due <= now:
                    ring.sample(thread)
            if rings:
                wait = min(ring.due for ring in rings) - _monotonic()
                if wait > 0:
                    self._wake.acquire(True, min(wait / 1e9, 3600))
            else:
                self._wake.acquire()


SAMPLER = Sampler()


def sample_ring(text: bytes) -> SampleRing:
    """Return the samples of a number, which are taken from now on. Raises OSError, ValueError."""
    ring = SampleRing(text)
    SAMPLER.add(ring)
    return ring
