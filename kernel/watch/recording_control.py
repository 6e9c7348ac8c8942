"""The recording of a watch, if one is wanted: workers begin and end it, the thread that ticks writes to it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from events.batch import Batch
from events.clocks.boots import task_key
from events.format import EventFormat
from events.loss_counts import LossCounts
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import KernelError
from kernel.session.armed import Armed
from kernel.session.protocol import AnySession
from kernel.watch.event_fields import EventFields
from kernel.watch.recorder import MOST_WAITING, Recorder
from kernel.watch.tasks.cgroup_lookup import CgroupLookup


class Entered(NamedTuple):
    """State under which the next entry is given to a recording."""

    armed: tuple[Armed, ...]
    formats: Mapping[int, EventFormat]
    """Formats by event id."""
    boot: int
    """Number of the boot; see `kernel.symbols.kernel_symbols.KernelSymbols.boot`."""


class RecordingControl:
    """Control of the recording of a watch, one at a time."""

    def __init__(
        self, info: KernelInfo, cgroups: CgroupLookup, known: EventFields, most_waiting: int = MOST_WAITING
    ) -> None:
        """Take what is recorded, and how many bytes may wait for the file."""
        self.recorder: Recorder | None = None
        """Recorder in use; None: nothing is recorded."""
        self.error = ""
        """Why a recording ended by itself; empty: none did."""
        self._info = info
        self._cgroups = cgroups
        self._known = known
        self._ready: Recorder | None = None
        """Recorder that was prepared, and to which nothing is written yet."""
        self._most_waiting = most_waiting
        self._changing = threading.Lock()  # to begin takes seconds, in which another may be asked for
        self._written = 0
        """Number of queued entries that the former recording has already; each recording holds its own formats."""
        self._before: LossCounts | None = None
        """Losses before the recording began."""

    def prepare(self, path: Path) -> None:
        """Begin the file of a recording with what is known of the kernel. Raises OSError, TargetLost."""
        with self._changing:
            self._drop_ready()
            ready = Recorder(path, self._most_waiting)
            ready.write_kernel(self._info)
            self._ready = ready

    def discard(self) -> None:
        """Take away a file that was prepared and not begun."""
        with self._changing:
            self._drop_ready()

    def _drop_ready(self) -> None:
        ready, self._ready = self._ready, None
        if ready is not None:
            ready.discard()

    def begin(
        self,
        path: Path,
        session: AnySession,
        known: Callable[[], AbstractContextManager[Entered]],
        counts: Callable[[], LossCounts | None],
        meta: Mapping[str, Any],
    ) -> None:
        """Record all batches given to `write` from now on; types and symbols go into the file before them, unless it
        was prepared. Raises OSError, TargetLost, KernelError if a recording is written.

        Args:
            path: path of the new file.
            session: session that reads the batches.
            known: holds the armed probes and formats that the next batch was made under; no batch is given inside.
            counts: losses so far.
            meta: values that are known by now.
        """
        with self._changing:
            if self.recorder is not None:
                raise KernelError(f"{self.recorder.path} is being written already")
            self.error = ""
            # What is lost while the file is begun is lost among the events that wait for it; of a recording that is
            # recorded again, all was.
            self._before = None if self._info.holds_events else counts()
            is_ready = self._ready is not None and self._ready.path == path
            if self._ready is not None and is_ready:
                recorder, self._ready = self._ready, None
            else:
                recorder = Recorder(path, self._most_waiting)
            with known() as (armed, formats, boot):
                recorder.begin(session.header, armed, formats, {**meta, **({"boot": boot} if boot else {})})
                recorder.stacks(self._known.with_stacks)
                self.recorder = recorder
            try:
                if not is_ready:
                    recorder.write_kernel(self._info)
            except BaseException:
                self.recorder = None
                raise
            recorder.start()

    def add_symbols(self) -> None:
        """Write the symbols of the present boot, if they are wanted and not written. Raises OSError, TargetLost."""
        recorder = self.recorder
        if recorder is not None:
            recorder.symbols(self._info)

    def write(self, entry: Batch | Mapping[int, EventFormat] | Armed) -> None:
        """Write what came, if it is wanted, and the recording before does not have it."""
        there, self._written = self._written > 0, max(0, self._written - 1)
        if not (there and isinstance(entry, Batch)):
            self._put(entry)

    def _put(self, entry: Batch | Mapping[int, EventFormat] | Armed) -> None:
        recorder = self.recorder  # a worker may end it at any time
        if recorder is None:
            return
        try:
            if isinstance(entry, Batch):
                recorder.pages(entry)
            elif isinstance(entry, Armed):
                recorder.armed(entry)
            else:
                recorder.formats(entry)
            recorder.stacks(self._known.with_stacks)
        except OSError as error:  # a full disk ends the recording, not the watching
            self.error = f"{recorder.path}: {error.strerror}; the recording ends here"
            recorder.abandon()
            self.recorder = None

    def names(self, names: Mapping[int, str]) -> None:
        """Write the names of tasks that are not written yet: a recording that is not ended has them, too."""
        recorder = self.recorder
        if recorder is not None:
            with contextlib.suppress(OSError):  # the next entry reports it
                recorder.names(names)

    def end(
        self,
        session: AnySession | None,
        queued: Callable[[], AbstractContextManager[Sequence[Batch | Mapping[int, EventFormat] | Armed]]],
        counts: Callable[[], LossCounts | None],
        meta: Mapping[str, Any],
        last: Callable[[], Batch | None] = lambda: None,
    ) -> Path | None:
        """Finish it with the last names of a session and its counts; gives its path. Raises OSError.

        Args:
            session: session with the armed probes.
            queued: returns batches that were read and not yet given to `write`; no other thread writes inside.
            counts: losses so far.
            meta: values that are known by now, in the place of those at the beginning.
            last: returns the batch to write behind all events, after the last request to the remote host.
        """
        with self._changing:
            with queued() as entries:
                if self.recorder is not None:
                    for place, entry in enumerate(entries):
                        if place >= self._written or not isinstance(entry, Batch):
                            self._put(entry)
                    self._written = len(entries)
                recorder, self.recorder = self.recorder, None
            if recorder is None:
                return None
            names: dict[int, str] = {}
            with contextlib.suppress(KernelError):  # a lost connection costs the names, no more
                if session is not None:
                    names = session.cmdlines()
                    self._cgroups.look(names)
                    if not self._info.holds_events:
                        names = {task_key(pid, self._info.symbols.boot): name for pid, name in names.items()}
            lost = total.since(self._before) if (total := counts()) is not None else None
            if (mark := last()) is not None:
                recorder.pages(mark)
            recorder.close(names, lost, self._cgroups.cgroups, meta)
            return recorder.path
