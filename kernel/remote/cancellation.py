"""Cancel a connection attempt from another thread, also while it waits for a remote host that does not answer."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Final

from kernel.errors import TargetLost, TargetUnusable

CANCELLED: Final = "cancelled"
_POLL_INTERVAL: Final = 0.2
"""Seconds between two checks for the end of an attempt that was not cancelled."""


@contextlib.contextmanager
def disconnect_on_cancel(cancel: threading.Event | None, disconnect: Callable[[], object]) -> Iterator[None]:
    """Disconnect as soon as `cancel` is set while the body runs. Raises TargetUnusable then.

    Args:
        cancel: set by another thread; None: the body is never cancelled.
        disconnect: makes the body raise TargetLost; called once, from another thread.
    """
    if cancel is None:
        yield
        return
    ended = threading.Event()

    def poll() -> None:
        while not cancel.wait(_POLL_INTERVAL):
            if ended.is_set():
                return
        if not ended.is_set():
            disconnect()

    thread = threading.Thread(target=poll, name="cancel", daemon=True)
    thread.start()
    try:
        yield
    except TargetLost:
        if cancel.is_set():
            raise TargetUnusable(CANCELLED) from None
        raise
    finally:
        ended.set()
