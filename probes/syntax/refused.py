"""The kernel's error on a word of a command, while it is read."""

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
        meant: tuple[str, ...] = (),
    ) -> None:
        super().__init__(code)
        self.code = code
        self.offset = offset
        self.token = token
        self.index = index
        """Word the error is at, where it isn't the current one."""
        self.names = names
        """Names that would do instead of the token."""
        self.meant = meant
        """What the token surely stands for, however it is spelt."""
        self.message = message
        """The kernel's sentence, where the code alone doesn't say which."""
        self.hint = hint
        """The reason in plain words, where the code alone doesn't say it well."""


class RefusedWord(Exception):
    """A Refused with the word of the command it belongs to."""

    def __init__(self, refused: Refused, index: int = 0, command: str | None = None) -> None:
        super().__init__(refused.code)
        self.refused = refused
        self.index = index if refused.index is None else refused.index
        self.command = command
        """What error_log shows instead of the command, the error's column is in it."""
