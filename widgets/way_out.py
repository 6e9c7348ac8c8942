"""Remedy in a message, as a value: its text, and the keys that take it, which tests press."""

from __future__ import annotations

from typing import Final, NamedTuple

_SHOWN: Final = {"escape": "Esc", "enter": "Enter", "space": "Space", "tab": "Tab", "colon": ":"}


def key_text(key: str) -> str:
    """Return the name of a key as messages have it, by Textual's name."""
    control = f"^{key[-1].upper()}" if key.startswith("ctrl+") else ""
    return control or _SHOWN.get(key, key.upper() if key[1:].isdigit() else key)


class Way(NamedTuple):
    """Remedy with its keys."""

    keys: tuple[str, ...]
    """Keys in succession, by Textual's names; a name with a blank is typed text: `a function`."""
    does: str
    """Effect, as the continuation of the sentence after the keys."""
    action: str = ""
    """Action of the application that a dialog runs at the first key; empty: none."""

    def __str__(self) -> str:
        return f"{', '.join(map(key_text, self.keys))} {self.does}".strip()
