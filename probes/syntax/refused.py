"""Define the kernel's error on a word of a command, raised while the command is parsed."""

from __future__ import annotations


class Refused(Exception):
    """The kernel's error at a column within the current word."""

    def __init__(
        self,
        code: str,
        offset: int,
        token: str = "",
        index: int | None = None,
        names: tuple[str, ...] = (),
        message: str = "",
        hint: str = "",
        corrections: tuple[str, ...] = (),
    ) -> None:
        super().__init__(code)
        self.code = code
        self.offset = offset
        self.token = token
        self.index = index
        """Index of the word with the error; None: the current word."""
        self.names = names
        """Names that are valid instead of the token."""
        self.corrections = corrections
        """Certain meanings of the token, however spelled."""
        self.message = message
        """The kernel's message, where the code has several."""
        self.hint = hint
        """The reason in plain words, where the code alone isn't clear."""


class RefusedWord(Exception):
    """The kernel's error with the index of its word in the command."""

    def __init__(self, refused: Refused, index: int = 0, command: str | None = None) -> None:
        super().__init__(refused.code)
        self.refused = refused
        self.index = index if refused.index is None else refused.index
        self.command = command
        """Command as shown in error_log, where it differs; the error's column counts in it."""
