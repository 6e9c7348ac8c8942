"""Error raised by this package."""

from __future__ import annotations


class BtfError(Exception):
    """Error in BTF that is truncated, of an unknown kind, or inconsistent.

    Attributes:
        offset: byte offset in the ELF file, or else in the BTF.
    """

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(f"BTF at byte {offset} ({offset:#x}): {message}")
        self.message = message
        self.offset = offset
