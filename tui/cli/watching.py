"""What `run` and `record` share: arm, follow until told to stop, take away, and account for what was lost."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

from events.record import Record
from kernel.connection import Connection
from kernel.errors import ProbeRefused
from kernel.watch import Watch
from probes.parse import ParseError, parse_probe
from probes.probe import Probe
from probes.refusal import CannotLower
from probes.verdict import Verdict
from tui.cli.output import plain

_PATIENCE = 0.2
"""Seconds between two looks at the clock."""
_NAMES_EVERY = 1.0
"""Seconds between two looks at the names of tasks."""


class Stopped(Exception):
    """Somebody asked the process to end."""


def probes_of(specs: list[str], connection: Connection) -> list[Probe]:
    """Read and check all before anything is armed. Raises ProbeRefused with the first that is no good."""
    probes = []
    for spec in specs:
        verdict = connection.check(spec).verdict
        if not verdict.ok:
            raise ProbeRefused(verdict)
        try:
            probes.append(parse_probe(spec))
        except ParseError as error:
            raise ProbeRefused(Verdict(spec, error.refusal)) from None
    return probes


def arm(watch: Watch, probes: list[Probe]) -> None:
    """Arm them in order; says what this kernel could not give. Raises ProbeRefused, TargetUnusable, TargetLost."""
    for probe in probes:
        try:
            armed = watch.arm(probe)
        except CannotLower as error:
            raise ProbeRefused(Verdict(str(probe), error.refusal)) from None
        for loss in armed.plan.losses:
            print(f"probewright: {plain(loss)}", file=sys.stderr)


def follow(watch: Watch, arguments: argparse.Namespace, show: Callable[[Record], None]) -> int:
    """Show events until the time or the number is reached, or a `stoppable` block is stopped; gives their number."""
    came = threading.Event()
    watch.on_data = came.set
    end = time.monotonic() + arguments.seconds if arguments.seconds else float("inf")
    names = 0.0
    shown = 0
    try:
        while (now := time.monotonic()) < end:
            came.wait(min(_PATIENCE, end - now))
            came.clear()
            if now - names >= _NAMES_EVERY:
                names = now
                watch.know_names(watch.names())
            shown = _show_new(watch, shown, arguments.count, show)
            if (arguments.count and shown >= arguments.count) or watch.ended:
                break
        else:
            watch.settle()
            shown = _show_new(watch, shown, arguments.count, show)
    except Stopped:
        pass
    if watch.error is not None:
        raise watch.error
    return shown


def _show_new(watch: Watch, shown: int, most: int | None, show: Callable[[Record], None]) -> int:
    watch.tick()
    store = watch.store
    if store is None:
        return shown
    for seq in range(max(shown, store.first_seq), store.next_seq):
        if most and shown >= most:
            break
        show(store.record(seq))
        shown = seq + 1
    return shown


def account(watch: Watch) -> None:
    """Say on standard error what did not reach us, where something did not."""
    counts = watch.counts()
    if counts is None or watch.store is None:
        return
    missed = sum(number or 0 for number in counts.nmissed.values())
    losses = (
        (counts.lost, "events lost in the ring buffer"),
        (missed, "calls missed by the probe"),
        (counts.dropped, "events dropped by probewright"),
        (watch.store.undecodable, "events that could not be decoded"),
    )
    for number, what in losses:
        if number:
            print(f"probewright: {number:,} {what}", file=sys.stderr)


def take_away(watch: Watch) -> int:
    """Close; gives 1 where something could not be taken away, and says what."""
    failures = watch.close()
    with contextlib.suppress(OSError):  # the terminal may be gone
        for failure in failures:
            print(f"probewright: left behind: {plain(str(failure.error))}", file=sys.stderr)
        if failures:
            print("  `probewright clean` tries again", file=sys.stderr)
    return 1 if failures else 0


class stoppable:  # noqa: N801 - used as a with statement
    """SIGINT, SIGTERM and SIGHUP end the block by `Stopped`, once: from then on the probes are taken away."""

    _SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __enter__(self) -> None:
        def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as `signal` calls it
            self._ignore()
            raise Stopped

        for number in self._SIGNALS:
            signal.signal(number, stop)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> bool:
        self._ignore()  # a signal must not cut short what follows
        return kind is Stopped

    def _ignore(self) -> None:
        for number in self._SIGNALS:
            signal.signal(number, signal.SIG_IGN)
