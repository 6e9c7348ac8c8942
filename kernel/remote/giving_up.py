"""An attempt that is given up from another thread, also while it waits for a far side that says nothing."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Final

from kernel.errors import TargetLost, TargetUnusable

CANCELLED: Final = "cancelled"
_LOOK: Final = 0.2
"""Seconds between two looks at whether it is."""


@contextlib.contextmanager
def cut_when(cancel: threading.Event | None, cut: Callable[[], object]) -> Iterator[None]:
    """Cut the line that something waits at as soon as `cancel` is set. Raises TargetUnusable then.

    Args:
        cancel: None: it is never given up.
        cut: makes whoever waits at the line get TargetLost; called once, from another thread.
    """
    if cancel is None:
        yield
        return
    over = threading.Event()

    def look() -> None:
        while not cancel.wait(_LOOK):
            if over.is_set():
                return
        if not over.is_set():
            cut()

    thread = threading.Thread(target=look, name="giving up", daemon=True)
    thread.start()
    try:
        yield
    except TargetLost:
        if cancel.is_set():
            raise TargetUnusable(CANCELLED) from None
        raise
    finally:
        over.set()
