"""The one seam to a kernel: files there, and a stream of its ring buffer.

Four kinds stand behind it: `kernel.local.target`, `kernel.remote.connect`, `kernel.lab` (reached as ssh) and
`kernel.recording.target`. Paths are absolute paths of the target. Every call may raise `FileRefused` (the call failed
there) or `TargetLost`. All calls are safe from any one thread at a time; `Stream.read` is for the pump's thread.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from events.batch import Batch
from probes.facts.facts import TargetFacts


class Effect(enum.StrEnum):
    """What a `Step` does."""

    WRITE = "write"
    """open(O_WRONLY | O_TRUNC), one write."""
    APPEND = "append"
    """open(O_WRONLY | O_APPEND), one write."""
    MKDIR = "mkdir"
    RMDIR = "rmdir"
    UNLINK = "unlink"
    """Of a journal (`kernel.agent.journal`)."""


class Step(NamedTuple):
    """One effect on the target, or the undo of one; a value, so that a far side can keep it for us."""

    effect: Effect
    path: str
    data: bytes = b""
    expects: bytes = b""
    """Of an undo, where others may change the file too: what the file says as long as nobody has
    (`kernel.agent.journal.is_untouched`); it is left alone else. Empty: it is carried out whatever the file says."""


class Stream(Protocol):
    """The ring buffers of one trace instance."""

    def read(self, timeout: float) -> Batch | None:
        """Wait up to `timeout` seconds for data; None: nothing came. Raises TargetLost, StreamClosed."""

    def close(self) -> None:
        """Stop reading; safe to call twice and from another thread."""


class Target(Protocol):
    """A kernel that probes can be built for; see the module."""

    @property
    def name(self) -> str:
        """What the user calls it: `local`, `ssh://host`, `lab:7.2`, a file name."""

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel that runs and not a recording of one; the far side is not asked."""

    @property
    def owner(self) -> str:
        """`PID_STARTTIME` of the process on that kernel which holds our effects (starttime: field 22 of
        /proc/PID/stat, in base 36); names the session's group and instance. Empty: no effects possible.
        Raises TargetLost.
        """

    def facts(self) -> TargetFacts:
        """Look at the kernel (once; later calls give the same value)."""

    def btf(self, module: str | None = None) -> bytes:
        """Raw BTF of the kernel, or the split BTF of a loaded module. Raises FileRefused where there is none."""

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        """Whole content of a file from `offset` on, up to `limit` bytes."""

    def perform(self, step: Step) -> None:
        """Carry out one effect."""

    def list(self, path: str) -> Sequence[str]:
        """Names in a folder, sorted."""

    def guard(self, undo: Step) -> None:
        """Have the far side do `undo` by itself, newest first, when we vanish. No-op where we are the near side."""

    def unguard(self, undo: Step) -> None:
        """Take one guarded step back (the newest equal one)."""

    def hold(self, path: str) -> None:
        """Keep a file open: an instance that is held cannot be removed by anyone.

        It ends with close(), or when we ourselves remove a folder above it (`Effect.RMDIR` lets go of it first).
        """

    def our_pids(self) -> Sequence[int]:
        """Processes of that kernel that exist for us alone and must not feed their own events."""

    def stream(self, instance: str) -> Stream:
        """The ring buffers of the trace instance at path `instance`."""

    def close(self) -> None:
        """Let go; what is guarded is undone on the far side. Safe to call twice."""
