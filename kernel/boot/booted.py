"""Find out with which probes a running kernel was booted, and take them away."""

from __future__ import annotations

import contextlib

from kernel.boot.read_back import switch_off
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import FileRefused, TargetUnusable
from kernel.target import Effect, Step
from kernel.tracefs import Tracefs, decode
from probes.bootconfig.text import BootconfigError, parse
from probes.export.boot_request import BootRequest, BootWay
from probes.export.bootconfig import SPECS

_LARGEST = 1 << 20
"""Most bytes of /proc/bootconfig and /proc/cmdline that are read."""
_REMEDY = "`probewright boot SPEC… -t TARGET` says how a machine is booted with probes"


def booted_specs(info: KernelInfo) -> tuple[BootWay, list[str]]:
    """Return the specifications that a kernel was booted with, and by which means.

    Of a bootconfig they are those that were written into it; of a command line its own lines for kprobes, in which
    entry and exit of a function are two probes.

    Raises:
        TargetUnusable: it was booted without.
        TargetLost: the connection was lost.
    """
    with contextlib.suppress(BootconfigError):
        pieces: dict[int, str] = {}
        for key, values in parse(_text(info, "/proc/bootconfig") or "none\n"):
            number = key.removeprefix(f"{SPECS}.")
            if number != key and number.isdecimal():
                pieces[int(number)] = "".join(values)
        if pieces:
            return BootWay.BOOTCONFIG, [pieces[number] for number in sorted(pieces)]
    words = _text(info, "/proc/cmdline").split()
    lists = [word.partition("=")[2] for word in words if word.startswith("kprobe_event=")]
    if not lists:
        raise TargetUnusable(f"{info.target.name}: its kernel was booted without probes of probewright", _REMEDY)
    lines = [line for text in lists for line in text.strip('"').split(";") if line]
    return BootWay.CMDLINE, [line.replace(",", " ") for line in lines]


def remove_booted(info: KernelInfo, request: BootRequest) -> list[str]:
    """Take the probes of a boot out of the running kernel; return a line for each step that failed.

    Only what the request names is removed: its trace instance, and its events. Raises TargetLost.
    """
    tracefs = Tracefs(info.target, info.facts.tracefs)
    instance = tracefs.instance(request.instance) if request.instance else tracefs
    events = [event for plan in request.plans for event in plan.events]
    steps = [switch_off(instance, event) for event in events]
    if request.instance:
        steps.append(Step(Effect.RMDIR, instance.path))
    steps += [tracefs.define(event.remove) for event in events if event.line]
    failed = []
    for step in steps:
        try:
            info.target.perform(step)
        except FileRefused as error:
            failed.append(str(error))
    return failed


def _text(info: KernelInfo, path: str) -> str:
    try:
        return decode(info.target.read(path, _LARGEST))
    except FileRefused:
        return ""
