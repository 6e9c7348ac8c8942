"""A far side that owes an answer, told on standard error while a command waits for its events."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

from kernel.remote.silence import words
from kernel.watch.watch import Watch
from tui.cli.console.journal import Level, saying
from tui.cli.console.output import plain
from tui.cli.console.waiting import finished, progress

_LOOK_EVERY = 0.5
"""Seconds."""


@contextlib.contextmanager
def telling_silence(watch: Watch) -> Iterator[None]:
    """Say when its far side falls silent (`kernel.remote.silence`) and when it is heard again, as long as the block
    runs.

    By a thread of its own: the one that prints events may wait for that far side. On a terminal the seconds go on.
    """
    teller = _Teller(watch)
    if watch.connection.target.is_kernel:  # a recording owes nothing
        threading.Thread(target=teller.run, name="silence", daemon=True).start()
    try:
        yield
    finally:
        teller.stop()


class _Teller:
    """See `telling_silence`."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._longest = 0.0
        """Seconds of the silence that goes on; 0: none does."""
        self._over = threading.Event()

    def run(self) -> None:
        """Look until `stop`."""
        while not self._over.wait(_LOOK_EVERY):
            with contextlib.suppress(OSError), saying(Level.WARNING):  # who reads it may be gone
                self._look()

    def stop(self) -> None:
        """Say no more, and take off the terminal what stands there; waits for nothing."""
        self._over.set()
        if self._longest:
            with contextlib.suppress(OSError):
                finished()

    def _look(self) -> None:
        silent, name = self._watch.silent, self._watch.connection.target.name
        if silent is not None:
            if sys.stderr.isatty():
                progress(f"{name}: {words(silent)}")
            elif not self._longest:
                print(plain(f"probewright: {name}: {words(silent)}"), file=sys.stderr, flush=True)
            self._longest = silent
        elif self._longest:
            finished()
            if self._watch.error is None:  # else what became of the line is told
                print(plain(f"probewright: {name}: heard again after {self._longest:.0f} s"), file=sys.stderr)
            self._longest = 0.0
