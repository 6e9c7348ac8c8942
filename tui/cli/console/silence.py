"""Report on standard error that a remote host does not answer, while a command waits for events."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

from kernel.remote.silence import words
from kernel.watch.watch import Watch
from tui.cli.console.journal import Level, at_priority
from tui.cli.console.output import plain
from tui.cli.console.waiting import clear_progress, show_progress

_LOOK_EVERY = 0.5
"""Seconds between two checks."""


@contextlib.contextmanager
def reporting_silence(watch: Watch) -> Iterator[None]:
    """Report when the remote host falls silent (`kernel.remote.silence`) and when it answers again, as long as the
    block runs.

    A thread does it: the thread that prints events may itself wait for that host. On a terminal the count of seconds
    goes on.
    """
    reporter = _SilenceReporter(watch)
    if watch.info.target.is_kernel:  # a recording does not answer at all
        threading.Thread(target=reporter.run, name="silence", daemon=True).start()
    try:
        yield
    finally:
        reporter.stop()


class _SilenceReporter:
    """Thread body of `reporting_silence`."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._longest = 0.0
        """Seconds of the current silence; 0: there is none."""
        self._over = threading.Event()

    def run(self) -> None:
        """Report until `stop`."""
        while not self._over.wait(_LOOK_EVERY):
            with contextlib.suppress(OSError), at_priority(Level.WARNING):  # the reader of standard error may be gone
                self._look()

    def stop(self) -> None:
        """Stop reporting, and clear the terminal's line; does not wait for the thread."""
        self._over.set()
        if self._longest:
            with contextlib.suppress(OSError):
                clear_progress()

    def _look(self) -> None:
        silent, name = self._watch.overdue_seconds, self._watch.info.target.name
        if silent is not None:
            if sys.stderr.isatty():
                show_progress(f"{name}: {words(silent)}")
            elif not self._longest:
                print(plain(f"probewright: {name}: {words(silent)}"), file=sys.stderr, flush=True)
            self._longest = silent
        elif self._longest:
            clear_progress()
            if self._watch.error is None:  # else the loss of the connection is reported
                print(plain(f"probewright: {name}: heard again after {self._longest:.0f} s"), file=sys.stderr)
            self._longest = 0.0
