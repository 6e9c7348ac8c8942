"""Define the interface of a target: files of its kernel, and a stream of its ring buffer.

It has four implementations: `kernel.local.target`, `kernel.remote.connect`, `kernel.lab` (reached by ssh) and
`kernel.recording.target`. Paths are absolute paths of the target. Every call may raise `FileRefused` (the call failed
there) or `TargetLost`. All calls are safe from any one thread at a time; `Stream.read` is for the pump's thread.
"""

from __future__ import annotations

import enum
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from events.batch import Batch
from events.bpf_layout import RECORD_DATA, SAMPLE_BYTES
from probes.facts.facts import TargetFacts

if TYPE_CHECKING:
    from events.recording.reader import Recording
    from probes.plans.sampled_number import SampledNumber


class Effect(enum.StrEnum):
    """Kind of a `Step`."""

    WRITE = "write"
    """open(O_WRONLY | O_TRUNC), one write."""
    APPEND = "append"
    """open(O_WRONLY | O_APPEND), one write."""
    MKDIR = "mkdir"
    RMDIR = "rmdir"
    UNLINK = "unlink"
    """Removal of a journal (`kernel.agent.journal`)."""
    REGISTER = "register"
    """Registration of an event of programs through the file, held until its release (`kernel.agent.user_events`)."""
    RELEASE = "release"
    """Release of such a registration, by the path and data that made it."""
    WRITE_EVENT = "write_event"
    """One event of programs: its definition, a NUL, and the bytes of its fields."""


class Step(NamedTuple):
    """An effect on the target, or its undo; a plain value, so that a remote agent can store it."""

    effect: Effect
    path: str
    data: bytes = b""
    expects: bytes = b""
    """Content of the file as long as only we have changed it, for an undo where others may change it too: if it
    differs, the undo is skipped (`kernel.agent.journal.is_untouched`). Empty: undo without comparing.
    """


class BpfPart(NamedTuple):
    """Memory that the attributes of a call of bpf(2) point to."""

    offset: int
    """Bytes of the pointer from the beginning of the attributes."""
    data: bytes
    kind: bytes = b""
    """PLAIN or another kind of `kernel.agent.bpf_calls`, which says what `data` is."""


class BpfAnswer(NamedTuple):
    """Result of a call of bpf(2)."""

    result: int
    """File descriptor on the target, or 0; below 0: an errno."""
    returned: tuple[bytes, ...] = ()
    """Contents of the parts that the kernel may fill."""


class RingMap(NamedTuple):
    """BPF ring buffer of one CPU."""

    cpu: int
    fd: int
    """File descriptor on the target; 0 for samples, which have none."""
    size: int
    """Bytes of its data."""


