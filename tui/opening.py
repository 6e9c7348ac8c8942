"""Open the target in a thread of its own, so that it overlaps with importing the screen."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from kernel.errors import KernelError

if TYPE_CHECKING:
    from kernel.connection.kernel_info import KernelInfo
    from kernel.target import Target


class Opening(threading.Thread):
    """Attempt to open a target; `wait` returns its kernel or raises the error."""

    def __init__(self, spec: str, *, by_hand: bool = False) -> None:
        """Set the value of `--target`; `by_hand`: chosen in the application, which is blocked meanwhile."""
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
        self._info: KernelInfo | None = None
        self._error: KernelError | None = None

    def run(self) -> None:
        from btf.damage import Damage
        from kernel.connection.kernel_info import KernelInfo
        from kernel.connection.open_target import choose
        from kernel.remote.cancellation import disconnect_on_cancel
        from tui.cli.console.waiting import print_line

        try:
            choice = choose(self.spec, self._progress, self.cancel, tell=print_line)
            self.fallback = choice.reason
            info = KernelInfo(choice.target, Damage(is_raised=False))
            try:
                if not self.cancel.is_set():
                    with disconnect_on_cancel(self.cancel, partial(_lose, choice.target)):
                        info.warm()
                    self._info = None if self.cancel.is_set() else info
            finally:
                if self._info is None:
                    info.close()
        except KernelError as error:
            self._error = error
        except Exception as error:
            self._error = KernelError(f"unexpected: {error!r}", "this is a defect of probewright; please report it")

    def _progress(self, text: str, fraction: float | None = None) -> None:
        self.state = (text, fraction)

    def wait(self) -> KernelInfo:
        """Return the open target. Raises the error of the attempt; KernelError if it was cancelled."""
        self.join()
        if self._error is not None:
            raise self._error
        if self._info is None:
            raise KernelError("given up")
        return self._info


def _lose(target: Target) -> None:
    """Disconnect from a remote target; other targets answer at once."""
    if target.link is not None:
        target.link.lose("given up")
