"""Files of descriptors in a store: from the events of probes, only where all of them tell the same."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import pytest

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.descriptors.index import DescriptorIndex, Known
from events.descriptors.sources import DescriptorRole, DescriptorSource, coverage
from events.format import EventFormat, HeaderPage, parse_format
from events.store.store import Store
from tests.events_data import entry, event, page

HEADER = HeaderPage("little")
ENTER, LEAVE, OPEN, READ = (
    "raw_syscalls/sys_enter",
    "raw_syscalls/sys_exit",
    "syscalls/sys_enter_openat",
    "syscalls/sys_enter_read",
)
FUNCTION = "pw_1_a/ksys_read"
TASK, EXEC = "task/task_newtask", "sched/sched_process_exec"
COMMON = "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
FIELDS = {
    ENTER: ("long id", "unsigned long args[6]"),
    LEAVE: ("long id", "long ret"),
    OPEN: ("long dfd", "long flags", "char filename[32]"),
    READ: ("long fd",),
    TASK: ("long pid", "long clone_flags"),
    EXEC: ("long old_pid",),
    FUNCTION: ("long fd",),
}
SIZES = {"args[6]": 48, "filename[32]": 32}
OPENAT, CLOSE, DUP2, SOCKET = 257, 3, 33, 41
RUNS = 600


def formats() -> dict[int, EventFormat]:
    found = {}
    for number, (path, fields) in enumerate(FIELDS.items(), 700):
        lines, at = [], 8
        for one in fields:
            size = SIZES.get(one.split()[-1], 8)
            lines.append(f"\tfield:{one};\toffset:{at};\tsize:{size};\tsigned:{int(not one.startswith('unsigned'))};")
            at += size
        group, name = path.split("/")
        text = f"name: {name}\nID: {number}\nformat:\n{COMMON}" + "\n".join(lines) + '\n\nprint fmt: ""\n'
        found[number] = parse_format(text, group)
    return found


FORMATS = formats()
IDS = {fmt.path: number for number, fmt in FORMATS.items()}
SOURCES = {
    EXEC: DescriptorSource(DescriptorRole.EXEC, 0, fields={"old_pid": "old_pid"}),
    TASK: DescriptorSource(DescriptorRole.NEW_TASK, 1, fields={"pid": "pid", "clone_flags": "clone_flags"}),
    LEAVE: DescriptorSource(DescriptorRole.ANY_LEAVE, 2),
    ENTER: DescriptorSource(DescriptorRole.ANY_ENTER, 3),
    OPEN: DescriptorSource(DescriptorRole.ENTER, 4, "openat", {"dfd": "dfd", "flags": "flags"}, ("filename",)),
}
ORDERS = {**{path: one.order for path, one in SOURCES.items()}, READ: 5}


class Trace:
    """Store with the events of some tasks, and where each stands."""

    def __init__(self, sources: Mapping[str, DescriptorSource] = SOURCES) -> None:
        self.store = Store(Decoder(FORMATS, HEADER))
        self.ts = 1000
        self.index = DescriptorIndex(self.store, Known(sources, ORDERS), "x86_64")

    def add(self, path: str, pid: int, *values: int | bytes) -> int:
        data = b"".join(one if isinstance(one, bytes) else struct.pack("<q", one) for one in values)
        self.ts += 1000
        made = page(self.ts, event(entry(IDS[path], pid, data), 0), HEADER)
        self.store.feed(Batch((Chunk(0, made),), True))
        self.store.flush()
        return self.store.next_seq - 1

    def call(self, pid: int, number: int, result: int, *arguments: int) -> None:
        self.add(ENTER, pid, number, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
        self.add(LEAVE, pid, number, result)

    def open(self, pid: int, path: str, fd: int, folder: int = -100) -> None:
        self.add(OPEN, pid, folder, 0, path.encode().ljust(32, b"\0"))
        self.add(ENTER, pid, OPENAT, folder, 0, 0, 0, 0, 0)
        self.add(LEAVE, pid, OPENAT, fd)

    def file(self, pid: int, fd: int, path: str = READ) -> str | None:
        return self.index.file(self.store.record(self.add(path, pid, fd)), fd)

    def opened(self, pid: int, fd: int) -> str:
        return self.index.opened(self.store.record(self.add(READ, pid, fd)), fd)


def begun() -> Trace:
    trace = Trace()
    trace.add(EXEC, 5, 5)
    trace.add(ENTER, 5, RUNS, 0, 0, 0, 0, 0, 0)
    trace.add(EXEC, 5, 5)
    return trace


def test_a_file_has_its_name_until_it_is_closed() -> None:
    trace = begun()
    trace.open(5, "/etc/passwd", 3)
    assert trace.file(5, 3) == "/etc/passwd"
    assert trace.file(5, 4) is None
    assert trace.file(6, 3) is None
    trace.call(5, DUP2, 4, 3, 4)
    trace.call(5, CLOSE, 0, 3)
    assert trace.file(5, 3) is None
    assert trace.file(5, 4) == "/etc/passwd"
    assert trace.opened(5, 3) == "/etc/passwd"


def test_the_row_of_a_call_that_closes_has_the_file_that_is_closed() -> None:
    trace = begun()
    trace.open(5, "/etc/passwd", 3)
    row = trace.add(ENTER, 5, CLOSE, 3, 0, 0, 0, 0, 0)
    assert trace.index.file(trace.store.record(row), 3) == "/etc/passwd"
    assert trace.file(5, 3) is None


def test_children_have_the_files_of_their_parents() -> None:
    trace = begun()
    trace.open(5, "/etc/passwd", 3)
    trace.add(TASK, 5, 6, 0)
    trace.add(TASK, 5, 7, 0x400)
    assert trace.file(6, 3) == trace.file(7, 3) == "/etc/passwd"
    trace.call(7, CLOSE, 0, 3)
    assert [trace.file(task, 3) for task in (5, 6, 7)] == [None, "/etc/passwd", None]


def test_an_event_of_a_function_has_names_once_the_program_is_seen_to_be_of_64_bits() -> None:
    """A 32-bit program closes without an event of `close`, and copies by `dup` with the number of `socket`."""
    trace = begun()
    trace.open(5, "/etc/passwd", 3)
    before = trace.add(FUNCTION, 5, 3)
    assert trace.index.file(trace.store.record(before), 3) == "/etc/passwd"
    trace.add(TASK, 5, 6, 0)
    assert trace.file(6, 3, FUNCTION) == "/etc/passwd"
    trace.add(EXEC, 6, 6)
    assert trace.file(6, 3, FUNCTION) is None
    trace.call(6, SOCKET, 4, 3)
    assert trace.file(6, 4, FUNCTION) is None
    trace.open(6, "/etc/group", 5)
    assert [trace.file(6, fd, FUNCTION) for fd in (3, 5)] == ["/etc/passwd", "/etc/group"]
    assert trace.file(5, 3, FUNCTION) == trace.index.file(trace.store.record(before), 3) == "/etc/passwd"
    trace.ts += 1000
    trace.store.loss_spans.latest.gaps.add(trace.ts - 500, trace.ts - 400)
    trace.call(5, RUNS, 0)
    assert trace.file(5, 3, FUNCTION) is None
    assert trace.index.file(trace.store.record(before), 3) == "/etc/passwd"


def test_a_path_in_a_folder_has_that_in_front_or_no_name() -> None:
    trace = begun()
    trace.open(5, "/etc", 3)
    trace.open(5, "passwd", 4, 3)
    trace.open(5, "passwd", 5, 9)
    assert [trace.file(5, fd) for fd in (4, 5)] == ["/etc/passwd", None]


def test_nothing_is_certain_across_a_loss() -> None:
    trace = begun()
    trace.open(5, "/etc/passwd", 3)
    trace.store.feed(Batch((), drained=False, after_gap=True, changed=True))
    assert trace.file(5, 3) is None
    trace = begun()
    trace.open(5, "/etc/passwd", 3)
    trace.store.loss_spans.latest.gaps.add(trace.ts + 1, trace.ts + 2)
    assert trace.file(5, 3) is None
    trace.add(EXEC, 5, 5)
    trace.open(5, "/etc/group", 3)
    assert trace.file(5, 3) == "/etc/group"


def test_nothing_is_certain_once_a_probe_is_taken_away() -> None:
    trace = begun()
    trace.open(5, "/etc/passwd", 3)
    trace.store.feed(Batch((), drained=False, after_gap=True))
    trace.add(EXEC, 5, 5)
    trace.open(5, "/etc/group", 3)
    assert trace.file(5, 3) is None


def test_nothing_is_certain_before_all_probes_are_seen_to_be_armed() -> None:
    trace = Trace()
    trace.add(EXEC, 5, 5)
    trace.add(OPEN, 5, -100, 0, b"/etc/passwd".ljust(32, b"\0"))
    trace.add(LEAVE, 5, OPENAT, 3)
    assert trace.file(5, 3) is None


@pytest.mark.parametrize("absent", [TASK, EXEC, ENTER])
def test_nothing_is_certain_without_all_that_can_change_it(absent: str) -> None:
    sources = {path: one for path, one in SOURCES.items() if path != absent}
    trace = Trace(sources)
    trace.add(EXEC, 5, 5)
    trace.add(TASK, 1, 6, 0)
    trace.open(5, "/etc/passwd", 3)
    assert trace.file(5, 3) is None
    assert trace.index.coverage.missing
    assert trace.opened(5, 3) == "/etc/passwd"


def test_filtered_events_do_not_count() -> None:
    filtered = SOURCES | {ENTER: SOURCES[ENTER]._replace(is_filtered=True)}
    assert "close" in coverage(filtered, "x86_64").missing
    assert coverage(SOURCES, "x86_64") == coverage(SOURCES, "")
    assert coverage(SOURCES, "x86_64").missing == ()
    assert "dup2" not in coverage(filtered, "aarch64").missing


def test_what_changes_without_events_has_no_name() -> None:
    trace = begun()
    trace.open(5, "/etc/passwd", 3)
    trace.call(5, 426, 1, 4, 1)  # io_uring_enter
    assert trace.file(5, 3) is None
    trace = begun()
    trace.open(5, "/etc/passwd", 3)
    trace.open(5, "/etc/group", 3)  # the close between them had no event
    assert trace.file(5, 3) is None


def test_shortened_paths_are_none() -> None:
    trace = begun()
    trace.open(5, "/etc/passw...", 3)
    assert trace.file(5, 3) is None
