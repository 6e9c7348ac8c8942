"""Undo for a line that is edited: what was typed in one go comes back in one go."""

from __future__ import annotations

from typing import NamedTuple

_MOST = 200


class TextState(NamedTuple):
    """A text and where the cursor was in it."""

    text: str
    cursor: int


class UndoHistory:
    """States before the present one, and those that were undone."""

    def __init__(self) -> None:
        self._past: list[TextState] = []
        self._future: list[TextState] = []
        self._typing = -1

    def change(self, before: TextState, after: TextState) -> None:
        """Note a change; letters typed one behind the other, up to a blank, are one."""
        added = after.text[before.cursor : after.cursor]
        typed = len(added) == 1 and after.text == before.text[: before.cursor] + added + before.text[before.cursor :]
        if not (typed and added != " " and before.cursor == self._typing):
            self._past = [*self._past[-_MOST:], before]
        self._typing = after.cursor if typed else -1
        self._future.clear()

    def undo(self, now: TextState) -> TextState | None:
        """Give the state before; None: there is none."""
        return self._move(self._past, self._future, now)

    def redo(self, now: TextState) -> TextState | None:
        """Give the state that was undone last; None: there is none."""
        return self._move(self._future, self._past, now)

    def _move(self, source: list[TextState], other: list[TextState], now: TextState) -> TextState | None:
        self._typing = -1
        if not source:
            return None
        other.append(now)
        return source.pop()
