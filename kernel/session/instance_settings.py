"""Configure a new trace instance; needs no undo, as the settings disappear with the instance."""

from __future__ import annotations

import contextlib

from kernel.errors import FileRefused
from kernel.target import Target
from kernel.tracefs import Instance

CLOCKS = ("mono", "global", "local")
"""Preferred trace clocks, best first: ordered across CPUs, and readable in user space too (CLOCK_MONOTONIC)."""

OPTIONS = (
    "record-cmd",
    "overwrite",
    "context-info",
    "irq-info",
    "markers",
    "event-fork",
    *("noraw", "nohex", "nobin", "noblock", "nofields", "noverbose", "nolatency-format"),
    *("nostacktrace", "nouserstacktrace", "nosym-addr", "nodisable_on_free", "nopause-on-trace", "norecord-tgid"),
)
"""Options our decoding relies on; a new instance inherits the user's settings for the whole machine."""


def configure(target: Target, instance: Instance, buffer_kb: int | None = None) -> bool:
    """Set clock, options and wake-up of a new instance; settings that a kernel lacks are skipped.

    Args:
        target: target of the instance.
        instance: our own trace instance.
        buffer_kb: size of the ring buffer of each CPU in KB; None: the kernel's default (some 1400).

    Returns:
        True if children and threads of excluded processes are excluded automatically (`event-fork`).

    Raises:
        FileRefused: the kernel rejected the buffer size.
    """
    with contextlib.suppress(FileRefused):
        offered = instance.read("trace_clock").split()
        clock = next((clock for clock in CLOCKS if clock in offered or f"[{clock}]" in offered), None)
        if clock in offered:  # else the preferred clock, in brackets, is set already
            target.perform(instance.write("trace_clock", clock))
    follows = False
    with contextlib.suppress(FileRefused):
        current = instance.options()
        follows = bool({"event-fork", "noevent-fork"} & current)
        for option in OPTIONS:
            if _opposite(option) in current:
                with contextlib.suppress(FileRefused):
                    target.perform(instance.write("trace_options", option))
    with contextlib.suppress(FileRefused):
        target.perform(instance.write("buffer_percent", "0"))  # else poll sleeps until the buffer is half full
    if buffer_kb is not None:
        target.perform(instance.write("buffer_size_kb", str(buffer_kb)))
    return follows


def exclude_own_processes(target: Target, instance: Instance, *, append: bool) -> None:
    """Exclude our own processes from the instance, or each read of a buffer would fill it again.

    Args:
        target: lists our own processes.
        instance: our own trace instance.
        append: True: add to the excluded processes; False: replace them, which drops children added by event-fork.
    """
    pids = " ".join(map(str, target.our_pids()))
    if pids:
        with contextlib.suppress(FileRefused):
            target.perform(instance.write("set_event_notrace_pid", pids, append=append))


def _opposite(option: str) -> str:
    return option.removeprefix("no") if option.startswith("no") else f"no{option}"
