"""What both dialects of a far side can do, and the target made of one.

The agent (`kernel.remote.protocol.agent_client`) and plain sh (`kernel.remote.protocol.shell_client`) each are a
`Dialect`; `FarTarget` adds what needs no
dialect: facts, cached BTF, who we are over there.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from kernel.cleanup.abandoned_processes import Predecessors
from kernel.errors import FileRefused, GoneForGood, TargetLost, TargetUnusable
from kernel.facts.gather import gather
from kernel.remote import btf_cache, function_cache, own_processes
from kernel.remote.giving_up import CANCELLED, cut_when
from kernel.remote.protocol.shell_dialect import ShellDialect
from kernel.remote.silence import silence
from kernel.target import Step, Stream
from probes.facts.facts import TargetFacts, Trouble
from probes.plans.cost_estimate import AGENT, SHELL, Reader

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
"""What `kernel.facts.gather` and the start of a session read of most kernels; a path that is missing costs time
only."""


_BOOT = "/proc/sys/kernel/random/boot_id"
_KERNEL = ("/proc/sys/kernel/osrelease", "/proc/sys/kernel/version", "/proc/sys/kernel/arch")
"""What says whether a kernel is the same one; `arch` is newer than some."""


class Dialect(Protocol):
    """One process on the far side that does things to files there. Raises as `kernel.target.Target` does."""

    @property
    def pid(self) -> int: ...
    @property
    def heard(self) -> float:
        """When the far side last said something, by time.monotonic()."""

    @property
    def unanswered(self) -> float | None:
        """When the oldest question was sent that has no answer yet, by time.monotonic(); None: there is none."""

    @property
    def loss(self) -> str:
        """Reason why the line is lost; empty: it stands."""

    def lose(self, why: str) -> None:
        """Give the line up, for a reason: who waits for an answer or for events gets TargetLost soon."""

    def hurry(self, ends: float) -> None:
        """From a time of time.monotonic() on, wait for a silent far side for `kernel.remote.answer_limit.AT_THE_END`
        only.
        """

    def read(self, path: str, limit: int, offset: int = 0) -> bytes: ...
    def ahead(self, paths: Sequence[str]) -> Mapping[str, bytes | FileRefused]:
        """Many files in one go where the dialect can: a long line costs its delay once. Empty where it cannot."""

    def perform(self, step: Step) -> None: ...
    def list(self, path: str) -> Sequence[str]: ...
    def links(self, path: str) -> Sequence[str]:
        """Where the symbolic links of a folder point to."""

    def guard(self, undo: Step) -> None: ...
    def unguard(self, undo: Step) -> None: ...
    def hold(self, path: str) -> None: ...
    def stream(self, instance: str) -> Stream: ...
    def stream_pids(self) -> Sequence[int]:
        """Processes beside the dialect's own which read for us."""

    def close(self) -> None:
        """Undo what is guarded, end the far process and the line to it. Safe to call twice."""


class Reached(NamedTuple):
    """A line to a far side that serves us."""

    dialect: Dialect
    how: str
    """In a few words: `agent`, `sh over sudo`."""
    troubles: tuple[Trouble, ...] = ()
    hang_up: Callable[[], None] = lambda: None
    """Ends what carries the line; safe to call twice."""


Reach = Callable[[threading.Event | None, bool], Reached]
"""Makes a line anew: an event that gives up, and whether ssh may ask at the terminal. Raises TargetUnusable."""


