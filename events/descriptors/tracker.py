"""Follow the system calls of all tasks, and keep from them which file each descriptor is, as far as that is certain.

A call is seen at its entry and at its exit. Its arguments are those of the entry; a descriptor is there at the exit,
and a closed one is unknown from the entry on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Final, NamedTuple

from events.descriptors.calls import (
    ALWAYS_KEPT,
    AT_FDCWD,
    CLONE_FILES,
    CLOSE_ON_EXEC,
    CLOSE_RANGE_UNSHARE,
    F_DUPFD,
    F_DUPFD_CLOEXEC,
    F_SETFD,
    FIOCLEX,
    FIONCLEX,
    KINDS,
    O_CLOEXEC,
    O_TMPFILE,
    PATHS,
)
from events.descriptors.tables import OpenFile, Table, Tables

_HIGHEST: Final = (1 << 31) - 1
_CUT: Final = "..."
"""End of a text that the kernel shortened (syscall_buf_size of kernel/trace/trace_syscalls.c)."""
_MOST_TASKS: Final = 1 << 16
"""Tasks, and descriptors of theirs, of which much is kept that is older than all rows."""
_COPIES: Final = ("dup", "dup2", "dup3", "fcntl")
_SOURCES: Final = {"dup": "fildes", "dup2": "oldfd", "dup3": "oldfd", "fcntl": "fd"}
"""Parameter with the descriptor that is copied."""


class CallEntry(NamedTuple):
    """Entry of a call."""

    row: int
    call: str
    arguments: Mapping[str, int]
    path: str | None = None
    """Path that is to be opened; None: not recorded, or not read."""
    sources: frozenset[int] = frozenset()
    """Numbers of the events that told of it."""

    def with_other(self, other: CallEntry) -> CallEntry:
        """Return the entry with what another event of the same entry tells."""
        path = self.path if self.path is not None else other.path
        known = {**self.arguments, **other.arguments}
        return self._replace(arguments=known, path=path, sources=self.sources | other.sources)


def as_int(value: int) -> int:
    """Return the C `int` in the low 32 bits of a register."""
    return (value & 0xFFFF_FFFF ^ 1 << 31) - (1 << 31)


class Tracker:
    """Reader of calls; rows come in rising order."""

    def __init__(self, *, follows_exec: bool = False) -> None:
        """Begin without any knowledge.

        `follows_exec`: all calls are recorded that change whether a descriptor stays when a program is started.
        """
        self.tables = Tables()
        self.follows_exec = follows_exec
        self.names: set[str] = set()
        """Names of all files so far."""
        self._entries: dict[int, CallEntry] = {}
        """Call that each task is in."""
        self._inner: dict[int, CallEntry] = {}
        """Function that opens a file, within a call or without one that is recorded, by task."""
        self._last: dict[int, int] = {}
        """Latest row of each task."""
        self._opened: dict[tuple[int, int], tuple[list[int], list[str]]] = {}
        """Paths by task and descriptor as they were opened, with the rows; what was closed since does not count."""

    def reset(self, row: int) -> None:
        """Forget what holds now: events before a row are missing."""
        self.tables.reset(row)
        self._entries.clear()
        self._inner.clear()
        self._last.clear()

    def enter(self, row: int, task: int, entry: CallEntry) -> None:
        """Take the entry of a call."""
        self._seen(row, task)
        arguments = {name: as_int(value) for name, value in entry.arguments.items()}
        before, seen = self._entries.get(task), entry._replace(arguments=arguments)
        if before is not None and before.call == entry.call and not (before.sources & entry.sources):
            seen = before.with_other(seen)
        self._entries[task] = seen
        self._inner.pop(task, None)
        if entry.call == "close":
            self._remove(row, task, arguments.get("fd"), arguments.get("fd"))
        elif entry.call in ("dup2", "dup3"):
            if arguments.get("oldfd") != arguments.get("newfd"):
                self._remove(row, task, arguments.get("newfd"), arguments.get("newfd"))
        elif entry.call == "close_range":
            self._close_range(row, task, entry.arguments)
        elif entry.call == "unshare":
            if arguments.get("unshare_flags", CLONE_FILES) & CLONE_FILES:
                self.tables.blind(row, task)
        elif entry.call.startswith("io_uring"):
            self.tables.blind(row, task)
        elif entry.call in ("fcntl", "ioctl"):
            self._change_exec(row, task, entry.call, arguments)

    def leave(self, row: int, task: int, call: str, result: int) -> None:
        """Take the exit of a call."""
        self._seen(row, task)
        entry, result = self._entries.pop(task, None), as_int(result)
        if result < 0 or entry is None or entry.call != call:
            return
        if call in PATHS:
            self._open(row, task, result, entry, by_function=False)
        elif call in KINDS:
            self._install(row, task, result, OpenFile(KINDS[call], self._closes(entry)), entry.row)
        elif call in _COPIES:
            self._copy(row, task, entry, result)

    def enter_open(self, row: int, task: int, entry: CallEntry) -> None:
        """Take the entry of a function that opens a file."""
        self._seen(row, task)
        entry = entry._replace(arguments={name: as_int(value) for name, value in entry.arguments.items()})
        self._inner[task] = entry
        outer = self._entries.get(task)
        if outer is not None and outer.call in PATHS and outer.path is None:
            self._entries[task] = outer._replace(path=entry.path)

    def leave_open(self, row: int, task: int, result: int, own: CallEntry | None = None) -> None:
        """Take the exit of a function that opens a file; `own`: its arguments, where the exit has them."""
        since = self._seen(row, task)
        entry = self._inner.pop(task, None)
        if own is not None:
            arguments = {name: as_int(value) for name, value in own.arguments.items()}
            entry = own._replace(row=entry.row if entry is not None else since, arguments=arguments)
        if entry is not None and as_int(result) >= 0:
            self._open(row, task, as_int(result), entry, by_function=True)

    def new_task(self, row: int, parent: int, child: int, flags: int) -> None:
        """Take the start of a task."""
        since = self._seen(row, parent)
        self._drop(child, row)
        if flags & CLONE_FILES:
            table = self.tables.table(parent, row)
            table.is_shared = True
        else:
            table = self._copied(row, parent, since)
        self.tables.assign(child, row, table)

    def execute(self, row: int, task: int, before: int) -> None:
        """Take the start of a program; `before`: id of the task until then, another one for a thread."""
        since = self._seen(row, before)
        table = self._copied(row, before, since, starts_program=True)
        for one in (before, task):
            self._drop(one, row)
        self.tables.assign(task, row, table)

    def file(self, task: int, fd: int, row: int) -> OpenFile | None:
        """Return the file of a descriptor right before a row, of which all is known; None: it is not."""
        return self.tables.at(task, fd, row)

    def opened(self, task: int, fd: int, row: int) -> str:
        """Return the path that a task opened last before a row with this descriptor, whatever came then; or empty."""
        rows, paths = self._opened.get((task, fd), ([], []))
        at = bisect_left(rows, row) - 1
        return paths[at] if at >= 0 else ""

    def forget(self, before: int) -> None:
        """Drop what no row from `before` on needs."""
        self.tables.forget(before)
        if len(self._last) > _MOST_TASKS:
            self._last = {task: row for task, row in self._last.items() if row >= before}
        if len(self._opened) > _MOST_TASKS:
            self._opened = {key: one for key, one in self._opened.items() if one[0][-1] >= before}
        self._opened = {
            key: (rows[at:], paths[at:])
            for key, (rows, paths) in self._opened.items()
            for at in (max(bisect_left(rows, before) - 1, 0),)
        }

    def _seen(self, row: int, task: int) -> int:
        """Note that a task goes on, and return its row before."""
        before = self._last.get(task, -1)
        self._last[task] = row
        self.tables.finish(row, task)
        return before

    def _drop(self, task: int, row: int) -> None:
        """Forget the call that a task is in: it is another task from now on."""
        self._seen(row, task)
        for known in (self._entries, self._inner):
            known.pop(task, None)

    def _remove(self, row: int, task: int, first: int | None, last: int | None) -> None:
        """Take a removal; of unknown numbers all."""
        self.tables.remove(row, task, first if first is not None else 0, last if last is not None else _HIGHEST)

    def _close_range(self, row: int, task: int, arguments: Mapping[str, int]) -> None:
        first, last = (
            arguments.get(name, number) & 0xFFFF_FFFF for name, number in (("fd", 0), ("max_fd", _HIGHEST))
        )
        if arguments.get("flags", CLOSE_RANGE_UNSHARE) & CLOSE_RANGE_UNSHARE:
            self.tables.blind(row, task)
        if first <= last:
            self.tables.remove(row, task, first, last)

    def _change_exec(self, row: int, task: int, call: str, arguments: Mapping[str, int]) -> None:
        """Note that a descriptor may or may not stay when a program is started."""
        if arguments.get("cmd", F_SETFD) in ((F_SETFD,) if call == "fcntl" else (F_SETFD, FIOCLEX, FIONCLEX)):
            fd = arguments.get("fd", -1)
            file = self.tables.current(row, task, fd, row)
            self.tables.note_change(row, task, fd)
            if file is not None:
                self.tables.install(row, task, fd, file._replace(closes=None), row, replaces=True)

    def _open(self, row: int, task: int, fd: int, entry: CallEntry, *, by_function: bool) -> None:
        path = self._path(row, task, entry)
        if path is not None:
            rows, paths = self._opened.setdefault((task, fd), ([], []))
            rows.append(row)
            paths.append(path)
        file = OpenFile(path, self._closes(entry), by_function) if path is not None else None
        self._install(row, task, fd, file, entry.row)

    def _install(self, row: int, task: int, fd: int, file: OpenFile | None, since: int) -> None:
        if file is not None:
            self.names.add(file.name)
        self.tables.install(row, task, fd, file, since, replaces=False)

    def _path(self, row: int, task: int, entry: CallEntry) -> str | None:
        """Return the path of a file as it was opened, behind that of a folder where it is one in that; or None."""
        path, folder = entry.path, entry.arguments.get("dfd", AT_FDCWD)
        if not path or path.endswith(_CUT) or entry.arguments.get("flags", 0) & O_TMPFILE:
            return None
        if folder == AT_FDCWD or path.startswith("/"):
            return path
        parent = self.tables.current(row, task, folder, entry.row)
        return f"{parent.name.rstrip('/')}/{path}" if parent is not None and not parent.by_function else None

    def _closes(self, entry: CallEntry) -> bool | None:
        """Return whether a new descriptor is closed when a program is started; None: not known."""
        flags = entry.arguments.get(CLOSE_ON_EXEC.get(entry.call, ""))
        return bool(flags & O_CLOEXEC) if flags is not None else False if entry.call in ALWAYS_KEPT else None

    def _copy(self, row: int, task: int, entry: CallEntry, fd: int) -> None:
        arguments = entry.arguments
        source = arguments.get(_SOURCES[entry.call], -1)
        command = arguments.get("cmd")
        if source == fd or (entry.call == "fcntl" and command not in (F_DUPFD, F_DUPFD_CLOEXEC)):
            return
        file = self.tables.current(row, task, source, entry.row)
        closes = command == F_DUPFD_CLOEXEC if entry.call == "fcntl" else self._closes(entry)
        replaces = entry.call in ("dup2", "dup3")
        copied = file._replace(closes=closes) if file is not None else None
        self.tables.install(row, task, fd, copied, entry.row, replaces=replaces)

    def _copied(self, row: int, task: int, since: int, *, starts_program: bool = False) -> Table:
        """Return a copy of a task's table as far as it is known; `starts_program`: of what stays open then."""
        table = Table()
        for fd, file in self.tables.copy(row, task, since):
            if not starts_program or (self.follows_exec and file.closes is False):
                table.slot(fd).set(row, file)
        return table
