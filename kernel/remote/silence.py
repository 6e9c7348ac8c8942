"""Decide whether a remote host is silent: it owes an answer, and no byte arrived for too long. Pure."""

from __future__ import annotations

from typing import Final

SILENT_AFTER: Final = 2.0
"""Seconds without a byte after which a remote host is called silent."""
PING_INTERVAL: Final = 0.5
"""Seconds without a byte after which a remote host that streams events is pinged."""
_ANSWER: Final = SILENT_AFTER - PING_INTERVAL
"""Seconds that an answer may take: a probe that is never hit makes a connection quiet, not silent."""


def silence(heard: float, asked: float | None, now: float) -> float | None:
    """Return for how many seconds a remote host has been silent; None: it is not.

    Args:
        heard: when its last byte arrived.
        asked: when the oldest unanswered request was sent; None: there is none, so no byte is due.
        now: the present time; all three are seconds of one clock.
    """
    if asked is None or now - asked < _ANSWER or now - heard < SILENT_AFTER:
        return None
    return now - heard


def words(seconds: float) -> str:
    """Return `last heard 12 s ago`."""
    return f"last heard {seconds:.0f} s ago"
