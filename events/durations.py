"""Lengths of time without events, for people; imported by what is painted first, so it imports nothing."""

from __future__ import annotations


def seconds_text(seconds: float) -> str:
    """Return `3.9 s`: rounded down, so that no events around it are nearer to each other."""
    return f"{int(seconds * 10 + 1e-6) / 10:,.1f} s"
