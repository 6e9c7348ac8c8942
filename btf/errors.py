"""The one error of this package."""

from __future__ import annotations


class BtfError(Exception):
    """BTF that can't be read: truncated, of an unknown kind, or lying.

    Attributes:
        offset: where in the file, in bytes; for ELF files in the ELF file, else in the BTF itself.
    """

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(f"BTF at byte {offset} ({offset:#x}): {message}")
        self.message = message
        self.offset = offset
