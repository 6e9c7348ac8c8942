"""What can be wrong with a preset."""

from __future__ import annotations


class PresetError(Exception):
    """A preset that can't be used; the text names the thing, and the way out where there is one.

    Attributes:
        line: of the file, from 1; 0: it is about no line.
    """

    def __init__(self, text: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {text}" if line else text)
        self.line = line