class RecordForm(NamedTuple):
    """Form of the records of a ring or perf buffer that others fill, of any length."""

    payload: int
    """Bytes of a record that are kept; shorter ones get zeros."""
    id: int
    """Id of their event."""
    pid: int = -1
    """Offset of a thread id in them (u32); below 0: they have none."""
    comm: int = -1
    """Offset of a thread's name of 16 bytes; below 0: they have none."""
    stamp: int = -1
    """Offset of their time (u64, ns of CLOCK_MONOTONIC); below 0: it is that of their reading."""
    is_perf: bool = False
    """True for the perf buffer of a CPU, whose records the kernel gives thread and time."""

    @property
    def size(self) -> int:
        """Bytes of a record with its head (`events.bpf_layout`)."""
        return -(-(RECORD_DATA + self.payload) // 8) * 8

    @property
    def text(self) -> bytes:
        """Text for `kernel.agent.object_rings`."""
        return ",".join(str(int(one)) for one in self).encode()


class SampleForm(NamedTuple):
    """Form of the samples of a number, which a thread of the reader takes: there is no buffer of the kernel."""

    number: SampledNumber
    id: int
    """Id of their event."""
    bases: tuple[int, ...] = ()
    """Addresses of a number in memory, which are added up."""

    @property
    def size(self) -> int:
        """Bytes of a record with its head (`events.bpf_layout`)."""
        return SAMPLE_BYTES

    @property
    def text(self) -> bytes:
        """Text for `kernel.agent.sampler`."""
        one = self.number
        words: list[object] = [one.every_us * 1000, self.id, one.value_size, int(one.signed), int(one.has_delta)]
        if one.file is None:
            lists = (",".join(map(str, numbers)) for numbers in (self.bases, one.steps))
            words += ["memory", *lists, one.size, int(one.signed)]
        else:
            path, key = (os.fsencode(text).hex() for text in (one.file.path, one.file.key))
            words += ["file", path, key, one.file.column, one.scale]
        return " ".join(map(str, words)).encode()


AnyRecord = int | RecordForm | SampleForm
"""Bytes of each record of a ring buffer, or the form of other records."""


def record_text(record: AnyRecord) -> bytes:
    """Return the bytes of each record, or their form, as the readers take it."""
    return b"%d" % record if isinstance(record, int) else record.text


def record_place(record: AnyRecord) -> str:
    """Return the file that records come from, for messages."""
    if not isinstance(record, SampleForm):
        return "BPF ring buffer"
    return record.number.file.path if record.number.file is not None else "/proc/kcore"


class Stream(Protocol):
    """Reader of the ring buffers of one trace instance, and of BPF ring buffers beside them."""

    def read(self, timeout: float) -> Batch | None:
        """Wait up to `timeout` seconds for data; None: timeout. Raises TargetLost, StreamClosed."""

    def require_answer(self) -> bool:
        """Let the reads that begin from now on return None only once a remote host has looked into its buffers again.

        Returns False where None always means that they are empty, or nobody can be asked.
        """

    def add_rings(self, number: int, record: AnyRecord, maps: Sequence[RingMap]) -> None:
        """Read BPF ring buffers too, whose chunks get a number (`Chunk.ring`). Raises FileRefused, TargetLost.

        `record`: bytes of each of their records, or the form of records that are not ours, or of samples.
        """

    def remove_rings(self, number: int) -> None:
        """Read the BPF ring buffers of a number no more. Raises FileRefused, TargetLost."""

    def close(self) -> None:
        """Stop reading; safe to call twice and from another thread."""


class TargetKind(enum.Enum):
    """Place of a target's files."""

    LOCAL = "local"
    """Machine that this program runs on."""
    REMOTE = "remote"
    """A remote host, or a guest."""
    SAVED = "saved"
    """Files of a kernel that does not run here: a recording, or saved facts."""


class RemoteLink(Protocol):
    """Connection to a remote host, which may be lost and made again."""

    @property
    def last_received(self) -> float:
        """Time of the last byte from the remote host, by time.monotonic()."""

    @property
    def can_reconnect(self) -> bool:
        """True if a reconnect is possible after a disconnect."""

    @property
    def has_ended(self) -> bool:
        """True once the remote machine has ended, and with it all effects on its kernel."""

    def lose(self, reason: str) -> None:
        """Give up the connection, and one being made, for a reason: both count as lost then."""

    def reconnect(self, cancel: threading.Event | None = None, *, asking: bool = False) -> bool:
        """Reconnect after a disconnect; return whether the remote host was rebooted meanwhile.

        `cancel` gives up when it is set; `asking`: ssh may prompt at the terminal. Raises TargetUnusable, TargetLost.
        """


class Target(Protocol):
    """A kernel that probes can be built for; see the module."""

    @property
    def name(self) -> str:
        """The user's name of the target: `local`, `ssh://host`, `lab:7.2`, a file name."""

    @property
    def is_kernel(self) -> bool:
        """True for a running kernel, False for a recording; does not communicate."""

    @property
    def kind(self) -> TargetKind:
        """Place of its files; does not communicate."""

    @property
    def recording(self) -> Recording | None:
        """The recording that the target is; None for a kernel, and for saved facts."""

    @property
    def link(self) -> RemoteLink | None:
        """Connection to the remote host, as far as it is ours to give up and to make again; None: there is none."""

    @property
    def owner(self) -> str:
        """`PID_STARTTIME` of the process on that kernel which holds our effects (starttime: field 22 of
        /proc/PID/stat, in base 36); names the session's group and instance. Empty: no effects possible. Raises
        TargetLost.
        """

    def facts(self) -> TargetFacts:
        """Read the facts of the kernel (once; later calls return the same value)."""

    def btf(self, module: str | None = None) -> bytes:
        """Return raw BTF of the kernel, or the split BTF of a loaded module. Raises FileRefused if there is none."""

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        """Return the content of a file from `offset` on, up to `limit` bytes."""

    def file_error(self, path: str) -> str:
        """Return the kernel's error for a file as the place of a uprobe; empty: none, or none is known."""

    def perform(self, step: Step) -> None:
        """Carry out one effect."""

    def list(self, path: str) -> Sequence[str]:
        """Return the names in a folder, sorted."""

    def folder_inodes(self, path: str) -> Sequence[tuple[int, str]]:
        """Return inode and path, from `path` on, of the folders below one, some ten thousand.

        Raises FileRefused (ENOSYS: that can't be read there), TargetLost.
        """

    def guard(self, undo: Step) -> None:
        """Register `undo`, to be carried out on the target, newest first, when we vanish. No-op for a local
        target.
        """

    def unguard(self, undo: Step) -> None:
        """Remove one guarded step (the newest equal one)."""

    def hold(self, path: str) -> None:
        """Keep a file open: nobody can remove an instance while one of its files is held.

        It ends with close(), or when we ourselves remove a folder above it (`Effect.RMDIR` releases it first).
        """

    def our_pids(self) -> Sequence[int]:
        """Return the processes of that kernel that exist for us alone and must not produce events of their own."""

    def bpf(self, command: int, attributes: bytes, parts: Sequence[BpfPart] = ()) -> BpfAnswer:
        """Call bpf(2) on that machine (`kernel.agent.bpf_calls`); files that it gives are closed when we vanish.

        Raises FileRefused (ENOSYS: no such call can be made there), TargetLost.
        """

    def close_bpf(self, files: Sequence[int]) -> None:
        """Close files that `bpf` gave, in this order. Raises TargetLost."""

    def stream(self, instance: str) -> Stream:
        """Open the ring buffers of the trace instance at path `instance`."""

    def close(self) -> None:
        """Close the target; guarded steps are undone on it. Safe to call twice."""
