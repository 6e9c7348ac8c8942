"""Write a recording of a session: kernel facts at first, then formats and ring-buffer pages as they arrive."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Set
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from events.batch import Batch
from events.format import EventFormat, HeaderPage
from events.loss_counts import LossCounts
from events.losses import UNKNOWN_TASK, NewestTask
from events.recording.chunks import Codec
from events.recording.writer import NEWEST_TASK, STACKS, RecordingWriter, boot_name
from events.store.cgroups import TaskCgroup, pack
from events.store.outage_mark import Outage, outage_of_batch
from events.subbuffer import events_in
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import FileRefused
from kernel.recording.target import FACT_BLOBS
from kernel.safe_files.new_file import create_or_device
from kernel.session.armed import Armed
from probes.facts.json_values import facts_to_dict
from probes.plans.json_values import plan_to_dict
from probes.plans.plan import Plan

CUTS = "cuts"
"""Key of the disconnects in the meta values of a recording: readers that build columns need them in advance."""
_FLUSH_EVERY = 1.0
"""Seconds between two flushes of the file."""
MOST_WAITING = 64 << 20
"""Bytes of events that may wait to be written; events beyond are dropped and counted."""
_BACKLOG_DIVISOR = 8
"""Divisor: if more than this part of them waits, events are written uncompressed."""
_MOST_UNREAD_TASKS = 16
"""Newest task ids that are waited for; of a container's kernel none is ever known."""
_TEXT_SYMBOLS = frozenset(b"tTwW")
"""Symbol types of kallsyms that probes and return addresses use."""


