"""How our trace instance is set up; nothing here needs an undo, for it all goes with the instance."""

from __future__ import annotations

import contextlib

from kernel.errors import FileRefused
from kernel.target import Target
from kernel.tracefs import Instance

CLOCKS = ("mono", "global", "local")
"""What we would like, best first: one order across CPUs, and the clock that user space has too (CLOCK_MONOTONIC)."""

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
"""A new instance takes over what the user has set for the whole machine; our decoding counts on these."""


def configure(target: Target, instance: Instance, buffer_kb: int | None = None) -> bool:
    """Set clock, options and wake-up of a fresh instance; what a kernel has not is left out.

    Args:
        target: where it is.
        instance: ours.
        buffer_kb: size of the ring buffer of each CPU in KB; None: as the kernel makes it (some 1400).

    Returns:
        Whether children and threads of the processes we leave out are left out by themselves (`event-fork`).

    Raises:
        FileRefused: the buffer size was refused.
    """
    with contextlib.suppress(FileRefused):
        offered = instance.read("trace_clock").split()
        clock = next((clock for clock in CLOCKS if clock in offered or f"[{clock}]" in offered), None)
        if clock in offered:  # else it is the one in brackets already
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


def leave_out(target: Target, instance: Instance, *, append: bool) -> None:
    """Keep our own processes out of the instance, or each read of a buffer would fill it again.

    Args:
        target: knows which processes those are.
        instance: ours.
        append: add to those that are left out; else they are replaced, which forgets children found by event-fork.
    """
    pids = " ".join(map(str, target.our_pids()))
    if pids:
        with contextlib.suppress(FileRefused):
            target.perform(instance.write("set_event_notrace_pid", pids, append=append))


def _opposite(option: str) -> str:
    return option.removeprefix("no") if option.startswith("no") else f"no{option}"
