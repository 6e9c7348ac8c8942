"""Format durations without events for people; imported by the first screen, so it imports nothing."""

from __future__ import annotations


def seconds_text(seconds: float) -> str:
    """Return `3.9 s`: rounded down, so that the events around are never closer than displayed."""
    return f"{int(seconds * 10 + 1e-6) / 10:,.1f} s"
