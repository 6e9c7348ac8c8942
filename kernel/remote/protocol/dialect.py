"""Define the interface of a dialect, which agent and shell have in common, and a connection by one."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from kernel.errors import FileRefused
from kernel.target import BpfAnswer, BpfPart, Step, Stream
from probes.facts.facts import Trouble


class RemoteDialect(Protocol):
    """Process on the remote host that reads and writes files there. Raises as `kernel.target.Target` does."""

    @property
    def pid(self) -> int: ...
    @property
    def last_received(self) -> float:
        """Time of the last byte from the remote host, by time.monotonic()."""

    @property
    def unanswered(self) -> float | None:
        """Time at which the oldest unanswered request was sent, by time.monotonic(); None: there is none."""

    @property
    def loss(self) -> str:
        """Reason why the connection is lost; empty: it works."""

    def lose(self, reason: str) -> None:
        """Give up the connection for a reason: callers waiting for an answer or for events get TargetLost soon."""

    def set_deadline(self, ends: float) -> None:
        """Set the end of the command: from `ends` (time.monotonic()) on, wait for a silent remote host for
        `kernel.remote.answer_limit.ENDING_LIMIT` seconds only.
        """

    def read(self, path: str, limit: int, offset: int = 0) -> bytes: ...
    def ahead(self, paths: Sequence[str]) -> Mapping[str, bytes | FileRefused]:
        """Read many files in one round trip; empty if the dialect can't."""

    def perform(self, step: Step) -> None: ...
    def list(self, path: str) -> Sequence[str]: ...
    def links(self, path: str) -> Sequence[str]:
        """Return the targets of the symbolic links in a folder."""

    def folder_inodes(self, path: str) -> Sequence[tuple[int, str]]: ...
    def guard(self, undo: Step) -> None: ...
    def unguard(self, undo: Step) -> None: ...
    def hold(self, path: str) -> None: ...
    def bpf(self, command: int, attributes: bytes, parts: Sequence[BpfPart]) -> BpfAnswer: ...
    def close_bpf(self, files: Sequence[int]) -> None: ...
    def stream(self, instance: str) -> Stream: ...
    def stream_pids(self) -> Sequence[int]:
        """Return the processes, besides the dialect's own, which read for us."""

    def close(self) -> None:
        """Undo guarded steps, end the remote process and its connection. Safe to call twice."""


class RemoteConnection(NamedTuple):
    """A connection to a remote host on which the agent or shell runs."""

    dialect: RemoteDialect
    access: str
    """Short description: `agent`, `sh over sudo`."""
    troubles: tuple[Trouble, ...] = ()
    hang_up: Callable[[], None] = lambda: None
    """Ends the ssh process of the connection; safe to call twice."""
    session: Callable[[str], subprocess.Popen[bytes]] | None = None
    """Starts a command of a shell over the same connection; None: it can't."""


Connector = Callable[[threading.Event | None, bool], RemoteConnection]
"""Makes a new connection; arguments: an event that cancels, and whether ssh may prompt at the terminal. Raises
TargetUnusable.
"""
