"""Undo for an edited line: letters typed in succession are undone together."""

from __future__ import annotations

from typing import NamedTuple

_MOST = 200


class TextState(NamedTuple):
    """Text with the cursor's place."""

    text: str
    cursor: int


class UndoHistory:
    """States before the current one, and undone states."""

    def __init__(self) -> None:
        self._past: list[TextState] = []
        self._future: list[TextState] = []
        self._typing = -1

    def change(self, before: TextState, after: TextState) -> None:
        """Record a change; successive letters, up to a blank, are one change."""
        added = after.text[before.cursor : after.cursor]
        typed = len(added) == 1 and after.text == before.text[: before.cursor] + added + before.text[before.cursor :]
        if not (typed and added != " " and before.cursor == self._typing):
            self._past = [*self._past[-_MOST:], before]
        self._typing = after.cursor if typed else -1
        self._future.clear()

    def undo(self, now: TextState) -> TextState | None:
        """Return the state before; None: there is none."""
        return self._move(self._past, self._future, now)

    def redo(self, now: TextState) -> TextState | None:
        """Return the state undone last; None: there is none."""
        return self._move(self._future, self._past, now)

    def _move(self, source: list[TextState], other: list[TextState], now: TextState) -> TextState | None:
        self._typing = -1
        if not source:
            return None
        other.append(now)
        return source.pop()
