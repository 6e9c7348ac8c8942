"""Implement the local target: files by `os`, raw ring-buffer pages by read(2)."""

from __future__ import annotations

import contextlib
import os
import select
import stat
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from events.batch import Batch, Chunk
from events.format import FormatError, HeaderPage
from kernel.agent.journal import Journal, folders, open_own, own_name
from kernel.agent.sampler import SAMPLER, SampleRing
from kernel.agent.user_events import RegisteredEvents, write_event
from kernel.cleanup.owner import owner_name
from kernel.errors import FileRefused, StreamClosed
from kernel.facts import gather
from kernel.local import files, libbpf, libc
from kernel.local.libbpf_calls import local_calls, local_ring
from kernel.target import AnyRecord, BpfAnswer, BpfPart, Effect, RingMap, Step, TargetKind, record_place, record_text
from probes.facts.facts import TargetFacts

if TYPE_CHECKING:
    from kernel.agent.journal import Entry
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


_ON_EVENTS = (Effect.REGISTER, Effect.RELEASE, Effect.WRITE_EVENT)
"""Effects on events of programs."""


class LocalTarget:
    """The running local kernel; see `kernel.target.Target`."""

    name = "local"
    is_kernel = True
    kind = TargetKind.LOCAL
    link = None
    recording = None

    def __init__(self) -> None:
        self.owner = owner_name(files.read("/proc/self/stat", 4096))
        self._facts: TargetFacts | None = None
        self._held: list[tuple[str, int]] = []
        self._streams: list[LocalStream] = []
        self._bpf = local_calls()
        self._events = RegisteredEvents()
        self.helpers: list[int] = []
        """Processes of ours that run commands."""

    def facts(self) -> TargetFacts:
        if self._facts is None:
            self._facts = _with_libbpf(gather.gather(self, _file_system_magic))
        return self._facts

    def btf(self, module: str | None = None) -> bytes:
        return files.read(f"/sys/kernel/btf/{module or 'vmlinux'}")

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        if os.path.dirname(path) in folders(os.geteuid(), os.environ):
            return files.read(path, limit, offset, open_own)
        return files.read(path, limit, offset)

    def file_error(self, path: str) -> str:
        try:
            return "" if stat.S_ISREG(os.stat(path).st_mode) else "NO_REGULAR_FILE"
        except OSError:
            return "FILE_NOT_FOUND"

    def perform(self, step: Step) -> None:
        if step.effect is Effect.RMDIR:
            self._release(step.path)
        if step.effect in _ON_EVENTS:
            self._perform_on_events(step)
        else:
            files.perform(step)

    def _perform_on_events(self, step: Step) -> None:
        """Register, release or write an event of programs. Raises FileRefused."""
        path = os.fsencode(step.path)
        try:
            if step.effect is Effect.REGISTER:
                self._events.register(path, step.data)
            elif step.effect is Effect.RELEASE:
                self._events.release(path, step.data)
            else:
                write_event(path, step.data)
        except OSError as error:
            raise FileRefused(step.path, error.errno or 0) from None

    def list(self, path: str) -> Sequence[str]:
        return files.list_folder(path)

    def folder_inodes(self, path: str) -> Sequence[tuple[int, str]]:
        return files.folders_below(path)

    def guard(self, undo: Step) -> None:
        """Write an undo step to the journal: the next start undoes what a dead process left."""
        with _JOURNALING:
            _journal().add(*_entry(undo))

    def unguard(self, undo: Step) -> None:
        with _JOURNALING:
            _journal().drop(*_entry(undo))

    def hold(self, path: str) -> None:
        try:
            self._held.append((path, os.open(path, os.O_RDONLY | os.O_CLOEXEC)))
        except OSError as error:
            raise FileRefused(path, error.errno or 0) from None

    def our_pids(self) -> Sequence[int]:
        """Return all threads of this process: the kernel filters by thread, not by process."""
        return [*sorted(int(name) for name in files.list_folder("/proc/self/task")), *self.helpers]

    def start(self, words: Sequence[str], *passed: int) -> subprocess.Popen[bytes]:
        """Start a program in a process group of its own, with pipes, and with files of ours. Raises OSError."""
        pipe = subprocess.PIPE
        return subprocess.Popen(words, stdin=pipe, stdout=pipe, bufsize=0, pass_fds=passed, process_group=0)

    def bpf(self, command: int, attributes: bytes, parts: Sequence[BpfPart] = ()) -> BpfAnswer:
        pointers = [(part.offset, part.kind, part.data) for part in parts]
        try:
            result, returned = self._bpf.call(command, attributes, pointers)
        except OSError as error:
            raise FileRefused("bpf(2)", error.errno or 0) from None
        return BpfAnswer(result, tuple(returned))

    def close_bpf(self, files: Sequence[int]) -> None:
        for fd in files:
            self._bpf.close(fd)

    def stream(self, instance: str) -> LocalStream:
        SAMPLER.start()  # before our threads are listed
        stream = LocalStream(instance)
        self._streams = [*(earlier for earlier in self._streams if not earlier.closed), stream]
        return stream

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        self._streams.clear()
        self._bpf.close_all()
        self._events.close()
        self._release("")

    def _release(self, folder: str) -> None:
        """Close the files held below a folder."""
        for entry in [entry for entry in self._held if entry[0].startswith(f"{folder}/")]:
            with contextlib.suppress(ValueError):  # another thread closes it: its number may be another file's by now
                self._held.remove(entry)
                os.close(entry[1])


_JOURNALING = threading.Lock()
_journals: dict[str, Journal] = {}


def _journal() -> Journal:
    """Return the journal of this process, shared by all its targets: a forked child has another."""
    name = own_name()
    if name not in _journals:
        _journals.clear()
        _journals[name] = Journal(folders(os.geteuid(), os.environ), name)
    return _journals[name]


def _entry(step: Step) -> Entry:
    return step.effect.value.encode(), os.fsencode(step.path), step.data, step.expects


BPF_PROG_TYPE_KPROBE = 2
_HELPERS = {
    "get_stackid": 27,
    "probe_read_user": 112,
    "probe_read_kernel": 113,
    "probe_read_user_str": 114,
    "probe_read_kernel_str": 115,
    "ringbuf_output": 130,
    "get_func_ip": 173,
    "get_attach_cookie": 174,
    "loop": 181,
}
"""BPF_FUNC_* that programs on functions use (include/uapi/linux/bpf.h), added since Linux 4.6."""


def _file_system_magic(path: str) -> int | None:
    """Return the magic number of the file system at a path; None: the path does not exist."""
    try:
        return libc.statfs(path).f_type
    except OSError:
        return None


def _with_libbpf(facts: TargetFacts) -> TargetFacts:
    """Add the results of the library on this machine; its probes load tiny programs, some 2 ms for all of them."""
    library = libbpf.load()
    if library is None:
        return facts
    types = library.prog_types()
    loadable = tuple(name for number, name in types.items() if number and library.probe_prog_type(number))
    helpers: tuple[str, ...] = ()
    if BPF_PROG_TYPE_KPROBE in types and types[BPF_PROG_TYPE_KPROBE] in loadable:
        helpers = tuple(n for n, number in _HELPERS.items() if library.probe_helper(BPF_PROG_TYPE_KPROBE, number))
    return replace(facts, libbpf=library.version, bpf_programs=loadable, bpf_helpers=helpers)
