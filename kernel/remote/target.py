"""Implement a remote target on top of a dialect, the commands that agent and shell have in common.

The agent (`kernel.remote.protocol.agent_client`) and plain sh (`kernel.remote.protocol.shell_client`) each are a
`kernel.remote.protocol.dialect.RemoteDialect`; `RemoteTarget` adds what needs no dialect: facts, cached BTF, our own
processes on the remote host.
"""

from __future__ import annotations

import dataclasses
import errno
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kernel.cleanup.abandoned_processes import AbandonedProcesses
from kernel.errors import ConnectionGone, FileRefused, TargetLost, TargetUnusable
from kernel.facts.gather import gather
from kernel.remote import btf_cache, function_cache, own_processes, symbol_cache
from kernel.remote.cancellation import CANCELLED, disconnect_on_cancel
from kernel.remote.protocol.dialect import Connector, RemoteConnection, RemoteDialect
from kernel.remote.protocol.shell_dialect import ShellDialect
from kernel.remote.protocol.shell_quote import quote
from kernel.remote.silence import silence
from kernel.target import BpfAnswer, BpfPart, Step, Stream, TargetKind
from probes.facts.facts import TargetFacts
from probes.facts.lookups import likely_file
from probes.plans.cost_estimate import AGENT, SHELL, ReaderCost

_SOON_WANTED = (
    *(f"/proc/self/{name}" for name in ("status", "auxv", "mounts", "uid_map")),
    *(f"/proc/sys/kernel/{name}" for name in ("arch", "osrelease", "version", "ftrace_enabled", "kptr_restrict")),
    *(f"/sys/kernel/{name}" for name in ("cpu_byteorder", "address_bits", "security/lockdown")),
    "/sys/kernel/debug/kprobes/enabled",
    *(f"/sys/kernel/tracing/{name}" for name in ("README", "available_tracers")),
    "/sys/kernel/tracing/events/header_page",
    "/sys/devices/system/cpu/online",
    "/proc/sys/kernel/random/boot_id",
    "/proc/filesystems",
    "/proc/modules",
    *(_LASTING := ("/sys/kernel/notes", "/proc/net/tcp", "/proc/net/tcp6")),
)
"""Files that `kernel.facts.gather` and the start of a session read of most kernels; a missing path costs time
only.
"""


_ALL_SYMBOLS = 1 << 20
"""Bytes of kallsyms from which on a reader wants the whole table."""
_BOOT = "/proc/sys/kernel/random/boot_id"
_KERNEL = ("/proc/sys/kernel/osrelease", "/proc/sys/kernel/version", "/proc/sys/kernel/arch")
"""Files that identify a kernel; `arch` does not exist on older kernels."""


