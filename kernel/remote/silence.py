"""Whether a far side is silent: it owes an answer, and nothing was heard of it for too long. Pure."""

from __future__ import annotations

from typing import Final

AFTER: Final = 2.0
"""Seconds without a byte of it after which a far side is called silent."""
BEAT: Final = 0.5
"""Seconds without a byte of it after which a far side that streams events is asked for a word."""
_ANSWER: Final = AFTER - BEAT
"""Seconds that an answer may take: a probe that is never hit makes a line quiet, not silent."""


def silence(heard: float, asked: float | None, now: float) -> float | None:
    """Return for how many seconds a far side has been silent; None: it is not.

    Args:
        heard: when its last byte came.
        asked: when the oldest question was sent that has no answer yet; None: there is none, so that nothing has to
            come.
        now: by the same clock, in seconds.
    """
    if asked is None or now - asked < _ANSWER or now - heard < AFTER:
        return None
    return now - heard


def words(seconds: float) -> str:
    """`last heard 12 s ago`."""
    return f"last heard {seconds:.0f} s ago"
