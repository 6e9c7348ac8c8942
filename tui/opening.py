"""Open the target in a thread of its own, so that it overlaps with importing the screen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from kernel.errors import KernelError

if TYPE_CHECKING:
    from kernel.connection.kernel_info import KernelInfo
    from kernel.target import Target


Connect = Callable[["Opening"], "KernelInfo | None"]
"""Opens a target and returns its kernel, None where that was cancelled. Raises KernelError."""


OPENING = "opening"
"""Name of the operation, for the rule of keys typed ahead."""


class Opening(threading.Thread):
    """Attempt to open a target; `wait` returns its kernel or raises the error."""

    @property
    def is_under_way(self) -> bool:
        """True until the attempt has ended, also before it has begun."""
        return self.ident is None or self.is_alive()

    def __init__(self, spec: str, *, by_hand: bool = False, connect: Connect | None = None) -> None:
        """Set the target.

        Args:
            spec: value of `--target`.
            by_hand: True if it was chosen in the application, which is blocked meanwhile.
            connect: opens it, in a thread of its own; None: by its value.
        """
        super().__init__(name=f"open {spec}", daemon=True)
        self.spec = spec
        self.by_hand = by_hand
        self.is_on_screen = False
        """True if the screen itself shows the progress and the error."""
        self.cancel = threading.Event()
        """Set to cancel (a booting guest, a kernel being built)."""
        self.state: tuple[str, float | None] = ("opening", None)
        """Progress: text, and the finished part from 0 to 1, None where it is unknown."""
        self.fallback = ""
        """Reason why `auto` is not this machine; empty: it is, or `auto` was not requested."""
        self._connect = connect or _connect
        self._info: KernelInfo | None = None
        self._error: KernelError | None = None

    def run(self) -> None:
        try:
            self._info = self._connect(self)
        except KernelError as error:
            self._error = error
        except Exception as error:
            self._error = KernelError(f"unexpected: {error!r}", "this is a defect of probewright; please report it")

    def wait(self) -> KernelInfo:
        """Return the open target. Raises the error of the attempt; KernelError if it was cancelled."""
        self.join()
        if self._error is not None:
            raise self._error
        if self._info is None:
            raise KernelError("given up")
        return self._info


def _connect(opening: Opening) -> KernelInfo | None:
    """Open the target that the value names."""
    from btf.damage import Damage
    from kernel.connection.kernel_info import KernelInfo
    from kernel.connection.open_target import choose
    from kernel.remote.cancellation import disconnect_on_cancel
    from tui.cli.console.waiting import print_line

    def progress(text: str, fraction: float | None = None) -> None:
        opening.state = (text, fraction)

    choice = choose(opening.spec, progress, opening.cancel, tell=print_line)
    opening.fallback = choice.reason
    info = KernelInfo(choice.target, Damage(is_raised=False))
    opened = False
    try:
        if not opening.cancel.is_set():
            with disconnect_on_cancel(opening.cancel, partial(_lose, choice.target)):
                info.warm()
            opened = not opening.cancel.is_set()
    finally:
        if not opened:
            info.close()
    return info if opened else None


def _lose(target: Target) -> None:
    """Disconnect from a remote target; other targets answer at once."""
    if target.link is not None:
        target.link.lose("given up")