class RemoteTarget:
    """A kernel on a remote host; a `kernel.target.Target`."""

    is_kernel = True
    kind = TargetKind.REMOTE
    recording = None

    def __init__(
        self,
        connection: RemoteConnection,
        name: str,
        *,
        again: Connector | None = None,
        on_close: Callable[[], None] = lambda: None,
        ended: Callable[[], bool] = lambda: False,
        slowdown: float = 1,
    ) -> None:
        """Take a connection, and the function that makes another one after a disconnect; None: no reconnect is
        possible.

        `ended` returns whether the remote machine has ended, `slowdown` is how much slower it is than a present-day
        machine.
        """
        self._connection = connection
        self._dialect = connection.dialect
        self._name = name
        self._again = again
        self._on_close = on_close
        self._has_ended = ended
        self.slowdown = slowdown
        """Times as long as the figures of `probes.plans.cost_estimate` everything takes there."""
        self.predecessors = AbandonedProcesses()
        """Processes that served this target before, whose effects may be left there."""
        self._owner: str | None = None
        self._facts: TargetFacts | None = None
        self._own_pids: tuple[int, ...] | None = None
        self.helpers: list[int] = []
        """Processes of ours that run commands there."""
        self._ahead: Mapping[str, bytes | FileRefused] = {}
        self._closed = False
        self._ends = float("inf")
        self._pending: RemoteDialect | None = None
        """Dialect of a connection made after a disconnect and not verified yet."""
        self._changing = threading.Lock()
        self._reading_symbols = threading.Lock()

    @property
    def link(self) -> RemoteTarget:
        """The target itself: its connection may be lost and made again."""
        return self

    @property
    def access(self) -> str:
        """Short description of the connection: `agent`, `sh over sudo`."""
        return self._connection.access

    @property
    def has_ended(self) -> bool:
        """True once the remote machine has ended, and with it all effects on its kernel; `close` may end it."""
        return self._has_ended()

    @property
    def gives_pages(self) -> bool:
        """True if streams deliver ring-buffer pages; else text."""
        return not isinstance(self._dialect, ShellDialect)

    @property
    def reader(self) -> ReaderCost:
        """CPU cost of reading events on the remote host."""
        return AGENT if self.gives_pages else SHELL

    @property
    def last_received(self) -> float:
        """Time of the last byte from the remote host, by time.monotonic()."""
        return self._dialect.last_received

    @property
    def overdue_seconds(self) -> float | None:
        """Seconds for which the remote host has been silent while owing an answer (`kernel.remote.silence`); None: it
        is not.
        """
        return silence(self._dialect.last_received, self._dialect.unanswered, time.monotonic())

    @property
    def connection_error(self) -> TargetLost | None:
        """Error of a lost connection; None: it works."""
        return TargetLost(self._dialect.loss) if self._dialect.loss else None

    def lose(self, reason: str) -> None:
        """Give up the connection, and one being made, for a reason: both count as lost then."""
        with self._changing:
            dialects = [self._dialect, *([self._pending] if self._pending is not None else [])]
        for dialect in dialects:
            dialect.lose(reason)

    def set_deadline(self, ends: float) -> None:
        """Set the end of the command (time.monotonic()): a silent connection counts as lost sooner then."""
        self._ends = min(self._ends, ends)
        self._dialect.set_deadline(self._ends)

    @property
    def can_reconnect(self) -> bool:
        """True if a reconnect is possible after a disconnect."""
        return self._again is not None and not self._closed

    def reconnect(self, cancel: threading.Event | None = None, *, asking: bool = False) -> bool:
        """Reconnect after a disconnect; return whether the remote host was rebooted meanwhile.

        The previous agent or shell undoes the armed probes from its own undo list, as it has lost its client.

        Args:
            cancel: set it from another thread to give up.
            asking: True: ssh may prompt at the terminal.

        Raises:
            ConnectionGone: another kernel runs there now, or the remote machine has ended.
            PasswordNeeded: ssh would have to prompt.
            TargetUnusable, TargetLost: not reached.
        """
        if self._again is None:
            raise ConnectionGone(f"{self._name} can't be reached again")
        self._dialect.close()
        self._connection.hang_up()
        connection = self._again(cancel, asking)
        try:
            with self._changing:
                self._pending = connection.dialect
            if cancel is not None and cancel.is_set():
                raise TargetUnusable(f"{self._name} was given up")
            with disconnect_on_cancel(cancel, lambda: connection.dialect.lose(CANCELLED)):
                boot = self._same_kernel(connection.dialect)
            with self._changing:
                if self._closed:
                    raise TargetUnusable(f"{self._name} was left meanwhile")
                self._connection, self._dialect = connection, connection.dialect
                self._dialect.set_deadline(self._ends)
                self.predecessors.add(self._owner or "")
                self._owner = self._own_pids = None
                self._ahead = {}
        except BaseException:
            connection.dialect.close()
            connection.hang_up()
            raise
        finally:
            with self._changing:
                self._pending = None
        facts = self._facts
        if facts is None or not boot or boot == facts.boot_id:
            return False
        self.predecessors.forget()
        self._facts = dataclasses.replace(facts, boot_id=boot)
        return True

    def _same_kernel(self, dialect: RemoteDialect) -> str:
        """Return the present boot id. Raises ConnectionGone if another kernel runs there.

        Our rights on that kernel are checked when probes are armed again.
        """
        facts = self._facts
        contents = [_word(dialect, path) for path in (_BOOT, *_KERNEL)]
        if facts is None:
            return contents[0]
        release, version, machine = contents[1:]
        if (release, version) != (facts.release, facts.version) or (machine and machine != facts.machine):
            raise ConnectionGone(f"{self._name} runs another kernel now: Linux {release}", "open it anew")
        return contents[0]

    @property
    def name(self) -> str:
        return self._name

    @property
    def owner(self) -> str:
        if self._owner is None:
            self._owner = own_processes.owner(self._dialect, self._dialect.pid)
        return self._owner

    def facts(self) -> TargetFacts:
        if self._facts is None:
            self._ahead = self._dialect.ahead(_SOON_WANTED)
            self._ahead = {**self._ahead, **function_cache.fetch(self._dialect, self._name, self._ahead)}
            try:
                self._facts = gather(self, host=self._name, rights=self._connection.troubles)
            finally:
                lasting = (*_LASTING, *_KERNEL)
                self._ahead = {path: self._ahead[path] for path in lasting if path in self._ahead}
        return self._facts

    def btf(self, module: str | None = None) -> bytes:
        return btf_cache.fetch(self, self._name, module)

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        if path == symbol_cache.KALLSYMS and limit >= _ALL_SYMBOLS and not offset:
            with self._reading_symbols:  # who comes second finds them cached
                return symbol_cache.fetch(self._dialect, self._name, limit)
        cached = self._ahead.get(path)
        if cached is None:
            return self._dialect.read(path, limit, offset)
        if isinstance(cached, FileRefused):
            raise cached
        return cached[offset : offset + limit]

    def ahead(self, paths: Sequence[str]) -> Mapping[str, bytes | FileRefused]:
        """Read many files in one round trip; empty if the dialect reads one after the other. Raises TargetLost."""
        return self._dialect.ahead(paths)

    def file_error(self, path: str) -> str:
        """Return the error of a path as the place of a uprobe; no file is opened for that, as it may be a device."""
        if (error_code := likely_file(path)) or not path.startswith("/"):
            return error_code
        try:
            self.list(path)
        except FileRefused as error:
            return "FILE_NOT_FOUND" if error.errno == errno.ENOENT else ""
        return "NO_REGULAR_FILE"

    def perform(self, step: Step) -> None:
        self._dialect.perform(step)

    def list(self, path: str) -> Sequence[str]:
        return self._dialect.list(path)

    def folder_inodes(self, path: str) -> Sequence[tuple[int, str]]:
        return self._dialect.folder_inodes(path)

    def guard(self, undo: Step) -> None:
        self._dialect.guard(undo)

    def unguard(self, undo: Step) -> None:
        self._dialect.unguard(undo)

    def hold(self, path: str) -> None:
        self._dialect.hold(path)

    def our_pids(self) -> Sequence[int]:
        if self._own_pids is None:
            self._own_pids = own_processes.own_chain(_Files(self.read, self._dialect.links), self._dialect.pid)
        return (*self._own_pids, *self._dialect.stream_pids(), *self.helpers)

    def start(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a program over there, with pipes. Raises TargetUnusable."""
        if self._connection.session is None:
            raise TargetUnusable(f"{self.name}: no program can be started over this connection")
        return self._connection.session(" ".join(map(quote, words)))

    def bpf(self, command: int, attributes: bytes, parts: Sequence[BpfPart] = ()) -> BpfAnswer:
        return self._dialect.bpf(command, attributes, parts)

    def close_bpf(self, files: Sequence[int]) -> None:
        self._dialect.close_bpf(files)

    def stream(self, instance: str) -> Stream:
        return self._dialect.stream(instance)

    def close(self) -> None:
        with self._changing:
            closed, self._closed = self._closed, True
        if not closed:
            try:
                self._dialect.close()
                self._connection.hang_up()
            finally:
                self._on_close()


class _Files(NamedTuple):
    """File access for `kernel.remote.own_processes`; the listening sockets were read at the start already."""

    read: Callable[[str, int], bytes]
    links: Callable[[str], Sequence[str]]


def _word(dialect: RemoteDialect, path: str) -> str:
    try:
        return dialect.read(path, 4096).decode("utf-8", "replace").strip()
    except FileRefused:
        return ""
