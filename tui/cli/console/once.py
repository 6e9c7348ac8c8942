"""Reasons that several parts of a command come upon, such as the loss of its line: each is said once."""

from __future__ import annotations

_said: set[str] = set()


def forget_said() -> None:
    """Begin another command, which says every reason anew."""
    _said.clear()


def is_news(error: Exception) -> bool:
    """Return whether the reason of an error was not said yet by this command; from now on it counts as said."""
    before = len(_said)
    _said.add(str(error))
    return len(_said) > before
