"""Writes what a session sees into a recording: what was known of the kernel, then formats and pages as they come."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from events.batch import Batch
from events.chunks import Codec
from events.recorder import RecordingWriter
from kernel.connection import Connection
from kernel.counts import Counts
from kernel.errors import FileRefused
from kernel.recording import FACT_BLOBS
from kernel.session import Armed
from probes.facts_json import facts_to_dict
from probes.plan import Plan
from probes.plan_json import plan_to_dict

_FLUSH_EVERY = 1.0
"""Seconds."""
_TEXT_SYMBOLS = frozenset(b"tTwW")
"""Types of kallsyms that a probe or a return address can name; data would double the file."""


class Recorder:
    """One recording that is being written; calls may come from any thread. All may raise OSError."""

    def __init__(self, path: Path, connection: Connection) -> None:
        """Write what is known of the kernel, which takes a second or two. Raises OSError, TargetLost."""
        self.path = path
        self._file = path.open("wb")
        self._writer = RecordingWriter(self._file)
        self._plans: list[Plan] = []
        self._lock = threading.RLock()
        self._flushed = time.monotonic()
        self._statics(connection)

    def begin(self, header_page: str, armed: tuple[Armed, ...]) -> None:
        """Write what is armed; pages may follow."""
        if header_page:
            self._writer.blob("header_page", "", header_page.encode())
        for one in armed:
            self.armed(one)

    def armed(self, armed: Armed) -> None:
        """A probe was armed: its formats hold for the pages that follow."""
        with self._lock:
            if self._file.closed:
                return
            for fmt in armed.formats.values():
                self._writer.blob("format", fmt.path, fmt.source.encode())
            if armed.plan not in self._plans:
                self._plans.append(armed.plan)
            self._writer.meta({"plans": [plan_to_dict(plan) for plan in self._plans]})

    def pages(self, batch: Batch) -> None:
        """Add one pass; a cut of the file costs no more than the last second."""
        with self._lock:
            if self._file.closed:
                return
            self._writer.pages(batch)
            if time.monotonic() - self._flushed > _FLUSH_EVERY:
                self._flushed = time.monotonic()
                self._writer.flush()
                self._file.flush()

    def close(self, cmdlines: Mapping[int, str], counts: Counts | None) -> None:
        """Finish it with what is known at the end."""
        names = "".join(f"{pid} {comm}\n" for pid, comm in sorted(cmdlines.items()))
        with self._lock:
            self._writer.blob("cmdlines", "", names.encode("utf-8", "surrogateescape"))
            if counts is not None:
                self._writer.meta({"counts": dataclasses.asdict(counts)})
            self._writer.close()
            self._file.close()

    def abandon(self) -> None:
        """Leave it as it is: it can't be written to any more."""
        with self._lock, contextlib.suppress(OSError):
            self._file.close()

    def _statics(self, connection: Connection) -> None:
        facts = connection.facts
        self._writer.meta({"facts": facts_to_dict(facts), "byteorder": facts.byteorder})
        big = ("\n".join(facts.functions), "\n".join(sorted(facts.blacklist)), facts.readme)
        for name, text in zip(FACT_BLOBS, big, strict=True):
            self._writer.blob("facts", name, text.encode())
        with contextlib.suppress(FileRefused):
            self._writer.blob("btf", "", connection.target.btf())
        with contextlib.suppress(FileRefused):
            self._writer.blob("symbols", "", _text_symbols(connection.target.read("/proc/kallsyms")), Codec.XZ)


def _text_symbols(kallsyms: bytes) -> bytes:
    """Lines of kallsyms whose symbol is code."""
    lines = kallsyms.splitlines(keepends=True)
    return b"".join(line for line in lines if (words := line.split(None, 2)) and words[1][0] in _TEXT_SYMBOLS)
