"""A bound on work that no busy machine moves: calls of functions, counted, instead of seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class TooMuchWork(BaseException):
    """No Exception, so that nothing on the way takes it for an answer."""


class Steps:
    """How many calls, of Python's functions and of C's, were made so far."""

    def __init__(self) -> None:
        self.taken = 0


@contextmanager
def at_most(bound: int) -> Iterator[Steps]:
    """Run a block that may make `bound` calls in this thread.

    Raises:
        TooMuchWork: at the first call over it, so that what never ends does.
    """
    steps = Steps()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        if event in ("call", "c_call"):
            steps.taken += 1
            if steps.taken > bound:
                sys.setprofile(None)
                raise TooMuchWork(f"more than {bound:,} calls, the last one in {frame.f_code.co_qualname}")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield steps
    finally:
        sys.setprofile(before)
