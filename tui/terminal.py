"""The terminal, as a driver of Textual that outlives its window: what is drawn then goes nowhere.

Textual's thread of writing ends with the first error, and whoever draws then waits for it forever: the application
would never come to take its probes away.
"""

from __future__ import annotations

import io

from textual.drivers.linux_driver import LinuxDriver


class Terminal(LinuxDriver):
    """See the module."""

    def start_application_mode(self) -> None:
        """Begin to draw."""
        if isinstance(self._file, io.TextIOBase):
            self._file = _Forgiving(self._file)  # type: ignore[assignment]
        super().start_application_mode()  # type: ignore[no-untyped-call]


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
