"""The terminal, as a driver of Textual that outlives its window: what is drawn then goes nowhere.

Textual's thread of writing ends with the first error, and whoever draws then waits for it forever: the application
would never come to take its probes away.

When a window is closed the kernel sends SIGHUP to the leader of its session alone (tty_signal_session_leader() in
drivers/tty/tty_jobctrl.c). A shell passes it on; `make` waits for its children instead. So we look ourselves.
"""

from __future__ import annotations

import asyncio
import io
import select

from textual.drivers.linux_driver import LinuxDriver

_EVERY = 1.0
"""Seconds between two looks whether the terminal is there."""


class TerminalDriver(LinuxDriver):
    """See the module."""

    _next_look: asyncio.TimerHandle | None = None

    def start_application_mode(self) -> None:
        """Begin to draw."""
        if isinstance(self._file, io.TextIOBase):
            self._file = _Forgiving(self._file)  # type: ignore[assignment]
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._look()

    def stop_application_mode(self) -> None:
        """End drawing, for good or until the application is continued."""
        if self._next_look is not None:
            self._next_look.cancel()
        super().stop_application_mode()

    def _look(self) -> None:
        """End the application when its terminal has hung up, else look again later."""
        poll = select.poll()
        poll.register(self.fileno, 0)  # a hang-up is told of in any case
        if poll.poll(0):
            self._app.exit()
        else:
            self._next_look = self._loop.call_later(_EVERY, self._look)


class _Forgiving:
    """A file that takes everything, also when it is gone."""

    def __init__(self, file: io.TextIOBase) -> None:
        self._file = file
        self._gone = False

    def write(self, text: str) -> None:
        try:
            if not self._gone:
                self._file.write(text)
        except OSError:
            self._gone = True

    def flush(self) -> None:
        try:
            if not self._gone:
                self._file.flush()
        except OSError:
            self._gone = True

    def fileno(self) -> int:
        return self._file.fileno()
