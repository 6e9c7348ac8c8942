"""Writes what a session sees into a recording: what was known of the kernel, then formats and pages as they come."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from events.batch import Batch
from events.format import EventFormat, HeaderPage
from events.recording.chunks import Codec
from events.recording.writer import RecordingWriter
from events.store.cgroups import TaskCgroup, pack
from events.store.outage_mark import Outage, cut_of
from events.subbuffer import events_in
from kernel.connection.planner import Connection
from kernel.errors import FileRefused
from kernel.guards.loss_counts import LossCounts
from kernel.recording.target import FACT_BLOBS
from kernel.safe_files.new_file import create_or_device
from kernel.session.session import Armed
from probes.facts.json_values import facts_to_dict
from probes.plans.json_values import plan_to_dict
from probes.plans.plan import Plan

CUTS = "cuts"
"""Key of the cuts of the line in the meta values of a recording: what has columns wants to know them ahead."""
_FLUSH_EVERY = 1.0
"""Seconds."""
MOST_WAITING = 64 << 20
"""Bytes of events that may wait to be written; what comes then is dropped, and counted."""
_HURRY = 8
"""Part of them that waits, from which on events are written as they are."""
_TEXT_SYMBOLS = frozenset(b"tTwW")
"""Types of kallsyms that a probe or a return address can name; data would double the file."""


class Recorder:
    """One recording that is being written, events by a thread of its own.

    All may raise OSError, which may be that of something written before.
    """

    def __init__(self, path: Path, connection: Connection, most_waiting: int = MOST_WAITING) -> None:
        """Write what is known of the kernel, which takes a second or two; `most_waiting` bytes of events may wait.

        Raises OSError, TargetLost; no file is left then.
        """
        self.path = path
        self.dropped = 0
        """Events that came faster than they could be written."""
        self.dropped_bytes = 0
        """Bytes of their sub-buffers, or of their text."""
        self._file = create_or_device(path)
        self._writer = RecordingWriter(self._file)
        self._header = HeaderPage()
        self._plans: list[Plan] = []
        self._flushed = time.monotonic()
        self._work: queue.SimpleQueue[Batch | Armed | Mapping[int, EventFormat] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._most_waiting = most_waiting
        self._waiting = 0
        """Bytes in the queue."""
        self._after_gap = False
        self._cuts: list[Outage] = []
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._run, name=f"record {path.name}", daemon=True)
        with self._or_no_file():
            self._statics(connection)

    def begin(
        self,
        header: HeaderPage,
        armed: tuple[Armed, ...],
        formats: Mapping[int, EventFormat] = MappingProxyType({}),
        meta: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Write what is armed, the formats of what else may come, and values for `meta`; pages may follow.

        Raises OSError; no file is left then.
        """
        self._header = header
        with self._or_no_file():
            if header.source:
                self._writer.blob("header_page", "", header.source.encode())
            if meta:
                self._writer.meta(meta)
            self._write_formats(formats)
            for one in armed:
                self._write_armed(one)
            self._thread.start()

    @contextlib.contextmanager
    def _or_no_file(self) -> Iterator[None]:
        """One that could not be begun is taken away: it would only be in the way of the next one."""
        try:
            yield
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Take the file away, of a recording that is not begun."""
        with contextlib.suppress(OSError):  # what could not be written can't be flushed either
            self._file.close()
        if self.path.is_file():  # no device
            self.path.unlink()

    def armed(self, armed: Armed) -> None:
        """A probe was armed: its formats hold for the pages that follow."""
        self._check()
        self._work.put(armed)

    def formats(self, formats: Mapping[int, EventFormat]) -> None:
        """Formats that hold for the pages that follow."""
        self._check()
        self._work.put(formats)

    def pages(self, batch: Batch) -> None:
        """Add one pass; a cut of the file costs no more than the last second. Never waits for the disk."""
        self._check()
        size = sum(len(chunk.data) for chunk in batch.chunks)
        with self._lock:
            room = min(self._most_waiting, MOST_WAITING) - self._waiting
            # What a mark says holds of all that comes behind it.
            if size > room and not batch.booted and cut_of(batch) is None:
                self.dropped += sum(events_in(chunk, self._header) for chunk in batch.chunks)
                self.dropped_bytes += size
                self._after_gap = True
                return
            self._waiting += size
        if self._after_gap:
            self._after_gap = False
            batch = batch._replace(after_gap=True, changed=False)
        self._work.put(batch)

    def close(
        self,
        cmdlines: Mapping[int, str],
        counts: LossCounts | None,
        homes: Mapping[int, TaskCgroup] = MappingProxyType({}),
        meta: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Finish it with what waits and what is known at the end: names, losses, cgroups, values of `meta`."""
        self._end()
        with self._file:
            self._check()
            if meta:
                self._writer.meta(meta)
            self._writer.blob("cgroups", "", pack(homes))
            self._write_end(cmdlines, counts)

    def _write_end(self, cmdlines: Mapping[int, str], counts: LossCounts | None) -> None:
        names = "".join(f"{pid} {comm}\n" for pid, comm in sorted(cmdlines.items()))
        self._writer.blob("cmdlines", "", names.encode("utf-8", "surrogateescape"))
        if counts is not None:
            dropped = counts.dropped + self.dropped, counts.dropped_bytes + self.dropped_bytes
            both = dataclasses.replace(counts, dropped=dropped[0], dropped_bytes=dropped[1])
            self._writer.meta({"counts": dataclasses.asdict(both)})
        self._writer.close()

    def abandon(self) -> None:
        """Leave it as it is: it can't be written to any more."""
        self._end()
        with contextlib.suppress(OSError):
            self._file.close()

    def _end(self) -> None:
        self._work.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while (entry := self._work.get()) is not None:
            try:
                if isinstance(entry, Batch):
                    self._write_pages(entry)
                elif isinstance(entry, Armed):
                    self._write_armed(entry)
                else:
                    self._write_formats(entry)
            except OSError as error:
                self._error = error
                return
            except Exception as error:  # nobody writes any more then, which is told as of a disk
                self._error = OSError(errno.EIO, f"what came can't be written ({type(error).__name__}: {error})")
                self._error.__cause__ = error
                return

    def _write_pages(self, batch: Batch) -> None:
        if (cut := cut_of(batch)) is not None:
            self._cuts.append(cut)
            self._writer.meta({CUTS: [cut._asdict() for cut in self._cuts]})
        # What waits comes faster than it can be packed: a larger file is better than a gap in it.
        self._writer.pages(batch, Codec.NONE if self._waiting > self._most_waiting // _HURRY else None)
        with self._lock:
            self._waiting -= sum(len(chunk.data) for chunk in batch.chunks)
        if time.monotonic() - self._flushed > _FLUSH_EVERY:
            self._flushed = time.monotonic()
            self._writer.flush()
            self._file.flush()

    def _write_armed(self, armed: Armed) -> None:
        self._write_formats(armed.formats)
        # Of the same events there is one plan: with the filter that holds now.
        events = _events(armed.plan)
        same = next((number for number, plan in enumerate(self._plans) if _events(plan) == events), None)
        if same is None:
            self._plans.append(armed.plan)
        else:
            self._plans[same] = armed.plan
        self._writer.meta({"plans": [plan_to_dict(plan) for plan in self._plans]})

    def _write_formats(self, formats: Mapping[int, EventFormat]) -> None:
        for fmt in formats.values():
            self._writer.blob("format", fmt.path, fmt.source.encode())

    def _statics(self, connection: Connection) -> None:
        facts = connection.facts
        self._writer.meta({"facts": facts_to_dict(facts), "byteorder": facts.byteorder})
        big = ("\n".join(facts.functions), "\n".join(sorted(facts.blacklist)), facts.readme)
        for name, text in zip(FACT_BLOBS, big, strict=True):
            self._writer.blob("facts", name, text.encode())
        with contextlib.suppress(FileRefused):
            self._writer.blob("btf", "", connection.target.btf())
        with contextlib.suppress(FileRefused):
            self._writer.blob("symbols", "", _text_symbols(connection.target.read("/proc/kallsyms")))


def _events(plan: Plan) -> list[tuple[str, tuple[str, ...]]]:
    """Its events as they were made, which a filter does not change."""
    return [(event.path, event.lines) for event in plan.events]


def _text_symbols(kallsyms: bytes) -> bytes:
    """Lines of kallsyms whose symbol is code."""
    lines = kallsyms.splitlines(keepends=True)
    return b"".join(line for line in lines if (words := line.split(None, 2)) and words[1][0] in _TEXT_SYMBOLS)
