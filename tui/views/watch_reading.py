"""Reading of something that the kernel counts, in a worker, each second while the view that shows it is visible."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from textual.timer import Timer
from textual.widget import Widget

from kernel.errors import KernelError

if TYPE_CHECKING:
    from kernel.watch.watch import Watch

_EVERY: Final = 1.0
"""Seconds between two readings; each waits for the end of the one before."""

Found = TypeVar("Found")


class WatchReading(Generic[Found]):
    """Readings of one watch at a time."""

    def __init__(
        self,
        pane: Widget,
        read: Callable[[Watch], Found],
        came: Callable[[Found], None],
        failed: Callable[[str], None],
    ) -> None:
        """Take the widget of the view, and functions.

        Args:
            pane: is visible while the view is.
            read: reads in the worker. Raises KernelError.
            came: shows what was read of the watch that is followed.
            failed: shows why it could not be read.
        """
        self._pane = pane
        self._read = read
        self._came = came
        self._failed = failed
        self._watch: Watch | None = None
        self._runs = False
        self._timer: Timer | None = None

    def follow(self, watch: Watch | None) -> bool:
        """Read of this watch from now on, None: of none; return True where it is another one."""
        if watch is self._watch:
            return False
        self._watch = watch
        if self._timer is None:
            self._timer = self._pane.set_interval(_EVERY, self._look)
        self._look()
        return True

    def _look(self) -> None:
        """Start a reading, unless one is under way."""
        if (watch := self._watch) is not None and self._pane.display and not self._runs:
            self._runs = True
            self._pane.run_worker(lambda: self._work(watch), thread=True, group="watch reading")

    def _work(self, watch: Watch) -> None:
        """Read, in the worker; the result goes to the widget as a message."""
        try:
            found = self._read(watch)
        except KernelError as error:
            self._pane.call_later(self._ended, watch, self._failed, error.with_remedy)
        else:
            self._pane.call_later(self._ended, watch, self._came, found)

    def _ended(self, watch: Watch, show: Callable[[object], None], result: object) -> None:
        self._runs = False
        if watch is self._watch:
            show(result)
        else:
            self._look()
