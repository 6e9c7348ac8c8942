"""What both dialects of a far side can do, and the target made of one.

The agent (`kernel.wire`) and plain sh (`kernel.shell`) each are a `Dialect`; `FarTarget` adds what needs no
dialect: facts, cached BTF, who we are over there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from kernel import ancestry, btfcache
from kernel.errors import FileRefused
from kernel.facts import gather
from kernel.target import Step, Stream
from probes.facts import TargetFacts, Trouble

_SOON_WANTED = (
    *(f"/proc/self/{name}" for name in ("status", "auxv", "mounts", "uid_map")),
    *(f"/proc/sys/kernel/{name}" for name in ("arch", "osrelease", "version", "ftrace_enabled", "kptr_restrict")),
    *(f"/sys/kernel/{name}" for name in ("cpu_byteorder", "address_bits", "security/lockdown")),
    *(f"/sys/kernel/debug/kprobes/{name}" for name in ("enabled", "blacklist")),
    *(f"/sys/kernel/tracing/{name}" for name in ("README", "available_tracers", "available_filter_functions")),
    "/sys/kernel/tracing/events/header_page",
    "/sys/devices/system/cpu/online",
    "/proc/sys/kernel/random/boot_id",
    "/proc/filesystems",
)
"""What `kernel.facts` reads of most kernels; a path that is missing here costs time only."""


class Dialect(Protocol):
    """One process on the far side that does things to files there. Raises as `kernel.target.Target` does."""

    @property
    def pid(self) -> int: ...
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


class FarTarget:
    """A kernel at the other end of a line; a `kernel.target.Target`."""

    def __init__(
        self,
        dialect: Dialect,
        name: str,
        *,
        how: str = "",
        troubles: tuple[Trouble, ...] = (),
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self._far = dialect
        self._name = name
        self.how = how
        """How it is reached, in a few words: `agent`, `sh over sudo`."""
        self._troubles = troubles
        self._on_close = on_close
        self._owner: str | None = None
        self._facts: TargetFacts | None = None
        self._line: tuple[int, ...] | None = None
        self._ahead: Mapping[str, bytes | FileRefused] = {}
        self._closed = False

    @property
    def name(self) -> str:
        return self._name

    @property
    def owner(self) -> str:
        if self._owner is None:
            self._owner = ancestry.owner(self._far, self._far.pid)
        return self._owner

    def facts(self) -> TargetFacts:
        if self._facts is None:
            self._ahead = self._far.ahead(_SOON_WANTED)
            try:
                facts = gather(self)
            finally:
                self._ahead = {}
            self._facts = dataclasses.replace(facts, troubles=facts.troubles + self._troubles)
        return self._facts

    def btf(self, module: str | None = None) -> bytes:
        return btfcache.fetch(self._far, self._name, module)

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        known = self._ahead.get(path)
        if known is None:
            return self._far.read(path, limit, offset)
        if isinstance(known, FileRefused):
            raise known
        return known[offset : offset + limit]

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
            self._line = ancestry.line(self._far, self._far.pid)
        return (*self._line, *self._far.stream_pids())

    def stream(self, instance: str) -> Stream:
        return self._far.stream(instance)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                self._far.close()
            finally:
                self._on_close()
