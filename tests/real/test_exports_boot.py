"""Exports for the boot: a kernel is booted with them, and its events are those that were asked for."""

from __future__ import annotations

import re

import pytest

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest, boot
from kernel.lab.target import connect
from probes.command import parse_armable
from probes.export.export import dialect_named
from tests.real.conftest import prepared
from tests.real.saved import SavedGuests
from tui.output.probe_exports import exported

TRACING = "/sys/kernel/tracing"
SPECS = (
    "f vfs_read%both file->f_pos count $retval",
    "f do_sys_openat2 filename:ustring dfd how->flags",
)
WORK = "dd if=/proc/version of=/dev/null bs=7 count=3 2>/dev/null"


def bootconfig_of(text: str) -> bytes:
    """What stands at an initrd's end (Documentation/admin-guide/bootconfig.rst, "Boot Kernel With a Boot Config")."""
    data = text.encode() + b"\0"
    data += b"\0" * (-len(data) % 4)
    total = len(data).to_bytes(4, "little") + (sum(data) & 0xFFFFFFFF).to_bytes(4, "little")
    return data + total + b"#BOOTCONFIG\n"


def said(saved: SavedGuests, kernel: str, dialect: str, *specs: str) -> str:
    """Return the export for a kernel, made on a guest of it."""
    with saved.lent(kernel) as machine:
        planner = Planner(KernelInfo(connect(machine, "guest", python=False)))
        try:
            return exported(planner, [parse_armable(spec) for spec in specs], dialect_named(dialect)).text
        finally:
            planner.info.close()


def reads(guest: Guest, trace: str) -> list[tuple[str, ...]]:
    """What one program's reads were, by the kernel's own text: position, size, and the same with the result."""
    # Switched off at once, else others push it out, and the text of its own reading would never end.
    stop = f"echo 0 >{trace.rpartition('/')[0]}/tracing_on"
    pid = guest.run(f"sh -c 'echo $$; exec {WORK}'; {stop}").decode().strip()
    found = guest.run(f"grep -E -e '-{pid} +\\[' {trace} | grep 'vfs_read__' || true")
    lines = found.decode().splitlines()
    form = re.compile(r"vfs_read__(entry|exit): \(.*?\)(?: f_pos=(\d+))?(?: count=(\d+))?(?: ret=(-?\d+))?")
    return [match.groups("") for match in map(form.search, lines) if match]


def are_on(guest: Guest, group: str) -> bool:
    """Whether the events of a group are on, as far as they have a folder; that all record is seen in the trace.

    A kernel that is busy while it boots may leave one without: it makes the folders in a worker of its own
    (tracer_init_tracefs_work_func), and an event that comes before that has ended (`eventdir_initialized` in
    kernel/trace/trace_events.c) gets none.
    """
    return set(guest.run(f"cat {group}/*/enable").split()) == {b"1"}


BOTH_ENDS = [
    *(("entry", "0", "7", ""), ("exit", "0", "7", "7")),
    *(("entry", "7", "7", ""), ("exit", "7", "7", "7")),
    *(("entry", "14", "7", ""), ("exit", "14", "7", "7")),
]
"""It is the caller, ksys_read, that moves the file's position on."""


@pytest.mark.parametrize("kernel", ["6.1", "7.2"])
def test_probes_of_the_command_line(kernel: str, saved: SavedGuests) -> None:
    prepared(kernel, python=False)
    words = said(saved, kernel, "cmdline", *SPECS).strip()
    with boot(kernel, python=False, workload=False, append=words) as guest:
        defined = guest.run(f"cat {TRACING}/kprobe_events").decode().splitlines()
        assert len(defined) == 3, guest.console_text()[-2000:]
        assert are_on(guest, f"{TRACING}/events/probewright")
        found = reads(guest, f"{TRACING}/trace")
        at_exit = kernel == "7.2"  # 6.1 has arguments at the entry only
        wanted = [each if at_exit or each[0] == "entry" else ("exit", "", "", each[3]) for each in BOTH_ENDS]
        assert found[-6:] == wanted
        opened = guest.run(f"grep -c 'do_sys_openat2__entry: .*filename=.* dfd=-100 flags=' {TRACING}/trace")
        assert int(opened) >= 1


@pytest.mark.parametrize("kernel", ["full"])
def test_boot_time_tracing(kernel: str, saved: SavedGuests) -> None:
    prepared(kernel, python=False)
    text = said(saved, kernel, "bootconfig", SPECS[0], f"{SPECS[1]} if dfd == -100")
    with boot(kernel, python=False, workload=False, append="bootconfig", extra=[bootconfig_of(text)]) as guest:
        here = f"{TRACING}/instances/probewright"
        assert len(guest.run(f"cat {TRACING}/kprobe_events").splitlines()) == 3, guest.console_text()[-2000:]
        assert are_on(guest, f"{here}/events/kprobes")
        assert guest.run(f"cat {here}/events/kprobes/do_sys_openat2__entry/filter") == b"dfd == -100\n"
        assert reads(guest, f"{here}/trace")[-6:] == BOTH_ENDS
        first = guest.run(f"grep -m 1 -E '^ *[^# ]' {here}/trace").decode()
        stamp = re.search(r" (\d+)\.\d+: ", first)
        assert stamp and int(stamp[1]) < 60  # it was the boot, not we
