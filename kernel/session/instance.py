"""Create the trace instance of a session, under a name that identifies its owner, and configure it.

Settings need no undo: they disappear with the instance.
"""

from __future__ import annotations

import contextlib
import errno

from kernel.cleanup.owner import INSTANCE_PREFIX
from kernel.cleanup.undo import UndoList
from kernel.errors import FileRefused, TargetUnusable
from kernel.target import Effect, Step, Target
from kernel.tracefs import Instance, Tracefs

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
_MOST_SESSIONS = 64
"""Most sessions of one process on one target."""


def require_usable(target: Target) -> None:
    """Raise TargetUnusable if no probe can be armed; it carries the diagnoses of the target's facts."""
    facts = target.facts()
    if not facts.usable or not target.owner:
        fatal = [trouble for trouble in facts.troubles if trouble.fatal]
        reason = "; ".join(trouble.what for trouble in fatal) or "it is not a living kernel"
        raise TargetUnusable(f"{target.name}: {reason}", fatal[0].remedy if fatal else "", facts.troubles)


def make_instance(target: Target, tracefs: Tracefs, undo: UndoList) -> Instance:
    """Create the instance under the owner's first free name. Raises TargetUnusable, FileRefused, TargetLost."""
    for number in range(1, _MOST_SESSIONS + 1):
        suffix = f"_{number}" if number > 1 else ""
        instance = tracefs.instance(f"{INSTANCE_PREFIX}{target.owner}{suffix}")
        try:
            undo.do(Step(Effect.MKDIR, instance.path), Step(Effect.RMDIR, instance.path))
            return instance
        except FileRefused as error:
            if error.errno != errno.EEXIST:
                raise
    raise TargetUnusable(f"{target.name}: this process has {_MOST_SESSIONS} sessions there")


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
