"""`--clock`: measure the kernel's clock where times of day are wanted, and report a recording without them."""

from __future__ import annotations

import argparse
import contextlib
import sys

from kernel.errors import TargetLost
from kernel.watch.watch import Watch
from tui.cli.console.output import plain
from tui.present.event_times import ClockFace

UNKNOWN = "the recording does not say at what time of day it was made"


def face_of(arguments: argparse.Namespace) -> ClockFace:
    """Return the clock that `--clock` requests."""
    return ClockFace(getattr(arguments, "clock", None) or ClockFace.KERNEL)


def measure_clock(watch: Watch, arguments: argparse.Namespace) -> None:
    """Measure the clock if times of day are wanted; print a message if it can't be measured."""
    if face_of(arguments) is ClockFace.KERNEL:
        return
    remeasure_clock(watch, arguments)
    if not watch.clock.is_known and watch.error is None:
        name = watch.info.target.name
        why = UNKNOWN if watch.info.holds_events else "its clock tells no time"
        print(plain(f"probewright: {name}: {why}: times are the kernel's seconds alone"), file=sys.stderr)


def remeasure_clock(watch: Watch, arguments: argparse.Namespace) -> None:
    """Measure the clock again if that is due and times of day are wanted."""
    if face_of(arguments) is not ClockFace.KERNEL and watch.info.target.is_kernel:
        with contextlib.suppress(TargetLost):  # the pump reports a lost connection
            watch.measure_clock()
