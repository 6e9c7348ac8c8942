"""Opens the target in a thread of its own, so that reading a kernel and importing the screen go side by side."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from kernel.errors import KernelError

if TYPE_CHECKING:
    from kernel.connection.planner import Connection
    from kernel.target import Target


class Opening(threading.Thread):
    """One attempt to open a target; `wait` gives the connection or raises what went wrong."""

    def __init__(self, spec: str, *, by_hand: bool = False) -> None:
        """Take the word for `--target`; `by_hand`: it was chosen in the application, where all else waits for it."""
        super().__init__(name=f"open {spec}", daemon=True)
        self.spec = spec
        self.by_hand = by_hand
        self.seen = False
        """Whether the screen shows by itself how far it is, and why it failed."""
        self.cancel = threading.Event()
        """Set it to give up (a guest that boots, a kernel that builds)."""
        self.state: tuple[str, float | None] = ("opening", None)
        """How far it is: text, and a share of 1 where that is known."""
        self.fallback = ""
        """Why `auto` is not this machine; empty: it is, or it was not asked for."""
        self._connection: Connection | None = None
        self._error: KernelError | None = None

    def run(self) -> None:
        from btf.damage import Damage
        from kernel.connection.open_target import choose
        from kernel.connection.planner import Connection
        from kernel.remote.giving_up import cut_when
        from tui.cli.console.waiting import told

        try:
            choice = choose(self.spec, self._progress, self.cancel, tell=told)
            self.fallback = choice.reason
            connection = Connection(choice.target, Damage(is_raised=False))
            try:
                if not self.cancel.is_set():
                    with cut_when(self.cancel, partial(_lose, choice.target)):
                        connection.warm()
                    self._connection = None if self.cancel.is_set() else connection
            finally:
                if self._connection is None:
                    connection.close()
        except KernelError as error:
            self._error = error
        except Exception as error:
            self._error = KernelError(f"unexpected: {error!r}", "this is a defect of probewright; please report it")

    def _progress(self, text: str, fraction: float | None = None) -> None:
        self.state = (text, fraction)

    def wait(self) -> Connection:
        """The connection. Raises what the attempt raised; KernelError where it was given up."""
        self.join()
        if self._error is not None:
            raise self._error
        if self._connection is None:
            raise KernelError("given up")
        return self._connection


def _lose(target: Target) -> None:
    """Cut the line to a far target; others are never waited for."""
    from kernel.remote.target import FarTarget

    if isinstance(target, FarTarget):
        target.lose("given up")