class Recorder:
    """A recording being written, events by a thread of its own from `start` on; from `begin` on they wait for it.

    All methods may raise OSError, possibly of an earlier write.
    """

    def __init__(self, path: Path, most_waiting: int = MOST_WAITING) -> None:
        """Make the file; `most_waiting` bytes of events may wait. Raises OSError; no file is left then."""
        self.path = path
        self.dropped = 0
        """Events dropped because they arrived faster than they could be written."""
        self.dropped_bytes = 0
        """Bytes of the dropped sub-buffers, or of their text."""
        self._file = create_or_device(path)
        self._writer = RecordingWriter(self._file)
        self._header = HeaderPage()
        self._plans: list[Plan] = []
        self._flushed = time.monotonic()
        self._work: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        """Writes for the thread, in their order; None: the end."""
        self._names: Mapping[int, str] = {}
        """Names of tasks that are in the file, or on their way."""
        self._name_blobs = 0
        self._stack_carriers: frozenset[str] = frozenset()
        self._named_boots: set[int] = set()
        """Boots whose symbols are in the file."""
        self._lock = threading.Lock()
        self._most_waiting = most_waiting
        self._waiting = 0
        """Bytes in the queue."""
        self._after_gap = False
        self._outages: list[Outage] = []
        self._newest_tasks: dict[int, NewestTask] = {}
        """Newest tasks whose ids are not in the file, by number; a worker reads them from the kernel."""
        self._newest_task_count = 0
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._run, name=f"record {path.name}", daemon=True)

    def write_kernel(self, info: KernelInfo) -> None:
        """Write facts, types and symbols, which takes seconds. Not from `start` on.

        Raises OSError, TargetLost; no file is left then.
        """
        with self._or_no_file():
            self._statics(info)

    def begin(
        self,
        header: HeaderPage,
        armed: tuple[Armed, ...],
        formats: Mapping[int, EventFormat] = MappingProxyType({}),
        meta: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Write the armed probes, the formats of other expected events, and values for `meta`; accept pages.

        Raises OSError; no file is left then.
        """
        self._header = header
        with self._or_no_file():
            if header.source:
                self._writer.blob("header_page", "", header.source.encode())
            if meta:
                self._writer.meta(meta)
            self._write_formats(formats)
            for probe in armed:
                self._write_armed(probe)

    def start(self) -> None:
        """Start to write the pages that wait, and those that come."""
        self._thread.start()

    @contextlib.contextmanager
    def _or_no_file(self) -> Iterator[None]:
        """Delete the file if starting it fails: else it would block the next recording."""
        try:
            yield
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Delete the file of a recording that has not begun."""
        with contextlib.suppress(OSError):  # data that could not be written can't be flushed either
            self._file.close()
        if self.path.is_file():  # no device
            self.path.unlink()

    def armed(self, armed: Armed) -> None:
        """Record a newly armed probe: its formats apply to the following pages."""
        self._check()
        self._work.put(partial(self._write_armed, armed))

    def stacks(self, paths: Set[str]) -> None:
        """Record the paths of events behind which a trigger records stacks; earlier ones stay."""
        if not paths <= self._stack_carriers:
            self._stack_carriers |= paths
            self._work.put(partial(self._writer.meta, {STACKS: sorted(self._stack_carriers)}))

    def names(self, names: Mapping[int, str]) -> None:
        """Record the names of all known tasks, of which only new ones are written. Raises OSError."""
        self._check()
        new = {pid: name for pid, name in names.items() if self._names.get(pid) != name}
        self._names = names
        if new:
            self._work.put(partial(self._write_names, new))

    def symbols(self, info: KernelInfo) -> None:
        """Record the symbols of the present boot, once. Raises TargetLost."""
        self._check()
        for kind, boot, data in self._missing_symbols(info):
            self._work.put(partial(self._writer.blob, kind, boot_name(boot), data))

    def formats(self, formats: Mapping[int, EventFormat]) -> None:
        """Record formats that apply to the following pages."""
        self._check()
        self._work.put(partial(self._write_formats, formats))

    def pages(self, batch: Batch) -> None:
        """Queue a batch; a truncated file loses no more than the last second. Never waits for the disk."""
        self._check()
        size = sum(len(chunk.data) for chunk in batch.chunks)
        with self._lock:
            room = min(self._most_waiting, MOST_WAITING) - self._waiting
            # A mark describes all data after it, so it is never dropped.
            if size > room and not batch.booted and outage_of_batch(batch) is None:
                self.dropped += sum(events_in(chunk, self._header) for chunk in batch.chunks)
                self.dropped_bytes += size
                self._after_gap = True
                return
            self._waiting += size
        if self._after_gap and batch.newest_task is None:  # which is no event after the gap
            self._after_gap = False
            batch = batch._replace(after_gap=True, changed=False)
        self._work.put(partial(self._write_pages, batch))

    def close(
        self,
        cmdlines: Mapping[int, str],
        counts: LossCounts | None,
        cgroups: Mapping[int, TaskCgroup] = MappingProxyType({}),
        meta: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Finish the file with the waiting batches and the final state: names, losses, cgroups, values of `meta`."""
        self._end()
        with self._file:
            self._check()
            if meta:
                self._writer.meta(meta)
            self._writer.blob("cgroups", "", pack(cgroups))
            self._write_end(cmdlines, counts)

    def _write_end(self, cmdlines: Mapping[int, str], counts: LossCounts | None) -> None:
        self._write_newest_tasks()
        self._writer.blob("cmdlines", "", _cmdlines(cmdlines))
        if counts is not None:
            dropped = counts.dropped + self.dropped, counts.dropped_bytes + self.dropped_bytes
            total = dataclasses.replace(counts, dropped=dropped[0], dropped_bytes=dropped[1])
            self._writer.meta({"counts": dataclasses.asdict(total)})
        self._writer.close()

    def abandon(self) -> None:
        """Close the file as it is, after a write error."""
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
        while (write := self._work.get()) is not None:
            try:
                write()
            except OSError as error:
                self._error = error
                return
            except Exception as error:  # the thread ends then, reported as a disk error
                self._error = OSError(
                    errno.EIO, f"received events can't be written ({type(error).__name__}: {error})"
                )
                self._error.__cause__ = error
                return

    def _write_pages(self, batch: Batch) -> None:
        if (outage := outage_of_batch(batch)) is not None:
            self._outages.append(outage)
            self._writer.meta({CUTS: [outage._asdict() for outage in self._outages]})
        # A backlog means that events arrive faster than they can be compressed: a larger file is better than a gap in
        # it.
        if batch.newest_task is not None:
            self._newest_tasks[self._newest_task_count] = batch.newest_task
            self._newest_task_count += 1
        self._writer.pages(batch, Codec.NONE if self._waiting > self._most_waiting // _BACKLOG_DIVISOR else None)
        with self._lock:
            self._waiting -= sum(len(chunk.data) for chunk in batch.chunks)
        if time.monotonic() - self._flushed > _FLUSH_EVERY:
            self._flushed = time.monotonic()
            self._write_newest_tasks()
            self._writer.flush()
            self._file.flush()

    def _write_newest_tasks(self) -> None:
        """Write the newest task ids that have been read meanwhile."""
        for number, newest in list(self._newest_tasks.items()):
            if newest.id != UNKNOWN_TASK:
                self._writer.blob(NEWEST_TASK, str(number), str(newest.id).encode())
            if newest.id != UNKNOWN_TASK or number < self._newest_task_count - _MOST_UNREAD_TASKS:
                del self._newest_tasks[number]

    def _write_armed(self, armed: Armed) -> None:
        self._write_formats(armed.formats)
        # Plans with equal events are one plan, with the present filter.
        events = _events(armed.plan)
        index = next((number for number, plan in enumerate(self._plans) if _events(plan) == events), None)
        if index is None:
            self._plans.append(armed.plan)
        else:
            self._plans[index] = armed.plan
        self._writer.meta({"plans": [plan_to_dict(plan) for plan in self._plans]})

    def _write_names(self, names: Mapping[int, str]) -> None:
        self._name_blobs += 1
        self._writer.blob("cmdlines", str(self._name_blobs), _cmdlines(names))
        self._file.flush()

    def _write_formats(self, formats: Mapping[int, EventFormat]) -> None:
        for fmt in formats.values():
            self._writer.blob("format", fmt.path, fmt.source.encode())

    def _statics(self, info: KernelInfo) -> None:
        facts = info.facts
        self._writer.meta({"facts": facts_to_dict(facts), "byteorder": facts.byteorder})
        texts = ("\n".join(facts.functions), "\n".join(sorted(facts.blacklist)), facts.readme)
        for name, text in zip(FACT_BLOBS, texts, strict=True):
            self._writer.blob("facts", name, text.encode())
        with contextlib.suppress(FileRefused):
            self._writer.blob("btf", "", info.target.btf())
        for kind, boot, data in self._missing_symbols(info):
            self._writer.blob(kind, boot_name(boot), data)

    def _missing_symbols(self, info: KernelInfo) -> Iterator[tuple[str, int, bytes]]:
        """Read the symbols of the present boot, and those that a recording has of others, which are not written;
        yield the functions of each boot, and the variables, each with their kind of blob.
        """
        for boot in sorted({info.symbols.boot, *info.symbols.recorded_boots} - self._named_boots):
            data = None
            with contextlib.suppress(FileRefused):
                data = info.symbols.kallsyms(boot)
            self._named_boots.add(boot)
            if data is not None:
                yield "symbols", boot, _text_symbols(data)
                yield "variables", boot, _variables(data)


def _events(plan: Plan) -> list[tuple[str, tuple[str, ...]]]:
    """Return the events as created, without their filters."""
    return [(event.path, event.lines) for event in plan.events]


def _cmdlines(names: Mapping[int, str]) -> bytes:
    """Return names of tasks as in saved_cmdlines."""
    lines = (f"{pid} {comm}\n" for pid, comm in sorted(names.items()))
    return "".join(lines).encode("utf-8", "surrogateescape")


def _text_symbols(kallsyms: bytes) -> bytes:
    """Return the lines of kallsyms whose symbol is code."""
    lines = kallsyms.splitlines(keepends=True)
    return b"".join(line for line in lines if (words := line.split(None, 2)) and words[1][0] in _TEXT_SYMBOLS)


def _variables(kallsyms: bytes) -> bytes:
    """Return the other lines of kallsyms: what pointers point to."""
    lines = kallsyms.splitlines(keepends=True)
    return b"".join(line for line in lines if (words := line.split(None, 2)) and words[1][0] not in _TEXT_SYMBOLS)
