"""Open a remote target in a thread while the command is still being imported."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel.connection.open_target import TargetChoice, choose
from tui.cli.console.waiting import print_line, show_progress

if TYPE_CHECKING:
    import argparse
    from types import SimpleNamespace

_COMMANDS = frozenset(("check", "clean", "doctor", "list", "record", "run", "show"))
"""Commands that need their target in every case."""
_PATIENCE = 2.0
"""Seconds that `drop` waits for the thread."""


class EarlyTarget(threading.Thread):
    """Thread that opens one target; end it with `take` or `drop`."""

    def __init__(self, spec: str) -> None:
        super().__init__(name=f"open {spec}", daemon=True)
        self.spec = spec
        self._cancel = threading.Event()
        self._choice: TargetChoice | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._choice = choose(self.spec, show_progress, self._cancel, tell=print_line)
        except BaseException as error:
            self._error = error

    def take(self) -> TargetChoice:
        """Wait for the target and return it. Raises the error of opening it."""
        self.join()
        if self._error is not None:
            raise self._error
        choice, self._choice = self._choice, None
        if choice is None:
            raise RuntimeError("taken already")
        return choice

    def drop(self) -> None:
        """Cancel the opening, and close a target that nobody took; a hanging connection ends with the process."""
        self._cancel.set()
        self.join(_PATIENCE)
        if self._choice is not None:
            self._choice.target.close()


_pending: list[EarlyTarget] = []
"""Target of this command, until it is taken."""


@contextlib.contextmanager
def opening_early(arguments: argparse.Namespace | SimpleNamespace) -> Iterator[None]:
    """Open the target in the background while the block runs; only for a single target over ssh."""
    lone = len(getattr(arguments, "targets", ())) < 2 and not getattr(arguments, "groups", ())
    if not (lone and arguments.command in _COMMANDS and arguments.target.startswith("ssh://")):
        yield
        return
    early = EarlyTarget(arguments.target)
    early.start()
    _pending.append(early)
    try:
        yield
    finally:
        _pending.clear()
        early.drop()


def take_target(spec: str) -> TargetChoice:
    """Return the target of a command; progress goes to standard error. Raises KernelError."""
    early = next((early for early in _pending if early.spec == spec), None)
    if early is None:
        return choose(spec, show_progress, tell=print_line)
    _pending.remove(early)
    return early.take()
