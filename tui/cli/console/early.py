"""A far kernel is reached while the command is still being imported."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel.connection.open_target import TargetChoice, choose
from tui.cli.console.waiting import progress, told

if TYPE_CHECKING:
    import argparse
    from types import SimpleNamespace

_COMMANDS = frozenset(("check", "clean", "doctor", "list", "record", "run", "show"))
"""Those that need their target whatever else they find."""
_PATIENCE = 2.0
"""Seconds that giving up may take."""


class EarlyTarget(threading.Thread):
    """One target that is being opened. `take` it, or `drop` it."""

    def __init__(self, spec: str) -> None:
        super().__init__(name=f"open {spec}", daemon=True)
        self.spec = spec
        self._cancel = threading.Event()
        self._choice: TargetChoice | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._choice = choose(self.spec, progress, self._cancel, tell=told)
        except BaseException as error:
            self._error = error

    def take(self) -> TargetChoice:
        """Wait for it. Raises what opening it raised."""
        self.join()
        if self._error is not None:
            raise self._error
        choice, self._choice = self._choice, None
        if choice is None:
            raise RuntimeError("taken already")
        return choice

    def drop(self) -> None:
        """Give up, and let go of what nobody took; a line that hangs goes with the process."""
        self._cancel.set()
        self.join(_PATIENCE)
        if self._choice is not None:
            self._choice.target.close()


_begun: list[EarlyTarget] = []
"""That of this command, until it is taken."""


@contextlib.contextmanager
def reaching(arguments: argparse.Namespace | SimpleNamespace) -> Iterator[None]:
    """Begin where it is worth it: a lone target behind ssh."""
    lone = len(getattr(arguments, "targets", ())) < 2 and not getattr(arguments, "groups", ())
    if not (lone and arguments.command in _COMMANDS and arguments.target.startswith("ssh://")):
        yield
        return
    early = EarlyTarget(arguments.target)
    early.start()
    _begun.append(early)
    try:
        yield
    finally:
        _begun.clear()
        early.drop()


def opened(spec: str) -> TargetChoice:
    """The target of a command; progress goes to standard error. Raises KernelError."""
    early = next((early for early in _begun if early.spec == spec), None)
    if early is None:
        return choose(spec, progress, tell=told)
    _begun.remove(early)
    return early.take()
