"""Rehearse boot-time probes: boot a guest of the lab with them, and read their events into a recording."""

from __future__ import annotations

import threading
from pathlib import Path

from kernel.boot.read_back import BootReading, read_boot
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import Progress
from kernel.lab.errors import LabCancelled, LabError
from kernel.lab.guest import Guest
from kernel.lab.target import boot_lab, connect_owned
from probes.bootconfig.initrd_tail import tail
from probes.export.boot_request import BootRequest, BootWay


def rehearse(
    spec: str,
    request: BootRequest,
    path: Path,
    *,
    seconds: float = 0.0,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> BootReading:
    """Boot a guest with probes, and read their events; the guest has ended on return.

    Args:
        spec: name of the lab: `lab:7.2`.
        request: probes.
        path: new recording.
        seconds: time to wait once the guest can be reached.
        progress: called with text and a completed share.
        cancel: set it from another thread to give up.

    Raises LabError, TargetUnusable, TargetLost, OSError.
    """
    # The lab joins parts of an initrd at multiples of four, so the tail is that of an empty one.
    extra = (tail(request.text, 0),) if request.way is BootWay.BOOTCONFIG else ()
    machine = boot_lab(spec, progress, cancel, append=request.command_line, extra=extra)
    info = KernelInfo(connect_owned(machine, spec, progress, cancel))
    try:
        if progress is not None:
            progress("reading the events of the boot", None)
        if (cancel or threading.Event()).wait(seconds):
            raise LabCancelled
        return read_boot(info, request, path, _log(machine))
    finally:
        info.close()


def _log(machine: Guest) -> list[str]:
    """Return the lines of the kernel's log; those of the console where the guest has no program for more."""
    try:
        text = machine.run("dmesg").decode("utf-8", "replace")
    except LabError:
        text = machine.console_text()
    return text.splitlines()
