"""Define the error of an invalid preset."""

from __future__ import annotations


class PresetError(Exception):
    """Invalid preset; the text names the key or value, and a remedy where there is one.

    Attributes:
        line: line of the file, from 1; 0: no particular line.
    """

    def __init__(self, text: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {text}" if line else text)
        self.line = line
