"""A way out that a message offers, as a value: what is said of it, and the keys that take it, which tests press."""

from __future__ import annotations

from typing import Final, NamedTuple

_SHOWN: Final = {"escape": "Esc", "enter": "Enter", "space": "Space", "tab": "Tab", "colon": ":"}


class Way(NamedTuple):
    """One way out."""

    keys: tuple[str, ...]
    """One pressed after the other, by Textual's names; with a blank in it, what is typed: `a function`."""
    does: str
    """What comes of it, as the sentence goes on behind the keys."""
    action: str = ""
    """The application's action, which a dialog can do at the first of the keys; empty: none."""

    def __str__(self) -> str:
        shown = (_SHOWN.get(key, key.upper() if key[1:].isdigit() else key) for key in self.keys)
        return f"{', '.join(shown)} {self.does}".strip()
