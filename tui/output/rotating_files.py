"""Write events into a series of files in one folder: each gets its name when complete, and old ones are removed on
request.

    FOLDER/probewright-HOST-20261122T033219Z-PID-1.parquet

A file is created at its first event and finished when it is large or old enough. Until then its name ends in `.part`;
a part left by a killed process, whose lock nobody holds any more, is removed by the next process.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from events.export.catalogue import Format
from events.export.job import prepare
from events.export.source import Writer
from events.record import Record
from foreign.count_text import counted
from tui.output.export_file import ExportFile, ExportRefused
from tui.output.sink import Sink, SinkReport

Begin = Callable[[BinaryIO], Writer]
"""Makes the writer of a file."""
_MOST_NOTES = 20
_MORE = "notes more on what is not in the files"


class Rotation(NamedTuple):
    """Limits of a file, and the number of files to keep."""

    size: int = 64 << 20
    """Bytes of a file; approximate, as some formats hold back rows."""
    age: float = 300.0
    """Seconds since the file's first event."""
    keep: int = 0
    """Newest files of this machine and format to keep; 0: all."""


class RotatingFiles(Sink):
    """Sink that writes a series of files."""

    def __init__(
        self,
        form: Format,
        folder: Path,
        begin: Begin,
        host: str,
        rotation: Rotation = Rotation(),  # noqa: B008 - frozen
    ) -> None:
        """Create the folder.

        Args:
            form: format of the files.
            folder: folder for the files.
            begin: makes the writer of a file.
            host: name of the machine of the events.
            rotation: limits of a file.

        Raises:
            events.export.formats.parquet.NoPyarrow: the format can't be written here.
            OSError, ExportRefused: the folder can't be created, or the path is no folder.
        """
        prepare(form)
        self._form = form
        self._folder = folder
        self._begin = begin
        self._rotation = rotation
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", host) or "unknown"
        self._prefix = f"probewright-{name}-"
        self._events, self._files, self._bytes, self._removed = 0, 0, 0, 0
        self._left_out = 0
        self._notes: dict[str, int] = {}
        """Notes of all files: text without its leading number -> sum of these numbers; 0: the note has none."""
        self._file: ExportFile | None = None
        self._writer: Writer | None = None
        self._due = 0.0
        self._number = 0
        if folder.exists() and not folder.is_dir():
            raise ExportRefused(f"{folder} is no folder")
        folder.mkdir(exist_ok=True)
        self._remove_parts()

    @property
    def omitted(self) -> int:
        return self._left_out

    @property
    def notes(self) -> tuple[str, ...]:
        removed = (
            f"{counted(self._removed, 'older file was', 'older files were')} removed: --keep {self._rotation.keep}"
        )
        notes = (f"{number:,} {text}" if number else text for text, number in self._notes.items())
        return (*notes, *((removed,) if self._removed else ()))

    def take(self, record: Record) -> None:
        if self._writer is None or self._file is None:
            self._open()
        assert self._writer is not None and self._file is not None  # noqa: S101 - as `_open` leaves them
        self._writer.take(record)
        self._events += 1
        if self._file.out.tell() >= self._rotation.size:
            self._close()

    def idle(self) -> None:
        if self._file is not None and time.monotonic() >= self._due:
            self._close()

    def finish(self) -> None:
        if self._file is not None:
            self._close()

    def discard(self) -> None:
        """Keep the complete files, and remove the incomplete one."""
        if self._file is not None:
            self._file.discard()
            self._file = self._writer = None

    def report(self) -> SinkReport:
        return SinkReport(
            f"{self._folder}: {counted(self._events - self._left_out, 'event')} in {counted(self._files, 'file')}",
            {
                "folder": str(self._folder),
                "format": self._form.name,
                "events": self._events - self._left_out,
                "files": self._files,
                "bytes": self._bytes,
            },
        )

    def _open(self) -> None:
        self._number += 1
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        name = f"{self._prefix}{moment}-{os.getpid()}-{self._number}{self._form.suffix}"
        self._file = ExportFile(self._folder / name)
        with contextlib.suppress(OSError):  # the file system has no locks
            fcntl.flock(self._file.out, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._writer = self._begin(self._file.out)
        self._due = time.monotonic() + self._rotation.age

    def _close(self) -> None:
        """Finish the file; after an error it does not get its name."""
        file, writer = self._file, self._writer
        assert file is not None and writer is not None  # noqa: S101 - only called with an open file
        writer.finish()
        file.out.flush()
        os.fsync(file.out.fileno())
        self._bytes += file.out.tell()
        file.keep()
        self._file = self._writer = None
        self._files += 1
        self._left_out += writer.omitted
        for note in writer.notes:
            self._add_note(note)
        if self._rotation.keep:
            self._remove_old()

    def _add_note(self, note: str) -> None:
        found = re.fullmatch(r"(\d[\d,]*) (.+)", note)
        number, text = (int(found[1].replace(",", "")), found[2]) if found else (0, note)
        if text in self._notes or len(self._notes) < _MOST_NOTES:
            self._notes[text] = self._notes.get(text, 0) + number
        else:
            self._notes[_MORE] = self._notes.get(_MORE, 0) + 1

    def _files_of_host(self, ending: str) -> list[Path]:
        """Return regular files of this machine, the oldest first; links and other objects with such a name are
        ignored.
        """
        shape = re.compile(re.escape(self._prefix) + r"(\d{8}T\d{6}Z)-(\d+)-(\d+)" + re.escape(ending))
        found = [(match, path) for path in self._folder.iterdir() if (match := shape.fullmatch(path.name))]
        found = [(match, path) for match, path in found if _is_regular(path)]
        return [path for _, path in sorted(found, key=lambda one: (one[0][1], int(one[0][2]), int(one[0][3])))]

    def _remove_old(self) -> None:
        for path in self._files_of_host(self._form.suffix)[: -self._rotation.keep]:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
                self._removed += 1

    def _remove_parts(self) -> None:
        for path in self._files_of_host(f"{self._form.suffix}.part"):
            with contextlib.suppress(OSError), open(path, "rb", opener=_open_regular) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _open_regular(path: str, flags: int) -> int:
    """Open a file, but no link, and don't block on a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
