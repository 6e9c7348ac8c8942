"""Report an error once, although several parts of a command meet it, such as a lost connection."""

from __future__ import annotations

_reported: set[str] = set()


def reset_reported() -> None:
    """Forget all reported errors, at the start of another command."""
    _reported.clear()


def is_first_report(error: Exception) -> bool:
    """Return True the first time that an error with this text is met in this command."""
    before = len(_reported)
    _reported.add(str(error))
    return len(_reported) > before
