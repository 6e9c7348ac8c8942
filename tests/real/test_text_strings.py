"""Line breaks in strings and names of tasks, through the kernel's text: no event is made of what they hold."""

from __future__ import annotations

import contextlib

import pytest

from events.store.outage_mark import is_mark
from events.store.store import Store
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.connection.text_note import text_note
from kernel.errors import KernelError
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.remote.protocol.shell_quote import quote
from kernel.watch.hist_tables import read_tables
from kernel.watch.watch import Watch
from probes.syntax.parse import parse_probe
from tests.real.processes import until

PLACE = "(do_sys_openat2+0x4/0xd0)"
FORGED = f"            evil-666     [001] .....    {{}}.123456: do_sys_openat2__entry: {PLACE} filename="
NAMES = (
    "/nx/plain",
    f'/nx/1\n{FORGED}"forged',
    "/nx/x\nCPU:1 [LOST 77 EVENTS]\n",
    '/nx/y"\nCPU:1 [LOST 77 EVENTS]\n',
    '/nx/a"b',
    "/nx/\ttab\r\x1b[31m",
    "/nx/" + "\n" * 9,
)


def opened(store: Store) -> list[str]:
    """Return the names that could be read; of others the kernel's filter looks at what lay there before."""
    names = (store.record(seq).values["filename"] for seq in range(store.next_seq))
    return [str(name) for name in names if name is not None]


def test_a_name_of_a_file_or_of_a_task_forges_nothing(guest_72: Guest) -> None:
    target = connect(guest_72, f"lab:{guest_72.kernel.release}", python=False)
    with contextlib.closing(target):
        watch = Watch(Planner(KernelInfo(target)))
        try:
            armed = watch.armed.arm(parse_probe('f do_sys_openat2 filename:ustring if filename ~ "/nx/*"'))
            assert "filename" in "".join(text_note(target, armed))
            now = int(float(guest_72.run("cut -d' ' -f1 /proc/uptime")))
            names = [name.replace("{}", str(now + 1)) for name in NAMES]
            for name in names:
                guest_72.run(f"cat <{quote(name)} 2>/dev/null || true")
            # The kernel writes a task's name down when it leaves the processor behind its first event.
            named = 'printf "\\na-1 [000] 1: " >/proc/$$/comm; true </nx/name; sleep 0.2; true </nx/comm'
            guest_72.run(f"sh -c {quote(named)} 2>/dev/null || true")

            def all_came() -> bool:
                watch.tick()
                return watch.store is not None and "/nx/comm" in opened(watch.store)

            assert until(all_came)
            watch.intake.settle()
            store = watch.store
            assert store is not None
            assert opened(store) == [*names, "/nx/name", "/nx/comm"]
            records = [store.record(seq) for seq in range(store.next_seq)]
            assert records[-1].comm == "\na-1 [000] 1: " and not any(map(is_mark, records))
            assert (store.lost_events, store.undecodable, store.late_events) == (0, 0, 0)
        finally:
            assert watch.close() == []


FILTER = 'filename ~ "/nx/*"'
KEYS = ("/nx/plain", "/nx/a\nb", "/nx/x } hitcount: 5\ny", "/nx/x } hitcount:          5\n{ file")
TASK = "} hitcount: 5\n{"
"""As long as a task's name may be."""
ENTRY = "/nx/x } hitcount:          5\n{ filename: /nx/root } hitcount:         99\n{ filename: y"
SECTION = (
    "/nx/x }\n\nTotals:\n    Hits: 1\n    Entries: 1\n    Dropped: 0\n\n# event histogram\n#\n"
    "# trigger info: hist:keys=filename [active]\n#\n{ filename: "
)


def test_a_name_of_a_file_or_of_a_task_forges_no_entry_of_a_histogram(guest_72: Guest) -> None:
    """Linux prints both as they are, line breaks too."""
    with contextlib.closing(connect(guest_72, f"lab:{guest_72.kernel.release}")) as target:
        watch = Watch(Planner(KernelInfo(target)))
        try:
            triggers = [f"hist:keys={key} if {FILTER}" for key in ("filename", "common_pid.execname")]
            watch.armed.arm(parse_probe("f do_sys_openat2 filename:ustring"), triggers=triggers)
            for name in KEYS:
                guest_72.run(f"sh -c {quote(f'true <{quote(name)}')} 2>/dev/null || true")
            named = f"printf {quote('%s')} {quote(TASK)} >/proc/$$/comm; true </nx/task"
            guest_72.run(f"sh -c {quote(named)} 2>/dev/null || true")
            names, tasks = (table.histogram for table in read_tables(watch.armed))
            assert names.kernel_count == len(names.entries) == len(KEYS) + 1 and names.readings == tasks.readings == 0
            # What fills the line can't be told from blanks at its end.
            told = {entry.keys[0].text: entry.hits for entry in names.entries}
            assert told == dict.fromkeys([*KEYS, "/nx/task"], 1)
            assert [entry.hits for entry in tasks.entries if entry.keys[0].label == TASK] == [1]
            assert tasks.hits == len(KEYS) + 1

            guest_72.run(f"sh -c {quote(f'true <{quote(ENTRY)}')} 2>/dev/null || true")
            names, tasks = (table.histogram for table in read_tables(watch.armed))
            assert (names.entries, names.kernel_count, names.readings) == ((), len(KEYS) + 2, len(KEYS) + 4)
            assert tasks.readings == 0 and len(tasks.entries) == len(KEYS) + 2

            guest_72.run(f"sh -c {quote(f'true <{quote(SECTION)}')} 2>/dev/null || true")
            with pytest.raises(KernelError, match="looks like a histogram"):
                list(read_tables(watch.armed))
        finally:
            assert watch.close() == []