class FarTarget:
    """A kernel at the other end of a line; a `kernel.target.Target`."""

    is_kernel = True

    def __init__(
        self,
        reached: Reached,
        name: str,
        *,
        again: Reach | None = None,
        on_close: Callable[[], None] = lambda: None,
        ended: Callable[[], bool] = lambda: False,
        slowdown: float = 1,
    ) -> None:
        """Take a line, and how another one is made once it is cut; None: that can't be.

        `ended` says whether the machine at its end is no more, `slowdown` how much slower it is than one of today.
        """
        self._reached = reached
        self._far = reached.dialect
        self._name = name
        self._again = again
        self._on_close = on_close
        self._has_ended = ended
        self.slowdown = slowdown
        """Times as long as the figures of `probes.plans.cost_estimate` say everything takes there."""
        self.predecessors = Predecessors()
        """Processes that served it before, whose effects there may be left."""
        self._owner: str | None = None
        self._facts: TargetFacts | None = None
        self._line: tuple[int, ...] | None = None
        self._ahead: Mapping[str, bytes | FileRefused] = {}
        self._closed = False
        self._ends = float("inf")
        self._coming: Dialect | None = None
        """Of a line that is made in place of one that was cut, and not looked at yet."""
        self._changing = threading.Lock()

    @property
    def how(self) -> str:
        """How it is reached, in a few words: `agent`, `sh over sudo`."""
        return self._reached.how

    @property
    def has_ended(self) -> bool:
        """Whether the machine there is no more, nor what we did to its kernel; `close` may end it."""
        return self._has_ended()

    @property
    def gives_pages(self) -> bool:
        """Whether its streams have the ring buffer's pages; else its text."""
        return not isinstance(self._far, ShellDialect)

    @property
    def reader(self) -> Reader:
        """What reading events takes of the CPU there."""
        return AGENT if self.gives_pages else SHELL

    @property
    def heard(self) -> float:
        """When the far side last said something, by time.monotonic()."""
        return self._far.heard

    @property
    def silent(self) -> float | None:
        """For how many seconds it has said nothing though it owes an answer (`kernel.remote.silence`); None: all is
        well.
        """
        return silence(self._far.heard, self._far.unanswered, time.monotonic())

    @property
    def line_error(self) -> TargetLost | None:
        """Error of a line that is lost; None: it stands."""
        return TargetLost(self._far.loss) if self._far.loss else None

    def lose(self, why: str) -> None:
        """Give up a line that stands and is silent, and one in the making, for a reason: it counts as cut then."""
        with self._changing:
            lines = [self._far, *([self._coming] if self._coming is not None else [])]
        for line in lines:
            line.lose(why)

    def hurry(self, ends: float) -> None:
        """Have the command end at a time of time.monotonic(): a silent line is lost sooner then."""
        self._ends = min(self._ends, ends)
        self._far.hurry(self._ends)

    @property
    def can_come_back(self) -> bool:
        """Whether another line can be made once this one is cut."""
        return self._again is not None and not self._closed

    def come_back(self, cancel: threading.Event | None = None, *, asking: bool = False) -> bool:
        """Reach it again, where the line was cut; gives whether it was booted anew meanwhile.

        What was armed is undone by the far side of before, which has its own undo list and nobody who talks to it.

        Args:
            cancel: set it from another thread to give up.
            asking: ssh may ask at the terminal.

        Raises:
            GoneForGood: another kernel runs there now, or what was there has ended.
            NotAsked: ssh would have to ask.
            TargetUnusable, TargetLost: not reached.
        """
        if self._again is None:
            raise GoneForGood(f"{self._name} can't be reached again")
        self._far.close()
        self._reached.hang_up()
        reached = self._again(cancel, asking)
        try:
            with self._changing:
                self._coming = reached.dialect
            if cancel is not None and cancel.is_set():
                raise TargetUnusable(f"{self._name} was given up")
            with cut_when(cancel, lambda: reached.dialect.lose(CANCELLED)):
                boot = self._same_kernel(reached.dialect)
            with self._changing:
                if self._closed:
                    raise TargetUnusable(f"{self._name} was left meanwhile")
                self._reached, self._far = reached, reached.dialect
                self._far.hurry(self._ends)
                self.predecessors.add(self._owner or "")
                self._owner = self._line = None
                self._ahead = {}
        except BaseException:
            reached.dialect.close()
            reached.hang_up()
            raise
        finally:
            with self._changing:
                self._coming = None
        facts = self._facts
        if facts is None or not boot or boot == facts.boot_id:
            return False
        self.predecessors.forget()
        self._facts = dataclasses.replace(facts, boot_id=boot)
        return True

    def _same_kernel(self, far: Dialect) -> str:
        """The boot id there now. Raises GoneForGood where the kernel is another one.

        What we may do to it shows when it is armed again.
        """
        facts = self._facts
        found = [_word(far, path) for path in (_BOOT, *_KERNEL)]
        if facts is None:
            return found[0]
        release, version, machine = found[1:]
        if (release, version) != (facts.release, facts.version) or (machine and machine != facts.machine):
            raise GoneForGood(f"{self._name} runs another kernel now: Linux {release}", "open it anew")
        return found[0]

    @property
    def name(self) -> str:
        return self._name

    @property
    def owner(self) -> str:
        if self._owner is None:
            self._owner = own_processes.owner(self._far, self._far.pid)
        return self._owner

    def facts(self) -> TargetFacts:
        if self._facts is None:
            self._ahead = self._far.ahead(_SOON_WANTED)
            self._ahead = {**self._ahead, **function_cache.fetch(self._far, self._name, self._ahead)}
            try:
                self._facts = gather(self, host=self._name, rights=self._reached.troubles)
            finally:
                lasting = (*_LASTING, *_KERNEL)
                self._ahead = {path: self._ahead[path] for path in lasting if path in self._ahead}
        return self._facts

    def btf(self, module: str | None = None) -> bytes:
        return btf_cache.fetch(self, self._name, module)

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        known = self._ahead.get(path)
        if known is None:
            return self._far.read(path, limit, offset)
        if isinstance(known, FileRefused):
            raise known
        return known[offset : offset + limit]

    def ahead(self, paths: Sequence[str]) -> Mapping[str, bytes | FileRefused]:
        """Read many files in one go; empty where the dialect reads one after the other. Raises TargetLost."""
        return self._far.ahead(paths)

    def perform(self, step: Step) -> None:
        self._far.perform(step)

    def list(self, path: str) -> Sequence[str]:
        return self._far.list(path)

    def guard(self, undo: Step) -> None:
        self._far.guard(undo)

    def unguard(self, undo: Step) -> None:
        self._far.unguard(undo)

    def hold(self, path: str) -> None:
        self._far.hold(path)

    def our_pids(self) -> Sequence[int]:
        if self._line is None:
            self._line = own_processes.line(_Files(self.read, self._far.links), self._far.pid)
        return (*self._line, *self._far.stream_pids())

    def stream(self, instance: str) -> Stream:
        return self._far.stream(instance)

    def close(self) -> None:
        with self._changing:
            closed, self._closed = self._closed, True
        if not closed:
            try:
                self._far.close()
                self._reached.hang_up()
            finally:
                self._on_close()


class _Files(NamedTuple):
    """What `kernel.remote.own_processes` asks; the sockets that listen were read at the start already."""

    read: Callable[[str, int], bytes]
    links: Callable[[str], Sequence[str]]


def _word(far: Dialect, path: str) -> str:
    try:
        return far.read(path, 4096).decode("utf-8", "replace").strip()
    except FileRefused:
        return ""
